package engine

import (
	"sync"

	"clearance/engine/internal/vk"
)

// The largest number of vertices of a polytope in double precision (depth.glsl) and in single precision
// (epa_float32.comp).
const (
	float64Vertices = 128
	float32Vertices = 32
)

// Scratch memory of one invocation in both precisions, see polytope.glsl.
const (
	quadBytes = (4*float64Vertices + rowQuads) * 32
	faceBytes = 2 * float64Vertices * 16
	linkBytes = (4*float64Vertices + rowLinks) * 4
	rowQuads  = 23
	rowLinks  = 10

	float32QuadBytes = 3 * float32Vertices * 16
	float32FaceBytes = 2 * float32Vertices * 16
	float32LinkBytes = 5 * float32Vertices * 4
)

// Invocations of depth.glsl that run at a time: as many as occupy a large GPU, or keep their memory in the caches of a
// processor.
const (
	defaultInvocations  = 1 << 16
	softwareInvocations = 1 << 10
)

// scratch is the memory in which epa_float32.comp and depth.glsl keep polytopes, one after the other. All streams share
// it: they submit to one queue, whose barriers order its use.
type scratch struct {
	invocations int

	mu                  sync.Mutex
	block               *vk.Block
	quads, faces, links vk.Buffer
}

// scratchInvocations returns the number of invocations for which a device has memory.
func scratchInvocations(d *vk.DeviceInfo, chunkRows int) int {
	n := min(defaultInvocations, uint64(chunkRows))
	if d.Type == vk.CPU {
		// For chunks of any size: that is little memory, and pipelines of another number take long to compile.
		n = softwareInvocations
	}
	n = min(n, d.Limits.MaxStorageBufferRange/quadBytes, d.Limits.MaxAllocationSize/(2*quadBytes))
	for _, t := range d.Memory {
		n = min(n, max(d.Heaps[t.Heap].Size, d.Limits.MaxAllocationSize)/16/(quadBytes+faceBytes+linkBytes))
	}
	return int(max(n/groupSize, 1)) * groupSize
}

// dispatches returns the number of dispatches of depth.glsl that so many rows may take.
func (s *scratch) dispatches(rows int) int { return max((rows+s.invocations-1)/s.invocations, 1) }

// float32Invocations returns the number of invocations of epa_float32.comp for which the memory of n invocations of
// depth.glsl is sufficient.
func float32Invocations(n int) int {
	return n * min(quadBytes/float32QuadBytes, faceBytes/float32FaceBytes, linkBytes/float32LinkBytes)
}

// of returns the scratch memory. The first call allocates it.
func (s *scratch) of(b *Backend) (*scratch, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.block != nil {
		return s, nil
	}
	p := plan{b: b}
	p.device(&s.quads, uint64(s.invocations)*quadBytes)
	p.device(&s.faces, uint64(s.invocations)*faceBytes)
	p.device(&s.links, uint64(s.invocations)*linkBytes)
	blocks, err := p.allocate()
	if err != nil {
		return nil, err
	}
	s.block = blocks[0]
	return s, nil
}

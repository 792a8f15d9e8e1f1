package engine

import (
	"sync"

	"clearance/engine/internal/vk"
)

// Vertices that a polytope of depth.comp and of sketch.comp may have.
const (
	polytopeVertices = 128
	sketchVertices   = 32
)

// Scratch memory of one invocation of depth.comp and of sketch.comp, see polytope.glsl.
const (
	quadBytes = 4 * polytopeVertices * 32
	faceBytes = 2 * polytopeVertices * 16
	linkBytes = 4 * polytopeVertices * 4

	sketchQuadBytes = 3 * sketchVertices * 16
	sketchFaceBytes = 2 * sketchVertices * 16
	sketchLinkBytes = 5 * sketchVertices * 4
)

// Invocations of depth.comp that run at a time: what fills a large GPU, and what stays in
// the caches of a processor.
const (
	defaultLanes  = 1 << 16
	softwareLanes = 1 << 10
)

// scratch is the memory in which sketch.comp and depth.comp keep polytopes, one after the
// other. All streams share it: they submit to one queue, whose barriers order its use.
type scratch struct {
	lanes int

	mu                  sync.Mutex
	block               *vk.Block
	quads, faces, links vk.Buffer
}

// scratchLanes is the number of invocations that the memory of a device allows.
func scratchLanes(d *vk.DeviceInfo, chunkRows int) int {
	lanes := uint64(defaultLanes)
	if d.Type == vk.CPU {
		lanes = softwareLanes
	}
	lanes = min(lanes, uint64(chunkRows), d.Limits.MaxStorageBufferRange/quadBytes, d.Limits.MaxAllocationSize/(2*quadBytes))
	for _, t := range d.Memory {
		lanes = min(lanes, max(d.Heaps[t.Heap].Size, d.Limits.MaxAllocationSize)/16/(quadBytes+faceBytes+linkBytes))
	}
	return int(max(lanes/groupSize, 1)) * groupSize
}

// sketchLanes is the number of invocations of sketch.comp for which the memory of so many of
// depth.comp is enough.
func sketchLanes(lanes int) int {
	return lanes * min(quadBytes/sketchQuadBytes, faceBytes/sketchFaceBytes, linkBytes/sketchLinkBytes)
}

// of returns the scratch memory, allocated when it is needed first.
func (s *scratch) of(b *Backend) (*scratch, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.block != nil {
		return s, nil
	}
	p := plan{b: b}
	p.device(&s.quads, uint64(s.lanes)*quadBytes)
	p.device(&s.faces, uint64(s.lanes)*faceBytes)
	p.device(&s.links, uint64(s.lanes)*linkBytes)
	blocks, err := p.allocate()
	if err != nil {
		return nil, err
	}
	s.block = blocks[0]
	return s, nil
}

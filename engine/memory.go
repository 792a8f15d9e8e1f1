package engine

import (
	"sync"
	"unsafe"

	"clearance/engine/internal/vk"
	"clearance/internal/layout"
)

// Bytes of records, and of all that a slot holds of a row: the inputs with two poses a
// row, and the work. maxRowBytes is the largest share of one buffer.
const (
	poseBytes     = uint64(unsafe.Sizeof(layout.PoseRecord{}))
	templateBytes = uint64(unsafe.Sizeof(layout.TemplateRecord{}))
	orderBytes    = 4
	warmBytes     = 3 * 4
	indexBytes    = uint64(unsafe.Sizeof(layout.IndexRecord{}))
	pairBytes     = uint64(unsafe.Sizeof(layout.PairRecord{}))
	searchBytes   = uint64(unsafe.Sizeof(layout.SearchRecord{}))
	restBytes     = uint64(unsafe.Sizeof(layout.RemainderRecord{}))
	stateBytes    = uint64(unsafe.Sizeof(layout.SearchStateRecord{}))
	depthBytes    = uint64(unsafe.Sizeof(layout.DepthRecord{}))

	inputBytes  = 2*poseBytes + templateBytes + orderBytes + warmBytes
	workBytes   = indexBytes + pairBytes + restBytes + searchBytes + stateBytes + depthBytes + 4*slotBytes
	slotBytes   = 4
	listBytes   = 4 * layout.ListWords
	countBytes  = listBytes * layout.ListCount
	boundBytes  = 2 * 4 // of a reduction, which has less memory for answers than the columns
	maxRowBytes = depthBytes

	maxAlignment = 256 // no device asks for more
)

// columnBytes is the memory of all columns of a row, rowBytes the memory of a row with its state.
var (
	columnBytes = func() (sum uint64) {
		for i := range layout.Columns {
			sum += 4 * uint64(layout.Columns[i].Words(true))
		}
		return sum
	}()
	rowBytes = inputBytes + workBytes + boundBytes + 2*columnBytes
)

// mirror is memory that the host reaches, and its image that the shaders reach; with
// direct memory they are the same.
type mirror struct {
	host, device vk.Buffer
	fresh        uint64 // bytes that the host wrote and the image lacks
}

// wrote notes that the host has written the first n bytes.
func (m *mirror) wrote(n uint64) error {
	m.fresh = n
	if n == 0 {
		return nil
	}
	return m.host.Slice(0, n).Flush()
}

// plan is memory to be allocated: sizes first, then one block a kind.
type plan struct {
	b                                *Backend
	upload, readback, local, unified []part
}

type part struct {
	to    *vk.Buffer
	image *vk.Buffer // gets the same buffer, if not nil
	size  uint64
}

// input is memory that the host writes and the shaders read.
func (p *plan) input(m *mirror, size uint64) {
	size = max(size, 4) // a binding wants some memory
	if p.b.direct {
		p.unified = append(p.unified, part{&m.host, &m.device, size})
		return
	}
	p.upload = append(p.upload, part{&m.host, nil, size})
	p.local = append(p.local, part{&m.device, nil, size})
}

// output is memory that the shaders write and the host reads.
func (p *plan) output(m *mirror, size uint64) {
	if p.b.direct {
		p.unified = append(p.unified, part{&m.host, &m.device, size})
		return
	}
	p.readback = append(p.readback, part{&m.host, nil, size})
	p.local = append(p.local, part{&m.device, nil, size})
}

// device is memory that only the shaders reach.
func (p *plan) device(to *vk.Buffer, size uint64) {
	if p.b.direct {
		p.unified = append(p.unified, part{to, nil, size})
		return
	}
	p.local = append(p.local, part{to, nil, size})
}

// allocate allocates the planned memory. If it fails nothing stays allocated.
func (p *plan) allocate() (blocks []*vk.Block, err error) {
	for _, k := range []struct {
		kind  vk.MemoryKind
		parts []part
	}{{vk.Upload, p.upload}, {vk.Readback, p.readback}, {vk.DeviceLocal, p.local}, {vk.Unified, p.unified}} {
		if len(k.parts) == 0 {
			continue
		}
		block, err := take(p.b.device, k.kind, k.parts)
		if err != nil {
			free(blocks)
			return nil, err
		}
		blocks = append(blocks, block)
	}
	return blocks, nil
}

// take allocates a block and cuts it up.
func take(d *vk.Device, kind vk.MemoryKind, parts []part) (*vk.Block, error) {
	total := uint64(0)
	for _, p := range parts {
		total += p.size + maxAlignment
	}
	block, err := d.Alloc(total, kind)
	if err != nil {
		return nil, err
	}
	arena := vk.NewArena(block.Whole())
	for _, p := range parts {
		if *p.to, err = arena.Take(p.size); err != nil {
			block.Close()
			return nil, err
		}
		if p.image != nil {
			*p.image = *p.to
		}
	}
	return block, nil
}

// free gives blocks back.
func free(blocks []*vk.Block) {
	for _, b := range blocks {
		b.Close()
	}
}

// inputs is what the shaders read of a chunk, and how its rows are made of it.
type inputs struct {
	poses, templates, order, warm mirror

	first, period, bodies int // see First, Templates and Bodies of layout.QueryRecord
	rows                  int
	ordered               bool
}

// putIn writes how rows are made into the query record.
func (in *inputs) putIn(q *layout.QueryRecord) {
	q.First, q.Templates, q.Bodies = uint32(in.first), uint32(in.period), uint32(in.bodies)
	q.Flags &^= layout.FlagOrder
	if in.ordered {
		q.Flags |= layout.FlagOrder
	}
}

// work is memory that the shaders use for a chunk, and the columns that come out.
type work struct {
	indices, pairs, searches vk.Buffer
	depths, counts           vk.Buffer
	states                   vk.Buffer // of layout.ListSearch
	continued                vk.Buffer // slots of layout.ListContinue
	stationary               vk.Buffer // of layout.ListStationary, then of layout.ListAxes
	unproved                 vk.Buffer // of layout.ListUnproved
	columns                  mirror
	remainders               vk.Buffer // of proofs in two floats
}

// plan adds the memory for so many rows.
func (w *work) plan(p *plan, rows int) {
	n := uint64(rows)
	p.device(&w.indices, n*indexBytes)
	p.device(&w.pairs, n*pairBytes)
	p.device(&w.searches, n*searchBytes)
	if p.b.pipelines.arithmetic.twoFloats {
		p.device(&w.remainders, n*restBytes)
	}
	p.device(&w.states, n*stateBytes)
	p.device(&w.depths, n*depthBytes)
	p.device(&w.continued, n*slotBytes)
	p.device(&w.stationary, 2*n*slotBytes)
	p.device(&w.unproved, n*slotBytes)
	p.device(&w.counts, countBytes+listBytes*uint64(p.b.scratch.dispatches(rows)-1))
	p.output(&w.columns, (n+1)*columnBytes) // a column has room for an even number of rows
}

// clear records commands that empty the lists of rows, with so many dispatches of depths: no rows, which take a work
// group in y and z and none in x.
func (w *work) clear(s *vk.Stream, dispatches int) {
	for at := uint64(0); at < countBytes+listBytes*uint64(dispatches-1); at += listBytes {
		s.Fill(w.counts.Slice(at, 4), 0)
		s.Fill(w.counts.Slice(at+4, 8), 1)
		s.Fill(w.counts.Slice(at+4*layout.ListRows, 4), 0)
	}
}

// groups is where the number of work groups of a list is, for an indirect dispatch.
func (w *work) groups(list uint64) vk.Buffer { return w.counts.Slice(listBytes*list, 12) }

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

// bytesOf returns the memory of records as bytes.
func bytesOf[T any](s []T) []byte {
	var t T
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(s))), len(s)*int(unsafe.Sizeof(t)))
}

// recordsIn returns mapped memory as records. It must be aligned for them, as every
// buffer of package vk is.
func recordsIn[T any](b []byte) []T {
	var t T
	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(b))), len(b)/int(unsafe.Sizeof(t)))
}

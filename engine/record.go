package engine

import (
	"fmt"

	"clearance/engine/internal/vk"
	"clearance/internal/layout"
)

// recording is all that the commands of a chunk depend on.
type recording struct {
	query   layout.QueryRecord
	library *library
	chain   *chain
	blocks  [5]vk.Buffer // one buffer of each block of memory
	fresh   [4]uint64    // bytes to move to the device
	down    uint64       // bytes to move back
	status  [2]uint64    // the first byte of the statuses among them, and how many

	reduction layout.ReductionRecord
	reduced   [2]vk.Buffer // its input and output
	bounds    uint64       // bytes of its input to move to the device

	derivation *chain // of derivatives, nil if there are none
	derivative layout.DerivativeRecord
	derived    vk.Buffer // its output
	operands   [2]uint64 // bytes of operands and of lists of sums to move to the device
	sums       layout.BodyRecord
	least      layout.LeastRecord
}

// Timestamps of a chunk: two before the passes, one after each, by its place in the table, and one at the end.
const (
	stampStart = iota
	stampUploaded
	stampPasses
	stampEnd   = stampPasses + len(passes)
	stampCount = stampEnd + 1
)

// memory is where the buffers of a chunk are.
type memory struct {
	library *library
	in      *inputs
	work    *work
	scratch *scratch
	derive  *derivation // nil: there is none
	reduce  *reduction  // nil: there is none
}

// buffer returns a buffer by its name in the shaders. It panics if no memory has the name.
func (m *memory) buffer(name string) vk.Buffer {
	switch name {
	case "Shapes":
		return m.library.shapes
	case "Vertices":
		return m.library.vertices
	case "Shapes64":
		return m.library.shapes64
	case "Vertices64":
		return m.library.vertices64
	case "Cells":
		return m.library.cells
	case "Poses":
		return m.in.poses.device
	case "Templates":
		return m.in.templates.device
	case "Order":
		return m.in.order.device
	case "Warm":
		return m.in.warm.device
	case "Indices":
		return m.work.indices
	case "Pairs":
		return m.work.pairs
	case "Remainders":
		return m.work.remainders
	case "Searches":
		return m.work.searches
	case "States":
		return m.work.states
	case "Counts":
		return m.work.counts
	case "Continued":
		return m.work.continued
	case "Stationary":
		return m.work.stationary
	case "Unproved":
		return m.work.unproved
	case "Depths":
		return m.work.depths
	case "Columns":
		return m.work.columns.device
	case "Quads":
		return m.scratch.quads
	case "Faces":
		return m.scratch.faces
	case "Links":
		return m.scratch.links
	case "Operands":
		return m.derive.operands.device
	case "Places":
		return m.derive.sums.places.device
	case "Selected":
		return m.derive.sums.selected
	case "Sums":
		return m.derive.sums.out.device
	case "Derived":
		return m.derive.out.device
	case "Bounds":
		return m.reduce.bounds.device
	case "Reduced":
		return m.reduce.out.device
	}
	panic(fmt.Sprintf("engine: no memory is called %s", name))
}

// record records the commands of a chunk: what the host has written goes to the device, the passes of the chain run one
// after the other, and the answers come back.
func (f *flight) record(b *Backend, r *recording, m *memory) error {
	s := f.stream
	if err := s.Begin(); err != nil {
		return err
	}
	f.stamp(stampStart)
	for i, from := range [4]*mirror{&m.in.poses, &m.in.templates, &m.in.order, &m.in.warm} {
		if size := r.fresh[i]; size > 0 {
			s.Copy(from.device.Slice(0, size), from.host.Slice(0, size))
		}
	}
	// A row that no shader writes must not look answered.
	s.Fill(m.work.columns.device.Slice(r.status[0], r.status[1]), ^uint32(0))
	m.work.clear(s, b.scratch.dispatches(f.n))
	switch {
	case m.derive == nil:
	case m.derive.product != nil:
		m.derive.fillProducts(s, b.direct)
	default:
		m.derive.fill(s)
	}
	if m.reduce != nil {
		m.reduce.fill(s, r.bounds)
	}
	s.Barrier(vk.StageTransfer, vk.StageCompute)
	f.stamp(stampUploaded)
	for i := range r.chain.steps {
		f.recordPass(r, &r.chain.steps[i], m)
	}
	if m.derive != nil {
		if r.least.Groups > 0 {
			f.recordPass(r, &m.derive.sums.least.steps[0], m)
		}
		f.recordPass(r, &m.derive.chain.steps[0], m)
		if m.derive.sums.bytes > 0 {
			f.recordPass(r, &m.derive.sums.chain.steps[0], m)
		}
	}
	back := &m.work.columns
	if m.reduce != nil {
		f.recordPass(r, &m.reduce.chain.steps[0], m)
		back = &m.reduce.out
	}
	if !b.direct {
		if r.down > 0 {
			s.Copy(back.host.Slice(0, r.down), back.device.Slice(0, r.down))
		}
		if m.derive != nil {
			from, bytes := m.derive.moved()
			s.Copy(from.host.Slice(0, bytes), from.device.Slice(0, bytes))
		}
	}
	f.stamp(stampEnd)
	return nil
}

// recordPass records a pass, whose results every later command may read.
func (f *flight) recordPass(r *recording, step *step, m *memory) {
	s, p := f.stream, &passes[step.pass]
	buffers := make([]vk.Buffer, len(step.buffers))
	for i, b := range step.buffers {
		buffers[i] = m.buffer(b.Name)
	}
	s.Bind(step.pipeline, buffers...)
	list, takesList := p.rows.list()
	switch {
	case p.rows == depths:
		f.dispatchDepths(r, p, m)
	case p.rows == groupRows:
		s.Push(bytesOf([]layout.LeastRecord{r.least}))
		f.dispatch(r.least.Groups)
	case p.rows == bodyRows:
		s.Push(bytesOf([]layout.BodyRecord{r.sums}))
		f.dispatch(r.sums.Worlds * r.sums.Bodies)
	case p.rows == derivedRows:
		s.Push(bytesOf([]layout.DerivativeRecord{r.derivative}))
		f.dispatch(r.derivative.Rows)
	case p.rows == portions:
		s.Push(bytesOf([]layout.ReductionRecord{r.reduction}))
		f.dispatch(r.reduction.Portions)
	case takesList:
		s.Push(bytesOf([]layout.QueryRecord{r.query}))
		s.DispatchIndirect(m.work.groups(list))
	default:
		s.Push(bytesOf([]layout.QueryRecord{r.query}))
		f.dispatch(r.query.Rows)
	}
	s.Barrier(vk.StageCompute, vk.StageCompute|vk.StageIndirect|vk.StageTransfer)
	f.stamp(stampPasses + step.pass)
}

// dispatchDepths takes the list of depths in parts for which there is scratch memory. The next dispatch uses the same
// memory, also that of another stream. Those in double precision take the work groups that the list fills.
func (f *flight) dispatchDepths(r *recording, p *pass, m *memory) {
	s, q := f.stream, r.query
	n, invocations := uint64(q.Rows), uint64(p.invocations(m.scratch.invocations))
	for at := uint64(0); at < n; at += invocations {
		if at > 0 {
			s.Barrier(vk.StageCompute, vk.StageCompute)
		}
		q.FirstDepth = uint32(at)
		s.Push(bytesOf([]layout.QueryRecord{q}))
		if p.vertices == float64Vertices {
			s.DispatchIndirect(m.work.groups(layout.ListDepths + at/invocations))
		} else {
			f.dispatch(uint32(min(n-at, invocations)))
		}
	}
}

// dispatch runs the bound pipeline for so many rows.
func (f *flight) dispatch(rows uint32) { f.stream.Dispatch((rows+groupSize-1)/groupSize, 1, 1) }

// stamp notes the time, on devices that can tell it.
func (f *flight) stamp(slot int) {
	if f.stamped {
		f.stream.Timestamp(slot)
	}
}

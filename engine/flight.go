package engine

import (
	"context"
	"time"

	"clearance/batch"
	"clearance/engine/internal/vk"
	"clearance/internal/layout"
)

// Timestamps of a chunk.
const (
	stampStart = iota
	stampUploaded
	stampInput
	stampSearched
	stampTwoFloats
	stampProved
	stampAxes
	stampRefined
	stampCertified
	stampDepthFloat32
	stampDepth
	stampReduced
	stampEnd
	stampCount
)

// flight is a chunk on its way through the device. What was recorded for it is submitted
// again as long as nothing changes but the contents of memory.
type flight struct {
	stream   *vk.Stream
	stamped  bool // the device tells the time
	recorded recording

	busy    bool // submitted, not yet taken down
	lo, n   int  // rows
	layout  placement
	columns *mirror
	reduce  *reduction // nil: all rows are read
	taker   taker
	times   []time.Duration
}

// recording is all that the commands of a chunk depend on.
type recording struct {
	query   layout.QueryRecord
	library *library
	chain   chain
	buffers [5]vk.Buffer // one of each block
	fresh   [4]uint64    // bytes to move to the device
	down    uint64       // bytes to move back
	status  uint64       // bytes of statuses among them

	reduction layout.ReductionRecord
	reduced   [2]vk.Buffer // its input and output
	bounds    uint64       // bytes of its input to move to the device
}

// start hands a chunk to the device. With a reduction, not nil, only the rows that it needs are moved back.
func (f *flight) start(b *Backend, lib *library, c chain, q layout.QueryRecord, l placement, in *inputs, w *work,
	red *reduction, lo int) error {
	if err := f.open(b); err != nil {
		return err
	}
	scratch, err := b.scratch.of(b)
	if err != nil {
		return err
	}
	f.lo, f.n, f.layout, f.columns, f.reduce = lo, l.n, l, &w.columns, red
	l.putIn(&q)
	q.DepthRows = uint32(scratch.invocations)
	in.putIn(&q)
	r := recording{
		query: q, library: lib, chain: c, down: l.bytes, status: l.statusBytes(),
		buffers: [5]vk.Buffer{in.poses.device, in.warm.device, w.indices, w.columns.device, scratch.quads},
	}
	if red != nil {
		r.reduction, r.reduced, r.down = red.record, [2]vk.Buffer{red.bounds.device, red.out.device}, red.moved
	}
	if !b.direct {
		r.fresh = [4]uint64{in.poses.fresh, in.templates.fresh, in.order.fresh, in.warm.fresh}
		if red != nil {
			r.bounds = red.bounds.fresh
		}
	}
	if r != f.recorded {
		f.recorded = recording{}
		if err := f.record(b, &r, in, w, red, scratch); err != nil {
			return err
		}
		f.recorded = r
	}
	if err := f.stream.Submit(); err != nil {
		f.recorded = recording{}
		return err
	}
	f.busy = true
	b.stats.sent(in.poses.fresh + in.templates.fresh + in.order.fresh + in.warm.fresh)
	in.poses.fresh, in.templates.fresh, in.order.fresh, in.warm.fresh = 0, 0, 0, 0
	if red != nil {
		b.stats.sent(red.bounds.fresh)
		red.bounds.fresh = 0
	}
	return nil
}

// open makes the stream.
func (f *flight) open(b *Backend) error {
	if f.stream != nil {
		return nil
	}
	stamps := 0
	if f.stamped = b.info.Limits.TimestampValidBits != 0; f.stamped {
		stamps = stampCount
	}
	var err error
	f.stream, err = b.device.NewStream(vk.StreamOptions{Timestamps: stamps})
	return err
}

// record records the commands of a chunk.
func (f *flight) record(b *Backend, r *recording, in *inputs, w *work, red *reduction, scratch *scratch) error {
	s := f.stream
	if err := s.Begin(); err != nil {
		return err
	}
	q := r.query
	f.stamp(stampStart)
	for i, m := range [4]*mirror{&in.poses, &in.templates, &in.order, &in.warm} {
		if size := r.fresh[i]; size > 0 {
			s.Copy(m.device.Slice(0, size), m.host.Slice(0, size))
		}
	}
	// A row that no shader writes must not look answered.
	s.Fill(w.columns.device.Slice(4*uint64(q.Status), r.status), ^uint32(0))
	w.clear(s, b.scratch.dispatches(f.n))
	if red != nil {
		red.fill(s, r.bounds)
	}
	s.Barrier(vk.StageTransfer, vk.StageCompute)
	f.stamp(stampUploaded)
	run := func(p *vk.Pipeline, stamp int, buffers ...vk.Buffer) {
		f.recordRows(r, p, buffers...)
		f.stamp(stamp)
	}
	lib := r.library
	if r.chain.proveTwoFloats != nil {
		run(r.chain.input, stampInput, lib.shapes, in.poses.device, in.templates.device, in.order.device,
			in.warm.device, w.indices, w.pairs, w.remainders, w.searches)
	} else {
		run(r.chain.input, stampInput, lib.shapes64, in.poses.device, in.templates.device, in.order.device,
			in.warm.device, w.indices, w.pairs, w.searches)
	}
	if r.chain.growth != nil {
		run(r.chain.growth, stampSearched, lib.shapes, lib.vertices, w.pairs, w.searches, lib.cells)
		f.stamp(stampTwoFloats)
		double := []vk.Buffer{lib.shapes64, lib.vertices64, in.poses.device, w.indices, w.searches, w.columns.device,
			lib.cells, w.counts, w.continued}
		if r.chain.growthProve != nil {
			run(r.chain.growthProve, stampProved, double...)
			f.stamp(stampAxes)
			f.stamp(stampRefined)
			f.recordList(r, w, r.chain.growthCertify, layout.ListContinue, double...)
			f.stamp(stampCertified)
		} else {
			f.stamp(stampProved)
			f.stamp(stampAxes)
			f.stamp(stampRefined)
			run(r.chain.growthCertify, stampCertified, double...)
		}
		f.stamp(stampDepthFloat32)
		f.stamp(stampDepth)
	} else {
		f.recordDistance(r, in, w, scratch, run)
	}
	back := &w.columns
	if red != nil {
		red.dispatch(s, w.columns.device)
		back = &red.out
	}
	f.stamp(stampReduced)
	if !b.direct {
		s.Copy(back.host.Slice(0, r.down), back.device.Slice(0, r.down))
	}
	f.stamp(stampEnd)
	return nil
}

// recordDistance records the passes of signed distances after input.comp. run records a pass over all rows.
func (f *flight) recordDistance(r *recording, in *inputs, w *work, scratch *scratch,
	run func(p *vk.Pipeline, stamp int, buffers ...vk.Buffer)) {
	s, q, lib := f.stream, r.query, r.library
	n := uint64(q.Rows)
	f.recordSearch(r, w)
	if r.chain.proveTwoFloats != nil {
		run(r.chain.proveTwoFloats, stampTwoFloats, lib.shapes, lib.vertices, lib.shapes64, lib.vertices64, lib.cells,
			in.poses.device, w.indices, w.pairs, w.remainders, w.searches, w.columns.device, w.counts, w.unproved)
	} else {
		f.stamp(stampTwoFloats)
	}
	if r.chain.certify == nil { // no double precision
		for stamp := stampTwoFloats + 1; stamp <= stampDepth; stamp++ {
			f.stamp(stamp)
		}
		return
	}
	prove := []vk.Buffer{lib.shapes64, lib.vertices64, in.poses.device, w.indices, w.searches, w.columns.device,
		lib.cells, w.counts, w.continued, w.stationary, w.unproved}
	if r.chain.proveTwoFloats != nil {
		f.recordList(r, w, r.chain.prove, layout.ListUnproved, prove...)
		f.stamp(stampProved)
	} else {
		run(r.chain.prove, stampProved, prove...)
	}
	if r.chain.boxAxes != nil {
		f.recordList(r, w, r.chain.boxAxes, layout.ListAxes, lib.shapes64, in.poses.device, w.indices, w.searches,
			w.columns.device, w.counts, w.stationary, w.continued, lib.vertices64, lib.cells)
	}
	f.stamp(stampAxes)
	search := []vk.Buffer{lib.shapes64, lib.vertices64, in.poses.device, w.indices, w.searches, w.columns.device,
		lib.cells, w.depths, w.counts, w.continued}
	if r.chain.trustRegion != nil {
		f.recordList(r, w, r.chain.trustRegion, layout.ListStationary, append(search, w.stationary)...)
	}
	f.stamp(stampRefined)
	f.recordList(r, w, r.chain.certify, layout.ListContinue, search...)
	f.stamp(stampCertified)
	// depth records a pass over the list of depths. The next dispatch uses the same scratch memory, also that of
	// another stream. Those of depth.glsl take the work groups that the list fills.
	depth := func(p *vk.Pipeline, invocations int, buffers ...vk.Buffer) {
		s.Bind(p, append(buffers, w.depths, w.counts, scratch.quads, scratch.faces, scratch.links)...)
		for at := uint64(0); at < n; at += uint64(invocations) {
			q.FirstDepth = uint32(at)
			s.Push(bytesOf([]layout.QueryRecord{q}))
			if invocations == scratch.invocations {
				s.DispatchIndirect(w.groups(layout.ListDepths + at/uint64(invocations)))
			} else {
				s.Dispatch(uint32((min(n-at, uint64(invocations))+groupSize-1)/groupSize), 1, 1)
			}
			s.Barrier(vk.StageCompute, vk.StageCompute|vk.StageTransfer)
		}
	}
	if r.chain.epaFloat32 != nil && batch.Query(q.Query).Info().Depth {
		depth(r.chain.epaFloat32, float32Invocations(scratch.invocations), lib.shapes, lib.vertices, w.pairs,
			lib.cells)
	}
	f.stamp(stampDepthFloat32)
	for _, p := range []*vk.Pipeline{r.chain.certificate, r.chain.depth} {
		if p != nil {
			depth(p, scratch.invocations, lib.shapes64, lib.vertices64, in.poses.device, w.indices, w.columns.device,
				lib.cells)
		}
	}
	f.stamp(stampDepth)
}

// recordSearch records the search in single precision. Its second phase takes the rows that the first does not end.
func (f *flight) recordSearch(r *recording, w *work) {
	lib := r.library
	buffers := []vk.Buffer{lib.shapes, lib.vertices, w.pairs, w.searches, lib.cells, w.counts, w.states}
	f.recordRows(r, r.chain.gjk, buffers...)
	if r.chain.gjkRest != nil {
		f.recordList(r, w, r.chain.gjkRest, layout.ListSearch, buffers...)
	}
	f.stamp(stampSearched)
}

// recordRows records a pass over all rows.
func (f *flight) recordRows(r *recording, p *vk.Pipeline, buffers ...vk.Buffer) {
	f.recordPass(r, p, buffers, func() { f.stream.Dispatch((r.query.Rows+groupSize-1)/groupSize, 1, 1) })
}

// recordList records a pass over the rows of a list.
func (f *flight) recordList(r *recording, w *work, p *vk.Pipeline, list uint64, buffers ...vk.Buffer) {
	f.recordPass(r, p, buffers, func() { f.stream.DispatchIndirect(w.groups(list)) })
}

// recordPass records a pass whose results every later command may read.
func (f *flight) recordPass(r *recording, p *vk.Pipeline, buffers []vk.Buffer, dispatch func()) {
	f.stream.Bind(p, buffers...)
	f.stream.Push(bytesOf([]layout.QueryRecord{r.query}))
	dispatch()
	f.stream.Barrier(vk.StageCompute, vk.StageCompute|vk.StageIndirect|vk.StageTransfer)
}

// stamp notes the time, on devices that can tell it.
func (f *flight) stamp(slot int) {
	if f.stamped {
		f.stream.Timestamp(slot)
	}
}

// finish waits for the chunk, if there is one, and takes down its answers to the rows of
// out that begin at base. It returns the time in which the device ran the shaders. If t is not nil, it gets the rows
// that a reduction omits and the bytes that are read.
func (f *flight) finish(ctx context.Context, b *Backend, out *batch.Results, base int, t *batch.Tally) (time.Duration,
	error) {
	if !f.busy {
		return 0, nil
	}
	if err := f.wait(ctx, b); err != nil {
		return 0, err
	}
	var err error
	if f.stamped {
		if f.times, err = f.stream.AppendTimes(f.times[:0]); err != nil {
			return 0, err
		}
	}
	var sum tally
	bytes, reduced := uint64(0), false
	if f.reduce != nil {
		if bytes, reduced, err = f.entries(ctx, b); err != nil {
			return 0, err
		}
		if reduced {
			sum = f.reduce.take(&f.layout, f.reduce.out.host.Bytes(), out, base, f.lo, t)
		}
	}
	if !reduced {
		bytes += f.layout.bytes
		if err := f.columns.host.Slice(0, f.layout.bytes).Invalidate(); err != nil {
			return 0, err
		}
		if sum, err = f.taker.take(&f.layout, f.columns.host.Bytes(), out, base); err != nil {
			return 0, err
		}
	}
	if t != nil {
		t.Bytes += int64(bytes)
	}
	return b.stats.chunk(sum, bytes, f.times), nil
}

func (f *flight) wait(ctx context.Context, b *Backend) error {
	err := f.stream.Wait(ctx, b.options.Timeout)
	f.busy = err != nil
	return err
}

// entries makes the output of the reduction visible to the host, what was not moved with the chunk as well. It returns
// the number of bytes read so far. If there was no room for all entries it reports false, and all columns are moved.
func (f *flight) entries(ctx context.Context, b *Backend) (bytes uint64, ok bool, err error) {
	r := f.reduce
	if err := r.out.host.Slice(0, r.bytes).Invalidate(); err != nil {
		return 0, false, err
	}
	n := r.entries()
	if n > r.record.Room {
		return r.moved, false, f.fetch(ctx, b, f.columns, 0, f.layout.bytes)
	}
	used := r.bytesOf(n)
	if b.direct {
		return used, true, nil
	}
	if used <= r.moved {
		return r.moved, true, nil
	}
	if err := f.fetch(ctx, b, &r.out, r.moved, used); err != nil {
		return 0, false, err
	}
	return used, true, r.out.host.Slice(0, used).Invalidate()
}

// fetch moves bytes lo to hi back after the chunk.
func (f *flight) fetch(ctx context.Context, b *Backend, m *mirror, lo, hi uint64) error {
	if b.direct {
		return nil
	}
	f.recorded = recording{}
	s := f.stream
	if err := s.Begin(); err != nil {
		return err
	}
	s.Barrier(vk.StageCompute, vk.StageTransfer)
	s.Copy(m.host.Slice(lo, hi-lo), m.device.Slice(lo, hi-lo))
	if err := s.Submit(); err != nil {
		return err
	}
	f.busy = true
	return f.wait(ctx, b)
}

// drain waits for what is still under way after an error, so that its memory can be used
// again.
func (f *flight) drain(b *Backend) error {
	if !f.busy {
		return nil
	}
	if err := f.stream.Wait(context.Background(), b.options.Timeout); err != nil {
		return err
	}
	f.busy = false
	return nil
}

// taker takes down the columns of a chunk on all processors.
type taker struct {
	layout *placement
	memory []byte
	out    *batch.Results
	base   int
	counts []tally // of each block
}

func (t *taker) take(l *placement, memory []byte, out *batch.Results, base int) (sum tally, err error) {
	t.layout, t.memory, t.out, t.base = l, memory, out, base
	defer func() { t.memory, t.out = nil, nil }()
	blocks := (l.n + blockRows - 1) / blockRows
	if cap(t.counts) < blocks {
		t.counts = make([]tally, blocks)
	}
	t.counts = t.counts[:blocks]
	if err := parallel(l.n, t); err != nil {
		return sum, err
	}
	for _, c := range t.counts {
		sum.add(c)
	}
	return sum, nil
}

func (t *taker) block(lo, hi int) error {
	t.counts[lo/blockRows] = t.layout.takeDown(t.memory, t.out, t.base, lo, hi)
	return nil
}

package engine

import (
	"context"
	"time"

	"clearance/batch"
	"clearance/engine/internal/vk"
	"clearance/internal/layout"
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
	derive  *derivation // nil: there are no derivatives
	reduce  *reduction  // nil: all rows are read
	taker   taker
	times   []time.Duration
}

// start hands a chunk to the device. With a reduction, not nil, only the rows that it needs are moved back; with a
// derivation, not nil, the derivatives of the answers as well.
func (f *flight) start(b *Backend, lib *library, c *chain, q layout.QueryRecord, l placement, in *inputs, w *work,
	der *derivation, red *reduction, lo int) error {
	if err := f.open(b); err != nil {
		return err
	}
	scratch, err := b.scratch.of(b)
	if err != nil {
		return err
	}
	f.lo, f.n, f.layout, f.columns, f.derive, f.reduce = lo, l.n, l, &w.columns, der, red
	l.putIn(&q)
	q.DepthRows = uint32(scratch.invocations)
	in.putIn(&q)
	r := recording{
		query: q, library: lib, chain: c, down: l.bytes, status: [2]uint64{4 * uint64(l.statusAt()), l.statusBytes()},
		blocks: [5]vk.Buffer{in.poses.device, in.warm.device, w.indices, w.columns.device, scratch.quads},
	}
	if red != nil {
		r.reduction, r.reduced, r.down = red.record, [2]vk.Buffer{red.bounds.device, red.out.device}, red.moved
	}
	if der != nil {
		r.derivation, r.derivative, r.derived = der.chain, der.record, der.out.device
		if der.product != nil {
			r.down, r.sums, r.least = 0, der.sums.record, der.sums.groups
			r.operands = [2]uint64{der.operands.fresh, der.sums.places.fresh}
		}
	}
	if !b.direct {
		r.fresh = [4]uint64{in.poses.fresh, in.templates.fresh, in.order.fresh, in.warm.fresh}
		if red != nil {
			r.bounds = red.bounds.fresh
		}
	}
	if r != f.recorded {
		f.recorded = recording{}
		if err := f.record(b, &r, &memory{lib, in, w, scratch, der, red}); err != nil {
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
	if der != nil && der.product != nil {
		b.stats.sent(der.operands.fresh + der.sums.places.fresh)
	}
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

// collect waits for the chunk, if there is one, and takes down its answers to the rows of
// out that begin at base. It returns the time in which the device ran the shaders. If t is not nil, it gets the rows
// that a reduction omits and the bytes that are read.
func (f *flight) collect(ctx context.Context, b *Backend, out *batch.Results, base int, t *batch.Tally) (time.Duration,
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
	switch products := f.derive != nil && f.derive.product != nil; {
	case products:
		_, bytes = f.derive.moved()
		sum.rows = int64(f.n)
		if sum.derived, err = f.derive.takeProducts(); err != nil {
			return 0, err
		}
	case !reduced:
		bytes += f.layout.bytes
		if err := f.columns.host.Slice(0, f.layout.bytes).Invalidate(); err != nil {
			return 0, err
		}
		if sum, err = f.taker.take(&f.layout, f.columns.host.Bytes(), out, base); err != nil {
			return 0, err
		}
		if f.derive == nil {
			break
		}
		bytes += f.derive.bytes
		if sum.derived, err = f.derive.take(out, base); err != nil {
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

// slot is the memory of one chunk of a call and the stream that computes it.
type slot struct {
	rows   int // room
	blocks []*vk.Block

	inputs inputs
	work   work
	packer packer
	derive derivation
	reduce reduction
	flight flight
	call   int64 // number of the call whose templates are in the inputs
}

// workspace is the memory of one call: two slots, one computed while the other is filled.
type workspace struct{ slots [2]slot }

// reserve makes room for n rows.
func (s *slot) reserve(b *Backend, n int) error {
	if n <= s.rows {
		return nil
	}
	free(s.blocks)
	s.blocks, s.call = nil, 0
	rows := min(max(n, 2*s.rows, 1024), b.chunkRows)
	s.rows = 0
	p := plan{b: b}
	count := uint64(rows)
	p.input(&s.inputs.poses, 2*count*poseBytes)
	p.input(&s.inputs.templates, count*templateBytes)
	p.input(&s.inputs.order, count*orderBytes)
	p.input(&s.inputs.warm, count*warmBytes)
	s.work.plan(&p, rows)
	var err error
	if s.blocks, err = p.allocate(); err != nil {
		return err
	}
	s.rows = rows
	return nil
}

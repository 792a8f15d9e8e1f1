package engine

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"runtime/debug"
	"time"

	"clearance/batch"
	"clearance/engine/internal/vk"
	"clearance/internal/fault"
	"clearance/internal/layout"
)

// loopLimit is the limit on the loop passes of one invocation. A driver that runs on the CPU may end an invocation
// after 65,535 passes of all its loops without an error, and GPUs have watchdogs.
const loopLimit = 60_000

// Run answers rows [lo, hi) of the job into rows [0, hi-lo) of out, and leaves the mark
// of rows that it declines as it was.
func (b *Backend) Run(ctx context.Context, job *batch.Job, lo, hi int, out *batch.Results) error {
	_, err := b.RunMeasured(ctx, job, lo, hi, out)
	return err
}

// RunMeasured is Run; kernel is the time in which the device ran the shaders, 0 if it does
// not tell the time.
func (b *Backend) RunMeasured(ctx context.Context, job *batch.Job, lo, hi int,
	out *batch.Results) (kernel time.Duration, err error) {
	return b.RunReduced(ctx, job, lo, hi, out, nil)
}

// RunReduced is RunMeasured. If the job has a reduction, and tally is not nil, rows that it does not need are omitted
// where that saves transfers: they are answered on the device and stay there.
func (b *Backend) RunReduced(ctx context.Context, job *batch.Job, lo, hi int, out *batch.Results,
	tally *batch.Tally) (kernel time.Duration, err error) {
	if err := b.enter(); err != nil {
		return 0, err
	}
	defer b.leave()
	if err := check(&job.Options, job.Plan); err != nil {
		return 0, err
	}
	number := b.stats.call()
	c := call{
		b: b, ctx: ctx, job: job, lo: lo, out: out, tally: tally, query: queryOf(&job.Options), number: number,
		chunkRows: b.chunkRows,
	}
	if c.derives = b.derives(&job.Options, out); c.derives {
		c.chunkRows = b.derivedRows()
	}
	c.worlds = asWorlds(job.Input, lo, hi, c.chunkRows)
	return b.answer(&c, hi)
}

// answer answers the rows of a call up to hi.
func (b *Backend) answer(c *call, hi int) (kernel time.Duration, err error) {
	if c.library, err = b.libraries.of(c.ctx, c.job.Library); err != nil {
		return 0, b.failed(err)
	}
	defer b.libraries.release(c.library)
	if b.options.budget != 0 {
		c.query.LoopLimit = b.options.budget
	}
	if c.chain, err = b.pipelines.forQuery(&c.job.Options, c.library); err != nil {
		return 0, b.failed(err)
	}
	if c.chain == nil {
		b.stats.declineAll(hi - c.lo)
		return 0, nil
	}
	if c.workspace, err = b.takeWorkspace(c.ctx); err != nil {
		return 0, err
	}
	// Also if the input or the context panics. A drain that fails leaves a chunk on the device, which may write to the
	// memory of the workspace at any time: the device is marked before the workspace can be taken again.
	defer func() {
		if e := b.failed(c.drain()); err == nil {
			err = e
		}
		b.workspaces <- c.workspace
	}()
	err = b.failed(c.run(hi))
	return c.kernel, err
}

// takeWorkspace waits for an idle workspace. The call that had it may have found the device unusable.
func (b *Backend) takeWorkspace(ctx context.Context) (*workspace, error) {
	select {
	case l := <-b.workspaces:
		if err := b.usable(); err != nil {
			b.workspaces <- l
			return nil, err
		}
		return l, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// usable returns the error that made the device unusable.
func (b *Backend) usable() error {
	if err := b.broken.Load(); err != nil {
		return *err
	}
	return nil
}

// failed notes errors after which the device must not be used.
func (b *Backend) failed(err error) error {
	if errors.Is(err, vk.DeviceLost) || errors.Is(err, vk.Timeout) {
		broken := fmt.Errorf("engine: %w", err)
		b.broken.CompareAndSwap(nil, &broken)
		return broken
	}
	return err
}

// call is one Run.
type call struct {
	b         *Backend
	ctx       context.Context
	job       *batch.Job
	lo        int
	out       *batch.Results
	tally     *batch.Tally // nil: no row may be omitted
	query     layout.QueryRecord
	chain     *chain
	library   *library
	worlds    *batch.Worlds // the input, if it goes in that form
	chunkRows int
	derives   bool      // the columns of derivatives are filled,
	product   *products // or products are taken in their place
	number    int64     // of the call
	workspace *workspace
	kernel    time.Duration
}

// run answers rows up to hi: it fills one slot while the device computes the other.
func (c *call) run(hi int) error {
	k := 0
	for at := c.lo; at < hi; k++ {
		if err := c.ctx.Err(); err != nil {
			return err
		}
		s := &c.workspace.slots[k%2]
		if err := c.collect(s); err != nil {
			return err
		}
		n, room := c.cut(at, hi)
		if err := c.start(s, at, n, room); err != nil {
			return err
		}
		at += n
	}
	for range 2 {
		if err := c.collect(&c.workspace.slots[k%2]); err != nil {
			return err
		}
		k++
	}
	return nil
}

// cut returns how many rows the chunk at row at has, and the number of rows for which it needs room.
func (c *call) cut(at, hi int) (n, room int) {
	if c.product != nil && c.product.bySets() && c.worlds == nil {
		n = c.product.rowsFrom(at, c.chunkRows)
		return n, n
	}
	return cut(c.worlds, at, hi, c.chunkRows)
}

// start hands a chunk to the device.
func (c *call) start(s *slot, at, n, room int) error {
	if err := s.reserve(c.b, room); err != nil {
		return err
	}
	p := &s.packer
	p.library, p.shapes, p.input, p.worlds, p.warm = c.library, c.job.Library, c.job.Input, c.worlds,
		c.job.Options.WarmStart
	p.in, p.lo, p.n, p.unsorted = &s.inputs, at, n, c.b.options.unsorted
	same := s.call == c.number
	s.call = 0 // until it is known to be whole
	if err := p.all(same); err != nil {
		return err
	}
	s.call = c.number
	l := placementOf(c.out, n)
	var red *reduction
	if c.job.Reduction != nil && c.tally != nil && c.b.pipelines.arithmetic.float64 {
		reduces, err := s.reduce.prepare(c.b, c.job, at, n, &l)
		if err != nil {
			return err
		}
		if reduces {
			red = &s.reduce
		}
	}
	var der *derivation
	if c.derives {
		var err error
		if c.product != nil {
			der, err = s.derive.multiply(c.b, c, &l, at)
		} else {
			der, err = s.derive.of(c.b, &c.job.Options, &c.query, c.library, &l, c.out)
		}
		if err != nil {
			return err
		}
	}
	return s.flight.start(c.b, c.library, c.chain, c.query, l, &s.inputs, &s.work, der, red, at)
}

// collect waits for a chunk, if there is one in the slot, and takes down its answers.
func (c *call) collect(s *slot) error {
	kernel, err := s.flight.collect(c.ctx, c.b, c.out, s.flight.lo-c.lo, c.tally)
	c.kernel += kernel
	return err
}

// drain waits for what is still under way after an error, so that its memory can be
// used again.
func (c *call) drain() error {
	var first error
	for i := range c.workspace.slots {
		if err := c.workspace.slots[i].flight.drain(c.b); err != nil && first == nil {
			first = err
		}
		c.workspace.slots[i].packer.forget()
	}
	return first
}

// queryOf translates what is the same for every row.
func queryOf(o *batch.Options) layout.QueryRecord {
	q := layout.QueryRecord{Query: uint32(o.Query), LoopLimit: loopLimit}
	q.MaxIterations = uint32(min(o.MaxIterations, math.MaxInt32))
	cutOff, has := o.EffectiveCutOff()
	if has {
		q.Flags |= layout.FlagCutOff
	}
	if o.Precision == batch.Double {
		q.Flags |= layout.FlagDouble
	}
	if o.WarmStart != nil {
		q.Flags |= layout.FlagWarm
	}
	if o.StatusAlone() {
		q.Flags |= layout.FlagStatusAlone
	}
	tolerance, curved := o.SolverTolerances()
	q.Tolerance, q.CutOff = float32(tolerance), float32(cutOff)
	for i, v := range [3]float64{tolerance, cutOff, curved} {
		bits := math.Float64bits(v)
		q.Exact[2*i], q.Exact[2*i+1] = uint32(bits), uint32(bits>>32)
	}
	return q
}

// blockRows is the number of rows that one goroutine of the host takes at a time.
const blockRows = 4096

// blockwise is work on rows that can be done block by block. A block begins at a multiple
// of blockRows.
type blockwise interface {
	block(lo, hi int) error
}

// parallel does work on [0, n), on all processors if there is enough of it. It returns the
// first error; a panic is one. It does not allocate for one block.
func parallel(n int, w blockwise) error {
	if n <= blockRows {
		if n == 0 {
			return nil
		}
		return guarded(w, 0, n)
	}
	return fault.Each(context.Background(), runtime.GOMAXPROCS(0), (n+blockRows-1)/blockRows, func(k int) error {
		return guarded(w, k*blockRows, min((k+1)*blockRows, n))
	})
}

func guarded(w blockwise, lo, hi int) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("engine: panic: %v\n%s", p, debug.Stack())
		}
	}()
	return w.block(lo, hi)
}

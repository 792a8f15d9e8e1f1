package dispatch

import (
	"context"
	"fmt"
	"sync"
	"time"

	"clearance/batch"
)

// unwritten marks the rows that no back end has answered. It remains on declined rows.
const unwritten = 0xff

// chunk is rows [lo, hi) of a job in the pipeline of a call, with their part of the report.
type chunk struct {
	index  int // of the call, from 0
	job    *batch.Job
	lo, hi int
	base   int            // row of the call at which the job begins
	out    *batch.Results // its answers, with all columns that the report needs
	part   *part          // if the call is a stream

	views      *[2]batch.Results // memory of out and of a part of scratch, if the chunk is used again
	scratch    *batch.Results    // columns that the caller did not request
	by         *member           // that answered it
	wall       time.Duration
	kernel     time.Duration
	kernelRows int
	tally      batch.Tally // of the rows that were omitted
	failovers  []Failover
	handovers  []Handover
	err        error // why rows have no answer
}

// runner is one call.
type runner struct {
	o      Options
	pool   *pool
	report *Report
	total  int // rows of the call, -1 if unknown

	row batch.Row // used by account

	mu   sync.Mutex
	free []*batch.Results // scratch columns not in use
}

// newChunk returns rows [lo, hi) of a job, all unwritten.
func (r *runner) newChunk(job *batch.Job, lo, hi, base int) *chunk {
	c := &chunk{job: job, lo: lo, hi: hi, base: base}
	r.view(c)
	c.reset()
	return c
}

// reset marks every row as unwritten.
func (c *chunk) reset() {
	c.tally.Reset()
	for i := range c.out.Status() {
		c.out.Status()[i] = unwritten
	}
}

// needed returns the columns that the report is computed from.
func needed(o *batch.Options) batch.Columns {
	need := batch.ColStatus
	if o.StatusAlone() { // which is decided faster and transferred as bits
		return need
	}
	need |= batch.ColIterations | batch.ColGap | batch.ColMethod
	if _, ok := o.EffectiveCutOff(); ok || o.Query.Info().Tolerance == batch.OfValue {
		need |= batch.ColDistance
	}
	return need
}

// view sets the answers of a chunk to its rows of the results, with scratch columns for
// those that the report needs and the caller did not request.
func (r *runner) view(c *chunk) {
	n := c.hi - c.lo
	if c.views == nil {
		c.views = new([2]batch.Results)
	}
	out := &c.views[0]
	c.job.Results.SliceTo(out, c.lo, c.hi)
	c.out = out
	missing := needed(&c.job.Options) &^ out.Columns
	if missing == 0 {
		return
	}
	c.scratch = r.takeScratch(n, &batch.Options{Precision: out.Precision, Columns: missing})
	s := &c.views[1]
	c.scratch.SliceTo(s, 0, n)
	out.Adopt(s, missing)
}

// takeScratch returns columns of at least n rows.
func (r *runner) takeScratch(n int, o *batch.Options) *batch.Results {
	r.mu.Lock()
	defer r.mu.Unlock()
	if k := len(r.free); k > 0 && r.free[k-1].N >= n {
		s := r.free[k-1]
		r.free = r.free[:k-1]
		return s
	}
	return batch.NewResults(n, o)
}

// releaseScratch takes back the scratch columns of a chunk.
func (r *runner) releaseScratch(c *chunk) {
	if c.scratch == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.free = append(r.free, c.scratch)
	c.scratch = nil
}

// compute answers a chunk on a member.
func (r *runner) compute(ctx context.Context, m *member, c *chunk) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	start := time.Now()
	kernel, err := guard(ctx, m.Backend, c.job, c.lo, c.hi, c.out, &c.tally)
	if err != nil {
		return err
	}
	if i := c.firstUnwritten(); i >= 0 && !m.partial() {
		return fmt.Errorf("row %d was not answered", c.base+c.lo+i)
	}
	c.by, c.wall = m, time.Since(start)
	if kernel > 0 {
		c.kernel, c.kernelRows = kernel, c.hi-c.lo
	}
	return nil
}

// answer answers a chunk on a member and, if that fails, on the next ones. It returns the
// last member used, nil if all have failed. c.err is nil if the chunk is answered.
func (r *runner) answer(ctx context.Context, m *member, c *chunk) *member {
	for {
		if err := r.pool.dropped(m); err != nil { // it failed in another goroutine
			if m = r.pool.replace(m, err); m == nil {
				c.err = err
				return nil
			}
		}
		err := r.compute(ctx, m, c)
		if err == nil {
			return m
		}
		if ended(ctx, err) {
			c.err = err // the rows written so far are valid
			return m
		}
		c.reset()
		lo, hi := c.base+c.lo, c.base+c.hi
		c.err = fmt.Errorf("dispatch: back end %s failed on rows [%d, %d): %w", m.Name(), lo, hi, err)
		c.failovers = append(c.failovers, Failover{m.Name(), lo, hi, c.err})
		if m = r.pool.replace(m, c.err); m == nil {
			return nil
		}
		c.err = nil
	}
}

// settle completes a chunk: it marks rows without an answer as undecided, packs the bits and
// updates the report.
func (r *runner) settle(c *chunk) {
	unanswered := 0
	for i, s := range c.out.Status() {
		if c.noAnswer(s) {
			c.out.PutFailure(i, batch.Undecided)
			unanswered++
		}
	}
	rep := r.report
	rep.Rows += c.hi - c.lo
	rep.Done += c.out.N - unanswered
	rep.Kernel += c.kernel
	rep.KernelRows += c.kernelRows
	rep.Failovers = append(rep.Failovers, c.failovers...)
	for _, h := range c.handovers {
		rep.handover(h)
	}
	rep.BytesDown += c.tally.Bytes
	if red := c.job.Reduction; red != nil {
		red.Tally.Add(&c.tally)
	}
	if c.by != nil {
		rep.span(c.by.Name(), c.base+c.lo, c.base+c.hi, c.wall)
	}
	r.account(c)
	c.out.PackBits(c.out.Status())
	r.releaseScratch(c)
}

// progress reports progress to the caller.
func (r *runner) progress() {
	if r.o.Progress != nil {
		r.o.Progress(r.report.Done, r.total)
	}
}

// firstUnwritten returns the first unwritten row, or -1.
func (c *chunk) firstUnwritten() int {
	for i, s := range c.out.Status() {
		if c.noAnswer(s) {
			return i
		}
	}
	return -1
}

// noAnswer reports whether a row with this status byte has no answer.
func (c *chunk) noAnswer(status uint8) bool {
	return status >= uint8(batch.StatusCount) && !(status == batch.Omitted && c.job.Reduction != nil)
}

// omitted counts the rows that a back end omitted.
func omitted(status []uint8) (n int) {
	for _, s := range status {
		if s == batch.Omitted {
			n++
		}
	}
	return n
}

// badSolver returns the first answered row with a solver code out of range, or -1.
func badSolver(out *batch.Results) int {
	for i, m := range out.Method() {
		if m >= uint8(batch.SolverCount) && out.Status()[i] < uint8(batch.StatusCount) {
			return i
		}
	}
	return -1
}

// guard runs a back end. A panic is an error, and so are answers by a solver that does not exist, and omitted rows that
// the tally does not account for. kernel is 0 if the back end does not measure it. tally is nil if no row may be
// omitted.
func guard(ctx context.Context, b Backend, job *batch.Job, lo, hi int, out *batch.Results, tally *batch.Tally) (
	kernel time.Duration, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v", p)
		}
		if i := badSolver(out); i >= 0 {
			err = fmt.Errorf("row %d of %d: status %v by solver %d, want a code below %d: the back end or the "+
				"memory is at fault", i, out.N, batch.Status(out.Status()[i]), out.Method()[i], batch.SolverCount)
		}
		if tally == nil || err != nil {
			return
		}
		if job.Reduction == nil { // rows that are omitted have no answer yet, and are counted when they do
			bytes := tally.Bytes
			tally.Reset()
			tally.Bytes = bytes
			return
		}
		if n := omitted(out.Status()); n != tally.Rows {
			err = fmt.Errorf("%d of %d rows are omitted, and %d are accounted for", n, out.N, tally.Rows)
		}
	}()
	if r, ok := As[Reducer](b); ok && tally != nil {
		return r.RunReduced(ctx, job, lo, hi, out, tally)
	}
	if m, ok := As[Measured](b); ok {
		return m.RunMeasured(ctx, job, lo, hi, out)
	}
	return 0, b.Run(ctx, job, lo, hi, out)
}

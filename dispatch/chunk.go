package dispatch

import (
	"context"
	"fmt"
	"iter"
	"runtime"
	"sync"
	"time"

	"clearance/batch"
	"clearance/internal/fault"
)

// chunk is rows [lo, hi) of a job in the pipeline of a call, with their part of the report.
type chunk struct {
	index   int // of the call, from 0
	job     *batch.Job
	planned batch.Job // job, with the plan of the back end that is asked
	lo, hi  int
	base    int            // row of the call at which the job begins
	out     *batch.Results // its answers, with all columns that the report needs
	part    *part          // if the call is a stream
	whole   *batch.Results // out with the columns of derivatives, nil in calls without

	deriving bool // back ends may compute derivatives; whole then has the column of smoothness

	views      [3]batch.Results // memory of out, of a part of scratch and of whole
	scratch    *batch.Results   // columns that the caller did not request
	marks      batch.Marks      // of out, if the job has none of its own
	count      batch.Count      // of the answered rows
	by         *member          // that answered it
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

	row     batch.Row // used by noteInvalid
	settled int       // rows of a job before it are settled

	mu    sync.Mutex
	free  []*batch.Results // scratch columns not in use
	marks []batch.Marks    // not in use
}

// newChunk returns rows [lo, hi) of a job, all unanswered.
func (r *runner) newChunk(job *batch.Job, lo, hi, base int) *chunk {
	c := &chunk{job: job, lo: lo, hi: hi, base: base}
	r.view(c)
	c.reset()
	return c
}

// reset makes every row unanswered, whatever its columns hold.
func (c *chunk) reset() {
	c.tally.Reset()
	c.count.Reset()
	c.out.Marks.Set(0, c.out.N, batch.Unanswered)
	if c.deriving {
		batch.Marks(c.whole.Column(batch.ColSmoothness).U8).Set(0, c.whole.N, uint8(batch.NotDerived))
	}
}

// view sets the answers of a chunk to its rows of the results, with scratch columns for
// those that the report needs and the caller did not request.
func (r *runner) view(c *chunk) {
	n := c.hi - c.lo
	c.count.MaxInvalid = r.o.MaxRowErrors
	out := &c.views[0]
	c.job.Results.SliceTo(out, c.lo, c.hi)
	c.out = out
	if out.Marks == nil {
		c.marks = r.takeMarks(n)
		out.Marks = c.marks
	}
	c.deriving = r.pool.deriving
	if missing := r.pool.needed &^ out.Columns; missing != 0 {
		c.scratch = r.takeScratch(n, &batch.Options{Precision: out.Precision, Columns: missing})
		s := &c.views[1]
		c.scratch.SliceTo(s, 0, n)
		out.Adopt(s, missing)
	}
	if r.pool.derive != nil {
		c.whole = &c.views[2]
		*c.whole = *out
		out.Drop(batch.DerivedColumns)
	}
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
	return batch.UnsetResults(n, o)
}

// takeMarks returns marks of n rows.
func (r *runner) takeMarks(n int) batch.Marks {
	r.mu.Lock()
	defer r.mu.Unlock()
	if k := len(r.marks); k > 0 && cap(r.marks[k-1]) >= n {
		m := r.marks[k-1]
		r.marks = r.marks[:k-1]
		return m[:n]
	}
	return make(batch.Marks, n)
}

// release takes back the scratch columns and the marks of a chunk.
func (r *runner) release(c *chunk) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if c.scratch != nil {
		r.free = append(r.free, c.scratch)
		c.scratch = nil
	}
	if c.marks != nil {
		r.marks = append(r.marks, c.marks)
		c.marks, c.out.Marks, c.whole = nil, nil, nil
	}
}

// compute answers a chunk on a member.
func (r *runner) compute(ctx context.Context, m *member, c *chunk) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	start := time.Now()
	out := c.out
	if m.derives {
		out = c.whole
	}
	c.planned = *c.job
	c.planned.Plan = m.plan
	kernel, err := guard(ctx, m.Backend, &c.planned, c.lo, c.hi, out, &c.tally, &c.count)
	if err != nil {
		return err
	}
	if i := c.out.Marks.Next(0, batch.Unanswered); i >= 0 && !m.partial() {
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

// settle completes a chunk: it makes rows without an answer Undecided, packs the bits and updates the report.
func (r *runner) settle(c *chunk) {
	if c.whole != nil && c.err != nil {
		clearDerivatives(c.whole)
	}
	unanswered := 0
	m := c.out.Marks
	for lo, hi := m.NextRun(0, batch.Unanswered); lo >= 0; lo, hi = m.NextRun(hi, batch.Unanswered) {
		c.out.Fail(lo, hi)
		unanswered += hi - lo
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
	r.account(c, unanswered)
	c.out.PackBits(c.out.Status())
	r.release(c)
	r.settled = c.hi
}

// progress reports progress to the caller.
func (r *runner) progress() {
	if r.o.Progress != nil {
		r.o.Progress(r.report.Done, r.total)
	}
}

// guard runs a back end and counts the rows that it answered, those before the end of the context as well. A panic
// is an error, and so are answers with codes that do not exist, omitted rows that the tally does not account for,
// and a count of other rows than those with an answer. kernel is 0 if the back end does not measure it. tally is nil
// if no row may be omitted.
func guard(ctx context.Context, b Backend, job *batch.Job, lo, hi int, out *batch.Results, tally *batch.Tally,
	count *batch.Count) (kernel time.Duration, err error) {
	kernel, err = call(ctx, b, job, lo, hi, out, tally, count)
	if err != nil && !ended(ctx, err) {
		return kernel, err
	}
	answered := out.Marks.Count(batch.Answered)
	switch {
	case err != nil || count.Rows == 0 && answered > 0: // the back end does not count, or only a part
		count.Reset()
		countAnswered(count, job, lo, out, answered)
	case count.Rows != answered:
		return kernel, fmt.Errorf("%d of %d rows are answered, and %d are counted", answered, out.N, count.Rows)
	}
	if row := count.Bad; row >= 0 {
		return kernel, fmt.Errorf("row %d of %d: status %v by %s, want codes below %d and %d: the back end or the "+
			"memory is at fault", row-lo, out.N, batch.Status(out.Status()[row-lo]), solverText(out, row-lo),
			batch.StatusCount, batch.SolverCount)
	}
	if tally == nil {
		return kernel, err
	}
	if job.Reduction == nil { // rows that are omitted have no answer yet
		bytes := tally.Bytes
		tally.Reset()
		tally.Bytes = bytes
		for i := out.Marks.Next(0, batch.Omitted); i >= 0; i = out.Marks.Next(i+1, batch.Omitted) {
			out.Marks[i] = batch.Unanswered
		}
	}
	if n := out.Marks.Count(batch.Omitted); n != tally.Rows {
		return kernel, fmt.Errorf("%d of %d rows are omitted, and %d are accounted for", n, out.N, tally.Rows)
	}
	return kernel, err
}

// solverText names the solver of a row.
func solverText(out *batch.Results, i int) string {
	if out.Method() == nil {
		return "any solver"
	}
	return fmt.Sprintf("solver %d", out.Method()[i])
}

// countRows is the number of rows that a goroutine counts at a time.
const countRows = 1 << 13

// countAnswered counts the answered rows of out, of which row 0 is row first of the job. Many rows, as those of a
// device, are counted by several goroutines: counts do not depend on how rows are divided.
func countAnswered(count *batch.Count, job *batch.Job, first int, out *batch.Results, answered int) {
	add := func(count *batch.Count, lo, hi int) {
		marks := out.Marks[:hi]
		for a, b := marks.NextRun(lo, batch.Answered); a >= 0; a, b = marks.NextRun(b, batch.Answered) {
			count.Add(job, first, out, a, b)
		}
	}
	if out.Marks == nil {
		return
	}
	workers := min(runtime.GOMAXPROCS(0), out.N/countRows)
	switch {
	case workers > 1:
	case answered == out.N:
		count.Add(job, first, out, 0, out.N)
		return
	default:
		add(count, 0, out.N)
		return
	}
	counts := make([]batch.Count, workers)
	for w := range counts {
		counts[w].MaxInvalid = count.MaxInvalid
		counts[w].Reset()
	}
	err := fault.Blocks(context.Background(), workers, out.N, countRows, func(w int, blocks iter.Seq2[int, int]) {
		for lo, hi := range blocks {
			add(&counts[w], lo, hi)
		}
	})
	if err != nil { // a panic of a worker
		panic(err)
	}
	for w := range counts {
		count.Merge(&counts[w])
	}
}

// call runs a back end by the method that tells most. A panic is an error.
func call(ctx context.Context, b Backend, job *batch.Job, lo, hi int, out *batch.Results, tally *batch.Tally,
	count *batch.Count) (kernel time.Duration, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v", p)
		}
	}()
	if r, ok := As[Reducer](b); ok && tally != nil {
		return r.RunReduced(ctx, job, lo, hi, out, tally)
	}
	if m, ok := As[Measured](b); ok {
		return m.RunMeasured(ctx, job, lo, hi, out)
	}
	if n, ok := As[Counting](b); ok {
		return 0, n.RunCounted(ctx, job, lo, hi, out, count)
	}
	return 0, b.Run(ctx, job, lo, hi, out)
}

// A Handover counts rows that one back end declined and another answered.
type Handover struct {
	From, To string
	Rows     int
	Wall     time.Duration
}

// completeChunk answers the declined rows of a chunk, and then takes the derivatives of its answers.
func (r *runner) completeChunk(ctx context.Context, c *chunk) error {
	if err := r.answerDeclined(ctx, c); err != nil || c.whole == nil {
		return err
	}
	return differentiate(ctx, r.pool, c)
}

// answerDeclined answers the declined rows of a chunk on other back ends, best first. Rows that
// all of them decline remain unanswered. An error is the error of the context.
func (r *runner) answerDeclined(ctx context.Context, c *chunk) error {
	for _, m := range r.pool.fallback {
		rows := c.declinedRows()
		if len(rows) == 0 {
			return nil
		}
		if m == c.by || r.pool.dropped(m) != nil {
			continue
		}
		start := time.Now()
		sub := c.subset(rows)
		sub.Plan = m.plan
		_, err := guard(ctx, m.Backend, sub, 0, len(rows), sub.Results, nil, &batch.Count{WorstGapRow: -1, Bad: -1})
		if err != nil && !ended(ctx, err) {
			lo, hi := c.base+c.lo, c.base+c.hi
			err = fmt.Errorf("dispatch: back end %s failed on %d rows of [%d, %d): %w", m.Name(), len(rows), lo, hi,
				err)
			c.failovers = append(c.failovers, Failover{m.Name(), lo, hi, err})
			r.pool.drop(m, err)
			continue
		}
		if answered := c.scatter(rows, sub.Results); answered > 0 {
			c.handovers = append(c.handovers, Handover{c.by.Name(), m.Name(), answered, time.Since(start)})
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// declinedRows lists the rows without an answer.
func (c *chunk) declinedRows() (rows []int) {
	m := c.out.Marks
	for i := m.Next(0, batch.Unanswered); i >= 0; i = m.Next(i+1, batch.Unanswered) {
		rows = append(rows, i)
	}
	return rows
}

// subset returns a job with the given rows of the chunk.
func (c *chunk) subset(rows []int) *batch.Job {
	o := c.job.Options
	if w := o.WarmStart; w != nil {
		o.WarmStart = make([]float64, 0, 3*len(rows))
		for _, i := range rows {
			o.WarmStart = append(o.WarmStart, w[3*(c.lo+i):3*(c.lo+i)+3]...)
		}
	}
	columns := o
	columns.Columns = c.out.Columns &^ batch.ColBits
	// A pair list for any form of input: back ends read its columns in bulk.
	pairs := batch.NewPairs(len(rows))
	var r batch.Row
	for k, i := range rows {
		c.job.Input.Row(c.lo+i, &r)
		pairs.SetRow(k, &r)
	}
	sub := &batch.Job{
		Library: c.job.Library, Options: o, Input: pairs,
		Results: batch.UnsetResults(len(rows), &columns),
	}
	sub.Results.Marks = make(batch.Marks, len(rows))
	return sub
}

// scatter stores the answers of a subset in their rows, counts them and returns their number.
func (c *chunk) scatter(rows []int, from *batch.Results) (answered int) {
	for k, i := range rows {
		if from.Marks[k] != batch.Answered {
			continue
		}
		answered++
		c.out.CopyRow(i, from, k, c.out.Columns)
		c.out.Marks[i] = batch.Answered
		c.count.Add(c.job, c.lo, c.out, i, i+1)
	}
	return answered
}

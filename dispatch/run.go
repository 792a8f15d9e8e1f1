package dispatch

import (
	"context"
	"errors"
	"fmt"
	"time"

	"clearance/batch"
)

// Run answers a job. If job.Results is nil it is made. The report is filled in as
// far as the call came, also when an error is returned.
//
// The error is that of the call as a whole: a job that makes no sense (nothing is
// written then), no usable back end ([ErrNoBackend]), the context's error, or the
// failure of the last back end left. Rows answered before stay good, all others
// read as Undecided. Rows that are Invalid or Undecided are no error of Run; see
// [Report.Err].
func (d *Dispatcher) Run(ctx context.Context, job *batch.Job, o Options) (Report, error) {
	start := time.Now()
	o.ensureDefaults()
	rep := Report{WorstGapRow: -1}
	if err := o.validate(); err != nil {
		return rep, err
	}
	if job.Results == nil && job.Input != nil {
		if err := job.Options.Check(); err != nil {
			return rep, err
		}
		job.Results = batch.NewResults(job.Input.Len(), &job.Options)
	}
	if err := job.Check(); err != nil {
		return rep, err
	}
	backends, err := d.Choose(o.Backend, &job.Options)
	if err != nil {
		return rep, err
	}
	rows := DefaultChunkRows
	if c, ok := backends[0].(Chunked); ok {
		rows = max(c.ChunkRows(), 1)
	}
	o.setChunkRows(rows)
	r := d.runner(o, backends, &job.Options, &rep)
	r.job = job
	err = r.run(ctx, job.Input.Len())
	rep.Wall = time.Since(start)
	return rep, err
}

// runner is one call: the back ends still in use, and the columns that the report
// needs but the caller did not ask for.
type runner struct {
	job      *batch.Job
	o        Options
	backends []Backend // best first
	others   []Backend // that can answer rows which one of backends declines
	report   *Report

	base  int // rows of the stream before this job
	total int // rows of the stream, -1 if unknown

	row     batch.Row
	scratch batch.Results // of one chunk
}

// runner returns the runner of a call with options o on back ends chosen for it.
func (d *Dispatcher) runner(do Options, backends []Backend, o *batch.Options, rep *Report) *runner {
	r := &runner{o: do, backends: backends, report: rep}
	for _, b := range backends {
		if !isPartial(b) {
			continue
		}
		// An error says that there is nobody, and declined rows stay undecided.
		r.others, _ = d.Choose(Auto, o)
		break
	}
	return r
}

func isPartial(b Backend) bool {
	p, ok := b.(Partial)
	return ok && p.Partial()
}

// pending is the status of rows that a back end has not yet written.
const pending = 0xff

// run answers the job chunk by chunk.
func (r *runner) run(ctx context.Context, total int) error {
	n := r.job.Input.Len()
	r.total = total
	r.report.Rows += n
	for lo := 0; lo < n; {
		hi := min(lo+r.o.ChunkRows, n)
		if err := r.chunk(ctx, lo, hi); err != nil {
			if hi < n {
				r.job.Results.Slice(hi, n).Reset()
			}
			r.report.Counts[batch.Undecided] += n - hi
			if ctx.Err() != nil && errors.Is(err, ctx.Err()) {
				err = fmt.Errorf("dispatch: stopped after %d answers: %w", r.report.Done, err)
			}
			return err
		}
		lo = hi
		if r.o.Progress != nil {
			r.o.Progress(r.report.Done, r.total)
		}
	}
	return nil
}

// chunk answers rows [lo, hi) on the first back end left that does not fail. When
// it returns an error, the rows that were not answered are marked as such.
func (r *runner) chunk(ctx context.Context, lo, hi int) error {
	out := r.view(lo, hi)
	for i := range out.Status {
		out.Status[i] = pending
	}
	for {
		err := ctx.Err()
		if err == nil {
			b, start := r.backends[0], time.Now()
			err = guard(ctx, b, r.job, lo, hi, out, r.report)
			if i := firstPending(out.Status); err == nil && i >= 0 && !isPartial(b) {
				err = fmt.Errorf("row %d was left unanswered", r.base+lo+i)
			}
			if err == nil {
				wall := time.Since(start)
				err = r.finish(ctx, b, lo, out)
				r.settle(lo, out)
				r.span(b.Name(), lo, hi, wall)
				return err
			}
			err = r.failed(ctx, b, lo, hi, out, err)
		}
		if err != nil {
			r.settle(lo, out)
			return err
		}
	}
}

// failed deals with the error of a back end. It returns nil if the chunk is to be
// tried again on the next one.
func (r *runner) failed(ctx context.Context, b Backend, lo, hi int, out *batch.Results, err error) error {
	if ctx.Err() != nil && errors.Is(err, ctx.Err()) {
		return err // and keep what it has written
	}
	for i := range out.Status {
		out.Status[i] = pending
	}
	err = fmt.Errorf("dispatch: back end %s failed on rows [%d, %d): %w", b.Name(), r.base+lo, r.base+hi, err)
	r.report.Failovers = append(r.report.Failovers, Failover{b.Name(), r.base + lo, r.base + hi, err})
	if len(r.backends) == 1 {
		return err
	}
	r.backends = r.backends[1:]
	return nil
}

// settle closes a chunk: it marks rows without an answer, packs the bits and counts.
func (r *runner) settle(lo int, out *batch.Results) {
	unanswered := 0
	for i, s := range out.Status {
		if s >= uint8(batch.StatusCount) {
			out.PutFailure(i, batch.Undecided)
			unanswered++
		}
	}
	r.report.Done += out.N - unanswered
	r.account(lo, out)
	out.PackBits(out.Status)
}

// firstPending returns the first row whose status is no status, or -1.
func firstPending(status []uint8) int {
	for i, s := range status {
		if s >= uint8(batch.StatusCount) {
			return i
		}
	}
	return -1
}

// view returns rows [lo, hi) of the results, with scratch columns for those that
// the report needs and the caller did not ask for.
func (r *runner) view(lo, hi int) *batch.Results {
	out, n := r.job.Results.Slice(lo, hi), hi-lo
	need := batch.ColStatus | batch.ColIterations
	if r.job.Options.Query != batch.Collide {
		need |= batch.ColGap
	}
	if _, ok := r.job.Options.EffectiveCutOff(); ok {
		need |= batch.ColDistance
	}
	missing := need &^ out.Columns
	if missing == 0 {
		return out
	}
	if r.scratch.N < n {
		r.scratch = *batch.NewResults(n, &batch.Options{Precision: out.Precision, Columns: missing})
	}
	s := r.scratch.Slice(0, n)
	if missing&batch.ColStatus != 0 {
		out.Status = s.Status
	}
	if missing&batch.ColIterations != 0 {
		out.Iterations = s.Iterations
	}
	if missing&batch.ColGap != 0 {
		out.Gap = s.Gap
	}
	if missing&batch.ColDistance != 0 {
		out.Distance = s.Distance
	}
	out.Columns |= missing
	return out
}

// guard runs a back end, turns a panic into an error, and adds to the kernel time of the
// report, if there is one.
func guard(ctx context.Context, b Backend, job *batch.Job, lo, hi int, out *batch.Results, rep *Report) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v", p)
		}
	}()
	if m, ok := b.(Measured); ok && rep != nil {
		kernel, err := m.RunMeasured(ctx, job, lo, hi, out)
		if err == nil && kernel > 0 {
			rep.Kernel += kernel
			rep.KernelRows += hi - lo
		}
		return err
	}
	return b.Run(ctx, job, lo, hi, out)
}

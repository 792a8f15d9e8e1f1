package dispatch

import (
	"context"
	"fmt"
	"time"

	"clearance/batch"
	"clearance/internal/fault"
)

// Run answers a job. If job.Results is nil, Run allocates them. The report covers the rows
// that the call reached, also when Run returns an error.
//
// The error concerns the call as a whole: an invalid job (nothing is written then), no
// usable back end ([ErrNoBackend]), a closed dispatcher ([ErrClosed]), the context's
// error, or the failure of the last remaining back end. Rows answered before it remain
// valid; all others read as Undecided. Rows whose status is Invalid or Undecided are not
// an error of Run: the report counts them, see [Report.Err].
func (d *Dispatcher) Run(ctx context.Context, job *batch.Job, o Options) (Report, error) {
	start := time.Now()
	o.ensureDefaults()
	rep := newReport(&o)
	if err := d.begin(); err != nil {
		return rep, err
	}
	defer d.calls.Done()
	if err := o.validate(); err != nil {
		return rep, err
	}
	if err := d.check(&job.Options); err != nil {
		return rep, err
	}
	begun := true
	if job.Results == nil && job.Input != nil {
		job.Results = newResults(job.Input.Len(), &job.Options)
		if job.Reduction != nil {
			job.Results.Marks = make(batch.Marks, job.Input.Len())
		}
		o.KeepUnreached, begun = false, false // there is nothing to keep
	}
	defer func() {
		if !begun {
			job.Results.Reset()
		}
	}()
	if err := job.CheckForm(); err != nil {
		return rep, err
	}
	if job.Reduction != nil {
		job.Reduction.Tally.Reset()
	}
	n := job.Input.Len()
	selectBy := n
	if o.EstimateRows > 0 {
		selectBy = o.EstimateRows
	}
	choice, err := d.choose(o.Backend, &job.Options, selectBy)
	if err != nil {
		return rep, err
	}
	pool := newPool(choice)
	o.setChunkRows(pool.chunkRows(n))
	begun = true
	err = pool.run(ctx, job, o, &rep)
	rep.describe(choice)
	rep.Wall = time.Since(start)
	return rep, err
}

// parallelRows is the number of rows from which on the columns of new results are allocated by a goroutine each: the
// runtime clears memory that was used before, which takes longer than all else that is done outside the workers.
const parallelRows = 1 << 15

// newResults is batch.UnsetResults.
func newResults(n int, o *batch.Options) *batch.Results {
	columns := o.EffectiveColumns().Each()
	if n < parallelRows || len(columns) < 2 {
		return batch.UnsetResults(n, o)
	}
	each := make([]*batch.Results, len(columns))
	err := fault.Each(context.Background(), len(columns), len(columns), func(i int) error {
		one := *o
		one.Columns = columns[i]
		each[i] = batch.UnsetResults(n, &one)
		return nil
	})
	if err != nil { // a panic of a worker
		panic(err)
	}
	r := each[0]
	for i, c := range columns[1:] {
		r.Adopt(each[i+1], c)
	}
	return r
}

// run answers a job.
func (p *pool) run(ctx context.Context, job *batch.Job, o Options, rep *Report) error {
	if p.derive != nil {
		primary := *job
		primary.Options = p.primary
		job = &primary
	}
	r := &runner{o: o, pool: p, report: rep, total: job.Input.Len()}
	defer r.failUnreached(job)
	err := r.run(ctx, job)
	if err != nil && ended(ctx, err) {
		err = fmt.Errorf("dispatch: stopped after %d answers: %w", rep.Done, err)
	}
	return err
}

// minSharedRows is the least number of rows per chunk if several chunks are computed at a
// time: below it the fixed cost per chunk dominates.
const minSharedRows = 1 << 15

// chunkRows is the default number of rows per chunk in a call of n rows.
func (p *pool) chunkRows(n int) int {
	rows := DefaultChunkRows
	if c, ok := As[Chunked](p.members[0].Backend); ok {
		rows = max(c.ChunkRows(), 1)
	}
	if calls := p.calls(); calls > 1 {
		// At least two chunks for each, so that none is idle for long at the end.
		rows = min(rows, max((n+2*calls-1)/(2*calls), minSharedRows))
	}
	return rows
}

// run answers the job chunk by chunk.
func (r *runner) run(ctx context.Context, job *batch.Job) error {
	n := job.Input.Len()
	if n <= r.o.ChunkRows {
		return r.runOne(ctx, job)
	}
	lo := 0
	err := r.pipeline(ctx, func(context.Context) (*chunk, error) {
		if lo == n {
			return nil, nil
		}
		c := r.newChunk(job, lo, min(lo+r.o.ChunkRows, n), 0)
		lo = c.hi
		return c, nil
	}, nil)
	r.report.Rows += n - lo // rows of chunks that were not started
	r.report.Counts[batch.Undecided] += n - lo
	return err
}

// failUnreached makes the rows that are not settled Undecided: those of chunks that were not started, and all
// later ones after a panic of the caller's Progress.
func (r *runner) failUnreached(job *batch.Job) {
	n := job.Results.N
	if r.settled == n {
		return
	}
	rest := job.Results.Slice(r.settled, n)
	rest.Marks.Set(0, rest.N, batch.Unanswered)
	if r.o.KeepUnreached {
		rest.ResetStatus()
	} else {
		rest.Reset()
	}
}

// runOne answers a job of one chunk, without goroutines.
func (r *runner) runOne(ctx context.Context, job *batch.Job) error {
	n := job.Input.Len()
	if n == 0 {
		return nil
	}
	return r.runChunk(ctx, r.newChunk(job, 0, n, 0), r.pool.members[0])
}

// runChunk answers a chunk that is a whole job, a member first.
func (r *runner) runChunk(ctx context.Context, c *chunk, first *member) error {
	r.answer(ctx, first, c)
	if c.err == nil {
		c.err = r.completeChunk(ctx, c)
	}
	r.settle(c)
	if c.err == nil {
		r.progress()
	}
	return c.err
}

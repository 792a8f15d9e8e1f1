package dispatch

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"clearance/batch"
	"clearance/internal/fault"
)

// ErrNoBackend is wrapped by the error of a call that no back end supports.
var ErrNoBackend = errors.New("no usable back end")

// ErrClosed is the error of a call on a closed [Dispatcher].
var ErrClosed = errors.New("dispatch: the dispatcher is closed")

// Auto is the name that selects the back end with the shortest estimated time.
const Auto = "auto"

// DefaultChunkRows is the default number of rows per chunk: some hundred milliseconds on
// one CPU core, a few megabytes of columns.
const DefaultChunkRows = 1 << 16

// Options configure a call. The zero value is the default.
type Options struct {
	// Backend selects back ends by name. "" and [Auto] select the one with the shortest
	// estimated time, and the next one if it fails. Several names joined by "+", or a
	// name common to several devices ("vulkan" for "vulkan:0" and "vulkan:1"), share the
	// rows among them; see [Dispatcher.Choose]. Back ends selected by name are not
	// replaced if they fail.
	Backend string

	// ChunkRows is the number of rows per chunk, rounded up to a multiple of 64. 0 is
	// the size that the back end prefers ([Chunked]), or [DefaultChunkRows]; in streams
	// it is bounded. No answer depends on it.
	ChunkRows int

	// EstimateRows, if not 0, is the number of rows by which [Auto] selects, in place of those of the call:
	// calls that are parts of one get the same back end.
	EstimateRows int

	// FirstRow is the number of the first row of a stream in errors and in the report: not 0 of a [Shard]. Other calls
	// ignore it.
	FirstRow int

	// Progress, if not nil, is called after every chunk with the number of rows
	// answered so far and the total, -1 if that is unknown. Calls do not overlap, and
	// done never decreases.
	Progress func(done, total int)

	// MaxRowErrors is the largest number of row errors in the report; 0 is 16.
	MaxRowErrors int

	// KeepUnreached leaves the columns of rows that a call did not reach as they are, but for the status and the
	// bits. A cancelled call then ends at once, however many rows it has.
	KeepUnreached bool
}

func (o *Options) ensureDefaults() {
	if o.Backend == "" {
		o.Backend = Auto
	}
	if o.MaxRowErrors == 0 {
		o.MaxRowErrors = 16
	}
}

func (o *Options) validate() error {
	if o.ChunkRows < 0 || o.ChunkRows > 1<<30 {
		return fmt.Errorf("dispatch: ChunkRows %d, want 1 to 2^30, or 0 for the default", o.ChunkRows)
	}
	if o.FirstRow < 0 {
		return fmt.Errorf("dispatch: FirstRow %d, want a number of at least 0", o.FirstRow)
	}
	if o.MaxRowErrors < 0 {
		return fmt.Errorf("dispatch: MaxRowErrors %d, want a number above 0, or 0 for the default", o.MaxRowErrors)
	}
	return nil
}

// setChunkRows replaces 0 by the given number and rounds up to complete words of bits.
func (o *Options) setChunkRows(rows int) {
	if o.ChunkRows == 0 {
		o.ChunkRows = rows
	}
	o.ChunkRows = (o.ChunkRows + batch.BitsPerWord - 1) / batch.BitsPerWord * batch.BitsPerWord
}

// A Dispatcher runs jobs on back ends. It may be used by several goroutines at once.
type Dispatcher struct {
	backends []Backend
	derive   Differentiator

	mu     sync.Mutex
	closed bool
	calls  sync.WaitGroup // in progress
}

// New returns a dispatcher for the given back ends, which it owns. Of back ends with equal
// estimates the first is selected.
func New(backends ...Backend) *Dispatcher {
	return &Dispatcher{backends: backends}
}

// Backends returns the back ends passed to New, whether usable or not.
func (d *Dispatcher) Backends() []Backend { return d.backends }

// begin registers a call, which must end with d.calls.Done().
func (d *Dispatcher) begin() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return ErrClosed
	}
	d.calls.Add(1)
	return nil
}

// Close waits for the calls in progress and closes every back end. Later calls fail with
// [ErrClosed]; closing again does nothing. Progress functions must not call Close.
func (d *Dispatcher) Close() error {
	d.mu.Lock()
	closed := d.closed
	d.closed = true
	d.mu.Unlock()
	d.calls.Wait()
	if closed {
		return nil
	}
	var errs []error
	for _, b := range d.backends {
		errs = append(errs, b.Close())
	}
	return errors.Join(errs...)
}

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

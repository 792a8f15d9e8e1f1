package dispatch

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"clearance/batch"
)

// A Batch is a batch prepared for repeated runs of one query with changing poses, as in a
// rollout. If the back end supports it, the library and the pairs stay in device memory and
// only poses and answers are transferred; otherwise Run works as [Dispatcher.Run]. The
// answers are the same.
//
// The methods may be called by several goroutines; calls are serialized.
type Batch struct {
	d      *Dispatcher
	o      Options
	choice *Choice

	rows int

	mu       sync.Mutex
	job      batch.Job  // its results are nil before the first Run
	held     batch.Held // nil if nothing is in device memory
	resident string     // the reason
	closed   bool
}

// Hold prepares a batch for repeated runs. The back end is selected once, as in
// [Dispatcher.Run]. The batch keeps a reference to the input: the caller may change its
// poses after a Run and before the Update that precedes the next one, and must not change
// its shapes and pairs.
func (d *Dispatcher) Hold(ctx context.Context, lib *batch.Library, in batch.Input, options batch.Options,
	o Options) (*Batch, error) {
	if err := d.begin(); err != nil {
		return nil, err
	}
	defer d.calls.Done()
	o.ensureDefaults()
	if err := o.validate(); err != nil {
		return nil, err
	}
	if err := d.check(&options); err != nil {
		return nil, err
	}
	b := &Batch{d: d, o: o, job: batch.Job{Library: lib, Input: in, Options: options}}
	if err := b.prepare(); err != nil {
		return nil, err
	}
	var err error
	if b.choice, err = d.choose(o.Backend, &options, in.Len()); err != nil {
		return nil, err
	}
	first := b.choice.Share[0]
	holder, ok := As[Holder](first)
	switch {
	case !ok:
		b.resident = "the back end " + first.Name() + " computes in host memory"
	case len(b.choice.Share) > 1:
		b.resident = "several devices share the rows"
	default:
		if b.held, err = hold(ctx, holder, lib, in); err != nil {
			if ended(ctx, err) {
				return nil, err
			}
			b.held, b.resident = nil, fmt.Sprintf("the back end %s cannot hold it: %v", first.Name(), err)
		}
	}
	return b, nil
}

// hold converts a panic of an input or a back end to an error.
func hold(ctx context.Context, h Holder, lib *batch.Library, in batch.Input) (held batch.Held, err error) {
	defer recovered("input or back end", &err)
	return h.Hold(ctx, lib, in)
}

// prepare checks the job, of results without memory.
func (b *Batch) prepare() error {
	if b.job.Input == nil {
		return b.job.CheckForm() // which says so
	}
	b.rows = b.job.Input.Len()
	return b.job.CheckInputForm()
}

var errBatchClosed = errors.New("dispatch: the batch is closed")

// Len returns the number of rows.
func (b *Batch) Len() int { return b.rows }

// Resident reports whether the batch is kept in device memory, and if not, the reason.
func (b *Batch) Resident() (yes bool, why string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.held != nil, b.resident
}

// Update sets the poses for the next Run to those of in: the input of the batch after the
// caller changed its poses, or another input of the same form with the same shapes, pairs
// and number of rows. in must not change until Run has returned.
func (b *Batch) Update(ctx context.Context, in batch.Input) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.update(ctx, in, (*batch.Job).CheckInputForm)
}

// update is Update, after a check of the job.
func (b *Batch) update(ctx context.Context, in batch.Input, check func(*batch.Job) error) error {
	if b.closed {
		return errBatchClosed
	}
	job := b.job
	if job.Input = in; in == nil {
		return errors.New("dispatch: update of a batch without an input")
	}
	if err := check(&job); err != nil {
		return err
	}
	if n := in.Len(); n != b.rows {
		return fmt.Errorf("dispatch: a batch of %d rows for an input of %d", b.rows, n)
	}
	if b.held != nil {
		if err := b.d.begin(); err != nil {
			return err
		}
		defer b.d.calls.Done()
		if err := update(ctx, b.held, in); err != nil {
			if ended(ctx, err) {
				return err
			}
			b.release(err)
		}
	}
	b.job.Input = in
	return nil
}

func update(ctx context.Context, held batch.Held, in batch.Input) (err error) {
	defer recovered("input or back end", &err)
	return held.Update(ctx, in)
}

// release frees the held batch; later calls transfer all rows.
func (b *Batch) release(why error) {
	b.resident = fmt.Sprintf("released after a failure of the back end %s: %v", b.choice.Share[0].Name(), why)
	if err := b.held.Close(); err != nil {
		b.resident += "; " + err.Error()
	}
	b.held = nil
}

// Run answers all rows. The results belong to the batch and are overwritten by the next
// Run. The report and the error are as in [Dispatcher.Run]: rows without an answer are not
// an error.
func (b *Batch) Run(ctx context.Context) (*batch.Results, Report, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.run(ctx)
}

// Step is [Batch.Update] and [Batch.Run] in one call, into results of the caller, which have as many rows as the batch
// and the columns of its options. The batch keeps no reference to in and out, and its own results stay as they are.
func (b *Batch) Step(ctx context.Context, in batch.Input, out *batch.Results) (Report, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	own := b.job
	defer func() { b.job = own }()
	b.job.Results = out
	if err := b.update(ctx, in, (*batch.Job).CheckForm); err != nil {
		return Report{WorstGapRow: -1}, err
	}
	_, rep, err := b.run(ctx)
	return rep, err
}

func (b *Batch) run(ctx context.Context) (*batch.Results, Report, error) {
	if b.closed {
		return nil, Report{WorstGapRow: -1}, errBatchClosed
	}
	if b.job.Results == nil {
		b.job.Results = batch.NewResults(b.rows, &b.job.Options)
	}
	job := b.job
	if err := b.d.begin(); err != nil {
		return job.Results, Report{WorstGapRow: -1}, err
	}
	defer b.d.calls.Done()
	start := time.Now()
	rep := newReport(&b.o)
	rep.describe(b.choice)
	pool := newPool(b.choice)
	m, o := pool.members[0], b.o
	if b.held != nil {
		m.Backend = resident{m.Backend, b.held}
		o.setChunkRows(max(b.Len(), 1)) // one chunk, which the back end divides itself
	} else {
		o.setChunkRows(pool.chunkRows(b.rows))
	}
	err := pool.run(ctx, &job, o, &rep)
	rep.Wall = time.Since(start)
	if b.held != nil && m.failed && len(rep.Failovers) > 0 {
		b.release(rep.Failovers[0].Err)
	}
	return job.Results, rep, err
}

// Close frees the device memory of the batch. Closing again does nothing.
func (b *Batch) Close() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closed = true
	if b.held == nil {
		return nil
	}
	held := b.held
	b.held, b.resident = nil, "closed"
	return held.Close()
}

// resident is a back end that answers a batch in its device memory.
type resident struct {
	Backend
	held batch.Held
}

func (r resident) inner() Backend { return r.Backend }

// RunMeasured answers the held batch. Any other range of rows, which the dispatcher does not
// request, is transferred as in any call.
func (r resident) RunMeasured(ctx context.Context, job *batch.Job, lo, hi int, out *batch.Results) (time.Duration,
	error) {
	if lo != 0 || hi != r.held.Len() {
		return 0, r.Backend.Run(ctx, job, lo, hi, out)
	}
	if m, ok := r.held.(interface {
		RunMeasured(context.Context, *batch.Options, *batch.Results) (time.Duration, error)
	}); ok {
		return m.RunMeasured(ctx, &job.Options, out)
	}
	return 0, r.held.Run(ctx, &job.Options, out)
}

// RunReduced omits no row. Without it [As] would find that of the back end, which transfers the rows.
func (r resident) RunReduced(ctx context.Context, job *batch.Job, lo, hi int, out *batch.Results, _ *batch.Tally) (
	time.Duration, error) {
	return r.RunMeasured(ctx, job, lo, hi, out)
}

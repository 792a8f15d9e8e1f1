package dispatch

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"clearance/batch"
)

// Batch is a batch that is asked the same question again and again while its bodies move,
// as in a rollout. Where its back end can hold it, library and pairs stay on the device
// and only poses and answers move; elsewhere it is answered as [Dispatcher.Run] would.
// The answers are the same.
//
// Its methods may be called by several goroutines; one works at a time.
type Batch struct {
	d      *Dispatcher
	o      Options
	choice *Choice

	mu       sync.Mutex
	job      batch.Job
	held     batch.Held // nil if nothing stays on a device
	resident string     // why not
	closed   bool
}

// Hold prepares a batch for many calls with options o. Who answers is chosen as in
// [Dispatcher.Run], once. The input belongs to the batch: its poses may be changed
// between one Run and the Update before the next, and its shapes and pairs not at all.
func (d *Dispatcher) Hold(ctx context.Context, lib *batch.Library, in batch.Input, options batch.Options, o Options) (*Batch, error) {
	if err := d.begin(); err != nil {
		return nil, err
	}
	defer d.calls.Done()
	o.ensureDefaults()
	if err := o.validate(); err != nil {
		return nil, err
	}
	b := &Batch{d: d, o: o, job: batch.Job{Library: lib, Input: in, Options: options}}
	if err := b.prepare(); err != nil {
		return nil, err
	}
	var err error
	if b.choice, err = d.Choose(o.Backend, &options, in.Len()); err != nil {
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

// hold turns a panic of an input or a back end into an error.
func hold(ctx context.Context, h Holder, lib *batch.Library, in batch.Input) (held batch.Held, err error) {
	defer recovered("input or back end", &err)
	return h.Hold(ctx, lib, in)
}

// prepare makes the results and checks the job.
func (b *Batch) prepare() error {
	if b.job.Input != nil && b.job.Results == nil {
		if err := b.job.Options.Check(); err != nil {
			return err
		}
		b.job.Results = batch.NewResults(b.job.Input.Len(), &b.job.Options)
	}
	return b.job.Check()
}

var errBatchClosed = errors.New("dispatch: the batch is closed")

// Len returns the number of rows.
func (b *Batch) Len() int { return b.job.Results.N }

// Resident reports whether the batch stays on a device, and if not, why.
func (b *Batch) Resident() (yes bool, why string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.held != nil, b.resident
}

// Update has the next Run answer the poses of in: the input of the batch after they were
// changed, or another one of the same form, with the same shapes, pairs and number of
// rows. in must then stay as it is until Run has returned.
func (b *Batch) Update(ctx context.Context, in batch.Input) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return errBatchClosed
	}
	job := b.job
	if job.Input = in; in == nil {
		return errors.New("dispatch: update of a batch without an input")
	}
	if err := job.Check(); err != nil {
		return err
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

// release gives up what is held, so that rows go to the device call by call.
func (b *Batch) release(why error) {
	b.resident = fmt.Sprintf("given up, since the back end %s could not go on: %v", b.choice.Share[0].Name(), why)
	if err := b.held.Close(); err != nil {
		b.resident += "; " + err.Error()
	}
	b.held = nil
}

// Run answers all rows. The results belong to the batch and are overwritten by the next
// Run; errors and the report are those of [Dispatcher.Run].
func (b *Batch) Run(ctx context.Context) (*batch.Results, Report, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return nil, Report{WorstGapRow: -1}, errBatchClosed
	}
	job := b.job
	if b.held == nil {
		rep, err := b.d.Run(ctx, &job, b.o)
		return job.Results, rep, err
	}
	if err := b.d.begin(); err != nil {
		return job.Results, Report{WorstGapRow: -1}, err
	}
	defer b.d.calls.Done()
	start := time.Now()
	rep := Report{WorstGapRow: -1, Backend: b.choice.Name(), Why: b.choice.Why}
	crew := b.d.newCrew(b.choice, &job.Options, b.Len())
	m := crew.all[0]
	m.Backend = resident{m.Backend, b.held}
	o := b.o
	o.setChunkRows(max(b.Len(), 1)) // the back end cuts it
	err := crew.run(ctx, &job, o, &rep)
	rep.Wall = time.Since(start)
	if m.failed && len(rep.Failovers) > 0 {
		b.release(rep.Failovers[0].Err)
	}
	return job.Results, rep, err
}

// Close frees what is held. It may be called twice.
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

// resident is a back end that answers a batch which it holds.
type resident struct {
	Backend
	held batch.Held
}

func (r resident) inner() Backend { return r.Backend }

// RunMeasured answers the whole batch. Rows of it, which the dispatcher never asks for,
// would go the way of any other.
func (r resident) RunMeasured(ctx context.Context, job *batch.Job, lo, hi int, out *batch.Results) (time.Duration, error) {
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

package dispatch

import (
	"context"
	"fmt"
	"slices"

	"clearance/batch"
)

// A Differentiator computes the columns of derivatives ([batch.DerivedColumns]) from answers that are final. The
// dispatcher calls it for each chunk, after declined rows are answered and before the chunk is settled, for the rows
// whose derivatives no back end has computed ([Deriving]).
type Differentiator interface {
	// Needs returns the columns of answers from which derivatives follow.
	Needs() batch.Columns

	// Differentiate fills the columns of derivatives of out, whose row 0 has the answer of row lo of the job. It
	// ignores job.Results, and rows that out.Marks do not say are answered get those of a failure. number is that of
	// row lo in the call. The derivatives of a row depend on that row alone. answers answers other pairs, without
	// derivatives, on the back ends of the call.
	Differentiate(ctx context.Context, job *batch.Job, lo, number int, out *batch.Results, answers batch.Answers) error

	// Complete is Differentiate for the rows of out whose smoothness is batch.NotDerived.
	Complete(ctx context.Context, job *batch.Job, lo, number int, out *batch.Results, answers batch.Answers) error

	// Multiply takes products of the Jacobians of the answers of a job, but sums by body. number is that of its first
	// row in the call.
	Multiply(ctx context.Context, job *batch.Job, number int, p *batch.Product, answers batch.Answers) error
}

// SetDifferentiator sets what computes derivatives, before the first call. Without it queries for them are refused.
func (d *Dispatcher) SetDifferentiator(p Differentiator) { d.derive = p }

// Differentiator returns what computes derivatives, nil for none.
func (d *Dispatcher) Differentiator() Differentiator { return d.derive }

var errNoDifferentiator = fmt.Errorf("dispatch: derivatives: %w: the dispatcher has no differentiator",
	batch.ErrNotAvailable)

// differentiatorOf returns what computes the derivatives that the options ask for, nil if they ask for none.
func (d *Dispatcher) differentiatorOf(o *batch.Options) (Differentiator, error) {
	switch {
	case o.EffectiveColumns()&batch.DerivedColumns == 0:
		return nil, nil
	case d.derive == nil:
		return nil, errNoDifferentiator
	}
	return d.derive, nil
}

// primaryOf returns the options that back ends see.
func primaryOf(p Differentiator, o *batch.Options) batch.Options {
	if p == nil {
		return *o
	}
	return o.Primary(p.Needs())
}

// derivesWith reports whether a back end of the choice computes derivatives in a call with these options, of which
// primary are what it sees.
func (c *Choice) derivesWith(o, primary *batch.Options) bool {
	return c.derive != nil && slices.ContainsFunc(c.all(), func(b Backend) bool {
		return derives(b, primary, o.EffectiveColumns())
	})
}

func derives(b Backend, primary *batch.Options, columns batch.Columns) bool {
	d, ok := As[Deriving](b)
	return ok && d.Derives(primary, columns&batch.DerivedColumns)
}

// differentiate fills the derivatives of a chunk. A panic is an error.
func differentiate(ctx context.Context, p *pool, c *chunk) (err error) {
	defer recovered("differentiator", &err)
	take := p.derive.Differentiate
	if c.deriving {
		take = p.derive.Complete
	}
	err = take(ctx, c.job, c.lo, c.base+c.lo, c.whole, p.answers)
	if err != nil && !ended(ctx, err) {
		err = fmt.Errorf("dispatch: derivatives of rows [%d, %d): %w", c.base+c.lo, c.base+c.hi, err)
	}
	return err
}

// answersBy returns a function that answers other jobs on the back ends of a choice that support them, else on the best
// ones.
func (d *Dispatcher) answersBy(c *Choice) batch.Answers {
	return func(ctx context.Context, job *batch.Job) error {
		if err := job.Check(); err != nil {
			return err
		}
		choice, err := d.best(&job.Options, manyRows)
		if err != nil {
			return err
		}
		choice.declined = choice.all()
		if share, _ := sift(c.Share, &job.Options); len(share) > 0 {
			choice.Share = share
			choice.Spare, _ = sift(c.Spare, &job.Options)
		}
		p, o := newPool(choice), Options{}
		o.ensureDefaults()
		o.setChunkRows(p.chunkRows(job.Input.Len()))
		rep := newReport(&o)
		return p.run(ctx, job, o, &rep)
	}
}

// Answers returns a function that answers jobs as [Dispatcher.Run], on back ends that are selected by name. [Auto]
// selects those for many rows, the same for all jobs.
func (d *Dispatcher) Answers(backend string) batch.Answers {
	return func(ctx context.Context, job *batch.Job) error {
		_, err := d.Run(ctx, job, Options{Backend: backend, EstimateRows: manyRows})
		return err
	}
}

// clearDerivatives gives the derivatives of all rows the value of a failure.
func clearDerivatives(whole *batch.Results) {
	only := *whole
	only.Drop(^batch.DerivedColumns)
	only.Fail(0, only.N)
}

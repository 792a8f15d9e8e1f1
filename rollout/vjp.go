package rollout

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"clearance/batch"
)

// bodyDifferentiator takes the gradients of a rollout by body, from its answers.
type bodyDifferentiator interface {
	Needs() batch.Columns
	RolloutVJP(ctx context.Context, bodies *batch.Bodies, worlds *batch.Worlds, o *Options, results *Results,
		cotangents, gradients []float64) error
}

// gradients is what steps with gradients keep: a batch with the columns that derivatives need, and its results.
type gradients struct {
	mu      sync.Mutex
	batch   *Batch
	results *Results
}

// VJP answers a step, whose answers it keeps to itself, and multiplies cotangents of the rows with their Jacobians from
// the left: the gradients of a weighted sum of the answers with respect to the twists of the bodies, [W,M,6], go to to.
// Cotangents are those of the values alone, [R], or those of value, normal and witnesses, [R,10], of the R rows that
// results have. d says which derivatives are taken; order zero is refused. The columns of the options do not matter.
//
// A row has the gradient of the parts that attain it, moved to their bodies. Rows that bounds have ruled out and rows
// without an answer have none. The gradients of a world are added in the order of its rows, A before B: the same bits
// for any number of workers, and any size of blocks.
func (b *Batch) VJP(ctx context.Context, w *batch.Worlds, d batch.Derivative, cotangents, to []float64) (Report,
	error) {
	x, ok := b.d.Differentiator().(bodyDifferentiator)
	switch {
	case !ok:
		return Report{}, fmt.Errorf("rollout: gradients: %w: the dispatcher has no differentiator",
			batch.ErrNotAvailable)
	case b.sparse():
		return Report{}, errors.New("rollout: gradients of all pairs, whose number is not known before")
	}
	g := &b.gradients
	g.mu.Lock()
	defer g.mu.Unlock()
	if err := b.openGradients(x.Needs()); err != nil {
		return Report{}, err
	}
	return g.batch.vjp(ctx, x, g.results, w, d, cotangents, to)
}

// vjp is VJP of a batch with the columns that derivatives need, in results of its own.
func (b *Batch) vjp(ctx context.Context, x bodyDifferentiator, results *Results, w *batch.Worlds, d batch.Derivative,
	cotangents, to []float64) (Report, error) {
	o := b.o
	o.Derivative = d
	p := b.newProducts(&o, w, cotangents, to)
	if p == nil {
		rep, err := b.Step(ctx, w, results)
		if err != nil {
			return rep, err
		}
		return rep, x.RolloutVJP(ctx, b.bodies, w, &o, results, cotangents, to)
	}
	clear(to)
	b.product = p
	defer func() { b.product = nil }()
	rep, err := b.Step(ctx, w, results)
	rep.Counts = [batch.StatusCount]int{} // nobody has seen the answers
	if err != nil || len(p.left) == 0 {
		return rep, err
	}
	return rep, b.complete(ctx, x, &o, w, p)
}

// openGradients makes the batch of steps with gradients with the first of them.
func (b *Batch) openGradients(needs batch.Columns) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	g := &b.gradients
	if b.closed {
		return errClosed
	}
	if g.batch != nil {
		return nil
	}
	job := &Job{Bodies: b.bodies, Worlds: b.worlds, Options: b.o}
	job.Options.Columns = needs
	of, err := newBatch(b.d, job, b.run)
	if err == nil {
		err = of.makeResults()
	}
	if err == nil {
		g.batch, g.results = of, of.results
	}
	return err
}

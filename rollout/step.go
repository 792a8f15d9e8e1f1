package rollout

import (
	"context"
	"errors"

	"clearance/batch"
)

// Step is [Batch.Update] and [Batch.Run] in one call, into results of the caller, which have the form of those that
// [NewResults] allocates for the options of the batch. The batch keeps no reference to w and out. Sparse results, of
// all pairs by rows, have a length that is not known before, and are refused: see [Batch.Find].
func (b *Batch) Step(ctx context.Context, w *batch.Worlds, out *Results) (Report, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.sparse() {
		return Report{}, errors.New("rollout: a step of all pairs into results of a length that is not known before")
	}
	_, rep, err := b.stepInto(ctx, w, out)
	return rep, err
}

// Find is a step with results of its own: the caller may keep them.
func (b *Batch) Find(ctx context.Context, w *batch.Worlds) (*Results, Report, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.stepInto(ctx, w, nil)
}

// stepInto is Step and, without results, Find.
func (b *Batch) stepInto(ctx context.Context, w *batch.Worlds, out *Results) (*Results, Report, error) {
	worlds, results, statuses := b.worlds, b.results, b.statuses
	defer func() {
		b.results, b.statuses = results, statuses
		b.see(worlds)
	}()
	if err := b.update(w); err != nil {
		return nil, Report{}, err
	}
	b.results = out
	if err := b.makeResults(); err != nil {
		return nil, Report{}, err
	}
	return b.step(ctx)
}

// see sets the worlds that the next step reads.
func (b *Batch) see(w *batch.Worlds) {
	b.worlds = w
	for _, p := range b.pool {
		p.worlds = w
	}
}

package rollout

import (
	"context"
	"errors"
)

// Step is [Batch.Update] and [Batch.Run] in one call, into results of the caller, which have the form of those that
// [NewResults] allocates for the options of the batch. The batch keeps no reference to w and out. Sparse results, of
// all pairs by rows, have a length that is not known before, and are refused.
func (b *Batch) Step(ctx context.Context, w *Worlds, out *Results) (Report, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.sparse() {
		return Report{}, errors.New("rollout: a step of all pairs into results of a length that is not known before")
	}
	worlds, results, statuses := b.worlds, b.results, b.statuses
	defer func() {
		b.results, b.statuses = results, statuses
		b.see(worlds)
	}()
	if err := b.update(w); err != nil {
		return Report{}, err
	}
	b.results = out
	if err := b.makeResults(); err != nil {
		return Report{}, err
	}
	_, rep, err := b.step(ctx)
	return rep, err
}

// see sets the worlds that the next step reads.
func (b *Batch) see(w *Worlds) {
	b.worlds = w
	for _, p := range b.pool {
		p.worlds = w
	}
}

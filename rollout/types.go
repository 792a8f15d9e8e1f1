package rollout

import "clearance/batch"

// Options, and what they and the results consist of, are types of package batch: files of them need no solver.
type (
	Options      = batch.RolloutOptions
	Reduce       = batch.Reduce
	Results      = batch.RolloutResults
	SweepResults = batch.SweepResults
)

// Reductions.
const (
	ReduceNone  = batch.ReduceNone
	ReduceWorld = batch.ReduceWorld
)

// Codes of the column any of a world.
const (
	AnyNone    = batch.AnyNone
	AnyContact = batch.AnyContact
	AnyUnknown = batch.AnyUnknown
)

// NewResults allocates results of n rows.
func NewResults(n int, o *Options) *Results { return batch.NewRolloutResults(n, o) }

// ParseReduce is the inverse of the method String of [Reduce].
func ParseReduce(s string) (Reduce, error) { return batch.ParseReduce(s) }

package batch

import (
	"fmt"
)

// Codes of the column any of a world.
const (
	AnyNone    uint8 = 0 // every row is proved to be separated
	AnyContact uint8 = 1 // a row is proved to be in contact, whatever the others are
	AnyUnknown uint8 = 2 // no contact is proved, and a row has no answer
)

// RolloutResults has one row per pair of bodies in a world (row w·P + p), or one per world with [ReduceWorld].
//
// The columns of [Results] are those of the least row or pair of parts:
//
//   - Culled rows have the solver [SolverBounds], normal and witnesses NaN, and parts -1.
//   - Rows with an absent body are the distance to an empty set: Separated, distance +Inf, gap 0, solver
//     bounds, normal and witnesses NaN, parts -1. So is a world without any other rows.
//   - Rows with an invalid pose, and worlds with such a row, are Invalid.
//   - A row is Undecided if an undecided pair of parts could be the least. The status of a Boolean query is that of a
//     contact if there is one.
//   - The bits column of a world is set unless all its rows are proved to be separated.
type RolloutResults struct {
	*Results

	// PartA and PartB are the parts that attain the least, as indices into [Bodies.Parts]; -1 if no
	// pair of parts was solved. [N].
	PartA, PartB []int32

	// Of worlds, [W], else nil: the index p of the pair that attains the least (without values a pair in
	// contact), -1 if that is not known; the number of rows proved to be in contact; the number of rows without
	// an answer; and whether there is any contact, as [AnyNone], [AnyContact], [AnyUnknown].
	Pair, Contacts, Failed []int32
	Any                    []uint8

	// ContactsComplete reports that Contacts counts all contacts of every world. A Boolean query of statuses stops
	// in a world in which bounds prove a contact: the counts are lower bounds then.
	ContactsComplete bool

	// Of all pairs, else nil: the rows of world w are Offsets[w] to Offsets[w+1]-1, in ascending order of BodyA and
	// BodyB, places in that world with BodyA < BodyB. A pair without a row is proved to be separated, beyond
	// MaxDistance if there is one, in the worlds that the report counts as done. After an error the worlds from there
	// on have no rows and nothing is known of them. A pair of a body with an invalid pose has an Invalid row. Of
	// worlds, BodyA and BodyB are the pair that attains the least, -1 if that is not known; Pair is -1 and Offsets nil.
	Offsets      []int64
	BodyA, BodyB []int32
}

// NewRolloutResults allocates results of n rows.
func NewRolloutResults(n int, o *RolloutOptions) *RolloutResults {
	r := &RolloutResults{Results: NewResults(n, &o.Options), PartA: make([]int32, n), PartB: make([]int32, n)}
	if o.Reduce == ReduceWorld {
		r.Pair, r.Contacts, r.Failed = make([]int32, n), make([]int32, n), make([]int32, n)
		r.Any = make([]uint8, n)
	}
	r.Reset()
	return r
}

// Reset makes every row Undecided.
func (r *RolloutResults) Reset() {
	r.Results.Reset()
	r.resetOthers(0, r.N)
}

// FailRows makes rows lo to hi Undecided, column by column, but for the bits, which [Results.PackBits] writes.
func (r *RolloutResults) FailRows(lo, hi int) {
	r.Fail(lo, hi)
	r.resetOthers(lo, hi)
}

// resetOthers is ResetOthers of rows lo to hi.
func (r *RolloutResults) resetOthers(lo, hi int) {
	fill(r.PartA[lo:hi], -1)
	fill(r.PartB[lo:hi], -1)
	if r.Pair == nil {
		return
	}
	fill(r.Pair[lo:hi], -1)
	clear(r.Contacts[lo:hi])
	clear(r.Failed[lo:hi])
	fill(r.Any[lo:hi], AnyUnknown)
	if r.BodyA != nil {
		fill(r.BodyA[lo:hi], -1)
		fill(r.BodyB[lo:hi], -1)
	}
}

// ResetOthers makes the columns of row i that [Results] lacks those of a failure.
func (r *RolloutResults) ResetOthers(i int) {
	r.PartA[i], r.PartB[i] = -1, -1
	if r.Pair != nil {
		r.Pair[i], r.Contacts[i], r.Failed[i], r.Any[i] = -1, 0, 0, AnyUnknown
	}
	if r.Pair != nil && r.BodyA != nil {
		r.BodyA[i], r.BodyB[i] = -1, -1
	}
}

// Check returns an error if results do not have the form of n rows for the options.
func (r *RolloutResults) Check(n int, o *RolloutOptions) error {
	if r.Results == nil || r.N != n || len(r.PartA) != n || len(r.PartB) != n {
		return fmt.Errorf("batch: results are not those of %d rows; allocate them with NewRolloutResults", n)
	}
	if missing := o.EffectiveColumns() &^ r.Columns; missing != 0 || r.Precision != o.Precision {
		return fmt.Errorf("batch: results in %v precision lack the columns %v", r.Precision, missing)
	}
	w := 0
	if o.Reduce == ReduceWorld {
		w = n
	}
	if len(r.Pair) != w || len(r.Contacts) != w || len(r.Failed) != w || len(r.Any) != w {
		return fmt.Errorf("batch: results are not those of the reduction %v; allocate them with NewRolloutResults",
			o.Reduce)
	}
	return r.CheckShape()
}

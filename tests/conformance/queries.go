package conformance

import (
	"clearance/batch"
	"clearance/ref"
)

// facts are what the suite knows of the answers to a query.
type facts struct {
	interval func(r *Rows, i int) (lower, upper float64)                  // of the value, by construction of the row
	truth    func(r *Rows, i int) *ref.Result                             // of the reference solver
	status   func(r *Rows, i int, found batch.Status) (want batch.Status) // found, where others are right too
}

// factsOf has one row per query that is answered.
var factsOf = [batch.QueryCount]*facts{
	batch.Distance:    &signedDistance,
	batch.Collide:     &signedDistance,
	batch.Penetration: &signedDistance,
	batch.Growth: {
		interval: (*Rows).growthOf,
		truth:    func(r *Rows, i int) *ref.Result { return &r.growthTruth()[i] },
		status:   (*Rows).contact,
	},
}

var signedDistance = facts{
	interval: func(r *Rows, i int) (lower, upper float64) { return r.Expect[i].interval() },
	truth:    func(r *Rows, i int) *ref.Result { return &r.Truth[i] },
	status:   (*Rows).contact,
}

// contact is the status of a row that is clear of contact by more than any tolerance, of others that found.
func (r *Rows) contact(i int, found batch.Status) (want batch.Status) {
	clear := 1e-5 * r.Library.PairSize(r.Pairs.ShapeA[i], r.Pairs.ShapeB[i])
	switch e := &r.Expect[i]; {
	case e.Relation == Separated && e.Distance > clear:
		return batch.Separated
	case e.Relation == Penetrating && r.Truth[i].Upper < -clear:
		return batch.Penetrating
	}
	return found
}

// Refused reports whether a row makes no sense as a query: two half-spaces, and for growth two shapes that are
// flat or half-spaces.
func (r *Rows) Refused(i int, q batch.Query) bool {
	return r.Expect[i].Relation == Nonsense ||
		q.Info().CheckShapes(r.Library, i, r.Pairs.ShapeA[i], r.Pairs.ShapeB[i]) != nil
}

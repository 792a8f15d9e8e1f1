package rollout

import (
	"math"

	"clearance/batch"
)

// least is what is proved of the least of some pairs of parts. Candidates are counted within their tile.
type least struct {
	lower, upper     float64 // of the least; +Inf if there are no pairs
	lowerBy, upperBy int32   // candidates that set them, -1 for none

	best     int32   // candidate of the least stored distance, -1 for none
	distance float64 // that distance

	undecided float64      // least lower bound of pairs that are undecided, +Inf if there are none
	contact   batch.Status // Penetrating or Touching if some pair is, else Separated
	contactBy int32        // the first candidate with that status, -1 for none

	pairs      int32
	failed     bool // some pair is undecided
	invalid    bool
	iterations int64
}

func noLeast() least {
	inf := math.Inf(1)
	return least{lower: inf, upper: inf, distance: inf, undecided: inf, lowerBy: -1, upperBy: -1, best: -1,
		contactBy: -1}
}

// cull adds a pair that is proved to be separated, by bounds.
func (l *least) cull(lower, upper float64) {
	l.pairs++
	if lower < l.lower {
		l.lower, l.lowerBy = lower, -1
	}
	if upper < l.upper {
		l.upper, l.upperBy = upper, -1
	}
}

// solved adds candidate k, answer i of the results, of a query in which shapes touch at the value touch.
func (l *least) solved(k int32, i int, from *batch.Results, touch float64) {
	l.pairs++
	status := batch.Status(from.Status()[i])
	if from.Iterations() != nil {
		l.iterations += int64(from.Iterations()[i])
	}
	switch {
	case status >= batch.Invalid:
		l.invalid = true
		return
	case status == batch.Undecided:
		l.failed = true
	case status > l.contact:
		l.contact, l.contactBy = status, k
	}
	if from.Distance().Len() == 0 {
		if l.best < 0 {
			l.best = k // whose solver is that of the row if no pair is in contact
		}
		return
	}
	d, lower, upper := interval(i, from)
	switch status {
	case batch.Undecided:
		l.undecided = min(l.undecided, lower)
	case batch.Separated: // which is proved, also where the gap is wide, as beyond a cut-off; reduce.comp does the same
		lower = max(lower, touch)
	}
	if d < l.distance {
		l.best, l.distance = k, d
	}
	if lower < l.lower {
		l.lower, l.lowerBy = lower, k
	}
	if upper < l.upper {
		l.upper, l.upperBy = upper, k
	}
}

// interval returns the stored value of an answer and bounds of the true one, rounded outwards.
func interval(i int, from *batch.Results) (d, lower, upper float64) {
	d, gap := from.Distance().At(i), float64(from.Gap()[i])
	if math.IsNaN(d) || math.IsInf(gap, 1) {
		return d, math.Inf(-1), math.Inf(1)
	}
	if gap == 0 {
		return d, d, d
	}
	return d, math.Nextafter(d-gap, math.Inf(-1)), math.Nextafter(d+gap, math.Inf(1))
}

// answered reports whether the least is known as far as the query asks.
func (l *least) answered(boolean bool) bool {
	switch {
	case l.invalid:
		return false
	case boolean:
		return l.contact != batch.Separated || !l.failed
	}
	return !(l.undecided < l.upper)
}

// status is the status of the least.
func (l *least) status(boolean bool) batch.Status {
	switch {
	case l.invalid:
		return batch.Invalid
	case !l.answered(boolean):
		return batch.Undecided
	}
	return l.contact
}

// worldLeast is the least of the rows of a world.
type worldLeast struct {
	least
	bestPair, contactPair int32 // rows of best and contactBy, -1 for none
	contacts, failures    int32
}

func noWorld() worldLeast { return worldLeast{least: noLeast(), bestPair: -1, contactPair: -1} }

// add adds a row of the world.
func (w *worldLeast) add(r *least, pair int32, boolean bool) {
	if r.contact != batch.Separated {
		w.contacts++
	}
	if !r.answered(boolean) {
		w.failures++
	}
	if r.contact > w.contact {
		w.contact, w.contactBy, w.contactPair = r.contact, r.contactBy, pair
	}
	if r.distance < w.distance || w.best < 0 && r.best >= 0 {
		w.best, w.distance, w.bestPair = r.best, r.distance, pair
	}
	if r.lower < w.lower {
		w.lower, w.lowerBy = r.lower, r.lowerBy
	}
	if r.upper < w.upper {
		w.upper, w.upperBy = r.upper, r.upperBy
	}
	w.undecided = min(w.undecided, r.undecided)
	w.pairs += r.pairs
	w.failed = w.failed || r.failed
	w.invalid = w.invalid || r.invalid
	w.iterations += r.iterations
}

// any is the code of the column any.
func (w *worldLeast) any() uint8 {
	switch {
	case w.contact != batch.Separated:
		return AnyContact
	case w.failures > 0:
		return AnyUnknown
	}
	return AnyNone
}

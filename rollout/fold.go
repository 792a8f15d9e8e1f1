package rollout

import (
	"math"
	"slices"

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

// derived are the columns of a row that follow from those of all its pairs of parts. The others are copied from the
// pair
// that attains the least, and have the value of rows without an answer where that is not known.
const derived = batch.ColDistance | batch.ColGap | batch.ColStatus | batch.ColIterations | batch.ColMethod |
	batch.ColBits

// source is where the candidates of a tile are answered.
type source struct {
	from *batch.Results
	t    *tile
}

// at is the answer of candidate k.
func (s *source) at(k int32) int { return s.t.candidate + int(k) }

// store stores row i of the results. s is nil if the row has no candidates. It returns the candidate whose answer
// the row has, -1 for none.
func (c *Batch) store(i int, l *least, s *source) int32 {
	out := c.results
	out.ResetOthers(i)
	status := l.status(c.boolean)
	c.statuses[i] = uint8(status)
	if status == batch.Invalid || status == batch.Undecided && !c.known(l) {
		out.PutFailure(i, status)
		return -1
	}
	a := batch.Answer{
		Status: status, Solver: batch.SolverBounds, Iterations: int(min(l.iterations, batch.MaxIterations)),
		Distance: middle(l.lower, l.upper), Lower: l.lower, Upper: l.upper,
	}
	if l.pairs == 0 { // nothing to be distant from
		a.Distance = math.Inf(1)
	}
	k := c.winner(l)
	if k >= 0 {
		at := s.at(k)
		if from := s.from.Method(); from != nil {
			a.Solver = batch.Solver(from[at])
		}
		if from := s.from.Distance(); from.Len() != 0 {
			// Witnesses prove the upper bound of their own pair; a pair with a greater distance may have a lower one
			// where gaps are wide, as beyond a cut-off.
			a.Distance = from.At(at)
			_, _, a.Upper = interval(at, s.from)
		}
		out.CopyRow(i, s.from, at, out.Columns&^derived)
		out.PartA[i], out.PartB[i] = s.t.partA[k], s.t.partB[k]
	} else if !c.valued && l.best >= 0 && s.from.Method() != nil {
		a.Solver = batch.Solver(s.from.Method()[s.at(l.best)])
	}
	if k < 0 {
		out.ClearRow(i, out.Columns&^derived)
	}
	out.PutColumns(i, &a, derived)
	switch {
	case out.Gap() == nil:
	case l.pairs == 0:
		out.Gap()[i] = 0
	case k >= 0 && l.lowerBy == k && l.upperBy == k:
		out.Gap()[i] = s.from.Gap()[s.at(k)] // without rounding it twice
	}
	return k
}

// putCulled stores a row that bounds answer.
func (c *Batch) putCulled(i int, lower, upper float64) {
	out := c.results
	c.statuses[i] = uint8(batch.Separated)
	out.ClearRow(i, out.Columns&^derived)
	out.PutColumns(i, &batch.Answer{
		Status: batch.Separated, Solver: batch.SolverBounds, Distance: middle(lower, upper), Lower: lower, Upper: upper,
	}, derived)
	out.PartA[i], out.PartB[i] = -1, -1
}

// winner returns the candidate that attains the least, or without values a contact; -1 if that is not known.
func (c *Batch) winner(l *least) int32 {
	switch {
	case !c.valued:
		return l.contactBy
	case l.best >= 0 && l.upperBy < 0 && l.distance > l.upper:
		return -1 // a culled pair is nearer
	}
	return l.best
}

// known reports whether anything is known of an undecided row that is worth storing.
func (c *Batch) known(l *least) bool {
	return c.valued && !math.IsInf(l.lower, -1) && !math.IsInf(l.upper, 1)
}

// middle of an interval.
func middle(lower, upper float64) float64 { return lower + (upper-lower)/2 }

// setReduction tells the back end how the answers of a block are combined, so that it may omit some, see
// [batch.Reduction]: the candidates of a row are a set, and the rows of a world, or each row by itself, are a group.
func (b *Batch) setReduction(tiles []*tile) {
	b.parts.Reduction = nil
	if b.o.NoDeviceReduction || !b.series.Reduces() {
		return
	}
	r := &b.sets
	r.Tally.Reset()
	r.Sets, r.Groups = append(r.Sets[:0], 0), append(r.Groups[:0], 0)
	for _, t := range tiles {
		world := int32(-1)
		for i := range t.rows {
			row := &t.rows[i]
			if row.count == 0 {
				continue
			}
			sets := int32(len(r.Sets) - 1)
			if (!b.reduce || row.world != world) && sets > 0 {
				r.Groups = append(r.Groups, sets)
			}
			world = row.world
			r.Sets = append(r.Sets, int32(t.candidate)+row.first+row.count)
		}
	}
	r.Groups = append(r.Groups, int32(len(r.Sets)-1))
	b.parts.Reduction = r
}

// omitted returns what is known of omitted candidates, from those of the tile on.
func (t *tile) omitted() []batch.Portion {
	if t.c.parts.Reduction == nil {
		return nil
	}
	portions := t.c.sets.Tally.Portions
	i, _ := slices.BinarySearchFunc(portions, t.candidate, func(p batch.Portion, k int) int { return int(p.Row) - k })
	return portions[i:]
}

// addOmitted adds what is known of the portions that begin with candidates of a row, and returns the portions after
// these.
func (t *tile) addOmitted(r *openRow, portions []batch.Portion) []batch.Portion {
	for len(portions) > 0 && int(portions[0].Row) < t.candidate+int(r.first+r.count) {
		r.least.iterations += portions[0].Iterations
		if t.c.reduce {
			t.worlds[int(r.world)-t.lo].contacts += portions[0].Contacts
		}
		portions = portions[1:]
	}
	return portions
}

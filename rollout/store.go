package rollout

import (
	"math"

	"clearance/batch"
)

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

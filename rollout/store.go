package rollout

import (
	"math"

	"clearance/batch"

	"gonum.org/v1/gonum/spatial/r3"
)

// noVector is the normal and the witnesses of rows that no solver answered.
var noVector = r3.Vec{X: math.NaN(), Y: math.NaN(), Z: math.NaN()}

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
	out.resetOthers(i)
	status := l.status(c.boolean)
	c.statuses[i] = uint8(status)
	if status == batch.Invalid || status == batch.Undecided && !c.known(l) {
		out.PutFailure(i, status)
		return -1
	}
	a := batch.Answer{
		Status: status, Solver: batch.SolverBounds, Iterations: int(min(l.iterations, batch.MaxIterations)),
		Distance: middle(l.lower, l.upper), Lower: l.lower, Upper: l.upper,
		Normal: noVector, WitnessA: noVector, WitnessB: noVector, Point: noVector,
	}
	if l.pairs == 0 { // nothing to be distant from
		a.Distance = math.Inf(1)
	}
	k := c.winner(l)
	if k >= 0 {
		c.take(&a, k, s)
		out.PartA[i], out.PartB[i] = s.t.partA[k], s.t.partB[k]
	} else if !c.valued && l.best >= 0 && s.from.Method != nil {
		a.Solver = batch.Solver(s.from.Method[s.at(l.best)])
	}
	out.Put(i, &a)
	switch {
	case out.Gap == nil:
	case l.pairs == 0:
		out.Gap[i] = 0
	case k >= 0 && l.lowerBy == k && l.upperBy == k:
		out.Gap[i] = s.from.Gap[s.at(k)] // without rounding it twice
	}
	return k
}

// putCulled stores a row that bounds answer.
func (c *Batch) putCulled(i int, lower, upper float64) {
	out := c.results
	c.statuses[i] = uint8(batch.Separated)
	out.Put(i, &batch.Answer{
		Status: batch.Separated, Solver: batch.SolverBounds, Distance: middle(lower, upper), Lower: lower, Upper: upper,
		Normal: noVector, WitnessA: noVector, WitnessB: noVector, Point: noVector,
	})
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

// take copies the answer of candidate k but its status and bounds.
func (c *Batch) take(a *batch.Answer, k int32, s *source) {
	i, from := s.at(k), s.from
	if from.Method != nil {
		a.Solver = batch.Solver(from.Method[i])
	}
	if from.Distance.Len() != 0 {
		a.Distance = from.Distance.At(i)
	}
	vector := func(to *r3.Vec, f *batch.Floats) {
		if f.Len() != 0 {
			*to = r3.Vec{X: f.At(3 * i), Y: f.At(3*i + 1), Z: f.At(3*i + 2)}
		}
	}
	vector(&a.Normal, &from.Normal)
	vector(&a.WitnessA, &from.WitnessA)
	vector(&a.WitnessB, &from.WitnessB)
	vector(&a.Point, &from.Point)
}

package ref

import (
	"math"

	"gonum.org/v1/gonum/spatial/r3"
)

// Traces of growth distances. Points of the steps are those of the shapes as they are, as of the witnesses: relative to
// the centers, D is A − B moved by p.

// traced records an evaluation of the support function of D along n, whose value is h. The first one has the bound of
// the ball that D contains, which holds before any evaluation.
func (g *growth) traced(n r3.Vec, h float64, v *Vertex) {
	t, upper := g.o.Trace, math.Inf(1)
	if g.iter == 1 {
		upper = g.best.upper
	}
	t.Steps = append(t.Steps, Step{
		Solver: g.by, Evaluation: len(t.Steps) + 1, Direction: n, Support: g.inPair(v),
		Slope: math.NaN(), Region: math.NaN(), Lower: math.Max(g.dual(n, h), 0), Upper: upper,
	})
}

// tracedPrimal adds to the evaluation recorded last the points of D that bound the factor from above.
func (g *growth) tracedPrimal(s *Simplex, upper float64) {
	step := g.o.Trace.last()
	step.Upper = math.Min(step.Upper, upper)
	step.Simplex = *s
	for i := range s.N {
		step.Simplex.V[i] = g.inPair(&s.V[i])
	}
	step.Iterate, step.Known = r3.Sub(s.point(), g.ray), true
}

// inPair is a vertex in the frame of the pair, given relative to the centers.
func (g *growth) inPair(v *Vertex) Vertex {
	x := Vertex{A: r3.Add(v.A, g.centerA), B: r3.Add(v.B, r3.Add(g.centerA, g.ray))}
	x.W = r3.Sub(x.A, x.B)
	return x
}

// tracedHalfspace records the only evaluation next to a half-space, whose outward normal is m. Its vertex is the
// support point of the bounded shape and the point of the plane below it.
func (g *growth) tracedHalfspace(r *Result, m r3.Vec) {
	v := Vertex{A: r.WitnessA, B: r.WitnessB}
	if plane := r3.Add(g.centerA, g.ray); unbounded(g.p.B) {
		v.B = r3.Sub(v.A, r3.Scale(r3.Dot(m, r3.Sub(v.A, plane)), m))
	} else {
		v.A = r3.Sub(v.B, r3.Scale(r3.Dot(m, r3.Sub(v.B, g.centerA)), m))
	}
	v.W = r3.Sub(v.A, v.B)
	t := g.o.Trace
	t.Steps = append(t.Steps, Step{
		Solver: StepFormula, Evaluation: len(t.Steps) + 1, Direction: r.Normal, Support: v,
		Slope: math.NaN(), Region: math.NaN(), Lower: r.Lower, Upper: r.Upper,
	})
}

// growthAnswer records the result of a growth distance.
func (t *Trace) growthAnswer(r *Result) {
	t.answer(r)
	s := &t.last().Simplex
	for i := range s.N {
		s.V[i].W = r3.Sub(s.V[i].A, s.V[i].B)
	}
}

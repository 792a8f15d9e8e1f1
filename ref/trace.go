package ref

import (
	"math"

	"gonum.org/v1/gonum/spatial/r3"
)

// Trace records the steps of [Solve] and of the solvers of distances and depths, see [Options.Trace], or of [Growth],
// see [GrowthOptions.Trace]. It belongs to one goroutine. Recording changes no bit of an answer.
type Trace struct {
	Steps []Step // of Solve and Growth the last one is the answer
}

// Step is one evaluation of the support function of D, or the answer. Everything is in the frame of the pair; D is
// A − B, also of growth distances.
type Step struct {
	Solver     StepSolver
	Evaluation int    // number of the evaluation in the trace, from 1; of the answer the number of the last evaluation
	Direction  r3.Vec // unit, from A to B; of the answer the normal
	Support    Vertex // of the cores along it, of growth distances of the shapes; of the answer the witnesses
	// Simplex is the one before the evaluation: the vertices of GJK, with the vertex of this step once they contain the
	// origin, EPA's closest face, or the points whose combination bounds a growth distance from above. N = 0 where the
	// solver has none.
	Simplex Simplex
	// Iterate is the point of D closest to the origin so far. Of a growth distance it is the point of the simplex on
	// the ray from the difference of the centers through the origin, or close to it. 0 if it is not known.
	Iterate r3.Vec
	Known   bool    // whether the iterate is known
	Slope   float64 // of RTR: norm of the gradient at this direction, metres; NaN if it was not computed
	Region  float64 // of RTR: radius of the trust region; NaN of others

	// Lower and Upper bound the signed distance of the shapes, or the factor of a growth distance, as this step alone
	// proves; infinite where it proves nothing. The first step of a growth distance also has the upper bound of the
	// ball that D contains. Those of the answer are the result's.
	Lower, Upper float64
}

// StepSolver names the solver that took a step.
type StepSolver uint8

// Solvers of steps.
const (
	StepGJK StepSolver = iota
	StepNesterov
	StepPolyak
	StepFrankWolfe
	StepEPA // and what seeds, covers and revolves its polytope
	StepRTR
	StepInscribed // search along the valley of an ellipsoid and a capsule or cylinder
	StepFormula
	StepGrowth    // simplex method of the growth distance
	StepNewton    // on its convex dual
	StepExpansion // its Internal Expanding procedure
	StepAnswer
	stepSolverCount
)

var stepSolverNames = [stepSolverCount]string{"gjk", "nesterov", "polyak", "frank-wolfe", "epa", "rtr", "inscribed",
	"formula", "growth", "newton", "expansion", "answer"}

func (s StepSolver) String() string { return stepSolverNames[s] }

// evaluated records an evaluation of the support function of p along n, whose length is not 0. Any direction proves
// -h(n) as a lower bound.
func (t *Trace) evaluated(by StepSolver, p *Pair, n r3.Vec, v *Vertex) *Step {
	n = unit(n)
	t.Steps = append(t.Steps, Step{
		Solver: by, Evaluation: len(t.Steps) + 1, Direction: n, Support: *v,
		Slope: math.NaN(), Region: math.NaN(),
		Lower: -r3.Dot(n, v.W) - p.Radius - p.Roundoff(), Upper: math.Inf(1),
	})
	return t.last()
}

// last is the step recorded last.
func (t *Trace) last() *Step { return &t.Steps[len(t.Steps)-1] }

// answer records the result.
func (t *Trace) answer(r *Result) {
	t.Steps = append(t.Steps, Step{
		Solver: StepAnswer, Evaluation: len(t.Steps), Direction: r.Normal,
		Support: Vertex{W: r3.Sub(r.WitnessA, r.WitnessB), A: r.WitnessA, B: r.WitnessB}, Simplex: r.Simplex,
		Slope: math.NaN(), Region: math.NaN(), Lower: r.Lower, Upper: r.Upper,
	})
}

// traced records the evaluation along -dir that found the latest vertex, with the simplex before it.
func (d *descent) traced(dir r3.Vec) {
	s := d.o.Trace.evaluated(d.by, &d.p, r3.Scale(-1, dir), d.latest())
	if d.s.N > 0 {
		s.Simplex, s.Iterate, s.Known = d.s, d.x, true
		s.Upper = d.norm - d.p.Radius + d.rounding
	}
}

// tracedInside records that the simplex contains the origin: the cores intersect, or cannot be told from touching.
func (d *descent) tracedInside() {
	if d.o.Trace == nil {
		return
	}
	s := d.o.Trace.last()
	s.Simplex, s.Iterate, s.Known = d.s, d.x, true
	s.Upper = d.norm - d.p.Radius + d.rounding
}

// tracedFace adds to the evaluation recorded last the face that it expands, and the bounds of that step.
func (e *expansion) tracedFace(f int32) {
	s := e.o.Trace.last()
	face := &e.poly.faces[f]
	s.Simplex.N = 3
	for i, v := range face.v {
		s.Simplex.V[i] = e.poly.verts[v]
	}
	l := &s.Simplex.Lambda
	l[0], l[1], l[2] = s2d(s.Simplex.V[0].W, s.Simplex.V[1].W, s.Simplex.V[2].W)
	s.Iterate, s.Known = e.now.near.W, true
	s.Upper = e.now.upper - e.p.Radius + e.rounding
}

// tracedModel adds to the evaluation recorded last the gradient there, and the bound of the two support points.
func (t *trustRegion) tracedModel(region float64) {
	s := t.o.Trace.last()
	s.Slope, s.Region = t.norm, region
	s.Iterate, s.Known = t.v.W, true
	if t.h < 0 {
		s.Upper = t.separatedUpper()
	}
}

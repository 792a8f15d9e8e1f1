package ref

import (
	"clearance/geom"

	"gonum.org/v1/gonum/spatial/r3"
)

// chosen returns the method that MethodAuto selects for a pair: RTR where both shapes are smooth and it
// was measured to be faster, certificate included (section 7 of docs/results/papers.md), GJK and EPA
// otherwise. One support value along the initial direction, not counted as an iteration, distinguishes
// pairs that are separated along it from those that may overlap.
//
//   - Ellipsoids and spheres that may overlap deeper than their inscribed rolling balls: RTR and the
//     closed-form proof, in about a fifth of the time of GJK and EPA. Other ellipsoids: GJK, whose
//     steps are cheap there.
//   - Other smooth, soft shapes that are separated: RTR, which needs a third of the steps.
//   - Two soft smooth revolutions that may overlap: RTR and the depth certificate. Other smooth pairs
//     that may overlap: GJK and EPA. RTR and its certificate take a third fewer steps, but more
//     expensive ones, with Hessians (BenchmarkSmoothOverlap).
//
// Boolean queries use GJK: they are answered long before either method has converged.
func chosen(p *Pair, o *Options) Method {
	if !SmoothPair(p.A, p.B) || o.Boolean {
		return MethodGJK
	}
	q := p.eroded()
	var v Vertex
	x := startDirection(&q, o)
	q.support(x, &v)
	apart := r3.Dot(x, v.W) < 0
	if _, round := semiAxes(p.A); round {
		if _, round = semiAxes(p.B); round {
			if apart {
				return MethodGJK
			}
			return MethodRTR
		}
	}
	revolutions := p.A.Kind().Family() == geom.FamilySmoothRevolution &&
		p.B.Kind().Family() == geom.FamilySmoothRevolution
	if soft(p.A) && soft(p.B) && (apart || revolutions) {
		return MethodRTR
	}
	return MethodGJK
}

// softest is the largest sharpness for which RTR is preferred: at 20 it is no faster than GJK on smooth
// hulls at the tolerance of single precision, at 50 it takes 1.5 times as long.
const softest = 10

// soft reports whether RTR converges fast enough on a shape that is apart from another: not
// where the curvature varies a lot, as near the flat sides of a superquadric with an
// exponent below 1, where there is no Hessian either.
func soft(s geom.Shape) bool {
	switch s := s.(type) {
	case interface{ Sharpness() float64 }:
		return s.Sharpness() <= softest
	case geom.Superquadric:
		return s.Alpha1 >= 1 && s.Alpha2 >= 1
	case geom.Rounded:
		return soft(s.Shape)
	}
	return true
}

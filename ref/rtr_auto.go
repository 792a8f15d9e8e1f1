package ref

import (
	"clearance/geom"

	"gonum.org/v1/gonum/spatial/r3"
)

// chosen is the method that MethodAuto stands for on a pair: RTR where both shapes are
// smooth and it was measured to be faster with its certificate (section 7 of the papers report,
// docs/results/papers.md), GJK and EPA for all others. One support value along the first
// direction, which is not counted as an iteration, tells pairs that are apart along it from those
// that may overlap.
//
//   - Ellipsoids and spheres that may overlap deeper than the balls that roll in them:
//     RTR and the closed-form proof, in about a fifth of the time of GJK and EPA. Others: GJK,
//     whose steps are cheap there.
//   - Other smooth shapes that are apart and soft: RTR, which needs a third of the steps.
//   - Two soft smooth revolutions that may overlap: RTR, and its proof by a cap of directions and a
//     coarse polytope. Other smooth pairs that may: GJK and EPA. RTR and its proof take a third fewer
//     steps, but dearer ones, with Hessians (BenchmarkSmoothOverlap).
//
// The Boolean question is GJK's: it is answered long before either has converged.
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
	turned := p.A.Kind() == geom.KindSmoothRevolution && p.B.Kind() == geom.KindSmoothRevolution
	if soft(p.A) && soft(p.B) && (apart || turned) {
		return MethodRTR
	}
	return MethodGJK
}

// softest is the sharpness up to which RTR's steps are few enough: at 20 it has lost its lead
// on smooth hulls at the tolerance of single precision, at 50 it needs half as long again as GJK.
const softest = 10

// soft reports whether RTR converges fast enough on a shape that is apart from another: not
// where the curvature varies a lot, as near the flat sides of a superquadric with an
// exponent below 1, where there is no Hessian either.
func soft(s geom.Shape) bool {
	switch s := s.(type) {
	case *geom.SmoothHull:
		return s.Sharpness() <= softest
	case *geom.SmoothRevolution:
		return s.Sharpness() <= softest
	case geom.Superquadric:
		return s.Alpha1 >= 1 && s.Alpha2 >= 1
	case geom.Rounded:
		return soft(s.Shape)
	}
	return true
}

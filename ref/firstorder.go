package ref

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/spatial/r3"

	"clearance/geom"
)

const defaultFrankWolfeIterations = 100_000

// FrankWolfe finds the distance of the cores with the Frank-Wolfe method and exact
// line search [Montaut2022, Alg. 1 and 3]: x moves to the point of the segment from
// x to the support vertex that is nearest to the origin, and nothing else is
// remembered. It converges slowly, like 1/ε on flat shapes; it stands here as the
// baseline of Table II, and because it is the simplest method there is.
//
// For intersecting cores x tends to the origin and never reaches it: with
// [StopGap] such a pair ends Undecided at the cap unless the radii decide it.
func FrankWolfe(p *Pair, o Options, ws *Workspace) Result {
	d := ws.descent()
	d.reset(p, &o, defaultFrankWolfeIterations)
	d.by = StepFrankWolfe
	for {
		d.support(d.x, true)
		if d.settled() {
			return d.result(false)
		}
		if d.iter >= d.limit {
			return d.result(d.best <= d.rounding)
		}
		if d.s.N == 0 {
			d.s.Lambda[0], d.s.N = 1, 1 // the latest vertex stands in slot 0
		} else {
			// The active set is {xₖ, sₖ}; it collapses to {xₖ₊₁} (Alg. 3, line 6).
			v, s := &d.s.V[0], d.latest()
			l0, l1 := s1d(v.W, s.W)
			v.A = r3.Add(r3.Scale(l0, v.A), r3.Scale(l1, s.A))
			v.B = r3.Add(r3.Scale(l0, v.B), r3.Scale(l1, s.B))
			v.W = r3.Sub(v.A, v.B)
		}
		d.x = d.s.V[0].W
		d.norm = norm(d.x)
		if d.norm <= d.rounding {
			return d.result(true)
		}
	}
}

// ProjectedGradient finds the distance of two shapes by the projected gradient with
// Nesterov's acceleration: minimise ½‖a − b‖² over A × B, with the step 1/2 that
// the Lipschitz constant 2 of the gradient allows, which takes a and b to the
// middle between them before they are projected back. It is the kind of method
// that [Montaut2022] and [AGIMUS2023] compare GJK with under the name NESMINO; it is here for that
// comparison only.
//
// As there, it ends when b − a is within radius of the known solution, in the frame
// of the pair, or after limit steps, and returns their number. It starts at the
// centers. Projections are known for boxes and ellipsoids; other shapes are an
// error.
func ProjectedGradient(p *Pair, solution r3.Vec, radius float64, limit int) (steps int, err error) {
	for _, s := range [2]geom.Shape{p.A, p.B} {
		if _, ok := projectOn(s, r3.Vec{}); !ok {
			return 0, fmt.Errorf("ref: projected gradient: no projection onto a %v", s.Kind())
		}
	}
	toB := func(v r3.Vec) r3.Vec { return p.rot.MulVecT(r3.Sub(v, p.trans)) }
	fromB := func(v r3.Vec) r3.Vec { return r3.Add(p.rot.MulVec(v), p.trans) }
	a, b := p.A.Center(), fromB(p.B.Center())
	ya, yb := a, b
	t := 1.0
	for steps = 0; steps < limit; steps++ {
		if !(r3.Norm(r3.Sub(r3.Sub(b, a), solution)) > radius) {
			return steps, nil
		}
		middle := r3.Scale(0.5, r3.Add(ya, yb))
		na, _ := projectOn(p.A, middle)
		nb, _ := projectOn(p.B, toB(middle))
		nb = fromB(nb)
		next := (1 + math.Sqrt(1+4*t*t)) / 2
		beta := (t - 1) / next
		ya = r3.Add(na, r3.Scale(beta, r3.Sub(na, a)))
		yb = r3.Add(nb, r3.Scale(beta, r3.Sub(nb, b)))
		a, b, t = na, nb, next
	}
	return steps, nil
}

// projectOn returns the point of a shape nearest to v, in the frame of the shape.
func projectOn(s geom.Shape, v r3.Vec) (r3.Vec, bool) {
	switch s := s.(type) {
	case geom.Box:
		h := s.HalfExtents
		return r3.Vec{
			X: min(max(v.X, -h.X), h.X), Y: min(max(v.Y, -h.Y), h.Y), Z: min(max(v.Z, -h.Z), h.Z),
		}, true
	case geom.Ellipsoid:
		return projectOnEllipsoid(s.SemiAxes, v), true
	}
	return r3.Vec{}, false
}

// projectOnEllipsoid solves Σ (aᵢvᵢ/(aᵢ² + t))² = 1 for t ≥ 0: the nearest point has the
// coordinates aᵢ²vᵢ/(aᵢ² + t). The function is convex and falls, so Newton's method from
// t = 0 climbs to the root without overshooting.
func projectOnEllipsoid(a, v r3.Vec) r3.Vec {
	axes, x := [3]float64{a.X, a.Y, a.Z}, [3]float64{v.X, v.Y, v.Z}
	t := 0.0
	for range 100 {
		f, slope := -1.0, 0.0
		for k, e := range axes {
			d := e*e + t
			q := e * x[k] / d
			f += q * q
			slope -= 2 * q * q / d
		}
		if !(f > 4*eps) { // inside, or at the root up to rounding
			break
		}
		t -= f / slope
	}
	for k, e := range axes {
		x[k] *= e * e / (e*e + t)
	}
	return r3.Vec{X: x[0], Y: x[1], Z: x[2]}
}

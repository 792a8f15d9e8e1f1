package geom

import (
	"math"

	"gonum.org/v1/gonum/spatial/r3"
)

// gauge returns the factor g by which the body has to be scaled to have p on its
// surface, and its gradient at p. It is the norm dual to the support function,
// that is the same nested form with 2-α for α. For p = 0 the gradient is 0.
func (s Superquadric) gauge(p r3.Vec) (g float64, grad r3.Vec) {
	u, v, w := math.Abs(p.X)/s.SemiAxes.X, math.Abs(p.Y)/s.SemiAxes.Y, math.Abs(p.Z)/s.SemiAxes.Z
	if u == 0 && v == 0 {
		if w == 0 {
			return 0, r3.Vec{}
		}
		return w, r3.Vec{Z: math.Copysign(1/s.SemiAxes.Z, p.Z)}
	}
	l, gu, gv := split(u, v, 2-s.Alpha2)
	g, gl, gw := split(l, w, 2-s.Alpha1)
	return g, r3.Vec{
		X: math.Copysign(gl*gu/s.SemiAxes.X, p.X),
		Y: math.Copysign(gl*gv/s.SemiAxes.Y, p.Y),
		Z: math.Copysign(gw/s.SemiAxes.Z, p.Z),
	}
}

// Residual is a lower bound inside and the distance outside.
//
// Inside, with g the gauge of p, its magnitude (1-g)·Inradius is at most the depth:
// by convexity the ball of that radius around p lies in the body.
//
// Outside it is the distance of p to a point of the body, hence never less than
// the true distance, and more only by rounding. Next to the surface a Newton
// step along the gradient of g, scaled back by its own gauge, ends at such a
// point; it errs by a term of second order in the distance. Farther out the
// projection is computed.
func (s Superquadric) Residual(p r3.Vec) float64 {
	g, grad := s.gauge(p)
	if g <= 1 {
		return (g - 1) * s.Inradius()
	}
	size := math.Sqrt(r3.Norm2(p))
	step := r3.Scale((g-1)/r3.Norm2(grad), grad)
	q := r3.Sub(p, step)
	gq, _ := s.gauge(q)
	// p - q/gq, from its two small parts. If rounding leaves gq < 1, q is inside.
	back := r3.Add(step, r3.Scale(1-1/max(gq, 1), q))
	near := math.Sqrt(r3.Norm2(back))
	// The plane across grad proves the lower bound (g-1)/|grad| = |step|: stop if the
	// two differ by rounding alone (or are NaN).
	if !(near-math.Sqrt(r3.Norm2(step)) > 0x1p-51*size) {
		return near
	}
	p = r3.Vec{X: math.Abs(p.X), Y: math.Abs(p.Y), Z: math.Abs(p.Z)}
	return min(near, r3.Norm(r3.Sub(p, s.project(p))))
}

// project returns the point of the body nearest to p, which is outside and has no
// negative component. The error is some 1e-13 × the semi-axes along the
// surface, so of second order in the distance.
//
// The surface is (ℓ·a·X, ℓ·b·Y, c·Z) with ℓ^r + Z^r = 1 and X^p + Y^p = 1. For given
// ℓ the nearest (X, Y) is a projection onto a superellipse; the derivative of
// half the squared distance by ℓ is then -A with A = ⟨p - x, (aX, bY)⟩, so the
// best ℓ balances A against B = c·(p.Z - cZ) in the same way as X against Y.
func (s Superquadric) project(p r3.Vec) r3.Vec {
	a, b, c := s.SemiAxes.X, s.SemiAxes.Y, s.SemiAxes.Z
	if p.X == 0 && p.Y == 0 {
		return r3.Vec{Z: c}
	}
	l, _, _ := split(p.X/a, p.Y/b, 2-s.Alpha2) // gauge of the lateral part
	e := 2 / s.Alpha1
	at := func(t float64) (r3.Vec, float64) {
		ell, z := onCurve(t, e)
		if l <= ell { // above the cross-section
			return r3.Vec{X: p.X, Y: p.Y, Z: c * z}, math.Inf(1)
		}
		x, y := s.projectLateral(p.X, p.Y, ell)
		A := (p.X-ell*a*x)*a*x + (p.Y-ell*b*y)*b*y
		return r3.Vec{X: ell * a * x, Y: ell * b * y, Z: c * z}, balance(c*(p.Z-c*z), A, e, t)
	}
	if p.Z == 0 {
		v, _ := at(math.Inf(-1))
		return v
	}
	v, _ := at(decreasingRoot(func(t float64) float64 { _, f := at(t); return f }, math.Log(p.Z/c/l)))
	return v
}

// projectLateral returns (X, Y), X^p + Y^p = 1, for which (ℓaX, ℓbY) is nearest to
// (px, py), a point outside.
func (s Superquadric) projectLateral(px, py, ell float64) (x, y float64) {
	switch {
	case px == 0:
		return 0, 1
	case py == 0:
		return 1, 0
	}
	a, b, e := s.SemiAxes.X, s.SemiAxes.Y, 2/s.Alpha2
	return onCurve(decreasingRoot(func(t float64) float64 {
		x, y := onCurve(t, e)
		return balance(b*(py-ell*b*y), a*(px-ell*a*x), e, t)
	}, math.Log(py/b/(px/a))), e)
}

// onCurve returns the point (x, y) of x^e + y^e = 1 with y/x = exp(t), x, y ≥ 0.
func onCurve(t, e float64) (x, y float64) {
	m := math.Abs(t)
	x = math.Exp(-math.Log1p(math.Exp(-e*m)) / e)
	y = x * math.Exp(-m)
	if t > 0 {
		return y, x
	}
	return x, y
}

// balance is the logarithm of B·x^(e-1) / (A·y^(e-1)) at the point (x, y) with
// y/x = exp(t), where B and A are the pulls towards larger y and larger x. It falls
// with t, with a slope of at least e - 1: the pulls themselves fall and rise.
func balance(b, a, e, t float64) float64 {
	switch {
	case !(b > 0):
		return math.Inf(-1)
	case !(a > 0):
		return math.Inf(1)
	}
	return math.Log(b/a) - (e-1)*t
}

// decreasingRoot returns the root of a falling function that may be infinite, to
// 1e-13 relative (absolute below 1): the Illinois variant of regula falsi, and
// bisection while an end is infinite.
func decreasingRoot(f func(float64) float64, start float64) float64 {
	lo, flo := start, f(start)
	if flo == 0 {
		return start
	}
	hi, fhi := lo, flo
	for step := 1.0; ; step *= 2 { // to a bracket: f(lo) > 0 ≥ f(hi)
		if flo > 0 {
			hi = lo + step
			if fhi = f(hi); !(fhi > 0) {
				break
			}
			lo, flo = hi, fhi
		} else {
			hi, fhi = lo, flo
			lo = hi - step
			if flo = f(lo); !(flo <= 0) {
				break
			}
		}
	}
	best, fbest := lo, math.Abs(flo)
	if math.Abs(fhi) < fbest {
		best, fbest = hi, math.Abs(fhi)
	}
	side := 0
	for range 200 {
		if !(hi-lo > 1e-13*max(1, math.Abs(lo))) {
			break
		}
		t := (lo + hi) / 2
		if flo-fhi < math.Inf(1) {
			t = lo + (hi-lo)*(flo/(flo-fhi))
		} else {
			side = 0
		}
		if !(t > lo && t < hi) {
			break // the nearer end is the root to rounding
		}
		ft := f(t)
		if a := math.Abs(ft); a < fbest {
			best, fbest = t, a
		}
		if ft > 0 {
			lo, flo = t, ft
			if side == 1 {
				fhi /= 2
			}
			side = 1
		} else {
			hi, fhi = t, ft
			if side == -1 {
				flo /= 2
			}
			side = -1
		}
	}
	return best
}

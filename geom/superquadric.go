package geom

import (
	"math"

	"gonum.org/v1/gonum/spatial/r3"
)

// Ellipsoid is (x/a)² + (y/b)² + (z/c)² ≤ 1 with semi-axes a, b, c. Its core is
// the ellipsoid itself. Its support function |(a·d.X, b·d.Y, c·d.Z)| is C² in
// every direction.
type Ellipsoid struct {
	SemiAxes r3.Vec // a, b, c, metres
}

// Kind returns KindEllipsoid.
func (Ellipsoid) Kind() Kind { return KindEllipsoid }

func (e Ellipsoid) values() values { return values{numbers(e.SemiAxes)} }

func (Ellipsoid) of(v values) (Shape, error) {
	return Ellipsoid{SemiAxes: v.vector(0)}, nil
}

// Validate reports the first size out of range.
func (e Ellipsoid) Validate() error { return KindEllipsoid.check(e.values()) }

// CoreSupport returns the point of the surface whose outward normal is d.
func (e Ellipsoid) CoreSupport(d r3.Vec) r3.Vec {
	x, y, z := e.SemiAxes.X*d.X, e.SemiAxes.Y*d.Y, e.SemiAxes.Z*d.Z
	n2 := x*x + y*y + z*z
	if n2 > minSquare && n2 < maxSquare {
		k := 1 / math.Sqrt(n2)
		return r3.Vec{X: e.SemiAxes.X * (k * x), Y: e.SemiAxes.Y * (k * y), Z: e.SemiAxes.Z * (k * z)}
	}
	return e.slowSupport(d)
}

//go:noinline
func (e Ellipsoid) slowSupport(d r3.Vec) r3.Vec {
	u, _, ok := rescale(d)
	if !ok {
		return r3.Vec{}
	}
	return e.CoreSupport(u) // the largest component is 1, so squares are ≥ MinSize²
}

// Radius returns 0.
func (Ellipsoid) Radius() float64 { return 0 }

// Center returns the origin.
func (Ellipsoid) Center() r3.Vec { return r3.Vec{} }

// BoundingRadius returns the longest semi-axis.
func (e Ellipsoid) BoundingRadius() float64 { return max(e.SemiAxes.X, e.SemiAxes.Y, e.SemiAxes.Z) }

// Inradius returns the shortest semi-axis.
func (e Ellipsoid) Inradius() float64 { return min(e.SemiAxes.X, e.SemiAxes.Y, e.SemiAxes.Z) }

// AABB returns the corners of the bounding box.
func (e Ellipsoid) AABB() (lo, hi r3.Vec) {
	return symmetricAABB(e.SemiAxes.X, e.SemiAxes.Y, e.SemiAxes.Z)
}

// SupportHessian returns A(I - m mᵀ)A/h with A = diag(SemiAxes), h = |A d| and
// m = A d/h, the diagonal formed without cancellation.
func (e Ellipsoid) SupportHessian(d r3.Vec) (h Mat3, ok bool) {
	u, scale, ok := hessianDirection(d)
	if !ok {
		return h, false
	}
	a, b, c := e.SemiAxes.X, e.SemiAxes.Y, e.SemiAxes.Z
	x, y, z := a*u.X, b*u.Y, c*u.Z
	n := math.Sqrt(x*x + y*y + z*z)
	x, y, z = x/n, y/n, z/n
	k := 1 / n / scale
	xy, xz, yz := -k*(a*x)*(b*y), -k*(a*x)*(c*z), -k*(b*y)*(c*z)
	return Mat3{
		k * a * a * (y*y + z*z), xy, xz,
		xy, k * b * b * (x*x + z*z), yz,
		xz, yz, k * c * c * (x*x + y*y),
	}, true
}

// Residual is the signed distance, accurate to a few units of rounding of the
// longest semi-axis (or of |p|, if larger).
//
// With e the shortest semi-axis, rᵢ = (aᵢ/e)² and τ > 0, the nearest point of the
// surface is xᵢ = rᵢ·pᵢ/(τ + rᵢ - 1), where τ is the only positive root of
//
//	N(τ) = |(uᵢ)| = 1, uᵢ = rᵢ·(pᵢ/aᵢ)/(τ + rᵢ - 1),
//
// and the signed distance is (τ - 1)·|(pᵢ/(τ + rᵢ - 1))|: τ is 1 on the surface.
// 1/N is concave in τ, so Newton's method on 1/N = 1 rises monotonically from
// any τ below the root; the largest root of the single terms is such a start.
// Taking τ, not τ - 1, as the unknown keeps it exact for points near the medial
// disc, where it is tiny.
func (e Ellipsoid) Residual(p r3.Vec) float64 {
	a := [3]float64{e.SemiAxes.X, e.SemiAxes.Y, e.SemiAxes.Z}
	y := [3]float64{math.Abs(p.X), math.Abs(p.Y), math.Abs(p.Z)}
	s := 0 // the shortest axis
	if a[1] < a[s] {
		s = 1
	}
	if a[2] < a[s] {
		s = 2
	}
	short := a[s]
	// On the plane across the shortest axis the root may be τ = 0, a case of its
	// own. A step of 1e-20 of that axis off the plane avoids it and moves the
	// distance by no more than itself.
	y[s] = max(y[s], 1e-20*short)

	var w, delta [3]float64 // rᵢ·pᵢ/aᵢ and rᵢ - 1
	tau := 0.0
	for i := range 3 {
		ratio := a[i] / short
		delta[i] = (a[i] - short) / short * (ratio + 1)
		w[i] = y[i] / short * ratio
		tau = max(tau, w[i]-delta[i])
	}
	// Convergence is quadratic but for points near the evolute, where τ first
	// grows by half at a step, over 20 decades at most: that is 114 steps.
	for range 200 {
		n2, sum := 0.0, 0.0
		for i := range 3 {
			q := tau + delta[i]
			u := w[i] / q
			n2 += u * u
			sum += u * u / q
		}
		n := math.Sqrt(n2)
		next := tau + (n-1)*n2/sum
		if !(next > tau) { // rounding ends the rise; NaN ends it too
			break
		}
		tau = next
	}
	d2 := 0.0
	for i := range 3 {
		q := y[i] / (tau + delta[i])
		d2 += q * q
	}
	return (tau - 1) * math.Sqrt(d2)
}

// Exponents that Validate accepts for a superquadric. The body is strictly convex
// for exponents in the open interval (0, 2) [RTR, sec. IV-A]; the ends are
// kept out because the curvature grows without bound towards them.
const (
	MinExponent = 0.01
	MaxExponent = 1.99
)

// Superquadric is the body
//
//	(|x/a|^(2/α2) + |y/b|^(2/α2))^(α2/α1) + |z/c|^(2/α1) ≤ 1
//
// [RTR, eq. 16]: an ellipsoid for α1 = α2 = 1, towards a box for α → 0 and
// towards an octahedron for α → 2. Its core is the body itself.
//
// With p = 2/α2 and r = 2/α1 the body is the unit ball of a norm, so its support
// function is the dual norm, of the conjugate exponents p' = p/(p-1) = 2/(2-α2)
// and r' = 2/(2-α1):
//
//	h(d) = (L^r' + |c·d.Z|^r')^(1/r'),  L = (|a·d.X|^p' + |b·d.Y|^p')^(1/p').
//
// h is C¹ except at 0. It is C²
//   - where d.Z = 0 (and L ≠ 0) only if α1 ≥ 1,
//   - where exactly one of d.X, d.Y is 0 only if α2 ≥ 1,
//   - where both are 0 only if α1 > 1 and α2 ≥ 1, or α1 = α2 = 1,
//   - and in all other directions.
type Superquadric struct {
	SemiAxes r3.Vec  // a, b, c, metres
	Alpha1   float64 // shape along z, in [MinExponent, MaxExponent]
	Alpha2   float64 // shape of the cross-section, in the same range
}

// Kind returns KindSuperquadric.
func (Superquadric) Kind() Kind { return KindSuperquadric }

func (s Superquadric) values() values { return values{numbers(s.SemiAxes), {s.Alpha1, s.Alpha2}} }

func (Superquadric) of(v values) (Shape, error) {
	return Superquadric{SemiAxes: v.vector(0), Alpha1: v[1][0], Alpha2: v[1][1]}, nil
}

// Validate reports the first parameter out of range.
func (s Superquadric) Validate() error { return KindSuperquadric.check(s.values()) }

// split describes a norm of two numbers u, v ≥ 0, not both 0, of exponent
// e = 2/(2-α): the norm n, and the gradient (gu, gv), a point of the unit circle
// of the conjugate exponent 2/α.
//
// With t = min/max, q = t^e, the gradient is (1, q^(α/2))/(1+q)^(α/2) and the norm
// max·(1+q)^(1-α/2). Powers are taken as exponentials of numbers ≤ 0, so nothing
// over- or underflows harmfully; |x|·exp(x) ≤ 1/e there, so every factor is right
// to a unit of rounding of 1; and both coordinates come from the same q, so the
// point lies on the circle to that accuracy however large e is.
func split(u, v, alpha float64) (n, gu, gv float64) {
	hi, lo := u, v
	if v > u {
		hi, lo = v, u
	}
	lq := 2 / (2 - alpha) * math.Log(lo/hi) // -Inf if lo is 0
	q := math.Exp(lq)
	gHi := math.Exp(-alpha / 2 * math.Log1p(q))
	gLo := gHi * math.Exp(alpha/2*lq)
	n = hi * (1 + q) * gHi
	if v > u {
		return n, gLo, gHi
	}
	return n, gHi, gLo
}

// CoreSupport returns the point of the surface whose outward normal is d.
func (s Superquadric) CoreSupport(d r3.Vec) r3.Vec {
	d, _, ok := rescale(d)
	if !ok {
		return r3.Vec{}
	}
	u, v, w := s.SemiAxes.X*math.Abs(d.X), s.SemiAxes.Y*math.Abs(d.Y), s.SemiAxes.Z*math.Abs(d.Z)
	if !(u > 0 || v > 0) {
		return r3.Vec{Z: math.Copysign(s.SemiAxes.Z, d.Z)}
	}
	l, gu, gv := split(u, v, s.Alpha2)
	_, gl, gw := split(l, w, s.Alpha1)
	return r3.Vec{
		X: math.Copysign(s.SemiAxes.X*gl*gu, d.X),
		Y: math.Copysign(s.SemiAxes.Y*gl*gv, d.Y),
		Z: math.Copysign(s.SemiAxes.Z*gw, d.Z),
	}
}

// Radius returns 0.
func (Superquadric) Radius() float64 { return 0 }

// Center returns the origin.
func (Superquadric) Center() r3.Vec { return r3.Vec{} }

// BoundingRadius is the largest distance of a point of the body from the center.
// In u = (x/a)², v = (y/b)² the maximum of a²u + b²v under u^(1/α2) + v^(1/α2) = 1
// is the dual norm of (a², b²), of exponent 1/(1-α2) if α2 < 1, else the larger
// of the two; the same holds again for z.
func (s Superquadric) BoundingRadius() float64 {
	return farthest(farthest(s.SemiAxes.X, s.SemiAxes.Y, s.Alpha2), s.SemiAxes.Z, s.Alpha1)
}

func farthest(a, b, alpha float64) float64 {
	if alpha >= 1 {
		return max(a, b)
	}
	return pairNorm(a, b, 2/(1-alpha))
}

// Inradius is the smallest value of the support function on the unit sphere,
// found as BoundingRadius is: the smaller semi-axis for α ≤ 1, else
// (a^-e + b^-e)^(-1/e) with e = 2/(α-1).
func (s Superquadric) Inradius() float64 {
	return nearest(nearest(s.SemiAxes.X, s.SemiAxes.Y, s.Alpha2), s.SemiAxes.Z, s.Alpha1)
}

func nearest(a, b, alpha float64) float64 {
	if alpha <= 1 {
		return min(a, b)
	}
	return 1 / pairNorm(1/a, 1/b, 2/(alpha-1))
}

// AABB returns the corners of the bounding box.
func (s Superquadric) AABB() (lo, hi r3.Vec) {
	return symmetricAABB(s.SemiAxes.X, s.SemiAxes.Y, s.SemiAxes.Z)
}

// pairNorm returns (u^e + v^e)^(1/e) for u, v ≥ 0, not both 0, and e ≥ 1.
func pairNorm(u, v, e float64) float64 {
	hi, lo := max(u, v), min(u, v)
	return hi * math.Exp(math.Log1p(math.Exp(e*math.Log(lo/hi)))/e)
}

// SupportHessian returns the Hessian of the nested dual norm; the conditions for
// ok are those of the type's comment. With u = |a·d.X| and so on,
// H_ij = aᵢ·aⱼ·sgn(dᵢ)·sgn(dⱼ)·∂²h/∂uᵢ∂uⱼ.
func (s Superquadric) SupportHessian(d r3.Vec) (h Mat3, ok bool) {
	dir, scale, ok := hessianDirection(d)
	if !ok {
		return h, false
	}
	u, v, w := s.SemiAxes.X*math.Abs(dir.X), s.SemiAxes.Y*math.Abs(dir.Y), s.SemiAxes.Z*math.Abs(dir.Z)
	switch {
	case u == 0 && v == 0:
		if s.Alpha1 == 1 && s.Alpha2 == 1 {
			return Ellipsoid{SemiAxes: s.SemiAxes}.SupportHessian(d)
		}
		return h, s.Alpha1 > 1 && s.Alpha2 >= 1 // the Hessian is 0: the pole is flat
	case w == 0 && s.Alpha1 < 1, (u == 0 || v == 0) && s.Alpha2 < 1:
		return h, false
	}

	l, gu, gv := split(u, v, s.Alpha2) // gradient of L
	n, gl, _ := split(l, w, s.Alpha1)  // n = h, gl = ∂h/∂L
	luu, luv, lvv := normHessian(u/l, v/l, 2/(2-s.Alpha2))
	hll, hlw, hww := normHessian(l/n, w/n, 2/(2-s.Alpha1))

	// Chain rule; normHessian takes arguments of norm 1, hence the factors 1/l, 1/n.
	inner, outer := gl/l, 1/n
	x := math.Copysign(s.SemiAxes.X, dir.X)
	y := math.Copysign(s.SemiAxes.Y, dir.Y)
	z := math.Copysign(s.SemiAxes.Z, dir.Z)
	xx := x * x / scale * (outer*hll*gu*gu + inner*luu)
	xy := x * y / scale * (outer*hll*gu*gv + inner*luv)
	yy := y * y / scale * (outer*hll*gv*gv + inner*lvv)
	xz := x * z / scale * outer * hlw * gu
	yz := y * z / scale * outer * hlw * gv
	zz := z * z / scale * outer * hww
	h = Mat3{xx, xy, xz, xy, yy, yz, xz, yz, zz}
	for _, e := range h {
		if e-e != 0 { // beside a direction where h is not C² it can overflow
			return h, false
		}
	}
	return h, true
}

// normHessian returns the second derivatives of (u^e + v^e)^(1/e) at (u, v) ≥ 0
// with u^e + v^e = 1.
func normHessian(u, v, e float64) (uu, uv, vv float64) {
	// Powers of e-2, so that e = 2 and a zero coordinate give 0⁰ = 1.
	pu, pv := math.Pow(u, e-2), math.Pow(v, e-2)
	k := (e - 1) * pu * pv
	if u == 0 || v == 0 {
		// k may be 0·0, or infinite for e < 2, which the caller has excluded.
		// The product pu·v^e is what is left.
		return (e - 1) * pu * math.Pow(v, e), 0, (e - 1) * pv * math.Pow(u, e)
	}
	return k * v * v, -k * u * v, k * u * u
}

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

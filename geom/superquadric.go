package geom

import (
	"math"

	"gonum.org/v1/gonum/spatial/r3"
)

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

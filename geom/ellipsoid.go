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

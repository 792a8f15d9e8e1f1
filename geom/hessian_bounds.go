package geom

import (
	"math"

	"gonum.org/v1/gonum/spatial/r3"
)

// CapBound is a lower bound of the support function f of a core over a spherical cap of directions.
// With x the CoreSupport of the unit direction n, for every y orthogonal to n with |y| ≤ t,
//
//	f(n+y) ≥ <x, n+y> + ½·yᵀ·K·y - Slack·|y|,
//
// up to the rounding of one support value. As t → 0, K tends to the Hessian of f where it exists, up to
// 2⁻³⁰ of some terms.
type CapBound struct {
	K     Mat3    // metres; applies to y orthogonal to n only; reduced by its own rounding error
	Slack float64 // metres: bounds the error of the computed x as the gradient of f at n
}

// HessianBounds computes lower bounds of the Hessian of a support function over a sequence of
// spherical caps around one direction, each wider than the one before. It allocates nothing.
//
// All bounds except the ellipsoid's follow f along the segment from n to n + y and integrate its
// second derivative, which is bounded from below over each ring between two caps. A norm is
// homogeneous of degree 1, so the second derivative, of degree -3 for a fixed area spanned with the
// displacement, is evaluated at the points n + σy divided by 1 + σr, r = <x, y>/f(n): there the
// linear part of f is constant. The integral that remains over a ring,
//
//	∫ (1-σ)·(1+σr)⁻³ dσ  =  -½/(1+r)·((1-σ)/(1+σr))²,
//
// is smallest for the largest r. Where r may be below -½ the second derivative counts as zero.
type HessianBounds struct {
	shape Shape
	n     r3.Vec
	rings int
	end   [MaxCaps]float64
	outer ringBounds // of f, or of the first of two terms
	inner ringBounds // of the second term

	square  squareCap
	nested  nestedCap
	powers  powersCap
	profile profileCap
}

// MaxCaps is the largest number of caps, and so of calls of Widen.
const MaxCaps = 12

const (
	// steepest is the largest magnitude of r.
	steepest = 0.5

	// stiffest bounds the trace of K of one ring, in units of the support value: rounding the
	// direction by a few 2⁻⁵³ then shifts ½·yᵀKy by less than the rounding of a support value.
	stiffest = 1e8

	unitRoundoff = 0x1p-53
)

// Reset starts a sequence of caps around the unit direction n for the core of s.
func (c *HessianBounds) Reset(s Shape, n r3.Vec) {
	if r, ok := s.(Rounded); ok {
		s = r.Shape
	}
	c.shape, c.n, c.rings = s, n, 0
	c.outer.slope, c.inner.slope = 0, 0
	switch s := s.(type) {
	case Ellipsoid:
		c.square.reset(s, n)
	case Superquadric:
		c.nested.reset(c, s)
	case *SmoothHull:
		c.resetHull(s)
	case *SmoothRevolution:
		c.resetRevolution(s)
	}
}

// Widen returns the bound over the cap of directions n + y, |y| ≤ t, that is, within the angle
// atan(t) of n. Each t must be larger than the one before. For shapes that are not [Smooth], and
// where nothing better is known, K is zero, which holds for every convex function.
func (c *HessianBounds) Widen(t float64) (b CapBound) {
	if c.rings == MaxCaps || !(t > 0) || c.rings > 0 && !(t > c.end[c.rings-1]) {
		return b
	}
	c.end[c.rings] = t
	c.rings++
	switch s := c.shape.(type) {
	case Ellipsoid:
		c.square.widen(&b, t)
	case Superquadric:
		c.nested.widen(c, &b, t)
	case *SmoothHull:
		c.widenHull(&b, s, t)
	case *SmoothRevolution:
		c.widenRevolution(&b, s, t)
	}
	for _, e := range b.K {
		if e-e != 0 {
			b.K = Mat3{}
			break
		}
	}
	return b
}

// ringBounds holds a lower bound of the second derivative per ring, in units in which the linear part
// of f is constant.
type ringBounds struct {
	k     [MaxCaps]Mat3
	slope float64 // of r: the length of the tangential part of the gradient, divided by f
}

// integrate adds the integral over all rings, times a factor, to b.
func (d *ringBounds) integrate(b *CapBound, c *HessianBounds, times float64) {
	t := c.end[c.rings-1]
	rest := func(s float64) float64 { q := (1 - s/t) / (1 + s*d.slope); return q * q }
	start := 0.0
	for i := range c.rings {
		share := (rest(start) - rest(c.end[i])) / (1 + t*d.slope) * (1 - 64*unitRoundoff)
		for j := range b.K {
			b.K[j] += times * share * d.k[i][j]
		}
		start = c.end[i]
	}
}

// put sets the bound of the last ring to times·(h - off·I), times ≥ 0, scaled down where its trace is too
// large relative to the support value f.
func (d *ringBounds) put(c *HessianBounds, h *Mat3, times, off, f float64) {
	k := &d.k[c.rings-1]
	*k = Mat3{}
	if !(times > 0) {
		return
	}
	times *= traceLimit(times*(h[0]+h[4]+h[8]), f)
	for i := range h {
		k[i] = times * h[i]
	}
	k[0] -= times * off
	k[4] -= times * off
	k[8] -= times * off
}

// putSquare sets the bound of the last ring to times·v·vᵀ, less the effect of rounding errors of a few
// units in v.
func (d *ringBounds) putSquare(c *HessianBounds, times float64, v r3.Vec, f float64) {
	var h Mat3
	addSquare(&h, 1, v)
	d.put(c, &h, times, 32*unitRoundoff*r3.Norm2(v), f)
}

// traceLimit returns the factor by which to scale a term of the given trace, relative to a support
// value f.
func traceLimit(trace, f float64) float64 {
	if trace > stiffest*f {
		return stiffest * f / trace
	}
	return 1
}

// tangentialLength returns the length of the part of x orthogonal to the unit vector n, rounded up.
func tangentialLength(x, n r3.Vec) float64 {
	return math.Sqrt(r3.Norm2(r3.Sub(x, r3.Scale(r3.Dot(x, n), n)))) * (1 + 16*unitRoundoff)
}

// squareCap bounds f = |An|, whose square is a quadratic form. With a = <x, y> and q = f·yᵀHy,
// H the Hessian at n,
//
//	f(n+y) = √((f+a)² + q) ≥ f + a + q/(2·f(n+y)),
//
// and f(n+y) is at most f + t·|tangent part of x| + ½t²·trace H.
type squareCap struct {
	h               Mat3
	f, slope, trace float64
	slack           float64
}

func (q *squareCap) reset(e Ellipsoid, n r3.Vec) {
	x := e.CoreSupport(n)
	q.h, _ = e.SupportHessian(n)
	q.f, q.slope, q.trace = r3.Dot(x, n), tangentialLength(x, n), q.h[0]+q.h[4]+q.h[8]
	q.slack = 8 * unitRoundoff * e.BoundingRadius()
}

func (q *squareCap) widen(b *CapBound, t float64) {
	b.Slack = q.slack
	k := q.f / (q.f + t*q.slope + 0.5*t*t*q.trace) * (1 - 32*unitRoundoff)
	k *= traceLimit(k*q.trace, q.f)
	for i := range q.h {
		b.K[i] = k * q.h[i]
	}
	off := 32 * unitRoundoff * k * q.trace
	b.K[0] -= off
	b.K[4] -= off
	b.K[8] -= off
}

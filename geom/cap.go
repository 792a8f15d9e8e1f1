package geom

import (
	"math"

	"gonum.org/v1/gonum/spatial/r3"
)

// CapBound bounds the support function f of a core from below over a cap of directions. With x the
// CoreSupport of the unit direction n, for every y across n with |y| ≤ t,
//
//	f(n+y) ≥ <x, n+y> + ½·yᵀ·K·y - Slack·|y|,
//
// but for the rounding of one support value. As t → 0, K tends to the Hessian of f where there is one, but for 2⁻³⁰ of
// some terms.
type CapBound struct {
	K     Mat3    // metres; of y across n only, and the rounding of K itself taken off
	Slack float64 // metres: by how much x, computed, may not be the gradient of f at n
}

// Caps gives the bounds of a core over caps around one direction, each wider than the one before. Its
// memory is in itself.
//
// All bounds but the ellipsoid's follow f along a segment from n to n + y and integrate its second
// derivative, which is bounded over each ring between two caps. A norm is homogeneous of degree 1,
// so that derivative, of degree -3 for a fixed area spanned with the displacement, is evaluated at
// the points n + σy divided by 1 + σr, r = <x, y>/f(n): there the linear part of f is constant. What is
// left to integrate over a ring is
//
//	∫ (1-σ)·(1+σr)⁻³ dσ  =  -½/(1+r)·((1-σ)/(1+σr))²,
//
// of which the largest r gives the least. Where r may be below -½ the second derivative counts as zero.
type Caps struct {
	shape Shape
	n     r3.Vec
	rings int
	end   [MaxCaps]float64
	bend  bends // of f, or of the first of two terms
	inner bends // of the second

	square  squareCap
	nested  nestedCap
	powers  powersCap
	profile profileCap
}

// MaxCaps is how many caps Widen gives.
const MaxCaps = 12

const (
	// steepest is the most that -r may be.
	steepest = 0.5

	// stiffest bounds the trace of what a ring has for K, in units of the support value: rounding
	// the direction by a few 2⁻⁵³ then shifts ½·yᵀKy by less than that of a support value.
	stiffest = 1e8

	unitRoundoff = 0x1p-53
)

// Around begins with the directions around the unit vector n.
func (c *Caps) Around(s Shape, n r3.Vec) {
	if r, ok := s.(Rounded); ok {
		s = r.Shape
	}
	c.shape, c.n, c.rings = s, n, 0
	c.bend.slope, c.inner.slope = 0, 0
	switch s := s.(type) {
	case Ellipsoid:
		c.square.around(s, n)
	case Superquadric:
		c.nested.around(c, s)
	case *SmoothHull:
		c.hullAround(s)
	case *SmoothRevolution:
		c.revolutionAround(s)
	}
}

// Widen returns the bound over the cap of directions n + y, |y| ≤ t: within the angle atan(t) of n. Each t is
// larger than the one before. For shapes that are not [Smooth], and where nothing better is known,
// K is zero, which is true of every convex function.
func (c *Caps) Widen(t float64) (b CapBound) {
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

// bends has a bound of the second derivative for each ring, in units as if the linear part were constant.
type bends struct {
	k     [MaxCaps]Mat3
	slope float64 // of r: the length of the tangent part of the gradient, over f
}

// over adds to b the integral over all rings.
func (d *bends) over(b *CapBound, c *Caps, times float64) {
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

// put sets k to times·(h - off·I), times ≥ 0, or less: its trace is bounded, next to a support value f.
func (d *bends) put(c *Caps, h *Mat3, times, off, f float64) {
	k := &d.k[c.rings-1]
	*k = Mat3{}
	if !(times > 0) {
		return
	}
	times *= tame(times*(h[0]+h[4]+h[8]), f)
	for i := range h {
		k[i] = times * h[i]
	}
	k[0] -= times * off
	k[4] -= times * off
	k[8] -= times * off
}

// putSquare sets k to times·v·vᵀ, less what rounding of v to a few units may be.
func (d *bends) putSquare(c *Caps, times float64, v r3.Vec, f float64) {
	var h Mat3
	addSquare(&h, 1, v)
	d.put(c, &h, times, 32*unitRoundoff*r3.Norm2(v), f)
}

// tame is what to multiply a term of that trace by, next to a support value f.
func tame(trace, f float64) float64 {
	if trace > stiffest*f {
		return stiffest * f / trace
	}
	return 1
}

// lengthAcross is the length of the part of x across the unit vector n, rounded up.
func lengthAcross(x, n r3.Vec) float64 {
	return math.Sqrt(r3.Norm2(r3.Sub(x, r3.Scale(r3.Dot(x, n), n)))) * (1 + 16*unitRoundoff)
}

// squareCap is of f = |An|, the square of which is a quadratic form. With a = <x, y> and q = f·yᵀHy,
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

func (q *squareCap) around(e Ellipsoid, n r3.Vec) {
	x := e.CoreSupport(n)
	q.h, _ = e.SupportHessian(n)
	q.f, q.slope, q.trace = r3.Dot(x, n), lengthAcross(x, n), q.h[0]+q.h[4]+q.h[8]
	q.slack = 8 * unitRoundoff * e.BoundingRadius()
}

func (q *squareCap) widen(b *CapBound, t float64) {
	b.Slack = q.slack
	k := q.f / (q.f + t*q.slope + 0.5*t*t*q.trace) * (1 - 32*unitRoundoff)
	k *= tame(k*q.trace, q.f)
	for i := range q.h {
		b.K[i] = k * q.h[i]
	}
	off := 32 * unitRoundoff * k * q.trace
	b.K[0] -= off
	b.K[4] -= off
	b.K[8] -= off
}

package geom

import (
	"math"

	"gonum.org/v1/gonum/spatial/r3"
)

// normCap bounds the norm g(u, v) = (|u|^p + |v|^p)^(1/p) of two linear functions of the direction, over a cap.
// Along a segment its second derivative is, for u, v ≥ 0,
//
//	(p-1)·(uv)^(p-2)·g^(1-2p)·ω²,  ω = v·δu - u·δv,
//
// and ω is constant along the segment. Its points divided by the linear growth of g are
//
//	(u + σ·gv/g, v - σ·gu/g),  |σ| ≤ m = t·|ω|/(1-r),
//
// with the gradient (gu, gv).
type normCap struct {
	u, v, p float64 // at n, in units of g there
	gu, gv  float64
	g       float64
	omega   r3.Vec  // ω/g as a vector; orthogonal to n by construction
	area    float64 // its length divided by g: |ω|/g²
	slope   float64 // of |r|
}

func (c *normCap) reset(u, v, g, p float64, gradU, gradV, n r3.Vec) {
	c.u, c.v, c.g, c.p = u/g, v/g, g, p
	c.omega = r3.Sub(r3.Scale(c.v, gradU), r3.Scale(c.u, gradV))
	c.area = math.Sqrt(r3.Norm2(c.omega)) / g * (1 + 16*unitRoundoff)
	c.slope = tangentialLength(r3.Add(r3.Scale(c.gu, gradU), r3.Scale(c.gv, gradV)), n) / g * (1 + 4*unitRoundoff)
}

// lowest returns lower bounds, over |y| ≤ t, of the second derivative, in units of (ω/g²)²·g, and of
// ∂g/∂u. Powers multiply relative errors of a few units of roundoff by p; the factors below exceed that.
func (c *normCap) lowest(t float64) (second, leastGU float64) {
	r := t * c.slope
	if !(r <= steepest) {
		return 0, 0
	}
	const off = 16 * unitRoundoff
	m := t * c.area / (1 - r) * (1 + off)
	du, dv := m*c.gv, m*c.gu
	lowU, lowV := c.u*(1-off)-du*(1+off), c.v*(1-off)-dv*(1+off)
	most := max(pairNorm(c.u+du, math.Abs(c.v-dv), c.p), pairNorm(math.Abs(c.u-du), c.v+dv, c.p)) * (1 + off)
	var product float64 // of the two powers p-2
	switch {
	case c.p == 2:
		product = 1
	case c.p < 2:
		product = math.Pow(c.u+du, c.p-2) * math.Pow(c.v+dv, c.p-2)
	case lowU > 0 && lowV > 0: // u'·v' is concave in σ, so an end has the least
		product = math.Pow(min(lowU*(c.v+dv), (c.u+du)*lowV), c.p-2)
	}
	lose := 1 - 64*c.p*unitRoundoff
	return (c.p - 1) * product * math.Pow(most, 1-2*c.p) * lose, math.Pow(max(0, lowU)/most, c.p-1) * lose
}

// nestedCap bounds the support function of a superquadric, two nested norms: h = g(L, w) with L = g(u, v).
// L is at least the magnitude of its linear part, and g is increasing and convex in L: so h is at least g
// of the linear part plus the curvature of L times the smallest ∂g/∂L.
type nestedCap struct {
	outer, inner normCap
	pole         float64 // for directions along the local z: the smallest radius of the cross-section
	slack        float64
}

func (d *nestedCap) reset(c *HessianBounds, s Superquadric) {
	p, q, n := 2/(2-s.Alpha2), 2/(2-s.Alpha1), c.n
	d.slack = 16 * unitRoundoff * (p + q) * math.Sqrt(r3.Norm2(s.SemiAxes))
	d.pole = 0
	u, v, w := s.SemiAxes.X*math.Abs(n.X), s.SemiAxes.Y*math.Abs(n.Y), s.SemiAxes.Z*math.Abs(n.Z)
	if !(u > 0 || v > 0) {
		// L is zero and has no gradient. L(n + y) = L(y), which lies between the smallest and the
		// largest radius of the cross-section times |y|.
		d.pole = nearest(s.SemiAxes.X, s.SemiAxes.Y, s.Alpha2) * (1 - 16*unitRoundoff)
		most := farthest(s.SemiAxes.X, s.SemiAxes.Y, s.Alpha2) * (1 + 16*unitRoundoff)
		d.outer = normCap{v: 1, p: q, gv: 1, g: w, area: most / w}
		return
	}
	x := r3.Vec{X: math.Copysign(s.SemiAxes.X, n.X)} // gradients of u, v and w
	y := r3.Vec{Y: math.Copysign(s.SemiAxes.Y, n.Y)}
	z := r3.Vec{Z: math.Copysign(s.SemiAxes.Z, n.Z)}
	var l, h float64
	l, d.inner.gu, d.inner.gv = split(u, v, s.Alpha2)
	h, d.outer.gu, d.outer.gv = split(l, w, s.Alpha1)
	d.inner.reset(u, v, l, p, x, y, n)
	d.outer.reset(l, w, h, q, r3.Add(r3.Scale(d.inner.gu, x), r3.Scale(d.inner.gv, y)), z, n)
	c.outer.slope, c.inner.slope = d.outer.slope, d.inner.slope
}

func (d *nestedCap) widen(c *HessianBounds, b *CapBound, t float64) {
	b.Slack = d.slack
	k, leastGU := d.outer.lowest(t)
	if d.pole > 0 {
		c.outer.put(c, &Mat3{0: 1, 4: 1}, k/d.outer.g*d.pole*d.pole, 0, d.outer.g)
		c.outer.integrate(b, c, 1)
		return
	}
	c.outer.putSquare(c, k/d.outer.g, d.outer.omega, d.outer.g)
	c.outer.integrate(b, c, 1)
	k, _ = d.inner.lowest(t)
	c.inner.putSquare(c, k/d.inner.g, d.inner.omega, d.inner.g)
	c.inner.integrate(b, c, leastGU)
}

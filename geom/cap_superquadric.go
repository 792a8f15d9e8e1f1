package geom

import (
	"math"

	"gonum.org/v1/gonum/spatial/r3"
)

// normCap is the norm g(u, v) = (|u|^p + |v|^p)^(1/p) of two linear functions of the direction, over a cap.
// Along a segment its second derivative is, u, v ≥ 0,
//
//	(p-1)·(uv)^(p-2)·g^(1-2p)·ω²,  ω = v·δu - u·δv,
//
// and ω is the same at all points of the segment. Those divided by the linear growth of g are
//
//	(u + σ·gv/g, v - σ·gu/g),  |σ| ≤ m = t·|ω|/(1-r),
//
// (gu, gv) the gradient.
type normCap struct {
	u, v, p float64 // at n, in units of g there
	gu, gv  float64
	g       float64
	turn    r3.Vec  // ω/g as a vector: a difference of orthogonal ones, it lies across n by itself
	area    float64 // its length, over g: of |ω|/g²
	slope   float64 // of |r|
}

func (c *normCap) around(u, v, g, p float64, gradU, gradV, n r3.Vec) {
	c.u, c.v, c.g, c.p = u/g, v/g, g, p
	c.turn = r3.Sub(r3.Scale(c.v, gradU), r3.Scale(c.u, gradV))
	c.area = math.Sqrt(r3.Norm2(c.turn)) / g * (1 + 16*unitRoundoff)
	c.slope = lengthAcross(r3.Add(r3.Scale(c.gu, gradU), r3.Scale(c.gv, gradV)), n) / g * (1 + 4*unitRoundoff)
}

// over returns the least of the second derivative, in units of (ω/g²)²·g, as far as t, and that of ∂g/∂u.
// Powers multiply errors of a few units of rounding by p; what is taken off is more.
func (c *normCap) over(t float64) (bent, leastGU float64) {
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

// nestedCap nests two norms as the support function of a superquadric does: h = g(L, w) with L = g(u, v). L
// is at least its linear part, and never below its magnitude; g grows with L, and is convex in it: so h is at
// least g of the linear part, and what L curves times the least ∂g/∂L.
type nestedCap struct {
	outer, inner normCap
	pole         float64 // along the local z: the least radius of the cross-section
	slack        float64
}

func (d *nestedCap) around(c *Caps, s Superquadric) {
	p, q, n := 2/(2-s.Alpha2), 2/(2-s.Alpha1), c.n
	d.slack = 16 * unitRoundoff * (p + q) * math.Sqrt(r3.Norm2(s.SemiAxes))
	d.pole = 0
	u, v, w := s.SemiAxes.X*math.Abs(n.X), s.SemiAxes.Y*math.Abs(n.Y), s.SemiAxes.Z*math.Abs(n.Z)
	if !(u > 0 || v > 0) {
		// L is zero and has no gradient. That of n + y is that of y, between the least and the
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
	d.inner.around(u, v, l, p, x, y, n)
	d.outer.around(l, w, h, q, r3.Add(r3.Scale(d.inner.gu, x), r3.Scale(d.inner.gv, y)), z, n)
	c.bend.slope, c.inner.slope = d.outer.slope, d.inner.slope
}

func (d *nestedCap) widen(c *Caps, b *CapBound, t float64) {
	b.Slack = d.slack
	k, leastGU := d.outer.over(t)
	if d.pole > 0 {
		c.bend.put(c, &Mat3{0: 1, 4: 1}, k/d.outer.g*d.pole*d.pole, 0, d.outer.g)
		c.bend.over(b, c, 1)
		return
	}
	c.bend.putSquare(c, k/d.outer.g, d.outer.turn, d.outer.g)
	c.bend.over(b, c, 1)
	k, _ = d.inner.over(t)
	c.inner.putSquare(c, k/d.inner.g, d.inner.turn, d.inner.g)
	c.inner.over(b, c, leastGU)
}

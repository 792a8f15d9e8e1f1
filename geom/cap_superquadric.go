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
// (gu, gv) the gradient. Everything below is in units of g at n.
type normCap struct {
	k       float64 // g(+δ) ≥ g + <gradient, δ> + ½·k·g·(ω/g²)²
	gu, gv  float64 // gradient
	leastGU float64 // of ∂g/∂u, over the cap
}

// over fills in the bounds. u, v ≥ 0 are those of n, with g = 1; gu and gv the gradient there; p the
// exponent; r and area bound |<gradient, δ>| and |ω| over the cap. ok is false where the cap is too wide.
func (c *normCap) over(u, v, p, r, area float64) (ok bool) {
	if !(r <= steepest) {
		return false
	}
	c.k = 0
	for i := range rings {
		end, share := ring(i, r)
		var bent float64
		bent, c.leastGU = c.second(u, v, p, end*area/(1-r))
		c.k += share * bent
	}
	return true
}

// second returns the least of the second derivative for |σ| ≤ m, in units of (ω/g²)²·g, and that of ∂g/∂u.
// Powers multiply errors of a few units of rounding by p; what is taken off is more.
func (c *normCap) second(u, v, p, m float64) (bent, leastGU float64) {
	const off = 16 * unitRoundoff
	du, dv := m*(1+off)*c.gv, m*(1+off)*c.gu
	lowU, lowV := u*(1-off)-du*(1+off), v*(1-off)-dv*(1+off)
	most := max(pairNorm(u+du, math.Abs(v-dv), p), pairNorm(math.Abs(u-du), v+dv, p)) * (1 + off)
	var product float64 // of the two powers p-2
	switch {
	case p == 2:
		product = 1
	case p < 2:
		product = math.Pow(u+du, p-2) * math.Pow(v+dv, p-2)
	case lowU > 0 && lowV > 0: // u'·v' is concave in σ, so an end has the least
		product = math.Pow(min(lowU*(v+dv), (u+du)*lowV), p-2)
	}
	lose := 1 - 64*p*unitRoundoff
	return (p - 1) * product * math.Pow(most, 1-2*p) * lose, math.Pow(max(0, lowU)/most, p-1) * lose
}

// overCap nests two norms as the support function does: h = g(L, w) with L = g(u, v). L is at least
// its linear part, and never below its magnitude; g grows with L, and is convex in it: so h is at
// least g of the linear part, and what L curves times the least ∂g/∂L.
func (s Superquadric) overCap(n r3.Vec, t float64) CapBound {
	p, q := 2/(2-s.Alpha2), 2/(2-s.Alpha1)
	b := CapBound{Slack: 16 * unitRoundoff * (p + q) * math.Sqrt(r3.Norm2(s.SemiAxes))}
	u, v, w := s.SemiAxes.X*math.Abs(n.X), s.SemiAxes.Y*math.Abs(n.Y), s.SemiAxes.Z*math.Abs(n.Z)
	if !(u > 0 || v > 0) {
		s.overPole(&b, w, q, t)
		return b
	}
	x := r3.Vec{X: math.Copysign(s.SemiAxes.X, n.X)} // gradients of u, v and w
	y := r3.Vec{Y: math.Copysign(s.SemiAxes.Y, n.Y)}
	z := r3.Vec{Z: math.Copysign(s.SemiAxes.Z, n.Z)}
	var inner, outer normCap
	l, gu, gv := split(u, v, s.Alpha2)
	h, gl, gw := split(l, w, s.Alpha1)
	inner.gu, inner.gv, outer.gu, outer.gv = gu, gv, gl, gw
	gradL := r3.Add(r3.Scale(gu, x), r3.Scale(gv, y))
	grad := r3.Add(r3.Scale(gl, gradL), r3.Scale(gw, z))
	// ω as a vector, a difference of orthogonal ones, lies across n by itself.
	turn := r3.Sub(r3.Scale(w/h, gradL), r3.Scale(l/h, z))
	if !outer.over(l/h, w/h, q, t*lengthAcross(grad, n)/h, t*math.Sqrt(r3.Norm2(turn))/h) {
		return b
	}
	b.addSquare(outer.k/h, turn, h)
	turn = r3.Sub(r3.Scale(v/l, x), r3.Scale(u/l, y))
	if inner.over(u/l, v/l, p, t*lengthAcross(gradL, n)/l, t*math.Sqrt(r3.Norm2(turn))/l) {
		b.addSquare(outer.leastGU*inner.k/l, turn, h)
	}
	return b
}

// overPole is along the local z, where L is zero and has no gradient: L of n + y is that of y, between the
// least and the largest radius of the cross-section times |y|.
func (s Superquadric) overPole(b *CapBound, w, q, t float64) {
	a, c := s.SemiAxes.X, s.SemiAxes.Y
	least, most := nearest(a, c, s.Alpha2), farthest(a, c, s.Alpha2)
	pole := normCap{gv: 1}
	if !pole.over(0, 1, q, 0, t*most*(1+16*unitRoundoff)/w) {
		return
	}
	k := pole.k / w * least * least * (1 - 16*unitRoundoff)
	k *= tame(2*k, w)
	b.K[0] += k
	b.K[4] += k
}

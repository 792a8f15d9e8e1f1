package ref

import (
	"math"

	"gonum.org/v1/gonum/spatial/r3"
)

// dirCap is a cap of directions around a local minimum of the support function h of D: all n + y
// with y across n and |y| ≤ t. Over it, h is at least low times the length of n + y.
type dirCap struct {
	n      r3.Vec
	t, low float64
}

// ladders are the sizes of caps over which curvature is bounded: from, twice that, and so on to the last, until one
// does not bring more than bendGain of the one before. The second is climbed where not even the first
// size of the first has enough: where curvature is high in a small spot, as on sharp shapes.
var ladders = [2]struct{ from, to float64 }{{0.02, 0.64}, {0.0005, 0.016}}

const (
	bendGain = 1.05

	// widestCap is as far as an apex needs to reach: to 72° from the minimum.
	widestCap = 3

	// capMargin is what curvature has to exceed h by, more than what rounding does to the comparison.
	capMargin = 1e-6
)

// widest finds a wide cap around the direction that t ended in, if there is one.
//
// Let K be the sum of the bounds of the curvature of both cores for |y| ≤ τ (geom.Caps), κ its least
// eigenvalue, g what is left of the gradient, and e the radii of the balls that were taken out of both. Then
//
//	h(n+y) ≥ h(n) - |g||y| + ½κ·y²         - e(√(1+y²)-1)  for |y| ≤ τ, and since what cores grow by is convex,
//	h(n+y) ≥ h(n) - |g||y| + ½κ·τ·|y|      - e(√(1+y²)-1)  beyond.
//
// That is at least low·√(1+y²), low = h(n) - |g|t, as far as (h(n)+e)·(√(1+y²)-1) is not above the third
// term: within τ if κ ≥ h(n)+e, and beyond it to the angle of 2·atan(a), a = ½κτ/(h(n)+e), by the
// tangent of half an angle, and if a ≥ 1 to a right angle.
func (t *trustRegion) widest(ws *Workspace) (c dirCap, ok bool) {
	for _, l := range ladders {
		if c, ok = t.climb(ws, l.from, l.to); ok {
			return c, true
		}
	}
	return c, false
}

// climb is widest for one ladder.
func (t *trustRegion) climb(ws *Workspace, from, to float64) (c dirCap, ok bool) {
	p := &t.p
	need := (t.h + p.erodeA + p.erodeB) * (1 + capMargin)
	e, f := tangents(t.x)
	back := func(d r3.Vec) r3.Vec { return p.rot.MulVecT(r3.Scale(-1, d)) }
	eB, fB := back(e), back(f)
	ws.capsA.Around(p.A, t.x)
	ws.capsB.Around(p.B, back(t.x))
	most := 0.0
	for tau := from; tau <= to; tau *= 2 {
		a, b := ws.capsA.Widen(tau), ws.capsB.Widen(tau)
		var m model
		m.addForm(&a.K, e, f)
		m.addForm(&b.K, eB, fB)
		kappa := m.lowest() - 64*eps*(math.Abs(m.xx)+math.Abs(m.yy))
		half := 0.5 * kappa * tau / need
		if !(kappa >= need && half > most) {
			break
		}
		slow := half < bendGain*most
		most = half
		c = dirCap{n: t.x, t: widestCap}
		if half < 1 {
			c.t = min(c.t, 2*half/(1-half*half))
		}
		c.low = t.h - t.round - (t.norm+a.Slack+b.Slack)*c.t
		if ok = c.low > 0; slow || half >= 1 {
			break
		}
	}
	return c, ok
}

// apexShare is how wide the cap of an apex is, of the cap proved: the rest is for rounding.
const apexShare = 0.999

// apex returns the point whose height along a unit direction is at least low only within the cap, for
// a low that is not above that of the cap. ok is false where rounding would take it out: the height 1/√(1+t²) of
// the rim may be off by as much as 4·round/low.
func (c *dirCap) apex(low, round float64) (v Vertex, ok bool) {
	t2 := apexShare * apexShare * c.t * c.t
	v.W = r3.Scale(low*math.Sqrt(1+t2), c.n)
	return v, 8*round*(1+c.t*c.t) <= low*(c.t*c.t-t2)
}

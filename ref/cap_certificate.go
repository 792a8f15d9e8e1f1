package ref

import (
	"math"

	"gonum.org/v1/gonum/spatial/r3"
)

// capCertificate is a spherical cap of directions around a local minimum n of the support function
// h of D: all n + y with y orthogonal to n and |y| ≤ t. Over it, h(n+y) ≥ low·|n+y|.
type capCertificate struct {
	n      r3.Vec
	t, low float64
}

// capSizes are two sequences of cap sizes over which the curvature is bounded, each doubling from
// its first to its last, until a size gains less than capGain over the one before. The second
// sequence is tried where the first size of the first is already too wide: where the curvature is
// high over a small cap only, as on sharp shapes.
var capSizes = [2]struct{ from, to float64 }{{0.02, 0.64}, {0.0005, 0.016}}

const (
	capGain = 1.05

	// maxCapSize is the largest cap that an apex is given: 72° from the minimum.
	maxCapSize = 3

	// capMargin is the relative margin by which the curvature has to exceed h; it covers the rounding
	// of the comparison.
	capMargin = 1e-6
)

// widestCap returns a wide cap certificate around the direction that t ended in, if there is one.
//
// Let K be the sum of the lower Hessian bounds of both cores for |y| ≤ τ (geom.HessianBounds), κ its
// smallest eigenvalue, g the remaining gradient, and e the sum of the radii of the balls by which the
// cores were eroded. Then
//
//	h(n+y) ≥ h(n) - |g||y| + ½κ·y²         - e(√(1+y²)-1)  for |y| ≤ τ, and, since the support functions are convex,
//	h(n+y) ≥ h(n) - |g||y| + ½κ·τ·|y|      - e(√(1+y²)-1)  beyond.
//
// That is at least low·√(1+y²), low = h(n) - |g|t, as long as (h(n)+e)·(√(1+y²)-1) does not exceed the
// third term: within τ if κ ≥ h(n)+e, and beyond τ up to the angle 2·atan(a), a = ½κτ/(h(n)+e), by
// the half-angle formula of the tangent; if a ≥ 1, up to a right angle.
func (t *trustRegion) widestCap(ws *Workspace) (c capCertificate, ok bool) {
	for _, s := range capSizes {
		if c, ok = t.widenCap(ws, s.from, s.to); ok {
			return c, true
		}
	}
	return c, false
}

// widenCap is widestCap for one sequence of sizes.
func (t *trustRegion) widenCap(ws *Workspace, from, to float64) (c capCertificate, ok bool) {
	need := (t.h + t.p.erodeA + t.p.erodeB) * (1 + capMargin)
	m := t.startCap(ws)
	most := 0.0
	for tau := from; tau <= to; tau *= 2 {
		kappa, loose := m.widen(ws, tau)
		half := 0.5 * kappa * tau / need
		if !(kappa >= need && half > most) {
			break
		}
		slow := half < capGain*most
		most = half
		c = capCertificate{n: t.x, t: capReach(half)}
		c.low = t.h - t.rounding - (t.norm+loose)*c.t
		if ok = c.low > 0; slow || half >= 1 {
			break
		}
	}
	return c, ok
}

// capReach is the size to which a cap extends, see widestCap, where half is the tangent of half the angle.
func capReach(half float64) float64 {
	if half < 1 {
		return min(maxCapSize, 2*half/(1-half*half))
	}
	return maxCapSize
}

// capBounds are the tangents of the direction that t ended in, in the frames of both shapes.
type capBounds struct{ e, f, eB, fB r3.Vec }

// startCap begins the bounds of the Hessians over caps around the direction that t ended in.
func (t *trustRegion) startCap(ws *Workspace) (m capBounds) {
	p := &t.p
	m.e, m.f = tangents(t.x)
	back := func(d r3.Vec) r3.Vec { return p.rot.MulVecT(r3.Scale(-1, d)) }
	m.eB, m.fB = back(m.e), back(m.f)
	ws.boundsA.Reset(p.A, t.x)
	ws.boundsB.Reset(p.B, back(t.x))
	return m
}

// widen bounds the curvature over a cap of size tau, no smaller than those before, from below. The gradient at its
// center has an error of up to loose.
func (m *capBounds) widen(ws *Workspace, tau float64) (kappa, loose float64) {
	a, b := ws.boundsA.Widen(tau), ws.boundsB.Widen(tau)
	var sum model
	sum.addForm(&a.K, m.e, m.f)
	sum.addForm(&b.K, m.eB, m.fB)
	return sum.lowest() - 64*eps*(math.Abs(sum.xx)+math.Abs(sum.yy)), a.Slack + b.Slack
}

// apexShare is the size of the cap that the apex uses relative to the proved one; the rest covers
// rounding.
const apexShare = 0.999

// apex returns the point whose support value is at least low only in directions of the cap, for a
// low of at most that of the cap. ok is false where rounding could move it out of the cap: the
// relative support value 1/√(1+t²) at the rim has an error of up to 4·rounding/low.
func (c *capCertificate) apex(low, rounding float64) (v Vertex, ok bool) {
	t2 := apexShare * apexShare * c.t * c.t
	v.W = r3.Scale(low*math.Sqrt(1+t2), c.n)
	return v, 8*rounding*(1+c.t*c.t) <= low*(c.t*c.t-t2)
}

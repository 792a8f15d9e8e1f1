package ref

import (
	"math"

	"gonum.org/v1/gonum/spatial/r3"
)

const (
	// maxMinima is the number of local minima searched for, each lower than the one before. Kernels and shaders
	// (MAX_MINIMA) search for four: a further search holds up the other rows of a vector or subgroup, and EPA takes the
	// row.
	maxMinima = 6

	// The first directions of the polytope lie along the rim of the cap, tilted from the minimum by
	// no less and no more than this (tangent of the angle).
	minCapTilt = 0.1
	maxCapTilt = 2
)

// certifyDepth proves that a local minimum of the support function of D, found by RTR, is the
// penetration depth. r is the answer so far; on success its bounds meet the tolerance of a depth.
//
//  1. Around each minimum, lower bounds of the Hessians of both support functions prove a spherical
//     cap of directions over which D's support value is at least low.
//  2. A polytope with an apex over each cap covers all other directions.
//  3. A direction with a smaller support value starts RTR again; then t and the answer are those of
//     the lowest minimum.
//
// p is the pair before erosion, t.p the eroded one.
func (t *trustRegion) certifyDepth(p *Pair, r *Result, ws *Workspace) bool {
	tol := p.tolerance(&t.o, curvedDepthTolerance)
	e := ws.expansion()
	ws.caps, ws.points = ws.caps[:0], ws.points[:0]
	for range maxMinima {
		c, ok := t.widestCap(ws)
		if !ok {
			return false
		}
		ws.caps = append(ws.caps, c)
		// An eighth of the tolerance less: a face need not reach the minimum to the last digit.
		low := math.Inf(1)
		for i := range ws.caps {
			low = min(low, ws.caps[i].low-p.stopGap(tol)/8)
		}
		e.reset(&t.p, &t.o)
		if !e.start(t.x, min(max(c.t, minCapTilt), maxCapTilt), ws.points) {
			return false
		}
		v, lower := e.cover(ws.caps, low)
		t.iter += e.iter
		switch v {
		case proved:
			return t.conclude(p, r, low, tol)
		case unproved:
			return false
		}
		ws.points = e.points(ws.points[:0])
		was := t.point
		t.limit = t.iter + defaultRTRIterations
		if t.o.MaxIterations > 0 {
			t.limit = t.iter + t.o.MaxIterations
		}
		// The witnesses of a direction that is no minimum lie off it: EPA cannot use them either.
		if t.minimize(lower); !(t.h < was.h && t.norm <= t.stop) {
			t.point = was
			return false
		}
	}
	return false
}

// conclude stores the answer of the lowest minimum in r. The cores intersect by at least low.
func (t *trustRegion) conclude(p *Pair, r *Result, low, tol float64) bool {
	least := t.result()
	// The support points lie off the normal by the length of the gradient.
	upper := max(-low, -t.h+t.norm) - t.p.Radius + t.rounding
	least.Upper = min(least.Upper, upper)
	if least.classify(p, &t.o, tol); least.Status == Undecided {
		return false
	}
	*r = least
	return true
}

// coverSteps is the number of faces examined for one minimum before the proof is left to [EPA].
const coverSteps = 120

// verdict is what a polytope with apices proves about the smallest known support value of D.
type verdict uint8

const (
	unproved verdict = iota
	proved
	refuted
)

// cover examines whether h_D ≥ low in all directions, given local minima of h_D, each with a cap of
// directions over which h_D ≥ low is proved. If it is refuted, lower is a
// direction with a smaller support value. start has begun the polytope.
//
// The polytope has one apex per cap, which is no point of D: n·low·√(1+t²). Once the ball of radius
// low lies inside the polytope, every direction has a vertex with a support value of at least low.
// If that vertex is an apex, the direction is within acos(1/√(1+t²)) = atan(t) of n, that is, in its
// cap; otherwise it is a point of D. So h_D ≥ low in all directions. Most faces of a polytope
// without apices lie near the closest point of D, more of them for every digit, and here that
// point is under the apex.
//
// All apices belong to the same low, not to the larger one of their own caps: with that, their
// support value would exceed low beyond the rims.
func (e *expansion) cover(caps []capCertificate, low float64) (v verdict, lower r3.Vec) {
	for i := range caps {
		apex, ok := caps[i].apex(low, e.rounding)
		if f, live := e.poly.nearest(); ok && live && e.poly.expand(f, &apex) {
			e.apices++ // otherwise the polytope contains the apex, or rounding keeps it out
		}
	}
	for last := min(e.iter+coverSteps, e.limit); e.iter < last; {
		f, live := e.poly.nearest()
		if !live {
			return unproved, r3.Vec{}
		}
		if face := &e.poly.faces[f]; !face.out && !face.unsure && face.key >= low {
			return proved, r3.Vec{}
		}
		expanded := false
		for _, n := range e.expansionDirections(f) {
			if n == (r3.Vec{}) || expanded {
				continue
			}
			var w Vertex
			if e.support(n, &w) < low {
				return refuted, n
			}
			expanded = e.poly.expand(f, &w)
		}
		if !expanded {
			return unproved, r3.Vec{}
		}
	}
	return unproved, r3.Vec{}
}

// expansionDirections returns the directions in which to expand a face: from the origin to the
// face's closest point, as in step, and the face's normal.
func (e *expansion) expansionDirections(f int32) [2]r3.Vec {
	face := &e.poly.faces[f]
	_, towards, interior := e.poly.nearestPoint(f)
	n := unit(towards)
	switch {
	case interior || !(norm(towards) > e.rounding):
		n = r3.Vec{}
	case face.out:
		n = r3.Scale(-1, n)
	}
	return [2]r3.Vec{n, face.n}
}

// seedTilt is the tilt (tangent of the angle) of the first directions from the known one.
const seedTilt = 0.5

// start begins a polytope with support points of directions tilted from x, along which D's support
// value is small, and with known points of D. It reports whether D has a volume.
func (e *expansion) start(x r3.Vec, tilt float64, known []Vertex) bool {
	a, b := tangents(x)
	start := Simplex{N: 4}
	for i := range 3 {
		sin, cos := math.Sincos(2 * math.Pi * float64(i) / 3)
		e.support(unit(r3.Add(x, r3.Scale(tilt, r3.Add(r3.Scale(cos, a), r3.Scale(sin, b))))), &start.V[i])
	}
	e.support(r3.Scale(-1, x), &start.V[3])
	if flat := e.seed(&start); flat {
		return false
	}
	for i := range known {
		if f, live := e.poly.nearest(); live {
			e.poly.expand(f, &known[i]) // a point inside, or one that rounding keeps out, is no loss
		}
	}
	e.firstApex, e.apices = len(e.poly.verts), 0
	return true
}

// points appends the vertices that are points of D to list.
func (e *expansion) points(list []Vertex) []Vertex {
	list = append(list, e.poly.verts[:e.firstApex]...)
	return append(list, e.poly.verts[e.firstApex+e.apices:]...)
}

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

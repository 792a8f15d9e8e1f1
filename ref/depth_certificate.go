package ref

import "math"

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
//     cap of directions over which D's support value is at least low (cap_certificate.go).
//  2. A polytope with an apex over each cap covers all other directions (depth_cover.go).
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
		t.cap = t.iter + defaultRTRIterations
		if t.o.MaxIterations > 0 {
			t.cap = t.iter + t.o.MaxIterations
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

package ref

import "math"

const (
	// surroundTurns is how many minima are looked for, each lower than the last.
	surroundTurns = 6

	// The first directions of the polytope lie along the rim of the cap, within these tilts.
	leastTiltAround = 0.1
	mostTiltAround  = 2
)

// surround closes the bounds of r, a penetration found by RTR, by caps of directions around the minimum
// (rtr_cap.go) and a polytope for the others (epa_around.go), and reports whether they now meet the tolerance
// of a depth. Where D is found to be lower, RTR starts again from there: t, and the answer, are
// of the lowest minimum. p is not eroded.
func (t *trustRegion) surround(p *Pair, r *Result, ws *Workspace) bool {
	tol := p.tolerance(&t.o, curvedDepthTolerance)
	e := ws.expansion()
	ws.caps, ws.points = ws.caps[:0], ws.points[:0]
	for range surroundTurns {
		c, ok := t.widest(ws)
		if !ok {
			return false
		}
		ws.caps = append(ws.caps, c)
		// Less an eighth of the tolerance: a face need not be as high as the minimum to the last digit.
		low := math.Inf(1)
		for i := range ws.caps {
			low = min(low, ws.caps[i].low-p.stopGap(tol)/8)
		}
		e.reset(&t.p, &t.o)
		if !e.start(t.x, min(max(c.t, leastTiltAround), mostTiltAround), ws.points) {
			return false
		}
		v, lower := e.around(ws.caps, low)
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
		// A direction that is no minimum has witnesses off it, which are of no use to EPA either.
		if t.minimize(lower); !(t.h < was.h && t.norm <= t.stop) {
			t.point = was
			return false
		}
	}
	return false
}

// conclude states the answer of the lowest minimum in r. The cores overlap by at least low.
func (t *trustRegion) conclude(p *Pair, r *Result, low, tol float64) bool {
	least := t.result()
	// The support points are as far off the normal as the gradient is long.
	upper := max(-low, -t.h+t.norm) - t.p.Radius + t.round
	least.Upper = min(least.Upper, upper)
	if least.classify(p, &t.o, tol); least.Status == Undecided {
		return false
	}
	*r = least
	return true
}

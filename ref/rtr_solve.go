package ref

// solveRTR is [Solve] by RTR. A minimum that is not proved to be the global one goes to
// innerEllipsoid, else to surround, which proves it or finds a lower one by caps of directions, and
// else to EPA, whose polytope either proves it or finds a deeper direction;
// and what RTR does not settle, on shapes that are not C² where it matters, goes to GJK.
func solveRTR(p *Pair, o Options, ws *Workspace) Result {
	r := RTR(p, o, ws)
	if r.Status != Undecided {
		return r
	}
	t := *ws.trustRegion()
	spent := r.Iterations
	q := p.eroded()
	if ws == nil || !(t.h > 0) || !(t.norm <= t.stop) || o.Boolean {
		o.Method = MethodGJK
		again := Solve(p, o, ws)
		again.Iterations += spent
		if again.Ended == EndedByMethod {
			again.Ended = EndedByGJK
		}
		return again
	}
	if t.proveEllipsoids(p, &r) || t.certifyDepth(p, &r, ws) {
		return r
	}
	spent = t.iter
	again := epaKnowing(&q, o, &t, ws)
	if again.Status == Undecided && o.spend(again.Iterations) {
		again = secondTry(&q, o, again, ws)
	}
	again.Iterations += spent
	if again.Ended == EndedByMethod {
		again.Ended = EndedByEPA
	}
	return again
}

// proveEllipsoids closes the bounds of r, a penetration found by RTR, by innerEllipsoid, and
// reports whether they now meet the tolerance of a depth. p is not eroded.
func (t *trustRegion) proveEllipsoids(p *Pair, r *Result) bool {
	tol := p.tolerance(&t.o, curvedDepthTolerance)
	h := t.h + t.p.erodeA + t.p.erodeB
	depth, ok := p.innerEllipsoid(t.x, h, p.stopGap(tol))
	if !ok {
		return false
	}
	// The support points are as far off the normal as the gradient is long.
	upper := max(-depth, -h+t.norm) - p.Radius + t.round
	proved := *r
	proved.Upper = min(r.Upper, upper)
	if proved.classify(p, &t.o, tol); proved.Status == Undecided {
		return false
	}
	*r = proved
	return true
}

// epaKnowing is [EPA] for a pair of which a direction is known along which the cores overlap
// least, as far as is known. The polytope begins with support points around
// that direction, and has to show only that no face is nearer than the plane
// across it, less the tolerance. A face that is leads to a deeper direction.
func epaKnowing(p *Pair, o Options, t *trustRegion, ws *Workspace) Result {
	e := ws.expansion()
	e.reset(p, &o)
	if e.revolved() {
		return e.result()
	}
	e.known = bounds{lower: -t.h, axis: t.x, near: t.v}
	if e.start(t.x, seedTilt, nil) {
		e.run()
	}
	return e.result()
}

package ref

// solveRTR is [Solve] by RTR. A minimum that RTR does not prove to be global goes to innerEllipsoid, then
// to certifyDepth, which proves it or finds a lower one, and then to EPA, whose polytope either proves
// it or finds a deeper direction. Where RTR does not converge, on shapes that are not C² at the
// solution, GJK answers.
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
		again := solve(p, o, ws)
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
	again := epaFrom(&q, o, &t, ws)
	if again.Status == Undecided && o.deduct(again.Iterations) {
		again = retryFromNormal(&q, o, again, ws)
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
	// The support points lie off the normal by the length of the gradient.
	upper := max(-depth, -h+t.norm) - p.Radius + t.rounding
	proved := *r
	proved.Upper = min(r.Upper, upper)
	if proved.classify(p, &t.o, tol); proved.Status == Undecided {
		return false
	}
	*r = proved
	return true
}

// epaFrom is [EPA] started from the direction of the smallest overlap known so far. The polytope begins
// with support points near that direction and only has to show that no face is closer than its
// support plane, less the tolerance. A closer face leads to a deeper direction.
func epaFrom(p *Pair, o Options, t *trustRegion, ws *Workspace) Result {
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

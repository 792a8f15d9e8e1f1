package ref

import (
	"math"

	"gonum.org/v1/gonum/spatial/r3"
)

const (
	// defaultEPAIterations leaves room for the solvers before and after EPA, see mostSteps.
	defaultEPAIterations = mostSteps - 5_535
	// curvedDepthTolerance is the default gap for depths of curved shapes, relative
	// to the size of the pair: a certified lower bound costs facets, about one
	// over the square root of the gap along every flat direction of the surface.
	curvedDepthTolerance = 1e-8
)

// EPA finds the signed distance of a pair whose cores intersect, touch, or cannot
// be told apart, with the expanding polytope algorithm, from the end simplex of
// any method (rank 0 to 4, flat or not).
//
// The polytope is a closed triangulated surface with vertices on D. Its face
// nearest to the origin gives the witnesses and bounds the depth from below: the
// ball that it leaves free lies inside D. The support plane along the normal of
// that face bounds the depth from above. Both are certificates of their own:
// neither asks that the polytope be exactly convex, so slivers and coplanar
// vertices cost speed at worst. Should the origin turn out to lie outside D,
// the same support planes prove the separation.
//
// The algorithm is that of van den Bergen (Proximity Queries and Penetration Depth
// Computation on 3D Game Objects, 2001); the two certificates, the flat cases and the
// origin outside are this package's.
//
// A polytope that cannot be expanded further ends Undecided with the bounds that
// hold, never as "no contact".
func EPA(p *Pair, o Options, start *Simplex, ws *Workspace) Result {
	e := ws.expansion()
	e.reset(p, &o)
	if e.revolved() {
		return e.result()
	}
	e.meet(start)
	if flat := e.seed(start); !flat {
		e.run()
	}
	return e.result()
}

// expansion is the state of one run of EPA.
type expansion struct {
	p        Pair
	o        Options
	poly     polytope
	rounding float64
	iter     int
	limit    int

	tol          float64 // wanted gap of a depth
	distTol      float64 // wanted gap of a distance
	stop         float64 // gap of the computed bounds at which tol is met, rounding included
	stopDistance float64 // the same for distTol, wanted until the shapes are proved to overlap

	known  bounds  // of a direction known beforehand, see epaFrom
	met    Vertex  // the point of D closest to the origin known beforehand,
	within float64 // and its distance from the origin
	bounds         // the answer so far
	now    bounds  // along the face at hand

	meridian meridian // see revolved

	firstApex, apices int // range of the vertices that are not points of D, see cover
}

// bounds is an answer for the cores: the signed distance lies in [lower, upper], as
// the direction axis (unit, outward from D) and the point near of the polytope prove.
type bounds struct {
	lower, upper float64
	axis         r3.Vec
	near         Vertex
}

func (e *expansion) reset(p *Pair, o *Options) {
	e.p, e.o, e.iter = *p, *o, 0
	e.rounding = p.Roundoff()
	e.distTol = p.tolerance(o, distanceTolerance)
	e.tol = e.distTol
	if !p.polytopes() {
		e.tol = p.tolerance(o, curvedDepthTolerance)
	}
	e.stop, e.stopDistance = p.stopGap(e.tol), p.stopGap(e.distTol)
	e.limit = o.MaxIterations
	if e.limit == 0 {
		e.limit = defaultEPAIterations
	}
	e.bounds = bounds{lower: math.Inf(-1), upper: math.Inf(1), axis: r3.Vec{X: 1}}
	e.known.lower, e.within = math.Inf(-1), math.Inf(1)
	e.poly.reset(e.rounding, 4*p.scale)
}

// meet keeps the closest point of the start simplex if it is within rounding of the origin: a polytope
// of a curved D would need a million faces to come as close. Farther away, the point and the support
// plane found later would not match.
func (e *expansion) meet(start *Simplex) {
	if start == nil {
		return
	}
	sum := 0.0
	for i := range start.N {
		sum += start.Lambda[i]
	}
	if math.Abs(sum-1) > 8*eps {
		return
	}
	if v := start.vertex(); norm(v.W) <= 2*e.rounding {
		e.met, e.within = v, norm(v.W)
	}
}

// support evaluates D along the unit direction n.
func (e *expansion) support(n r3.Vec, v *Vertex) (h float64) {
	e.p.support(n, v)
	e.iter++
	if e.o.Trace != nil {
		e.o.Trace.evaluated(StepEPA, &e.p, n, v)
	}
	return r3.Dot(n, v.W)
}

// run expands the nearest face until its support plane is closer than the tolerance.
//
// With the origin inside, that plane bounds the depth from above, and the nearest
// face bounds it from below for the whole polytope. With the origin outside, the
// nearest face bounds the distance from above, and the plane from below: the
// same two numbers with the other sign.
//
// A face that rounding keeps from being expanded is set aside, and the next one is tried; its
// distance still limits the lower bound. The best bounds found are the answer.
func (e *expansion) run() {
	aside := math.Inf(1)
	for stuck := 0; stuck <= maxStuck; {
		f, ok := e.poly.nearest()
		if !ok {
			return
		}
		outcome := e.step(f, aside)
		if outcome == answered || e.now.upper-e.now.lower < e.bounds.upper-e.bounds.lower {
			e.bounds = e.now
		}
		switch {
		case outcome == answered || e.iter >= e.limit:
			return
		case outcome == setAside:
			if face := &e.poly.faces[f]; !face.out {
				aside = math.Min(aside, face.key)
			}
			e.poly.pop()
			stuck++
		}
	}
}

// maxStuck bounds the faces set aside in one run.
const maxStuck = 32

// outcome is the result of a step along a face.
type outcome uint8

const (
	expanded outcome = iota
	answered
	setAside
)

// step bounds the distance along face f and expands it.
func (e *expansion) step(f int32, aside float64) outcome {
	face := e.poly.faces[f]
	near, towards, interior := e.poly.nearestPoint(f)
	e.now = bounds{lower: math.Inf(-1), near: near}
	switch {
	case face.out:
		e.now.upper = face.key + e.poly.far
	case face.unsure:
		e.now.upper = face.key
	default:
		e.now.upper = -math.Min(face.key, aside)
	}
	if e.within < e.now.upper {
		e.now.upper, e.now.near = e.within, e.met
	}
	// From the origin to the closest point, if that lies on an edge or a vertex. Close to the
	// origin rounding dominates that direction, and the normal of the face is used instead.
	if n := unit(towards); !interior && norm(towards) > e.rounding {
		if face.out {
			n = r3.Scale(-1, n)
		}
		if o := e.expandAlong(f, n); o != setAside {
			return o
		}
	}
	if face.n == (r3.Vec{}) {
		return setAside
	}
	return e.expandAlong(f, face.n)
}

// expandAlong updates the bound with the support plane along n and expands face f with its
// support point, unless the bounds now answer the query.
func (e *expansion) expandAlong(f int32, n r3.Vec) outcome {
	var v Vertex
	h := e.support(n, &v)
	if e.o.Trace != nil {
		e.tracedFace(f)
	}
	if -h > e.now.lower {
		e.now.lower, e.now.axis = -h, n
	}
	if e.known.lower >= e.now.lower && e.now.upper < e.p.Radius {
		e.now.lower, e.now.axis, e.now.near = e.known.lower, e.known.axis, e.known.near
	}
	stop := e.stopDistance
	if e.now.upper < e.p.Radius { // a depth
		stop = e.stop
	}
	switch {
	case e.now.upper-e.now.lower <= stop || e.settled():
		return answered
	case e.poly.expand(f, &v):
		return expanded
	}
	return setAside
}

// settled reports whether a Boolean or cut-off query is answered.
func (e *expansion) settled() bool {
	lower, upper := e.now.lower-e.p.Radius-e.rounding, e.now.upper-e.p.Radius+e.rounding
	if e.o.Boolean && (lower > 0 || upper < 0) {
		return true
	}
	return e.o.HasCutOff && lower > e.o.CutOff
}

// result reports the bounds of the whole shapes. Distance is the lower bound, that
// is minus the certified upper depth: moving B by the depth along the normal
// surely separates the pair.
func (e *expansion) result() Result {
	p := &e.p
	// Where the nearest point lies on an edge and the bound comes from a face, the
	// witnesses are not quite Distance·Normal apart. The gap states that as well; it may then be too
	// wide, and GJK answers from here. A Boolean answer that the bounds give does not rest on them.
	if !e.o.Boolean || e.lower-p.Radius-e.rounding <= 0 && e.upper-p.Radius+e.rounding >= 0 {
		e.contact()
	}
	if off := e.witnessError(); !e.o.Boolean || off <= e.stop || e.lower > 0 {
		e.upper = math.Max(e.upper, e.lower+off)
	}
	r := Result{
		Distance:   e.lower - p.Radius,
		Lower:      e.lower - p.Radius - e.rounding,
		Upper:      e.upper - p.Radius + e.rounding,
		Normal:     e.axis,
		WitnessA:   r3.Add(e.near.A, r3.Scale(p.roundA(), e.axis)),
		WitnessB:   r3.Sub(e.near.B, r3.Scale(p.roundB(), e.axis)),
		Iterations: e.iter,
	}
	tol := e.distTol
	if r.Distance < 0 { // a depth, or a contact that may be one
		tol = e.tol
	}
	r.classify(p, &e.o, tol)
	return r
}

// seed builds the first tetrahedron from the start simplex and support points. If D
// has no extent beyond the tolerance along some direction, that direction
// bounds the depth: seed sets the answer and reports that D is flat.
func (e *expansion) seed(start *Simplex) (flat bool) {
	var t [4]Vertex
	if start != nil && start.N == 4 && e.healthy(start) {
		e.poly.tetrahedron(&start.V)
		return false
	}
	if start != nil && start.N > 0 {
		t[0] = start.V[0]
	} else {
		e.support(r3.Vec{X: 1}, &t[0])
	}
	n := 1
	// Each step takes the farthest vertex from the affine hull of the ones before,
	// of the start simplex and of support points along and against the given axes.
	var basis [3]r3.Vec // orthonormal; the first n−1 span the affine hull
	basis[0], basis[1], basis[2] = r3.Vec{X: 1}, r3.Vec{Y: 1}, r3.Vec{Z: 1}
	for n < 4 {
		v, dist := e.farthest(start, &t[0], &basis, n)
		// Half the stop gap: the flat answer below is then within it.
		if !(dist > e.stop/2) {
			e.flatAnswer(start, &t, n, &basis)
			return true
		}
		t[n] = v
		e.extend(&basis, n, r3.Sub(v.W, t[0].W))
		n++
	}
	e.poly.tetrahedron(&t)
	return false
}

// healthy reports whether the altitude of the tetrahedron is well above rounding.
func (e *expansion) healthy(s *Simplex) bool {
	a, b, c := r3.Sub(s.V[1].W, s.V[0].W), r3.Sub(s.V[2].W, s.V[0].W), r3.Sub(s.V[3].W, s.V[0].W)
	n := cross(a, b)
	m := cross(r3.Sub(s.V[2].W, s.V[1].W), r3.Sub(s.V[3].W, s.V[1].W))
	area := math.Max(norm(n), norm(m))
	return math.Abs(r3.Dot(n, c)) > 4*e.rounding*area
}

// farthest returns the candidate farthest from the affine hull that passes
// through o and is spanned by the first n−1 vectors of the basis.
func (e *expansion) farthest(start *Simplex, o *Vertex, basis *[3]r3.Vec, n int) (best Vertex, dist float64) {
	dist = -1
	consider := func(v *Vertex) {
		r := r3.Sub(v.W, o.W)
		for k := range n - 1 {
			r = r3.Sub(r, r3.Scale(r3.Dot(r, basis[k]), basis[k]))
		}
		if d := norm(r); d > dist {
			best, dist = *v, d
		}
	}
	var v Vertex
	for k := n - 1; k < 3; k++ {
		e.support(basis[k], &v)
		consider(&v)
		e.support(r3.Scale(-1, basis[k]), &v)
		consider(&v)
	}
	if start != nil {
		for i := range start.N {
			consider(&start.V[i])
		}
	}
	return best, dist
}

// extend makes vector n−1 of the basis the part of r orthogonal to those before,
// and completes the basis to an orthonormal one.
func (e *expansion) extend(basis *[3]r3.Vec, n int, r r3.Vec) {
	for range 2 { // twice is enough: the second pass removes the rounding of the first
		for k := range n - 1 {
			r = r3.Sub(r, r3.Scale(r3.Dot(r, basis[k]), basis[k]))
		}
		r = unit(r)
	}
	basis[n-1] = r
	switch n {
	case 1:
		a := r3.Vec{X: 1}
		if math.Abs(r.X) > 0.6 {
			a = r3.Vec{Y: 1}
		}
		basis[1] = unit(r3.Cross(r, a))
		basis[2] = r3.Cross(r, basis[1])
	case 2:
		basis[2] = unit(r3.Cross(basis[0], basis[1]))
	}
}

// flatAnswer answers for a D that has no extent along basis[n−1]: the depth is at
// most the support value along it or against it, and the origin is at most as
// far away as the nearest point of the start simplex, or of the vertices found.
func (e *expansion) flatAnswer(start *Simplex, t *[4]Vertex, n int, basis *[3]r3.Vec) {
	s := Simplex{V: *t, N: n}
	if start != nil && start.N > 0 {
		s = *start
	}
	signedVolumes(&s, true)
	s.reduce()
	if s.N == 3 {
		s.straighten()
	}
	e.near = s.vertex()
	e.upper = norm(e.near.W)
	e.lower = math.Inf(-1)
	var v Vertex
	for k := n - 1; k < 3; k++ {
		for _, sign := range [2]float64{1, -1} {
			a := r3.Scale(sign, basis[k])
			if h := e.support(a, &v); -h > e.lower {
				e.lower, e.axis = -h, a
			}
		}
	}
	if e.upper-e.lower > e.stop {
		e.nearestEdge(start)
		e.nearestEdge(&Simplex{V: *t, N: n})
	}
}

// nearestEdge moves the near point to an edge of the simplex that comes closer to the origin. Of a needle the weights
// of a point within have errors of rounding over its width, and the wrong edge may seem to be the closest.
func (e *expansion) nearestEdge(s *Simplex) {
	if s == nil {
		return
	}
	for i := range s.N {
		for j := range i {
			edge := Simplex{N: 2, Lambda: [4]float64{1, 0}}
			edge.V[0], edge.V[1] = s.V[i], s.V[j]
			along := r3.Sub(s.V[j].W, s.V[i].W)
			for range 2 { // the second step removes the rounding of the first
				edge.slide(0, 1, along)
			}
			if v := edge.vertex(); norm(v.W) < e.upper {
				e.upper, e.near = norm(v.W), v
			}
		}
	}
}

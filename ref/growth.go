package ref

import (
	"math"

	"gonum.org/v1/gonum/spatial/r3"

	"clearance/geom"
)

// GrowthCenters are the centers about which the two shapes of a pair are scaled, each in the own frame of
// its shape, with proved radii of balls around them that the shapes contain. A radius is 0 if the shape is
// flat. The center of a half-space is not used.
type GrowthCenters struct {
	A, B                 r3.Vec
	InradiusA, InradiusB float64
}

// GrowthMethod names a solver of the growth distance.
type GrowthMethod uint8

// Solvers of the growth distance.
const (
	GrowthAuto    GrowthMethod = iota // a formula where there is one, else the fastest method of the pair
	GrowthSimplex                     // the simplex method of [Growth, Alg. 1-3] for every pair of bounded shapes
	GrowthNewton                      // Newton's method on the convex dual for smooth pairs, else the simplex method
	GrowthIE                          // the Internal Expanding procedure
	GrowthMethodCount
)

var growthMethodNames = [GrowthMethodCount]string{"auto", "simplex", "newton", "ie"}

func (m GrowthMethod) String() string {
	if m < GrowthMethodCount {
		return growthMethodNames[m]
	}
	return "growth method out of range"
}

// GrowthOptions configure [Growth]. The zero value asks for the factor at the tightest tolerance that is
// promised for float64.
type GrowthOptions struct {
	// Tolerance is the gap upper − lower, relative to max(1, α), at which the solver stops. 0 means 1e-12
	// for polytopes and 1e-10 for pairs with a curved shape.
	Tolerance float64

	// MaxIterations limits the evaluations of the support function; 0 is 1,000.
	MaxIterations int

	// CutOff is the factor beyond which the caller does not care: a solver may stop as soon as it has
	// proved a larger one and the status. HasCutOff enables it.
	CutOff    float64
	HasCutOff bool

	// Boolean asks for the status alone: a bound beyond 1 ends the query [Growth, sec. III-F4].
	Boolean bool

	// Warm is the state to start from, if not nil. [GrowthIE] does not use it.
	Warm *GrowthState

	// Method picks the solver.
	Method GrowthMethod

	// Trace, if not nil, gets a step for every evaluation of the support function.
	Trace *Trace
}

// Growth computes the growth distance of a pair: the smallest factor α at which both shapes, scaled about
// their centers, intersect. With D = (A − c_A) − (B − c_B) and p = c_B − c_A it is the smallest α ≥ 0 with
// p ∈ α·D [Growth, eq. 9-10].
//
// Distance is the factor that the witnesses prove from above, Upper the same with rounding added, Lower the
// dual bound of Normal. The witnesses are points of the shapes as they are, not scaled, such that
// Distance·((WitnessA − c_A) − (WitnessB − c_B)) = p within the bounds; see [Pair.GrowthPoint]. The status
// compares the factor with 1: the shapes penetrate below, are separated above. Simplex has the points of which
// the witnesses are a convex combination, W relative to the centers.
//
// Centers that coincide up to rounding give the factor 0, the zero vector as normal and the centers as
// witnesses. A half-space is not scaled: the other shape alone grows about its center until it meets the
// half-space, and the witness of the half-space is the point where it does. A center inside the half-space
// gives 0. A pair in which both have inradius 0, as flat shapes and half-spaces, is invalid.
func Growth(p *Pair, c GrowthCenters, o GrowthOptions, ws *Workspace) Result {
	r := growthOf(p, &c, &o, ws)
	if o.Trace != nil {
		o.Trace.growthAnswer(&r)
	}
	return r
}

func growthOf(p *Pair, c *GrowthCenters, o *GrowthOptions, ws *Workspace) Result {
	g := ws.growth()
	g.reset(p, c, o)
	if !(g.inradius > 0) {
		return invalidResult()
	}
	if unbounded(p.A) || unbounded(p.B) {
		return g.halfspace()
	}
	if !(g.length > g.roundRay) || g.length < minGrowthRay {
		return g.coincident()
	}
	g.solve(ws)
	return g.result()
}

// solve runs the method of the options.
func (g *growth) solve(ws *Workspace) {
	if g.o.Method == GrowthAuto && g.formula() {
		return
	}
	g.start()
	if g.o.Method == GrowthIE {
		g.internalExpansion(&ws.expansion().poly)
		return
	}
	n := g.axis
	if g.o.Method != GrowthSimplex && SmoothPair(g.p.A, g.p.B) {
		if w := g.o.Warm; w != nil && r3.Dot(w.Normal, g.axis) > 0 {
			n = unit(w.Normal)
		}
		if g.newton(n) {
			g.ended = EndedByNewton
			return
		}
		n = g.insert(g.recent[:])
	} else if g.o.Warm != nil {
		n = g.restore(g.o.Warm)
	}
	g.iterate(n)
}

// minGrowthRay is the distance of the centers below which its square may underflow.
const minGrowthRay = 1e-150

// GrowthPoint returns the common point of the two shapes when both are scaled about their centers by the
// factor of r: c_A + α·(a − c_A), in the frame of the pair [Growth, eq. 28].
func (p *Pair) GrowthPoint(c GrowthCenters, r *Result) r3.Vec {
	if unbounded(p.A) {
		return r.WitnessA
	}
	return r3.Add(c.A, r3.Scale(r.Distance, r3.Sub(r.WitnessA, c.A)))
}

// GrowthInfeasibility returns the distance in metres between the two witnesses of r, each scaled about its
// center by the factor of r: the error of the constraint [Growth, eq. 9c].
func (p *Pair) GrowthInfeasibility(c GrowthCenters, r *Result) float64 {
	a, b := p.GrowthPoint(c, r), r.WitnessB
	if !unbounded(p.B) {
		center := r3.Add(p.rot.MulVec(c.B), p.trans)
		b = r3.Add(center, r3.Scale(r.Distance, r3.Sub(b, center)))
	}
	return norm(r3.Sub(a, b))
}

func invalidResult() Result {
	return Result{Status: Invalid, Distance: math.NaN(), Lower: math.Inf(-1), Upper: math.Inf(1),
		Normal: r3.Vec{X: math.NaN()}}
}

// growth is the state of one query. It holds the pair by value: a pointer would force every caller's pair to the
// heap. All vectors are in the frame of the pair; those of the shapes are
// relative to the centers, so that their rounding does not depend on how far from one another these are.
type growth struct {
	p Pair
	o GrowthOptions

	centerA, centerB     r3.Vec // of A in the frame of the pair, of B in its own frame
	radiusA, radiusB     float64
	inradiusA, inradiusB float64
	inradius             float64 // of D about 0: their sum

	ray    r3.Vec  // p, from the center of A to that of B
	length float64 // |p|
	axis   r3.Vec  // p/|p|

	roundRay     float64 // bounds the rounding error of p
	roundSupport float64 // bounds that of one support point of D, and of one support value

	iter, limit int
	by          StepSolver // that evaluates the support function
	ended       Ending

	lower  float64 // proved bounds of the factor, rounding included
	normal r3.Vec  // proves lower; unit
	best   primal  // proves upper

	x      triangle
	recent [4]Vertex // the last support points of Newton's method
}

func (ws *Workspace) growth() *growth {
	if ws == nil {
		return new(growth)
	}
	return &ws.g
}

// reset poses the query. The rounding bounds are those of [Pair.Roundoff], with the magnitudes that each
// quantity is computed from: the vector between the centers from the poses and the centers, a support point
// from the shapes and the centers alone.
func (g *growth) reset(p *Pair, c *GrowthCenters, o *GrowthOptions) {
	*g = growth{p: *p, o: *o, centerA: c.A, centerB: c.B, radiusA: p.A.Radius(), radiusB: p.B.Radius()}
	g.inradiusA, g.inradiusB = c.InradiusA, c.InradiusB
	if unbounded(p.A) { // its point of the plane, which the margin moves
		g.centerA, g.inradiusA = r3.Vec{Z: g.radiusA}, 0
	}
	if unbounded(p.B) {
		g.centerB, g.inradiusB = r3.Vec{Z: g.radiusB}, 0
	}
	g.inradius = g.inradiusA + g.inradiusB
	b := p.rot.MulVec(g.centerB)
	g.ray = r3.Sub(r3.Add(b, p.trans), g.centerA)
	g.length = r3.Norm(g.ray)
	g.axis = unit(g.ray)
	offsets := norm(g.centerA) + norm(g.centerB)
	g.roundRay = 24 * eps * (norm(p.trans) + offsets)
	g.roundSupport = 24 * eps * (p.size + norm(p.A.Center()) + norm(p.B.Center()) + offsets)
	if g.limit = o.MaxIterations; g.limit == 0 {
		g.limit = 1000
	}
	g.ballBound()
}

// support returns the support point of D in the unit direction n, and its support value.
func (g *growth) support(n r3.Vec, v *Vertex) (value float64) {
	g.iter++
	v.A = r3.Add(r3.Sub(g.p.A.CoreSupport(n), g.centerA), r3.Scale(g.radiusA, n))
	m := g.p.rot.MulVecT(n)
	b := r3.Sub(g.p.B.CoreSupport(r3.Vec{X: -m.X, Y: -m.Y, Z: -m.Z}), g.centerB)
	v.B = r3.Sub(g.p.rot.MulVec(b), r3.Scale(g.radiusB, n))
	v.W = r3.Sub(v.A, v.B)
	h := r3.Dot(n, v.W)
	if g.o.Trace != nil {
		g.traced(n, h, v)
	}
	return h
}

// coincident is the result of centers that cannot be told apart.
func (g *growth) coincident() Result {
	r := Result{Status: Penetrating, Ended: EndedByFormula, WitnessA: g.centerA, WitnessB: r3.Add(g.centerA, g.ray)}
	r.Upper = (g.length + g.roundRay) / g.inradius
	if !(r.Upper < 1) { // the rounding of p exceeds the inradius: no gap is below the floor
		r.Status = Touching
	}
	return r
}

// result assembles the bounds and their proofs.
func (g *growth) result() Result {
	r := Result{Distance: g.best.factor, Upper: g.best.upper, Lower: g.lower, Normal: g.normal,
		Iterations: g.iter, Ended: g.ended, Simplex: g.best.simplex}
	centerB := r3.Add(g.centerA, g.ray)
	for i := range r.Simplex.N {
		v := &r.Simplex.V[i]
		v.A, v.B = r3.Add(v.A, g.centerA), r3.Add(v.B, centerB)
	}
	v := g.best.simplex.vertex()
	r.WitnessA, r.WitnessB = r3.Add(v.A, g.centerA), r3.Add(v.B, centerB)
	r.classifyGrowth(&g.o, g.tolerance(r.Distance))
	return r
}

// tolerance is the gap, as a factor, within which a query at the factor alpha counts as answered.
func (g *growth) tolerance(alpha float64) float64 {
	return math.Max(g.wanted()*math.Max(1, alpha), g.floor(alpha))
}

// wanted is the relative tolerance of the options.
func (g *growth) wanted() float64 {
	switch {
	case g.o.Tolerance != 0:
		return g.o.Tolerance
	case polytopeBody(g.p.A) && polytopeBody(g.p.B):
		return 1e-12
	}
	return 1e-10
}

// floor is the least gap that float64 is sure to prove at the factor alpha: four times what rounding moves
// the bounds by, see primalBound and dualBound, to first order. That holds as long as the rounding is small beside
// the inradius. Else, as of a small shape and a flat one 10¹² times as large, float64 cannot tell D from a flat set,
// and any gap will do.
func (g *growth) floor(alpha float64) float64 {
	if g.roundSupport > g.inradius/8 {
		return math.Inf(1)
	}
	return 4 * (alpha*g.roundSupport + g.roundRay) / g.inradius
}

// GrowthRoundoff is the gap at the factor alpha below which [Growth] may call no pair undecided, whatever the
// tolerance: four times the rounding of the bounds.
func (p *Pair) GrowthRoundoff(c GrowthCenters, alpha float64) float64 {
	var g growth
	g.reset(p, &c, new(GrowthOptions))
	return g.floor(alpha)
}

// settled reports whether the bounds proved so far answer the query.
func (g *growth) settled() bool {
	lower, upper := g.lower, g.best.upper
	if g.o.Boolean && (lower > 1 || upper < 1) || g.beyond(lower, upper) {
		return true
	}
	alpha := g.best.factor
	stop := g.wanted() * math.Max(1, alpha)
	// The other methods have bounds that may get below the floor, see insideBound. Rounding alone takes half the floor
	// at most: more steps of IE gain little below three quarters.
	if floor := g.floor(alpha); g.o.Method == GrowthIE && !math.IsInf(floor, 1) {
		stop = math.Max(stop, 0.75*floor)
	}
	return upper-lower <= stop
}

// beyond reports whether the factor is proved to exceed the cut-off, and the status with it.
func (g *growth) beyond(lower, upper float64) bool {
	return g.o.HasCutOff && lower > g.o.CutOff && (lower > 1 || upper < 1)
}

// classifyGrowth sets the status from the bounds; tolerance is a factor.
func (r *Result) classifyGrowth(o *GrowthOptions, tolerance float64) {
	decided := r.Lower > 1 || r.Upper < 1
	met := r.Upper-r.Lower <= tolerance ||
		decided && (o.Boolean || o.HasCutOff && r.Lower > o.CutOff)
	switch {
	case !(r.Lower <= r.Upper) || !met: // NaN included
		r.Status = Undecided
	case r.Lower > 1:
		r.Status = Separated
	case r.Upper < 1:
		r.Status = Penetrating
	default:
		r.Status = Touching
	}
}

// Traces of growth distances. Points of the steps are those of the shapes as they are, as of the witnesses: relative to
// the centers, D is A − B moved by p.

// traced records an evaluation of the support function of D along n, whose value is h. The first one has the bound of
// the ball that D contains, which holds before any evaluation.
func (g *growth) traced(n r3.Vec, h float64, v *Vertex) {
	t, upper := g.o.Trace, math.Inf(1)
	if g.iter == 1 {
		upper = g.best.upper
	}
	t.Steps = append(t.Steps, Step{
		Solver: g.by, Evaluation: len(t.Steps) + 1, Direction: n, Support: g.inPair(v),
		Slope: math.NaN(), Region: math.NaN(), Lower: math.Max(g.dual(n, h), 0), Upper: upper,
	})
}

// tracedPrimal adds to the evaluation recorded last the points of D that bound the factor from above.
func (g *growth) tracedPrimal(s *Simplex, upper float64) {
	step := g.o.Trace.last()
	step.Upper = math.Min(step.Upper, upper)
	step.Simplex = *s
	for i := range s.N {
		step.Simplex.V[i] = g.inPair(&s.V[i])
	}
	step.Iterate, step.Known = r3.Sub(s.point(), g.ray), true
}

// inPair is a vertex in the frame of the pair, given relative to the centers.
func (g *growth) inPair(v *Vertex) Vertex {
	x := Vertex{A: r3.Add(v.A, g.centerA), B: r3.Add(v.B, r3.Add(g.centerA, g.ray))}
	x.W = r3.Sub(x.A, x.B)
	return x
}

// tracedHalfspace records the only evaluation next to a half-space, whose outward normal is m. Its vertex is the
// support point of the bounded shape and the point of the plane below it.
func (g *growth) tracedHalfspace(r *Result, m r3.Vec) {
	v := Vertex{A: r.WitnessA, B: r.WitnessB}
	if plane := r3.Add(g.centerA, g.ray); unbounded(g.p.B) {
		v.B = r3.Sub(v.A, r3.Scale(r3.Dot(m, r3.Sub(v.A, plane)), m))
	} else {
		v.A = r3.Sub(v.B, r3.Scale(r3.Dot(m, r3.Sub(v.B, g.centerA)), m))
	}
	v.W = r3.Sub(v.A, v.B)
	t := g.o.Trace
	t.Steps = append(t.Steps, Step{
		Solver: StepFormula, Evaluation: len(t.Steps) + 1, Direction: r.Normal, Support: v,
		Slope: math.NaN(), Region: math.NaN(), Lower: r.Lower, Upper: r.Upper,
	})
}

// growthAnswer records the result of a growth distance.
func (t *Trace) growthAnswer(r *Result) {
	t.answer(r)
	s := &t.last().Simplex
	for i := range s.N {
		s.V[i].W = r3.Sub(s.V[i].A, s.V[i].B)
	}
}

// Growth distances in closed form.

// halfspace answers for a half-space and a bounded shape. With m the outward normal, c the center of the bounded
// shape at the distance v outside the plane and h its support function about c,
//
//	α = max(0, v/h(−m)).
//
// The normal is m or −m, whichever points from A to B; the witness of the bounded shape is its support point
// towards the plane, that of the half-space the point where the scaled shape meets it. The ball about c makes h
// positive; a shape without one is invalid, since a flat shape parallel to the plane never meets it.
func (g *growth) halfspace() Result {
	p := &g.p
	r := Result{Iterations: 1, Ended: EndedByFormula}
	var center, touch r3.Vec // of the bounded shape in the frame of the pair; its support point about the center
	var m r3.Vec
	var v float64
	if unbounded(p.A) {
		m = r3.Vec{Z: 1}
		center = r3.Add(g.centerA, g.ray)
		touch = p.rot.MulVec(r3.Sub(p.B.CoreSupport(p.rot.MulVecT(r3.Scale(-1, m))), g.centerB))
		touch = r3.Sub(touch, r3.Scale(g.radiusB, m))
		v, r.Normal = g.ray.Z, m
	} else {
		m = p.rot.MulVec(r3.Vec{Z: 1})
		center = g.centerA
		touch = r3.Sub(r3.Sub(p.A.CoreSupport(r3.Scale(-1, m)), center), r3.Scale(g.radiusA, m))
		v, r.Normal = -r3.Dot(m, g.ray), r3.Scale(-1, m)
	}
	h := math.Max(-r3.Dot(m, touch), g.inradius)
	r.Distance = math.Max(0, v/h)
	r.Lower = math.Max(0, (v-g.roundRay)/(h+g.roundSupport))
	r.Upper = math.Max(0, (v+g.roundRay)/math.Max(h-g.roundSupport, g.inradius))
	meet := r3.Add(center, r3.Scale(r.Distance, touch))
	touch = r3.Add(center, touch)
	if r.WitnessA, r.WitnessB = meet, touch; unbounded(p.B) {
		r.WitnessA, r.WitnessB = touch, meet
	}
	r.classifyGrowth(&g.o, g.tolerance(r.Distance))
	if g.o.Trace != nil {
		g.tracedHalfspace(&r, m)
	}
	return r
}

// formula answers the pairs that have a closed form and reports whether this is one.
func (g *growth) formula() bool {
	g.by = StepFormula
	a, b := g.p.A.Kind().Family(), g.p.B.Kind().Family()
	if a == geom.FamilyPoint && b == geom.FamilyPoint {
		return g.spheres()
	}
	return a == geom.FamilyBox && b == geom.FamilyBox && g.boxes()
}

// spheres answers two spheres: D is a ball of radius R about a point q within it, the difference of their
// middles relative to the centers, and |p − αq| = αR, of which the only positive root is
//
//	α = |p|²/(<p, q> + √(<p, q>² + |p|²(R² − |q|²))).
//
// The point of D on the ray is p/α, its normal that of the ball there.
func (g *growth) spheres() bool {
	middleA := r3.Sub(g.p.A.Center(), g.centerA)
	middleB := g.p.rot.MulVec(r3.Sub(g.p.B.Center(), g.centerB))
	q := r3.Sub(middleA, middleB)
	radius := g.radiusA + g.radiusB
	along := r3.Dot(g.axis, q)
	reach := along + math.Sqrt(along*along+(radius-norm(q))*(radius+norm(q)))
	n := unit(r3.Sub(r3.Scale(reach, g.axis), q))
	s := Simplex{N: 1, Lambda: [4]float64{1}}
	g.dualBound(n, g.support(n, &s.V[0]))
	g.primalBound(&s)
	g.ended = EndedByFormula
	return true
}

// The growth distance of two boxes. The normals of the facets of D are those of the separating axis test
// [Gottschalk1996]: three of A, three of B, nine cross products of edges. So α is the largest of the dual
// bounds of the fifteen axes, each with the sign that makes it positive. The witnesses lie in the faces,
// edges or vertices that the best axis exposes.

// parallelCosine is the cosine up to which an edge counts as orthogonal to the axis, and so as free.
const parallelCosine = 1e-13

// boxes answers two boxes without margins. Where faces or edges are parallel and the witnesses are not
// determined by one facet of each box, the simplex method finishes from the axis.
func (g *growth) boxes() bool {
	a, okA := g.p.A.(geom.Box)
	b, okB := g.p.B.(geom.Box)
	if !okA || !okB {
		return false
	}
	n, ok := g.bestAxis(a.HalfExtents, b.HalfExtents)
	if !ok {
		return false
	}
	var v Vertex
	g.dualBound(n, g.support(n, &v))
	if g.exposed(n, a.HalfExtents, b.HalfExtents, &v) {
		g.primalBound(&Simplex{V: [4]Vertex{v}, Lambda: [4]float64{1}, N: 1})
	}
	if g.ended = EndedByAxes; g.settled() {
		return true
	}
	g.ended = EndedByMethod
	g.start()
	g.iterate(n)
	return true
}

// bestAxis returns the axis with the largest dual bound, as a unit vector.
func (g *growth) bestAxis(a, b r3.Vec) (best r3.Vec, ok bool) {
	const parallel = 1e-12 // sine of edges whose cross product is no axis
	largest := 0.0
	shift := r3.Sub(g.p.rot.MulVec(g.centerB), g.centerA) // the middle of D is off 0 by the centers
	try := func(n r3.Vec) {
		along := r3.Dot(n, g.ray)
		if along < 0 {
			n, along = r3.Scale(-1, n), -along
		}
		m := g.p.rot.MulVecT(n)
		h := absDot(n, a) + absDot(m, b) + r3.Dot(n, shift)
		if along > largest*h {
			best, largest, ok = n, along/h, true
		}
	}
	axes := [3]r3.Vec{{X: 1}, {Y: 1}, {Z: 1}}
	for _, u := range axes {
		try(u)
		try(g.p.rot.MulVec(u))
	}
	for _, u := range axes {
		for _, w := range axes {
			if n := r3.Cross(u, g.p.rot.MulVec(w)); norm(n) > parallel {
				try(unit(n))
			}
		}
	}
	return best, ok
}

func absDot(n, e r3.Vec) float64 { return math.Abs(n.X)*e.X + math.Abs(n.Y)*e.Y + math.Abs(n.Z)*e.Z }

// exposed sets v to the point where the ray meets the facet of D that n exposes, as a difference of points of
// the exposed faces of the boxes. ok is false unless these have two free edges between them.
func (g *growth) exposed(n, a, b r3.Vec, v *Vertex) (ok bool) {
	m := r3.Scale(-1, g.p.rot.MulVecT(n))
	var localA, localB [3]float64
	var edges [2]boxEdge
	free := 0
	for i := range 3 {
		for k, box := range [2]struct {
			n, half r3.Vec
			at      *[3]float64
		}{{n, a, &localA}, {m, b, &localB}} {
			c, half := component(box.n, i), component(box.half, i)
			if math.Abs(c) > parallelCosine {
				box.at[i] = math.Copysign(half, c)
				continue
			}
			if free == 2 {
				return false
			}
			d := [3]r3.Vec{{X: 1}, {Y: 1}, {Z: 1}}[i]
			if k == 1 {
				d = r3.Scale(-1, g.p.rot.MulVec(d))
			}
			edges[free] = boxEdge{d, half, &box.at[i]}
			free++
		}
	}
	if free < 2 {
		return false
	}
	point := func() {
		v.A = r3.Sub(r3.Vec{X: localA[0], Y: localA[1], Z: localA[2]}, g.centerA)
		v.B = g.p.rot.MulVec(r3.Sub(r3.Vec{X: localB[0], Y: localB[1], Z: localB[2]}, g.centerB))
		v.W = r3.Sub(v.A, v.B)
	}
	// The middle of the facet plus multiples of the two edges is the point t·p of its plane.
	point()
	t := r3.Dot(n, v.W) / r3.Dot(n, g.ray)
	rest := r3.Sub(r3.Scale(t, g.ray), v.W)
	c := r3.Cross(edges[0].d, edges[1].d)
	cc := r3.Dot(c, c)
	x := r3.Dot(r3.Cross(rest, edges[1].d), c) / cc
	y := r3.Dot(r3.Cross(edges[0].d, rest), c) / cc
	*edges[0].at = math.Min(math.Max(x, -edges[0].half), edges[0].half)
	*edges[1].at = math.Min(math.Max(y, -edges[1].half), edges[1].half)
	point()
	return true
}

// boxEdge is a coordinate of a box that the axis leaves free: its direction in D, half its length, and where
// it is stored.
type boxEdge struct {
	d    r3.Vec
	half float64
	at   *float64
}

func component(v r3.Vec, i int) float64 { return [3]float64{v.X, v.Y, v.Z}[i] }

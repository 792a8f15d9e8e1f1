// Package ref holds the reference solvers: float64, clarity first, one method per
// file, each citing its paper. Everything else in the project is measured
// against them, so ref imports geom only and shares no packing code.
//
// A query is posed on a [Pair], the Minkowski difference D = core(A) − core(B) in
// a frame attached to A: [NewPair] forms the relative pose in float64. Every
// solver takes [Options] and returns a [Result] that carries certified bounds
// lower ≤ true value ≤ upper, rounding included. Lengths are in metres.
//
// [Solve] is the composition that callers want: closed form where one is exact,
// a GJK-family solver for the distance of the cores, EPA when the cores intersect.
//
// [Growth] answers another query, the growth distance: the factor by which both shapes, scaled about
// their centers, touch.
//
// [Contacts] are problems of another sort: contact impulses of rigid bodies, in dense form, with the solvers of
// [ContactSolvers]. These allocate.
//
// No other solver allocates once its [Workspace] has grown. A Pair and its
// Workspace belong to one goroutine; everything else is safe to share.
package ref

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/spatial/r3"

	"clearance/geom"
)

// mostSteps is the largest number of support evaluations of a pair, of all solvers together, where the options state
// none. A pair that is not decided by then is undecided, with the bounds that it has.
const mostSteps = 65_535

// Solve answers a query with the composition that callers want: the half-space in
// closed form, the method of the options for the cores, EPA where they intersect.
//
// Cores in which a ball rolls freely give it up first, see [Pair.eroded]: the same
// answers, with a third fewer steps on ellipsoids, and shallow penetrations
// become distances.
//
// MethodAuto is settled per pair by chosen; the result names the method taken.
func Solve(p *Pair, o Options, ws *Workspace) Result {
	r := solve(p, o, ws)
	if o.Trace != nil {
		o.Trace.answer(&r)
	}
	return r
}

// solve is [Solve] without the last step of a trace.
func solve(p *Pair, o Options, ws *Workspace) Result {
	if unbounded(p.A) || unbounded(p.B) {
		return Halfspace(p, o)
	}
	if o.Method == MethodAuto {
		o.Method = chosen(p, &o)
	}
	var r Result
	if o.Method == MethodRTR && SmoothPair(p.A, p.B) {
		r = solveRTR(p, o, ws)
	} else {
		r = solveByCores(p, o, ws)
	}
	r.Method = o.Method
	return r
}

// unbounded reports whether a shape is a half-space.
func unbounded(s geom.Shape) bool { return s.Kind().Traits().Unbounded }

// solveByCores is [Solve] by a distance solver and EPA.
func solveByCores(p *Pair, o Options, ws *Workspace) Result {
	q := p.eroded()
	r := solveCores(&q, &o, ws)
	if !needsDepth(&r, &o, &q) {
		return r
	}
	before := r.Iterations
	if !o.deduct(before) {
		return r
	}
	start := r.Simplex
	r = expandBriefly(p, &q, o, &start, ws)
	if r.Status == Undecided && o.deduct(r.Iterations) {
		r = retryFromNormal(&q, o, r, ws)
	}
	r.Iterations += before
	if r.Ended == EndedByMethod {
		r.Ended = EndedByEPA
	}
	return r
}

// expandBriefly is [EPA] of the eroded pair q of p, with another proof of the depth where there is one and the polytope
// needs many faces.
func expandBriefly(p, q *Pair, o Options, start *Simplex, ws *Workspace) Result {
	_, _, _, ok := p.inscribable()
	if !ok || o.MaxIterations > 0 {
		return EPA(q, o, start, ws)
	}
	brief := o
	brief.MaxIterations = inscribedAfter
	r := EPA(q, brief, start, ws)
	if r.Status != Undecided || r.Iterations < inscribedAfter {
		return r
	}
	found, ok := p.depthByInscribed(&o, &r)
	if ok {
		return found
	}
	before := max(r.Iterations, found.Iterations)
	o.MaxIterations = defaultEPAIterations - before
	r = EPA(q, o, start, ws)
	r.Iterations += before
	return r
}

// deduct subtracts n support evaluations from the cap and reports whether any are left.
func (o *Options) deduct(n int) bool {
	if o.MaxIterations == 0 {
		return true
	}
	o.MaxIterations = max(o.MaxIterations-n, 0)
	return o.MaxIterations > 0
}

// retryFromNormal runs GJK once more from the best normal known, for a pair that ended undecided: a
// distance lost to rounding in another sub-algorithm, or a poor start simplex, is recovered from
// there. The tighter bounds are the answer.
func retryFromNormal(p *Pair, o Options, r Result, ws *Workspace) Result {
	o.WarmStart = r.Normal
	again := gjk(p, &o, false, ws)
	before := r.Iterations + again.Iterations
	if again.Upper-again.Lower < r.Upper-r.Lower {
		r = again
		r.Ended = EndedByGJK
	}
	r.Iterations = before
	return r
}

func solveCores(p *Pair, o *Options, ws *Workspace) Result {
	switch o.Method {
	case MethodGJKJohnson:
		return GJKJohnson(p, *o, ws)
	case MethodNesterov:
		return Nesterov(p, *o, false, ws)
	case MethodNesterovNormalized:
		return Nesterov(p, *o, true, ws)
	case MethodPolyak:
		return Polyak(p, *o, false, ws)
	case MethodPolyakNormalized:
		return Polyak(p, *o, true, ws)
	case MethodFrankWolfe:
		return FrankWolfe(p, *o, ws)
	case MethodRTR: // of a pair that is not smooth
		r := gjk(p, o, false, ws)
		r.Ended = EndedByGJK
		return r
	default:
		return gjk(p, o, false, ws)
	}
}

// needsDepth reports whether a distance solver left the question open: because the
// cores intersect, so that its bounds hold zero distance of the cores, or
// because float64 was exhausted before the tolerance was met. EPA's polytope,
// which forgets no vertex, goes on from there in both cases.
func needsDepth(r *Result, o *Options, p *Pair) bool {
	if o.Boolean && (r.Status == Separated || r.Status == Penetrating) {
		return false
	}
	if o.HasCutOff && r.Lower > o.CutOff {
		return false
	}
	return r.Status == Undecided || r.Lower <= -p.Radius && r.Status != Touching
}

// Halfspace answers for a half-space and any bounded shape in closed form: along
// the outward normal n of the plane, the signed distance is the smallest
// <n, x> over the other shape minus the offset of the plane.
// Two half-spaces have no finite depth: their pair is Invalid.
func Halfspace(p *Pair, o Options) Result {
	if unbounded(p.A) && unbounded(p.B) {
		return Result{Status: Invalid, Distance: math.NaN(), Lower: math.Inf(-1), Upper: math.Inf(1),
			Normal: r3.Vec{X: math.NaN()}}
	}
	r := Result{Iterations: 1, Ended: EndedByFormula}
	rounding := p.Roundoff()
	var v Vertex
	if unbounded(p.A) {
		// The plane z = 0 of A's frame; B moves along +z to get away.
		n := r3.Vec{Z: 1}
		v = p.Support(n) // of B, the lowest point: Support takes B against the direction
		r.Distance = v.B.Z - p.Radius
		r.Normal = n
		r.WitnessB = r3.Sub(v.B, r3.Scale(p.B.Radius(), n))
		r.WitnessA = r3.Sub(r.WitnessB, r3.Scale(r.Distance, n))
	} else {
		n := p.rot.MulVec(r3.Vec{Z: 1}) // outward normal of B's plane, towards A
		v = p.Support(r3.Scale(-1, n))
		r.Distance = r3.Dot(n, r3.Sub(v.A, p.trans)) - p.Radius
		r.Normal = r3.Scale(-1, n)
		r.WitnessA = r3.Sub(v.A, r3.Scale(p.A.Radius(), n))
		r.WitnessB = r3.Sub(r.WitnessA, r3.Scale(r.Distance, n))
	}
	r.Lower, r.Upper = r.Distance-rounding, r.Distance+rounding
	if o.Trace != nil {
		o.Trace.evaluated(StepFormula, p, r.Normal, &v).Upper = r.Upper
	}
	r.classify(p, &o, 4*rounding)
	return r
}

// Status says what a solver proved. The codes equal those of package batch (a
// test holds them together).
type Status uint8

// Statuses of an answer.
const (
	Separated   Status = iota // a separating plane was found
	Touching                  // zero lies within the bounds, which met the tolerance
	Penetrating               // the interiors intersect
	Undecided                 // the bounds stayed further apart than the tolerance
	Invalid                   // the question itself is ill-posed
)

var statusNames = [...]string{"separated", "touching", "penetrating", "undecided", "invalid"}

func (s Status) String() string {
	if int(s) < len(statusNames) {
		return statusNames[s]
	}
	return fmt.Sprintf("status(%d)", uint8(s))
}

// Options configure a solver. The zero value asks for the signed distance at the
// tightest tolerance that float64 gives, with no cap that matters.
type Options struct {
	// Tolerance is the gap upper − lower, in metres, at which the solver stops.
	// 0 means 1e-12 × [Pair.Size] for distances and for depths of polytopes, and
	// 1e-8 × Size for depths of curved shapes.
	Tolerance float64

	// MaxIterations caps the support evaluations of one solver, EPA's and what follows it less
	// those before them; 0 is 1,000 for GJK, 100 for RTR, 100,000 for Frank-Wolfe, and 60,000
	// for EPA. With 0, [Solve] takes at most 65,535 with any method but Frank-Wolfe.
	MaxIterations int

	// CutOff is the signed distance, in metres, beyond which the caller does not
	// care: a solver may stop as soon as it has proved distance > CutOff.
	// HasCutOff enables it. CutOff = 0 asks "how deep" only of penetrating pairs.
	CutOff    float64
	HasCutOff bool

	// Boolean asks only whether the shapes intersect [Montaut2022, Alg. 2].
	Boolean bool

	// WarmStart, if not zero, is the initial direction from A to B in the frame of
	// the pair (see Pair.FromWorld); otherwise the line between the centers is used.
	WarmStart r3.Vec

	// Starts is the number of runs of [RTR] on shapes that intersect too deeply for its first minimum
	// to be known to be global; 0 means 1. Further runs start at axes of the shapes.
	Starts int

	// StopRule selects the stopping rule; the default is the certified gap.
	StopRule StopRule

	// Method picks the solver of [Solve].
	Method Method

	// Trace, if not nil, gets a step for every evaluation of the support function.
	Trace *Trace
}

// StopRule selects when a distance solver stops.
type StopRule uint8

const (
	// StopGap stops when the certified bounds are closer than the tolerance.
	StopGap StopRule = iota
	// StopDuality stops when the Frank-Wolfe duality gap of ½‖x‖²·2, that is
	// 2⟨x, x − s⟩, is at most the tolerance (in m²); [Montaut2022, eq. 15-17, 29].
	// It is there to repeat the papers' tables.
	StopDuality
)

// Method names a distance solver.
type Method uint8

// Distance solvers.
const (
	MethodGJK                Method = iota // GJK with the Signed Volumes sub-algorithm
	MethodGJKJohnson                       // GJK with Johnson's sub-algorithm and the Backup procedure
	MethodNesterov                         // Nesterov-accelerated GJK
	MethodNesterovNormalized               // the same with normalised directions
	MethodPolyak                           // Polyak-accelerated GJK
	MethodPolyakNormalized                 // the same with normalised directions
	MethodFrankWolfe                       // Frank-Wolfe with line search
	MethodRTR                              // Riemannian trust region, for smooth pairs; GJK for others
	MethodAuto                             // RTR for the smooth pairs on which it was measured to be faster, else GJK
	MethodCount
)

var methodNames = [MethodCount]string{
	"gjk", "gjk-johnson", "nesterov", "nesterov-normalized", "polyak", "polyak-normalized", "frank-wolfe", "rtr",
	"auto",
}

func (m Method) String() string {
	if m < MethodCount {
		return methodNames[m]
	}
	return fmt.Sprintf("method(%d)", uint8(m))
}

// Result is the answer to one query, in the frame of the pair (that of A).
//
// The true signed distance lies in [Lower, Upper]: positive apart, minus the
// depth in penetration. Distance is the bound that the witnesses realise.
// Normal is unit and points from A to B. WitnessA lies on A and WitnessB on B,
// and WitnessB = WitnessA + Distance·Normal within Upper − Lower.
type Result struct {
	Status             Status
	Distance           float64
	Lower, Upper       float64
	Normal             r3.Vec
	WitnessA, WitnessB r3.Vec
	Iterations         int    // support evaluations
	Method             Method // that [Solve] used, never MethodAuto
	Ended              Ending // the solver that ended the row, if not the method itself
	Simplex            Simplex
}

// Ending names the solver that ended a query which [Solve] began with its method.
type Ending uint8

// Endings.
const (
	EndedByMethod Ending = iota
	EndedByFormula
	EndedByGJK // after another method, or in its place
	EndedByEPA
	EndedByAxes   // of two boxes
	EndedByNewton // on the convex dual of the growth distance
)

// Gap is the half-width that holds the true value around Distance.
func (r *Result) Gap() float64 { return max(r.Upper-r.Distance, r.Distance-r.Lower) }

// Vertex is a point W = A − B of the Minkowski difference with the points of the
// two cores that made it, in the frame of the pair.
type Vertex struct{ W, A, B r3.Vec }

// Simplex is the set of vertices that a solver ended with and the barycentric
// coordinates of the point nearest to the origin.
type Simplex struct {
	V      [4]Vertex
	Lambda [4]float64
	N      int // vertices in use, 0 to 4
}

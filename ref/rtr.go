package ref

import (
	"math"

	"gonum.org/v1/gonum/spatial/r3"

	"clearance/geom"
)

// RTR finds the signed distance of a pair of smooth shapes as minus the minimum of the
// support function h of D over the unit sphere [RTR, eq. 8], by the Riemannian trust
// region method (Alg. 2): separated and penetrating alike.
//
// Every direction n proves the lower bound -h(n). If the eroded cores of [Pair.eroded] are separated
// along n, the distance of the two support points exceeds that bound only by the length of the
// gradient, so the minimum is global: for penetrations this is Theorem 1, by which a minimum whose
// depth is below the sum of the smallest radii of curvature is not merely local. A deeper minimum may
// be local; the result is then Undecided, with a valid Lower and the trivial Upper. Options.Starts
// asks for several starts, of which the lowest minimum counts. [Solve] goes on with a proof: in closed
// form for ellipsoids and spheres, by a depth certificate (depth_certificate.go), or by EPA.
//
// The ball of small radius that the authors add to a superquadric, whose Hessian degenerates
// (sec. IV-A), is not needed here: on the sphere, where ∂²h - h·I counts (eq. 12), a ball
// adds r to both terms and cancels.
//
// RTR of a pair that is not [SmoothPair] is Undecided.
func RTR(p *Pair, o Options, ws *Workspace) Result {
	q := p.eroded()
	t := ws.trustRegion()
	t.reset(&q, &o)
	if SmoothPair(p.A, p.B) {
		t.minimize(startDirection(&q, &o))
		if t.h > 0 && o.Starts > 1 {
			t.restart(o.Starts - 1)
		}
	}
	return t.result()
}

// SmoothPair reports whether RTR applies: both cores have a support function that is twice
// differentiable in almost all directions, and neither is a polytope. A sphere counts.
func SmoothPair(a, b geom.Shape) bool { return a.Kind().Traits().Smooth && b.Kind().Traits().Smooth }

// startDirection is the warm start, or the line of the centers [RTR, eq. 14], or any
// direction if they coincide.
func startDirection(p *Pair, o *Options) r3.Vec {
	if d := safeUnit(o.WarmStart); d != (r3.Vec{}) {
		return d
	}
	if d := safeUnit(r3.Scale(-1, p.centers())); d != (r3.Vec{}) {
		return d
	}
	return r3.Vec{X: 1}
}

const (
	defaultRTRIterations = 100

	// Radii of the trust region are lengths of the tangent step x → (x+v)/|x+v|: a step of 1
	// rotates the direction by 45°.
	startRegion = 0.5
	maxRegion   = 1.0
	// acceptRatio is ρ′ of Alg. 2, in (0, 1/4).
	acceptRatio = 0.1
)

// trustRegion is the state of one run of RTR.
type trustRegion struct {
	p        Pair // eroded
	o        Options
	tol      float64
	stop     float64
	rounding float64
	limit    int
	iter     int

	point

	trace []float64 // gradient norms, if not nil; for tests
}

// point is the current point of a run.
type point struct {
	x    r3.Vec  // unit direction
	v    Vertex  // of D along x
	h    float64 // <x, v.W>
	norm float64 // of the gradient: the part of v.W orthogonal to x
}

func (t *trustRegion) reset(p *Pair, o *Options) {
	trace := t.trace
	*t = trustRegion{p: *p, o: *o, rounding: p.Roundoff(), point: point{x: r3.Vec{X: 1}, h: math.Inf(1)}}
	if trace != nil {
		t.trace = trace[:0]
	}
	t.tol = p.tolerance(o, distanceTolerance)
	t.stop = p.stopGap(t.tol)
	t.limit = o.MaxIterations
	if t.limit == 0 {
		t.limit = defaultRTRIterations
	}
}

// minimize runs Alg. 2 from the unit direction x until the gradient is below the tolerance
// and no direction has negative curvature (eq. 13), or until rounding or the cap ends it.
func (t *trustRegion) minimize(x r3.Vec) {
	t.x, t.h = x, t.evaluate(x, &t.v)
	radius := startRegion
	fresh := true
	var m model
	for t.iter < t.limit {
		if fresh {
			m = t.model()
			t.norm = math.Hypot(m.g[0], m.g[1])
			if t.o.Trace != nil {
				t.tracedModel(radius)
			}
			if t.trace != nil {
				t.trace = append(t.trace, t.norm)
			}
			if t.settled(&m) {
				return
			}
		}
		step, decrease := m.truncatedCG(radius)
		length := math.Hypot(step[0], step[1])
		if !(length > 4*eps) {
			return
		}
		next := unit(r3.Add(t.x, r3.Add(r3.Scale(step[0], m.basis[0]), r3.Scale(step[1], m.basis[1]))))
		var v Vertex
		h := t.evaluate(next, &v)
		ratio := (t.h - h) / decrease
		// Where the decrease is below the rounding of h, the gradient decides.
		if decrease <= 2*t.rounding {
			ratio = 0
			if norm(r3.Sub(v.W, r3.Scale(h, next))) < t.norm {
				ratio = 1
			}
		}
		if fresh = ratio > acceptRatio; fresh {
			t.x, t.v, t.h = next, v, h
		} else if decrease <= 2*t.rounding {
			return
		}
		switch {
		case !(ratio >= 0.25):
			radius = min(radius, length) / 4
		case ratio > 0.75:
			radius = min(2*radius, maxRegion)
		}
	}
	t.norm = norm(r3.Sub(t.v.W, r3.Scale(t.h, t.x)))
}

// settled reports whether the run may end: the second-order conditions hold (eq. 13), or a cut-off or
// Boolean query is answered.
func (t *trustRegion) settled(m *model) bool {
	lower := -t.h - t.p.Radius - t.rounding
	if t.o.Boolean && lower > 0 || t.o.HasCutOff && lower > t.o.CutOff {
		return true
	}
	return t.norm <= t.stop/2 && m.lowest() >= -t.stop
}

// evaluate is the support function of D, with the vertex that attains it.
func (t *trustRegion) evaluate(x r3.Vec, v *Vertex) float64 {
	t.p.support(x, v)
	t.iter++
	if t.o.Trace != nil {
		t.o.Trace.evaluated(StepRTR, &t.p, x, v)
	}
	return r3.Dot(x, v.W)
}

// separatedUpper is the upper bound of the signed distance where the eroded cores are separated along the direction:
// the support points are |v.W| from one another, and off the normal by the length of the gradient.
func (t *trustRegion) separatedUpper() float64 {
	return max(norm(t.v.W), -t.h+t.norm) - t.p.Radius + t.rounding
}

// result states what the last direction proves.
func (t *trustRegion) result() Result {
	p := &t.p
	r := Result{Iterations: t.iter, Normal: t.x, Distance: -t.h - p.Radius, Lower: -t.h - p.Radius - t.rounding}
	r.WitnessA = r3.Add(t.v.A, r3.Scale(p.roundA(), t.x))
	r.WitnessB = r3.Sub(t.v.B, r3.Scale(p.roundB(), t.x))
	// No signed distance exceeds that of the two centers, which the scale bounds.
	r.Upper = p.scale
	if t.h < 0 {
		r.Upper = t.separatedUpper()
	}
	r.Simplex = Simplex{N: 1, Lambda: [4]float64{1}, V: [4]Vertex{t.v}}
	r.classify(p, &t.o, t.tol)
	return r
}

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
	before := r.Iterations
	q := p.eroded()
	if ws == nil || !(t.h > 0) || !(t.norm <= t.stop) || o.Boolean {
		o.Method = MethodGJK
		again := solve(p, o, ws)
		again.Iterations += before
		if again.Ended == EndedByMethod {
			again.Ended = EndedByGJK
		}
		return again
	}
	if t.proveEllipsoids(p, &r) || t.certifyDepth(p, &r, ws) {
		return r
	}
	before = t.iter
	again := epaFrom(&q, o, &t, ws)
	if again.Status == Undecided && o.deduct(again.Iterations) {
		again = retryFromNormal(&q, o, again, ws)
	}
	again.Iterations += before
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

// chosen returns the method that MethodAuto selects for a pair: RTR where both shapes are smooth and it
// was measured to be faster, certificate included (section 7 of lab/results/papers.md), GJK and EPA
// otherwise. One support value along the initial direction, not counted as an iteration, distinguishes
// pairs that are separated along it from those that may overlap.
//
//   - Ellipsoids and spheres that may overlap deeper than their inscribed rolling balls: RTR and the
//     closed-form proof, in about a fifth of the time of GJK and EPA. Other ellipsoids: GJK, whose
//     steps are cheap there.
//   - Other smooth, soft shapes that are separated: RTR, which needs a third of the steps.
//   - Two soft smooth revolutions that may overlap: RTR and the depth certificate. Other smooth pairs
//     that may overlap: GJK and EPA. RTR and its certificate take a third fewer steps, but more
//     expensive ones, with Hessians (BenchmarkSmoothOverlap).
//
// Boolean queries use GJK: they are answered long before either method has converged.
func chosen(p *Pair, o *Options) Method {
	if !SmoothPair(p.A, p.B) || o.Boolean {
		return MethodGJK
	}
	q := p.eroded()
	var v Vertex
	x := startDirection(&q, o)
	q.support(x, &v)
	apart := r3.Dot(x, v.W) < 0
	if _, round := semiAxes(p.A); round {
		if _, round = semiAxes(p.B); round {
			if apart {
				return MethodGJK
			}
			return MethodRTR
		}
	}
	revolutions := p.A.Kind().Family() == geom.FamilySmoothRevolution &&
		p.B.Kind().Family() == geom.FamilySmoothRevolution
	if soft(p.A) && soft(p.B) && (apart || revolutions) {
		return MethodRTR
	}
	return MethodGJK
}

// softest is the largest sharpness for which RTR is preferred: at 20 it is no faster than GJK on smooth
// hulls at the tolerance of single precision, at 50 it takes 1.5 times as long.
const softest = 10

// soft reports whether RTR converges fast enough on a shape that is apart from another: not
// where the curvature varies a lot, as near the flat sides of a superquadric with an
// exponent below 1, where there is no Hessian either.
func soft(s geom.Shape) bool {
	switch s := s.(type) {
	case interface{ Sharpness() float64 }:
		return s.Sharpness() <= softest
	case geom.Superquadric:
		return s.Alpha1 >= 1 && s.Alpha2 >= 1
	case geom.Rounded:
		return soft(s.Shape)
	}
	return true
}

// sameBasin is the cosine of the angle (18°) to a known minimum within which no further run is started.
const sameBasin = 0.95

// restart searches for a lower minimum of h from further starting directions and keeps the lowest. The
// candidates are the axes of both shapes, in both senses: they are normal to the flat sides of many
// shapes. h is evaluated along each, and the runs start from the lowest.
func (t *trustRegion) restart(runs int) {
	type candidate struct {
		d r3.Vec
		h float64
	}
	var list [12]candidate
	n := 0
	var v Vertex
	for _, d := range [6]r3.Vec{{X: 1}, {X: -1}, {Y: 1}, {Y: -1}, {Z: 1}, {Z: -1}} {
		list[n] = candidate{d, t.evaluate(d, &v)}
		d = t.p.rot.MulVec(d)
		list[n+1] = candidate{d, t.evaluate(d, &v)}
		n += 2
	}
	best := t.point
	for runs > 0 && n > 0 {
		low := 0
		for i := range n {
			if list[i].h < list[low].h {
				low = i
			}
		}
		d := list[low].d
		n--
		list[low] = list[n]
		if r3.Dot(d, best.x) > sameBasin || r3.Dot(d, t.x) > sameBasin {
			continue
		}
		if t.minimize(d); t.h < best.h {
			best = t.point
		}
		runs--
	}
	t.point = best
}

// model is the quadratic model of h around a direction, in a basis of the tangent plane
// [RTR, eq. 10-12].
type model struct {
	basis      [2]r3.Vec // orthonormal, orthogonal to the direction
	g          [2]float64
	xx, xy, yy float64 // Hessian
}

// model forms the gradient and the Hessian P·∂²h·P - h·I of the support function. Where a shape is not
// C² in this direction, ∂²h counts as 0: the trust region keeps the steps safe.
func (t *trustRegion) model() (m model) {
	m.basis[0], m.basis[1] = tangents(t.x)
	m.g = [2]float64{r3.Dot(m.basis[0], t.v.W), r3.Dot(m.basis[1], t.v.W)}
	p := &t.p
	m.add(p.A, m.basis[0], m.basis[1], t.x)
	back := func(d r3.Vec) r3.Vec { return p.rot.MulVecT(r3.Scale(-1, d)) }
	m.add(p.B, back(m.basis[0]), back(m.basis[1]), back(t.x))
	// The Hessians are those of the whole shapes, whose balls add their radii; so does h.
	h := t.h + p.Radius
	m.xx -= h
	m.yy -= h
	return m
}

// add adds the Hessian of a shape, in its own frame.
func (m *model) add(s geom.Shape, e, f, d r3.Vec) {
	smooth, ok := s.(geom.Smooth)
	if !ok {
		return
	}
	h, ok := smooth.SupportHessian(d)
	if !ok {
		r := s.Radius()
		m.xx, m.yy = m.xx+r, m.yy+r
		return
	}
	m.addForm(&h, e, f)
}

// addForm adds the quadratic form h, in the frame of e and f.
func (m *model) addForm(h *geom.Mat3, e, f r3.Vec) {
	he, hf := h.MulVec(e), h.MulVec(f)
	m.xx += r3.Dot(e, he)
	m.xy += r3.Dot(e, hf)
	m.yy += r3.Dot(f, hf)
}

// tangents completes a unit vector to an orthonormal basis.
func tangents(x r3.Vec) (e, f r3.Vec) {
	a := r3.Vec{X: 1}
	if math.Abs(x.X) > 0.6 {
		a = r3.Vec{Y: 1}
	}
	e = unit(r3.Cross(x, a))
	return e, r3.Cross(x, e)
}

// lowest returns the smallest eigenvalue of the Hessian.
func (m *model) lowest() float64 {
	mean, half := (m.xx+m.yy)/2, (m.xx-m.yy)/2
	return mean - math.Hypot(half, m.xy)
}

// apply returns Hv.
func (m *model) apply(v [2]float64) [2]float64 {
	return [2]float64{m.xx*v[0] + m.xy*v[1], m.xy*v[0] + m.yy*v[1]}
}

// truncatedCG minimises the model in the disc of the given radius by conjugate gradients
// that stop at its rim and at negative curvature (Steihaug 1983; [RTR, eq. 9]). Two
// steps are exact in the plane. At a stationary point that is no minimum the step goes along the
// lowest curvature. decrease is the decrease of the model.
func (m *model) truncatedCG(radius float64) (v [2]float64, decrease float64) {
	r := [2]float64{-m.g[0], -m.g[1]}
	rr := dot2(r, r)
	if low := m.lowest(); low < 0 && math.Sqrt(rr) <= -low*radius*1e-6 {
		return m.escape(low, radius)
	}
	p := r
	for range 2 {
		hp := m.apply(p)
		curvature := dot2(p, hp)
		alpha := rr / curvature
		next := [2]float64{v[0] + alpha*p[0], v[1] + alpha*p[1]}
		if !(curvature > 0) || !(dot2(next, next) < radius*radius) {
			v = toRim(v, p, radius)
			break
		}
		v = next
		r = [2]float64{r[0] - alpha*hp[0], r[1] - alpha*hp[1]}
		left := dot2(r, r)
		if !(left > 0) {
			break
		}
		beta := left / rr
		p, rr = [2]float64{r[0] + beta*p[0], r[1] + beta*p[1]}, left
	}
	return v, m.decrease(v)
}

// decrease is m(0) - m(v).
func (m *model) decrease(v [2]float64) float64 { return -dot2(m.g, v) - 0.5*dot2(v, m.apply(v)) }

// escape steps to the rim along the eigenvector of the lowest curvature, downhill.
func (m *model) escape(low, radius float64) (v [2]float64, decrease float64) {
	v = [2]float64{m.xy, low - m.xx}
	if w := [2]float64{low - m.yy, m.xy}; dot2(w, w) > dot2(v, v) {
		v = w
	}
	n := math.Sqrt(dot2(v, v))
	if !(n > 0) { // a multiple of the identity: any direction will do
		v, n = [2]float64{1, 0}, 1
	}
	if dot2(v, m.g) > 0 {
		n = -n
	}
	v = [2]float64{v[0] / n * radius, v[1] / n * radius}
	return v, m.decrease(v)
}

// toRim returns the point of v + τp, τ ≥ 0, on the rim of the disc; v lies inside.
func toRim(v, p [2]float64, radius float64) [2]float64 {
	a, b, c := dot2(p, p), dot2(v, p), dot2(v, v)-radius*radius
	if !(a > 0) {
		return v
	}
	tau := (-b + math.Sqrt(max(b*b-a*c, 0))) / a
	return [2]float64{v[0] + tau*p[0], v[1] + tau*p[1]}
}

func dot2(a, b [2]float64) float64 { return a[0]*b[0] + a[1]*b[1] }

// innerEllipsoid bounds the depth of the cores of two ellipsoids (or spheres) from below, in
// closed form: it proves most penetrations that [RTR] finds without a polytope.
//
// With F₁ = diag(a) and F₂ = diag(b)·Rᵀ the support function of D is |F₁n| + |F₂n| + <c, n>,
// which is at least |Mn| + <c, n> with M = F₁ + S·F₂ for any orthogonal S: D holds the
// ellipsoid of Q = MᵀM about c (Kurzhanski and Vályi, Ellipsoidal Calculus, 1997). An S that
// maps the direction of F₂x to that of F₁x lets it touch D along the x that RTR found; the remaining rotation about
// F₁x is chosen to bring the curvatures there close to each other.
//
// The depth of the origin in that ellipsoid has a dual: with 0 > t > -λ, λ the lowest
// eigenvalue of Q, its square is at least q(t) = t·(cᵀ(Q+tI)⁻¹c - 1), and the best t is
// -h·|Mx| at a minimum. It is taken a little smaller in magnitude, since for coinciding
// centers that is the eigenvalue itself.
//
// Computed with a Cholesky decomposition, which must succeed, q is the exact one of a Q' that
// is off by less than 128 eps·scale²: entries are at most scale, S is orthogonal to 10 eps,
// M adds four products per entry, Q and the factor three each, and the norm of an error is
// at most three times its largest entry. Since √a - √b ≤ |a-b|/√b, that shifts support
// values by less than 128 eps·scale²/√λ', and λ' > -t.
//
// x is a unit direction of the frame of p, h the support value of the cores along it.
func (p *Pair) innerEllipsoid(x r3.Vec, h, stop float64) (depth float64, ok bool) {
	a, okA := semiAxes(p.A)
	b, okB := semiAxes(p.B)
	if !okA || !okB || !(h > 0) {
		return 0, false
	}
	f1, f2 := stretch(a, x), stretch(b, p.rot.MulVecT(x))
	s := aligned(p, a, b, x, f1, f2)
	var m [3]r3.Vec // columns
	for k, e := range [3]r3.Vec{{X: 1}, {Y: 1}, {Z: 1}} {
		m[k] = r3.Add(stretch(a, e), s.MulVec(stretch(b, p.rot.MulVecT(e))))
	}
	t := -h * (norm(f1) + norm(f2)) * (1 - min(0.5, stop/(4*h)))
	c := p.centers()
	// The lower factor of Q + tI, and z = L⁻¹c.
	l00, ok0 := root(r3.Dot(m[0], m[0]) + t)
	l10, l20 := r3.Dot(m[1], m[0])/l00, r3.Dot(m[2], m[0])/l00
	l11, ok1 := root(r3.Dot(m[1], m[1]) + t - l10*l10)
	l21 := (r3.Dot(m[2], m[1]) - l20*l10) / l11
	l22, ok2 := root(r3.Dot(m[2], m[2]) + t - l20*l20 - l21*l21)
	if !ok0 || !ok1 || !ok2 {
		return 0, false
	}
	z0 := c.X / l00
	z1 := (c.Y - l10*z0) / l11
	z2 := (c.Z - l20*z0 - l21*z1) / l22
	q := -t * (1 - z0*z0 - z1*z1 - z2*z2)
	if !(q > 0) {
		return 0, false
	}
	return math.Sqrt(q) - 128*eps*p.scale*p.scale/math.Sqrt(-t), true
}

// root is the square root of a positive number.
func root(v float64) (float64, bool) { return math.Sqrt(v), v > 0 }

// semiAxes returns those of the core; a sphere's is a point.
func semiAxes(s geom.Shape) (r3.Vec, bool) {
	switch s := s.(type) {
	case geom.Sphere:
		return r3.Vec{}, true
	case geom.Ellipsoid:
		return s.SemiAxes, true
	case geom.Rounded:
		return semiAxes(s.Shape)
	}
	return r3.Vec{}, false
}

func stretch(a, v r3.Vec) r3.Vec { return r3.Vec{X: a.X * v.X, Y: a.Y * v.Y, Z: a.Z * v.Z} }

// aligned returns the orthogonal S of [Pair.innerEllipsoid]. With G₁ and G₂ the maps of
// the tangent plane of x to the planes orthogonal to F₁x and F₂x, the rotation or reflection between
// these planes maximises the trace of G₁ᵀSG₂.
func aligned(p *Pair, a, b, x, f1, f2 r3.Vec) geom.Mat3 {
	u1, u2 := unit(f1), unit(f2)
	if u1 == (r3.Vec{}) || u2 == (r3.Vec{}) { // a point: any S will do
		return geom.Mat3{1, 0, 0, 0, 1, 0, 0, 0, 1}
	}
	var g1, g2 [2][2]float64
	var a1, b1, e [2]r3.Vec
	e[0], e[1] = tangents(x)
	a1[0], a1[1] = tangents(u1)
	b1[0], b1[1] = tangents(u2)
	for j := range 2 {
		v1, v2 := stretch(a, e[j]), stretch(b, p.rot.MulVecT(e[j]))
		for i := range 2 {
			g1[i][j], g2[i][j] = r3.Dot(a1[i], v1), r3.Dot(b1[i], v2)
		}
	}
	var c [2][2]float64 // G₁G₂ᵀ
	for i := range 2 {
		for j := range 2 {
			c[i][j] = g1[i][0]*g2[j][0] + g1[i][1]*g2[j][1]
		}
	}
	// Rotations [cos -sin; sin cos] and reflections [cos sin; sin -cos].
	cos, sin, flip := c[0][0]+c[1][1], c[1][0]-c[0][1], 1.0
	if rc, rs := c[0][0]-c[1][1], c[0][1]+c[1][0]; math.Hypot(rc, rs) > math.Hypot(cos, sin) {
		cos, sin, flip = rc, rs, -1
	}
	n := math.Hypot(cos, sin)
	if !(n > 0) {
		cos, sin, n = 1, 0, 1
	}
	cos, sin = cos/n, sin/n
	// Images of the columns of u₂, b₀, b₁.
	w0 := r3.Add(r3.Scale(cos, a1[0]), r3.Scale(sin, a1[1]))
	w1 := r3.Scale(flip, r3.Sub(r3.Scale(cos, a1[1]), r3.Scale(sin, a1[0])))
	row := func(k int) (x, y, z float64) {
		at := func(v r3.Vec) float64 { return [3]float64{v.X, v.Y, v.Z}[k] }
		v := r3.Add(r3.Scale(at(u1), u2), r3.Add(r3.Scale(at(w0), b1[0]), r3.Scale(at(w1), b1[1])))
		return v.X, v.Y, v.Z
	}
	var s geom.Mat3
	for k := range 3 {
		s[3*k], s[3*k+1], s[3*k+2] = row(k)
	}
	return s
}

package derive

import (
	"math"

	"clearance/geom"
	"clearance/geom/hull"
	"clearance/ref"

	"gonum.org/v1/gonum/spatial/r3"
)

// Workspace is the memory of derivatives. The zero value is ready; it belongs to one goroutine.
type Workspace struct {
	face    []int32
	corners []vec2
	seen    map[int32]bool
	solver  ref.Workspace
}

// Derivative is the linearization of a row at its answer.
type Derivative struct {
	p          problem
	s          system
	smoothness Smoothness
	full       *[10]Twists // the Jacobian of a zeroth-order estimate: value, normal, witnesses; else nil
}

// Angles within which vertices count as one feature. The first is what a polished normal resolves. The others
// are for features that the normal of the answer does not resolve: that of a row with the gap of a default
// tolerance in single precision is exact to about the square root of 1e-6.
var featureAngles = [...]float64{1e-9, 1e-7, 1e-5, 1e-3}

const (
	maxNewton       = 12
	minCosine       = 0.99 // between the answer's normal and the polished one
	polished        = 1e-9 // what Newton's steps must have come down to, relative to the size
	polishedFeature = 1e-9 // distance from the boundary of a feature that counts, relative to the size
)

// Exact returns the derivatives of the answer itself.
func (w *Workspace) Exact(r *Row) (d Derivative) {
	if !r.usable() {
		return d
	}
	d.p = r.problem()
	n := r3.Unit(r.Normal)
	a, b := r3.Sub(r.WitnessA, d.p.origin), r3.Sub(r.WitnessB, d.p.origin)
	state := NearSingular
	for _, theta := range featureAngles {
		found := d.s.polish(w, &d.p, n, a, b, theta)
		if found != NearSingular {
			state = found
			break
		}
	}
	d.smoothness = state
	if state.Full() && !d.p.growth && d.s.value <= equalTolerance*d.p.size && w.equalMinimum(&d.p, &d.s) {
		d.smoothness = NotUnique
	}
	if !d.smoothness.Full() {
		d.s.asReported(&d.p, n, a, b, r.Value)
		if d.p.growth && !(d.s.h > 0) {
			d.smoothness = None
		}
	}
	return d
}

// asReported takes normal, witnesses and value as they are, for the derivative of the value alone.
func (s *system) asReported(p *problem, n, a, b r3.Vec, value float64) {
	*s = system{size: p.size}
	s.e = tangentBasis(n)
	s.assemble(p, n, feature{point: a}, feature{point: b})
	s.value = value
}

// polish solves for the normal by Newton's method from that of the answer, with features found within the angle
// theta, and verifies the result with the least of the angles. NearSingular says that it failed.
func (s *system) polish(w *Workspace, p *problem, n, a, b r3.Vec, theta float64) Smoothness {
	start := n
	least := math.Inf(1)
	for range maxNewton {
		v := s.at(w, p, n, a, b, theta)
		if !s.a.ok || !s.b.ok || v == irregular {
			return NearSingular
		}
		if v == parallel {
			return s.parallelFeatures(p, theta)
		}
		x, ok := s.newton(p)
		step := math.Hypot(x.dn[0], x.dn[1])
		if !ok || !(step < 0.5) {
			return NearSingular
		}
		n, a, b = s.advance(p, x)
		if !(step > 1e-14) || !(step < least) && step < 1e-12 {
			break
		}
		least = min(least, step)
	}
	if !(r3.Dot(n, start) > minCosine) {
		return NearSingular
	}
	return s.verify(w, p, n, a, b)
}

// at evaluates the features at n and solves the system there.
func (s *system) at(w *Workspace, p *problem, n, a, b r3.Vec, theta float64) verdict {
	s.e = tangentBasis(n)
	fa := w.at(&p.a, n, a, theta, &s.e)
	fb := w.at(&p.b, r3.Scale(-1, n), b, theta, &s.e)
	s.assemble(p, n, fa, fb)
	return s.solve()
}

// newton returns the step that satisfies the optimality conditions to the first order.
func (s *system) newton(p *problem) (x unknowns, ok bool) {
	u := s.e.of(r3.Sub(s.b.point, s.a.point))
	if p.growth {
		if !(s.value > 0) || !(s.h > 0) {
			return x, false
		}
		u = s.e.of(r3.Sub(s.commonB(p), s.commonA(p)))
		u = vec2{u[0] / s.value, u[1] / s.value}
	}
	r := unknowns{dn: u}
	for i := range s.a.flat {
		r.yA[i] = -r3.Dot(s.a.t[i], s.n)
	}
	for i := range s.b.flat {
		r.yB[i] = r3.Dot(s.b.t[i], s.n)
	}
	return s.apply(r), true
}

// commonA is the common point of a growth distance as A has it.
func (s *system) commonA(p *problem) r3.Vec {
	if p.a.unbounded {
		return s.a.point
	}
	return r3.Add(p.a.center, r3.Scale(s.value, s.abar))
}

func (s *system) commonB(p *problem) r3.Vec {
	if p.b.unbounded {
		return s.b.point
	}
	return r3.Add(p.b.center, r3.Scale(s.value, s.bbar))
}

// advance returns the normal after a step, and points of the features to the first order.
func (s *system) advance(p *problem, x unknowns) (n, a, b r3.Vec) {
	n = r3.Unit(r3.Add(s.n, s.e.vec(x.dn)))
	a = r3.Add(s.a.point, s.e.vec(s.a.h.mul(x.dn)))
	b = r3.Sub(s.b.point, s.e.vec(s.b.h.mul(x.dn)))
	for i := range s.a.flat {
		a = r3.Add(a, r3.Scale(s.scaleA*x.yA[i], s.a.t[i]))
	}
	for i := range s.b.flat {
		b = r3.Add(b, r3.Scale(s.scaleB*x.yB[i], s.b.t[i]))
	}
	return n, a, b
}

// verify evaluates the features at the polished normal within the least angle. The optimality conditions hold if
// another step is zero and the witnesses lie in their features.
func (s *system) verify(w *Workspace, p *problem, n, a, b r3.Vec) Smoothness {
	v := s.at(w, p, n, a, b, featureAngles[0])
	switch {
	case !s.a.ok || !s.b.ok || v == irregular:
		return NearSingular
	case v == parallel:
		return s.parallelFeatures(p, featureAngles[0])
	}
	x, ok := s.newton(p)
	slide := max(math.Hypot(x.yA[0], x.yA[1]), math.Hypot(x.yB[0], x.yB[1]))
	inside := min(s.a.inside, s.b.inside)
	switch {
	case !ok || !(math.Hypot(x.dn[0], x.dn[1]) <= polished) || !(slide <= polished*p.size),
		!(inside >= -polishedFeature*p.size):
		return NearSingular
	case !(inside > polishedFeature*p.size):
		return NotUnique
	case s.a.flat+s.b.flat == 0 && s.a.curved && s.b.curved:
		return Smooth
	}
	return UniqueFeatures
}

// parallelFeatures reports NotUnique if the parallel features meet the optimality conditions at n: they are
// orthogonal to it, within theta, and the witnesses differ along it.
func (s *system) parallelFeatures(p *problem, theta float64) Smoothness {
	bound := max(10*theta, polished)
	for i := range s.a.flat {
		if !(math.Abs(r3.Dot(s.a.t[i], s.n)) <= bound) {
			return NearSingular
		}
	}
	for i := range s.b.flat {
		if !(math.Abs(r3.Dot(s.b.t[i], s.n)) <= bound) {
			return NearSingular
		}
	}
	u := s.e.of(r3.Sub(s.b.point, s.a.point))
	if p.growth {
		u = s.e.of(r3.Sub(s.commonB(p), s.commonA(p)))
	}
	if !(math.Hypot(u[0], u[1]) <= bound*(p.size+math.Abs(s.value))) {
		return NearSingular
	}
	return NotUnique
}

// Smoothness says what the derivatives are.
func (d *Derivative) Smoothness() Smoothness { return d.smoothness }

// VJP returns the vector-Jacobian product: the gradient with respect to the twists of both bodies of a scalar
// whose gradient with respect to the answer is c. A cotangent of the normal counts by its part orthogonal to
// the normal.
func (d *Derivative) VJP(c *Cotangent) (g Twists) {
	switch {
	case d.smoothness == None:
	case d.full != nil:
		d.fullVJP(c, &g)
	case d.smoothness.Full():
		d.s.cotangent(&d.p, c, &g)
	default:
		d.s.pushRelative(&d.p, &g, c.Value, vec2{})
	}
	return g
}

// JVP returns the Jacobian-vector product: the derivative of the answer along twists. It is the transpose of VJP.
func (d *Derivative) JVP(t *Twists) (c Cotangent) {
	switch {
	case d.smoothness == None:
	case d.full != nil:
		return d.fullJVP(t)
	case d.smoothness.Full():
		return d.s.tangent(&d.p, t)
	default:
		g := d.Value()
		for i := range g {
			c.Value += g[i] * t[i]
		}
	}
	return c
}

// Value returns the gradient of the value.
func (d *Derivative) Value() Twists { return d.VJP(&Cotangent{Value: 1}) }

// Jacobian returns the derivatives of normal and witnesses, each [3,12]: a row of twelve per component.
func (d *Derivative) Jacobian() (normal, witnessA, witnessB [3]Twists) {
	if !d.smoothness.Full() {
		return normal, witnessA, witnessB
	}
	for i := range 12 {
		var t Twists
		t[i] = 1
		c := d.JVP(&t)
		normal[0][i], normal[1][i], normal[2][i] = c.Normal.X, c.Normal.Y, c.Normal.Z
		witnessA[0][i], witnessA[1][i], witnessA[2][i] = c.WitnessA.X, c.WitnessA.Y, c.WitnessA.Z
		witnessB[0][i], witnessB[1][i], witnessB[2][i] = c.WitnessB.X, c.WitnessB.Y, c.WitnessB.Z
	}
	return normal, witnessA, witnessB
}

// Curvature returns the Hessians of both support functions at the normal, in metres: the entries xx, xy and yy of
// A, then of B, in the basis of the tangent plane that [Duff2017, listing 3] makes of the normal. Directions of a
// flat feature, in which they are infinite, count with the radius of the shape.
func (d *Derivative) Curvature() (c [6]float64) {
	if !d.smoothness.Full() || d.full != nil {
		return c
	}
	copy(c[:3], d.s.a.h[:])
	copy(c[3:], d.s.b.h[:])
	return c
}

// Answer returns the answer that the derivatives are of: that of the row, polished where derivatives are exact.
func (d *Derivative) Answer() (value float64, normal, witnessA, witnessB r3.Vec) {
	return d.s.value, d.s.n, r3.Add(d.s.a.point, d.p.origin), r3.Add(d.s.b.point, d.p.origin)
}

// equalTolerance, times the size of the pair, is the difference of two local minima of the depth that counts as zero.
const equalTolerance = 1e-9

// equalMinimum reports whether the depth is attained along another normal. It tests the opposite normal, the
// normals of all faces, and the cross products of the edges of boxes: the minima of two polytopes but for those
// of edges of hulls. Other minima are not seen.
func (w *Workspace) equalMinimum(p *problem, s *system) bool {
	if p.a.unbounded || p.b.unbounded {
		return false
	}
	depth := -s.value + equalTolerance*p.size
	better := func(d r3.Vec) bool {
		if r3.Dot(d, s.n) > 1-1e-12 {
			return false
		}
		return p.separation(d) >= -depth
	}
	if better(r3.Scale(-1, s.n)) {
		return true
	}
	if p.faceMinimum(&p.a, &p.b, 1, depth, s, better) || p.faceMinimum(&p.b, &p.a, -1, depth, s, better) {
		return true
	}
	if _, ok := p.a.core.(geom.Box); !ok {
		return false
	}
	if _, ok := p.b.core.(geom.Box); !ok {
		return false
	}
	for i := range 3 {
		for j := range 3 {
			c := r3.Cross(column(&p.a.rot, i), column(&p.b.rot, j))
			if l := r3.Norm(c); l > parallelSine {
				c = r3.Scale(1/l, c)
				if better(c) || better(r3.Scale(-1, c)) {
					return true
				}
			}
		}
	}
	return false
}

// separation returns minus the support value of D in the unit direction d.
func (p *problem) separation(d r3.Vec) float64 {
	return r3.Dot(d, r3.Sub(p.b.support(r3.Scale(-1, d)), p.a.support(d)))
}

func (s *placed) support(d r3.Vec) r3.Vec {
	x := r3.Add(s.rot.MulVec(s.core.CoreSupport(s.rot.MulVecT(d))), s.pos)
	return r3.Add(x, r3.Scale(s.radius, d))
}

// faceMinimum reports whether a direction is better among the normals of the faces of a shape, times sign.
func (p *problem) faceMinimum(of, other *placed, sign, depth float64, s *system, better func(r3.Vec) bool) bool {
	switch c := of.core.(type) {
	case geom.Box:
		for i := range 3 {
			axis := column(&of.rot, i)
			if better(axis) || better(r3.Scale(-1, axis)) {
				return true
			}
		}
	case geom.Cylinder, geom.Cone, geom.Frustum:
		axis := column(&of.rot, 2)
		return better(axis) || better(r3.Scale(-1, axis))
	case *geom.Convex:
		known := s.a.point
		if other == &p.b {
			known = s.b.point
		}
		return hullFaceMinimum(c.Hull(), of, other, sign, depth, known, better)
	case geom.Sphere, geom.Capsule, geom.Halfspace, geom.Smooth: // without faces, or not asked
	default:
		panic(unknown(c))
	}
	return false
}

// hullFaceMinimum is faceMinimum of a hull. known is a point of the other shape. Points of the other shape bound its
// support value from below, which rules out most faces: known, its center with the inscribed ball, and its last
// support points.
func hullFaceMinimum(h *hull.Hull, of, other *placed, sign, depth float64, known r3.Vec,
	better func(r3.Vec) bool) bool {
	relative := func(x r3.Vec) r3.Vec { return of.rot.MulVecT(r3.Sub(x, of.pos)) }
	points := [4]r3.Vec{relative(known), relative(known), relative(known), relative(known)}
	center := relative(r3.Add(other.rot.MulVec(other.core.Center()), other.pos))
	inradius := other.core.Inradius()
	oldest := 0
	for f := range max(len(h.FaceStart)-1, 0) {
		k := h.FaceStart[f]
		n := h.Normals[k]
		bound := h.Offsets[k] + of.radius
		if bound-(r3.Dot(n, center)-inradius) > depth || isBeyond(&points, n, bound, depth) {
			continue
		}
		n = of.rot.MulVec(n)
		if better(r3.Scale(sign, n)) {
			return true
		}
		points[oldest] = relative(other.support(r3.Scale(-1, n)))
		oldest = (oldest + 1) % len(points)
	}
	return false
}

// isBeyond reports whether a point lies deeper than depth below the plane <n, x> = bound.
func isBeyond(points *[4]r3.Vec, n r3.Vec, bound, depth float64) bool {
	for i := range points {
		if bound-r3.Dot(n, points[i]) > depth {
			return true
		}
	}
	return false
}

func column(m *geom.Mat3, i int) r3.Vec { return r3.Vec{X: m[i], Y: m[3+i], Z: m[6+i]} }

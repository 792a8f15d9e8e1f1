package derive

import (
	"context"
	"math"

	"clearance/geom"
	"clearance/ref"

	"gonum.org/v1/gonum/spatial/r3"
)

// Workspace is the memory of derivatives. The zero value is ready; it belongs to one goroutine.
type Workspace struct {
	face    []int32
	corners []vec2
	seen    map[int32]bool
	cones   []cone
	bounds  [2]geom.HessianBounds // of A and of B
	solver  ref.Workspace
	ctx     context.Context // that ends the samples of a row, nil for none
}

// stopped reports whether the samples of a row are to end; the row then holds anything.
func (w *Workspace) stopped() bool { return w.ctx != nil && w.ctx.Err() != nil }

// Derivative is the linearization of a row at its answer.
type Derivative struct {
	p          problem
	s          system
	smoothness Smoothness
	other      bool        // there may be another normal: of another minimum of the depth, or of the same point
	full       *[10]Twists // the Jacobian of a zeroth-order estimate: value, normal, witnesses; else nil
}

// Angles within which vertices count as one feature. The first is finestAngle. The others
// are for features that the normal of the answer does not resolve: that of a row with the gap of a default
// tolerance in single precision is exact to about the square root of 1e-6.
var featureAngles = [...]float64{finestAngle, 1e-7, 1e-5, 1e-3}

// finestAngle is what a polished normal resolves.
const finestAngle = 1e-9

const (
	maxNewton       = 12
	maxNewtonDamped = 60   // of superquadrics: beside infinite curvatures steps fall by constant factors
	maxMoves        = 2    // off directions in which a superquadric has no Hessian
	minCosine       = 0.99 // between the answer's normal and the polished one
	polished        = 1e-9 // what Newton's steps must have come down to, relative to the size
	polishedFeature = 1e-9 // distance from the boundary of a feature that counts, relative to the size
)

// Exact returns the derivatives of the answer itself.
func (w *Workspace) Exact(r *Row) (d Derivative) {
	w.ExactInto(r, &d)
	return d
}

// ExactInto is Exact without an allocation.
func (w *Workspace) ExactInto(r *Row, d *Derivative) {
	*d = Derivative{}
	if !r.usable() {
		return
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
		if d.s.a.curved && d.s.b.curved { // have no features
			break
		}
	}
	if state.Full() && d.s.isLarge(&d.p) {
		state = NearSingular
	}
	d.smoothness = state
	touches := equalTolerance * d.p.size
	switch {
	case !state.Full() && w.isUndetermined(d, n, r.Value):
		d.other = true
		if d.smoothness = NotUnique; !d.p.hasCone() {
			d.smoothness = NearSingular
		}
	case d.p.growth: // has no other minima
	case state.Full() && d.s.value <= touches:
		switch found, proved := w.otherMinimum(&d.p, &d.s); {
		case found:
			d.smoothness, d.other = NotUnique, true
		case !proved:
			d.smoothness, d.other = NearSingular, true
		}
	case state == NearSingular && r.Value < touches && w.otherThan(&d.p, n, d.s.n):
		d.smoothness, d.other = NotUnique, true
	}
	if !d.smoothness.Full() {
		d.s.asReported(&d.p, n, a, b, r.Value)
		if d.p.growth && !(d.s.h > 0) {
			d.smoothness = None
		}
	}
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
	damped := isSuperquadric(p.a.core) || isSuperquadric(p.b.core)
	steps := maxNewton
	if damped {
		steps = maxNewtonDamped
	}
	residual, from, move := math.Inf(1), n, vec2{}
	var e basis
	moves := 0 // to where the Hessians are those of the directions
	for range steps {
		v := s.at(w, p, n, a, b, theta)
		if v == parallel {
			if !s.a.ok || !s.b.ok {
				return NearSingular
			}
			return s.parallelFeatures(p, theta)
		}
		if damped && s.a.flat+s.b.flat < 2 {
			// Where a curvature is infinite beside the answer, steps are too long: they are halved until the conditions
			// hold better than before, or to rounding.
			u := s.across(s.mismatch(p))
			if length := math.Hypot(u[0], u[1]); length > residual && length > 1e-13*p.size {
				move = vec2{move[0] / 2, move[1] / 2}
				n = r3.Unit(r3.Add(from, e.vec(move)))
				continue
			} else {
				residual = length
			}
			if !s.a.ok || !s.b.ok {
				var ok bool
				if n, ok = s.besideUnresolved(p, u); !ok || moves == maxMoves {
					return NearSingular
				}
				moves++
				residual = math.Inf(1)
				continue
			}
		}
		if !s.a.ok || !s.b.ok || v == irregular {
			return NearSingular
		}
		x, ok := s.newton(p)
		step := math.Hypot(x.dn[0], x.dn[1])
		if !ok || !(step < 0.5) {
			return NearSingular
		}
		from, move, e = n, x.dn, s.e
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

// across is the part of a tangential vector that is orthogonal to a feature of one dimension, if there is one.
func (s *system) across(u vec2) vec2 {
	if s.a.flat+s.b.flat != 1 {
		return u
	}
	t := s.tA[0]
	if s.b.flat == 1 {
		t = s.tB[0]
	}
	along := dot2(t, u) / dot2(t, t)
	return vec2{u[0] - along*t[0], u[1] - along*t[1]}
}

// mismatch is the tangential part of the difference of the witnesses, or of the common points of a growth distance over
// it, which is zero at an answer.
func (s *system) mismatch(p *problem) vec2 {
	if !p.growth {
		return s.e.of(r3.Sub(s.b.point, s.a.point))
	}
	u := s.e.of(r3.Sub(s.commonB(p), s.commonA(p)))
	return vec2{u[0] / s.value, u[1] / s.value}
}

// besideUnresolved is the normal moved to where the Hessians of superquadrics are those of their directions and not of
// rounding: components that count as zero become the least one that does not. A support point follows its direction, so
// the sign of a component is that of the motion of the point by which the mismatch u vanishes. Where the curvature is
// infinite at zero the point is a concave function of the component, so steps from below the answer do not pass it.
// Where the answer has a component that counts as zero itself, steps lead back. It reports false where none is the
// reason.
func (s *system) besideUnresolved(p *problem, u vec2) (n r3.Vec, ok bool) {
	n = s.n
	move := s.e.vec(u)
	beside := func(component, sign float64) float64 {
		if withoutRounding(component) == 0 {
			return math.Copysign(1.001*leastComponent, sign)
		}
		return component
	}
	for i, side := range [...]*placed{&p.a, &p.b} {
		core, superquadric := side.core.(geom.Superquadric)
		outward := float64(1 - 2*i)
		d := side.rot.MulVecT(r3.Scale(outward, n))
		if !superquadric {
			continue
		}
		if _, isResolved := resolved(core, d); isResolved {
			continue
		}
		to := side.rot.MulVecT(r3.Scale(outward, move))
		d = r3.Unit(r3.Vec{X: beside(d.X, to.X), Y: beside(d.Y, to.Y), Z: beside(d.Z, to.Z)})
		n, ok = r3.Scale(outward, side.rot.MulVec(d)), true
	}
	return n, ok
}

// newton returns the step that satisfies the optimality conditions to the first order.
func (s *system) newton(p *problem) (x unknowns, ok bool) {
	if p.growth && (!(s.value > 0) || !(s.h > 0)) {
		return x, false
	}
	r := unknowns{dn: s.mismatch(p)}
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
	v := s.at(w, p, n, a, b, finestAngle)
	switch {
	case !s.a.ok || !s.b.ok || v == irregular:
		return NearSingular
	case v == parallel:
		return s.parallelFeatures(p, finestAngle)
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
// A, then of B, in the basis of the tangent plane that [Duff2017, listing 3] makes of the normal, but that it is the
// one for z ≥ 0 where the normal has z ≥ -0.4. Directions of a flat feature, in which they are infinite, count with the
// radius of the shape.
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

func column(m *geom.Mat3, i int) r3.Vec { return r3.Vec{X: m[i], Y: m[3+i], Z: m[6+i]} }

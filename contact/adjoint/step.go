package adjoint

import (
	"math"

	"gonum.org/v1/gonum/spatial/r3"

	"clearance/batch"
	"clearance/contact"
	"clearance/contact/internal/modes"
	"clearance/geom"
)

// The derivative of a step of a world, from its record, see [contact.PartRecord].
//
// A step is a chain of functions: free velocities, contact points, their rotation by half of that of a body that is
// moved, targets, the contact problem, momenta, positions and rotations. Its transpose takes the cotangents of the
// state after the step back through all of them. With c the centers of mass and o = c − p their offsets from the
// positions of the poses,
//
//	p⁺ = c + Δt·v⁺ − o⁺,  R⁺ = R·P(RᵀL⁺),  L⁺ = L_f + I(ω⁺ − ω_f),
//	v_f = v + Δt(g + F/m),  L_f = L + Δt·τ,  ω_f = I⁻¹L_f,  I = R·I_b·Rᵀ.
//
// Rotations change by rotation vectors θ in world axes: δR = [θ]R. So a symmetric cotangent G of I gives the rotation
// the cotangent Σ G_ij·∂I_ij/∂θ, 2·(A_yz − A_zy, A_zx − A_xz, A_xy − A_yx) with A = IG, and the inertia of the body
// RᵀGR.
//
// Targets are differentiated by their rule. What a step searches for is held: the factor of impacts that would create
// energy, and points that would enter later in the step. A world whose impulses depend on these is a [Boundary], and so
// is one with redundant contacts that cannot follow the changes of a step, see redundant.go.

// Impacts says which derivative impacts with restitution have.
type Impacts uint8

const (
	// DiscreteImpacts have the derivative of the step as it is. Velocities change at the beginning of a step in which
	// bodies meet, whatever their gap is, so that positions after a bounce have the wrong sign by those before.
	DiscreteImpacts Impacts = iota
	// TimeOfImpact is the derivative with impulses of bounces at the times at which gaps close, see impact.go.
	TimeOfImpact
)

// ImpactNames are the names of the derivatives of impacts.
var ImpactNames = batch.Names[Impacts]{What: "derivative of impacts", List: []string{DiscreteImpacts: "discrete",
	TimeOfImpact: "time_of_impact"}}

func (i Impacts) String() string { return ImpactNames.Name(i) }

// StateCotangent is the gradient of a scalar with respect to the state of B bodies of a world.
type StateCotangent struct {
	Pose     []float64 // [B,6] by the twists of the poses: velocity of the position, angular velocity, world axes
	Velocity []float64 // [B,3] of the centers of mass
	Momentum []float64 // [B,3] as in [contact.State]
}

// Resize makes the columns large enough for a number of bodies, keeping memory that suffices. The contents are
// unspecified afterwards.
func (c *StateCotangent) Resize(bodies int) {
	resize(&c.Pose, 6*bodies)
	resize(&c.Velocity, 3*bodies)
	resize(&c.Momentum, 3*bodies)
}

// StepGradient is the gradient of a scalar with respect to what a step of a world is made from, beside its state.
// Columns that are nil are left out.
type StepGradient struct {
	Force   []float64 // [B,6] a force at the center of mass and a torque
	Mass    []float64 // [B] at constant inertia; zero for bodies that impulses do not move
	Inertia []float64 // [B,6] in the axes of the body; a product of inertia stands in both halves of the matrix
	Gravity []float64 // [3]
	// Friction and Restitution [S] are by the values that the scene states, in the order of
	// [contact.Scene.FrictionSources].
	Friction, Restitution []float64
	// Parts [P,6] is by the poses of the parts in their bodies, body after body of the scene and part after part, as
	// twists in the axes of the body: velocity of the position of the part, angular velocity. Mass, center of mass and
	// inertia of the body are held.
	Parts []float64
}

// StepReport says what the derivative of a step of a world is worth, as [Report] does of a problem. The margin includes
// that of the rules of targets, relative to the speed scale of the solution.
type StepReport struct {
	Smoothness Smoothness
	Margin     float64
	Residual   float64
}

// worse takes the worse of both.
func (r *StepReport) worse(s Smoothness, margin float64) {
	r.Smoothness, r.Margin = max(r.Smoothness, s), min(r.Margin, margin)
}

// Steps is the memory of derivatives of steps of one simulation. It belongs to one goroutine.
type Steps struct {
	Impacts Impacts

	sim      *contact.Simulation
	o        contact.StepOptions
	surfaces *contact.SurfaceSlopes
	center   []r3.Vec // of mass, in the frames of the bodies
	fixed    []bool
	part0    []int32 // of the bodies, among all parts; and the number of parts

	problem  problemWorld
	gradient Gradient
	pairs    PairWorkspace
	bar      []float64 // [B,6] cotangents of the velocities of the solve
	impulse  []float64 // [C,3] those of its impulses, by impacts
	impacts  []impact  // [C]
	anchors  []anchor
	body     []bodyBar
}

// bodyBar are the cotangents of a body within a step.
type bodyBar struct {
	center, velocity, spin r3.Vec // before the step
	position, rotation     r3.Vec
	momentum, pushed       r3.Vec // L and L_f; of a body that is moved, momentum is that of its angular velocity
	freeSpin               r3.Vec
	inertia                sym3       // G
	byRotation             [6]float64 // the gradient by the inertia of the body through its rotation alone
	shift, rotate          r3.Vec     // of the center of mass and the rotation after the step
}

// NewSteps returns the memory of derivatives of steps of a simulation, or of one of the same scene and options.
func NewSteps(sim *contact.Simulation) *Steps {
	scene := sim.Scene()
	n := len(scene.Body)
	x := &Steps{sim: sim, o: sim.Options(), surfaces: sim.SurfaceSlopes(), center: make([]r3.Vec, n),
		fixed: make([]bool, n), part0: partsOf(scene), bar: make([]float64, 6*n), body: make([]bodyBar, n)}
	x.problem.valid = true // those that a step has solved
	for b := range n {
		if len(scene.Center) > 0 {
			x.center[b] = vecOf(scene.Center[3*b:])
		}
		x.fixed[b] = math.IsInf(scene.Mass[b], 1)
	}
	return x
}

// partsOf is the number of parts before each body of a scene, and of all.
func partsOf(scene *contact.Scene) []int32 {
	first := make([]int32, 1, len(scene.Body)+1)
	for b, body := range scene.Body {
		first = append(first, first[b]+int32(len(scene.Bodies.Parts(body))))
	}
	return first
}

// PartCount is the number of parts of all bodies of a scene.
func PartCount(scene *contact.Scene) int { return int(partsOf(scene)[len(scene.Body)]) }

// VJP replaces the cotangents of the state after a step of a world by those of the state before, adds the gradient of
// the step to g, and says what the derivative is worth. A step without a derivative counts as constant: its cotangents
// are zero. A world that was not advanced keeps them.
func (x *Steps) VJP(r *contact.WorldRecord, bar *StateCotangent, g *StepGradient) StepReport {
	report := StepReport{Margin: math.Inf(1)}
	for i := len(r.Parts) - 1; i >= 0; i-- {
		x.part(&r.Parts[i], bar, g, &report)
		if report.Smoothness == None {
			clear(bar.Pose)
			clear(bar.Velocity)
			clear(bar.Momentum)
			report.Margin = 0
			break
		}
	}
	return report
}

// part is VJP of a part of a step. It does not touch the gradients where it finds that there is no derivative.
func (x *Steps) part(r *contact.PartRecord, bar *StateCotangent, g *StepGradient, report *StepReport) {
	clear(x.body)
	var gradient gradientOf
	for b := range x.body {
		x.after(r, b, bar, g)
	}
	if len(r.Contacts) > 0 {
		if !x.solve(r, report) {
			return
		}
		x.contacts(r, g, &gradient, report)
		x.redundant(r, report)
	}
	for b := range x.body {
		x.before(r, b, bar, g, &gradient)
	}
	if g.Gravity != nil {
		addTo(g.Gravity, gradient.gravity)
	}
}

// gradientOf is what a part adds to gradients that bodies share.
type gradientOf struct{ gravity r3.Vec }

// after takes the cotangents of a body from the state after the part to the velocities of the solve and what stands
// beside them.
func (x *Steps) after(r *contact.PartRecord, b int, bar *StateCotangent, g *StepGradient) {
	body, to := &r.Bodies[b], &x.body[b]
	position, rotation := vecOf(bar.Pose[6*b:]), vecOf(bar.Pose[6*b+3:])
	momentum := vecOf(bar.Momentum[3*b:])
	offset := body.NextMatrix.MulVec(x.center[b])
	rotation = r3.Sub(rotation, cross(offset, position))
	to.center, to.shift, to.rotate = position, position, rotation
	velocity := axpy(vecOf(bar.Velocity[3*b:]), r.TimeStep, position)
	var inertia *[6]float64
	if g.Inertia != nil && !x.fixed[b] {
		inertia = &to.byRotation
	}
	var byMomentum r3.Vec
	to.rotation, byMomentum = x.sim.RotationVJP(b, r.TimeStep, body, rotation, inertia)
	momentum = r3.Add(momentum, byMomentum)
	spin := momentum
	if !x.fixed[b] {
		i := sym3(r.Problem.Inertia[6*b : 6*b+6])
		spin = i.Mul(momentum)
		to.pushed, to.freeSpin = momentum, r3.Scale(-1, spin)
		change := r3.Sub(vecOf(r.Solution.Velocity[6*b+3:]), vecOf(r.Problem.Velocity[6*b+3:]))
		to.inertia.AddProduct(1, momentum, change)
	}
	put(x.bar[6*b:], velocity)
	put(x.bar[6*b+3:], spin)
}

// solve takes the cotangents through the contact problem. It reports false if there is no derivative.
func (x *Steps) solve(r *contact.PartRecord, report *StepReport) bool {
	out := &x.gradient
	out.Resize(&r.Problem)
	out.Frame = out.Frame[:0] // Normal has what a step needs of it
	x.problem.vjp(&r.Problem, 0, &r.Solution, x.o.Solve.Model, x.bar, x.findImpacts(r), out)
	report.Residual = max(report.Residual, out.Residual[0])
	report.worse(out.Smoothness[0], out.Margin[0])
	if out.Smoothness[0] == None {
		return false
	}
	copy(x.bar, out.Velocity)
	x.addImpacts(r)
	for b := range x.body {
		i, to := out.Inertia[6*b:], &x.body[b].inertia
		for k := range 3 {
			to[k] += i[k]
			to[3+k] += 0.5 * i[3+k]
		}
	}
	return true
}

// contacts takes the cotangents of the contacts to bodies and poses.
func (x *Steps) contacts(r *contact.PartRecord, g *StepGradient, shared *gradientOf, report *StepReport) {
	first := 0
	for i := range r.Pairs {
		p := &r.Pairs[i]
		x.pair(r, p, g, shared, report)
		first = int(p.First) + p.Manifold.N
	}
	for c := first; c < len(r.Contacts); c++ { // points that would enter move with nothing
		a, b := r.Problem.BodyA[c], r.Problem.BodyB[c]
		x.body[a].center = r3.Sub(x.body[a].center, vecOf(x.gradient.ArmA[3*c:]))
		x.body[b].center = r3.Sub(x.body[b].center, vecOf(x.gradient.ArmB[3*c:]))
		x.surface(r, c, 0, g)
		if vecOf(r.Solution.Impulse[3*c:]) != (r3.Vec{}) {
			report.worse(Boundary, 0)
		}
	}
}

// pair takes the cotangents of the contacts of a pair back to its poses.
func (x *Steps) pair(r *contact.PartRecord, p *contact.PairRecord, g *StepGradient, shared *gradientOf,
	report *StepReport) {
	half := geom.Mat3{0: 1, 4: 1, 8: 1}
	if p.Carrier >= 0 {
		half = contact.HalfRotation(r.Bodies[p.Carrier].Spin, r.TimeStep)
	}
	var bar PairCotangent
	var carried r3.Vec // of the half rotation
	a, b, any := &x.body[p.BodyA], &x.body[p.BodyB], false
	for k := range p.Manifold.N {
		c := int(p.First) + k
		normal, armA, armB := vecOf(x.gradient.Normal[3*c:]), vecOf(x.gradient.ArmA[3*c:]), vecOf(x.gradient.ArmB[3*c:])
		target := x.gradient.Target[c]
		byRestitution := 0.0
		x.rule(r, c, report)
		switch rule := &r.Contacts[c]; rule.Rule {
		case contact.Closes:
			bar.Gap[k] = -target / r.TimeStep
		case contact.Recovers:
			bar.Gap[k] = -target * x.o.Correction / r.TimeStep
		case contact.RecoversMost:
			shared.recovery(&x.o, p.Size, target)
		case contact.Bounces:
			x.byAcceleration(r, c, target)
			late := &x.impacts[c]
			bar.Gap[k] = late.gap
			approach := x.bounce(r, p, c, late.approach-target*rule.Factor*rule.Restitution, &normal, &armA, &armB)
			byRestitution = -target * rule.Factor * approach
		}
		x.surface(r, c, byRestitution, g)
		if normal == (r3.Vec{}) && armA == (r3.Vec{}) && armB == (r3.Vec{}) && bar.Gap[k] == 0 {
			continue
		}
		any = true
		if p.Carrier >= 0 {
			carried = r3.Add(carried, cross(vecOf(r.Problem.Frame[9*c+6:]), normal))
			carried = r3.Add(carried, cross(vecOf(r.Problem.ArmA[3*c:]), armA))
			carried = r3.Add(carried, cross(vecOf(r.Problem.ArmB[3*c:]), armB))
			normal, armA, armB = half.MulVecT(normal), half.MulVecT(armA), half.MulVecT(armB)
		}
		bar.Normal = r3.Add(bar.Normal, normal)
		bar.Position[k] = r3.Add(armA, armB)
		a.center, b.center = r3.Sub(a.center, armA), r3.Sub(b.center, armB)
	}
	if !any {
		return
	}
	if p.Carrier >= 0 {
		to := &x.body[p.Carrier]
		to.spin = r3.Add(to.spin, contact.HalfRotationVJP(r.Bodies[p.Carrier].Spin, r.TimeStep, carried))
	}
	ofA, ofB, smoothness := x.pairs.VJP(&p.Pair, &p.Manifold, &bar)
	if !smoothness.Full() {
		report.worse(Boundary, 0)
	}
	a.push(&ofA, r3.Sub(p.Pair.PoseA.Position, r.Bodies[p.BodyA].Position))
	b.push(&ofB, r3.Sub(p.Pair.PoseB.Position, r.Bodies[p.BodyB].Position))
	if g.Parts != nil {
		addPart(g.Parts[6*(x.part0[p.BodyA]+p.PartA):], &r.Bodies[p.BodyA].Matrix, &ofA)
		addPart(g.Parts[6*(x.part0[p.BodyB]+p.PartB):], &r.Bodies[p.BodyB].Matrix, &ofB)
	}
}

// addPart adds the cotangent of the pose of a part to that in the axes of its body: the part has the velocity and the
// angular velocity of the body, and beside them R times its own.
func addPart(to []float64, m *geom.Mat3, twist *[6]float64) {
	addTo(to, m.MulVecT(vecOf(twist[:])))
	addTo(to[3:], m.MulVecT(vecOf(twist[3:])))
}

// push adds the cotangent of the pose of a part at an arm from the position of the body.
func (b *bodyBar) push(twist *[6]float64, arm r3.Vec) {
	force := vecOf(twist[:])
	b.position = r3.Add(b.position, force)
	b.rotation = r3.Add(b.rotation, r3.Add(vecOf(twist[3:]), cross(arm, force)))
}

// rule takes the margin of the rule of a target into the report. Where a target has a kink and no jump, it matters to
// contacts that it acts on.
func (x *Steps) rule(r *contact.PartRecord, c int, report *StepReport) {
	rule := &r.Contacts[c]
	acts := x.gradient.Mode[c] != Open
	if acts && rule.Factor < 1 && rule.Rule == contact.Bounces {
		report.worse(Boundary, 0)
	}
	if !acts && !rule.Jump || math.IsInf(rule.Margin, 1) {
		return
	}
	margin := math.Inf(1)
	if scale := r.Solution.Scale[0]; scale > 0 {
		margin = rule.Margin / scale
	}
	s := Smooth
	if !(margin > modes.Least) {
		s = Boundary
	}
	report.worse(s, margin)
}

// recovery adds the derivative of the largest speed of recovery, √(g·size).
func (g *gradientOf) recovery(o *contact.StepOptions, size, target float64) {
	if gravity := length(o.Gravity); o.RecoverySpeed == 0 && gravity > 0 {
		g.gravity = axpy(g.gravity, 0.5*target*math.Sqrt(size/gravity)/gravity, o.Gravity)
	}
}

// bounce takes the cotangent of the approach before the step to the velocities, and to normal and arms. It returns the
// approach.
func (x *Steps) bounce(r *contact.PartRecord, p *contact.PairRecord, c int, bar float64,
	normal, armA, armB *r3.Vec) float64 {
	n, ra, rb := vecOf(r.Problem.Frame[9*c+6:]), vecOf(r.Problem.ArmA[3*c:]), vecOf(r.Problem.ArmB[3*c:])
	a, b := &r.Bodies[p.BodyA], &r.Bodies[p.BodyB]
	relative := r3.Sub(r3.Add(b.Velocity, cross(b.Spin, rb)), r3.Add(a.Velocity, cross(a.Spin, ra)))
	*normal = axpy(*normal, bar, relative)
	*armA, *armB = axpy(*armA, -bar, cross(n, a.Spin)), axpy(*armB, bar, cross(n, b.Spin))
	ofA, ofB := &x.body[p.BodyA], &x.body[p.BodyB]
	ofA.velocity, ofB.velocity = axpy(ofA.velocity, -bar, n), axpy(ofB.velocity, bar, n)
	ofA.spin, ofB.spin = axpy(ofA.spin, -bar, cross(ra, n)), axpy(ofB.spin, bar, cross(rb, n))
	return dot(n, relative)
}

// surface adds the gradients by friction and restitution of a contact, and by the masses that its compliance is made
// from: R = ρ(1/m_a + 1/m_b).
func (x *Steps) surface(r *contact.PartRecord, c int, byRestitution float64, g *StepGradient) {
	index := r.Contacts[c].Index
	x.surfaces.Friction[index].Add(g.Friction, x.gradient.Friction[c])
	x.surfaces.Restitution[index].Add(g.Restitution, byRestitution)
	if len(r.Problem.Compliance) == 0 || g.Mass == nil {
		return
	}
	bar := r.Problem.Compliance[2*c]*x.gradient.Compliance[2*c] +
		r.Problem.Compliance[2*c+1]*x.gradient.Compliance[2*c+1]
	ma, mb := r.Problem.Mass[r.Problem.BodyA[c]], r.Problem.Mass[r.Problem.BodyB[c]]
	bar /= 1/ma + 1/mb
	if !math.IsInf(ma, 1) {
		g.Mass[r.Problem.BodyA[c]] -= bar / ma / ma
	}
	if !math.IsInf(mb, 1) {
		g.Mass[r.Problem.BodyB[c]] -= bar / mb / mb
	}
}

// before takes the cotangents of a body to the state before the part, and adds those of forces, mass and inertia.
func (x *Steps) before(r *contact.PartRecord, b int, bar *StateCotangent, g *StepGradient, shared *gradientOf) {
	body, from, dt := &r.Bodies[b], &x.body[b], r.TimeStep
	free, spin := vecOf(x.bar[6*b:]), vecOf(x.bar[6*b+3:])
	momentum, velocity, rotation := from.momentum, r3.Add(from.velocity, free), from.rotation
	if x.fixed[b] {
		momentum = r3.Add(momentum, r3.Add(spin, from.spin))
	} else {
		mass, freeSpin := r.Problem.Mass[b], r3.Add(spin, from.freeSpin)
		i := sym3(r.Problem.Inertia[6*b : 6*b+6])
		inverse := i.Inverse()
		u, w := inverse.Mul(freeSpin), inverse.Mul(from.spin)
		from.inertia.AddProduct(-1, u, vecOf(r.Problem.Velocity[6*b+3:]))
		from.inertia.AddProduct(-1, w, body.Spin)
		pushed := r3.Add(from.pushed, u)
		momentum = r3.Add(momentum, r3.Add(pushed, w))
		rotation = r3.Add(rotation, axialOf(&i, &from.inertia))
		shared.gravity = axpy(shared.gravity, dt, free)
		if g.Force != nil {
			addTo(g.Force[6*b:], r3.Scale(dt/mass, free))
			addTo(g.Force[6*b+3:], r3.Scale(dt, pushed))
		}
		if g.Mass != nil {
			g.Mass[b] -= dt / mass * (dot(body.Force, free) / mass)
			if len(r.Contacts) > 0 {
				g.Mass[b] += x.gradient.Mass[b]
			}
		}
		if g.Inertia != nil {
			for k, v := range from.byRotation {
				g.Inertia[6*b+k] += v
			}
			addBodyInertia(g.Inertia[6*b:], &body.Matrix, &from.inertia)
		}
	}
	offset := r3.Sub(body.Center, body.Position)
	put(bar.Pose[6*b:], r3.Add(from.position, from.center))
	put(bar.Pose[6*b+3:], r3.Add(rotation, cross(offset, from.center)))
	put(bar.Velocity[3*b:], velocity)
	put(bar.Momentum[3*b:], momentum)
}

// axialOf is the cotangent of the rotation that rotates a symmetric matrix i with the symmetric cotangent g.
func axialOf(i, g *sym3) r3.Vec {
	x, y, z := i.Mul(r3.Vec{X: g[0], Y: g[3], Z: g[4]}), i.Mul(r3.Vec{X: g[3], Y: g[1], Z: g[5]}),
		i.Mul(r3.Vec{X: g[4], Y: g[5], Z: g[2]}) // the columns of IG
	return r3.Vec{X: 2 * (z.Y - y.Z), Y: 2 * (x.Z - z.X), Z: 2 * (y.X - x.Y)}
}

// addBodyInertia adds RᵀGR, as the derivatives by six numbers.
func addBodyInertia(to []float64, m *geom.Mat3, g *sym3) {
	column := func(k int) r3.Vec { return r3.Vec{X: m[k], Y: m[3+k], Z: m[6+k]} }
	x, y, z := g.Mul(column(0)), g.Mul(column(1)), g.Mul(column(2))
	to[0] += dot(column(0), x)
	to[1] += dot(column(1), y)
	to[2] += dot(column(2), z)
	to[3] += 2 * dot(column(0), y)
	to[4] += 2 * dot(column(0), z)
	to[5] += 2 * dot(column(1), z)
}

func addTo(s []float64, a r3.Vec) { s[0], s[1], s[2] = s[0]+a.X, s[1]+a.Y, s[2]+a.Z }

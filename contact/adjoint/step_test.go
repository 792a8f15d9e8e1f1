package adjoint

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/num/quat"
	"gonum.org/v1/gonum/spatial/r3"

	"clearance/batch"
	"clearance/contact"
	"clearance/cpu"
	"clearance/geom"
	"clearance/internal/testkit"
	"clearance/tests/need"
)

// stepKind is a kind of scene whose steps are differentiated.
type stepKind struct {
	name        string
	shape       geom.Shape
	parts       bool // the body is of three parts
	moving      bool // the ground is a plate that is moved
	model       contact.Model
	restitution float64
	bodies      int
	impacts     Impacts
	compliance  float64
}

const (
	stepTime = 5e-3 // s
	stepSize = 0.1  // m
)

// scene is the scene of a kind: the ground, and bodies of the shape.
func (k *stepKind) scene(t testing.TB, rng *rand.Rand) *contact.Scene {
	t.Helper()
	ground := geom.Shape(geom.Halfspace{})
	if k.moving {
		ground = geom.Box{HalfExtents: r3.Vec{X: 1, Y: 1, Z: 0.2}}
	}
	lib, err := batch.NewLibrary([]geom.Shape{ground, k.shape, geom.Box{HalfExtents: r3.Vec{X: 0.08, Y: 0.1,
		Z: 0.06}}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	parts := []batch.Part{{Shape: 1, Pose: geom.IdentityPose()}}
	if k.parts {
		parts = append(parts, batch.Part{Shape: 1, Pose: geom.Translate(0.1, 0.02, 0).Compose(
			geom.Rotate(r3.Vec{Y: 1}, 0.7))}, batch.Part{Shape: 2, Pose: geom.Translate(-0.05, 0.1, 0.03)})
	}
	bodies, err := batch.NewBodies(lib, []batch.Body{{Parts: []batch.Part{{Pose: geom.IdentityPose()}}},
		{Parts: parts}})
	if err != nil {
		t.Fatal(err)
	}
	s := &contact.Scene{Bodies: bodies, Body: []int32{0}, Mass: []float64{math.Inf(1)}, Inertia: make([]float64, 6),
		Center: make([]float64, 3), Friction: []float64{0.5}, Restitution: []float64{k.restitution}}
	for range k.bodies {
		m := 0.5 + rng.Float64()
		x, y, z := 0.3+rng.Float64(), 0.3+rng.Float64(), 0.3+rng.Float64()
		f := m * stepSize * stepSize / 3
		s.Body, s.Mass = append(s.Body, 1), append(s.Mass, m)
		s.Inertia = append(s.Inertia, f*(y+z), f*(z+x), f*(x+y), 0.05*f, -0.03*f, 0.04*f)
		s.Center = append(s.Center, 0.02*rng.NormFloat64(), 0.02*rng.NormFloat64(), 0.01*rng.NormFloat64())
		s.Friction = append(s.Friction, 0.3+0.4*rng.Float64())
		s.Restitution = append(s.Restitution, k.restitution*(0.1+0.9*rng.Float64()))
	}
	s.PartFriction = []contact.PartValue{{Body: 1, Part: 0, Value: 0.45}}
	return s
}

func (k *stepKind) options() contact.StepOptions {
	return contact.StepOptions{TimeStep: stepTime, Gravity: r3.Vec{X: 0.3, Z: -9.81},
		Restitution: contact.NewtonRestitution, Compliance: k.compliance,
		Solve: contact.Options{Model: k.model, Tolerance: 1e-13, Workers: 1}}
}

// states are those of bodies that have fallen for a while, moved a little so that gaps are not at zero.
func (k *stepKind) states(t testing.TB, rng *rand.Rand, scene *contact.Scene, solver contact.PairSolver,
	worlds int) *contact.State {
	t.Helper()
	s := &contact.State{Worlds: worlds}
	put := func(b int, at r3.Vec, q quat.Number, v, spin r3.Vec) {
		l := scene.Momentum(b, q, spin)
		s.Pose = append(s.Pose, at.X, at.Y, at.Z, q.Real, q.Imag, q.Jmag, q.Kmag)
		s.Velocity, s.Momentum = append(s.Velocity, v.X, v.Y, v.Z), append(s.Momentum, l.X, l.Y, l.Z)
	}
	for range worlds {
		var spin, velocity r3.Vec
		at := r3.Vec{}
		if k.moving {
			spin, velocity, at.Z = r3.Scale(0.5, testkit.Unit(rng)), r3.Vec{X: 0.1, Z: 0.2}, -0.2
		}
		put(0, at, quat.Number{Real: 1}, velocity, spin)
		for b := range k.bodies {
			put(b+1, r3.Vec{X: 0.05 * rng.NormFloat64(), Y: 0.05 * rng.NormFloat64(), Z: 0.2 + 0.25*float64(b)},
				testkit.Rotation(rng), r3.Scale(0.5, testkit.Unit(rng)), r3.Scale(3*rng.Float64(), testkit.Unit(rng)))
		}
	}
	o := k.options()
	o.Solve.Tolerance = 1e-6
	fall, err := contact.NewSimulation(scene, s, solver, o)
	if err != nil {
		t.Fatal(err)
	}
	out := &contact.State{Worlds: worlds, Pose: slices.Clone(s.Pose), Velocity: slices.Clone(s.Velocity),
		Momentum: slices.Clone(s.Momentum)}
	n := len(scene.Body)
	for step := range 120 {
		if err := fall.Step(context.Background(), nil); err != nil {
			t.Fatal(err)
		}
		for w := range worlds {
			if at := 20 + 100*w/worlds; step == at {
				copy(out.Pose[7*n*w:7*n*(w+1)], fall.State().Pose[7*n*w:])
				copy(out.Velocity[3*n*w:3*n*(w+1)], fall.State().Velocity[3*n*w:])
				copy(out.Momentum[3*n*w:3*n*(w+1)], fall.State().Momentum[3*n*w:])
			}
		}
	}
	for k := range worlds * n {
		if k%n > 0 {
			out.Pose[7*k+2] += 5e-5 * rng.NormFloat64()
		}
	}
	return out
}

// polished answers pairs by another solver, and takes the exact answer for those that have one: tolerances of a solver
// leave functions of the poses with other derivatives.
type polished struct {
	contact.PairSolver
	pairs    pairSolver
	features *contact.FeatureTable
}

func (s *polished) Run(ctx context.Context, job *batch.Job, lo, hi int, out *batch.Results) error {
	if err := s.PairSolver.Run(ctx, job, lo, hi, out); err != nil {
		return err
	}
	if s.features == nil || s.features.Library() != job.Library {
		s.features = contact.NewFeatureTable(job.Library)
	}
	var r batch.Row
	for i := lo; i < hi; i++ {
		job.Input.Row(i, &r)
		x, y := job.Library.Shape(r.ShapeA), job.Library.Shape(r.ShapeB)
		if out.Distance().F64[i] > 0.1 || x.Kind().Traits().Unbounded && y.Kind() == geom.KindSphere {
			continue
		}
		a, err := s.features.Of(int(r.ShapeA))
		if err != nil {
			return err
		}
		b, err := s.features.Of(int(r.ShapeB))
		if err != nil {
			return err
		}
		if p, ok := s.pairs.solve(a, b, r.PoseA, r.PoseB); !ok { // the reference does not reach 1e-10
			out.Status()[i] = uint8(batch.Undecided)
		} else {
			out.Distance().F64[i], out.Gap()[i] = p.Distance, float32(p.Gap) // which a gap of witnesses has too
			put(out.Normal().F64[3*i:], p.Normal)
			put(out.WitnessA().F64[3*i:], p.WitnessA)
			put(out.WitnessB().F64[3*i:], p.WitnessB)
		}
	}
	return nil
}

// stepPoint is all that a step is made from.
type stepPoint struct {
	scene *contact.Scene
	state *contact.State
	o     contact.StepOptions
	force []float64
}

// stepDirection is a direction of change: of each world, and of what all share.
type stepDirection struct {
	pose, velocity, momentum, force                      []float64
	mass, inertia, friction, restitution, gravity, parts []float64
	poses                                                []float64 // of parts, as [StepGradient.Parts]
}

func (p *stepPoint) direction(rng *rand.Rand) *stepDirection {
	n := p.state.Worlds * len(p.scene.Body)
	d := &stepDirection{pose: normal(rng, 6*n), velocity: normal(rng, 3*n), momentum: normal(rng, 3*n),
		force: normal(rng, 6*n), mass: normal(rng, len(p.scene.Body)), inertia: normal(rng, 6*len(p.scene.Body)),
		friction: normal(rng, len(p.scene.Body)), restitution: normal(rng, len(p.scene.Body)), gravity: normal(rng, 3),
		parts: normal(rng, len(p.scene.PartFriction)), poses: normal(rng, 6*PartCount(p.scene))}
	scale(d.pose, 1e-2)
	scale(d.poses, 1e-2)
	for k := range n {
		if b := k % len(p.scene.Body); !math.IsInf(p.scene.Mass[b], 1) {
			scale(d.momentum[3*k:3*k+3], 3e-3)
			scale(d.force[6*k+3:6*k+6], 0.1)
		} else if vecOf(p.state.Momentum[3*k:]) == (r3.Vec{}) {
			clear(d.momentum[3*k : 3*k+3]) // planes that rotate prove other motions than planes at rest
		}
	}
	scale(d.mass, 0.2)
	scale(d.inertia, 2e-4)
	scale(d.friction, 0.1)
	scale(d.restitution, 0.1)
	for b, m := range p.scene.Mass {
		if math.IsInf(m, 1) {
			d.mass[b] = 0
			clear(d.inertia[6*b : 6*b+6])
		}
	}
	return d
}

func normal(rng *rand.Rand, n int) []float64 {
	v := make([]float64, n)
	for i := range v {
		v[i] = rng.NormFloat64()
	}
	return v
}

func scale(v []float64, f float64) {
	for i := range v {
		v[i] *= f
	}
}

func added(a []float64, h float64, d []float64) []float64 {
	out := slices.Clone(a)
	for i := range out {
		out[i] += h * d[i]
	}
	return out
}

// at is the point moved by h along a direction.
func (p *stepPoint) at(d *stepDirection, h float64) *stepPoint {
	s := *p.scene
	s.Mass, s.Inertia = added(s.Mass, h, d.mass), added(s.Inertia, h, d.inertia)
	s.Friction, s.Restitution = added(s.Friction, h, d.friction), added(s.Restitution, h, d.restitution)
	s.PartFriction = slices.Clone(s.PartFriction)
	for i := range s.PartFriction {
		s.PartFriction[i].Value += h * d.parts[i]
	}
	for b := range s.Restitution {
		if p.scene.Restitution[b] == 0 {
			s.Restitution[b] = 0
		}
	}
	s.Bodies, s.Body = movedParts(p.scene, h, d.poses)
	q := &stepPoint{scene: &s, o: p.o, force: added(p.force, h, d.force)}
	q.o.Gravity = r3.Add(p.o.Gravity, r3.Scale(h, vecOf(d.gravity)))
	q.state = &contact.State{Worlds: p.state.Worlds, Pose: slices.Clone(p.state.Pose),
		Velocity: added(p.state.Velocity, h, d.velocity), Momentum: added(p.state.Momentum, h, d.momentum)}
	for k := range p.state.Worlds * len(s.Body) {
		if vecOf(d.pose[6*k+3:]) == (r3.Vec{}) {
			put(q.state.Pose[7*k:], axpy(vecOf(p.state.Pose[7*k:]), h, vecOf(d.pose[6*k:])))
			continue
		}
		putPose(q.state.Pose[7*k:], along(poseOf(p.state.Pose[7*k:]), d.pose[6*k:6*k+6], h))
	}
	return q
}

// movedParts are the bodies of a scene, each with parts of its own, whose poses are moved by h along twists in the axes
// of the bodies.
func movedParts(scene *contact.Scene, h float64, twists []float64) (table *batch.Bodies, index []int32) {
	var bodies []batch.Body
	for b, body := range scene.Body {
		moved := batch.Body{Parts: slices.Clone(scene.Bodies.Parts(body))}
		for k := range moved.Parts {
			if part := &moved.Parts[k]; h != 0 && vecOf(twists[3:6]) != (r3.Vec{}) {
				part.Pose = along(part.Pose, twists[:6], h)
			} else {
				part.Pose.Position = axpy(part.Pose.Position, h, vecOf(twists))
			}
			twists = twists[6:]
		}
		bodies, index = append(bodies, moved), append(index, int32(b))
	}
	table, err := batch.NewBodies(scene.Bodies.Library(), bodies)
	if err != nil {
		panic(err)
	}
	return table, index
}

func poseOf(v []float64) geom.Pose {
	return geom.Pose{Position: vecOf(v), Rotation: quat.Number{Real: v[3], Imag: v[4], Jmag: v[5], Kmag: v[6]}}
}

func putPose(to []float64, p geom.Pose) {
	q := p.Rotation
	put(to, p.Position)
	to[3], to[4], to[5], to[6] = q.Real, q.Imag, q.Jmag, q.Kmag
}

// simulation is that of the point, before steps.
func (p *stepPoint) simulation(t testing.TB, solver contact.PairSolver) *contact.Simulation {
	t.Helper()
	s, err := contact.NewSimulation(p.scene, p.state, solver, p.o)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// rotationFrom is the rotation vector of next after q.
func rotationFrom(q, next quat.Number) r3.Vec {
	d := quat.Mul(next, quat.Conj(q))
	if d.Real < 0 {
		d = quat.Scale(-1, d)
	}
	v := r3.Vec{X: d.Imag, Y: d.Jmag, Z: d.Kmag}
	sine := r3.Norm(v)
	if sine == 0 {
		return r3.Vec{}
	}
	return r3.Scale(2*math.Atan2(sine, d.Real)/sine, v)
}

// value is the scalar of a world whose gradient at the state base is bar.
func value(bar *StateCotangent, base, s *contact.State, w, n int) (sum float64) {
	for b := range n {
		k := w*n + b
		at, from := poseOf(s.Pose[7*k:]), poseOf(base.Pose[7*k:])
		sum += dot(vecOf(bar.Pose[6*b:]), r3.Sub(at.Position, from.Position))
		sum += dot(vecOf(bar.Pose[6*b+3:]), rotationFrom(from.Rotation, at.Rotation))
		sum += dot(vecOf(bar.Velocity[3*b:]), r3.Sub(vecOf(s.Velocity[3*k:]), vecOf(base.Velocity[3*k:])))
		sum += dot(vecOf(bar.Momentum[3*b:]), r3.Sub(vecOf(s.Momentum[3*k:]), vecOf(base.Momentum[3*k:])))
	}
	return sum
}

func cloneState(s *contact.State) *contact.State {
	return &contact.State{Worlds: s.Worlds, Pose: slices.Clone(s.Pose), Velocity: slices.Clone(s.Velocity),
		Momentum: slices.Clone(s.Momentum), Status: slices.Clone(s.Status), Steps: slices.Clone(s.Steps)}
}

// randomBar draws cotangents of a size that makes the parts of a state count alike.
func randomBar(rng *rand.Rand, scene *contact.Scene) *StateCotangent {
	n := len(scene.Body)
	bar := &StateCotangent{Pose: normal(rng, 6*n), Velocity: normal(rng, 3*n), Momentum: normal(rng, 3*n)}
	for b := range n {
		scale(bar.Pose[6*b:6*b+3], 10)
		if !math.IsInf(scene.Mass[b], 1) {
			scale(bar.Momentum[3*b:3*b+3], 100)
		}
	}
	return bar
}

func newGradient(scene *contact.Scene) *StepGradient {
	n := len(scene.Body)
	return &StepGradient{Force: make([]float64, 6*n), Mass: make([]float64, n), Inertia: make([]float64, 6*n),
		Gravity: make([]float64, 3), Friction: make([]float64, scene.FrictionSources()),
		Restitution: make([]float64, scene.RestitutionSources()), Parts: make([]float64, 6*PartCount(scene))}
}

func products(a, b []float64) (sum, size float64) {
	for i := range a {
		sum += a[i] * b[i]
		size += math.Abs(a[i] * b[i])
	}
	return sum, size
}

// along is the product of a gradient with a direction, and the sum of the absolute values of its terms.
func (d *stepDirection) along(bar *StateCotangent, g *StepGradient, w, n int) (sum, size float64) {
	for _, p := range [][2][]float64{{bar.Pose, d.pose[6*n*w : 6*n*(w+1)]},
		{bar.Velocity, d.velocity[3*n*w : 3*n*(w+1)]}, {bar.Momentum, d.momentum[3*n*w : 3*n*(w+1)]},
		{g.Force, d.force[6*n*w : 6*n*(w+1)]}, {g.Mass, d.mass},
		{g.Inertia, d.inertia}, {g.Gravity, d.gravity}, {g.Friction[:n], d.friction}, {g.Friction[n:], d.parts},
		{g.Restitution, d.restitution}, {g.Parts, d.poses}} {
		x, y := products(p[0], p[1])
		sum, size = sum+x, size+y
	}
	return sum, size
}

// stepErrors counts what comparisons of steps with differences have found.
type stepErrors struct {
	checked, changed, rough int
	worst                   float64
	contacts, bounces       int
	where                   string
}

// differences compares the derivatives of steps of a kind with differences of the fourth order. Worlds that are not
// smooth, or next to a change of a mode, are left out; and those next to another change, such as of the features of a
// pair, whose differences with half of the step, or to one side, are others.
func (k *stepKind) differences(t testing.TB, rng *rand.Rand, worlds, directions int) (e stepErrors) {
	t.Helper()
	kernels, err := cpu.New(cpu.Options{Workers: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer kernels.Close()
	solver := &polished{PairSolver: kernels}
	scene := k.scene(t, rng)
	p := &stepPoint{scene: scene, state: k.states(t, rng, scene, kernels, worlds), o: k.options()}
	n := len(scene.Body)
	p.force = normal(rng, 6*n*worlds)
	s := p.simulation(t, solver)
	var record contact.StepRecord
	s.Record(&record)
	step := func(s *contact.Simulation, force []float64) {
		if err := s.Step(context.Background(), force); err != nil {
			t.Fatal(err)
		}
	}
	step(s, p.force)
	base := cloneState(s.State())
	steps := NewSteps(s)
	steps.Impacts = k.impacts
	late := newLateness(record.Worlds)
	for range directions {
		d := p.direction(rng)
		bars, want, half := make([]*StateCotangent, worlds), make([]float64, worlds), make([]float64, worlds)
		kink := make([]float64, worlds) // of both sides: second differences over the step, less what goes with the step
		for w := range worlds {
			bars[w] = randomBar(rng, scene)
		}
		if k.impacts == TimeOfImpact {
			late.hasten(steps, record.Worlds, bars, scene)
		}
		const h = 4e-4
		for _, x := range []float64{h, -h, 2 * h, -2 * h, h / 2, -h / 2} {
			q := p.at(d, x)
			moved := q.simulation(t, solver)
			var after contact.StepRecord
			moved.Record(&after)
			step(moved, q.force)
			for w := range worlds {
				v := value(bars[w], base, moved.State(), w, n)
				if k.impacts == TimeOfImpact {
					v += late.value(bars[w], &after.Worlds[w], scene, w)
					v -= late.value(bars[w], &record.Worlds[w], scene, w)
				}
				if !moved.State().Status[w].Advances() {
					v = math.NaN()
				}
				switch math.Abs(x) {
				case h:
					want[w] += math.Copysign(8, x) * v / (12 * h)
					half[w] -= math.Copysign(1, x) * v / (6 * h)
					kink[w] -= v / h
				case 2 * h:
					want[w] -= math.Copysign(1, x) * v / (12 * h)
				default:
					half[w] += math.Copysign(8, x) * v / (6 * h)
					kink[w] += 4 * v / h
				}
			}
		}
		for w := range worlds {
			if !base.Status[w].Advances() || math.IsNaN(want[w]) {
				continue
			}
			g, bar := newGradient(scene), bars[w]
			report := steps.VJP(&record.Worlds[w], bar, g)
			if report.Smoothness != Smooth || report.Margin < 1e-3 {
				e.rough++
				continue
			}
			got, size := d.along(bar, g, w, n)
			if max(math.Abs(want[w]-half[w]), math.Abs(kink[w])/2) > 2e-8*size {
				e.changed++
				continue
			}
			e.checked++
			e.bounces += late.bounces[w]
			e.contacts += len(record.Worlds[w].Parts[0].Contacts)
			off := max(math.Abs(got-want[w])-math.Abs(want[w]-half[w]), 0) / size
			if off > e.worst {
				parts := record.Worlds[w].Parts
				e.worst, e.where = off, fmt.Sprintf("world %d: %.10g, want %.10g and %.10g, size %.3g, %d parts, "+
					"margin %.2g, contacts %v", w, got, want[w], half[w], size, len(parts), report.Margin,
					parts[0].Contacts)
			}
		}
	}
	return e
}

// lateness is what the impulses of bounces displace by the times of their impacts, as a function of steps near those of
// records.
type lateness struct {
	offset  [][]r3.Vec // of the centers of mass from the positions after the step
	bounces []int
	hurry   [][]float64 // of contacts, what a cotangent gives to the time of their impact by its target
}

func newLateness(worlds []contact.WorldRecord) *lateness {
	x := &lateness{bounces: make([]int, len(worlds))}
	for w := range worlds {
		var offsets []r3.Vec
		if parts := worlds[w].Parts; len(parts) > 0 {
			for b := range parts[0].Bodies {
				body := &parts[0].Bodies[b]
				local := body.Matrix.MulVecT(r3.Sub(body.Center, body.Position))
				offsets = append(offsets, body.NextMatrix.MulVec(local))
			}
			for _, c := range parts[0].Contacts {
				if c.Rule == contact.Bounces {
					x.bounces[w]++
				}
			}
		}
		x.offset = append(x.offset, offsets)
	}
	return x
}

// hasten finds the slopes −(1 + e)·a of targets by the times of impacts at the steps of records, a from the velocities
// of contact problems and those before, times the cotangents of targets. The latter are those of the derivative of
// the problem, which has tests of its own.
func (x *lateness) hasten(steps *Steps, worlds []contact.WorldRecord, bars []*StateCotangent, scene *contact.Scene) {
	x.hurry = make([][]float64, len(worlds))
	for w := range worlds {
		bar := &StateCotangent{Pose: slices.Clone(bars[w].Pose), Velocity: slices.Clone(bars[w].Velocity),
			Momentum: slices.Clone(bars[w].Momentum)}
		report := steps.VJP(&worlds[w], bar, newGradient(scene))
		if report.Smoothness == None || len(worlds[w].Parts) != 1 {
			continue
		}
		r := &worlds[w].Parts[0]
		for c := range r.Contacts {
			slope := 0.0
			if rule := &r.Contacts[c]; rule.Rule == contact.Bounces {
				pair := &r.Pairs[rule.Pair]
				a, b := &r.Bodies[pair.BodyA], &r.Bodies[pair.BodyB]
				gained := func(body *contact.BodyRecord, index int32, arm []float64) r3.Vec {
					lin := r3.Sub(vecOf(r.Problem.Velocity[6*index:]), body.Velocity)
					ang := r3.Sub(vecOf(r.Problem.Velocity[6*index+3:]), body.Spin)
					return r3.Add(lin, cross(ang, vecOf(arm)))
				}
				change := r3.Sub(gained(b, pair.BodyB, r.Problem.ArmB[3*c:]),
					gained(a, pair.BodyA, r.Problem.ArmA[3*c:]))
				acceleration := dot(vecOf(r.Problem.Frame[9*c+6:]), change) / r.TimeStep
				slope = -(1 + rule.Factor*rule.Restitution) * acceleration * steps.gradient.Target[c]
			}
			x.hurry[w] = append(x.hurry[w], slope)
		}
	}
}

// value is −Σ t·⟨M⁻¹Jᵀλ, bar⟩ of a world, and what the times give to targets.
func (x *lateness) value(bar *StateCotangent, r *contact.WorldRecord, scene *contact.Scene, w int) (sum float64) {
	if len(r.Parts) != 1 {
		return math.NaN()
	}
	p := &r.Parts[0]
	if x.hurry[w] != nil && len(x.hurry[w]) != len(p.Contacts) {
		return math.NaN()
	}
	for c := range p.Contacts {
		if p.Contacts[c].Rule != contact.Bounces {
			continue
		}
		pair := &p.Pairs[p.Contacts[c].Pair]
		q := [3]r3.Vec{vecOf(p.Problem.Frame[9*c:]), vecOf(p.Problem.Frame[9*c+3:]), vecOf(p.Problem.Frame[9*c+6:])}
		l := vecOf(p.Solution.Impulse[3*c:])
		force := axpy(axpy(r3.Scale(l.X, q[0]), l.Y, q[1]), l.Z, q[2])
		a, b := &p.Bodies[pair.BodyA], &p.Bodies[pair.BodyB]
		ra, rb := vecOf(p.Problem.ArmA[3*c:]), vecOf(p.Problem.ArmB[3*c:])
		approach := dot(q[2], r3.Sub(r3.Add(b.Velocity, cross(b.Spin, rb)), r3.Add(a.Velocity, cross(a.Spin, ra))))
		time := -pair.Manifold.Points[c-int(pair.First)].Gap / approach
		if x.hurry[w] != nil {
			sum += x.hurry[w][c] * time
		}
		for _, side := range []struct {
			body       int32
			arm, force r3.Vec
		}{{pair.BodyA, ra, r3.Scale(-1, force)}, {pair.BodyB, rb, force}} {
			if math.IsInf(scene.Mass[side.body], 1) {
				continue
			}
			i := sym3(p.Problem.Inertia[6*side.body : 6*side.body+6])
			inverse := i.Inverse()
			position := vecOf(bar.Pose[6*side.body:])
			rotation := r3.Sub(vecOf(bar.Pose[6*side.body+3:]), cross(x.offset[w][side.body], position))
			sum -= time / p.Problem.Mass[side.body] * dot(position, side.force)
			sum -= time * dot(rotation, inverse.Mul(cross(side.arm, side.force)))
		}
	}
	return sum
}

// TestImpactsAgainstDifferences: the derivative by the time of impact is that of the step, of what impulses of bounces
// displace by their times, and of the velocities that accelerations give until then.
func TestImpactsAgainstDifferences(t *testing.T) {
	rng := rand.New(rand.NewPCG(48, 7))
	bounces := 0
	for _, k := range stepKinds(t) {
		if k.restitution == 0 || k.parts || !slices.Contains([]string{"sphere", "capsule", "box"}, k.name) {
			continue
		}
		k.impacts = TimeOfImpact
		e := k.differences(t, rng, 20, 1)
		bounces += e.bounces
		if !(e.worst <= 1e-7) {
			t.Errorf("%v: off by %.3g: %s", &k, e.worst, e.where)
		}
	}
	if t.Logf("%d bounces", bounces); bounces < 10 {
		t.Error("too few bounces")
	}
}

func stepKinds(t testing.TB) (kinds []stepKind) {
	rng := rand.New(rand.NewPCG(48, 3))
	smoothHull, err := geom.NewSmoothHull(testkit.OnEllipsoid(rng, r3.Vec{X: 0.1, Y: 0.12, Z: 0.08}, 20), 12, r3.Vec{})
	if err != nil {
		t.Fatal(err)
	}
	for _, k := range []stepKind{
		{name: "flight", shape: geom.Sphere{R: 0.01}},
		{name: "sphere", shape: geom.Sphere{R: 0.1}},
		{name: "capsule", shape: geom.Capsule{R: 0.05, HalfLength: 0.1}},
		{name: "cylinder", shape: geom.Cylinder{R: 0.08, HalfLength: 0.1}},
		{name: "cone", shape: geom.Cone{R: 0.1, HalfLength: 0.08}},
		{name: "frustum", shape: geom.Frustum{RBottom: 0.1, RTop: 0.06, HalfLength: 0.08}},
		{name: "box", shape: geom.Box{HalfExtents: r3.Vec{X: 0.06, Y: 0.08, Z: 0.1}}},
		{name: "ellipsoid", shape: geom.Ellipsoid{SemiAxes: r3.Vec{X: 0.06, Y: 0.08, Z: 0.1}}},
		{name: "superquadric", shape: geom.Superquadric{SemiAxes: r3.Vec{X: 0.06, Y: 0.08, Z: 0.1}, Alpha1: 0.6,
			Alpha2: 1.4}},
		{name: "smooth_hull", shape: smoothHull},
		{name: "hull", shape: testkit.Hull(rng, r3.Vec{X: 0.08, Y: 0.1, Z: 0.07}, 20)},
		{name: "rounded", shape: geom.WithMargin(geom.Box{HalfExtents: r3.Vec{X: 0.06, Y: 0.08, Z: 0.1}}, 0.02)},
	} {
		for i, model := range []contact.Model{contact.NCP, contact.CCP} {
			k.model, k.bodies = model, 2
			k.restitution = 0.6 * float64(i)
			kinds = append(kinds, k)
		}
		k.parts, k.restitution, k.model = true, 0.5, contact.NCP
		kinds = append(kinds, k)
		k.parts, k.moving = false, true
		kinds = append(kinds, k)
	}
	for _, model := range []contact.Model{contact.NCP, contact.CCP} {
		kinds = append(kinds, stepKind{name: "compliant box", shape: geom.Box{HalfExtents: r3.Vec{X: 0.06, Y: 0.08,
			Z: 0.1}}, model: model, bodies: 2, compliance: 0.05})
	}
	return kinds
}

func (k *stepKind) String() string {
	return fmt.Sprintf("%s %v parts=%t moving=%t e=%g", k.name, k.model, k.parts, k.moving, k.restitution)
}

// TestStepAgainstDifferences: the derivative of a step by state, forces, masses, inertias, friction, restitution,
// poses of parts and gravity together, along random directions: for shapes of all kinds, bodies of parts, a ground that
// moves and rotates, both models, with and without restitution and compliance. Differences of the fourth order with
// steps that keep the modes are off by the tolerance of the solve over the step, 1e-13/1e-4, times what velocities are
// multiplied by.
func TestStepAgainstDifferences(t *testing.T) {
	worlds, directions := 24, 2
	if need.All() { // 10⁵
		worlds, directions = 48, 60
	}
	kinds := stepKinds(t)
	checked, contacts, worst := 0, 0, 0.0
	for first := 0; first < len(kinds); {
		name, rng := kinds[first].name, rand.New(rand.NewPCG(48, uint64(first)))
		t.Run(name, func(t *testing.T) {
			for ; first < len(kinds) && kinds[first].name == name; first++ {
				k := &kinds[first]
				e := k.differences(t, rng, worlds, directions)
				t.Logf("%v: %d checked with %d contacts, %d not smooth, %d change, worst %.2g", k, e.checked,
					e.contacts, e.rough, e.changed, e.worst)
				checked, contacts, worst = checked+e.checked, contacts+e.contacts, max(worst, e.worst)
				if !(e.worst <= 1e-7) {
					t.Errorf("%v: off by %.3g: %s", k, e.worst, e.where)
				}
			}
		})
		for first < len(kinds) && kinds[first].name == name { // the test of another name was asked for
			first++
		}
	}
	t.Logf("%d directions with %d contacts, worst %.2g", checked, contacts, worst)
}

package contact_test

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
	"clearance/contact/scenes"
	"clearance/cpu"
	"clearance/geom"
	"clearance/tests/need"
)

// scaledBy returns a column times a power of two; nil of nil.
func scaledBy(v []float64, e int) []float64 {
	if v == nil {
		return nil
	}
	out := make([]float64, len(v))
	for i, x := range v {
		out[i] = math.Ldexp(x, e)
	}
	return out
}

// scaledTwists scales velocities and angular velocities.
func scaledTwists(v []float64, linear, angular int) []float64 {
	if v == nil {
		return nil
	}
	out := make([]float64, len(v))
	for i, x := range v {
		e := linear
		if i%6 >= 3 {
			e = angular
		}
		out[i] = math.Ldexp(x, e)
	}
	return out
}

// TestSolveScales: scaling masses, lengths or times of a problem by powers of two scales its answer by powers of two,
// bit for bit, by every variant of the kernels and in Go.
func TestSolveScales(t *testing.T) {
	n := 20
	if need.All() {
		n = 500
	}
	rng := rand.New(rand.NewPCG(44, 1))
	exponent := func() int { return rng.IntN(49) - 24 }
	for _, kind := range []string{"random", "slide", "spin", "tip", "stack4", "heavy", "graph"} {
		p, err := scenes.Generate(kind, n, 7)
		if err != nil {
			t.Fatal(err)
		}
		for _, variant := range []string{"", contact.Off} {
			for i := range p.Compliance { // rigid in Go, and with compliance in C
				p.Compliance[i] = 0
				if variant != contact.Off {
					p.Compliance[i] = 1e-3 * rng.Float64()
				}
			}
			for _, model := range []contact.Model{contact.NCP, contact.CCP} {
				mass, length, time := exponent(), exponent(), exponent()
				speed := length - time
				q := *p
				q.Mass, q.Inertia = scaledBy(p.Mass, mass), scaledBy(p.Inertia, mass+2*length)
				q.Velocity = scaledTwists(p.Velocity, speed, -time)
				q.ArmA, q.ArmB = scaledBy(p.ArmA, length), scaledBy(p.ArmB, length)
				q.Target, q.Warm = scaledBy(p.Target, speed), scaledBy(p.Warm, mass+speed)
				q.Compliance = scaledBy(p.Compliance, -mass)
				o := contact.Options{Model: model, SIMD: variant, Bound: model == contact.CCP}
				var a, b contact.Solution
				if err := contact.Solve(t.Context(), p, o, &a); err != nil {
					t.Fatal(err)
				}
				if err := contact.Solve(t.Context(), &q, o, &b); err != nil {
					t.Fatal(err)
				}
				if !slices.Equal(b.Impulse, scaledBy(a.Impulse, mass+speed)) ||
					!slices.Equal(b.Velocity, scaledTwists(a.Velocity, speed, -time)) ||
					!slices.Equal(b.Residual, scaledBy(a.Residual, speed)) ||
					!slices.Equal(b.Scale, scaledBy(a.Scale, speed)) || !slices.Equal(a.Status, b.Status) ||
					model == contact.CCP && !slices.Equal(b.Bound, scaledBy(a.Bound, speed)) ||
					!slices.Equal(b.Complementarity, scaledBy(a.Complementarity, mass+2*speed)) {
					t.Errorf("%s %v %q: other bits, scaled by 2^%d, 2^%d, 2^%d", kind, model, variant, mass, length,
						time)
				}
			}
		}
	}
}

// TestPushAtEverySize: a cube is pushed with a force that grows to twice its friction within 0.4 s. It starts to slide
// at half of that time, and has μg·t²/2T of the rest of it at the end.
func TestPushAtEverySize(t *testing.T) {
	const mu, g, dt, end = 0.4, 9.81, 1e-3, 0.4
	for _, size := range []struct{ mass, half float64 }{{1, 0.1}, {0.1, 0.05}, {1e-2, 1e-2}, {1e-4, 2e-3}} {
		lib, err := batch.NewLibrary([]geom.Shape{geom.Halfspace{},
			geom.Box{HalfExtents: r3.Vec{X: size.half, Y: size.half, Z: size.half}}}, nil)
		if err != nil {
			t.Fatal(err)
		}
		i := size.mass * 2 / 3 * size.half * size.half
		scene := &contact.Scene{Bodies: batch.BodiesOfShapes(lib), Body: []int32{0, 1},
			Mass: []float64{math.Inf(1), size.mass}, Inertia: []float64{0, 0, 0, 0, 0, 0, i, i, i, 0, 0, 0},
			Friction: []float64{mu, mu}}
		state := &contact.State{Worlds: 1, Pose: []float64{0, 0, 0, 1, 0, 0, 0, 0, 0, size.half, 1, 0, 0, 0}}
		s, err := contact.NewSimulation(scene, state, cpu.NewReference(),
			contact.StepOptions{TimeStep: dt, Gravity: r3.Vec{Z: -g}})
		if err != nil {
			t.Fatal(err)
		}
		force, want := make([]float64, 12), 0.0
		for step := range int(math.Round(end / dt)) {
			push := 2 * mu * size.mass * g * float64(step+1) * dt / end
			force[6] = push
			want = max(0, want+dt*(push/size.mass-mu*g))
			if err := s.Step(context.Background(), force); err != nil {
				t.Fatal(err)
			}
			if st := s.State().Status[0]; st != contact.Advanced {
				t.Fatalf("%g kg: step %d: %v", size.mass, step, st)
			}
		}
		got := s.State().Velocity[3]
		t.Logf("%g kg, %g m: %.9g m/s, off by %.1e", size.mass, size.half, got, got-want)
		if !(math.Abs(got-want) <= 4e-4) {
			t.Errorf("%g kg, %g m: %g m/s, want %g", size.mass, size.half, got, want)
		}
	}
}

// powers are the powers of two by which a simulation is scaled.
type powers struct{ mass, length, time int }

func (p powers) speed() int    { return p.length - p.time }
func (p powers) force() int    { return p.mass + p.length - 2*p.time }
func (p powers) momentum() int { return p.mass + 2*p.length - p.time }

// bodies are bodies of 2^length times the size.
func (p powers) bodies(t *testing.T, b *batch.Bodies) *batch.Bodies {
	t.Helper()
	k := math.Ldexp(1, p.length)
	shapes := make([]geom.Shape, b.Library().Len())
	for i := range shapes {
		shapes[i] = must(geom.Scaled(b.Library().Shape(int32(i)), k))
	}
	list := make([]batch.Body, b.Len())
	for i := range list {
		for _, part := range b.Parts(int32(i)) {
			part.Pose.Position = r3.Scale(k, part.Pose.Position)
			list[i].Parts = append(list[i].Parts, part)
		}
	}
	return must(batch.NewBodies(must(batch.NewLibrary(shapes, nil)), list))
}

func (p powers) scene(t *testing.T, s *contact.Scene) *contact.Scene {
	t.Helper()
	out := *s
	out.Bodies = p.bodies(t, s.Bodies)
	out.Mass, out.Inertia = scaledBy(s.Mass, p.mass), scaledBy(s.Inertia, p.mass+2*p.length)
	out.Center = scaledBy(s.Center, p.length)
	return &out
}

func (p powers) poses(v []float64) []float64 {
	out := slices.Clone(v)
	for i := range out {
		if i%7 < 3 {
			out[i] = math.Ldexp(out[i], p.length)
		}
	}
	return out
}

// momenta scales angular momenta; those of bodies without a finite mass are angular velocities.
func (p powers) momenta(s *contact.Scene, v []float64) []float64 {
	out := slices.Clone(v)
	for i := range out {
		e := p.momentum()
		if math.IsInf(s.Mass[i/3%len(s.Mass)], 1) {
			e = -p.time
		}
		out[i] = math.Ldexp(out[i], e)
	}
	return out
}

// forces scales forces and torques.
func (p powers) forces(v []float64) []float64 {
	return scaledTwists(v, p.force(), p.force()+p.length)
}

// scaledCase is a simulation to scale.
type scaledCase struct {
	name  string
	scene *contact.Scene
	state *contact.State
	o     contact.StepOptions
	force []float64
	steps int
}

// exactParts rotates the parts of bodies by thirds of a revolution in place of their rotations: normalizing such a
// quaternion changes no bit of it.
func exactParts(b *batch.Bodies) *batch.Bodies {
	list := make([]batch.Body, b.Len())
	for i := range list {
		for k, part := range b.Parts(int32(i)) {
			if part.Pose.Rotation = (quat.Number{Real: 1}); k > 0 {
				part.Pose.Rotation = quat.Number{Real: 0.5, Imag: 0.5, Jmag: 0.5, Kmag: 0.5 - float64(k%2)}
			}
			list[i].Parts = append(list[i].Parts, part)
		}
	}
	return must(batch.NewBodies(b.Library(), list))
}

// scaledCases are heaps, stacks and rows of the scenes, and bodies of every kind that are thrown at plates, at the
// ground and at each other, with restitution, spins and parts.
func scaledCases(t *testing.T, n int) (list []scaledCase) {
	t.Helper()
	rng := rand.New(rand.NewPCG(44, 3))
	down := r3.Vec{Z: -9.81}
	kinds := []string{"ground", "stack4", "heap", "mixed", "stack8", "stack10"}
	for i := range n {
		o := contact.StepOptions{TimeStep: []float64{1e-3, 5e-3, 10e-3, 1.0 / 60}[rng.IntN(4)], Gravity: down}
		if rng.IntN(4) == 0 {
			o.Solve.Model = contact.CCP
		}
		if rng.IntN(4) == 0 {
			o.Restitution = contact.NewtonRestitution
		}
		if rng.IntN(3) == 0 {
			o.Solve.SIMD = contact.Off
		}
		if i%4 == 1 {
			o.Compliance = 1e-3
		}
		c := scaledCase{o: o, steps: 60}
		if i%3 == 0 {
			kind := kinds[i/3%len(kinds)]
			scene, state, err := scenes.Simulation(kind, 2, rng.Uint64())
			if err != nil {
				t.Fatal(err)
			}
			scene.Restitution = slices.Repeat([]float64{0.6 * rng.Float64()}, len(scene.Body))
			c.name, c.scene, c.state = kind, scene, state
		} else {
			k := &dropKinds[rng.IntN(len(dropKinds))]
			drop := dropCase{plate: []float64{0, 4e-3, 20e-3}[rng.IntN(3)], fastest: 10, bounce: rng.Float64(),
				parts: rng.IntN(4) == 0}
			switch rng.IntN(4) {
			case 0:
				drop.free, drop.plate = true, 20e-3
			case 1:
				drop.moving, drop.plate = true, 8e-3
			case 2:
				drop.other, drop.plate = true, 0
			}
			var err error
			if c.scene, err = dropScene(rng, k, &drop); err != nil {
				t.Fatal(err)
			}
			c.scene.Bodies = exactParts(c.scene.Bodies)
			c.name, c.state = k.name, dropState(rng, c.scene, &drop, 2)
		}
		if rng.IntN(2) == 0 {
			c.force = make([]float64, 6*len(c.state.Pose)/7)
			for j := range c.force {
				c.force[j] = rng.NormFloat64()
				if j%6 >= 3 {
					c.force[j] *= 0.1
				}
			}
		}
		list = append(list, c)
	}
	return list
}

// TestSimulationScales: simulations of all kinds whose masses, lengths and times are scaled by powers of two have the
// states of the others, scaled, bit for bit after every step.
func TestSimulationScales(t *testing.T) {
	n := 60
	if need.All() {
		n = 1000
	}
	rng := rand.New(rand.NewPCG(44, 4))
	exponent := func(most int) int { return rng.IntN(2*most+1) - most }
	solver := must(cpu.New(cpu.Options{Workers: 1}))
	defer solver.Close()
	again, parts := 0, 0
	for i, c := range scaledCases(t, n) {
		p := powers{exponent(24), exponent(20), exponent(16)}
		name := fmt.Sprintf("case %d: %s by 2^%d kg, 2^%d m, 2^%d s", i, c.name, p.mass, p.length, p.time)
		o := c.o
		o.TimeStep, o.Gravity = math.Ldexp(o.TimeStep, p.time), r3.Scale(math.Ldexp(1, p.length-2*p.time), o.Gravity)
		a, err := contact.NewSimulation(c.scene, c.state, solver, c.o)
		if err != nil {
			t.Fatal(err)
		}
		b, err := contact.NewSimulation(p.scene(t, c.scene), &contact.State{Worlds: c.state.Worlds,
			Pose: p.poses(c.state.Pose), Velocity: scaledBy(c.state.Velocity, p.speed()),
			Momentum: p.momenta(c.scene, c.state.Momentum)}, solver, o)
		if err != nil {
			t.Fatal(name, err)
		}
		for step := range c.steps {
			if err := a.Step(context.Background(), c.force); err != nil {
				t.Fatal(err)
			}
			if err := b.Step(context.Background(), p.forces(c.force)); err != nil {
				t.Fatal(err)
			}
			if what := p.differs(c.scene, a, b); what != "" {
				t.Errorf("%s: step %d: %s: other bits", name, step, what)
				break
			}
			for w := range c.state.Worlds {
				if a.State().Solves[w] > 1 {
					again++
				}
				if a.State().Parts[w] > 1 {
					parts++
				}
			}
		}
	}
	if t.Logf("%d world-steps solved again, %d in parts", again, parts); again == 0 || parts == 0 {
		t.Error("no world is solved again or stepped in parts: the test shows little")
	}
}

// differs names what is not the scaled one of a.
func (p powers) differs(scene *contact.Scene, a, b *contact.Simulation) string {
	s, q := a.State(), b.State()
	same := func(want, got []float64) bool {
		return slices.EqualFunc(want, got, func(x, y float64) bool { return x == y || x != x && y != y })
	}
	switch {
	case !slices.Equal(s.Status, q.Status):
		return fmt.Sprint("status ", s.Status, q.Status)
	case !slices.Equal(s.Contacts, q.Contacts):
		return fmt.Sprint("contacts ", s.Contacts, q.Contacts)
	case !slices.Equal(s.Solves, q.Solves):
		return fmt.Sprint("solves ", s.Solves, q.Solves)
	case !slices.Equal(s.Parts, q.Parts):
		return fmt.Sprint("parts ", s.Parts, q.Parts)
	case !same(p.poses(s.Pose), q.Pose):
		return "pose"
	case !same(scaledBy(s.Velocity, p.speed()), q.Velocity):
		return "velocity"
	case !same(p.momenta(scene, s.Momentum), q.Momentum):
		return "momentum"
	case !same(scaledBy(s.Energy, p.mass+2*p.speed()), q.Energy):
		return "energy"
	}
	return ""
}

// sizeGrid is the grid of [TestEverySize]; in make test some of each, and all by make test-all.
func sizeGrid() (masses, halves, steps []float64, most int) {
	if need.All() {
		return []float64{1e-6, 1e-4, 1e-2, 1, 1e2, 1e4, 1e6}, []float64{0.5e-3, 5e-3, 0.05, 0.5, 5, 50},
			[]float64{1e-5, 1e-4, 1e-3, 5e-3, 1.0 / 60, 1.0 / 30}, 2000
	}
	return []float64{1e-6, 1, 1e6}, []float64{0.5e-3, 0.1, 50}, []float64{1e-5, 1e-3, 1.0 / 30}, 120
}

// TestEverySize: a cube of 1e-6 to 1e6 kg and 1 mm to 100 m rests on a slope, slides down one, and is pushed with a
// force that grows to twice its friction, at time steps of 10 µs to 1/30 s, with default options. What rests moves by
// at most 1e-6 of its size and rotates by at most 1e-4 rad/s in 2 s. What slides has the speed of the closed form to
// 1e-5 of what gravity gives in the time, and a speed of rounding: gaps are known to a few units of the coordinates, so
// that a body may fall that far before it weighs on the ground. It may lift off by 1e-6 of its size and rotate by 1e-4
// rad/s besides what the tolerance allows in steps in which all contacts slide, in which a body of 1 mm falls by 11 mm.
func TestEverySize(t *testing.T) {
	masses, halves, steps, most := sizeGrid()
	solver := must(cpu.New(cpu.Options{Workers: 1}))
	defer solver.Close()
	worst := map[string]float64{}
	for _, mass := range masses {
		for _, half := range halves {
			for _, dt := range steps {
				n := min(most, int(math.Round(2/dt)))
				for _, motion := range []string{"rests", "slides", "pushed"} {
					e := moveCube(t, solver, motion, mass, half, dt, n)
					for name, x := range e {
						name = motion + ": " + name
						worst[name] = max(worst[name], x)
						if !(x <= 1) {
							t.Errorf("%s of %g kg, %g m, at %g s: %s: %g times what is allowed", motion, mass, half, dt,
								name, x)
						}
					}
				}
			}
		}
	}
	t.Log("largest errors as parts of what is allowed:", worst)
}

// moveCube returns the errors of a motion as parts of what is allowed.
func moveCube(t *testing.T, solver *cpu.Backend, motion string, mass, half, dt float64, n int) map[string]float64 {
	t.Helper()
	const angle = 20 * math.Pi / 180
	l := lying{shape: geom.Box{HalfExtents: r3.Vec{X: half, Y: half, Z: half}}, mass: mass, dt: dt, friction: 0.4}
	a := 0.0 // along the ground at the end of step i: a·f(i)
	f := func(i float64) float64 { return i }
	switch motion {
	case "rests":
		l.slope = angle
	case "slides":
		l.slope, l.friction = angle, 0.3
		a = gravity * (math.Sin(angle) - l.friction*math.Cos(angle))
	case "pushed":
		a = l.friction * gravity
		f = func(i float64) float64 { return max(0, 2*i/float64(n)-1) }
	}
	scene, state := l.world(t)
	s, err := contact.NewSimulation(scene, state, solver, contact.StepOptions{TimeStep: dt,
		Gravity: r3.Vec{Z: -gravity}, Solve: contact.Options{Workers: 1}})
	if err != nil {
		t.Fatal(err)
	}
	along, up := r3.Vec{X: math.Cos(l.slope), Z: -math.Sin(l.slope)}, r3.Vec{X: math.Sin(l.slope), Z: math.Cos(l.slope)}
	start, want, e := place(s, 1), 0.0, map[string]float64{}
	raise := func(name string, x, allowed float64) { e[name] = max(e[name], x/allowed) }
	force := make([]float64, 12)
	for i := range n {
		if motion == "pushed" {
			force[6] = 2 * l.friction * mass * gravity * float64(i+1) / float64(n)
			want += dt * a * f(float64(i+1))
		} else {
			want += dt * a
		}
		if err := s.Step(context.Background(), force); err != nil {
			t.Fatal(err)
		}
		if v := s.State().Status[0]; v != contact.Advanced {
			t.Fatalf("%s of %g kg, %g m, at %g s: step %d: %v", motion, mass, half, dt, i, v)
		}
		v := s.State().Velocity[3:6]
		raise("speed", math.Abs(v[0]*along.X+v[2]*along.Z-want), 1e-5*gravity*dt*float64(i+1)+0x1p-46*l.size()/dt)
		moved, slack := r3.Sub(place(s, 1), start), 0.0
		if motion != "rests" {
			slack = 2e-6 * gravity * dt // tolerance and speed scale
		}
		raise("lift", math.Abs(r3.Dot(moved, up)), 1e-6*l.size()+slack*dt)
		raise("spin", r3.Norm(s.Spin(0, 1)), 1e-4+slack/half)
		if motion == "rests" {
			raise("moves", r3.Norm(moved), 1e-6*l.size())
		}
	}
	return e
}

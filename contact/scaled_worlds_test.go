package contact_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"clearance/batch"
	"clearance/contact"
	"clearance/contact/scenes"
	"clearance/cpu"
	"clearance/geom"
	"clearance/tests/need"

	"gonum.org/v1/gonum/num/quat"
	"gonum.org/v1/gonum/spatial/r3"
)

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

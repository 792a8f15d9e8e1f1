package contact_test

import (
	"context"
	"flag"
	"math"
	"math/rand/v2"
	"testing"

	"clearance/batch"
	"clearance/contact"
	"clearance/cpu"
	"clearance/geom"
	"clearance/internal/testkit"

	"gonum.org/v1/gonum/num/quat"
	"gonum.org/v1/gonum/spatial/r3"
)

var (
	impactCount = flag.Int("impacts", 600, "worlds of two bodies that TestRandomImpacts throws on the ground")
	impactSeed  = flag.Uint64("impact-seed", 5, "seed of TestRandomImpacts")

	slidingCount = flag.Int("sliding-impacts", 24, "worlds of TestSlidingImpacts")
	slidingSeed  = flag.Uint64("sliding-seed", 20, "seed of TestSlidingImpacts")
)

// impactScene is a half-space, a body of a kind and one of any kind, with a friction and a restitution.
func impactScene(rng *rand.Rand, k *dropKind, mu, e float64) (*contact.Scene, error) {
	shapes := []geom.Shape{geom.Halfspace{}, k.make(rng), dropKinds[rng.IntN(len(dropKinds))].make(rng)}
	lib, err := batch.NewLibrary(shapes, nil)
	if err != nil {
		return nil, err
	}
	s := &contact.Scene{Bodies: batch.BodiesOfShapes(lib), Body: []int32{0, 1, 2}, Mass: []float64{math.Inf(1)},
		Inertia: make([]float64, 6), Friction: []float64{mu, mu, mu}, Restitution: []float64{e, e, e}}
	for b := 1; b < 3; b++ { // the inertia of the box around it, and any mass
		lo, hi := lib.Shape(int32(b)).AABB()
		d, mass := r3.Sub(hi, lo), math.Exp(rng.NormFloat64())
		x, y, z := mass/12*d.X*d.X, mass/12*d.Y*d.Y, mass/12*d.Z*d.Z
		s.Mass, s.Inertia = append(s.Mass, mass), append(s.Inertia, y+z, z+x, x+y, 0, 0, 0)
	}
	return s, nil
}

// impactState is worlds of two bodies that fly towards the ground and each other, and rotate.
func impactState(rng *rand.Rand, scene *contact.Scene, worlds int) *contact.State {
	state := &contact.State{Worlds: worlds}
	put := func(at r3.Vec, q quat.Number, v, momentum r3.Vec) {
		state.Pose = append(state.Pose, at.X, at.Y, at.Z, q.Real, q.Imag, q.Jmag, q.Kmag)
		state.Velocity = append(state.Velocity, v.X, v.Y, v.Z)
		state.Momentum = append(state.Momentum, momentum.X, momentum.Y, momentum.Z)
	}
	for range worlds {
		put(r3.Vec{}, quat.Number{Real: 1}, r3.Vec{}, r3.Vec{})
		low := 0.0
		for b := 1; b < 3; b++ {
			bounds := scene.Bodies.Bounds(scene.Body[b])
			radius := bounds.Radius + r3.Norm(bounds.Center)
			at := r3.Vec{X: 0.2 * radius * rng.NormFloat64(), Y: 0.2 * radius * rng.NormFloat64(), Z: low + 1.01*radius}
			low += 2.02 * radius
			q := testkit.Rotation(rng)
			v := r3.Add(r3.Vec{Z: -3 * float64(b)}, testkit.Unit(rng))
			put(at, q, v, scene.Momentum(b, q, r3.Scale(10*rng.Float64(), testkit.Unit(rng))))
		}
	}
	return state
}

// kinetic is the kinetic energy of the bodies of a world.
func kinetic(s *contact.Simulation, w int) (energy float64) {
	st, scene := s.State(), s.Scene()
	for b := 1; b < len(scene.Body); b++ {
		k := 3 * (w*len(scene.Body) + b)
		v, l := r3.Vec{X: st.Velocity[k], Y: st.Velocity[k+1], Z: st.Velocity[k+2]},
			r3.Vec{X: st.Momentum[k], Y: st.Momentum[k+1], Z: st.Momentum[k+2]}
		energy += 0.5*scene.Mass[b]*r3.Norm2(v) + 0.5*r3.Dot(l, s.Spin(w, b))
	}
	return energy
}

// impactCases are what worlds of impacts are drawn from.
type impactCases struct {
	friction, restitution, steps []float64 // time steps in s
	laws                         []contact.RestitutionLaw
}

// impactRow is what became of the impacts of a kind of body.
type impactRow struct{ impacts, gains, newton, stuck int }

func (r *impactRow) add(o impactRow) {
	r.impacts, r.gains, r.newton, r.stuck = r.impacts+o.impacts, r.gains+o.gains, r.newton+o.newton, r.stuck+o.stuck
}

// throwImpacts throws the bodies of so many worlds and follows their kinetic energy for 60 steps, which by the bounded
// law must not rise by more than 1e-9 of it in a step, in parts or not. The law lets it rise by 1e-10 of the energies
// of an impact, and the sum of 1024 parts is rounded to 2e-12. Penetrations are not corrected, since that does work.
func throwImpacts(t *testing.T, rng *rand.Rand, count int, c *impactCases) (sum impactRow) {
	t.Helper()
	const worlds, steps = 4, 60
	solver := must(cpu.New(cpu.Options{Workers: 1}))
	defer solver.Close()
	rows := make([]impactRow, len(dropKinds))
	worst, inParts := 0.0, 0
	draw := func(of []float64) float64 { return of[rng.IntN(len(of))] }
	for n := 0; n < count; n += worlds {
		i := n / worlds % len(dropKinds)
		mu, e := draw(c.friction), draw(c.restitution)
		scene, err := impactScene(rng, &dropKinds[i], mu, e)
		if err != nil {
			t.Fatal(err)
		}
		state := impactState(rng, scene, worlds)
		o := contact.StepOptions{TimeStep: draw(c.steps), Correction: -1}
		o.Solve.Model = contact.Model(rng.IntN(2))
		for _, o.Restitution = range c.laws {
			s, err := contact.NewSimulation(scene, state, solver, o)
			if err != nil {
				t.Fatal(err)
			}
			var before [worlds]float64
			for w := range before {
				before[w] = kinetic(s, w)
			}
			for step := range steps {
				if err := s.Step(context.Background(), nil); err != nil {
					t.Fatal(err)
				}
				for w := range before {
					bounded := o.Restitution == contact.BoundedRestitution
					after, r, status := kinetic(s, w), &rows[i], s.State().Status[w]
					gain := after/before[w] - 1
					if after == before[w] { // both may be 0
						gain = 0
					}
					before[w] = after
					switch {
					case !status.Advances():
						r.stuck++
					case !bounded && gain > 1e-9:
						r.newton++
					case !bounded:
					case !(gain <= 1e-9):
						r.gains++
						t.Errorf("%s, μ %g, e %g, %v, %g s: step %d of world %d, %v, %d solves: energy × 1 + %g",
							dropKinds[i].name, mu, e, o.Solve.Model, o.TimeStep, step, w, status, s.State().Solves[w],
							gain)
					case impulses(s, w):
						r.impacts++
						worst = max(worst, gain)
						if status == contact.AdvancedInParts {
							inParts++
						}
					}
				}
			}
		}
	}
	for i, r := range rows {
		t.Logf("%-17s %6d impacts, %d gain energy, %d by Newton's law; %d world-steps not advanced", dropKinds[i].name,
			r.impacts, r.gains, r.newton, r.stuck)
		sum.add(r)
	}
	t.Logf("%d impacts, %d in parts, the largest gain is %.2g; %d gain by Newton's law, %d world-steps not advanced",
		sum.impacts, inParts, worst, sum.newton, sum.stuck)
	if sum.impacts < count/2 || sum.stuck > sum.impacts/100 {
		t.Errorf("%d impacts, %d world-steps not advanced: the test shows little", sum.impacts, sum.stuck)
	}
	return sum
}

// TestRandomImpacts: the kinetic energy of random impacts of bodies of every kind with each other and with the ground,
// for every friction and restitution and under both models, never rises by the bounded law. By Newton's law some of the
// impacts gain; so the test is of impacts that would.
func TestRandomImpacts(t *testing.T) {
	sum := throwImpacts(t, rand.New(rand.NewPCG(44, *impactSeed)), *impactCount, &impactCases{
		friction: []float64{0, 0.1, 0.3, 1, 2}, restitution: []float64{0, 0.3, 0.6, 0.9, 1},
		steps: []float64{1e-3, 2e-3, 5e-3},
		laws:  []contact.RestitutionLaw{contact.BoundedRestitution, contact.NewtonRestitution}})
	if sum.newton == 0 {
		t.Error("none gains by Newton's law: the test shows little")
	}
}

// TestSlidingImpacts: nor does it where bodies slide on each other without friction and restitution, in long steps:
// most steps that are made in a thousand parts are such ones, and their entries may not do work so that a world
// advances.
func TestSlidingImpacts(t *testing.T) {
	throwImpacts(t, rand.New(rand.NewPCG(44, *slidingSeed)), *slidingCount, &impactCases{friction: []float64{0},
		restitution: []float64{0}, steps: []float64{5e-3}, laws: []contact.RestitutionLaw{contact.BoundedRestitution}})
}

// impulses reports whether the last step of a world had contact impulses.
func impulses(s *contact.Simulation, w int) bool {
	bodies := 6 * len(s.Scene().Body)
	out := make([]float64, bodies*s.State().Worlds)
	if err := s.ContactForces(out); err != nil {
		panic(err)
	}
	for _, x := range out[w*bodies : (w+1)*bodies] {
		if x != 0 {
			return true
		}
	}
	return false
}

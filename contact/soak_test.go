package contact_test

import (
	"context"
	"flag"
	"math"
	"testing"

	"clearance/contact"
	"clearance/contact/scenes"
	"clearance/cpu"
	"clearance/geom"
	"clearance/ref"

	"gonum.org/v1/gonum/num/quat"
	"gonum.org/v1/gonum/spatial/r3"
)

var worldSteps = flag.Int("world-steps", 4000, "soak: world-steps of random scenes; 1000000 is the whole")

// TestSoak steps random scenes of every kind under both models: no state is NaN, the energy identity holds wherever a
// world is advanced, few worlds are undecided, and no pair that touches, by the reference and without culling, lacks a
// contact.
func TestSoak(t *testing.T) {
	kinds := scenes.SimulationKinds()
	models := []contact.Model{contact.NCP, contact.CCP}
	const worlds = 8
	steps := max(*worldSteps/(worlds*len(kinds)*len(models)), 1)
	if testing.Short() {
		steps = min(steps, 12)
	}
	for _, kind := range kinds {
		for _, model := range models {
			scene, state, err := scenes.Simulation(kind, worlds, 34)
			if err != nil {
				t.Fatal(err)
			}
			o := contact.StepOptions{TimeStep: 5e-3, Gravity: r3.Vec{Z: -9.81}, Solve: contact.Options{Model: model}}
			s, err := contact.NewSimulation(scene, state, cpu.NewReference(), o)
			if err != nil {
				t.Fatal(err)
			}
			counts := map[contact.StepStatus]int{}
			worst := 0.0
			for step := range steps {
				before := append([]float64(nil), s.State().Pose...)
				if err := s.Step(context.Background(), nil); err != nil {
					t.Fatal(err)
				}
				st := s.State()
				for w, status := range st.Status {
					counts[status]++
					if status == contact.Advanced {
						worst = max(worst, math.Abs(st.Energy[w]))
					}
					if step%20 == 0 && status != contact.PairUndecided && status != contact.TooManyContacts {
						lost(t, kind, scene, s.Problem(), before, w)
					}
				}
				for _, x := range append(append(append([]float64{}, st.Pose...), st.Velocity...), st.Momentum...) {
					if x-x != 0 {
						t.Fatalf("%s, %v: step %d: %g in the state", kind, model, step, x)
					}
				}
			}
			n := steps * worlds
			t.Logf("%s, %v: %d world-steps, %v, energy %.2g J", kind, model, n, counts, worst)
			if bad := n - counts[contact.Advanced]; bad > n/10_000 {
				t.Errorf("%s, %v: %d of %d world-steps are not advanced: %v", kind, model, bad, n, counts)
			}
		}
	}
}

// lost fails for a pair of bodies that touches at the beginning of a step and has no contact in its problem.
func lost(t *testing.T, kind string, scene *contact.Scene, p *contact.Problem, poses []float64, w int) {
	t.Helper()
	bodies := len(scene.Body)
	has := map[[2]int32]bool{}
	for c := w * p.Contacts; c < w*p.Contacts+int(p.Count[w]); c++ {
		has[[2]int32{p.BodyA[c], p.BodyB[c]}] = true
	}
	var ws ref.Workspace
	lib := scene.Bodies.Library()
	for b := range bodies {
		for a := range b {
			if math.IsInf(scene.Mass[a], 1) && math.IsInf(scene.Mass[b], 1) {
				continue
			}
			pose := func(i int) geom.Pose {
				x := poses[7*(w*bodies+i):]
				return geom.Pose{Position: r3.Vec{X: x[0], Y: x[1], Z: x[2]},
					Rotation: quat.Number{Real: x[3], Imag: x[4], Jmag: x[5], Kmag: x[6]}}
			}
			q := ref.NewPair(lib.Shape(scene.Body[a]), lib.Shape(scene.Body[b]), pose(a), pose(b))
			r := ref.Solve(&q, ref.Options{}, &ws)
			if r.Status == ref.Penetrating && !has[[2]int32{int32(a), int32(b)}] {
				t.Errorf("%s: world %d: bodies %d and %d penetrate by %g without a contact", kind, w, a, b, -r.Distance)
			}
		}
	}
}

// TestStackOfTen: ten boxes stand for 10⁵ steps (with -world-steps of that many), and their kinetic and potential
// energy together never rise beyond rounding at a restitution of 0 without correction of penetrations.
func TestStackOfTen(t *testing.T) {
	scene, state, err := scenes.Simulation("stack10", 1, 1)
	if err != nil {
		t.Fatal(err)
	}
	steps := max(*worldSteps/10, 200)
	if *worldSteps >= 100_000 {
		steps = 100_000
	}
	if testing.Short() {
		steps = 100
	}
	o := contact.StepOptions{TimeStep: 5e-3, Gravity: r3.Vec{Z: -9.81}, Correction: -1,
		Solve: contact.Options{Tolerance: 1e-9}}
	s, err := contact.NewSimulation(scene, state, cpu.NewReference(), o)
	if err != nil {
		t.Fatal(err)
	}
	energy := func() (e float64) {
		for b := 1; b < len(scene.Body); b++ {
			v, l := s.State().Velocity[3*b:3*b+3], s.State().Momentum[3*b:3*b+3]
			e += scene.Mass[b] * (0.5*(v[0]*v[0]+v[1]*v[1]+v[2]*v[2]) + 9.81*s.State().Pose[7*b+2])
			spin := s.Spin(0, b)
			e += 0.5 * (l[0]*spin.X + l[1]*spin.Y + l[2]*spin.Z)
		}
		return e
	}
	before := energy()
	first := before
	for step := range steps {
		if err := s.Step(context.Background(), nil); err != nil {
			t.Fatal(err)
		}
		if status := s.State().Status[0]; status != contact.Advanced {
			t.Fatalf("step %d: %v", step, status)
		}
		now := energy()
		if now > before+1e-8 { // ten boxes of 8 kg at 1 m: 80 J, and residuals of 1e-9 at 40 contacts
			t.Fatalf("step %d: the energy rises by %g J", step, now-before)
		}
		before = now
	}
	if top := s.State().Pose[7*10+2]; math.Abs(top-1.9) > 2e-3 {
		t.Errorf("the top box is at %g m after %d steps", top, steps)
	}
	t.Logf("%d steps: the energy fell by %.2g J of %.4g J", steps, first-before, first)
}

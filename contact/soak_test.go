package contact_test

import (
	"context"
	"flag"
	"math"
	"slices"
	"testing"

	"clearance/contact"
	"clearance/contact/scenes"
	"clearance/cpu"
	"clearance/ref"
	"clearance/tests/need"

	"gonum.org/v1/gonum/spatial/r3"
)

var worldSteps = flag.Int("world-steps", 0, "world-steps of soaks, if not 4000 (TestSoak in make test-all: 1000000)")

func soakSteps() int {
	switch {
	case *worldSteps > 0:
		return *worldSteps
	case need.All():
		return 1_000_000
	}
	return 4000
}

const (
	soakRound = 400 // steps of a scene, 2 s, after which the next one begins
	allEach   = 20  // of so many steps one is compared with all pairs
	fineEach  = 100 // of so many steps one is compared with fine steps; of short rounds two
)

// TestSoak steps random scenes of every kind under both models: no state is NaN, the energy identity holds wherever a
// world is advanced, no world on the ground and few others are undecided, no pair that touches, by the reference and
// without culling, lacks a contact, and none is lost against steps of Δt/16, see [fineCount].
func TestSoak(t *testing.T) {
	kinds := scenes.SimulationKinds()
	models := []contact.Model{contact.NCP, contact.CCP}
	worlds := func(kind string) int {
		if kind == "pile" { // all of its pairs are 2,080, which fine steps solve
			return 1
		}
		return 8
	}
	each := 0
	for _, kind := range kinds {
		each += worlds(kind) * len(models)
	}
	steps := (soakSteps() + each - 1) / each
	if testing.Short() {
		steps = min(steps, 12)
	}
	for _, kind := range kinds {
		for _, model := range models {
			soaked := soak{kind: kind, model: model, counts: map[contact.StepStatus]int{}}
			for first := 0; first < steps; first += soakRound {
				soaked.round(t, worlds(kind), min(soakRound, steps-first), uint64(34+first/soakRound))
			}
			soaked.report(t, steps*worlds(kind))
		}
	}
}

// soak is what the soak of a kind under a model found.
type soak struct {
	kind   string
	model  contact.Model
	counts map[contact.StepStatus]int
	energy float64 // largest error of the energy identity
	fine   fineCount
}

// round steps new scenes, with pairs by the reference and, of every other seed, by the kernels.
func (c *soak) round(t *testing.T, worlds, steps int, seed uint64) {
	scene, state, err := scenes.Simulation(c.kind, worlds, seed)
	if err != nil {
		t.Fatal(err)
	}
	o := contact.StepOptions{TimeStep: 5e-3, Gravity: r3.Vec{Z: -9.81}, Solve: contact.Options{Model: c.model}}
	solver := cpu.NewReference()
	if seed%2 == 1 {
		if solver, err = cpu.New(cpu.Options{Workers: 1}); err != nil {
			t.Fatal(err)
		}
		defer solver.Close()
	}
	s, err := contact.NewSimulation(scene, state, solver, o)
	if err != nil {
		t.Fatal(err)
	}
	each := min(fineEach, max(steps/2, 1))
	phase := 37 * int(seed) % each // the fine steps of all rounds together are at all times
	for step := range steps {
		fine := (step+phase)%each == 0
		all := (step+phase)%allEach == 0 || (step+phase)%each <= 1 // also of the step after fine steps
		var before *snapshot
		if fine || all {
			before = snapshotOf(s, len(scene.Body))
		}
		if err := s.Step(context.Background(), nil); err != nil {
			t.Fatal(err)
		}
		st := s.State()
		for w, status := range st.Status {
			c.counts[status]++
			if status == contact.Advanced {
				c.energy = max(c.energy, math.Abs(st.Energy[w]))
			}
			if all && status != contact.PairUndecided && status != contact.TooManyContacts {
				lost(t, c.kind, scene, s.Problem(), before.state.Pose, w)
			}
		}
		if fine {
			c.fine.compare(t, scene, s, o, before)
		}
		for _, x := range slices.Concat(st.Pose, st.Velocity, st.Momentum) {
			if x-x != 0 {
				t.Fatalf("%s, %v: seed %d, step %d: %g in the state", c.kind, c.model, seed, step, x)
			}
		}
	}
}

// report logs the counts, and fails for undecided world-steps and lost contacts.
func (c *soak) report(t *testing.T, n int) {
	t.Helper()
	t.Logf("%s, %v: %d world-steps, %v, energy %.2g J; %v", c.kind, c.model, n, c.counts, c.energy, &c.fine)
	allowed := n / 10_000
	if c.kind == "ground" {
		allowed = 0
	}
	if bad := n - c.counts[contact.Advanced] - c.counts[contact.AdvancedInParts]; bad > allowed {
		t.Errorf("%s, %v: %d of %d world-steps are not advanced: %v", c.kind, c.model, bad, n, c.counts)
	}
	if c.fine.lost > 0 {
		t.Errorf("%s, %v: %d contacts are lost: %s", c.kind, c.model, c.fine.lost, c.fine.first)
	}
	if c.fine.unsolved > (c.fine.worlds+c.fine.unsolved)/100 {
		t.Errorf("%s, %v: fine steps of %d worlds are undecided, of %d solved", c.kind, c.model, c.fine.unsolved,
			c.fine.worlds)
	}
}

// lost fails for a pair of bodies that touches at the beginning of a step and has no contact in its problem.
func lost(t *testing.T, kind string, scene *contact.Scene, p *contact.Problem, poses []float64, w int) {
	t.Helper()
	bodies := len(scene.Body)
	has := pairsOf(p, w)
	var ws ref.Workspace
	for b := range bodies {
		for a := range b {
			if math.IsInf(scene.Mass[a], 1) && math.IsInf(scene.Mass[b], 1) {
				continue
			}
			d := bodyDistance(scene, poses, &ws, w, a, b)
			if d < 0 && !has[[2]int{a, b}] {
				t.Errorf("%s: world %d: bodies %d and %d penetrate by %g without a contact", kind, w, a, b, -d)
			}
		}
	}
}

// TestStackOfTen: ten boxes stand for 10⁵ steps (with -world-steps of that many, and six seeds then), and their kinetic
// and potential energy together never rise beyond rounding at a restitution of 0 without correction of penetrations.
func TestStackOfTen(t *testing.T) {
	steps, seeds := max(*worldSteps/10, 400), uint64(1)
	if *worldSteps >= 100_000 {
		steps, seeds = 100_000, 6
	}
	if testing.Short() {
		steps = 100
	}
	for seed := range seeds {
		stackOfTen(t, steps, seed+1)
	}
}

func stackOfTen(t *testing.T, steps int, seed uint64) {
	scene, state, err := scenes.Simulation("stack10", 1, seed)
	if err != nil {
		t.Fatal(err)
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
	first, rise, newton := before, 0.0, int32(0)
	for step := range steps {
		if err := s.Step(context.Background(), nil); err != nil {
			t.Fatal(err)
		}
		if status := s.State().Status[0]; status != contact.Advanced {
			t.Fatalf("seed %d, step %d: %v", seed, step, status)
		}
		newton = max(newton, s.Solution().Steps[0])
		now := energy()
		rise = max(rise, now-before)
		if now > before+4e-8 { // 40 contacts, each with |⟨λ, c + Γ⟩| ≤ 1e-9 J
			t.Fatalf("seed %d, step %d: the energy rises by %g J", seed, step, now-before)
		}
		before = now
	}
	if top := s.State().Pose[7*10+2]; math.Abs(top-1.9) > 2e-3 {
		t.Errorf("seed %d: the top box is at %g m after %d steps", seed, top, steps)
	}
	t.Logf("seed %d, %d steps: the energy fell by %.2g J of %.4g J and rose by %.1g J at most, %d Newton steps", seed,
		steps, first-before, first, rise, newton)
}

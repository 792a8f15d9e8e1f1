package contact_test

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/spatial/r3"

	"clearance/batch"
	"clearance/contact"
	"clearance/contact/scenes"
	"clearance/cpu"
	"clearance/geom"
	"clearance/internal/testkit"
	"clearance/ref"
)

var heapSteps = flag.Int("heap-steps", 200, "steps of TestHeapsPenetrate, of 16 worlds")

// TestHeapsPenetrate: eight boxes of some 0.2 m that fall on each other, at 5 ms: no pair is deeper than 1/128 of the
// least width of the thinner one after a step, by all pairs and the reference. Where a pair with contacts starts to
// rotate, corners without a contact were up to 2.7 mm deep before such steps were proved.
func TestHeapsPenetrate(t *testing.T) {
	const worlds = 16
	scene, state, err := scenes.Simulation("heap", worlds, 3)
	if err != nil {
		t.Fatal(err)
	}
	solver := must(cpu.New(cpu.Options{}))
	defer solver.Close()
	s, err := contact.NewSimulation(scene, state, solver, contact.StepOptions{TimeStep: 5e-3,
		Gravity: r3.Vec{Z: -gravity}})
	if err != nil {
		t.Fatal(err)
	}
	var ws ref.Workspace
	lib, most, ofWidth, again := scene.Bodies.Library(), 0.0, 0.0, 0
	for step := range *heapSteps {
		if err := s.Step(context.Background(), nil); err != nil {
			t.Fatal(err)
		}
		for w, status := range s.State().Status {
			if !status.Advances() {
				t.Errorf("step %d of world %d: %v", step, w, status)
			}
			if s.State().Solves[w] > 1 {
				again++
			}
			for b := range scene.Body {
				for a := range b {
					depth := -bodyDistance(scene, s.State().Pose, &ws, w, a, b)
					width := 2 * lib.Shape(scene.Body[b]).Inradius()
					if r := lib.Shape(scene.Body[a]).Inradius(); r > 0 {
						width = min(width, 2*r)
					}
					most, ofWidth = max(most, depth), max(ofWidth, depth/width)
				}
			}
		}
	}
	t.Logf("deepest %.3g mm, %.3g %% of the least width; of %d world-steps %d solved again", 1e3*most, 100*ofWidth,
		worlds**heapSteps, again)
	if !(ofWidth <= 1.0/128) || again == 0 {
		t.Errorf("penetrations of %g m, %g of the least width; %d world-steps solved again", most, ofWidth, again)
	}
}

var (
	roughWorlds = flag.Int("rough.worlds", 200, "worlds of TestRoughHeaps")
	roughSteps  = flag.Int("rough.steps", 200, "steps of TestRoughHeaps")
	roughSeed   = flag.Uint64("rough.seed", 3, "seed of TestRoughHeaps")
)

// roughHeap has eight bodies of four kinds that fall on one another.
func roughHeap(t *testing.T, worlds int, mu float64) (*contact.Scene, *contact.State) {
	t.Helper()
	rng := rand.New(rand.NewPCG(5, *roughSeed))
	shapes := []geom.Shape{geom.Halfspace{}}
	for range 2 {
		points := make([]r3.Vec, 12)
		for i := range points {
			points[i] = r3.Scale(0.06, testkit.Normal(rng))
		}
		shapes = append(shapes, geom.Box{HalfExtents: r3.Vec{X: 0.1, Y: 0.08, Z: 0.06}},
			geom.Cylinder{R: 0.06, HalfLength: 0.1}, geom.Ellipsoid{SemiAxes: r3.Vec{X: 0.12, Y: 0.08, Z: 0.06}},
			must(geom.NewConvex(points)))
	}
	lib := must(batch.NewLibrary(shapes, nil))
	mass := 1.0
	body, physics := make([]int32, len(shapes)), make([]batch.Physics, len(shapes))
	for i := range body {
		body[i] = int32(i)
		physics[i] = batch.Physics{Mass: &mass}
	}
	physics[0] = batch.Physics{}
	scene := must(contact.NewScene(batch.BodiesOfShapes(lib), body, physics, batch.Physics{Friction: &mu}))
	state := &contact.State{Worlds: worlds}
	for range worlds {
		for b := range shapes {
			p := geom.IdentityPose()
			if b > 0 {
				p = geom.Pose{Position: r3.Vec{X: 0.16*rng.Float64() - 0.08, Y: 0.16*rng.Float64() - 0.08,
					Z: 0.15 + 0.25*float64(b-1)}, Rotation: testkit.Rotation(rng)}
			}
			q := p.Rotation
			state.Pose = append(state.Pose, p.Position.X, p.Position.Y, p.Position.Z, q.Real, q.Imag, q.Jmag, q.Kmag)
		}
	}
	return scene, state
}

// TestRoughHeaps: heaps with large coefficients of friction. No world that is undecided once stays so, and with a
// coefficient of 2 at most 1 % of the worlds are undecided in any step.
func TestRoughHeaps(t *testing.T) {
	for _, mu := range []float64{2, 5} {
		t.Run(fmt.Sprint("friction ", mu), func(t *testing.T) {
			scene, state := roughHeap(t, *roughWorlds, mu)
			solver := must(cpu.New(cpu.Options{}))
			defer solver.Close()
			s, err := contact.NewSimulation(scene, state, solver, contact.StepOptions{TimeStep: 5e-3,
				Gravity: r3.Vec{Z: -gravity}})
			if err != nil {
				t.Fatal(err)
			}
			since := make([]int, *roughWorlds) // steps that a world is undecided at a stretch
			total, worst, longest := 0, 0, 0
			for range *roughSteps {
				if err := s.Step(t.Context(), nil); err != nil {
					t.Fatal(err)
				}
				now := 0
				for w, v := range s.State().Status {
					if v == contact.Advanced || v == contact.AdvancedInParts {
						since[w] = 0
						continue
					}
					now++
					since[w]++
					longest = max(longest, since[w])
				}
				total += now
				worst = max(worst, now)
			}
			frozen := 0
			for _, n := range since {
				if n > 10 {
					frozen++
				}
			}
			t.Logf("%d of %d steps of worlds are not advanced, %d at most in one step, %d at a stretch; %d frozen",
				total, *roughWorlds**roughSteps, worst, longest, frozen)
			if mu <= 2 && worst*100 > *roughWorlds || frozen > 0 {
				t.Errorf("friction %g: %d of %d worlds are undecided in a step, %d frozen", mu, worst, *roughWorlds,
					frozen)
			}
		})
	}
}

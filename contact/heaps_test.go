package contact_test

import (
	"context"
	"flag"
	"testing"

	"clearance/contact"
	"clearance/contact/scenes"
	"clearance/cpu"
	"clearance/ref"

	"gonum.org/v1/gonum/spatial/r3"
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

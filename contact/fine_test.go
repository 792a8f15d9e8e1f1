package contact_test

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"clearance/batch"
	"clearance/contact"
	"clearance/contact/scenes"
	"clearance/cpu"
	"clearance/ref"

	"gonum.org/v1/gonum/spatial/r3"
)

// fineSteps are the steps of Δt/16 that one step of Δt is compared with. Their largest gap is beyond the extent of
// every scene, so all pairs are solved and have contacts.
const (
	fineSteps  = 16
	fineMaxGap = 10.0 // m
)

// fineCount is what the comparison of steps with fine steps found. A pair of bodies meets if in the 16 fine steps from
// the same state a contact of it pushes, or if it penetrates by more than the slop after the last one. The fine steps
// remove no penetration, whose speed would grow with 1/Δt. A pair that meets and has no contact in the step is lost. A
// pair whose contacts push in the step, and which does not meet, is early.
type fineCount struct {
	worlds, unsolved, met, lost, early int
	first                              string // the first lost pair
}

func (c *fineCount) String() string {
	return fmt.Sprintf("%d world-steps against Δt/16: %d pairs meet, %d lost, %d early", c.worlds, c.met, c.lost,
		c.early)
}

// snapshot is the state of a simulation before a step.
type snapshot struct {
	state contact.State
	spin  []r3.Vec
}

func snapshotOf(s *contact.Simulation, bodies int) *snapshot {
	st := s.State()
	b := &snapshot{state: contact.State{Worlds: st.Worlds, Pose: slices.Clone(st.Pose),
		Velocity: slices.Clone(st.Velocity), Momentum: slices.Clone(st.Momentum)}}
	for k := range st.Worlds * bodies {
		b.spin = append(b.spin, s.Spin(k/bodies, k%bodies))
	}
	return b
}

// bodyDistance is the signed distance of two bodies of one part each, by the reference.
func bodyDistance(scene *contact.Scene, poses []float64, ws *ref.Workspace, w, i, j int) float64 {
	first, worlds := w*len(scene.Body), batch.Worlds{Poses: poses}
	lib := scene.Bodies.Library()
	q := ref.NewPair(lib.Shape(scene.Body[i]), lib.Shape(scene.Body[j]), worlds.PoseAt(first+i), worlds.PoseAt(first+j))
	return ref.Solve(&q, ref.Options{}, ws).Distance
}

// compare compares the last step of s, from a snapshot, with fine steps.
func (c *fineCount) compare(t *testing.T, scene *contact.Scene, s *contact.Simulation, o contact.StepOptions,
	before *snapshot) {
	t.Helper()
	bodies := len(scene.Body)
	fine := o
	fine.TimeStep, fine.MaxGap, fine.Correction = o.TimeStep/fineSteps, fineMaxGap, -1
	fine.Contacts = 2 * bodies * bodies // four of each pair
	f, err := contact.NewSimulation(scene, &before.state, cpu.NewReference(), fine)
	if err != nil {
		t.Fatal(err)
	}
	worlds := before.state.Worlds
	met, solved := make([]map[[2]int]bool, worlds), make([]bool, worlds)
	for w := range worlds {
		status := s.State().Status[w]
		met[w], solved[w] = map[[2]int]bool{}, status == contact.Advanced
	}
	for range fineSteps {
		if err := f.Step(context.Background(), nil); err != nil {
			t.Fatal(err)
		}
		for w := range worlds {
			solved[w] = solved[w] && f.State().Status[w] == contact.Advanced
			pushing(f, w, met[w])
		}
	}
	for w := range worlds {
		if !solved[w] {
			c.unsolved++
			continue
		}
		c.worlds++
		c.classify(scene, s, before, f.State().Pose, w, met[w])
	}
}

// pairsOf are the pairs of bodies with contacts in the problem of a world.
func pairsOf(p *contact.Problem, w int) map[[2]int]bool {
	has := map[[2]int]bool{}
	for k := w * p.Contacts; k < w*p.Contacts+int(p.Count[w]); k++ {
		has[[2]int{int(p.BodyA[k]), int(p.BodyB[k])}] = true
	}
	return has
}

// pushing adds the pairs whose contacts push in the last step of a world: by more than ten times the tolerance.
func pushing(s *contact.Simulation, w int, met map[[2]int]bool) {
	p, impulse := s.Problem(), s.Solution().Impulse
	largest := 1.0
	for k := w * p.Contacts; k < w*p.Contacts+int(p.Count[w]); k++ {
		largest = max(largest, impulse[3*k+2])
	}
	for k := w * p.Contacts; k < w*p.Contacts+int(p.Count[w]); k++ {
		if impulse[3*k+2] > 1e-5*largest {
			met[[2]int{int(p.BodyA[k]), int(p.BodyB[k])}] = true
		}
	}
}

// classify counts the pairs of a world that meet, given those that push, and what the step s made of them.
func (c *fineCount) classify(scene *contact.Scene, s *contact.Simulation, before *snapshot, after []float64, w int,
	met map[[2]int]bool) {
	var ws ref.Workspace
	has, pushes, lib := pairsOf(s.Problem(), w), map[[2]int]bool{}, scene.Bodies.Library()
	pushing(s, w, pushes)
	for j := range scene.Body {
		for i := range j {
			pair := [2]int{i, j}
			slop := 1e-4 * lib.PairSize(scene.Body[i], scene.Body[j])
			switch meets := met[pair] || -bodyDistance(scene, after, &ws, w, i, j) > slop; {
			case !meets && pushes[pair]:
				c.early++
			case meets:
				c.met++
				if has[pair] {
					continue
				}
				if c.lost++; c.first == "" {
					start := bodyDistance(scene, before.state.Pose, &ws, w, i, j)
					end := bodyDistance(scene, s.State().Pose, &ws, w, i, j)
					c.first = fmt.Sprintf("world %d: bodies %d and %d meet from %g m, and are at %g m after the step",
						w, i, j, start, end)
				}
			}
		}
	}
}

// TestFineStepsFindLostContacts: a box that passes through the ground loses its contacts, and the comparison with fine
// steps of the whole scene finds them.
func TestFineStepsFindLostContacts(t *testing.T) {
	scene, state, err := scenes.Simulation("heap", 8, 34)
	if err != nil {
		t.Fatal(err)
	}
	o := contact.StepOptions{TimeStep: 5e-3, Gravity: r3.Vec{Z: -9.81}}
	skips := *scene
	skips.SkipA, skips.SkipB = []int32{0}, []int32{1}
	s, err := contact.NewSimulation(&skips, state, cpu.NewReference(), o)
	if err != nil {
		t.Fatal(err)
	}
	var c fineCount
	for step := range 40 {
		before := snapshotOf(s, len(scene.Body))
		if err := s.Step(context.Background(), nil); err != nil {
			t.Fatal(err)
		}
		if step >= 20 && step%2 == 0 {
			c.compare(t, scene, s, o, before)
		}
	}
	t.Log(&c)
	if c.lost == 0 {
		t.Error("no contact is lost of a box that passes through the ground")
	}
}

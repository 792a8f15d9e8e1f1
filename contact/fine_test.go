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
// remove no penetration, whose speed would grow with 1/Δt. A pair that meets and has no contact in the step is
//
//   - late if its distance before the step, by the reference, exceeds d_spec, and d_spec is at its limit of a hundredth
//     of the size of the pair: the limit accepts that fast pairs get their contacts a step later. Those that
//     penetrate then have contacts in the next step, which [lost] checks;
//   - lost otherwise: the pair was within d_spec, or a d_spec below its limit, of 2Δt times the bound of the relative
//     speed, promised that it would not meet.
type fineCount struct {
	worlds, unsolved, met, lost, late int
	deepest                           float64 // penetration of a late pair after the step, in m
	first                             string  // the first lost pair
}

func (c *fineCount) String() string {
	return fmt.Sprintf("%d world-steps against Δt/16: %d pairs meet, %d lost, %d late, to %.2g m deep",
		c.worlds, c.met, c.lost, c.late, c.deepest)
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

// largestGap is d_spec of a pair of bodies by the formula of the design, and whether it is at its limit.
func (b *snapshot) largestGap(scene *contact.Scene, o *contact.StepOptions, w, i, j int) (gap float64, limited bool) {
	size := scene.Bodies.Library().PairSize(scene.Body[i], scene.Body[j])
	at := func(body int) (velocity r3.Vec, rim float64) {
		k := w*len(scene.Body) + body
		v := b.state.Velocity[3*k:]
		if spin := r3.Norm(b.spin[k]); spin > 0 {
			rim = 2 * spin * scene.Bodies.Bounds(scene.Body[body]).Radius
		}
		return r3.Vec{X: v[0], Y: v[1], Z: v[2]}, rim
	}
	vi, rimI := at(i)
	vj, rimJ := at(j)
	gap = 2*o.TimeStep*(r3.Norm(r3.Sub(vj, vi))+r3.Norm(o.Gravity)*o.TimeStep+rimI+rimJ) + 1e-4*size
	return min(gap, 1e-2*size), gap > 1e-2*size
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
		c.classify(scene, s, &o, before, f.State().Pose, w, met[w])
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
func (c *fineCount) classify(scene *contact.Scene, s *contact.Simulation, o *contact.StepOptions, before *snapshot,
	after []float64, w int, met map[[2]int]bool) {
	var ws ref.Workspace
	has, lib := pairsOf(s.Problem(), w), scene.Bodies.Library()
	for j := range scene.Body {
		for i := range j {
			slop := 1e-4 * lib.PairSize(scene.Body[i], scene.Body[j])
			if !met[[2]int{i, j}] && !(-bodyDistance(scene, after, &ws, w, i, j) > slop) {
				continue
			}
			c.met++
			if has[[2]int{i, j}] {
				continue
			}
			start := bodyDistance(scene, before.state.Pose, &ws, w, i, j)
			gap, limited := before.largestGap(scene, o, w, i, j)
			if start > gap && limited {
				c.late++
				c.deepest = max(c.deepest, -bodyDistance(scene, s.State().Pose, &ws, w, i, j))
				continue
			}
			if c.lost++; c.first == "" {
				c.first = fmt.Sprintf("world %d: bodies %d and %d meet %g m apart; d_spec is %g m", w, i, j, start, gap)
			}
		}
	}
}

// TestFineStepsFindLostContacts: with a largest gap of a micrometre in place of d_spec, pairs within d_spec lose their
// contacts, and the comparison with fine steps finds them.
func TestFineStepsFindLostContacts(t *testing.T) {
	scene, state, err := scenes.Simulation("heap", 8, 34)
	if err != nil {
		t.Fatal(err)
	}
	o := contact.StepOptions{TimeStep: 5e-3, Gravity: r3.Vec{Z: -9.81}, MaxGap: 1e-6}
	s, err := contact.NewSimulation(scene, state, cpu.NewReference(), o)
	if err != nil {
		t.Fatal(err)
	}
	var c fineCount
	for step := range 60 {
		before := snapshotOf(s, len(scene.Body))
		if err := s.Step(context.Background(), nil); err != nil {
			t.Fatal(err)
		}
		if step >= 40 && step%2 == 0 { // boxes rock on the ground
			c.compare(t, scene, s, o, before)
		}
	}
	t.Log(&c)
	if c.lost == 0 {
		t.Error("no contact is lost with a largest gap of 1 µm")
	}
}

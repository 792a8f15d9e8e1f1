package contact

import (
	"context"
	"math"
	"slices"
	"testing"

	"gonum.org/v1/gonum/spatial/r3"
)

// TestRecord: recording changes no bit of thrown bodies, some of which are stepped in parts or solved again. The
// records of the parts of a step lead from the state before to that after; their contacts are those of their pairs,
// and the rule of each target gives its value.
func TestRecord(t *testing.T) {
	const worlds, steps = 24, 40
	scene, state := thrown(t, worlds)
	for b := range scene.Restitution {
		scene.Restitution[b] = 0.5
	}
	o := StepOptions{TimeStep: 10e-3, Gravity: down, Solve: Options{Workers: 2}}
	plain, s := withKernels(t, scene, state, o), withKernels(t, scene, state, o)
	var record StepRecord
	s.Record(&record)
	rules, parts := map[TargetRule]int{}, 0
	for step := range steps {
		at := State{Pose: slices.Clone(s.state.Pose), Velocity: slices.Clone(s.state.Velocity),
			Momentum: slices.Clone(s.state.Momentum)}
		for _, x := range []*Simulation{plain, s} {
			if err := x.Step(context.Background(), nil); err != nil {
				t.Fatal(err)
			}
		}
		if !slices.Equal(plain.state.Pose, s.state.Pose) || !slices.Equal(plain.state.Momentum, s.state.Momentum) ||
			!slices.Equal(plain.state.Status, s.state.Status) {
			t.Fatalf("step %d: recording changes the state", step)
		}
		for w := range worlds {
			r := &record.Worlds[w]
			if got := int32(len(r.Parts)); s.state.Status[w].Advances() && got != s.state.Parts[w] ||
				!s.state.Status[w].Advances() && got != 0 {
				t.Fatalf("step %d, world %d: %v with %d parts, %d of them recorded", step, w, s.state.Status[w],
					s.state.Parts[w], got)
			}
			checkParts(t, s, &at, w, r.Parts)
			for i := range r.Parts {
				checkTargets(t, s, &r.Parts[i], rules)
			}
			parts += max(len(r.Parts)-1, 0)
		}
	}
	for _, rule := range []TargetRule{Closes, Rests, Recovers, Bounces} {
		if rules[rule] == 0 {
			t.Errorf("no contact of rule %d", rule)
		}
	}
	if parts == 0 {
		t.Error("no step in parts")
	}
	t.Log(rules, parts)
}

// checkParts compares the ends of the parts of a step with each other and with its ends.
func checkParts(t *testing.T, s *Simulation, before *State, w int, parts []PartRecord) {
	t.Helper()
	if len(parts) == 0 {
		return
	}
	bodies, time := len(s.scene.Body), 0.0
	for b := range bodies {
		k := 3 * (w*bodies + b)
		momentum, velocity := vecOf(before.Momentum[k:]), vecOf(before.Velocity[k:])
		for i := range parts {
			r := &parts[i].Bodies[b]
			if r.Momentum != momentum || r.Velocity != velocity {
				t.Fatalf("world %d, body %d, part %d: begins with %v, %v, want %v, %v", w, b, i, r.Momentum,
					r.Velocity, momentum, velocity)
			}
			momentum, velocity = r.Rotating, vecOf(parts[i].Solution.Velocity[6*b:])
			if off := r3.Norm(r3.Sub(r.Center, r.NextCenter)); !(off < 1) {
				t.Fatalf("world %d, body %d, part %d: moves by %g", w, b, i, off)
			}
		}
		if momentum != vecOf(s.state.Momentum[k:]) || velocity != vecOf(s.state.Velocity[k:]) {
			t.Fatalf("world %d, body %d: ends with %v, %v, want %v, %v", w, b, momentum, velocity,
				s.state.Momentum[k:k+3], s.state.Velocity[k:k+3])
		}
	}
	for i := range parts {
		time += parts[i].TimeStep
	}
	if time != s.o.TimeStep {
		t.Fatalf("world %d: parts of %g s", w, time)
	}
}

// checkTargets compares the targets of the contacts of a part with their rules, and counts these.
func checkTargets(t *testing.T, s *Simulation, r *PartRecord, rules map[TargetRule]int) {
	t.Helper()
	for c := range r.Contacts {
		contact := &r.Contacts[c]
		rules[contact.Rule]++
		if contact.Rule == EntersLater {
			continue
		}
		pair := &r.Pairs[contact.Pair]
		p, gap := &s.pairs[pair.Index], pair.Manifold.Points[c-int(pair.First)].Gap
		if contact.Index != pair.Index || r.Problem.BodyA[c] != pair.BodyA || r.Problem.BodyB[c] != pair.BodyB {
			t.Fatalf("contact %d is not of its pair", c)
		}
		a, b := &r.Bodies[pair.BodyA], &r.Bodies[pair.BodyB]
		n := vecOf(r.Problem.Frame[9*c+6:])
		approach := r3.Dot(n, r3.Sub(r3.Add(b.Velocity, r3.Cross(b.Spin, vecOf(r.Problem.ArmB[3*c:]))),
			r3.Add(a.Velocity, r3.Cross(a.Spin, vecOf(r.Problem.ArmA[3*c:])))))
		want := map[TargetRule]float64{Closes: -gap / r.TimeStep, Rests: 0,
			Recovers: s.o.Correction * (-gap - p.slop) / r.TimeStep, RecoversMost: s.recoverySpeed(p),
			Bounces: -contact.Factor * contact.Restitution * approach}[contact.Rule]
		if got := r.Problem.Target[c]; !(math.Abs(got-want) <= 1e-12*(1+math.Abs(want))) || !(contact.Margin >= 0) {
			t.Fatalf("contact %d: rule %d gives %g, want %g; margin %g", c, contact.Rule, want, got, contact.Margin)
		}
	}
}

// TestRecordAllocates: steps with a record that is held allocate what they do without.
func TestRecordAllocates(t *testing.T) {
	scene, state := stack(t, 2, 2, 0)
	s := simulation(t, scene, state, StepOptions{TimeStep: 5e-3, Gravity: down, Solve: Options{Workers: 1}})
	run(t, s, 3, nil)
	step := func() float64 {
		return testing.AllocsPerRun(20, func() {
			if err := s.Step(context.Background(), nil); err != nil {
				t.Fatal(err)
			}
		})
	}
	without := step()
	var record StepRecord
	s.Record(&record)
	run(t, s, 1, nil)
	if with := step(); with > without {
		t.Errorf("%g allocations with a record, %g without", with, without)
	}
}

// TestTwin: a twin goes on with the same bits.
func TestTwin(t *testing.T) {
	scene, state := stack(t, 5, 3, 0.2)
	s := simulation(t, scene, state, StepOptions{TimeStep: 5e-3, Gravity: down, Correction: -1,
		Solve: Options{Workers: 1}})
	run(t, s, 7, nil)
	twin, err := s.Twin()
	if err != nil {
		t.Fatal(err)
	}
	run(t, s, 5, nil)
	run(t, twin, 5, nil)
	if !slices.Equal(s.state.Pose, twin.state.Pose) || !slices.Equal(s.state.Momentum, twin.state.Momentum) {
		t.Error("the twin has another state")
	}
}

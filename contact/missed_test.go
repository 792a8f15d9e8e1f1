package contact

import (
	"context"
	"math"
	"slices"
	"testing"

	"clearance/geom"

	"gonum.org/v1/gonum/spatial/r3"
)

// rowOfBalls is balls of a radius of 0.1 m along x, the first of which flies at the others. Gaps are in metres.
func rowOfBalls(t *testing.T, worlds int, speed float64, gaps ...float64) (*Scene, *State) {
	shapes, half := make([]geom.Shape, len(gaps)+1), make([]r3.Vec, len(gaps)+1)
	poses, x := []geom.Pose{geom.Translate(0, 0, -10)}, 0.0
	for i := range shapes {
		shapes[i], half[i] = geom.Sphere{R: 0.1}, cube
		poses = append(poses, geom.Translate(x, 0, 0))
		if i < len(gaps) {
			x += 0.2 + gaps[i]
		}
	}
	state := stateOf(worlds, slices.Repeat(poses, worlds))
	for w := range worlds {
		state.Velocity[3*(w*len(poses)+1)] = speed
	}
	return testScene(t, shapes, half, 1, 0, 0), state
}

// TestStepMissesNothing: balls at rest that another sets in motion within the step, each far beyond the largest gap of
// its speed before, touch and do not penetrate; the last one, which none reaches, rests.
func TestStepMissesNothing(t *testing.T) {
	const dt = 5e-3
	scene, state := rowOfBalls(t, 2, 60, 0.05, 0.04, 0.03, 0.5)
	state.Velocity[21] = 0 // of the second world, where nothing moves
	s := simulation(t, scene, state, StepOptions{TimeStep: dt, Solve: Options{Tolerance: 1e-10}})
	run(t, s, 1, nil)
	at := func(w, ball int) float64 { return s.State().Pose[7*(w*6+1+ball)] }
	for ball := range 3 {
		if gap := at(0, ball+1) - at(0, ball) - 0.2; math.Abs(gap) > 1e-8 {
			t.Errorf("balls %d and %d are %g m apart after the step", ball, ball+1, gap)
		}
	}
	if at(0, 4) != state.Pose[7*5] {
		t.Errorf("the last ball is at %g, and was at %g", at(0, 4), state.Pose[7*5])
	}
	if !slices.Equal(s.State().Pose[42:], state.Pose[42:]) || s.State().Contacts[1] != 0 {
		t.Error("a world at rest has moved")
	}
}

// TestStepAgainBits: the bits of worlds that are solved again do not depend on workers and on the other worlds, and a
// step with them allocates nothing.
func TestStepAgainBits(t *testing.T) {
	scene, state := rowOfBalls(t, 40, 0, 0.05, 0.04, 0.03)
	for w := range 40 { // some worlds have no impact, some one, some more
		state.Velocity[15*w+3], state.Velocity[15*w+5] = 2*float64(w), 0.1*float64(w%3)
	}
	o := StepOptions{TimeStep: 5e-3, Solve: Options{Workers: 1}}
	want := simulation(t, scene, state, o)
	reset := func() {
		copy(want.state.Pose, state.Pose)
		copy(want.state.Velocity, state.Velocity)
		clear(want.oldN)
	}
	step := func() {
		reset()
		if err := want.Step(context.Background(), nil); err != nil {
			t.Fatal(err)
		}
	}
	step()
	if n := testing.AllocsPerRun(5, step); n > 0 {
		t.Errorf("%g allocations", n)
	}
	if n := slices.Max(want.state.Contacts); n < 3 {
		t.Fatalf("at most %d contacts", n)
	}
	several := o
	several.Solve.Workers = 3
	parallel := simulation(t, scene, state, several)
	run(t, parallel, 1, nil)
	if !slices.Equal(parallel.state.Pose, want.state.Pose) {
		t.Error("three workers: other states")
	}
	for w := range 40 {
		alone := simulation(t, scene, &State{Worlds: 1, Pose: state.Pose[35*w : 35*w+35],
			Velocity: state.Velocity[15*w : 15*w+15]}, o)
		run(t, alone, 1, nil)
		if !slices.Equal(alone.state.Pose, want.state.Pose[35*w:35*w+35]) {
			t.Errorf("world %d alone has another state", w)
		}
	}
}

package contact

import (
	"context"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"clearance/geom"

	"gonum.org/v1/gonum/spatial/r3"
)

// TestContactForces: at rest the contacts of a stack carry its weight, body by body; contacts name bodies, parts and
// points; where a body slides, forces and torques are those that change its momenta.
func TestContactForces(t *testing.T) {
	const dt, mass = 5e-3, 2
	scene := testScene(t, []geom.Shape{geom.Box{HalfExtents: cube}, geom.Box{HalfExtents: cube}},
		[]r3.Vec{cube, cube}, mass, 0.5, 0)
	state := stateOf(2, []geom.Pose{geom.IdentityPose(), geom.Translate(0, 0, 0.1), geom.Translate(0, 0, 0.3),
		geom.IdentityPose(), geom.Translate(0, 0, 0.1), geom.Translate(3, 0, 0.3)})
	state.Velocity[3*4], state.Momentum[3*4+2] = 1, 0.002
	s := simulation(t, scene, state, StepOptions{TimeStep: dt, Gravity: down, Solve: Options{Tolerance: 1e-11}})
	for range 3 {
		before, momentum := slices.Clone(s.State().Velocity), slices.Clone(s.State().Momentum)
		run(t, s, 1, nil)
		var c Contacts
		s.AppendContacts(&c)
		if n := s.CountContacts(); n != c.Len() || n != 12 {
			t.Fatalf("%d contacts, want %d and 12", c.Len(), n)
		}
		forces := make([]float64, 6*6)
		if err := s.ContactForces(forces); err != nil {
			t.Fatal(err)
		}
		sums := make([]float64, 3*6)
		for i := range c.Len() {
			k, n := 3*int(c.World[i]), vecOf(c.Normal[3*i:])
			if math.Abs(r3.Norm(n)-1) > 1e-12 || n.Z < 1-1e-9 || math.Abs(c.Gap[i]) > 1e-4 ||
				c.PartA[i]+c.PartB[i] != 0 {
				t.Errorf("contact %d: normal %v, gap %g, parts %d and %d", i, n, c.Gap[i], c.PartA[i], c.PartB[i])
			}
			if z := c.Position[3*i+2] - 0.2*float64(c.BodyA[i]); math.Abs(z) > 1e-4 {
				t.Errorf("contact %d of bodies %d and %d at %v", i, c.BodyA[i], c.BodyB[i], c.Position[3*i:3*i+3])
			}
			for j := range 3 {
				sums[3*(k+int(c.BodyA[i]))+j] -= c.Impulse[3*i+j] / dt
				sums[3*(k+int(c.BodyB[i]))+j] += c.Impulse[3*i+j] / dt
			}
		}
		for k := range 6 {
			f := forces[6*k : 6*k+6]
			for j := range 3 {
				if math.Abs(f[j]-sums[3*k+j]) > 1e-9 {
					t.Errorf("body %d: force %v, sum of contacts %v", k, f[:3], sums[3*k:3*k+3])
				}
				if k%3 == 0 {
					continue // the ground
				}
				gravity := []float64{0, 0, -9.81 * mass}[j]
				if got, want := f[j]+gravity,
					mass*(s.State().Velocity[3*k+j]-before[3*k+j])/dt; math.Abs(got-want) > 1e-8 {
					t.Errorf("body %d: force %g along %d, want %g", k, got, j, want)
				}
				if got, want := f[3+j], (s.State().Momentum[3*k+j]-momentum[3*k+j])/dt; math.Abs(got-want) > 1e-8 {
					t.Errorf("body %d: torque %g about %d, want %g", k, got, j, want)
				}
			}
		}
		if z := forces[2]; math.Abs(z+2*mass*9.81) > 1e-6 {
			t.Errorf("the ground carries %g N, want %g", -z, 2*mass*9.81)
		}
	}
	if err := s.ContactForces(nil); err == nil {
		t.Error("forces of no bodies are set")
	}
}

// TestRunStill: a run in which no world is advanced ends with an error that says how, after at most ten steps; one in
// which a world is advanced does not.
func TestRunStill(t *testing.T) {
	scene, state := stack(t, 2, 2, 0)
	lift := slices.Clone(state.Pose)
	lift[21+7+2], lift[21+14+2] = 5, 10
	for _, steps := range []int{1, 5, 50} {
		o := StepOptions{TimeStep: 5e-3, Gravity: down, Contacts: 3}
		s := simulation(t, scene, state, o)
		made := 0
		err := s.Run(t.Context(), steps, nil, func(int) bool { made++; return true })
		var still *StillError
		if !errors.As(err, &still) || made != min(steps, 10) || still.Steps != made ||
			!strings.Contains(err.Error(), "no world advanced") ||
			!strings.Contains(err.Error(), "2 too_many_contacts") {
			t.Errorf("%d steps: %v after %d", steps, err, made)
		}
		s = simulation(t, scene, &State{Worlds: 2, Pose: lift}, o)
		if err := s.Run(t.Context(), steps, nil, nil); err != nil {
			t.Errorf("%d steps with a world that falls: %v", steps, err)
		}
	}
}

// TestStillResumes: a run of worlds that do not advance ends after as many steps where it goes on from a saved state.
func TestStillResumes(t *testing.T) {
	scene, state := stack(t, 2, 2, 0)
	o := StepOptions{TimeStep: 5e-3, Gravity: down, Contacts: 3}
	s := simulation(t, scene, state, o)
	if err := s.Run(t.Context(), 20, nil, func(step int) bool { return step < 4 }); err != nil {
		t.Fatal(err)
	}
	again, made := simulation(t, scene, state, o), 0
	if err := again.Restore(s.State(), s.Warm()); err != nil {
		t.Fatal(err)
	}
	err := again.Run(t.Context(), 20, nil, func(int) bool { made++; return true })
	var still *StillError
	if !errors.As(err, &still) || made != 5 || still.Steps != 10 {
		t.Errorf("%v after %d more steps, want 5", err, made)
	}
	if err := again.Resume(&Warm{Still: -1, Count: make([]int32, 2)}); err == nil {
		t.Error("a negative number of steps is taken")
	}
}

// TestRunForces: forces of each step are taken in their order.
func TestRunForces(t *testing.T) {
	scene := testScene(t, []geom.Shape{geom.Box{HalfExtents: cube}}, []r3.Vec{cube}, 2, 0, 0)
	state := stateOf(1, []geom.Pose{geom.IdentityPose(), geom.Translate(0, 0, 1)})
	forces := make([]float64, 3*12)
	forces[6], forces[12+6+1], forces[24+6+2] = 1, 2, 3
	s := simulation(t, scene, state, StepOptions{TimeStep: 0.5})
	if err := s.Run(t.Context(), 3, forces, nil); err != nil {
		t.Fatal(err)
	}
	if got := s.State().Velocity[3:6]; !slices.Equal(got, []float64{0.25, 0.5, 0.75}) {
		t.Errorf("velocity %v", got)
	}
	if err := s.Run(t.Context(), 3, forces[:24], nil); err == nil {
		t.Error("forces of two steps are taken for three")
	}
}

// TestRestore: steps after a state that was restored have the bits of those after it, and worlds that are reset those
// of a new simulation; the others go on.
func TestRestore(t *testing.T) {
	scene, state := stack(t, 3, 3, 0.3)
	o := StepOptions{TimeStep: 5e-3, Gravity: down}
	s := simulation(t, scene, state, o)
	end := func() ([]float64, []float64) {
		for range 10 {
			if err := s.Step(context.Background(), nil); err != nil {
				t.Fatal(err)
			}
		}
		return slices.Clone(s.State().Pose), slices.Clone(s.State().Momentum)
	}
	fresh, _ := end()
	at := *s.State()
	at.Pose, at.Velocity, at.Momentum = slices.Clone(at.Pose), slices.Clone(at.Velocity), slices.Clone(at.Momentum)
	at.Steps, at.Status = slices.Clone(at.Steps), slices.Clone(at.Status)
	at.Contacts, at.Energy = slices.Clone(at.Contacts), slices.Clone(at.Energy)
	at.Solves, at.Parts = slices.Clone(at.Solves), slices.Clone(at.Parts)
	warm := s.Warm()
	pose, momentum := end()
	if err := s.Restore(&at, warm); err != nil {
		t.Fatal(err)
	}
	if s.CountContacts() != 0 || !slices.Equal(s.State().Status, at.Status) {
		t.Error("contacts of another state, or other statuses")
	}
	if again, l := end(); !slices.Equal(again, pose) || !slices.Equal(l, momentum) {
		t.Error("other bits after a state was restored")
	}
	if err := s.Restore(&at, warm); err != nil {
		t.Fatal(err)
	}
	per := 7 * 4
	if err := s.Reset([]int32{2, 0}, &State{Pose: append(slices.Clone(state.Pose[2*per:]),
		state.Pose[:per]...)}); err != nil {
		t.Fatal(err)
	}
	if st := s.State(); st.Status[0] != NotStepped || st.Steps[2] != 0 || st.Steps[1] != 10 {
		t.Errorf("statuses %v, steps %v", st.Status, st.Steps)
	}
	got, _ := end()
	if !slices.Equal(got[:per], fresh[:per]) || !slices.Equal(got[2*per:], fresh[2*per:]) ||
		!slices.Equal(got[per:2*per], pose[per:2*per]) {
		t.Error("other bits after a reset of some worlds")
	}
	short := at
	short.Energy = nil
	bad := *warm
	bad.Pair = slices.Clone(bad.Pair)
	bad.Pair[0] = 1 << 20
	for _, err := range []error{s.Restore(&short, warm), s.Restore(&at, &bad), s.Reset([]int32{3},
		&State{Pose: state.Pose[:per]}),
		s.Reset([]int32{1}, &State{})} {
		if err == nil {
			t.Error("a state of another simulation is taken")
		}
	}
}

// TestContactForcesOfParts: forces of steps in parts are those of all parts: they change the momentum of the bodies.
func TestContactForcesOfParts(t *testing.T) {
	const dt, worlds = 0.01, 60
	needle := geom.Ellipsoid{SemiAxes: r3.Vec{X: 0.2, Y: 0.01, Z: 0.01}}
	half := r3.Vec{X: 0.15, Y: 0.01, Z: 0.01}
	scene := testScene(t, []geom.Shape{needle}, []r3.Vec{half}, 1, 0.5, 0)
	var poses []geom.Pose
	for w := range worlds {
		poses = append(poses, geom.IdentityPose(), geom.Translate(0, 0, 0.15+0.002*float64(w)))
	}
	state := stateOf(worlds, poses)
	for w := range worlds {
		k := 2*w + 1
		state.Velocity[3*k+2] = -3
		l := scene.Momentum(1, poses[k].Rotation, r3.Vec{Y: 90 + 5*float64(w)})
		putVec(state.Momentum[3*k:], l)
	}
	s := simulation(t, scene, state, StepOptions{TimeStep: dt, Gravity: down})
	parted, forces := 0, make([]float64, 12*worlds)
	for range 6 {
		before := slices.Clone(s.State().Velocity)
		if err := s.Step(t.Context(), nil); err != nil {
			t.Fatal(err)
		}
		if err := s.ContactForces(forces); err != nil {
			t.Fatal(err)
		}
		var c Contacts
		s.AppendContacts(&c)
		if c.Len() != s.CountContacts() || len(c.Impulse) != 3*c.Len() || len(c.Gap) != c.Len() ||
			len(c.ID) != c.Len() {
			t.Fatalf("%d contacts of %d", c.Len(), s.CountContacts())
		}
		sums := make([]float64, 3*worlds)
		for i, w := range c.World {
			for j := range 3 {
				sums[3*int(w)+j] += c.Impulse[3*i+j] / dt
			}
		}
		for w := range worlds {
			if s.State().Status[w] == AdvancedInParts {
				parted++
			}
			if !s.State().Status[w].Advances() {
				continue
			}
			for j := range 3 {
				k := 3*(2*w+1) + j
				want := (s.State().Velocity[k]-before[k])/dt - []float64{0, 0, -9.81}[j]
				if got := forces[12*w+6+j]; math.Abs(got-want) > 1e-7*(1+math.Abs(want)) ||
					math.Abs(got-sums[3*w+j]) > 1e-7*(1+math.Abs(got)) {
					t.Fatalf("world %d, %v: force %g along %d, sum of contacts %g, want %g", w, s.State().Status[w],
						got, j,
						sums[3*w+j], want)
				}
			}
		}
	}
	if parted == 0 {
		t.Error("no step was made in parts")
	}
}

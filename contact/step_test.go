package contact

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"clearance/batch"
	"clearance/cpu"
	"clearance/geom"
	"clearance/internal/testkit"

	"gonum.org/v1/gonum/spatial/r3"
)

// testScene is a half-space, body 0, and bodies of one shape each with the inertia of a box of the half extents.
func testScene(t testing.TB, shapes []geom.Shape, half []r3.Vec, mass, friction, restitution float64) *Scene {
	t.Helper()
	lib, err := batch.NewLibrary(append([]geom.Shape{geom.Halfspace{}}, shapes...), nil)
	if err != nil {
		t.Fatal(err)
	}
	s := &Scene{Bodies: batch.BodiesOfShapes(lib), Body: []int32{0}, Mass: []float64{math.Inf(1)},
		Inertia: make([]float64, 6), Friction: []float64{friction}, Restitution: []float64{restitution}}
	for i, h := range half {
		x, y, z := h.X*h.X, h.Y*h.Y, h.Z*h.Z
		s.Body, s.Mass = append(s.Body, int32(i+1)), append(s.Mass, mass)
		s.Inertia = append(s.Inertia, mass/3*(y+z), mass/3*(z+x), mass/3*(x+y), 0, 0, 0)
		s.Friction, s.Restitution = append(s.Friction, friction), append(s.Restitution, restitution)
	}
	return s
}

// stateOf is a state of worlds of bodies at poses, world after world.
func stateOf(worlds int, poses []geom.Pose) *State {
	s := &State{Worlds: worlds, Velocity: make([]float64, 3*len(poses)), Momentum: make([]float64, 3*len(poses))}
	for _, p := range poses {
		q := p.Rotation
		s.Pose = append(s.Pose, p.Position.X, p.Position.Y, p.Position.Z, q.Real, q.Imag, q.Jmag, q.Kmag)
	}
	return s
}

func simulation(t testing.TB, scene *Scene, state *State, o StepOptions) *Simulation {
	t.Helper()
	s, err := NewSimulation(scene, state, cpu.NewReference(), o)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// run makes steps in which every world must be advanced.
func run(t testing.TB, s *Simulation, steps int, after func()) {
	t.Helper()
	err := s.Run(context.Background(), steps, nil, func(step int) bool {
		for w, status := range s.State().Status {
			if status != Advanced {
				t.Fatalf("step %d: world %d: %v, residual %g, energy %g", step, w, status, s.Solution().Relative(w),
					s.State().Energy[w])
			}
		}
		if after != nil {
			after()
		}
		return true
	})
	if err != nil {
		t.Fatal(err)
	}
}

var (
	down = r3.Vec{Z: -9.81}
	cube = r3.Vec{X: 0.1, Y: 0.1, Z: 0.1}
)

// TestStepSlide: a cube that slides with friction loses μgΔt of its speed in each step, and rests after v/(μgΔt).
func TestStepSlide(t *testing.T) {
	const mu, dt, v0 = 0.3, 1e-3, 0.5
	scene := testScene(t, []geom.Shape{geom.Box{HalfExtents: cube}}, []r3.Vec{cube}, 2, mu, 0)
	state := stateOf(1, []geom.Pose{geom.IdentityPose(), geom.Translate(0, 0, 0.1)})
	state.Velocity[3] = v0
	s := simulation(t, scene, state, StepOptions{TimeStep: dt, Gravity: down, Solve: Options{Tolerance: 1e-10}})
	steps := 0
	run(t, s, 300, func() {
		steps++
		want := max(0, v0-mu*9.81*dt*float64(steps))
		if v := s.State().Velocity[3]; math.Abs(v-want) > 1e-7 {
			t.Fatalf("step %d: speed %.12g, want %.12g", steps, v, want)
		}
	})
	if s.State().Contacts[0] != 4 {
		t.Errorf("%d contacts, want 4", s.State().Contacts[0])
	}
	if z := s.State().Pose[7+2]; math.Abs(z-0.1) > 1e-9 {
		t.Errorf("the cube is at z = %.12g, want 0.1", z)
	}
}

// TestStepTumble: a body without contact keeps its angular momentum, and its energy to rounding.
func TestStepTumble(t *testing.T) {
	half := r3.Vec{X: 0.1, Y: 0.2, Z: 0.4}
	scene := testScene(t, []geom.Shape{geom.Box{HalfExtents: half}}, []r3.Vec{half}, 1, 0, 0)
	state := stateOf(1, []geom.Pose{geom.Translate(0, 0, -10), geom.IdentityPose()})
	copy(state.Momentum[3:], []float64{0.01, 0.3, 0.02})
	l := vecOf(state.Momentum[3:])
	s := simulation(t, scene, state, StepOptions{TimeStep: 1e-3})
	energy := func() float64 { return 0.5 * r3.Dot(vecOf(s.State().Momentum[3:]), s.Spin(0, 1)) }
	e, off := energy(), 0.0
	run(t, s, 10_000, func() { off = max(off, math.Abs(energy()/e-1)) })
	if got := vecOf(s.State().Momentum[3:]); got != l {
		t.Errorf("the angular momentum is %v, was %v", got, l)
	}
	if off > 1e-13 {
		t.Errorf("the energy is off by %g of itself", off)
	}
	t.Logf("energy off by %g", off)
}

// TestStepBounce: a ball leaves the ground with e times the speed of its approach.
func TestStepBounce(t *testing.T) {
	ball := geom.Sphere{R: 0.1}
	for _, e := range []float64{0.25, 0.5, 1} {
		scene := testScene(t, []geom.Shape{ball}, []r3.Vec{cube}, 1, 0.5, e)
		state := stateOf(1, []geom.Pose{geom.IdentityPose(), geom.Translate(0, 0, 0.3)})
		s := simulation(t, scene, state, StepOptions{TimeStep: 1e-3, Gravity: down, Solve: Options{Tolerance: 1e-12}})
		before, bounced := 0.0, false
		run(t, s, 400, func() {
			v := s.State().Velocity[3+2]
			if !bounced && v > 0 {
				if bounced = true; math.Abs(v+e*before) > 1e-9 {
					t.Errorf("e = %g: speed %g after %g", e, v, before)
				}
			}
			before = v
		})
		if !bounced {
			t.Errorf("e = %g: no bounce", e)
		}
	}
}

// stack is worlds of boxes in a pile on the ground.
func stack(t testing.TB, worlds, height int, tilt float64) (*Scene, *State) {
	shapes, half := make([]geom.Shape, height), make([]r3.Vec, height)
	for i := range shapes {
		half[i] = r3.Vec{X: 0.1 + 0.003*float64(i), Y: 0.12, Z: 0.05}
		shapes[i] = geom.Box{HalfExtents: half[i]}
	}
	rng := rand.New(rand.NewPCG(34, 3))
	var poses []geom.Pose
	for range worlds {
		poses = append(poses, geom.IdentityPose())
		for i := range height {
			at := geom.Translate(0.01*rng.NormFloat64(), 0.01*rng.NormFloat64(), 0.05+0.1*float64(i))
			spun := at.Compose(geom.Rotate(r3.Vec{Z: 1}, rng.NormFloat64()))
			poses = append(poses, spun.Compose(geom.Rotate(testkit.Unit(rng), tilt*rng.Float64())))
		}
	}
	return testScene(t, shapes, half, 1, 0.6, 0), stateOf(worlds, poses)
}

// TestStepStack: a stack stays where it is.
func TestStepStack(t *testing.T) {
	scene, state := stack(t, 3, 4, 0)
	s := simulation(t, scene, state, StepOptions{TimeStep: 5e-3, Gravity: down})
	run(t, s, 200, nil)
	for i, x := range s.State().Pose {
		if math.Abs(x-state.Pose[i]) > 1e-4 {
			t.Errorf("number %d of the poses was %g, is %g", i, state.Pose[i], x)
		}
	}
}

// TestStepEnergy: without restitution and corrections the energy of tumbling boxes never rises.
func TestStepEnergy(t *testing.T) {
	scene, state := stack(t, 20, 3, 0.5)
	for k := range state.Velocity {
		state.Velocity[k] = 0.5 * math.Sin(float64(k))
	}
	for w := range state.Worlds { // the ground does not move
		clear(state.Velocity[12*w : 12*w+3])
		for b := 1; b < 4; b++ {
			state.Pose[28*w+7*b+2] += 0.1 * float64(b)
		}
	}
	const dt = 5e-3
	s := simulation(t, scene, state, StepOptions{TimeStep: dt, Gravity: down, Correction: -1,
		Solve: Options{Tolerance: 1e-8}})
	energy := func(w int) (e float64) {
		for b := 1; b < 4; b++ {
			k := 4*w + b
			v := vecOf(s.State().Velocity[3*k:])
			e += 0.5*scene.Mass[b]*r3.Norm2(v) + 0.5*r3.Dot(vecOf(s.State().Momentum[3*k:]), s.Spin(w, b)) +
				scene.Mass[b]*9.81*s.State().Pose[7*k+2]
		}
		return e
	}
	before := make([]float64, state.Worlds)
	for w := range before {
		before[w] = energy(w)
	}
	undecided := 0
	for step := range 100 {
		if err := s.Step(context.Background(), nil); err != nil {
			t.Fatal(err)
		}
		for w, status := range s.State().Status {
			if status != Advanced {
				undecided++
				continue
			}
			e := energy(w)
			if e > before[w]+1e-7 {
				t.Errorf("step %d: world %d: energy %.12g, before %.12g", step, w, e, before[w])
			}
			before[w] = e
		}
	}
	if undecided > 0 {
		t.Errorf("%d world-steps were not advanced", undecided)
	}
}

// TestStepBits: the state of a world has the same bits for any number of workers and whatever worlds are beside it, in
// its block or in another.
func TestStepBits(t *testing.T) {
	scene, state := stack(t, stepBlock+6, 3, 0.2) // one worker takes two blocks
	end := func(from *State, workers int) *State {
		s := simulation(t, scene, from, StepOptions{TimeStep: 5e-3, Gravity: down, Solve: Options{Workers: workers}})
		for range 20 {
			if err := s.Step(context.Background(), nil); err != nil {
				t.Fatal(err)
			}
		}
		return s.State()
	}
	want := end(state, 1)
	for _, workers := range []int{2, 3} {
		got := end(state, workers)
		if !slices.Equal(got.Pose, want.Pose) || !slices.Equal(got.Momentum, want.Momentum) ||
			!slices.Equal(got.Status, want.Status) {
			t.Errorf("%d workers: other states", workers)
		}
	}
	const world = 17
	alone := end(&State{Worlds: 1, Pose: state.Pose[28*world : 28*world+28]}, 1)
	if !slices.Equal(alone.Pose, want.Pose[28*world:28*world+28]) {
		t.Error("a world alone has another state")
	}
}

// TestStepKeepsFailedWorlds: a world that cannot be advanced keeps its state and says why; the others are advanced.
func TestStepKeepsFailedWorlds(t *testing.T) {
	scene, state := stack(t, 4, 2, 0)
	state.Pose[21*1+7+2] = math.NaN()
	state.Pose[21*2+7+2] += 1 // of one body only, so that the world has fewer contacts
	state.Pose[21*2+14+2] += 10
	state.Momentum[9*3+3] = math.Inf(1)
	o := StepOptions{TimeStep: 5e-3, Gravity: down, Contacts: 3}
	s := simulation(t, scene, state, o)
	if err := s.Step(context.Background(), nil); err != nil {
		t.Fatal(err)
	}
	got := s.State()
	want := []StepStatus{TooManyContacts, StepInvalid, Advanced, StepInvalid}
	if !slices.Equal(got.Status, want) || !slices.Equal(got.Steps, []int64{0, 0, 1, 0}) {
		t.Errorf("statuses %v, steps %v, want %v", got.Status, got.Steps, want)
	}
	if got.Contacts[0] < 8 {
		t.Errorf("%d contacts counted, want all 8", got.Contacts[0])
	}
	if !slices.Equal(got.Pose[:21], state.Pose[:21]) || got.Pose[21*2+7+2] == state.Pose[21*2+7+2] {
		t.Error("a failed world has moved, or a good one has not")
	}
	force := make([]float64, 6*12)
	force[6*(3*2+1)] = math.NaN()
	if err := s.Step(context.Background(), force); err != nil || s.State().Status[2] != StepInvalid {
		t.Errorf("NaN force: %v, %v", err, s.State().Status[2])
	}
}

// undecided answers no pair.
type undecided struct{}

func (undecided) Run(_ context.Context, _ *batch.Job, lo, hi int, out *batch.Results) error {
	for i := range hi - lo {
		out.PutFailure(i, batch.Undecided)
	}
	return nil
}

// TestStepUndecided: a pair without an answer, and a solve that is not allowed a step, keep the world where it is.
func TestStepUndecided(t *testing.T) {
	scene, state := stack(t, 1, 2, 0.01)
	s, err := NewSimulation(scene, state, undecided{}, StepOptions{TimeStep: 5e-3, Gravity: down})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Step(context.Background(), nil); err != nil || s.State().Status[0] != PairUndecided {
		t.Errorf("%v, %v, want %v", err, s.State().Status[0], PairUndecided)
	}
	o := StepOptions{TimeStep: 5e-3, Gravity: down, Solve: Options{Sweeps: -1, Steps: -1}}
	for _, accept := range []bool{false, true} {
		o.Accept = accept
		s := simulation(t, scene, state, o)
		if err := s.Step(context.Background(), nil); err != nil {
			t.Fatal(err)
		}
		want := map[bool]StepStatus{false: SolveUndecided, true: Accepted}[accept]
		if got := s.State().Status[0]; got != want || (s.State().Steps[0] == 1) != accept {
			t.Errorf("accept %t: %v after %d steps, want %v", accept, got, s.State().Steps[0], want)
		}
	}
}

// TestStepAllocates: a step of a simulation in use allocates nothing but what the contact solver does.
func TestStepAllocates(t *testing.T) {
	scene, state := stack(t, 2, 2, 0)
	s := simulation(t, scene, state, StepOptions{TimeStep: 5e-3, Gravity: down, Solve: Options{Workers: 1}})
	run(t, s, 3, nil)
	ctx := context.Background()
	step := testing.AllocsPerRun(20, func() {
		if err := s.Step(ctx, nil); err != nil {
			t.Fatal(err)
		}
	})
	solve := testing.AllocsPerRun(20, func() {
		if err := s.contacts.Solve(ctx, &s.problem, s.o.Solve, &s.solution); err != nil {
			t.Fatal(err)
		}
	})
	if step > solve {
		t.Errorf("%g allocations, %g of them of the contact solver", step, solve)
	}
}

// TestSceneErrors: bad input is refused with body and column.
func TestSceneErrors(t *testing.T) {
	for _, c := range []struct {
		want   string
		change func(s *Scene)
	}{
		{"body 1: mass", func(s *Scene) { s.Mass[1] = 0 }},
		{"body 0: mass", func(s *Scene) { s.Mass[0] = 1; copy(s.Inertia, s.Inertia[6:12]) }},
		{"body 1: inertia", func(s *Scene) { s.Inertia[6] *= 3 }},
		{"body 1: friction", func(s *Scene) { s.Friction[1] = -1 }},
		{"body 1: restitution", func(s *Scene) { s.Restitution[1] = 1.5 }},
		{"body 1: body", func(s *Scene) { s.Body[1] = 9 }},
		{"column mass", func(s *Scene) { s.Mass = s.Mass[1:] }},
		{"pair 0 to skip", func(s *Scene) { s.SkipA, s.SkipB = []int32{0}, []int32{7} }},
	} {
		scene, state := stack(t, 1, 2, 0)
		c.change(scene)
		_, err := NewSimulation(scene, state, undecided{}, StepOptions{TimeStep: 1e-3})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("error %v, want %q", err, c.want)
		}
	}
	scene, state := stack(t, 1, 2, 0)
	for _, o := range []StepOptions{{}, {TimeStep: math.NaN()}, {TimeStep: 1, MaxGap: -1}, {TimeStep: 1, Correction: 2},
		{TimeStep: 1, Contacts: -1}, {TimeStep: 1, Gravity: r3.Vec{X: math.Inf(1)}}} {
		if _, err := NewSimulation(scene, state, undecided{}, o); err == nil {
			t.Errorf("options %+v are taken", o)
		}
	}
}

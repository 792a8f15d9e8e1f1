package contact

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/num/quat"
	"gonum.org/v1/gonum/spatial/r3"

	"clearance/cpu"
	"clearance/geom"
	"clearance/internal/testkit"
	native "clearance/kernels/contact"
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

// thrown is worlds of needles and lenses that fly at the ground and at each other.
func thrown(t *testing.T, worlds int) (*Scene, *State) {
	needle, lens := r3.Vec{X: 0.2, Y: 0.01, Z: 0.01}, r3.Vec{X: 0.15, Y: 0.15, Z: 0.01}
	scene := testScene(t, []geom.Shape{geom.Ellipsoid{SemiAxes: needle}, geom.Ellipsoid{SemiAxes: lens}},
		[]r3.Vec{needle, lens}, 1, 0.4, 0)
	rng := rand.New(rand.NewPCG(44, 9))
	var poses []geom.Pose
	for range worlds {
		a := geom.Translate(0, 0, 0.25).Compose(geom.Rotate(testkit.Unit(rng), 3*rng.Float64()))
		b := geom.Translate(0, 0, 0.65).Compose(geom.Rotate(testkit.Unit(rng), 3*rng.Float64()))
		poses = append(poses, geom.IdentityPose(), a, b)
	}
	state := stateOf(worlds, poses)
	for w := range worlds {
		for b := 1; b < 3; b++ {
			putVec(state.Velocity[9*w+3*b:], r3.Vec{Z: -10 * rng.Float64() * float64(b)})
			putVec(state.Momentum[9*w+3*b:], scene.Momentum(b, poses[3*w+b].Rotation, r3.Scale(20, testkit.Unit(rng))))
		}
	}
	return scene, state
}

// withKernels is the simulation of a scene with pairs by the kernels.
func withKernels(t *testing.T, scene *Scene, state *State, o StepOptions) *Simulation {
	t.Helper()
	solver, err := cpu.New(cpu.Options{Workers: 1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { solver.Close() })
	s, err := NewSimulation(scene, state, solver, o)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestAgainBits: the bits of worlds that are solved again with more points, or stepped in parts, do not depend on
// workers, on the other worlds, and on what was stepped before.
func TestAgainBits(t *testing.T) {
	const worlds, steps = 24, 40
	scene, state := thrown(t, worlds)
	o := StepOptions{TimeStep: 10e-3, Gravity: down, Correction: -1, Solve: Options{Workers: 1}}
	end := func(state *State, o StepOptions, after func(*State)) *State {
		s := withKernels(t, scene, state, o)
		for range steps {
			if err := s.Step(context.Background(), nil); err != nil {
				t.Fatal(err)
			}
			if after != nil {
				after(s.State())
			}
		}
		if options := s.o; s.half != nil {
			if options.TimeStep /= 2; s.half.o != options {
				t.Errorf("halves have the options %+v, want %+v", s.half.o, options)
			}
		}
		return s.State()
	}
	again, parts := 0, 0
	want := end(state, o, func(s *State) {
		for w := range worlds {
			if s.Solves[w] > 1 {
				again++
			}
			if s.Parts[w] > 1 {
				parts++
				if s.Status[w] == Advanced {
					t.Errorf("%d parts, and %v", s.Parts[w], s.Status[w])
				}
			}
		}
	})
	if t.Logf("%d worlds solved again, %d in parts", again, parts); again == 0 || parts == 0 {
		t.Error("the test shows nothing")
	}
	several := o
	several.Solve.Workers = 3
	if got := end(state, several, nil); !slices.Equal(got.Pose, want.Pose) || !slices.Equal(got.Solves, want.Solves) {
		t.Error("three workers: other states")
	}
	for w := range worlds {
		alone := end(&State{Worlds: 1, Pose: state.Pose[21*w : 21*w+21], Velocity: state.Velocity[9*w : 9*w+9],
			Momentum: state.Momentum[9*w : 9*w+9]}, o, nil)
		if !slices.Equal(alone.Pose, want.Pose[21*w:21*w+21]) {
			t.Errorf("world %d alone has another state", w)
		}
	}
}

// TestAgainMomentum: contacts at points that would enter keep the linear momentum and the angular one, which a step
// keeps that takes bodies along their new velocities.
func TestAgainMomentum(t *testing.T) {
	scene, state := thrown(t, 24)
	scene.SkipA, scene.SkipB = []int32{0, 0}, []int32{1, 2}
	for _, variant := range append(native.Supported(), Off) {
		s := withKernels(t, scene, state, StepOptions{TimeStep: 5e-3, Solve: Options{Tolerance: 1e-10, SIMD: variant}})
		total := func(w int) (p, l r3.Vec) {
			for b := 1; b < 3; b++ {
				k := 3*w + b
				v := r3.Scale(scene.Mass[b], vecOf(s.state.Velocity[3*k:]))
				p, l = r3.Add(p, v), r3.Add(l, r3.Add(r3.Cross(vecOf(s.state.Pose[7*k:]), v),
					vecOf(s.state.Momentum[3*k:])))
			}
			return p, l
		}
		again := 0
		for range 30 {
			var before [24][2]r3.Vec
			for w := range before {
				before[w][0], before[w][1] = total(w)
			}
			if err := s.Step(context.Background(), nil); err != nil {
				t.Fatal(err)
			}
			for w := range before {
				if s.state.Solves[w] > 1 {
					again++
				}
				p, l := total(w)
				if d := max(r3.Norm(r3.Sub(p, before[w][0])), r3.Norm(r3.Sub(l, before[w][1]))); d > 1e-12 {
					t.Errorf("%s: world %d, %v: the momentum changes by %g", variant, w, s.state.Status[w], d)
				}
			}
		}
		if again == 0 {
			t.Errorf("%s: the test shows nothing", variant)
		}
	}
}

// TestMotionUndecided: a world in which a body rotates too far to prove its motion, also in the least parts, keeps its
// state, and the one beside it goes on.
func TestMotionUndecided(t *testing.T) {
	half := r3.Vec{X: 0.1, Y: 0.2, Z: 0.3}
	scene := testScene(t, []geom.Shape{geom.Box{HalfExtents: half}}, []r3.Vec{half}, 1, 0, 0)
	state := stateOf(2, slices.Repeat([]geom.Pose{geom.IdentityPose(), geom.Translate(0, 0, 0.31)}, 2))
	const dt = 5e-3
	spin := 500 / dt
	putVec(state.Momentum[3:], scene.Momentum(1, quat.Number{Real: 1}, r3.Vec{X: spin}))
	s := simulation(t, scene, state, StepOptions{TimeStep: dt})
	s.halvings = mostHalvings - 4 // its parts still rotate by 31 rad
	if err := s.Step(context.Background(), nil); err != nil {
		t.Fatal(err)
	}
	want := []StepStatus{MotionUndecided, Advanced}
	if !slices.Equal(s.state.Status, want) || !slices.Equal(s.state.Steps, []int64{0, 1}) ||
		!slices.Equal(s.state.Pose[:14], state.Pose[:14]) {
		t.Errorf("%v after %v steps, want %v", s.state.Status, s.state.Steps, want)
	}
}

// TestPathBounds: what planes prove of a motion holds at all times: the overlap along the normal at any time is not
// beyond what is allowed, and the bound is of use: planes prove most slow motions.
func TestPathBounds(t *testing.T) {
	rng := rand.New(rand.NewPCG(44, 10))
	boxA, boxB := r3.Vec{X: 0.3, Y: 0.2, Z: 0.05}, r3.Vec{X: 0.2, Y: 0.1, Z: 0.1}
	scene := testScene(t, []geom.Shape{geom.Box{HalfExtents: boxA}, geom.Box{HalfExtents: boxB}}, []r3.Vec{boxA,
		boxB}, 1,
		0, 0)
	s := simulation(t, scene, stateOf(1, slices.Repeat([]geom.Pose{geom.IdentityPose()}, 3)), StepOptions{TimeStep: 1})
	p := &s.pairs[slices.IndexFunc(s.pairs, func(p partPair) bool { return p.a == 1 })]
	proved, tried := [3]int{}, 0
	for range 3000 {
		random := func() path {
			from := geom.Translate(rng.NormFloat64(), rng.NormFloat64(), rng.NormFloat64()).Compose(
				geom.Rotate(testkit.Unit(rng), 3*rng.Float64()))
			turn := r3.Scale(1.5*rng.Float64(), testkit.Unit(rng))
			to := geom.Pose{Position: r3.Add(from.Position, r3.Scale(0.2*rng.Float64(), testkit.Unit(rng))),
				Rotation: quat.Mul(exponential(turn), from.Rotation)}
			return path{from: from, to: to, start: from.Position, shift: r3.Sub(to.Position, from.Position),
				rotation: turn, angle: length(turn)}
		}
		q := paths{p, random(), random()}
		if got := rotationVector(quat.Mul(q.a.to.Rotation, quat.Conj(q.a.from.Rotation))); length(r3.Sub(got,
			q.a.rotation)) > 1e-12 {
			t.Fatalf("rotation vector %v, want %v", got, q.a.rotation)
		}
		at, t0 := rng.Float64(), 0.5*rng.Float64()
		t1 := t0 + (1-t0)*rng.Float64()
		a, b := q.a.poseAt(at), q.b.poseAt(at)
		n := r3.Unit(r3.Sub(b.Position, a.Position))
		near := min(s.gapAt(&q, n, t0), s.gapAt(&q, n, t1)) - 0.05*rng.Float64()*rng.Float64()
		shift := r3.Scale(-near, n) // so that the parts nearly touch
		q.b.from.Position, q.b.to.Position = r3.Add(q.b.from.Position, shift), r3.Add(q.b.to.Position, shift)
		q.b.start = r3.Add(q.b.start, shift)
		tried++
		for frame := range 3 {
			if !s.within(&q, n, at, t0, t1, frame, p.depth) {
				continue
			}
			proved[frame]++
			for k := range 21 {
				time := t0 + (t1-t0)*float64(k)/20
				m := n
				switch frame {
				case inA:
					m = q.a.carry(n, at, time)
				case inB:
					m = q.b.carry(n, at, time)
				}
				if gap := s.gapAt(&q, m, time); gap < -1.25*p.depth {
					t.Errorf("frame %d: at %g of [%g, %g] the gap is %g, allowed %g", frame, time, t0, t1, gap,
						-p.depth)
				}
			}
		}
	}
	if t.Logf("proved %v of %d", proved, tried); min(proved[0], proved[1], proved[2]) < tried/10 {
		t.Errorf("only %v of %d are proved", proved, tried)
	}
}

// TestPointOfEntry: the point of an entry is next to the middle of the points of both bodies, at which the speed along
// the normal is that of the arms, or the middle where there is none within their distance; of a body that does not move
// it is the point of the other.
func TestPointOfEntry(t *testing.T) {
	n, ra, rb := r3.Vec{Z: 1}, r3.Vec{X: 0.1, Z: 0.2}, r3.Vec{X: -0.1, Y: 0.02, Z: -0.2}
	pair := &partPair{a: 0, b: 1}
	q := &paths{pair: pair}
	q.b.start = r3.Vec{X: 0.21, Z: 0.41}
	ya, yb := r3.Add(q.a.start, ra), r3.Add(q.b.start, rb)
	middle := r3.Scale(0.5, r3.Add(ya, yb))
	for _, c := range []struct {
		name         string
		massA, massB float64
		wa, wb       r3.Vec
		want         r3.Vec // zero: where the speed is that of the arms
	}{
		{"no rotation", 1, 1, r3.Vec{}, r3.Vec{}, middle},
		{"equal rotations", 1, 1, r3.Vec{X: 3}, r3.Vec{X: 3}, middle}, // no point has the speed
		{"about the normal", 1, 1, r3.Vec{Z: 2}, r3.Vec{Z: -5}, middle},
		{"almost equal rotations", 1, 1, r3.Vec{X: 3}, r3.Vec{X: 3.001}, middle}, // the point is far away
		{"opposite rotations", 1, 1, r3.Vec{X: 2, Y: 1}, r3.Vec{X: -2, Y: 3}, r3.Vec{}},
		{"A does not move", math.Inf(1), 1, r3.Vec{}, r3.Vec{}, yb},
		{"B does not move", 1, math.Inf(1), r3.Vec{}, r3.Vec{}, ya},
	} {
		s := &Simulation{scene: &Scene{Body: []int32{0, 1}, Mass: []float64{c.massA, c.massB}}}
		s.solution.Velocity = make([]float64, 12)
		putVec(s.solution.Velocity[3:], c.wa)
		putVec(s.solution.Velocity[9:], c.wb)
		got := s.pointOf(&suspect{}, q, n, ra, rb)
		if c.want != (r3.Vec{}) {
			if got != c.want {
				t.Errorf("%s: %v, want %v", c.name, got, c.want)
			}
			continue
		}
		speed := func(xa, xb r3.Vec) float64 { return dotVec(n, r3.Sub(r3.Cross(c.wb, xb), r3.Cross(c.wa, xa))) }
		want, at := speed(ra, rb), speed(r3.Sub(got, q.a.start), r3.Sub(got, q.b.start))
		if got == middle || math.Abs(at-want) > 1e-12 || length(r3.Sub(got, middle)) > length(r3.Sub(yb, ya)) {
			t.Errorf("%s: at %v the speed is %g, want %g", c.name, got, at, want)
		}
	}
}

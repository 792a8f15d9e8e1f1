package contact

import (
	"context"
	"math/rand/v2"
	"slices"
	"testing"

	"clearance/contact/lanes"
	"clearance/cpu"
	"clearance/geom"
	"clearance/internal/testkit"

	"gonum.org/v1/gonum/num/quat"
	"gonum.org/v1/gonum/spatial/r3"
)

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

// kernels is the simulation of a scene with pairs by the kernels.
func kernels(t *testing.T, scene *Scene, state *State, o StepOptions) *Simulation {
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
		s := kernels(t, scene, state, o)
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
	for _, variant := range append(lanes.Supported(), Off) {
		s := kernels(t, scene, state, StepOptions{TimeStep: 5e-3, Solve: Options{Tolerance: 1e-10, SIMD: variant}})
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
				turn: turn, angle: length(turn)}
		}
		q := paths{p, random(), random()}
		if got := rotationVector(quat.Mul(q.a.to.Rotation, quat.Conj(q.a.from.Rotation))); length(r3.Sub(got,
			q.a.turn)) > 1e-12 {
			t.Fatalf("rotation vector %v, want %v", got, q.a.turn)
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

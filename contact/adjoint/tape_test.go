package adjoint

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/num/quat"
	"gonum.org/v1/gonum/spatial/r3"

	"clearance/batch"
	"clearance/contact"
	"clearance/cpu"
	"clearance/geom"
	"clearance/internal/testkit"
)

// ballsScene is a half-space and balls of the radius 0.1 m.
func ballsScene(t testing.TB, balls int, friction, restitution float64) *contact.Scene {
	t.Helper()
	lib, err := batch.NewLibrary([]geom.Shape{geom.Halfspace{}, geom.Sphere{R: 0.1}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	s := &contact.Scene{Bodies: batch.BodiesOfShapes(lib), Body: []int32{0}, Mass: []float64{math.Inf(1)},
		Inertia: make([]float64, 6), Friction: []float64{friction}, Restitution: []float64{restitution}}
	for range balls {
		s.Body, s.Mass = append(s.Body, 1), append(s.Mass, 1)
		s.Inertia = append(s.Inertia, 4e-3, 4.4e-3, 3.7e-3, 1e-4, 0, -2e-4)
		s.Friction, s.Restitution = append(s.Friction, friction), append(s.Restitution, restitution)
	}
	return s
}

// balls are worlds of balls that rest, roll, slide and fly: the i-th of a world in its own way.
func ballsState(rng *rand.Rand, scene *contact.Scene, worlds int) *contact.State {
	s := &contact.State{Worlds: worlds}
	for range worlds {
		for b := range scene.Body {
			at, v, spin, q := r3.Vec{}, r3.Vec{}, r3.Vec{}, quat.Number{Real: 1}
			if b > 0 {
				q, at = testkit.Rotation(rng), r3.Vec{X: float64(b), Z: 0.1 - 6e-6}
				speed := 0.3 + 0.1*rng.Float64()
				switch b {
				case 1: // rolls
					v, spin = r3.Vec{Y: speed}, r3.Vec{X: -speed / 0.1}
				case 2: // slides, for the time of the test
					v, spin = r3.Vec{Y: 10 * speed}, r3.Vec{X: 3, Y: 1}
				case 3: // flies
					at.Z, spin = 100, r3.Scale(20, testkit.Unit(rng))
				}
			}
			l := scene.Momentum(b, q, spin)
			s.Pose = append(s.Pose, at.X, at.Y, at.Z, q.Real, q.Imag, q.Jmag, q.Kmag)
			s.Velocity, s.Momentum = append(s.Velocity, v.X, v.Y, v.Z), append(s.Momentum, l.X, l.Y, l.Z)
		}
	}
	return s
}

func kernelSolver(t testing.TB) contact.PairSolver {
	t.Helper()
	s, err := cpu.New(cpu.Options{Workers: 1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// run makes steps with a tape and returns the states after each of those at.
func (p *stepPoint) run(t testing.TB, solver contact.PairSolver, steps int, at []int) (*Tape, []*contact.State) {
	t.Helper()
	s := p.simulation(t, solver)
	var states []*contact.State
	if at[0] == 0 {
		states = append(states, cloneState(s.State()))
	}
	tape, err := Run(context.Background(), s, steps, p.force, func(step int) bool {
		if slices.Contains(at, step+1) {
			states = append(states, cloneState(s.State()))
		}
		return true
	})
	if err != nil {
		t.Fatal(err)
	}
	return tape, states
}

// spins are the angular velocities of a state.
func spins(scene *contact.Scene, s *contact.State, w int) (out []r3.Vec) {
	for b := range scene.Body {
		k := w*len(scene.Body) + b
		l := vecOf(s.Momentum[3*k:])
		if !math.IsInf(scene.Mass[b], 1) {
			m := poseOf(s.Pose[7*k:]).Matrix()
			i := sym3(scene.Inertia[6*b : 6*b+6])
			inverse := i.Inverse()
			l = m.MulVec(inverse.Mul(m.MulVecT(l)))
		}
		out = append(out, l)
	}
	return out
}

// TestRunAgainstDifferences: the gradient of a loss of three states of a run of balls that rest, roll, slide and fly,
// by the first state, the forces of all steps and what worlds share, poses of parts too, along random directions. No
// contact changes its mode. Differences of the fourth order are off by 1e-9 of the sums of the absolute values of the
// terms.
func TestRunAgainstDifferences(t *testing.T) {
	rng := rand.New(rand.NewPCG(48, 5))
	solver := kernelSolver(t)
	for _, model := range []contact.Model{contact.NCP, contact.CCP} {
		for _, steps := range []int{1, 7, 100, 1000} {
			const worlds = 3
			balls := 3
			if model == contact.CCP {
				balls = 1 // bodies that slide leave the ground
			}
			scene := ballsScene(t, balls, 0.2, 0)
			n := len(scene.Body)
			dt := min(stepTime, 0.5/float64(steps)) // it slides for 0.7 s and more
			p := &stepPoint{scene: scene, state: ballsState(rng, scene, worlds), o: contact.StepOptions{TimeStep: dt,
				Gravity: r3.Vec{Z: -9.81}, Solve: contact.Options{Model: model, Tolerance: 1e-13, Workers: 2}},
				force: normal(rng, 6*n*worlds*steps)}
			for k := range worlds * n * steps {
				scale(p.force[6*k+3:6*k+6], 1e-3)
				scale(p.force[6*k:6*k+3], 0.1)
			}
			at := []int{0, (steps + 1) / 2, steps}
			if steps == 1 {
				at = []int{0, 1}
			}
			tape, base := p.run(t, solver, steps, at)
			var bars []*StateCotangent
			var spinBars [][]float64
			c := RunCotangents{At: at}
			for range len(at) * worlds {
				bar, spin := randomBar(rng, scene), normal(rng, 3*n)
				bars, spinBars = append(bars, bar), append(spinBars, spin)
				c.Pose, c.Velocity = append(c.Pose, bar.Pose...), append(c.Velocity, bar.Velocity...)
				c.Momentum, c.Spin = append(c.Momentum, bar.Momentum...), append(c.Spin, spin...)
			}
			var g RunGradient
			if err := tape.VJP(context.Background(), &c, &g); err != nil {
				t.Fatal(err)
			}
			for i, s := range g.Smoothness {
				if s != Smooth {
					t.Fatalf("step %d, world %d: %v, margin %g", i/worlds, i%worlds, s, g.Margin[i])
				}
			}
			d := p.direction(rng)
			d.force = normal(rng, len(p.force))
			for k := range worlds * n * steps {
				scale(d.force[6*k+3:6*k+6], 0.01)
			}
			scale(d.pose, 0.1)
			scale(d.poses, 0.1)
			for k := range worlds * n {
				if d.pose[6*k+2] *= 1e-3; k%n == 0 { // the contacts of balls stay within the slop
					clear(d.pose[6*k : 6*k+6])
					clear(d.velocity[3*k : 3*k+3])
				} else {
					d.velocity[3*k+2] = 0
				}
			}
			value := func(states []*contact.State, scene *contact.Scene, w int) (sum float64) {
				for r, s := range states {
					sum += value(bars[r*worlds+w], base[r], s, w, n)
					for b, v := range spins(scene, s, w) {
						sum += dot(vecOf(spinBars[r*worlds+w][3*b:]), v)
					}
				}
				return sum
			}
			want := make([]float64, worlds)
			const h = 1e-4
			for _, x := range []float64{h, -h, 2 * h, -2 * h} {
				q := p.at(d, x)
				_, states := q.run(t, solver, steps, at)
				f := 8 / (12 * h)
				if math.Abs(x) > h {
					f = -1 / (12 * h)
				}
				for w := range worlds {
					want[w] += math.Copysign(f, x*f) * value(states, q.scene, w)
				}
			}
			for w := range worlds {
				force, size := 0.0, 0.0
				for i := range steps {
					k := 6 * n * (i*worlds + w)
					v, a := products(g.Force[k:k+6*n], d.force[k:k+6*n])
					force, size = force+v, size+a
				}
				ofWorld := &StateCotangent{g.Pose[6*n*w : 6*n*(w+1)], g.Velocity[3*n*w : 3*n*(w+1)],
					g.Momentum[3*n*w : 3*n*(w+1)]}
				sources := scene.FrictionSources()
				shared := &StepGradient{Force: make([]float64, 6*n), Mass: g.Mass[n*w : n*(w+1)],
					Inertia: g.Inertia[6*n*w : 6*n*(w+1)], Gravity: g.Gravity[3*w : 3*w+3],
					Friction:    g.Friction[sources*w : sources*(w+1)],
					Restitution: g.Restitution[sources*w : sources*(w+1)],
					Parts:       g.Parts[len(g.Parts)/worlds*w : len(g.Parts)/worlds*(w+1)]}
				got, more := d.along(ofWorld, shared, w, n)
				if off := math.Abs(got+force-want[w]) / (size + more); !(off <= 1e-7) {
					t.Errorf("%v, %d steps, world %d: %.10g, want %.10g, size %.3g", model, steps, w, got+force,
						want[w], size+more)
				} else if w == 0 {
					t.Logf("%v, %d steps: off by %.2g, tape of %d bytes", model, steps, off, tape.Bytes())
				}
			}
		}
	}
}

// TestTapeMemory: a tape of T steps keeps √T states, so that 16 times as many steps take 4 times the memory, but for
// the state at the end and the rounding of √T.
func TestTapeMemory(t *testing.T) {
	var bytes [3]float64
	for i, steps := range []int{100, 400, 1600} {
		s := startedSimulation(t, "stack4", 2, 0)
		tape, err := Run(context.Background(), s, steps, nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		bytes[i] = float64(tape.Bytes())
	}
	t.Logf("bytes %v", bytes)
	if !(bytes[1] <= 2.1*bytes[0] && bytes[2] <= 2.1*bytes[1]) {
		t.Errorf("bytes %v of tapes of 100, 400 and 1,600 steps", bytes)
	}
}

// TestRunBits: gradients of runs have the same bits for any number of workers, and for every length of a segment.
func TestRunBits(t *testing.T) {
	rng := rand.New(rand.NewPCG(48, 6))
	k := stepKind{name: "box", shape: geom.Box{HalfExtents: r3.Vec{X: 0.06, Y: 0.08, Z: 0.1}}, bodies: 3,
		restitution: 0.4}
	const worlds, steps = 20, 50
	solver := kernelSolver(t)
	scene := k.scene(t, rng)
	o := k.options()
	o.Solve.Tolerance = 1e-9
	p := &stepPoint{scene: scene, state: k.states(t, rng, scene, solver, worlds), o: o}
	n := len(scene.Body)
	c := RunCotangents{At: []int{10, steps}, Pose: normal(rng, 2*6*n*worlds), Spin: normal(rng, 2*3*n*worlds)}
	gradient := func(workers, each int) (g RunGradient) {
		p.o.Solve.Workers = workers
		s := p.simulation(t, solver)
		tape, err := Run(context.Background(), s, steps, nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		if each == steps { // one segment
			tape.each, tape.marks = steps, tape.marks[:1]
		}
		if err := tape.VJP(context.Background(), &c, &g); err != nil {
			t.Fatal(err)
		}
		again := RunGradient{}
		if err := tape.VJP(context.Background(), &c, &again); err != nil {
			t.Fatal(err)
		}
		if !sameBits(again.Pose, g.Pose) {
			t.Error("the same tape gives another gradient")
		}
		return g
	}
	want := gradient(1, 0)
	if nonzero := slices.ContainsFunc(want.Pose, func(x float64) bool { return x != 0 }); !nonzero {
		t.Fatal("no gradient")
	}
	counts := map[Smoothness]int{}
	for i, s := range want.Smoothness {
		counts[s]++
		if x := want.Margin[i]; x != x {
			t.Fatal("a margin is NaN")
		}
	}
	t.Log(counts)
	for _, x := range [][2]int{{2, 0}, {3, steps}} {
		got := gradient(x[0], x[1])
		for _, c := range [][2][]float64{{got.Pose, want.Pose}, {got.Velocity, want.Velocity},
			{got.Momentum, want.Momentum}, {got.Spin, want.Spin}, {got.Force, want.Force}, {got.Mass, want.Mass},
			{got.Inertia, want.Inertia}, {got.Friction, want.Friction}, {got.Restitution, want.Restitution},
			{got.Gravity, want.Gravity}, {got.Parts, want.Parts}, {got.Margin, want.Margin}} {
			if !sameBits(c[0], c[1]) {
				t.Errorf("%d workers, segments of %d: other bits", x[0], x[1])
			}
			if !allFinite(c[1][:min(len(c[1]), 6*n*worlds)]) && !slices.Equal(c[1], want.Margin) {
				t.Error("a gradient is not finite")
			}
		}
	}
}

// TestBallsExchange: two elastic balls in a row exchange their velocities, so that the velocity of each after the
// impact has the derivative 1 by that of the other before, and 0 by its own and by both positions. A simulator that was
// known for 0.75 and 0.25 here is the reason for the test (nimblephysics, issue 97).
func TestBallsExchange(t *testing.T) {
	solver := kernelSolver(t)
	scene := ballsScene(t, 2, 0, 1)
	state := &contact.State{Worlds: 1, Velocity: []float64{0, 0, 0, 1, 0, 0, 0, 0, 0}, Momentum: make([]float64, 9)}
	for _, x := range []r3.Vec{{Z: -5}, {}, {X: 0.2005}} {
		state.Pose = append(state.Pose, x.X, x.Y, x.Z, 1, 0, 0, 0)
	}
	s, err := contact.NewSimulation(scene, state, solver, contact.StepOptions{TimeStep: 1e-2,
		Solve: contact.Options{Tolerance: 1e-12}})
	if err != nil {
		t.Fatal(err)
	}
	tape, err := Run(context.Background(), s, 1, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	if v := s.State().Velocity; math.Abs(v[3]) > 1e-9 || math.Abs(v[6]-1) > 1e-9 {
		t.Fatalf("velocities %v", v)
	}
	var g RunGradient
	for ball, want := range [][2]float64{{0, 1}, {1, 0}} {
		c := RunCotangents{At: []int{1}, Velocity: make([]float64, 9)}
		c.Velocity[3+3*ball] = 1
		if err := tape.VJP(context.Background(), &c, &g); err != nil {
			t.Fatal(err)
		}
		got := fmt.Sprintf("%.9f %.9f %.9f %.9f", math.Abs(g.Pose[6]), math.Abs(g.Pose[12]), math.Abs(g.Velocity[3]),
			math.Abs(g.Velocity[6]))
		if want := fmt.Sprintf("%.9f %.9f %.9f %.9f", 0., 0., want[0], want[1]); got != want {
			t.Errorf("ball %d: by positions and velocities %s, want %s", ball, got, want)
		}
	}
}

// TestImpacts: a ball bounces off the ground without gravity, in 480 steps of 1/480 s [Zhong et al., arXiv 2207.05060,
// Table 1, where e = 1]. After the time T = 1 s it is at −e(y₀ + v₀T): by the time of impact this has the derivatives
// −e by the first position, −eT by the first velocity and −eTΔt by the force of the first step. The step as it is has
// the other sign for the position.
func TestImpacts(t *testing.T) {
	solver := kernelSolver(t)
	for _, e := range []float64{1, 0.6} {
		scene := ballsScene(t, 1, 0, e)
		const steps, dt = 480, 1. / 480
		state := &contact.State{Worlds: 1, Pose: []float64{0, 0, 0, 1, 0, 0, 0, -1, 0, 1.003, 1, 0, 0, 0},
			Velocity: []float64{0, 0, 0, 2, 0, -2}, Momentum: make([]float64, 6)}
		s, err := contact.NewSimulation(scene, state, solver, contact.StepOptions{TimeStep: dt, BounceSpeed: 1e-9,
			Solve: contact.Options{Tolerance: 1e-12}})
		if err != nil {
			t.Fatal(err)
		}
		force := make([]float64, 12*steps)
		tape, err := Run(context.Background(), s, steps, force, nil)
		if err != nil {
			t.Fatal(err)
		}
		c := RunCotangents{At: []int{steps}, Pose: make([]float64, 12)}
		c.Pose[6+2] = 1
		for _, x := range []struct {
			impacts    Impacts
			position   float64
			wrongSpeed bool
		}{{DiscreteImpacts, 1, true}, {TimeOfImpact, -e, false}} {
			c.Impacts = x.impacts
			var g RunGradient
			if err := tape.VJP(context.Background(), &c, &g); err != nil {
				t.Fatal(err)
			}
			got := [3]float64{g.Pose[6+2], g.Velocity[3+2], g.Force[6+2]}
			want := [3]float64{x.position, -e, -e * dt}
			t.Logf("e = %g, %v: %.6g", e, x.impacts, got)
			if math.Abs(got[0]-want[0]) > 1e-9 {
				t.Errorf("e = %g, %v: by the position %.10g, want %g", e, x.impacts, got[0], want[0])
			}
			if off := math.Abs(got[1]-want[1]) + math.Abs(got[2]-want[2]); !x.wrongSpeed && off > 1e-9 {
				t.Errorf("e = %g, %v: by velocity and force %.10g, want %.10g", e, x.impacts, got[1:], want[1:])
			}
		}
	}
}

// TestRunScales: masses, lengths and times of a run that are scaled by powers of two scale its gradients by powers of
// two, bit for bit, whatever they are worth.
func TestRunScales(t *testing.T) {
	rng := rand.New(rand.NewPCG(48, 8))
	solver := kernelSolver(t)
	for _, k := range []stepKind{
		{name: "box", shape: geom.Box{HalfExtents: r3.Vec{X: 0.06, Y: 0.08, Z: 0.1}}, bodies: 3, restitution: 0.4,
			moving: true},
		{name: "cylinder", shape: geom.Cylinder{R: 0.08, HalfLength: 0.1}, bodies: 2, model: contact.CCP,
			impacts: TimeOfImpact, restitution: 0.5, parts: true},
		{name: "compliant capsule", shape: geom.Capsule{R: 0.05, HalfLength: 0.1}, bodies: 3, compliance: 1e-3},
	} {
		const worlds, steps = 12, 12
		scene := k.scene(t, rng)
		o := k.options()
		o.Solve.Tolerance = 1e-8
		p := &stepPoint{scene: scene, state: k.states(t, rng, scene, solver, worlds), o: o}
		n := len(scene.Body)
		p.force = normal(rng, 6*n*worlds)
		bar := normal(rng, 6*n*worlds)
		gradient := func(mass, length, time int) (g RunGradient) {
			q := p.scaled(t, mass, length, time)
			tape, err := Run(context.Background(), q.simulation(t, solver), steps, q.force, nil)
			if err != nil {
				t.Fatal(err)
			}
			c := RunCotangents{At: []int{steps}, Pose: ldexp(bar, -length, 0), Impacts: k.impacts}
			if err := tape.VJP(context.Background(), &c, &g); err != nil {
				t.Fatal(err)
			}
			force := mass + length - 2*time // units of the columns
			g.Pose, g.Parts = ldexp(g.Pose, length, 0), ldexp(g.Parts, length, 0)
			g.Velocity, g.Spin = ldexp(g.Velocity, length-time, length-time), ldexp(g.Spin, -time, -time)
			g.Force, g.Mass = ldexp(g.Force, force, force+length), ldexp(g.Mass, mass, mass)
			g.Inertia = ldexp(g.Inertia, mass+2*length, mass+2*length)
			g.Gravity = ldexp(g.Gravity, length-2*time, length-2*time)
			return g
		}
		want := gradient(0, 0, 0)
		if !slices.ContainsFunc(want.Parts, func(x float64) bool { return x != 0 }) {
			t.Errorf("%v: no contact has a gradient", &k)
		}
		for _, e := range [][3]int{{9, 0, 0}, {0, 0, -7}, {-12, 0, 5}, {0, 4, 0}, {0, -3, 0}, {5, 2, -3}} {
			got := gradient(e[0], e[1], e[2])
			for i, c := range [][2][]float64{{got.Pose, want.Pose}, {got.Velocity, want.Velocity},
				{got.Spin, want.Spin}, {got.Force, want.Force}, {got.Mass, want.Mass}, {got.Inertia, want.Inertia},
				{got.Friction, want.Friction}, {got.Restitution, want.Restitution}, {got.Gravity, want.Gravity},
				{got.Parts, want.Parts}, {got.Margin, want.Margin}} {
				if !slices.Equal(c[0], c[1]) {
					t.Errorf("%v: masses by 2^%d, lengths by 2^%d, times by 2^%d: other bits in column %d", &k, e[0],
						e[1], e[2], i)
				}
			}
			if !slices.Equal(got.Smoothness, want.Smoothness) {
				t.Errorf("%v: scaled by the powers %d: other names", &k, e)
			}
		}
	}
}

// scaled is the point with masses, lengths and times times powers of two.
func (p *stepPoint) scaled(t testing.TB, mass, length, time int) *stepPoint {
	t.Helper()
	s, old, k := *p.scene, p.scene.Bodies, math.Ldexp(1, length)
	shapes := make([]geom.Shape, old.Library().Len())
	for i := range shapes {
		var err error
		if shapes[i], err = geom.Scaled(old.Library().Shape(int32(i)), k); err != nil {
			t.Fatal(err)
		}
	}
	lib, err := batch.NewLibrary(shapes, nil)
	if err != nil {
		t.Fatal(err)
	}
	bodies := make([]batch.Body, old.Len())
	for b := range bodies {
		bodies[b].Parts = slices.Clone(old.Parts(int32(b)))
		for i := range bodies[b].Parts {
			pose := &bodies[b].Parts[i].Pose
			pose.Position = r3.Scale(k, pose.Position)
		}
	}
	if s.Bodies, err = batch.NewBodies(lib, bodies); err != nil {
		t.Fatal(err)
	}
	s.Mass, s.Inertia = ldexp(s.Mass, mass, mass), ldexp(s.Inertia, mass+2*length, mass+2*length)
	s.Center = ldexp(s.Center, length, length)
	force := mass + length - 2*time
	q := &stepPoint{scene: &s, o: p.o, force: ldexp(p.force, force, force+length)}
	q.o.TimeStep = math.Ldexp(p.o.TimeStep, time)
	q.o.Gravity = r3.Scale(math.Ldexp(1, length-2*time), p.o.Gravity)
	q.state = &contact.State{Worlds: p.state.Worlds, Pose: slices.Clone(p.state.Pose),
		Velocity: ldexp(p.state.Velocity, length-time, length-time)}
	for i := range p.state.Worlds * len(s.Body) {
		put(q.state.Pose[7*i:], r3.Scale(k, vecOf(p.state.Pose[7*i:])))
		e := mass + 2*length - time
		if math.IsInf(s.Mass[i%len(s.Body)], 1) { // the angular velocity
			e = -time
		}
		q.state.Momentum = append(q.state.Momentum, ldexp(p.state.Momentum[3*i:3*i+3], e, e)...)
	}
	return q
}

// ldexp scales numbers by powers of two; of each six the first three by one, the others by another.
func ldexp(v []float64, lin, ang int) []float64 {
	out := make([]float64, len(v))
	for i, x := range v {
		if out[i] = math.Ldexp(x, lin); i%6 >= 3 {
			out[i] = math.Ldexp(x, ang)
		}
	}
	return out
}

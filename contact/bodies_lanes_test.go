package contact

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"clearance/geom"
	"clearance/internal/testkit"
	native "clearance/kernels/contact"

	"gonum.org/v1/gonum/spatial/r3"
)

// tumbling is worlds of boxes that lie on the ground, a body that flies by at a constant velocity, a ball that spins
// too fast for the series of the exponential, and a body whose center of mass is not its origin.
func tumbling(t testing.TB, worlds int) (*Scene, *State, []float64) {
	rng := rand.New(rand.NewPCG(34, 11))
	box := geom.Box{HalfExtents: cube}
	scene := testScene(t, []geom.Shape{box, geom.Sphere{R: 0.1}, box, box, box},
		[]r3.Vec{cube, cube, {X: 0.1, Y: 0.2, Z: 0.3}, cube, cube}, 2, 0.5, 0.3)
	scene.Mass[4] = math.Inf(1)
	scene.Center = make([]float64, 18)
	putVec(scene.Center[9:], r3.Vec{X: 0.01, Y: -0.02, Z: 0.03})
	copy(scene.Inertia[18:24], []float64{0.05, 0.06, 0.07, 0.01, -0.005, 0.002})
	var poses []geom.Pose
	force := make([]float64, 6*6*worlds)
	for range worlds {
		poses = append(poses, geom.IdentityPose())
		for b := range 5 {
			p := geom.Translate(float64(b), rng.Float64(), 0.1+0.002*(rng.Float64()-0.5))
			if b%2 == 0 { // level, others roll on an edge
				p = p.Compose(geom.Rotate(r3.Vec{Z: 1}, rng.Float64()))
			} else {
				p = p.Compose(geom.Pose{Rotation: testkit.Rotation(rng)})
			}
			poses = append(poses, p)
		}
	}
	state := stateOf(worlds, poses)
	for i := range force {
		force[i] = 0.1 * (rng.Float64() - 0.5)
	}
	for w := range worlds {
		for b := 1; b < 6; b++ {
			k := 3 * (6*w + b)
			putVec(state.Velocity[k:], r3.Scale(0.3, testkit.Unit(rng)))
			putVec(state.Momentum[k:], r3.Scale(0.01, testkit.Unit(rng)))
		}
		putVec(state.Momentum[3*(6*w+2):], r3.Vec{X: 2 * float64(w%3)})
		if w%2 == 1 { // the ground rotates
			putVec(state.Momentum[3*6*w:], r3.Vec{X: 1e-3, Y: -2e-3, Z: 1.5})
		}
	}
	return scene, state, force
}

// kernelState is what the kernels of bodies write.
type kernelState struct {
	bodies                                 []bodyState
	inertia, free, energy, allowed, change []float64
	impulse                                []float64
}

func (s *Simulation) kernelState() kernelState {
	return kernelState{slices.Clone(s.bodies), slices.Clone(s.problem.Inertia), slices.Clone(s.problem.Velocity),
		slices.Clone(s.state.Energy), slices.Clone(s.allowed), slices.Clone(s.change), slices.Clone(s.impulse)}
}

// TestBodiesInLanes: every variant gives the states before the solve and after it, the contacts, the impulses in world
// axes and the audit that Go gives: the same bits, where the compiler of Go fuses nothing, but for the sums of the
// audit. Worlds that a kernel leaves, for their quaternions or an invalid state, are those of Go.
func TestBodiesInLanes(t *testing.T) {
	const worlds = 11 // no multiple of the lanes
	for _, variant := range native.Supported() {
		for i := range 4 {
			model, rigid := Model(i%2), i < 2
			scene, state, force := tumbling(t, worlds)
			for i := range 4 {
				state.Pose[7*(6*3+2)+3+i] *= 2 // not of unit length
			}
			state.Velocity[3*(6*5+1)] = math.NaN()
			o := StepOptions{TimeStep: 5e-3, Gravity: down, MaxGap: 0.3,
				Solve: Options{Model: model, SIMD: variant, Workers: 1}}
			if !rigid {
				o.Compliance = 0.02
			}
			s := simulation(t, scene, state, o)
			for step := range 6 {
				f := force
				if step%2 == 1 {
					f = nil
				}
				compareKernels(t, s, variant, f)
				if err := s.Step(t.Context(), f); err != nil {
					t.Fatal(err)
				}
			}
			for w, status := range s.State().Status {
				if want := map[bool]StepStatus{true: StepInvalid, false: Advanced}[w == 5]; status != want {
					t.Errorf("%s %v, rigid %t: world %d: %v, want %v", variant, model, rigid, w, status, want)
				}
			}
		}
	}
}

// compareKernels makes a step of all worlds with the kernels and in Go, and commits neither.
func compareKernels(t *testing.T, s *Simulation, variant string, force []float64) {
	t.Helper()
	s.force, s.columns.Force = force, force
	s.lo, s.hi = 0, s.state.Worlds
	worker := &s.workers[0]
	before := func(v string) kernelState {
		s.variant = v
		s.prepare(worker, s.lo, s.hi)
		return s.kernelState()
	}
	want := before(Off)
	got := before(variant)
	compare(t, variant+" before", s, &got, &want)
	s.listOpen()
	s.variant = Off
	if err := s.solve(t.Context()); err != nil {
		t.Fatal(err)
	}
	want = s.kernelState()
	contacts := s.assembled()
	for w := range s.state.Worlds {
		if s.open[w] {
			t.Fatalf("world %d has missed a pair", w)
		}
		s.open[w] = s.state.Status[w] != StepInvalid
		if s.open[w] {
			s.state.Status[w] = underway
		}
		clear(s.impulse[3*s.contactsOf(w, 1-s.side[w]):][:3*s.capacity])
	}
	s.variant = variant
	clear(s.problem.Frame)
	clear(s.problem.Warm)
	s.assemble(worker, s.lo, s.hi)
	if again := s.assembled(); len(contacts) == 0 || !slices.Equal(again, contacts) && !testkit.Fuses() {
		t.Errorf("%s: other contacts: %v, want %v", variant, again, contacts)
	}
	s.move(worker, s.lo, s.hi)
	got = s.kernelState()
	compare(t, variant+" after", s, &got, &want)
}

// assembled lists the contacts of all worlds.
func (s *Simulation) assembled() (list []contactColumns) {
	p := &s.problem
	for w := range p.Worlds {
		for i := range int(p.Count[w]) {
			c, m := w*p.Contacts+i, s.contactsOf(w, 1-s.side[w])+i
			list = append(list, contactColumns{s.ids[m], p.BodyA[c], p.BodyB[c], [3]float64(p.ArmA[3*c:]),
				[3]float64(p.ArmB[3*c:]), [9]float64(p.Frame[9*c:]), p.Friction[c], p.Target[c],
				[3]float64(p.Warm[3*c:]), [3]float64(s.at[3*m:])})
		}
	}
	return list
}

// contactColumns are the columns of a contact.
type contactColumns struct {
	id               contactID
	bodyA, bodyB     int32
	armA, armB       [3]float64
	frame            [9]float64
	friction, target float64
	warm, position   [3]float64
}

// compare holds the columns of the worlds that are valid to those of Go: the same bits, or where Go fuses, a difference
// of 64 roundings of the largest value of the column, or of 1 if that is larger: no value of a column is a sum of more
// products, of which the fused text rounds each once less.
func compare(t *testing.T, what string, s *Simulation, got, want *kernelState) {
	t.Helper()
	bodies, per := len(s.scene.Body), 3*s.capacity
	for w := range s.state.Worlds {
		if s.state.Status[w] == StepInvalid {
			continue
		}
		rounding := 0.0
		if testkit.Fuses() {
			rounding = 64 * 0x1p-53
		}
		var worst float64 // difference, relative to the largest value
		differ := func(a, b []float64) {
			largest := 1.0
			for _, x := range b[:len(a)] {
				if !math.IsNaN(x) && !math.IsInf(x, 0) {
					largest = max(largest, math.Abs(x))
				}
			}
			for i := range a {
				if a[i] != b[i] && !(math.IsNaN(a[i]) && math.IsNaN(b[i])) {
					worst = max(worst, math.Abs(a[i]-b[i])/largest)
				}
			}
		}
		flat := func(b *bodyState) []float64 {
			n := &b.next
			q, r := b.pose.Rotation, n.pose.Rotation
			out := append(b.matrix[:], q.Real, q.Imag, q.Jmag, q.Kmag, b.rim, r.Real, r.Imag, r.Jmag, r.Kmag, n.angle,
				n.reach)
			for _, v := range []r3.Vec{b.pose.Position, b.center, b.velocity, b.spin, n.pose.Position, n.velocity,
				n.momentum} {
				out = append(out, v.X, v.Y, v.Z)
			}
			return out
		}
		for k := w * bodies; k < (w+1)*bodies; k++ {
			differ(flat(&got.bodies[k]), flat(&want.bodies[k]))
		}
		differ(got.inertia[6*w*bodies:6*(w+1)*bodies], want.inertia[6*w*bodies:])
		differ(got.free[6*w*bodies:6*(w+1)*bodies], want.free[6*w*bodies:])
		differ(got.impulse[2*w*per:2*(w+1)*per], want.impulse[2*w*per:])
		differ(got.change[w:w+1], want.change[w:])
		if !(worst <= rounding) {
			t.Errorf("%s: world %d differs by %g", what, w, worst)
		}
		far := func(a, b float64) bool { return !(math.Abs(a-b) <= 1e-12) && !(math.IsNaN(a) && math.IsNaN(b)) }
		if far(got.energy[w], want.energy[w]) || far(got.allowed[w], want.allowed[w]) {
			t.Errorf("%s: world %d: energy %g of %g, want %g of %g", what, w, got.energy[w], got.allowed[w],
				want.energy[w], want.allowed[w])
		}
	}
}

package contact_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/spatial/r3"

	"clearance/contact"
	"clearance/contact/scenes"
	native "clearance/kernels/contact"
	"clearance/ref"
)

const (
	gravity = 9.81
	step    = 0.01
)

func solve(t testing.TB, p *contact.Problem, o contact.Options) *contact.Solution {
	t.Helper()
	var s contact.Solution
	if err := contact.Solve(t.Context(), p, o, &s); err != nil {
		t.Fatal(err)
	}
	for w, status := range s.Status { // a tolerance next to the rounding error need not be met
		if status != contact.Solved && !(o.Tolerance < 1e-10 && s.Relative(w) < 1e-8) {
			t.Fatalf("world %d is %v at %g: %v", w, status, s.Relative(w), p.CheckWorld(w))
		}
	}
	return &s
}

// resting is a cube of side 0.2 m on the ground after a step of gravity, with the velocity v besides.
func resting(mass, mu float64, v r3.Vec, yaw float64) scenes.World {
	h := r3.Vec{X: 0.1, Y: 0.1, Z: 0.1}
	r := r3.NewRotation(yaw, r3.Vec{Z: 1})
	v.Z -= gravity * step
	w := scenes.World{Bodies: []scenes.Body{{Mass: mass, Inertia: scenes.BoxInertia(mass, h, r), Velocity: v}}}
	for _, s := range [4][2]float64{{-1, -1}, {-1, 1}, {1, -1}, {1, 1}} {
		arm := r.Rotate(r3.Vec{X: s[0] * h.X, Y: s[1] * h.Y, Z: -h.Z})
		w.Contacts = append(w.Contacts, scenes.Contact{A: -1, ArmB: arm, Frame: scenes.Frame(r3.Vec{Z: 1}),
			Friction: mu})
	}
	return w
}

func near(t *testing.T, what string, got, want, tolerance float64) {
	t.Helper()
	if !(math.Abs(got-want) <= tolerance) {
		t.Errorf("%s: %.12g, want %.12g", what, got, want)
	}
}

// TestSlide: a sliding cube is slowed by μgΔt. Its front corners carry more: the moment of friction about the center.
func TestSlide(t *testing.T) {
	const mu, m, angle = 0.4, 2.0, 0.7
	d := r3.Vec{X: math.Cos(angle), Y: math.Sin(angle)}
	p := scenes.Pack([]scenes.World{resting(m, mu, d, 0.3)})
	s := solve(t, p, contact.Options{Tolerance: 1e-13})
	want := 1 - mu*gravity*step
	near(t, "along", s.Velocity[0]*d.X+s.Velocity[1]*d.Y, want, 1e-12)
	near(t, "across", s.Velocity[0]*d.Y-s.Velocity[1]*d.X, 0, 1e-12)
	near(t, "vertical", s.Velocity[2], 0, 1e-12)
	sum, moment := 0.0, 0.0
	for i := range 4 {
		n := s.Impulse[3*i+2]
		sum += n
		moment += n * (p.ArmB[3*i]*d.X + p.ArmB[3*i+1]*d.Y)
	}
	near(t, "weight", sum, m*gravity*step, 1e-12)
	near(t, "moment", moment, mu*m*gravity*step*0.1, 1e-12) // the friction acts 0.1 m below the center

	// The CCP lifts: c_N = μ‖c_T‖ where the cube still slides.
	c := solve(t, p, contact.Options{Model: contact.CCP, Tolerance: 1e-13})
	along := c.Velocity[0]*d.X + c.Velocity[1]*d.Y
	if !(c.Velocity[2] > 0.3*mu*along) {
		t.Errorf("CCP: vertical velocity %g m/s at %g m/s along", c.Velocity[2], along)
	}
}

// TestWedge: a point mass on a slope slides with a = g(sin α − μ cos α), and sticks if μ > tan α.
func TestWedge(t *testing.T) {
	const alpha, m = 0.5, 3.0
	n := r3.Vec{X: math.Sin(alpha), Z: math.Cos(alpha)}
	down := r3.Vec{X: math.Cos(alpha), Z: -math.Sin(alpha)}
	for _, mu := range []float64{0, 0.2, 0.5, 0.6, 1} {
		p := scenes.Pack([]scenes.World{{
			Bodies:   []scenes.Body{{Mass: m, Inertia: [6]float64{1, 1, 1}, Velocity: r3.Vec{Z: -gravity * step}}},
			Contacts: []scenes.Contact{{A: -1, Frame: scenes.Frame(n), Friction: mu}},
		}})
		s := solve(t, p, contact.Options{Tolerance: 1e-13})
		want := max(0, gravity*step*(math.Sin(alpha)-mu*math.Cos(alpha)))
		v := r3.Vec{X: s.Velocity[0], Y: s.Velocity[1], Z: s.Velocity[2]}
		near(t, "along the slope", r3.Dot(v, down), want, 1e-12)
		near(t, "across", r3.Dot(v, n), 0, 1e-12)
		near(t, "normal impulse", s.Impulse[2], m*gravity*step*math.Cos(alpha), 1e-12)
	}
}

// TestStackCarries: each face of a stack at rest carries the weight above it.
func TestStackCarries(t *testing.T) {
	const boxes = 8
	h := r3.Vec{X: 0.1, Y: 0.1, Z: 0.1}
	var w scenes.World
	for i := range boxes {
		w.Bodies = append(w.Bodies, scenes.Body{Mass: 1 + float64(i),
			Inertia:  scenes.BoxInertia(1+float64(i), h, r3.NewRotation(0, r3.Vec{Z: 1})),
			Velocity: r3.Vec{Z: -gravity * step}})
		for _, s := range [4][2]float64{{-1, -1}, {-1, 1}, {1, -1}, {1, 1}} {
			arm := r3.Vec{X: s[0] * h.X, Y: s[1] * h.Y, Z: -h.Z}
			w.Contacts = append(w.Contacts, scenes.Contact{A: i - 1, B: i, ArmB: arm,
				ArmA: r3.Vec{X: arm.X, Y: arm.Y, Z: h.Z}, Frame: scenes.Frame(r3.Vec{Z: 1}), Friction: 0.5})
		}
	}
	for _, m := range []contact.Model{contact.NCP, contact.CCP} {
		s := solve(t, scenes.Pack([]scenes.World{w}), contact.Options{Model: m, Tolerance: 1e-11})
		weight := 0.0
		for i := boxes - 1; i >= 0; i-- {
			weight += (1 + float64(i)) * gravity * step
			sum := 0.0
			for k := 4 * i; k < 4*i+4; k++ {
				sum += s.Impulse[3*k+2]
			}
			near(t, m.String(), sum, weight, 1e-8)
		}
		for _, v := range s.Velocity {
			near(t, m.String()+" velocity", v, 0, 1e-8)
		}
	}
}

// TestArch: two blocks that lean against each other and stand on the ground: they stay if μ allows the thrust, and the
// bases slip if it does not. With arms of 45° the thrust is half the weight of a block.
func TestArch(t *testing.T) {
	const m = 2.0
	block := func() scenes.Body {
		return scenes.Body{Mass: m, Inertia: [6]float64{0.1, 0.1, 0.1}, Velocity: r3.Vec{Z: -gravity * step}}
	}
	for _, mu := range []float64{0.4, 0.6} {
		w := scenes.World{Bodies: []scenes.Body{block(), block()}}
		zAxis := scenes.Frame(r3.Vec{Z: 1})
		w.Contacts = []scenes.Contact{
			{A: -1, B: 0, ArmB: r3.Vec{X: -0.5, Z: -0.5}, Frame: zAxis, Friction: mu},
			{A: -1, B: 1, ArmB: r3.Vec{X: 0.5, Z: -0.5}, Frame: zAxis, Friction: mu},
			{A: 0, B: 1, ArmA: r3.Vec{X: 0.5, Z: 0.5}, ArmB: r3.Vec{X: -0.5, Z: 0.5}, Frame: scenes.Frame(r3.Vec{X: 1}),
				Friction: 0},
		}
		s := solve(t, scenes.Pack([]scenes.World{w}), contact.Options{Tolerance: 1e-12})
		moves := math.Abs(s.Velocity[4]) > 1e-6
		if stands := mu > 0.5; stands == moves {
			t.Errorf("μ = %g: angular velocity %g rad/s", mu, s.Velocity[4])
		}
		if mu > 0.5 {
			near(t, "thrust", s.Impulse[3*2+2], m*gravity*step/2, 1e-9)
		}
	}
}

// TestSpin: a cube that spins about the vertical is slowed by the friction of four corners at radius r, of weight mg/4
// each: Δω = μ·m·g·Δt·r/I.
func TestSpin(t *testing.T) {
	const m, mu, omega = 2.0, 0.3, 4.0
	w := resting(m, mu, r3.Vec{}, 0.4)
	w.Bodies[0].Omega.Z = omega
	p := scenes.Pack([]scenes.World{w})
	s := solve(t, p, contact.Options{Tolerance: 1e-13})
	radius := 0.1 * math.Sqrt2
	near(t, "spin", s.Velocity[5], omega-mu*m*gravity*step*radius/p.Inertia[2], 1e-7)
}

// TestTargetsNotMetTogether: a cube hits the ground with four corners, and two opposite ones shall part with 4 nm/s,
// which a rigid face does with all four. So the impulses of the other two vanish, and the two carry all. Each outer
// step of Newton's method moves impulses from one pair to the other by the little that c is off, divided by ρ.
func TestTargetsNotMetTogether(t *testing.T) {
	const m, speed = 8.0, 4e-9
	w := resting(m, 0.5, r3.Vec{Z: -1}, 0.3)
	w.Contacts[0].Target, w.Contacts[3].Target = speed, speed
	p := scenes.Pack([]scenes.World{w})
	p.Compliance = nil
	for _, variant := range append(native.Supported(), contact.Off) {
		for _, model := range []contact.Model{contact.NCP, contact.CCP} {
			s := solve(t, p, contact.Options{Model: model, Tolerance: 1e-9, SIMD: variant})
			near(t, variant+" vertical", s.Velocity[2], speed, 2e-9)
			for _, i := range []int{1, 2} { // within the tolerance of λc
				near(t, variant+" free corner", s.Impulse[3*i+2], 0, 0.3*m)
			}
		}
	}
}

// TestCubeStops: the energy of a cube that slides to a halt is ½m(v_0 − μgt)² at every step.
func TestCubeStops(t *testing.T) {
	const m, mu = 1.0, 0.4
	d := r3.Vec{X: 0.6, Y: 0.8}
	v := 1.0
	for k := range 40 {
		p := scenes.Pack([]scenes.World{resting(m, mu, r3.Scale(v, d), 0)})
		s := solve(t, p, contact.Options{Tolerance: 1e-14})
		v = s.Velocity[0]*d.X + s.Velocity[1]*d.Y
		want := max(0, 1-mu*gravity*step*float64(k+1))
		near(t, "energy", m*v*v/2, m*want*want/2, 1e-12)
	}
}

// pushedBoxes are cubes of 1 kg on the ground. Their free velocities are those of gravity in 10 ms and of a push, which
// a friction of 0.5 stops.
func pushedBoxes(n int) (worlds []scenes.World) {
	const half, moment = 0.1, 1.0 / 150
	rng := rand.New(rand.NewPCG(3, 4))
	push := func() float64 { return 0.02 * (2*rng.Float64() - 1) }
	for range n {
		w := scenes.World{Bodies: []scenes.Body{{Mass: 1, Inertia: [6]float64{moment, moment, moment},
			Velocity: r3.Vec{X: push(), Y: push(), Z: -0.0981}, Omega: r3.Vec{Z: push()}}}}
		for i := range 4 {
			w.Contacts = append(w.Contacts, scenes.Contact{A: -1, Friction: 0.5,
				ArmB:  r3.Vec{X: half * float64(2*(i&1)-1), Y: half * float64(i&2-1), Z: -half},
				Frame: [3]r3.Vec{{X: 1}, {Y: 1}, {Z: 1}}})
		}
		worlds = append(worlds, w)
	}
	return worlds
}

// TestDropInternal: where all contacts stick, internal forces that the sweeps leave are gone, by package ref, and the
// velocities stay; where they slide, the impulses keep their bits.
func TestDropInternal(t *testing.T) {
	laws := map[contact.Model]ref.ContactModel{contact.NCP: ref.ContactNCP, contact.CCP: ref.ContactCCP}
	kinds := map[string][]scenes.World{"stick": pushedBoxes(20), "slide": worldsOf(t, "slide", 20, 6)}
	for model, law := range laws {
		for kind, worlds := range kinds {
			p := scenes.Pack(worlds)
			// Package lanes leaves no internal forces on the ground.
			o := contact.Options{Model: model, Tolerance: 1e-9, SIMD: contact.Off}
			before := solve(t, p, o)
			o.DropInternal = true
			after := solve(t, p, o)
			n, least, left := 3*p.Contacts, 1.0, 0.0
			for w := range worlds {
				d := dense(t, worlds[w])
				least = min(least, d.Residual(law, before.Impulse[w*n:][:3*p.Count[w]], o.Tolerance).Internal)
				left = max(left, d.Residual(law, after.Impulse[w*n:][:3*p.Count[w]], o.Tolerance).Internal)
			}
			e := distance(after.Velocity, before.Velocity)
			t.Logf("%v %s: internal force at least %.1e before, at most %.1e after, velocities differ by %.1e", model,
				kind, least, left, e)
			switch {
			case kind == "slide" && !slices.Equal(before.Impulse, after.Impulse):
				t.Errorf("%v: impulses of sliding contacts changed", model)
			case kind == "stick" && (!(least > 1e-5) || !(left <= 1e-9) || !(e <= 1e-9)):
				t.Errorf("%v: internal force %g N·s, before %g; velocities differ by %g m/s", model, left, least, e)
			}
		}
	}
}

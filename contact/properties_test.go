package contact_test

import (
	"errors"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"clearance/contact"
	"clearance/contact/scenes"
	"clearance/ref"
	"clearance/tests/need"
	"clearance/verify"

	"gonum.org/v1/gonum/spatial/r3"
)

// tight are options that end near the rounding error.
var tight = contact.Options{Model: contact.CCP, Tolerance: 1e-13}

// distance is the largest difference of velocities.
func distance(a, b []float64) (most float64) {
	for i, x := range a {
		most = max(most, math.Abs(x-b[i]))
	}
	return most
}

// TestScaling: c, and so v, stays if masses, inertias and with them impulses are scaled; v scales with v_f.
func TestScaling(t *testing.T) {
	for _, kind := range []string{"slide", "tip", "random"} {
		p, err := scenes.Generate(kind, 20, 7)
		if err != nil {
			t.Fatal(err)
		}
		want := append([]float64(nil), solve(t, p, tight).Velocity...)
		const mass, speed = 64.0, 4.0
		for i := range p.Mass {
			p.Mass[i] *= mass
		}
		for i := range p.Inertia {
			p.Inertia[i] *= mass
		}
		for i := range p.Velocity {
			p.Velocity[i] *= speed
			want[i] *= speed
		}
		if e := distance(solve(t, p, tight).Velocity, want); !(e <= 1e-8) {
			t.Errorf("%s: velocities differ by %g m/s", kind, e)
		}
	}
}

// TestPermutation: the order of contacts does not matter.
func TestPermutation(t *testing.T) {
	for _, kind := range []string{"slide", "stack4", "random"} {
		worlds := worldsOf(t, kind, 10, 8)
		want := append([]float64(nil), solve(t, scenes.Pack(worlds), tight).Velocity...)
		rng := rand.New(rand.NewPCG(1, 1))
		for _, w := range worlds {
			rng.Shuffle(len(w.Contacts), func(i, j int) { w.Contacts[i], w.Contacts[j] = w.Contacts[j], w.Contacts[i] })
		}
		limit := 1e-8
		if kind == "stack4" { // the error goes with the root of the residual
			limit = 1e-5
		}
		if e := distance(solve(t, scenes.Pack(worlds), tight).Velocity, want); !(e <= limit) {
			t.Errorf("%s: velocities differ by %g m/s", kind, e)
		}
	}
}

// TestRotation: a rotated world has rotated velocities.
func TestRotation(t *testing.T) {
	q := r3.NewRotation(1.1, r3.Unit(r3.Vec{X: 1, Y: -2, Z: 0.5}))
	for _, kind := range []string{"slide", "random"} {
		worlds := worldsOf(t, kind, 10, 9)
		s := solve(t, scenes.Pack(worlds), tight)
		var want []float64
		for i := 0; i < len(s.Velocity); i += 3 {
			v := q.Rotate(r3.Vec{X: s.Velocity[i], Y: s.Velocity[i+1], Z: s.Velocity[i+2]})
			want = append(want, v.X, v.Y, v.Z)
		}
		for _, w := range worlds {
			for i := range w.Bodies {
				b := &w.Bodies[i]
				b.Velocity, b.Omega = q.Rotate(b.Velocity), q.Rotate(b.Omega)
				b.Inertia = rotateInertia(b.Inertia, q)
			}
			for i := range w.Contacts {
				c := &w.Contacts[i]
				c.ArmA, c.ArmB = q.Rotate(c.ArmA), q.Rotate(c.ArmB)
				for k := range c.Frame {
					c.Frame[k] = q.Rotate(c.Frame[k])
				}
			}
		}
		if e := distance(solve(t, scenes.Pack(worlds), tight).Velocity, want); !(e <= 1e-8) {
			t.Errorf("%s: velocities differ by %g m/s", kind, e)
		}
	}
}

// rotateInertia is QIQᵀ.
func rotateInertia(in [6]float64, q r3.Rotation) (out [6]float64) {
	rows := [3]r3.Vec{{X: in[0], Y: in[3], Z: in[4]}, {X: in[3], Y: in[1], Z: in[5]}, {X: in[4], Y: in[5], Z: in[2]}}
	apply := func(e r3.Vec) r3.Vec { // Q·I·Qᵀe
		back := r3.Vec{X: r3.Dot(q.Rotate(r3.Vec{X: 1}), e), Y: r3.Dot(q.Rotate(r3.Vec{Y: 1}), e),
			Z: r3.Dot(q.Rotate(r3.Vec{Z: 1}), e)}
		return q.Rotate(r3.Vec{X: r3.Dot(rows[0], back), Y: r3.Dot(rows[1], back), Z: r3.Dot(rows[2], back)})
	}
	x, y, z := apply(r3.Vec{X: 1}), apply(r3.Vec{Y: 1}), apply(r3.Vec{Z: 1})
	return [6]float64{x.X, y.Y, z.Z, x.Y, x.Z, y.Z}
}

// TestWorkers: the same bits for any number of workers, any order of worlds and a reused Solver.
func TestWorkers(t *testing.T) {
	worlds := append(worldsOf(t, "graph", 40, 4), worldsOf(t, "stack4", 20, 4)...)
	o := contact.Options{Model: contact.CCP, Bound: true, Workers: 1}
	p := scenes.Pack(worlds)
	want := solve(t, p, o)
	reversed := make([]scenes.World, len(worlds))
	for i, w := range worlds {
		reversed[len(worlds)-1-i] = w
	}
	var solver contact.Solver
	var got contact.Solution
	for _, workers := range []int{1, 2, 5} {
		o.Workers = workers
		for _, reverse := range []bool{false, true} {
			list := worlds
			if reverse {
				list = reversed
			}
			if err := solver.Solve(t.Context(), scenes.Pack(list), o, &got); err != nil {
				t.Fatal(err)
			}
			for w := range worlds {
				k := w
				if reverse {
					k = len(worlds) - 1 - w
				}
				n, m := 3*p.Contacts, 6*p.Bodies
				if distance(got.Impulse[k*n:(k+1)*n], want.Impulse[w*n:(w+1)*n]) != 0 ||
					distance(got.Velocity[k*m:(k+1)*m], want.Velocity[w*m:(w+1)*m]) != 0 ||
					got.Bound[k] != want.Bound[w] {
					t.Fatalf("%d workers, reversed %v: world %d differs", workers, reverse, w)
				}
			}
		}
	}
	o.Workers = 1
	if n := testing.AllocsPerRun(3, func() { _ = solver.Solve(t.Context(), p, o, &got) }); n != 0 {
		t.Errorf("a held solver allocates %g times", n)
	}
}

// TestWarmStart: impulses of the answer need no sweep.
func TestWarmStart(t *testing.T) {
	p, err := scenes.Generate("stack4", 20, 6)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range []contact.Model{contact.NCP, contact.CCP} {
		o := contact.Options{Model: m}
		p.Warm = nil
		p.Warm = append([]float64(nil), solve(t, p, o).Impulse...)
		s := solve(t, p, o)
		for w := range s.Sweeps {
			if s.Sweeps[w]+s.Steps[w] > 0 {
				t.Errorf("%v: world %d takes %d sweeps and %d steps", m, w, s.Sweeps[w], s.Steps[w])
			}
		}
	}
}

// TestBound: the bound of the CCP holds on many problems solved to loose tolerances, where errors are large.
func TestBound(t *testing.T) {
	n := 100
	if need.All() {
		n = 10000
	}
	checked, infinite, unknown, worst := 0, 0, 0, 0.0
	for _, kind := range []string{"random", "slide", "tip", "spin", "graph"} {
		p, err := scenes.Generate(kind, n, 21)
		if err != nil {
			t.Fatal(err)
		}
		var exact, s contact.Solution
		o := contact.Options{Model: contact.CCP, Tolerance: 1e-12}
		if err := contact.Solve(t.Context(), p, o, &exact); err != nil {
			t.Fatal(err)
		}
		for _, tolerance := range []float64{1e-1, 1e-2, 1e-4} {
			o := contact.Options{Model: contact.CCP, Tolerance: tolerance, Bound: true}
			if err := contact.Solve(t.Context(), p, o, &s); err != nil {
				t.Fatal(err)
			}
			for w := range p.Worlds {
				if exact.Relative(w) > 1e-8 { // a jam, with impulses without limit: there is nothing to compare with
					unknown++
					continue
				}
				sum := 0.0
				for b := range p.Bodies {
					k := w*p.Bodies + b
					if math.IsInf(p.Mass[k], 1) {
						continue
					}
					d := func(i int) float64 { return s.Velocity[6*k+i] - exact.Velocity[6*k+i] }
					i := p.Inertia[6*k : 6*k+6]
					sum += p.Mass[k] * (d(0)*d(0) + d(1)*d(1) + d(2)*d(2))
					sum += i[0]*d(3)*d(3) + i[1]*d(4)*d(4) + i[2]*d(5)*d(5)
					sum += 2 * (i[3]*d(3)*d(4) + i[4]*d(3)*d(5) + i[5]*d(4)*d(5))
				}
				e := math.Sqrt(max(0, sum))
				if math.IsInf(s.Bound[w], 1) {
					infinite++
					continue
				}
				checked++
				worst = max(worst, (e-1e-6)/s.Bound[w])
				if !(e <= s.Bound[w]+1e-6) { // the exact answer is known to about 1e-6
					t.Errorf("%s, world %d, tolerance %g: error %g, bound %g", kind, w, tolerance, e, s.Bound[w])
				}
			}
		}
	}
	t.Logf("%d bounds, largest error/bound %.2f, %d infinite, %d unknown", checked, worst, infinite, unknown)
	if checked < 10*n || unknown > n/1000 || !(worst > 0.05) {
		t.Errorf("%d bounds checked, largest error/bound %g: the test shows little", checked, worst)
	}
}

// TestCompliance: with R every solver of ref gives the same velocity as Solve, and the bound needs no escape.
func TestCompliance(t *testing.T) {
	worlds := worldsOf(t, "graph", 10, 31)
	for _, w := range worlds {
		for i := range w.Contacts {
			w.Contacts[i].Compliance = [2]float64{0.01, 0.02}
			w.Contacts[i].Target = 0.01 * float64(i)
		}
	}
	p := scenes.Pack(worlds)
	s := solve(t, p, contact.Options{Model: contact.CCP, Tolerance: 1e-13, Bound: true})
	for w := range worlds {
		d, err := verify.DenseContacts(p, w)
		if err != nil {
			t.Fatal(err)
		}
		r := d.CCPADMM(ref.ContactOptions{Tolerance: 1e-13})
		if e := difference(d.Velocities(r.Impulse)[:len(worlds[w].Bodies)], s.Velocity[6*w*p.Bodies:]); !(e <= 1e-8) {
			t.Errorf("world %d: %g m/s", w, e)
		}
		if !(s.Bound[w] < 1e-5) {
			t.Errorf("world %d: bound %g", w, s.Bound[w])
		}
	}
}

// TestInvalidWorlds: each fault is named with world, contact, body and column; the other worlds are answered.
func TestInvalidWorlds(t *testing.T) {
	nan := math.NaN()
	for _, test := range []struct {
		column, reason string
		change         func(p *contact.Problem)
	}{
		{"mass", "positive", func(p *contact.Problem) { p.Mass[5] = 0 }},
		{"mass", "positive", func(p *contact.Problem) { p.Mass[5] = -2 }},
		{"mass", "positive", func(p *contact.Problem) { p.Mass[5] = nan }},
		{"inertia", "exceeds the sum", func(p *contact.Problem) { copy(p.Inertia[30:], []float64{1, 1, 3, 0, 0, 0}) }},
		{"inertia", "positive definite", func(p *contact.Problem) { p.Inertia[33] = 10 }},
		{"inertia", "not finite", func(p *contact.Problem) { p.Inertia[31] = nan }},
		{"velocity", "not finite", func(p *contact.Problem) { p.Velocity[32] = math.Inf(1) }},
		{"count", "room", func(p *contact.Problem) { p.Count[1] = 17 }},
		{"count", "room", func(p *contact.Problem) { p.Count[1] = -1 }},
		{"body_b", "absent", func(p *contact.Problem) { p.BodyB[17] = 4 }},
		{"body_a", "absent", func(p *contact.Problem) { p.BodyA[17] = -2 }},
		{"body_b", "itself", func(p *contact.Problem) { p.BodyA[17] = p.BodyB[17] }},
		{"body_a", "moves", func(p *contact.Problem) { p.Mass[4] = math.Inf(1) }},
		{"arm_b", "not finite", func(p *contact.Problem) { p.ArmB[51] = nan }},
		{"frame", "singular", func(p *contact.Problem) { clear(p.Frame[153:156]) }},
		{"frame", "left-handed", func(p *contact.Problem) {
			for i := 153; i < 156; i++ {
				p.Frame[i] *= -1
			}
		}},
		{"friction", "negative", func(p *contact.Problem) { p.Friction[17] = -0.1 }},
		{"friction", "negative", func(p *contact.Problem) { p.Friction[17] = nan }},
		{"target", "not finite", func(p *contact.Problem) { p.Target[17] = nan }},
		{"compliance", "negative", func(p *contact.Problem) { p.Compliance[35] = -1 }},
		{"warm", "not finite", func(p *contact.Problem) {
			p.Warm = make([]float64, 3*p.Worlds*p.Contacts)
			p.Warm[52] = nan
		}},
	} {
		p, err := scenes.Generate("stack4", 3, 1)
		if err != nil {
			t.Fatal(err)
		}
		test.change(p)
		var fault *contact.WorldError
		if err := p.Check(); !errors.As(err, &fault) || fault.World != 1 || fault.Column != test.column ||
			!strings.Contains(fault.Reason, test.reason) {
			t.Errorf("%s: %v", test.column, err)
		}
		var s contact.Solution
		if err := contact.Solve(t.Context(), p, contact.Options{}, &s); err != nil {
			t.Fatal(err)
		}
		for w, want := range []contact.Status{contact.Solved, contact.Invalid, contact.Solved} {
			if s.Status[w] != want {
				t.Errorf("%s: world %d is %v", test.column, w, s.Status[w])
			}
		}
		if !math.IsNaN(s.Velocity[6*p.Bodies]) || !math.IsNaN(s.Dual[1]) {
			t.Errorf("%s: the invalid world has numbers", test.column)
		}
	}
}

// TestUndecided: a limit that is too low leaves worlds undecided, with the residual of what was found.
func TestUndecided(t *testing.T) {
	p, err := scenes.Generate("stack8", 10, 1)
	if err != nil {
		t.Fatal(err)
	}
	var s contact.Solution
	if err := contact.Solve(t.Context(), p, contact.Options{Steps: -1}, &s); err != nil {
		t.Fatal(err)
	}
	undecided := 0
	for w := range s.Status {
		if s.Status[w] == contact.Undecided {
			undecided++
			if !(s.Relative(w) > 1e-6) {
				t.Errorf("world %d is undecided at %g", w, s.Relative(w))
			}
		}
	}
	if undecided < 5 {
		t.Errorf("%d undecided", undecided)
	}
}

// TestMovingGround: a body of infinite mass that moves drags what lies on it.
func TestMovingGround(t *testing.T) {
	w := resting(1, 0.5, r3.Vec{}, 0)
	w.Bodies = append(w.Bodies, scenes.Body{Mass: math.Inf(1), Velocity: r3.Vec{X: 0.01}})
	for i := range w.Contacts {
		w.Contacts[i].A = 1
	}
	s := solve(t, scenes.Pack([]scenes.World{w}), contact.Options{Tolerance: 1e-12})
	near(t, "dragged", s.Velocity[0], 0.01, 1e-10)
	near(t, "the ground", s.Velocity[6], 0.01, 0)
}

// TestRefused: columns of the wrong length and bad options.
func TestRefused(t *testing.T) {
	p, err := scenes.Generate("slide", 2, 1)
	if err != nil {
		t.Fatal(err)
	}
	var s contact.Solution
	for _, o := range []contact.Options{{Model: 9}, {Tolerance: -1}, {Tolerance: math.NaN()}, {Relaxation: 2},
		{Relaxation: -0.1}} {
		if err := contact.Solve(t.Context(), p, o, &s); err == nil {
			t.Errorf("%+v is accepted", o)
		}
	}
	p.Frame = p.Frame[1:]
	err = contact.Solve(t.Context(), p, contact.Options{}, &s)
	if err == nil || !strings.Contains(err.Error(), "frame") {
		t.Errorf("a short column: %v", err)
	}
}

package system_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"clearance/contact"
	"clearance/contact/scenes"
	"clearance/contact/system"
)

// farthest is the largest ‖J_i(a − b)‖ of a contact of a world.
func farthest(p *system.Problem, w int, a, b []float64) (most float64) {
	n := p.Velocities
	for i := w * p.Contacts; i < w*p.Contacts+int(p.Count[w]); i++ {
		sum := 0.0
		for row := range 3 {
			c := 0.0
			for j := range n {
				c += p.Jacobian[(3*i+row)*n+j] * (a[w*n+j] - b[w*n+j])
			}
			sum += c * c
		}
		most = max(most, math.Sqrt(sum))
	}
	return most
}

// Bounds of the error hold at all tolerances, against solutions to 1e-14 whose own bounds are added, and tend to zero
// with the tolerance. They are of mechanisms whose contacts have an escape velocity, or compliances.
func TestBound(t *testing.T) {
	rng := rand.New(rand.NewPCG(48, 3))
	finite, jammed := 0, 0
	least, tightest := math.Inf(1), 0.0
	for trial := range 200 {
		n := 3 + rng.IntN(10)
		p := random(rng, n, 1+rng.IntN(4))
		if trial%8 == 0 { // an ill-conditioned M
			for i := range n {
				for j := range n {
					p.Mass[i*n+j] *= math.Pow(10, 6*float64(i+j)/float64(2*n))
				}
			}
		}
		exact := solved(t, p, system.Options{Model: contact.CCP, Tolerance: 1e-14, Bound: true})
		for _, tol := range []float64{0.3, 1e-3, 1e-6, 1e-10} {
			s := solved(t, p, system.Options{Model: contact.CCP, Tolerance: tol, Bound: true})
			if math.IsNaN(s.Bound[0]) || s.Bound[0] < 0 {
				t.Fatalf("trial %d: bound %g", trial, s.Bound[0])
			}
			if math.IsInf(s.Bound[0], 1) || math.IsInf(exact.Bound[0], 1) {
				jammed++
				continue
			}
			finite++
			if e := farthest(p, 0, s.Velocity, exact.Velocity); !(e <= s.Bound[0]+exact.Bound[0]) {
				t.Errorf("trial %d, tolerance %g: off by %g, bounds %g and %g", trial, tol, e, s.Bound[0],
					exact.Bound[0])
			} else if e > 1e-3*s.Scale[0] {
				least = min(least, s.Bound[0]/e)
			}
			if tol == 1e-10 && s.Status[0] == contact.Solved {
				tightest = max(tightest, s.Bound[0]/s.Scale[0])
			}
		}
	}
	t.Logf("%d bounds, %d infinite; at least %.2g times the error; %.1e of the scale at a tolerance of 1e-10", finite,
		jammed, least, tightest)
	// The bound is the root of the duality gap, which is of the order of the tolerance.
	if finite < 400 || jammed == 0 || !(tightest < 1e-2) {
		t.Errorf("%d bounds, %d infinite, %g of the scale", finite, jammed, tightest)
	}
}

// A point between two walls that move towards each other is jammed, and one that they leave alone is not.
func TestBoundJammed(t *testing.T) {
	p := &system.Problem{Worlds: 2, Velocities: 3, Contacts: 2, Count: []int32{2, 1},
		Mass: make([]float64, 18), Velocity: []float64{0.1, 0.2, 0, 0.1, 0.2, -1},
		Friction: []float64{0.5, 0.5, 0.5, 0}, Jacobian: make([]float64, 36)}
	for w := range 2 {
		for i := range 3 {
			p.Mass[9*w+4*i] = 1
			p.Jacobian[18*w+4*i] = 1
			p.Jacobian[18*w+9+4*i] = -1
		}
	}
	s := solved(t, p, system.Options{Model: contact.CCP, Tolerance: 1e-9, Bound: true})
	if s.Status[0] != contact.Solved || !math.IsInf(s.Bound[0], 1) {
		t.Errorf("jammed: %v, bound %g", s.Status[0], s.Bound[0])
	}
	if s.Status[1] != contact.Solved || !(s.Bound[1] < 1e-3) {
		t.Errorf("free: %v, bound %g", s.Status[1], s.Bound[1])
	}
	for w, b := range solved(t, p, system.Options{Bound: true}).Bound {
		if !math.IsNaN(b) {
			t.Errorf("NCP: world %d: bound %g", w, b)
		}
	}
}

// Velocities of rigid bodies differ from those of package contact by no more than both bounds, and both packages find
// the same worlds jammed.
func TestBoundOfBodies(t *testing.T) {
	p, err := scenes.Generate("graph", 40, 7)
	if err != nil {
		t.Fatal(err)
	}
	var want contact.Solution
	if err := contact.Solve(t.Context(), p, contact.Options{Model: contact.CCP, Tolerance: 1e-8, Bound: true},
		&want); err != nil {
		t.Fatal(err)
	}
	got := solved(t, system.OfBodies(p), system.Options{Model: contact.CCP, Tolerance: 1e-8, Bound: true})
	compared := 0
	for w := range p.Worlds {
		if math.IsInf(want.Bound[w], 1) != math.IsInf(got.Bound[w], 1) {
			t.Errorf("world %d: bound %g, want %g", w, got.Bound[w], want.Bound[w])
			continue
		}
		if want.Residual[w] == 0 || math.IsInf(got.Bound[w], 1) {
			continue
		}
		compared++
		if e := farthest(system.OfBodies(p), w, got.Velocity, want.Velocity); !(e <= got.Bound[w]+want.Bound[w]) {
			t.Errorf("world %d: off by %g, bounds %g and %g", w, e, got.Bound[w], want.Bound[w])
		}
		if !(got.Bound[w] < 1e-2*got.Scale[w]) {
			t.Errorf("world %d: bound %g, want about %g (scale %g)", w, got.Bound[w], want.Bound[w], got.Scale[w])
		}
	}
	if compared < 10 {
		t.Errorf("%d bounds compared", compared)
	}
}

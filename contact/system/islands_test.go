package system_test

import (
	"math/rand/v2"
	"testing"

	"clearance/contact"
	"clearance/contact/adjoint"
	"clearance/contact/system"
)

// together is a world of several mechanisms, with velocities and contacts in another order.
func together(rng *rand.Rand, parts []*system.Problem) (p *system.Problem, velocityAt, contactAt [][]int) {
	p = &system.Problem{Worlds: 1}
	for _, part := range parts {
		p.Velocities += part.Velocities
		p.Contacts += part.Contacts
	}
	n, c := p.Velocities, p.Contacts
	velocities, contacts := rng.Perm(n), rng.Perm(c)
	p.Count = []int32{int32(c)}
	p.Mass, p.Velocity, p.Jacobian = make([]float64, n*n), make([]float64, n), make([]float64, 3*c*n)
	p.Friction, p.Target = make([]float64, c), make([]float64, c)
	p.Compliance, p.Offset = make([]float64, 2*c), make([]float64, 3*c)
	for _, part := range parts {
		v, k := velocities[:part.Velocities], contacts[:part.Contacts]
		velocities, contacts = velocities[part.Velocities:], contacts[part.Contacts:]
		velocityAt, contactAt = append(velocityAt, v), append(contactAt, k)
		for a, i := range v {
			p.Velocity[i] = part.Velocity[a]
			for b, j := range v {
				p.Mass[i*n+j] = part.Mass[a*part.Velocities+b]
			}
		}
		for a, i := range k {
			p.Friction[i], p.Target[i] = part.Friction[a], part.Target[a]
			copy(p.Compliance[2*i:2*i+2], part.Compliance[min(2*a, len(part.Compliance)):])
			copy(p.Offset[3*i:3*i+3], part.Offset[min(3*a, len(part.Offset)):])
			for row := range 3 {
				for b, j := range v {
					p.Jacobian[(3*i+row)*n+j] = part.Jacobian[(3*a+row)*part.Velocities+b]
				}
			}
		}
	}
	return p, velocityAt, contactAt
}

// Mechanisms that nothing joins have the same answers and gradients in one world as alone, to the bits of sums in
// another order. What is said of the world is that of the worst.
func TestIslands(t *testing.T) {
	rng := rand.New(rand.NewPCG(48, 4))
	smooth := 0
	for trial := range 60 {
		var parts []*system.Problem
		for range 1 + rng.IntN(4) {
			parts = append(parts, random(rng, 1+rng.IntN(6), rng.IntN(4)))
		}
		p, velocityAt, contactAt := together(rng, parts)
		o := system.Options{Model: contact.Model(trial % 2), Tolerance: 1e-12, Bound: true}
		s := solved(t, p, o)
		bar := make([]float64, p.Velocities)
		for i := range bar {
			bar[i] = rng.NormFloat64()
		}
		var g, alone system.Gradient
		if err := system.VJP(t.Context(), p, s, o, bar, nil, &g); err != nil {
			t.Fatal(err)
		}
		status, worst, margin, bound := contact.Solved, adjoint.Smooth, g.Margin[0], 0.0
		for i, part := range parts {
			own := solved(t, part, o)
			status, bound = max(status, own.Status[0]), max(bound, own.Bound[0])
			ownBar := make([]float64, part.Velocities)
			for a, k := range velocityAt[i] {
				ownBar[a] = bar[k]
			}
			if err := system.VJP(t.Context(), part, own, o, ownBar, nil, &alone); err != nil {
				t.Fatal(err)
			}
			worst, margin = max(worst, alone.Smoothness[0]), min(margin, alone.Margin[0])
			if g.Smoothness[0] != adjoint.Smooth || alone.Smoothness[0] != adjoint.Smooth {
				continue
			}
			smooth++
			near := func(what string, got, want float64) {
				if d := got - want; !(d*d <= 1e-14*max(1, want*want)) { // 1e-12 times the condition
					t.Errorf("trial %d, mechanism %d: %s %g, want %g", trial, i, what, got, want)
				}
			}
			for a, k := range velocityAt[i] {
				near("velocity", s.Velocity[k], own.Velocity[a])
				near("gradient by velocity", g.Velocity[k], alone.Velocity[a])
				for b, j := range velocityAt[i] {
					near("gradient by mass", g.Mass[k*p.Velocities+j], alone.Mass[a*part.Velocities+b])
				}
			}
			for a, k := range contactAt[i] {
				near("gradient by friction", g.Friction[k], alone.Friction[a])
				if g.Mode[k] != alone.Mode[a] {
					t.Errorf("trial %d, mechanism %d: mode %v, want %v", trial, i, g.Mode[k], alone.Mode[a])
				}
			}
		}
		if s.Status[0] != status || g.Smoothness[0] != worst {
			t.Errorf("trial %d: %v and %v, want %v and %v", trial, s.Status[0], g.Smoothness[0], status, worst)
		}
		if margin < g.Margin[0]*(1-1e-6) && worst != adjoint.None {
			t.Errorf("trial %d: margin %g, want %g", trial, g.Margin[0], margin)
		}
		if o.Model == contact.CCP && bound > 0 && !(s.Bound[0] <= 2*bound+1e-9) {
			t.Errorf("trial %d: bound %g, want about %g", trial, s.Bound[0], bound)
		}
	}
	if smooth < 50 {
		t.Errorf("%d mechanisms compared", smooth)
	}
}

// A solver that is held allocates nothing, in solves with bounds, VJP and JVP.
func TestHeld(t *testing.T) {
	rng := rand.New(rand.NewPCG(48, 5))
	p, _, _ := together(rng, []*system.Problem{random(rng, 7, 3), random(rng, 5, 2)})
	var m system.Solver
	var s system.Solution
	var g system.Gradient
	var dot system.Tangent
	bar, impulseBar, d := make([]float64, p.Velocities), make([]float64, 3*p.Contacts), tangentOf(rng, p)
	for _, model := range []contact.Model{contact.NCP, contact.CCP} {
		o := system.Options{Model: model, Tolerance: 1e-10, Bound: true, Workers: 1}
		if n := testing.AllocsPerRun(10, func() {
			for _, err := range [...]error{m.Solve(t.Context(), p, o, &s),
				m.VJP(t.Context(), p, &s, o, bar, impulseBar, &g), m.JVP(t.Context(), p, &s, o, d, &dot)} {
				if err != nil {
					t.Fatal(err)
				}
			}
		}); n != 0 {
			t.Errorf("%v: %g allocations", model, n)
		}
		if s.Status[0] != contact.Solved || g.Smoothness[0] == adjoint.None {
			t.Errorf("%v: %v, %v", model, s.Status[0], g.Smoothness[0])
		}
	}
}

package verify_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"clearance/contact"
	"clearance/contact/scenes"
	"clearance/contact/system"
	"clearance/verify"
)

// mechanisms are worlds of two mechanisms that nothing joins, of n velocities and c contacts each.
func mechanisms(rng *rand.Rand, worlds, n, c int) *system.Problem {
	p := &system.Problem{Worlds: worlds, Velocities: 2 * n, Contacts: 2 * c, Mass: make([]float64, 4*worlds*n*n),
		Jacobian: make([]float64, 12*worlds*c*n)}
	fill := func(n int) (x []float64) {
		for range n {
			x = append(x, rng.NormFloat64())
		}
		return x
	}
	for w := range worlds {
		for part := range 2 {
			root := fill(n * n)
			for i := range n {
				line := p.Mass[(2*w*n+part*n+i)*2*n+part*n:]
				for j := range n {
					for k := range n {
						line[j] += root[i*n+k] * root[j*n+k]
					}
				}
				line[i] += 0.3
			}
			for k := range 3 * c {
				copy(p.Jacobian[(6*w*c+3*part*c+k)*2*n+part*n:], fill(n))
			}
		}
		p.Count = append(p.Count, int32(2*c-w%2))
	}
	p.Velocity, p.Target, p.Offset = fill(2*worlds*n), fill(2*worlds*c), fill(6*worlds*c)
	for range 2 * worlds * c {
		p.Friction = append(p.Friction, rng.Float64())
	}
	for range 4 * worlds * c {
		p.Compliance = append(p.Compliance, 0.1*rng.Float64())
	}
	return p
}

// Solutions of mechanisms, rigid and compliant, and of rigid bodies are believed, with their bounds; what is changed in
// any number of a solution, by a thousandth of the largest of its column and by 1e-4 at least, is found.
func TestAuditSystems(t *testing.T) {
	rng := rand.New(rand.NewPCG(48, 9))
	bodies, err := scenes.Generate("graph", 60, 3)
	if err != nil {
		t.Fatal(err)
	}
	rigid := mechanisms(rng, 30, 7, 2)
	rigid.Compliance = nil
	for name, p := range map[string]*system.Problem{"mechanisms": mechanisms(rng, 30, 5, 3), "rigid": rigid,
		"bodies": system.OfBodies(bodies)} {
		for _, model := range []contact.Model{contact.NCP, contact.CCP} {
			for _, tol := range []float64{1e-3, 1e-6, 1e-10} {
				var s system.Solution
				o := verify.ContactAudit{Model: model, Tolerance: tol}
				if err := system.Solve(t.Context(), p, system.Options{Model: model, Tolerance: tol, Bound: true},
					&s); err != nil {
					t.Fatal(err)
				}
				r, err := verify.AuditSystems(p, &s, o)
				if err != nil || r.Wrong > 0 {
					t.Fatalf("%s, %v, %g: %v, %v", name, model, tol, err, r.Failures[:min(3, len(r.Failures))])
				}
				if r.Solved < p.Worlds*9/10 {
					t.Errorf("%s, %v: %d solved", name, model, r.Solved)
				}
				if tol == 1e-6 {
					changeSystems(t, rng, name, p, &s, o)
				}
			}
		}
	}
}

// changeSystems changes a number of every column in some worlds.
func changeSystems(t *testing.T, rng *rand.Rand, name string, p *system.Problem, s *system.Solution,
	o verify.ContactAudit) {
	t.Helper()
	columns := map[string][]float64{"impulse": s.Impulse, "velocity": s.Velocity, "residual": s.Residual,
		"scale": s.Scale, "primal": s.Primal, "dual": s.Dual, "complementarity": s.Complementarity}
	for column, x := range columns {
		largest := 0.0
		for _, v := range x {
			largest = max(largest, math.Abs(v))
		}
		for range 6 {
			i := rng.IntN(len(x))
			before := x[i]
			x[i] += max(1e-3*largest, 1e-4)
			r, err := verify.AuditSystems(p, s, o)
			if world := i / (len(x) / p.Worlds); err != nil || r.Wrong == 0 || r.Failures[0].World != world {
				t.Errorf("%s, %v: %s[%d] = %g in place of %g is believed", name, o.Model, column, i, x[i], before)
			}
			x[i] = before
		}
	}
	for w, status := range s.Status {
		s.Status[w] = contact.Invalid
		if r, err := verify.AuditSystems(p, s, o); err != nil || r.Wrong == 0 {
			t.Errorf("%s: world %d counts as invalid", name, w)
		}
		s.Status[w] = status
	}
	// Impulses of a problem with less friction, as a solver would claim them, and no impulses at all.
	other := *p
	other.Friction = append([]float64{}, p.Friction...)
	for i := range other.Friction {
		other.Friction[i] *= 0.5
	}
	if r, err := verify.AuditSystems(&other, s, o); err != nil || r.Wrong == 0 {
		t.Errorf("%s: another friction is believed", name)
	}
	if o.Model == contact.CCP {
		bound := s.Bound[0]
		for _, claim := range []float64{-1, math.Inf(-1)} {
			s.Bound[0] = claim
			if r, err := verify.AuditSystems(p, s, o); err != nil || r.Wrong == 0 {
				t.Errorf("%s: a bound of %g is believed", name, claim)
			}
		}
		s.Bound[0] = bound
	}
}

// A bound of zero of velocities that enter a rigid contact is refuted, and invalid worlds are known by their input.
func TestAuditSystemsClaims(t *testing.T) {
	p := &system.Problem{Worlds: 2, Velocities: 3, Contacts: 1, Count: []int32{1, 1}, Friction: []float64{0.5, -1},
		Mass: make([]float64, 18), Jacobian: make([]float64, 18), Velocity: []float64{1, 0, -1, 0, 0, 0}}
	for w := range 2 {
		for i := range 3 {
			p.Mass[9*w+4*i], p.Jacobian[9*w+4*i] = 2, 1
		}
	}
	var s system.Solution
	o := system.Options{Model: contact.CCP, Tolerance: 0.3, Bound: true}
	if err := system.Solve(t.Context(), p, o, &s); err != nil {
		t.Fatal(err)
	}
	audit := verify.ContactAudit{Model: contact.CCP, Tolerance: 0.3}
	r, err := verify.AuditSystems(p, &s, audit)
	if err != nil || r.Wrong > 0 || r.Invalid != 1 || r.Solved != 1 || !(s.Dual[0] > 1e-6) {
		t.Fatalf("%v, %+v, dual %g", err, r, s.Dual)
	}
	s.Bound[0] = s.Dual[0] / 2
	s.Impulse[3] = 0
	r, err = verify.AuditSystems(p, &s, audit)
	if err != nil || r.Wrong != 2 || r.Failures[0].Check != "bound" || r.Failures[1].Check != "invalid" {
		t.Errorf("%v, %v", err, r.Failures)
	}
	s.Status = s.Status[:1]
	if _, err := verify.AuditSystems(p, &s, audit); err == nil {
		t.Error("a column is short, and no error")
	}
}

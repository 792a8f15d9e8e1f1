package verify_test

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"clearance/contact"
	"clearance/verify"
)

// TestAuditContactsScales: scaling masses, lengths and times by powers of two changes no verdict, neither of an honest
// solution nor of one with a velocity, an impulse or a residual that is off. A small body that rotates fast has no
// large speed, and a light body no small error.
func TestAuditContactsScales(t *testing.T) {
	for _, kind := range []string{"spin", "random"} {
		for _, m := range []contact.Model{contact.NCP, contact.CCP} {
			o := verify.ContactAudit{Model: m, Tolerance: 1e-6, Bounds: true}
			p, s := auditedScene(t, kind, 2, contact.Options{Model: m, Bound: true})
			for _, e := range [][3]int{{0, 0, 0}, {-30, -40, 0}, {30, 0, -30}, {0, 35, 20}, {-40, -20, -25}} {
				q, x := scaledSolution(p, s, e[0], e[1], e[2])
				name := fmt.Sprintf("%s %v, scaled by 2^%d, 2^%d, 2^%d", kind, m, e[0], e[1], e[2])
				if !believed(t, q, x, o) {
					r, err := verify.AuditContacts(q, x, o)
					t.Errorf("%s: the honest solution: %v, %v", name, err, r.Failures)
				}
				for _, c := range contactColumns(x) {
					honest := *c.values
					for i, v := range honest {
						// Of the unscaled solution: a change of what is not rounding.
						original := math.Abs((*contactColumnOf(s, c.name))[i])
						if !(original > 1e-5) || c.name == "bound" {
							continue
						}
						*c.values = slices.Clone(honest)
						(*c.values)[i] = v * (1 + 1e-3)
						if believed(t, q, x, o) {
							t.Errorf("%s: %s %d of %g is believed as %g", name, c.name, i, v, v*(1+1e-3))
						}
					}
					*c.values = honest
				}
			}
		}
	}
}

// contactColumnOf is a column of a solution by its name.
func contactColumnOf(s *contact.Solution, name string) *[]float64 {
	for _, c := range contactColumns(s) {
		if c.name == name {
			return c.values
		}
	}
	return nil
}

// scaledSolution is a problem without targets, compliance and warm impulses, and its solution, with masses, lengths and
// times scaled by powers of two.
func scaledSolution(p *contact.Problem, s *contact.Solution, mass, length, time int) (*contact.Problem,
	*contact.Solution) {
	by := func(v []float64, e int) []float64 {
		out := slices.Clone(v)
		for i, x := range v {
			out[i] = math.Ldexp(x, e)
		}
		return out
	}
	twists := func(v []float64) []float64 {
		out := by(v, length-time)
		for i, x := range v {
			if i%6 >= 3 {
				out[i] = math.Ldexp(x, -time)
			}
		}
		return out
	}
	q, x := *p, *s
	q.Mass, q.Inertia, q.Velocity = by(p.Mass, mass), by(p.Inertia, mass+2*length), twists(p.Velocity)
	q.ArmA, q.ArmB, q.Target = by(p.ArmA, length), by(p.ArmB, length), by(p.Target, length-time)
	speed := length - time
	x.Impulse, x.Velocity = by(s.Impulse, mass+speed), twists(s.Velocity)
	x.Residual, x.Scale = by(s.Residual, speed), by(s.Scale, speed)
	x.Dual, x.Bound = by(s.Dual, speed), by(s.Bound, speed)
	x.Primal, x.Complementarity = by(s.Primal, mass+speed), by(s.Complementarity, mass+2*speed)
	return &q, &x
}

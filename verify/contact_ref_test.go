package verify_test

import (
	"math"
	"testing"

	"clearance/contact"
	"clearance/contact/scenes"
	"clearance/ref"
	"clearance/verify"
)

// TestAuditContactsOfRef: what a solver of package ref calls decided is solved for the audit, by the same residual and
// speed scale, and what it calls undecided is not.
func TestAuditContactsOfRef(t *testing.T) {
	law := map[ref.ContactModel]contact.Model{ref.ContactNCP: contact.NCP, ref.ContactCCP: contact.CCP}
	decided, undecided := 0, 0
	for _, kind := range scenes.Kinds() {
		if kind == "stack8" { // too large for dense solvers in a test
			continue
		}
		p, err := scenes.Generate(kind, 1, 4)
		if err != nil {
			t.Fatal(err)
		}
		d, err := verify.DenseContacts(p, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, solver := range ref.ContactSolvers() {
			model, ok := law[solver.Model]
			if !ok {
				continue
			}
			for _, limit := range []int{3, 100} {
				const tolerance = 1e-6
				r := solver.Solve(d, ref.ContactOptions{Tolerance: tolerance, Limit: limit})
				e := &r.Residual
				s := contact.Solution{Impulse: make([]float64, 3*p.Contacts), Residual: []float64{e.Natural},
					Scale: []float64{e.Scale}, Primal: []float64{e.Primal}, Dual: []float64{e.Dual},
					Complementarity: []float64{e.Complementarity}, Bound: []float64{math.NaN()}, Sweeps: []int32{0},
					Steps: []int32{0}, Status: []contact.Status{contact.Solved}}
				copy(s.Impulse, r.Impulse)
				for _, v := range d.Velocities(r.Impulse) {
					s.Velocity = append(s.Velocity, v[:]...)
				}
				if !r.Decided {
					undecided++
					if believed(t, p, &s, verify.ContactAudit{Model: model, Tolerance: tolerance}) {
						t.Errorf("%s, %s: undecided at %g, and solved for the audit", kind, solver.Name, e.Relative())
					}
					s.Status[0] = contact.Undecided
				} else {
					decided++
				}
				report, err := verify.AuditContacts(p, &s, verify.ContactAudit{Model: model, Tolerance: tolerance})
				if err != nil || len(report.Failures) > 0 {
					t.Errorf("%s, %s, decided %t at %g: %v, %v", kind, solver.Name, r.Decided, e.Relative(), err,
						report.Failures)
				}
			}
		}
	}
	if decided < 10 || undecided < 10 {
		t.Errorf("%d decided, %d undecided: too few to show anything", decided, undecided)
	}
}

package verify_test

import (
	"strings"
	"testing"

	"clearance/contact"
	"clearance/contact/scenes"
	"clearance/verify"
)

func auditedScene(t *testing.T, kind string, worlds int, o contact.Options) (*contact.Problem, *contact.Solution) {
	t.Helper()
	p, err := scenes.Generate(kind, worlds, 3)
	if err != nil {
		t.Fatal(err)
	}
	var s contact.Solution
	if err := contact.Solve(t.Context(), p, o, &s); err != nil {
		t.Fatal(err)
	}
	return p, &s
}

// TestAuditContacts audits solutions of every kind of scene. Bounds of the CCP are refuted by package ref.
func TestAuditContacts(t *testing.T) {
	for _, kind := range scenes.Kinds() {
		for _, m := range []contact.Model{contact.NCP, contact.CCP} {
			p, s := auditedScene(t, kind, 10, contact.Options{Model: m, Bound: true})
			bounds := kind != "stack8"
			r, err := verify.AuditContacts(p, s, verify.ContactAudit{Model: m, Tolerance: 1e-6, Bounds: bounds})
			if err != nil {
				t.Fatal(err)
			}
			if r.Solved != 10 {
				t.Errorf("%s %v: %d solved", kind, m, r.Solved)
			}
			for _, f := range r.Failures {
				t.Errorf("%s %v: %v", kind, m, f)
			}
		}
	}
}

// TestAuditContactsFinds changes one column at a time; each change has to be found.
func TestAuditContactsFinds(t *testing.T) {
	for _, test := range []struct {
		check  string
		change func(p *contact.Problem, s *contact.Solution)
	}{
		{"velocity", func(_ *contact.Problem, s *contact.Solution) { s.Velocity[0] += 1e-6 }},
		{"primal", func(_ *contact.Problem, s *contact.Solution) { s.Impulse[2] = -1e-3 }},
		{"dual", func(_ *contact.Problem, s *contact.Solution) { s.Impulse[0] += 1e-2; s.Impulse[2] += 1e-2 }},
		{"status", func(p *contact.Problem, _ *contact.Solution) { p.Friction[0] *= 0.5 }},
		{"status", func(p *contact.Problem, _ *contact.Solution) { p.Mass[0] = -1 }},
		{"status", func(_ *contact.Problem, s *contact.Solution) { s.Status[0] = contact.Invalid }},
		{"bound", func(_ *contact.Problem, s *contact.Solution) {
			for i := range s.Bound {
				s.Bound[i] *= 1e-9
			}
		}},
	} {
		p, s := auditedScene(t, "stack4", 3, contact.Options{Model: contact.CCP, Tolerance: 1e-4, Bound: true})
		test.change(p, s)
		r, err := verify.AuditContacts(p, s, verify.ContactAudit{Model: contact.CCP, Tolerance: 1e-4, Bounds: true})
		if err != nil {
			t.Fatal(err)
		}
		found := false
		for _, f := range r.Failures {
			found = found || strings.HasPrefix(f.Check, test.check)
		}
		if !found {
			t.Errorf("%s: not found; failures %v", test.check, r.Failures)
		}
	}
}

// TestAuditContactsFree: worlds whose free motion solves them have the speed scale that float64 resolves under the
// tolerance, of which the audit is not refused.
func TestAuditContactsFree(t *testing.T) {
	for _, m := range []contact.Model{contact.NCP, contact.CCP} {
		for _, tolerance := range []float64{1e-6, 1e-3} {
			p, s := auditedScene(t, "random", 300, contact.Options{Model: m, Tolerance: tolerance})
			free := 0
			for w, x := range s.Residual {
				if x == 0 && s.Scale[w] > 0 {
					free++
				}
			}
			r, err := verify.AuditContacts(p, s, verify.ContactAudit{Model: m, Tolerance: tolerance})
			if err != nil || len(r.Failures) > 0 || free < 5 {
				t.Errorf("%v to %g: %d worlds are free; %v, %v", m, tolerance, free, err, r.Failures)
			}
		}
	}
}

// TestAuditContactsHeavy: residuals of a box of 1 kg below one of 1000 kg are known to the rounding of the impulses at
// all of its contacts, not to that of one.
func TestAuditContactsHeavy(t *testing.T) {
	p, err := scenes.Generate("heavy", 600, 1)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range []contact.Model{contact.NCP, contact.CCP} {
		var s contact.Solution
		if err := contact.Solve(t.Context(), p, contact.Options{Model: m}, &s); err != nil {
			t.Fatal(err)
		}
		r, err := verify.AuditContacts(p, &s, verify.ContactAudit{Model: m, Tolerance: 1e-6})
		if err != nil || len(r.Failures) > 0 {
			t.Errorf("%v: %v, %v", m, err, r.Failures)
		}
	}
}

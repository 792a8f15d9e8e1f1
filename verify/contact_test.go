package verify_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"clearance/contact"
	"clearance/contact/scenes"
	"clearance/ref"
	"clearance/tests/need"
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

// believed reports whether an audit finds nothing to say of a solution.
func believed(t *testing.T, p *contact.Problem, s *contact.Solution, o verify.ContactAudit) bool {
	t.Helper()
	r, err := verify.AuditContacts(p, s, o)
	if err != nil {
		t.Fatal(err)
	}
	return len(r.Failures) == 0 && r.Undecided == 0 && r.Unaudited == 0
}

// contactColumns are the columns of numbers of a solution.
func contactColumns(s *contact.Solution) []contactColumn {
	return []contactColumn{{"impulse", &s.Impulse}, {"velocity", &s.Velocity}, {"residual", &s.Residual},
		{"scale", &s.Scale}, {"primal", &s.Primal},
		{"dual", &s.Dual}, {"complementarity", &s.Complementarity}, {"bound", &s.Bound}}
}

type contactColumn struct {
	name   string
	values *[]float64
}

// contactLies are changes of a number.
var contactLies = []struct {
	name   string
	change func(x float64) float64
}{
	{"1 % more", func(x float64) float64 { return 1.01 * x }},
	{"a part", func(x float64) float64 { return 1e-3 * x }},
	{"the other sign", func(x float64) float64 { return -x }},
	{"zero", func(float64) float64 { return 0 }},
	{"NaN", func(float64) float64 { return math.NaN() }},
	{"infinity", func(float64) float64 { return math.Inf(1) }},
}

// isLie reports whether a change of the bound of the error is one: a larger bound is as true, a smaller one may be, and
// one that is not claimed is none.
func isLie(column, change string, honest float64, m contact.Model) bool {
	switch {
	case column != "bound" || change == "zero":
		return true
	case math.IsNaN(honest):
		return change == "infinity" && m == contact.NCP
	}
	return change == "the other sign"
}

// TestContactLies: every column of a solution by 1 %, sign, zero, NaN, infinity and swapped worlds, and every status,
// of one world and of all, is refuted or said to be not audited. A larger bound is as true.
func TestContactLies(t *testing.T) {
	kinds, worlds := []string{"stick", "heavy"}, 3
	if need.All() {
		kinds, worlds = scenes.Kinds(), 8
	}
	for _, kind := range kinds {
		for _, m := range []contact.Model{contact.NCP, contact.CCP} {
			o := verify.ContactAudit{Model: m, Tolerance: 1e-3, Bounds: kind != "stack8"}
			p, s := auditedScene(t, kind, worlds, contact.Options{Model: m, Tolerance: 1e-3, Bound: o.Bounds})
			if !believed(t, p, s, o) {
				r, err := verify.AuditContacts(p, s, o)
				t.Errorf("%s %v: the honest solution: %v, %+v", kind, m, err, r)
				continue
			}
			tellContacts(t, fmt.Sprintf("%s %v", kind, m), p, s, o)
		}
	}
}

func tellContacts(t *testing.T, name string, p *contact.Problem, s *contact.Solution, o verify.ContactAudit) {
	t.Helper()
	rng := rand.New(rand.NewPCG(1, 2))
	count := 0
	check := func(lie string) {
		if count++; believed(t, p, s, o) {
			t.Errorf("%s: %s: believed", name, lie)
		}
	}
	for _, c := range contactColumns(s) {
		to, honest := c.values, *c.values
		width := len(honest) / p.Worlds
		for _, lie := range contactLies {
			for _, all := range []bool{false, true} {
				*to = slices.Clone(honest)
				w := rng.IntN(p.Worlds)
				changed := false
				for i, x := range honest {
					if all || i/width == w {
						y := lie.change(x)
						(*to)[i] = y
						changed = changed || !(math.Abs(y-x) <= 1e-7)
					}
				}
				if changed && isLie(c.name, lie.name, honest[0], o.Model) {
					check(fmt.Sprintf("%s, %s, all %v", c.name, lie.name, all))
				}
			}
		}
		*to = slices.Clone(honest)
		w, v := 0, 1
		for k := range width {
			(*to)[w*width+k], (*to)[v*width+k] = honest[v*width+k], honest[w*width+k]
		}
		if c.name != "bound" && differ(honest[:width], honest[width:2*width]) {
			check(c.name + ", swapped")
		}
		*to = honest
	}
	statuses := slices.Clone(s.Status)
	for _, code := range []contact.Status{contact.Undecided, contact.Invalid, contact.Invalid + 1} {
		for _, all := range []bool{false, true} {
			for w := range s.Status {
				if all || w == 0 {
					s.Status[w] = code
				}
			}
			check(fmt.Sprintf("status %v, all %v", code, all))
			copy(s.Status, statuses)
		}
	}
	t.Logf("%s: %d lies", name, count)
	if count < 30 {
		t.Errorf("%s: %d lies", name, count)
	}
}

func differ(x, y []float64) bool {
	for i := range x {
		if !(math.Abs(x[i]-y[i]) <= 1e-7) {
			return true
		}
	}
	return false
}

// TestManyLies: a report counts every claim that is refuted, and lists the first of them, so that a small file of many
// worlds makes no large report.
func TestManyLies(t *testing.T) {
	const worlds = 1500
	p := &contact.Problem{}
	p.Resize(worlds, 1, 1) // all zero: masses are invalid
	s := &contact.Solution{Impulse: make([]float64, 3*worlds), Velocity: make([]float64, 6*worlds),
		Status: make([]contact.Status, worlds), Sweeps: make([]int32, worlds), Steps: make([]int32, worlds)}
	for _, c := range []*[]float64{&s.Residual, &s.Scale, &s.Primal, &s.Dual, &s.Complementarity, &s.Bound} {
		*c = make([]float64, worlds)
	}
	r, err := verify.AuditContacts(p, s, verify.ContactAudit{Tolerance: 1e-6})
	if err != nil {
		t.Fatal(err)
	}
	if r.Wrong != worlds || len(r.Failures) != verify.MaxContactFailures || r.Failures[999].World != 999 {
		t.Errorf("%d claims refuted, %d listed; want %d and %d", r.Wrong, len(r.Failures), worlds,
			verify.MaxContactFailures)
	}
}

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

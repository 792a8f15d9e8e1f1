package verify_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"clearance/contact"
	"clearance/contact/scenes"
	"clearance/tests/need"
	"clearance/verify"
)

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

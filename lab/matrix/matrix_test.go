package matrix

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"clearance"
	"clearance/batch"
	"clearance/verify"
)

// results is where the full run is committed.
const results = "../results"

func smallPlan() *Plan {
	return &Plan{
		Tables: Tables(), Sets: []string{"boxes", "hull8"}, Queries: []string{"distance", "collide", "penetration"},
		Regimes:    Regimes(),
		Precisions: []string{"single", "double"}, Backends: []string{CPU}, Pairs: 192, ThreadPairs: 256,
		Sizes: []int{1, 64}, Threads: []int{1, 2},
	}
}

func lab() *Lab {
	return &Lab{
		Open: func(backend string, workers int) (*clearance.Handle, error) {
			return clearance.Open(clearance.WithBackend(backend), clearance.WithWorkers(workers))
		},
		Rounds: 5, Time: time.Microsecond, Sample: 10, Seed: 1,
	}
}

// measure runs a plan.
func measure(t *testing.T, p *Plan) *Report {
	t.Helper()
	cases, err := p.Cases()
	if err != nil {
		t.Fatal(err)
	}
	r := NewReport(Header{Version: "test", Seed: 1, Rounds: 5, Sample: 10})
	if err := lab().Run(t.Context(), cases, r); err != nil {
		t.Fatal(err)
	}
	return r
}

// TestCases: every combination is there once, and under a name of its own.
func TestCases(t *testing.T) {
	cases, err := smallPlan().Cases()
	if err != nil {
		t.Fatal(err)
	}
	counts, names := map[string]int{}, map[string]bool{}
	for i := range cases {
		c := &cases[i]
		counts[c.Table]++
		if names[c.Name()] {
			t.Errorf("%s is there twice", c.Name())
		}
		names[c.Name()] = true
		if want := map[string]int{Questions: 1, Sizes: 2}[c.Table]; want != 0 && c.Workers != want {
			t.Errorf("%s has %d threads, want %d", c.Name(), c.Workers, want)
		}
	}
	// sets × regimes × queries × precisions, sets × regimes × threads, sets × sizes
	if counts[Questions] != 2*3*3*2 || counts[Threads] != 2*3*2 || counts[Sizes] != 2*2 {
		t.Errorf("cases %v", counts)
	}
	for want, change := range map[string]func(*Plan){
		`unknown table "x"`:          func(p *Plan) { p.Tables = []string{"x"} },
		`unknown regime "near"`:      func(p *Plan) { p.Regimes = []string{"near"} },
		"no back end to measure":     func(p *Plan) { p.Backends = nil },
		"0 pairs or threads":         func(p *Plan) { p.Sizes = []int{0} },
		"no number of threads":       func(p *Plan) { p.Threads = nil },
		"whatever":                   func(p *Plan) { p.Queries = []string{"whatever"} },
		"triple":                     func(p *Plan) { p.Precisions = []string{"triple"} },
		"nothing to measure: the ta": func(p *Plan) { p.Tables, p.Regimes = []string{Sizes}, []string{"distant"} },
	} {
		p := smallPlan()
		change(p)
		if _, err := p.Cases(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want it to say %q", err, want)
		}
	}
}

// TestRegimes: the pairs of a regime lie where it says, and a longer batch repeats them.
func TestRegimes(t *testing.T) {
	h, err := lab().Open(CPU, 1)
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	var s source
	for _, set := range []string{"ellipsoids", "mixed"} {
		for _, regime := range []struct {
			name   string
			lo, hi float64
		}{{"overlapping", -0.1, 0}, {"close", 0, 0.1}, {"distant", 0.1, 2}} {
			lib, pairs, err := s.pairs(t.Context(), &Case{Set: set, Regime: regime.name}, 7, 300)
			if err != nil {
				t.Fatal(err)
			}
			res, _, err := h.Distance(t.Context(), lib, pairs)
			if err != nil {
				t.Fatal(err)
			}
			for i := range res.N {
				if d := res.Distance().At(i); !(d >= regime.lo-1e-5 && d <= regime.hi+1e-5) {
					t.Errorf("%s, %s: pair %d has distance %g, want %g to %g", set, regime.name, i, d, regime.lo,
						regime.hi)
				}
			}
		}
	}
	if testing.Short() {
		return
	}
	_, pairs, err := s.pairs(t.Context(), &Case{Set: "boxes", Regime: "close"}, 7, distinct+3)
	if err != nil {
		t.Fatal(err)
	}
	var a, b batch.Row
	for i := range 3 {
		pairs.Row(i, &a)
		pairs.Row(distinct+i, &b)
		if a != b {
			t.Errorf("pair %d is not pair %d again", distinct+i, i)
		}
	}
}

// TestRun measures a small plan: every case has its rounds and its checks, and parts
// measured one after the other make the same report.
func TestRun(t *testing.T) {
	plan := smallPlan()
	r := measure(t, plan)
	for i := range r.Points {
		p := &r.Points[i]
		checked := min(p.Pairs, 10)
		if a := &p.Accuracy; len(p.Rounds) != 5 || !(p.Rate > 0) || p.Calls < 1 || a.Audited != p.Pairs ||
			a.Compared != checked || a.Wrong()+a.Undecided != 0 {
			t.Errorf("point %+v", p)
		}
		gap := float64(p.Accuracy.WorstGap)
		if allowed := map[string]float64{"single": 1e-6, "double": 1e-12}[p.Precision]; p.Query == "distance" &&
			!(gap > 0 && gap <= allowed) {
			t.Errorf("%s has the worst gap %g, want one of up to %g", p.Name(), gap, allowed)
		}
	}
	if wrong, undecided := r.Faults(); wrong+undecided != 0 {
		t.Errorf("%d wrong, %d undecided", wrong, undecided)
	}
	whole := slices.Clone(r.Points)
	for _, set := range []string{"hull8", "boxes"} { // in another order
		plan.Sets = []string{set}
		part := measure(t, plan)
		if err := part.Add(r); err != nil {
			t.Fatal(err)
		}
		r = part
	}
	if !slices.EqualFunc(whole, r.Points, func(a, b Point) bool { return a.Case == b.Case }) {
		t.Error("in parts the report has other cases, or another order")
	}
	if len(r.Sets) != 2 || r.Sets[1].Vertices != 8 || r.Sets[0].Vertices != 0 || len(r.Devices) != 1 ||
		r.Devices[0].Workers != 2 {
		t.Errorf("sets %+v, devices %+v", r.Sets, r.Devices)
	}
	other := NewReport(r.Header)
	other.Version = "another"
	if err := other.Add(r); err == nil || !strings.Contains(err.Error(), "other settings") {
		t.Errorf("parts of two versions: error %v", err)
	}
}

// TestPage: what is written can be read and written again, and faults are told.
func TestPage(t *testing.T) {
	r := measure(t, smallPlan())
	r.Points[0].Accuracy.Refuted, r.Points[1].Accuracy.Undecided = 3, 2
	r.Points[0].Kernels = []verify.Number{100, 300, 200}
	r.Points[0].summarize()
	dir := t.TempDir()
	if err := r.Write(dir); err != nil {
		t.Fatal(err)
	}
	back, err := Load(filepath.Join(dir, ResultsFile))
	if err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile(filepath.Join(dir, ReportFile))
	if err != nil {
		t.Fatal(err)
	}
	var again bytes.Buffer
	if err := back.WriteMarkdown(&again, FigureDir); err != nil || again.String() != string(page) {
		t.Errorf("printed from the file the page differs (%v)", err)
	}
	for _, want := range []string{"**3 wrong, 2 undecided**", "## Penetration, cpu", "## Threads",
		"| hull8 | convex | 8 |", "kernel, overlapping", " 5.00 |"} {
		if !strings.Contains(string(page), want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	for _, f := range back.Figures() {
		if !strings.Contains(string(page), FigureDir+"/"+f.Name+".svg") {
			t.Errorf("the page does not show %s", f.Name)
		}
		if _, err := os.Stat(filepath.Join(dir, FigureDir, f.Name+".svg")); err != nil {
			t.Error(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, ResultsFile), []byte(`{"program":"batchbench run"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Load(filepath.Join(dir, ResultsFile)); err == nil || !strings.Contains(err.Error(), "batchbench run") {
		t.Errorf("a report of another program: error %v", err)
	}
}

// TestReportIsCurrent holds the committed page to the committed results.
func TestReportIsCurrent(t *testing.T) {
	r, err := Load(filepath.Join(results, ResultsFile))
	if err != nil {
		t.Fatalf("%v (write it with lab matrix --out lab/results)", err)
	}
	var want bytes.Buffer
	if err := r.WriteMarkdown(&want, FigureDir); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(filepath.Join(results, ReportFile))
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want.Bytes()) {
		t.Errorf("%s was edited by hand, or its words changed: run lab matrix --print-only --out lab/results",
			ReportFile)
	}
	if wrong, undecided := r.Faults(); wrong+undecided != 0 {
		t.Errorf("the committed results have %d wrong and %d undecided answers", wrong, undecided)
	}
	for _, f := range r.Figures() {
		if _, err := os.Stat(filepath.Join(results, FigureDir, f.Name+".svg")); err != nil {
			t.Error(err)
		}
	}
}

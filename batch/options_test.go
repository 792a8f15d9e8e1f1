package batch

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"clearance/geom"
)

func TestOptionsCheck(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	for _, c := range []struct {
		o    Options
		want string // part of the error, "" for none
	}{
		{Options{}, ""},
		{Options{Query: Penetration, Method: Polyak, Precision: Double, Tolerance: 1e-9, MaxIterations: 5}, ""},
		{Options{HasCutOff: true, CutOff: -1}, ""},
		{Options{CutOff: nan}, ""}, // not in use
		{Options{Query: Growth, Columns: AllColumns | ColPoint, HasCutOff: true, CutOff: 2}, ""},
		{Options{Query: Growth, HasCutOff: true}, "cut-off 0 of the query growth, want a factor above 0"},
		{Options{Query: Growth, HasCutOff: true, CutOff: -1}, "cut-off -1 of the query growth"},
		{Options{Method: RTR}, ""},
		{Options{Query: QueryCount}, fmt.Sprintf("unknown query(%d)", QueryCount)},
		{Options{Method: 77}, "unknown method(77)"},
		{Options{Precision: 2}, "unknown precision(2)"},
		{Options{Columns: 1 << 20}, "unknown columns"},
		{Options{Columns: ColDDistance, Derivative: Derivative{Epsilon: -1}}, "epsilon is -1"},
		{Options{Query: Collide, Columns: ColDDistance}, "the query collide has no column d_distance"},
		{Options{Tolerance: nan}, "tolerance NaN"},
		{Options{Tolerance: -1}, "tolerance -1"},
		{Options{Tolerance: inf}, "tolerance +Inf"},
		{Options{HasCutOff: true, CutOff: nan}, "cut-off NaN"},
		{Options{HasCutOff: true, CutOff: -inf}, "cut-off -Inf"},
		{Options{Query: Penetration, HasCutOff: true}, "[distance growth], not to penetration"},
		{Options{Columns: ColPoint}, "the query distance has no column point"},
		{Options{MaxIterations: -1}, "iteration limit -1"},
	} {
		err := c.o.Check()
		if (c.want == "") != (err == nil) || (err != nil && !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%+v: got %v, want %q", c.o, err, c.want)
		}
	}
}

func TestTolerances(t *testing.T) {
	for _, c := range []struct {
		o              Options
		promise, solve float64
	}{
		{Options{}, 2e-6, 1e-6},
		{Options{Tolerance: 1e-3}, 2e-3, 1e-3},
		{Options{Precision: Double}, 0, 0},
		{Options{Precision: Double, Tolerance: 1e-9}, 2e-9, 2e-9},
	} {
		if got := c.o.EffectiveTolerance(2); got != c.promise {
			t.Errorf("%+v: promises %g, want %g", c.o, got, c.promise)
		}
		if got := c.o.SolverTolerance(2); got != c.solve {
			t.Errorf("%+v: asks the solver for %g, want %g", c.o, got, c.solve)
		}
	}
}

// The value columns are those of all columns that a status alone does not fill.
func TestStatusAlone(t *testing.T) {
	for c := Columns(1); c <= anyColumns; c <<= 1 {
		if c&anyColumns == 0 {
			continue
		}
		alone := c&(ColStatus|ColBits|ColIterations|ColMethod) != 0
		for q, want := range map[Query]bool{Distance: false, Penetration: false, Collide: true, Growth: alone} {
			if got := (&Options{Query: q, Columns: c}).StatusAlone(); got != want {
				t.Errorf("%v, column %v: %t, want %t", q, c, got, want)
			}
		}
	}
	if (&Options{Query: Growth}).StatusAlone() {
		t.Error("growth with its default columns")
	}
}

func TestCutOffs(t *testing.T) {
	for _, c := range []struct {
		o    Options
		cut  float64
		used bool
	}{
		{Options{}, 0, false},
		{Options{CutOff: 3, HasCutOff: true}, 3, true},
		{Options{Query: Penetration}, 0, true},
		{Options{Query: Collide}, 0, false},
	} {
		if cut, used := c.o.EffectiveCutOff(); used != c.used || (used && cut != c.cut) {
			t.Errorf("%+v: cut-off %g, %t; want %g, %t", c.o, cut, used, c.cut, c.used)
		}
	}
}

// Codes of solvers are in files: a line here must not be changed or removed. A new solver gets a new
// line.
func TestSolverCodes(t *testing.T) {
	codes := []string{
		0: "none", 1: "gjk", 2: "nesterov", 3: "polyak", 4: "rtr", 5: "closed_form", 6: "axes", 7: "epa", 8: "newton",
		9: "growth", 10: "bounds",
	}
	if len(codes) != int(SolverCount) {
		t.Fatalf("%d solvers, want the %d below", SolverCount, len(codes))
	}
	var table []string
	for code, name := range codes {
		if s := Solver(code); s.String() != name {
			t.Errorf("solver %d is %q, want %q", code, s, name)
		}
		if s, err := ParseSolver(name); err != nil || int(s) != code {
			t.Errorf("solver %q has the code %d, want %d (%v)", name, s, code, err)
		}
		table = append(table, fmt.Sprintf("%d=%s", code, name))
	}
	if s := SolverCount.String(); s != fmt.Sprintf("solver(%d)", len(codes)) {
		t.Errorf("no solver is %q", s)
	}
	if want := strings.Join(table, ","); SolverNames() != want {
		t.Errorf("the table of files is %q, want %q", SolverNames(), want)
	}
}

// Names and codes are stored in files and in generated headers and must not change.
func TestNames(t *testing.T) {
	for s, want := range map[Status]string{0: "separated", 1: "touching", 2: "penetrating", 3: "undecided",
		4: "invalid", 9: "status(9)"} {
		if s.String() != want {
			t.Errorf("status %d is %q, want %q", uint8(s), s, want)
		}
	}
	for q := range QueryCount {
		if back, err := ParseQuery(q.String()); err != nil || back != q {
			t.Errorf("query %v: %v, %v", q, back, err)
		}
	}
	for m := range MethodCount {
		if back, err := ParseMethod(m.String()); err != nil || back != m {
			t.Errorf("method %v: %v, %v", m, back, err)
		}
	}
	for m := Auto + 1; m < MethodCount; m++ {
		if s := m.Solver(); s.String() != m.String() {
			t.Errorf("the solver of the method %v is %v", m, s)
		}
	}
	if s := Auto.Solver(); s != SolverNone {
		t.Errorf("auto names the solver %v", s)
	}
	for p := range PrecisionCount {
		if back, err := ParsePrecision(p.String()); err != nil || back != p {
			t.Errorf("precision %v: %v, %v", p, back, err)
		}
	}
	if _, err := ParseQuery("near"); err == nil || !strings.Contains(err.Error(), `"near"`) ||
		!strings.Contains(err.Error(), "collide") {
		t.Errorf("unknown query: %v", err)
	}
	if got := (ColGap | ColBits | ColMethod | 1<<20).String(); got != "gap, bits, method, column(20)" {
		t.Errorf("columns: %q", got)
	}
}

func TestJobCheck(t *testing.T) {
	lib := testLibrary(t)
	job := func(change func(*Job, *Pairs)) error {
		p := NewPairs(3)
		j := &Job{Library: lib, Input: p, Results: NewResults(3, &Options{})}
		change(j, p)
		return j.Check()
	}
	for _, c := range []struct {
		what   string
		change func(*Job, *Pairs)
		want   string
	}{
		{"good", func(j *Job, p *Pairs) {}, ""},
		{"fewer columns than there are", func(j *Job, p *Pairs) { j.Options.Columns = ColGap }, ""},
		{"no library", func(j *Job, p *Pairs) { j.Library = nil }, "no library"},
		{"no input", func(j *Job, p *Pairs) { j.Input = nil }, "no input"},
		{"no results", func(j *Job, p *Pairs) { j.Results = nil }, "no results"},
		{"bad option", func(j *Job, p *Pairs) { j.Options.Tolerance = -1 }, "tolerance"},
		{"short shape_b", func(j *Job, p *Pairs) { p.ShapeB = p.ShapeB[:2] }, "column shape_b has 2 numbers, want 3"},
		{"long position_a", func(j *Job, p *Pairs) { p.PositionA = make([]float64, 10) }, "column position_a has 10"},
		{"short rotation_b", func(j *Job, p *Pairs) { p.RotationB = nil }, "column rotation_b has 0 numbers, want 12"},
		{"short warm start", func(j *Job, p *Pairs) { j.Options.WarmStart = make([]float64, 3) },
			"column warm_start has 3 numbers, want 9"},
		{"results of another length", func(j *Job, p *Pairs) { j.Results = NewResults(4, &Options{}) },
			"results of 4 rows"},
		{"results of another precision", func(j *Job, p *Pairs) { j.Options.Precision = Double }, "single precision"},
		{"results without a column", func(j *Job, p *Pairs) { j.Results = NewResults(3, &Options{Columns: ColStatus}) },
			"lack the columns distance, gap"},
		{"results with a short column", func(j *Job, p *Pairs) {
			j.Results.SetColumn(ColGap, Values{F32: j.Results.Gap()[:1]})
		}, "column gap has 1"},
		{"results with a column of both types", func(j *Job, p *Pairs) { j.Results.Normal().F64 = make([]float64, 9) },
			"column normal has 9 values of type float32 (18 of any type)"},
	} {
		err := job(c.change)
		if (c.want == "") != (err == nil) || (err != nil && !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: got %v, want %q", c.what, err, c.want)
		}
	}
}

func TestWorldsCheckShape(t *testing.T) {
	good := func() *Worlds {
		return &Worlds{Shapes: []int32{0, 1}, Poses: make([]float64, 3*2*7), TemplateA: []int32{0, 1, 1},
			TemplateB: []int32{1, 0, 1}}
	}
	for _, c := range []struct {
		what   string
		change func(w *Worlds)
		want   string
	}{
		{"good", func(w *Worlds) {}, ""},
		{"nothing at all", func(w *Worlds) { *w = Worlds{} }, ""},
		{"no bodies but poses", func(w *Worlds) { w.Shapes = nil }, "42 numbers for no bodies"},
		{"half a pose", func(w *Worlds) { w.Poses = w.Poses[:40] }, "multiple of 7 × 2"},
		{"half a world", func(w *Worlds) { w.Poses = w.Poses[:35] }, "multiple of 7 × 2"},
		{"templates of two lengths", func(w *Worlds) { w.TemplateB = nil }, "template_b has 0 numbers, want 3"},
		{"template of no body", func(w *Worlds) { w.TemplateA[2] = 2 },
			"template_a[2] = 2, want a body index in [0, 2)"},
		{"negative template", func(w *Worlds) { w.TemplateB[0] = -1 }, "template_b[0] = -1"},
	} {
		w := good()
		c.change(w)
		err := w.CheckShape()
		if (c.want == "") != (err == nil) || (err != nil && !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: got %v, want %q", c.what, err, c.want)
		}
	}
	if n := good().Len(); n != 9 {
		t.Errorf("3 worlds × 3 pairs have length %d", n)
	}
	if n := (&Worlds{}).Len(); n != 0 {
		t.Errorf("nothing has length %d", n)
	}
}

// Row w·P + p of the rollout form is template pair p of world w.
func TestWorldsRow(t *testing.T) {
	w := &Worlds{Shapes: []int32{5, 6, 7}, TemplateA: []int32{0, 2}, TemplateB: []int32{1, 1}}
	for i := range 2 * 3 * 7 {
		w.Poses = append(w.Poses, float64(i))
	}
	var r Row
	w.Row(3, &r) // world 1, pair 1: bodies 2 and 1
	if r.ShapeA != 7 || r.ShapeB != 6 {
		t.Errorf("shapes %d, %d; want 7, 6", r.ShapeA, r.ShapeB)
	}
	p, q := make([]float64, 3), make([]float64, 4)
	for _, c := range []struct {
		pose  geom.Pose
		first float64
	}{{r.PoseA, 35}, {r.PoseB, 28}} {
		putPose(p, q, &c.pose)
		for k, v := range append(append([]float64(nil), p...), q...) {
			if v != c.first+float64(k) {
				t.Errorf("pose value %d is %g, want %g", k, v, c.first+float64(k))
			}
		}
	}
}

package main

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"clearance"
	"clearance/batch"
	"clearance/dataset/generate"
	"clearance/derive"
	"clearance/internal/audit"
	"clearance/tests/need"
)

// derivedFile holds a file of derivatives and the answers that were differentiated.
type derivedFile struct {
	name    string
	job     *batch.Job // with the columns of the file
	answers *batch.Results
	solve   batch.Answers
}

// form says which columns a file has: those of `derive`, or answers beside derivatives as of `score`.
type form uint8

const (
	alone  form = iota // derivatives alone, whose answers the audit does not know
	beside             // derivatives alone, whose answers are given to the audit
	scored             // answers and derivatives
	value              // d_distance alone, the closed form
	formCount
)

func (f form) String() string {
	return [...]string{"answers unknown", "answers given", "answers in the file", "d_distance alone"}[f]
}

// newDerivedFile answers pairs of a set, one of them invalid, and differentiates the answers.
func newDerivedFile(t *testing.T, set string, seed uint64, rows int, o batch.Options, f form) *derivedFile {
	t.Helper()
	g, err := generate.New(set, seed, generate.Options{})
	if err != nil {
		t.Fatal(err)
	}
	h, err := clearance.Open(clearance.WithBackend("cpu"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { h.Close() })
	in := batch.NewPairs(rows)
	g.Fill(in, 0)
	in.RotationA[4*(rows-1)] = math.NaN()
	d := &derivedFile{name: fmt.Sprintf("%s, seed %d, %v, %v, %v, %v", set, seed, o.Query, o.Precision,
		o.Derivative.Mode, f), solve: h.Answers()}
	o.Columns = o.EffectiveColumns() &^ batch.ColBits
	d.answers = batch.NewResults(rows, &o)
	d.job = &batch.Job{Library: g.Library(), Input: in, Options: o, Results: d.answers}
	if err := d.solve(t.Context(), d.job); err != nil {
		t.Fatal(err)
	}
	columns := batch.DerivedColumns
	if f == value {
		columns = batch.ColDDistance
	}
	out := batch.NewResults(rows, &batch.Options{Columns: columns, Precision: o.Precision})
	pass := derive.Pass{Options: o.Derivative, Answers: d.solve}
	if err := pass.Run(t.Context(), d.job, out); err != nil {
		t.Fatal(err)
	}
	if f == scored {
		out.Adopt(d.answers, d.answers.Columns)
	}
	if f != beside {
		d.answers = nil
	}
	d.job.Results, d.job.Options.Columns = out, out.Columns
	return d
}

// verdict is that of the command on the file, which is nil or says what is wrong or was not audited.
func (d *derivedFile) verdict(t *testing.T) (*derivativesReport, error) {
	t.Helper()
	found, err := audit.AuditDerivatives(context.Background(), d.job, audit.DerivativeOptions{Answers: d.answers,
		Solve: d.solve, Seed: 1, Differences: func(row int) bool { return row%8 == 0 }})
	if err != nil {
		t.Fatalf("%s: %v", d.name, err)
	}
	r := &derivativesReport{Audit: found, Known: d.answers != nil}
	return r, r.verdict()
}

// lie changes a number, or says how to change a whole row.
type lie struct {
	name   string
	change func(v float64) float64
}

var lies = []lie{
	{"one percent more", func(v float64) float64 { return 1.01 * v }},
	{"the other sign", func(v float64) float64 { return -v }},
	{"zero", func(float64) float64 { return 0 }},
	{"twice", func(v float64) float64 { return 2 * v }},
	{"NaN", func(float64) float64 { return math.NaN() }},
	{"infinity", func(float64) float64 { return math.Inf(1) }},
}

// told applies lies to the file, one after the other, and calls f with each. Rows are rows of the file.
type told struct {
	d    *derivedFile
	rng  *rand.Rand
	each func(name string)
}

// change applies one lie: to a row or to all. Lies that change nothing, as a zero of zeros, are none.
func (l *told) change(column batch.Columns, x *lie, all bool) {
	out := l.d.job.Results
	kept := *out
	v := out.Column(column)
	w := column.Info().Width
	rows := l.rows(column, all)
	if len(rows) == 0 {
		return
	}
	out.SetColumn(column, copied(v, w*out.N))
	v = out.Column(column)
	changed := false
	for _, i := range rows {
		for k := range w {
			at := w*i + k
			before := v.At(at)
			v.Set(at, x.change(before))
			changed = changed || !(math.Abs(v.At(at)-before) <= 1e-3*math.Abs(before))
		}
	}
	if changed {
		l.each(fmt.Sprintf("%s of %v: %s", scope(all, rows), column, x.name))
	}
	*out = kept
}

// valued reports whether row i has an answer that is not a bound alone: of those other points are as true.
func (d *derivedFile) valued(i int) bool {
	s := d.job.Results.Column(batch.ColSmoothness).U8
	return s == nil || s[i] != uint8(batch.NoDerivative)
}

// rows is a row with a number in the column that is not small, or all rows.
func (l *told) rows(column batch.Columns, all bool) (rows []int) {
	v, w := l.d.job.Results.Column(column), column.Info().Width
	for i := range l.d.job.Results.N {
		most := 0.0
		for k := range w {
			most = max(most, math.Abs(v.At(w*i+k)))
		}
		if all || most > 1e-2 && most < 1e6 && l.d.valued(i) {
			rows = append(rows, i)
		}
	}
	if all || len(rows) == 0 {
		return rows
	}
	k := l.rng.IntN(len(rows))
	return rows[k : k+1]
}

func scope(all bool, rows []int) string {
	if all {
		return "all rows"
	}
	return fmt.Sprintf("row %d", rows[0])
}

// copied is a column with memory of its own.
func copied(v *batch.Values, n int) batch.Values {
	c := batch.Values{F32: slices.Clone(v.F32), F64: slices.Clone(v.F64), U8: slices.Clone(v.U8),
		U16: slices.Clone(v.U16)}
	if c.Len() != n {
		panic("a column of another type")
	}
	return c
}

// swap exchanges two rows, or reverses all, in one column.
func (l *told) swap(column batch.Columns, all bool) {
	out := l.d.job.Results
	kept := *out
	w, n := column.Info().Width, out.N
	out.SetColumn(column, copied(out.Column(column), w*n))
	v, from := out.Column(column), kept.Column(column)
	order := make([]int, n)
	for i := range order {
		order[i] = i
	}
	if all {
		slices.Reverse(order)
	} else {
		rows := l.rows(column, false)
		if len(rows) == 0 {
			return
		}
		i, j := rows[0], l.rng.IntN(n)
		order[i], order[j] = j, i
	}
	changed := false
	for i, j := range order {
		for k := range w {
			x, before := from.At(w*j+k), from.At(w*i+k)
			v.Set(w*i+k, x)
			changed = changed || !(math.Abs(x-before) <= 1e-2*math.Abs(before)+1e-3) && !(math.IsNaN(x) &&
				math.IsNaN(before))
		}
	}
	if changed {
		l.each(fmt.Sprintf("%s of %v: swapped", scope(all, []int{0}), column))
	}
	*out = kept
}

// claim gives rows another smoothness, with the columns that it goes with: zeros where it says that there are none.
func (l *told) claim(s batch.Smoothness, all bool) {
	out := l.d.job.Results
	kept := *out
	for _, c := range (out.Columns & batch.DerivedColumns).Each() {
		out.SetColumn(c, copied(out.Column(c), c.Info().Width*out.N))
	}
	codes := out.Column(batch.ColSmoothness).U8
	var rows []int
	for i, code := range codes {
		if code != uint8(s) && code != uint8(batch.NoDerivative) {
			rows = append(rows, i)
		}
	}
	if len(rows) > 0 && !all {
		k := l.rng.IntN(len(rows))
		rows = rows[k : k+1]
	}
	for _, i := range rows {
		codes[i] = uint8(s)
		for _, c := range (out.Columns & batch.DerivedColumns &^ batch.ColSmoothness).Each() {
			if s == batch.NoDerivative || !s.Full() && c != batch.ColDDistance {
				w := c.Info().Width
				for k := range w {
					out.Column(c).Set(w*i+k, 0)
				}
			}
		}
	}
	if len(rows) > 0 {
		l.each(fmt.Sprintf("%s: %q claimed", scope(all, rows), s.String()))
	}
	*out = kept
}

// status gives rows another status. Where the bounds are on both sides of that of touching shapes it may be any.
func (l *told) status(s batch.Status, all bool) {
	out := l.d.job.Results
	kept := *out
	out.SetColumn(batch.ColStatus, copied(out.Column(batch.ColStatus), out.N))
	var rows []int
	for i, code := range out.Status() {
		touches := math.Abs(out.Distance().At(i)-l.d.job.Options.Query.Info().Touch) <= 2*float64(out.Gap()[i])
		if code != uint8(s) && !touches {
			rows = append(rows, i)
		}
	}
	if len(rows) > 0 && !all {
		k := l.rng.IntN(len(rows))
		rows = rows[k : k+1]
	}
	for _, i := range rows {
		out.Status()[i] = uint8(s)
	}
	if len(rows) > 0 {
		l.each(fmt.Sprintf("%s: the status %v", scope(all, rows), s))
	}
	*out = kept
}

// tell tells every kind of lie about every column and every claim.
func (l *told) tell() {
	columns := l.d.job.Results.Columns
	// A larger gap is true as well, and iterations are numbers of steps that nothing but a solver knows.
	reals := columns &^ (batch.ColSmoothness | batch.ColStatus | batch.ColMethod | batch.ColIterations | batch.ColBits |
		batch.ColGap)
	for _, all := range [2]bool{false, true} {
		for _, c := range reals.Each() {
			for i := range lies {
				l.change(c, &lies[i], all)
			}
			l.swap(c, all)
		}
		if columns&batch.ColGap != 0 {
			for _, i := range []int{1, 4, 5} {
				l.change(batch.ColGap, &lies[i], all)
			}
		}
		for s := batch.NoDerivative; s <= batch.SmoothnessCount && columns&batch.ColSmoothness != 0; s++ {
			l.claim(s, all)
		}
		for s := batch.Separated; s <= batch.StatusCount && columns&batch.ColStatus != 0; s++ {
			l.status(s, all)
		}
	}
}

// question says what a file of the tests of lies answers.
type question struct {
	set  string
	o    batch.Options
	form form
}

// questions are files of all sets, modes, forms and precisions, with one query after the other, or one of each.
func questions() (list []question) {
	if !need.All() {
		mode := func(m batch.DerivativeMode) batch.Derivative { return batch.Derivative{Mode: m, Samples: 4, Seed: 3} }
		return []question{
			{"mixed", batch.Options{Precision: batch.Double}, scored},
			{"mixed", batch.Options{Precision: batch.Double}, alone},
			{"boxes", batch.Options{Precision: batch.Double, Derivative: mode(batch.ZerothDerivative)}, beside},
			{"hull32", batch.Options{Query: batch.Growth, Precision: batch.Double}, alone},
			{"ellipsoids", batch.Options{Derivative: mode(batch.GaussianDerivative)}, scored},
			{"capsule-cylinder-cone", batch.Options{Derivative: mode(batch.GumbelDerivative)}, beside},
			{"adversarial", batch.Options{}, scored},
			{"mixed", batch.Options{}, value},
		}
	}
	for _, set := range []string{"mixed", "boxes", "hull8", "hull32", "hull128", "ellipsoids", "capsule-cylinder-cone",
		"adversarial"} {
		for m := range batch.DerivativeModeCount {
			for f := range formCount {
				for _, p := range []batch.Precision{batch.Single, batch.Double} {
					list = append(list, question{set, batch.Options{Query: queries[len(list)%len(queries)],
						Precision:  p,
						Derivative: batch.Derivative{Mode: m, Samples: 4, Seed: 3}}, f})
				}
			}
		}
	}
	return list
}

// queries lists the queries of the files one after the other, in a cycle of a length that no number of other kinds
// divides.
var queries = []batch.Query{batch.Distance, batch.Penetration, batch.Growth}

// TestVerifyDerivativesLies: every kind of lie about every column and every claim, told of one row and of all, is
// refuted or said to be not audited. The honest file passes.
func TestVerifyDerivativesLies(t *testing.T) {
	for i, q := range questions() {
		d := newDerivedFile(t, q.set, 31, 48, q.o, q.form)
		if r, err := d.verdict(t); err != nil {
			t.Errorf("%s: the honest file: %v\n%s", d.name, err, printed(t, r))
			continue
		}
		count, refuted := 0, 0
		l := &told{d: d, rng: rand.New(rand.NewPCG(uint64(i), 1)), each: func(name string) {
			count++
			r, err := d.verdict(t)
			if err == nil {
				t.Errorf("%s: %s: believed\n%s", d.name, name, printed(t, r))
				return
			}
			if r.Audit.Refuted() > 0 {
				refuted++
			}
		}}
		l.tell()
		t.Logf("%s: %d lies, %d of them refuted", d.name, count, refuted)
		if count < 10 || refuted < count/3 {
			t.Errorf("%s: %d lies, %d of them refuted", d.name, count, refuted)
		}
	}
}

func printed(t *testing.T, r *derivativesReport) string {
	t.Helper()
	var b strings.Builder
	if err := r.print(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// TestVerifyDerivativesHonest: no honest file is refuted, of any set, mode and seed.
func TestVerifyDerivativesHonest(t *testing.T) {
	seeds, rows := uint64(2), 60
	if need.All() {
		seeds, rows = 13, 200 // 104 files of each set and mode
	}
	for _, q := range questions() {
		for seed := range seeds {
			d := newDerivedFile(t, q.set, 31+seed, rows, q.o, q.form)
			if r, err := d.verdict(t); err != nil {
				t.Errorf("%s: %v\n%s", d.name, err, printed(t, r))
			}
		}
	}
}

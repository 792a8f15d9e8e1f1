package verify_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"math"
	"math/bits"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/num/quat"
	"gonum.org/v1/gonum/spatial/r3"

	"clearance/batch"
	"clearance/geom"
	"clearance/verify"
)

func audit(t testing.TB, job *batch.Job, o verify.Options) *verify.Report {
	t.Helper()
	r, err := verify.Audit(context.Background(), job, o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func wantOK(t testing.TB, r *verify.Report) {
	t.Helper()
	if !r.OK() {
		var b bytes.Buffer
		r.WriteText(&b)
		t.Errorf("the audit refused true answers:\n%s", b.String())
	}
}

func TestClosedFormsPass(t *testing.T) {
	for _, precision := range []batch.Precision{batch.Single, batch.Double} {
		for _, offset := range []r3.Vec{{}, offsetKm()} {
			job, cases := closedJob(t, precision, offset)
			r := audit(t, job, verify.Options{DescentEvery: 1})
			wantOK(t, r)
			if r.Rows != len(cases) || r.Status.Separated != 4 || r.Status.Touching != 3 || r.Status.Penetrating != 3 {
				t.Errorf("%v: %d rows, %+v", precision, r.Rows, r.Status)
			}
			// Every check that these rows allow ran; the rest say that they did not.
			for name, ran := range map[string]int{
				"status": 10, "invalid": 10, "gap": 10, "iterations": 10, "normal": 10, "plane": 10,
				"member_a": 10, "member_b": 10, "translation": 10, "witnesses": 7, "directions": 6,
				"descent": 4, // not with a half-space
				"bits":    0, "separation": 0, "columns": 1,
			} {
				if c := r.Check(name); c == nil || c.Ran != ran || c.Skipped != 0 {
					t.Errorf("%v: check %s is %+v, want %d rows and none skipped", precision, name, c, ran)
				}
			}
		}
	}
}

// TestSolvedPass audits the answers of the solvers for all kinds of shapes.
func TestSolvedPass(t *testing.T) {
	lib := newLibrary(t, mixedShapes()...)
	for _, precision := range []batch.Precision{batch.Single, batch.Double} {
		for _, offset := range []r3.Vec{{}, offsetKm()} {
			for _, query := range []batch.Query{batch.Distance, batch.Penetration, batch.Collide} {
				n := 1500
				if precision == batch.Double {
					n = 200
				}
				job := solved(t, lib, randomPairs(lib, n, 7, offset), batch.Options{Precision: precision, Query: query})
				r := audit(t, job, verify.Options{DescentEvery: 2})
				wantOK(t, r)
				if r.Status.Separated < n/4 || r.Status.Penetrating < n/4 {
					t.Errorf("the set does not hold both outcomes: %+v", r.Status)
				}
				// Half-spaces are proved exactly and the rest are not close calls.
				if r.Unproved > n/100 {
					t.Errorf("%v: %d of %d statuses neither proved nor refuted", query, r.Unproved, n)
				}
			}
		}
	}
}

func TestCutOff(t *testing.T) {
	lib := newLibrary(t, mixedShapes()...)
	in := randomPairs(lib, 500, 3, r3.Vec{})
	job := solved(t, lib, in, batch.Options{HasCutOff: true, CutOff: 0.1})
	wantOK(t, audit(t, job, verify.Options{}))

	// The same columns without the cut-off: wide gaps are no longer excused.
	job.Options.HasCutOff = false
	if r := audit(t, job, verify.Options{}); r.Check("gap").Failed == 0 {
		t.Error("gaps beyond the tolerance passed without a cut-off")
	}
}

// TestMissingColumns drops each column and wants the checks that need it to be
// skipped on every row where they ran before.
func TestMissingColumns(t *testing.T) {
	for _, c := range []struct {
		col    batch.Columns
		checks []string
	}{
		{batch.ColDistance, []string{"translation"}},
		{batch.ColGap, []string{"gap"}},
		{batch.ColNormal, []string{"normal", "plane", "translation"}},
		{batch.ColWitnessA, []string{"member_a", "translation", "witnesses"}},
		{batch.ColWitnessB, []string{"member_b", "translation", "witnesses"}},
		{batch.ColStatus, []string{"status"}},
		{batch.ColIterations, []string{"iterations"}},
		{batch.ColMethod, []string{"method"}},
	} {
		job, _ := closedJob(t, batch.Double, r3.Vec{})
		drop(job, c.col)
		r := audit(t, job, verify.Options{})
		if r.Wrong() != 0 {
			t.Errorf("without column %v: %d wrong", c.col, r.Wrong())
		}
		for _, name := range c.checks {
			if got := r.Check(name); got.Ran != 0 || got.Skipped == 0 {
				t.Errorf("without column %v check %s ran on %d rows and was skipped on %d", c.col, name, got.Ran,
					got.Skipped)
			}
		}
	}
}

// A distance below 0 alone, without a gap and a status, bounds nothing from above: no direction can refute it, and the
// check is skipped on those rows and counted.
func TestDepthWithoutGap(t *testing.T) {
	job, _ := closedJob(t, batch.Double, r3.Vec{})
	for _, col := range []batch.Columns{batch.ColGap, batch.ColStatus, batch.ColBits} {
		drop(job, col)
	}
	deep := 0
	for i := range job.Results.N {
		if job.Results.Distance().At(i) < 0 {
			deep++
		}
	}
	if deep == 0 {
		t.Fatal("no row has a negative distance")
	}
	r := audit(t, job, verify.Options{})
	if c := r.Check("directions"); r.Wrong() != 0 || c.Ran != 0 || c.Skipped != deep {
		t.Errorf("%d wrong; directions ran on %d rows and was skipped on %d of %d", r.Wrong(), c.Ran, c.Skipped, deep)
	}
}

// drop takes a column out of the job.
func drop(job *batch.Job, col batch.Columns) {
	r := job.Results
	r.Drop(col)
	job.Options.Columns = r.Columns
}

func TestColumnNotAskedFor(t *testing.T) {
	job, _ := closedJob(t, batch.Single, r3.Vec{})
	job.Options.Columns = batch.ColStatus | batch.ColDistance
	r := audit(t, job, verify.Options{})
	more := bits.OnesCount64(uint64(job.Results.Columns &^ job.Options.Columns))
	if c := r.Check("columns"); more < 6 || c.Failed != more || r.OK() {
		t.Errorf("%d columns too many: %+v, OK %v", more, c, r.OK())
	}
}

func TestInvalidRows(t *testing.T) {
	make := func() *batch.Job {
		lib := newLibrary(t, geom.Sphere{R: 1}, geom.Halfspace{})
		in := batch.NewPairs(3)
		good := geom.Pose{Rotation: quat.Number{Real: 1}}
		far := geom.Pose{Position: r3.Vec{X: 3}, Rotation: quat.Number{Real: 1}}
		in.SetRow(0, &batch.Row{PoseA: good, PoseB: geom.Pose{Position: r3.Vec{X: math.NaN()}, Rotation: far.Rotation}})
		in.SetRow(1, &batch.Row{ShapeB: 7, PoseA: good, PoseB: far})
		in.SetRow(2, &batch.Row{PoseA: good, PoseB: far})
		return solved(t, lib, in, batch.Options{})
	}
	r := audit(t, make(), verify.Options{})
	wantOK(t, r)
	if r.Status.Invalid != 2 || r.Check("invalid").Ran != 3 {
		t.Errorf("statuses %+v, check %+v", r.Status, r.Check("invalid"))
	}
	for name, spoil := range map[string]func(*batch.Results){
		"refused row answered":    func(r *batch.Results) { r.Status()[0] = uint8(batch.Separated) },
		"refused row undecided":   func(r *batch.Results) { r.Status()[1] = uint8(batch.Undecided) },
		"good row invalid":        func(r *batch.Results) { r.Status()[2] = uint8(batch.Invalid) },
		"good row blank":          func(r *batch.Results) { r.PutFailure(2, batch.Invalid) },
		"refused with a distance": func(r *batch.Results) { r.Distance().Set(0, 1) },
		"refused with a gap":      func(r *batch.Results) { r.Gap()[1] = 0 },
		"refused with a normal":   func(r *batch.Results) { r.Normal().Set(4, 0) },
		"refused with a witness":  func(r *batch.Results) { r.WitnessB().Set(0, 0) },
		"refused with iterations": func(r *batch.Results) { r.Iterations()[0] = 1 },
	} {
		job := make()
		spoil(job.Results)
		if r := audit(t, job, verify.Options{}); r.Check("invalid").Failed != 1 || r.Wrong() != 1 {
			t.Errorf("%s: %+v", name, r.Check("invalid"))
		}
	}
}

func TestUndecided(t *testing.T) {
	job, cases := closedJob(t, batch.Single, r3.Vec{})
	job.Results.Reset()
	r := audit(t, job, verify.Options{})
	if r.Undecided() != len(cases) || r.Wrong() != 0 || r.OK() {
		t.Errorf("unanswered rows: %d undecided, %d wrong, OK %v", r.Undecided(), r.Wrong(), r.OK())
	}
	// An answer that meets the tolerance must not be called undecided.
	job, _ = closedJob(t, batch.Single, r3.Vec{})
	job.Results.Status()[0] = uint8(batch.Undecided)
	if r := audit(t, job, verify.Options{}); r.Check("status").Failed != 1 {
		t.Error("undecided passed with a gap within the tolerance")
	}
	// With a wide gap it may, and its interval is audited nevertheless.
	job.Results.Gap()[0] = 1e-3
	if r := audit(t, job, verify.Options{}); r.Wrong() != 0 || r.Undecided() != 1 ||
		r.Check("plane").Ran != len(cases) {
		t.Errorf("%d wrong, %d undecided", r.Wrong(), r.Undecided())
	}
	job.Results.Distance().Set(0, 1)
	if r := audit(t, job, verify.Options{}); r.Check("plane").Failed != 1 {
		t.Error("a false interval of an undecided row passed")
	}
}

// A solver that gave up with a gap just above its tolerance may find less of it stored: the
// rounded distance lies nearer to the middle of the bounds, by up to half a unit.
func TestUndecidedAfterRounding(t *testing.T) {
	for _, c := range []struct {
		units  float64 // by which the stored gap is below the tolerance
		failed int
	}{{0.9, 0}, {4, 1}} {
		job, _ := closedJob(t, batch.Single, r3.Vec{})
		pair := job.Library.PairSize(job.Input.(*batch.Pairs).ShapeA[0], job.Input.(*batch.Pairs).ShapeB[0])
		tolerance := job.Options.SolverTolerance(pair)
		job.Results.Status()[0] = uint8(batch.Undecided)
		job.Results.Gap()[0] = float32(tolerance - c.units*0x1p-24*math.Abs(job.Results.Distance().At(0)))
		if r := audit(t, job, verify.Options{}); r.Check("status").Failed != c.failed {
			t.Errorf("%v units below the tolerance: %d failed, want %d", c.units, r.Check("status").Failed, c.failed)
		}
	}
}

// TestDeterministic wants the same report whatever the number of workers and the
// split into chunks, and rows numbered in the whole.
func TestDeterministic(t *testing.T) {
	lib := newLibrary(t, mixedShapes()...)
	in := randomPairs(lib, 5000, 11, r3.Vec{})
	job := solved(t, lib, in, batch.Options{})
	for i := 0; i < in.Len(); i += 37 { // something to report
		job.Results.Distance().Set(i, job.Results.Distance().At(i)+1e-3)
	}
	var want []byte
	for _, workers := range []int{1, 2, 7} {
		got, err := json.Marshal(audit(t, job, verify.Options{Workers: workers}))
		if err != nil {
			t.Fatal(err)
		}
		if want == nil {
			want = got
		}
		if !bytes.Equal(got, want) {
			t.Errorf("%d workers give another report", workers)
		}
	}
	var chunks []*verify.Report
	for lo := 0; lo < in.Len(); lo += 1664 {
		hi := min(lo+1664, in.Len())
		part := &batch.Job{Library: lib, Input: in.Slice(lo, hi), Options: job.Options,
			Results: job.Results.Slice(lo, hi)}
		chunks = append(chunks, audit(t, part, verify.Options{FirstRow: lo}))
	}
	slices.Reverse(chunks) // the order of merges does not matter
	var whole verify.Report
	for _, c := range chunks {
		whole.Merge(c)
	}
	// The check of the job itself runs once a chunk.
	whole.Check("columns").Ran = 1
	got, err := json.Marshal(&whole)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("chunks give another report:\n%s\nwant\n%s", got, want)
	}
}

func TestErrors(t *testing.T) {
	job, _ := closedJob(t, batch.Single, r3.Vec{})
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := verify.Audit(ctx, job, verify.Options{}); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled audit: %v", err)
	}
	if _, err := verify.Compare(ctx, job, verify.CompareOptions{}); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled comparison: %v", err)
	}
	if _, err := verify.Audit(context.Background(), job, verify.Options{Workers: -1}); err == nil {
		t.Error("negative workers passed")
	}
	if _, err := verify.Compare(context.Background(), job, verify.CompareOptions{Sample: -1}); err == nil {
		t.Error("negative sample passed")
	}
	job.Results.SetColumn(batch.ColGap, batch.Values{F32: job.Results.Gap()[1:]})
	if _, err := verify.Audit(context.Background(), job, verify.Options{}); err == nil || !strings.Contains(err.Error(),
		"gap") {
		t.Errorf("short column: %v", err)
	}
}

func TestReportForms(t *testing.T) {
	job, _ := closedJob(t, batch.Single, r3.Vec{})
	job.Results.Distance().Set(2, math.NaN())
	rows := 0
	r := audit(t, job, verify.Options{FirstRow: 1000, Progress: func(n int) { rows += n }})
	if rows != r.Rows {
		t.Errorf("progress counted %d rows of %d", rows, r.Rows)
	}
	b, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	var back verify.Report
	if err := json.Unmarshal(b, &back); err != nil {
		t.Fatal(err)
	}
	again, err := json.Marshal(&back)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(b, again) {
		t.Errorf("JSON does not survive a round trip:\n%s\n%s", b, again)
	}
	var out bytes.Buffer
	if err := r.WriteText(&out); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"10 rows", "1 wrong", "row 1002", "NaN", "worst/allowed"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the text lacks %q:\n%s", want, out.String())
		}
	}
	if err := r.WriteText(failingWriter{}); err == nil {
		t.Error("a failing writer is no error")
	}
}

type failingWriter struct{}

func (failingWriter) Write([]byte) (int, error) { return 0, errors.New("full") }

// BenchmarkAudit reports the time a row on one core.
func BenchmarkAudit(b *testing.B) {
	lib := newLibrary(b, mixedShapes()...)
	const rows = 4096
	for _, c := range []struct {
		name string
		o    batch.Options
	}{
		{"distance", batch.Options{}},
		{"no-normal", batch.Options{Columns: batch.ColStatus | batch.ColDistance | batch.ColGap}},
		{"collide", batch.Options{Query: batch.Collide}},
	} {
		b.Run(c.name, func(b *testing.B) {
			job := solved(b, lib, randomPairs(lib, rows, 1, r3.Vec{}), c.o)
			b.ReportAllocs()
			for b.Loop() {
				if _, err := verify.Audit(context.Background(), job, verify.Options{Workers: 1}); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/rows, "ns/row")
		})
	}
}

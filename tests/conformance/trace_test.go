package conformance

import (
	"context"
	"testing"

	"clearance/batch"
	"clearance/cpu"
	"clearance/dispatch"
	"clearance/internal/rowtrace"
	"clearance/internal/scenefile"

	"gonum.org/v1/gonum/spatial/r3"
)

// TestTracesEndAtStoredAnswers: of every kind with every kind, by every method and query of signed distances, in both
// precisions, the bounds of the last step give the stored distance and gap to the last bit, the witnesses of the last
// step are the stored ones, and the steps before it prove bounds that contain the answer.
func TestTracesEndAtStoredAnswers(t *testing.T) {
	stride := 7
	if testing.Short() {
		stride = 23
	}
	rows, err := NewRows(5, stride)
	if err != nil {
		t.Fatal(err)
	}
	backend := cpu.NewReference()
	solvers := map[string]int{}
	cells := map[[2]int32]bool{}
	for _, query := range []batch.Query{batch.Distance, batch.Penetration, batch.Collide} {
		for _, precision := range []batch.Precision{batch.Single, batch.Double} {
			for _, method := range []batch.Method{batch.Auto, batch.GJK, batch.Nesterov, batch.Polyak, batch.RTR} {
				o := batch.Options{Query: query, Method: method, Precision: precision}
				if !query.Info().Boolean() {
					o.Columns = o.EffectiveColumns() | batch.ColWitnessA | batch.ColWitnessB | batch.ColNormal
				}
				job := &batch.Job{Library: rows.Library, Input: rows.Pairs, Options: o}
				if _, err := dispatch.New(backend).Run(context.Background(), job, dispatch.Options{}); err != nil {
					t.Fatal(err)
				}
				again := batch.NewResults(1, &o)
				for i := range rows.Len() {
					status := batch.Status(job.Results.Status()[i])
					trace, err := rowtrace.Of(job, i)
					if (err != nil) != (rows.Expect[i].Relation == Nonsense) && status != batch.Invalid {
						t.Fatalf("%s: %v", rows.Describe(i), err)
					}
					if err != nil {
						continue
					}
					cells[[2]int32{rows.Pairs.ShapeA[i] / 2, rows.Pairs.ShapeB[i] / 2}] = true
					checkTrace(t, rows, job, i, trace, again)
					for _, s := range trace.Steps {
						solvers[s.Solver]++
					}
				}
			}
		}
	}
	for _, s := range []string{"gjk", "nesterov", "polyak", "rtr", "epa", "formula", "answer"} {
		if solvers[s] == 0 {
			t.Errorf("no step by %s", s)
		}
	}
	if n := len(rows.Forms); len(cells) < n*n-1 { // two half-spaces have no answer
		t.Errorf("traces of %d pairs of forms, want %d", len(cells), n*n-1)
	}
	t.Logf("%d rows, steps %v", rows.Len(), solvers)
}

// checkTrace compares a trace with the stored answer of its row. again has room for one row.
func checkTrace(t *testing.T, rows *Rows, job *batch.Job, i int, trace *scenefile.Trace, again *batch.Results) {
	t.Helper()
	last := trace.Steps[len(trace.Steps)-1]
	status := batch.Status(job.Results.Status()[i])
	if trace.Status != status.String() || last.Solver != "answer" || last.Lower != trace.Lower ||
		last.Upper != trace.Upper {
		t.Fatalf("%s: trace ends at %+v, the status is %v", rows.Describe(i), last, status)
	}
	for _, s := range trace.Steps[:len(trace.Steps)-1] {
		slack := scenefile.Number(1e-12)
		if status != batch.Invalid && (s.Lower > trace.Upper+slack || s.Upper < trace.Lower-slack) {
			t.Fatalf("%s: step %d by %s proves [%g, %g], the answer is [%g, %g]", rows.Describe(i), s.Evaluation,
				s.Solver, s.Lower, s.Upper, trace.Lower, trace.Upper)
		}
	}
	if job.Options.Query.Info().Boolean() || status == batch.Invalid {
		return
	}
	v := func(x [3]float64) r3.Vec { return r3.Vec{X: x[0], Y: x[1], Z: x[2]} }
	again.Put(0, &batch.Answer{Status: status, Distance: float64(trace.Value), Lower: float64(trace.Lower),
		Upper: float64(trace.Upper), Normal: v(last.Direction), WitnessA: v(last.Witnesses.A),
		WitnessB: v(last.Witnesses.B)})
	for _, c := range []batch.Columns{batch.ColDistance, batch.ColGap, batch.ColNormal, batch.ColWitnessA,
		batch.ColWitnessB} {
		width := c.Info().Width
		stored, ended := job.Results.Column(c), again.Column(c)
		for k := range width {
			if x, y := number(stored, width*i+k), number(ended, k); x != y && (x == x || y == y) {
				t.Fatalf("%s: %s: %g is stored, the trace ends at %g", rows.Describe(i), c.Info().Name, x, y)
			}
		}
	}
}

// number is element i of a column of real numbers.
func number(v *batch.Values, i int) float64 {
	if v.F64 != nil {
		return v.F64[i]
	}
	return float64(v.F32[i])
}

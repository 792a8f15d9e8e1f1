// Package rowcheck compares and audits columns of results, for tests of back ends and of what is above
// them.
package rowcheck

import (
	"math"
	"testing"

	"clearance/batch"
	"clearance/geom"
	"clearance/internal/testkit"
	"clearance/verify"

	"gonum.org/v1/gonum/spatial/r3"
)

// Differs returns the name of the first column in which row i of r and row j of s are not equal bit for
// bit, "" if there is none. Columns that either result lacks do not count.
func Differs(r *batch.Results, i int, s *batch.Results, j int) (column string) {
	return r.Differs(i, s, j).String()
}

// Same reports whether row i of r and row j of s are equal bit for bit, in all columns that both have.
func Same(r *batch.Results, i int, s *batch.Results, j int) bool { return Differs(r, i, s, j) == "" }

// Listed is the list of pairs that worlds stand for.
func Listed(w *batch.Worlds) *batch.Pairs {
	pairs := batch.NewPairs(w.Len())
	var row batch.Row
	for i := range w.Len() {
		w.Row(i, &row)
		pairs.SetRow(i, &row)
	}
	return pairs
}

// Audit fails the test on every answer that the audit refutes, and returns the report.
func Audit(t *testing.T, job *batch.Job) *verify.Report {
	t.Helper()
	report, err := verify.Audit(t.Context(), job, verify.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if report.Wrong() == 0 {
		return report
	}
	t.Errorf("the audit refutes %d rows of %d", report.Wrong(), report.Rows)
	for _, c := range report.Checks {
		for _, w := range c.Worst {
			if w.Failed {
				t.Errorf("row %d, %s: found %g, expected %g, allowed %g", w.Row, c.Name, w.Found, w.Expected, w.Allowed)
			}
		}
	}
	return report
}

// TinyPairs returns pairs of a library's first shape, a point, that lie as far apart as testkit.TinyOffsets says.
func TinyPairs(t *testing.T) (lib *batch.Library, pairs *batch.Pairs, apart []float64) {
	t.Helper()
	point, err := geom.NewConvex([]r3.Vec{{}})
	if err != nil {
		t.Fatal(err)
	}
	if lib, err = batch.NewLibrary([]geom.Shape{point, geom.Sphere{R: 1}}, nil); err != nil {
		t.Fatal(err)
	}
	offsets, apart := testkit.TinyOffsets()
	pairs = batch.NewPairs(len(offsets))
	for i, at := range offsets {
		pairs.SetRow(i, &batch.Row{PoseA: geom.IdentityPose(), PoseB: geom.Translate(at.X, at.Y, at.Z)})
	}
	return lib, pairs, apart
}

// Points fails the test unless the answers are those of pairs of points that are so far apart: the distances lie within
// their gaps, no status is one that they refute, and normals, which are float64, are units.
func Points(t *testing.T, what string, got *batch.Results, apart []float64) {
	t.Helper()
	for i, d := range apart {
		n, status := got.Normal().F64[3*i:3*i+3], batch.Status(got.Status()[i])
		length := math.Hypot(math.Hypot(n[0], n[1]), n[2])
		if !(math.Abs(got.Distance().At(i)-d) <= float64(got.Gap()[i])) || !(math.Abs(length-1) < 1e-12) ||
			status != batch.Touching && status != batch.Separated {
			t.Errorf("%s: %v apart: %v, %v ± %v, normal %v", what, d, status, got.Distance().At(i), got.Gap()[i], n)
		}
	}
}

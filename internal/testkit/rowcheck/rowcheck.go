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
	floats := func(f, g *batch.Floats, width int) bool {
		if f.Len() == 0 || g.Len() == 0 {
			return false
		}
		for k := range width {
			if math.Float64bits(f.At(width*i+k)) != math.Float64bits(g.At(width*j+k)) {
				return true
			}
		}
		return false
	}
	switch {
	case r.Status != nil && s.Status != nil && r.Status[i] != s.Status[j]:
		return "status"
	case floats(&r.Distance, &s.Distance, 1):
		return "distance"
	case r.Gap != nil && s.Gap != nil && math.Float32bits(r.Gap[i]) != math.Float32bits(s.Gap[j]):
		return "gap"
	case floats(&r.Normal, &s.Normal, 3):
		return "normal"
	case floats(&r.WitnessA, &s.WitnessA, 3):
		return "witness_a"
	case floats(&r.WitnessB, &s.WitnessB, 3):
		return "witness_b"
	case floats(&r.Point, &s.Point, 3):
		return "point"
	case r.Iterations != nil && s.Iterations != nil && r.Iterations[i] != s.Iterations[j]:
		return "iterations"
	case r.Method != nil && s.Method != nil && r.Method[i] != s.Method[j]:
		return "method"
	case r.Bits != nil && s.Bits != nil && r.Bit(i) != s.Bit(j):
		return "bits"
	}
	return ""
}

// Same reports whether row i of r and row j of s are equal bit for bit, in all columns that both have.
func Same(r *batch.Results, i int, s *batch.Results, j int) bool { return Differs(r, i, s, j) == "" }

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
		n, status := got.Normal.F64[3*i:3*i+3], batch.Status(got.Status[i])
		length := math.Hypot(math.Hypot(n[0], n[1]), n[2])
		if !(math.Abs(got.Distance.At(i)-d) <= float64(got.Gap[i])) || !(math.Abs(length-1) < 1e-12) ||
			status != batch.Touching && status != batch.Separated {
			t.Errorf("%s: %v apart: %v, %v ± %v, normal %v", what, d, status, got.Distance.At(i), got.Gap[i], n)
		}
	}
}

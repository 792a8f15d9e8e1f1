package cpu

import (
	"fmt"
	"testing"

	"clearance/batch"
	"clearance/geom"
	"clearance/internal/testkit/rowcheck"
	"clearance/verify"

	"gonum.org/v1/gonum/spatial/r3"
)

// TestPointHulls: hulls of one point on themselves pass the audit with every method, normal
// included.
func TestPointHulls(t *testing.T) {
	var shapes []geom.Shape
	for _, at := range []r3.Vec{{}, {X: 1, Y: 2, Z: 3}} {
		c, err := geom.NewConvex([]r3.Vec{at})
		if err != nil {
			t.Fatal(err)
		}
		shapes = append(shapes, c)
	}
	lib, err := batch.NewLibrary(shapes, nil)
	if err != nil {
		t.Fatal(err)
	}
	p := batch.NewPairs(len(shapes))
	for i := range shapes {
		p.SetRow(i, &batch.Row{ShapeA: int32(i), ShapeB: int32(i), PoseA: geom.IdentityPose(),
			PoseB: geom.IdentityPose()})
	}
	for _, method := range []batch.Method{batch.Auto, batch.GJK, batch.Nesterov, batch.Polyak, batch.RTR} {
		for _, precision := range []batch.Precision{batch.Single, batch.Double} {
			for _, variant := range []string{"", "off"} {
				b, err := New(Options{SIMD: variant})
				if err != nil {
					t.Fatal(err)
				}
				job := &batch.Job{Library: lib, Input: p, Options: batch.Options{Precision: precision, Method: method}}
				job.Results = batch.NewResults(p.Len(), &job.Options)
				if err := b.Run(t.Context(), job, 0, p.Len(), job.Results); err != nil {
					t.Fatal(err)
				}
				b.Close()
				report, err := verify.Audit(t.Context(), job, verify.Options{})
				if err != nil || report.Wrong() > 0 {
					t.Errorf("%v, %v, kernels %q: %d wrong, %v, status %v", method, precision, variant, report.Wrong(),
						err, job.Results.Status())
				}
			}
		}
	}
}

// TestPointsAlmostTogether: the distances of points that are so close to one another that its square underflows lie
// within their gaps, and a status is none that the distance refutes.
func TestPointsAlmostTogether(t *testing.T) {
	lib, p, apart := rowcheck.TinyPairs(t)
	for _, query := range []batch.Query{batch.Distance, batch.Collide, batch.Penetration} {
		for _, method := range []batch.Method{batch.Auto, batch.GJK, batch.Nesterov, batch.Polyak, batch.RTR} {
			for _, variant := range append(variants(t), "off") {
				b := newVariant(t, variant, 1)
				o := batch.Options{Query: query, Precision: batch.Double, Method: method,
					Columns: query.Available() &^ (batch.ColBits | batch.DerivedColumns)}
				got := solve(t, b, lib, p, o, 0)
				rowcheck.Points(t, fmt.Sprintf("%v, %v, kernels %q", query, method, variant), got, apart)
			}
		}
	}
}

package cpu

import (
	"testing"

	"clearance/batch"
	"clearance/geom"
	"clearance/verify"

	"gonum.org/v1/gonum/spatial/r3"
)

// TestEllipsoidalRows: concentric rows of superquadrics that are ellipsoids, with equal or
// nearly equal axes, are decided and pass the audit, with kernels and without.
func TestEllipsoidalRows(t *testing.T) {
	var shapes []geom.Shape
	for _, axes := range []r3.Vec{{X: 1, Y: 1, Z: 1}, {X: 1, Y: 1, Z: 1 + 1e-9}, {X: 1, Y: 1 + 1e-12, Z: 1 + 1e-6}} {
		shapes = append(shapes, geom.Superquadric{SemiAxes: axes, Alpha1: 1, Alpha2: 1})
	}
	shapes = append(shapes, geom.Sphere{R: 0.5}, geom.Ellipsoid{SemiAxes: r3.Vec{X: 0.5, Y: 0.5, Z: 0.5}},
		geom.Capsule{R: 0.3, HalfLength: 0.2}, geom.Cylinder{R: 0.3, HalfLength: 0.2})
	lib, err := batch.NewLibrary(shapes, nil)
	if err != nil {
		t.Fatal(err)
	}
	n := len(shapes)
	p := batch.NewPairs(3 * n)
	for i := range 3 * n {
		p.SetRow(i, &batch.Row{ShapeA: int32(i / n), ShapeB: int32(i % n), PoseA: geom.IdentityPose(),
			PoseB: geom.IdentityPose()})
	}
	for _, precision := range []batch.Precision{batch.Single, batch.Double} {
		for _, variant := range []string{"", "off"} {
			b, err := New(Options{SIMD: variant})
			if err != nil {
				t.Fatal(err)
			}
			job := &batch.Job{Library: lib, Input: p, Options: batch.Options{Precision: precision}}
			job.Results = batch.NewResults(p.Len(), &job.Options)
			if err := b.Run(t.Context(), job, 0, p.Len(), job.Results); err != nil {
				t.Fatal(err)
			}
			b.Close()
			for i, s := range job.Results.Status() {
				if batch.Status(s) != batch.Penetrating {
					t.Errorf("%v, kernels %q: %T and %T: %v after %d iterations", precision, variant, shapes[i/n],
						shapes[i%n],
						batch.Status(s), job.Results.Iterations()[i])
				}
			}
			report, err := verify.Audit(t.Context(), job, verify.Options{})
			if err != nil || report.Wrong() > 0 {
				t.Errorf("%v, kernels %q: %d wrong, %v", precision, variant, report.Wrong(), err)
			}
		}
	}
}

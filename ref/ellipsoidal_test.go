package ref

import (
	"fmt"
	"testing"

	"clearance/geom"

	"gonum.org/v1/gonum/spatial/r3"
)

// TestEllipsoidalSuperquadrics: superquadrics of exponents (1, 1), equal or nearly equal axes,
// concentric with round bodies, are answered as the ellipsoids that they are.
func TestEllipsoidalSuperquadrics(t *testing.T) {
	for _, axes := range []r3.Vec{{X: 1, Y: 1, Z: 1}, {X: 1, Y: 1, Z: 1 + 1e-9}, {X: 1, Y: 1 + 1e-12, Z: 1 + 1e-6}} {
		for _, margin := range []float64{0, 0.25} {
			a := geom.WithMargin(geom.Superquadric{SemiAxes: axes, Alpha1: 1, Alpha2: 1}, margin)
			same := geom.WithMargin(geom.Ellipsoid{SemiAxes: axes}, margin)
			for _, b := range []geom.Shape{geom.Sphere{R: 0.5}, a,
				geom.Ellipsoid{SemiAxes: r3.Vec{X: 0.5, Y: 0.5, Z: 0.5}},
				geom.Capsule{R: 0.3, HalfLength: 0.2}, geom.Cylinder{R: 0.3, HalfLength: 0.2}} {
				t.Run(fmt.Sprintf("%v %v %T", axes, margin, b), func(t *testing.T) {
					var ws Workspace
					p := NewPair(a, b, geom.IdentityPose(), geom.IdentityPose())
					q := NewPair(same, b, geom.IdentityPose(), geom.IdentityPose())
					o := Options{Method: MethodAuto, Tolerance: 1e-9 * p.Size(), MaxIterations: 20_000}
					r, want := Solve(&p, o, &ws), Solve(&q, o, &ws)
					if r.Status != Penetrating || r != want {
						t.Errorf("%v, %v to %v after %d iterations, the ellipsoid %v, %v to %v",
							r.Status, r.Lower, r.Upper, r.Iterations, want.Status, want.Lower, want.Upper)
					}
				})
			}
		}
	}
}

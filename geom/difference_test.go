package geom_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"clearance/geom"
	"clearance/internal/testkit"

	"gonum.org/v1/gonum/spatial/r3"
)

// h of A - pose·B is h_A(d) + h_B(-Rᵀd) - <d, p>, and the witnesses are points of A and of pose·B.
func TestDifferenceSupport(t *testing.T) {
	rng := rand.New(rand.NewPCG(31, 32))
	shapes := analyticShapes()
	for range 500 {
		a, b, pose := shapes[rng.IntN(len(shapes))], shapes[rng.IntN(len(shapes))], testkit.Pose(rng, 1)
		diff := geom.MinkowskiDifference(a, b, pose)
		d := randomUnit(rng)
		m := pose.Matrix()
		want := closedForm(a, d) + closedForm(b, r3.Scale(-1, m.MulVecT(d))) - r3.Dot(d, pose.Position)
		scale := a.BoundingRadius() + b.BoundingRadius() + r3.Norm(pose.Position)
		if got := diff.Value(d); math.Abs(got-want) > 32*eps*scale {
			t.Fatalf("%s - %s: h(%v) = %g, want %g", label(a), label(b), d, got, want)
		}
		wa, wb := diff.Witnesses(d)
		if r3.Sub(wa, wb) != diff.Support(d) {
			t.Fatalf("witnesses %v and %v do not make the support point %v", wa, wb, diff.Support(d))
		}
		if ra, rb := a.Residual(wa), b.Residual(pose.ApplyInverse(wb)); math.Abs(ra) > 64*eps*scale ||
			math.Abs(rb) > 64*eps*scale {
			t.Fatalf("%s - %s: witnesses have residuals %g and %g", label(a), label(b), ra, rb)
		}
	}
}

func TestDifferenceHessian(t *testing.T) {
	rng := rand.New(rand.NewPCG(33, 34))
	a := geom.Ellipsoid{SemiAxes: vec(1, 2, 3)}
	b := geom.WithMargin(geom.Superquadric{SemiAxes: vec(2, 1, 1), Alpha1: 1.2, Alpha2: 1.4}, 0.5)
	for range 200 {
		diff := geom.MinkowskiDifference(a, b, testkit.Pose(rng, 1))
		d := randomUnit(rng)
		h, ok := diff.SupportHessian(d)
		if !ok {
			t.Fatalf("no Hessian at %v", d)
		}
		const step = 1e-6
		for j, e := range []r3.Vec{{X: step}, {Y: step}, {Z: step}} {
			col := r3.Scale(1/(2*step), r3.Sub(diff.Support(r3.Add(d, e)), diff.Support(r3.Sub(d, e))))
			for i := range 3 {
				if got, want := h[3*i+j], entry(col, i); math.Abs(got-want) > 1e-3 {
					t.Fatalf("H[%d,%d] = %g at %v, differences give %g", i, j, got, d, want)
				}
			}
		}
	}
	sharp := geom.MinkowskiDifference(a, geom.Box{HalfExtents: vec(1, 1, 1)}, geom.IdentityPose())
	if _, ok := sharp.SupportHessian(vec(1, 2, 3)); ok {
		t.Error("a Hessian with a box, which is not Smooth")
	}
	sharp.A, sharp.B = sharp.B, sharp.A
	if _, ok := sharp.SupportHessian(vec(1, 2, 3)); ok {
		t.Error("a Hessian of a box, which is not Smooth")
	}
	flat := geom.MinkowskiDifference(geom.Capsule{R: 1, HalfLength: 1}, a, geom.IdentityPose())
	if _, ok := flat.SupportHessian(vec(1, 0, 0)); ok {
		t.Error("a Hessian across the axis of a capsule")
	}
}

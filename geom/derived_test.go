package geom_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/spatial/r2"
	"gonum.org/v1/gonum/spatial/r3"

	"clearance/geom"
	"clearance/internal/testkit"
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

// Supports, radii and kinds of scaled shapes are those of the shape, times the factor.
func TestScaled(t *testing.T) {
	corners := []r3.Vec{vec(0.4, 0, 0), vec(0, 0.5, 0), vec(0, 0, 0.3), vec(-0.4, -0.1, 0), vec(0, -0.5, 0.1),
		vec(0, 0, -0.3)}
	hull, err := geom.NewConvex(corners)
	if err != nil {
		t.Fatal(err)
	}
	smooth, err := geom.NewSmoothHull(corners, 12, vec(0.05, 0, 0))
	if err != nil {
		t.Fatal(err)
	}
	revolution, err := geom.NewSmoothRevolution([]r2.Vec{{X: 0.4, Y: 0.5}, {X: 0.3, Y: -0.2}, {X: 0.1, Y: -0.5}}, 20,
		1e-3)
	if err != nil {
		t.Fatal(err)
	}
	seen := map[geom.Kind]bool{}
	rng := rand.New(rand.NewPCG(17, 18))
	for _, s := range append(append(analyticShapes(), samples(t)...), hull, smooth, revolution,
		geom.WithMargin(hull, 0.1), geom.WithMargin(geom.Box{HalfExtents: vec(1, 2, 3)}, 0.25), geom.Halfspace{}) {
		seen[s.Kind()] = true
		for _, k := range []float64{1e-4, 1.0 / 3, 1, 1e4} {
			big, err := geom.Scaled(s, k)
			if err != nil {
				t.Fatalf("%+v times %g: %v", s, k, err)
			}
			if big.Kind() != s.Kind() {
				t.Fatalf("a %v times %g is a %v", s.Kind(), k, big.Kind())
			}
			if s.Kind() == geom.KindHalfspace {
				continue
			}
			size := s.BoundingRadius() + r3.Norm(s.Center())
			for what, pair := range map[string][2]float64{
				"radius of the ball": {s.Radius(), big.Radius()}, "bounding radius": {s.BoundingRadius(),
					big.BoundingRadius()},
			} {
				if !(math.Abs(pair[1]-k*pair[0]) <= 1e-13*k*size) {
					t.Errorf("%v times %g: %s %g, want %g", s.Kind(), k, what, pair[1], k*pair[0])
				}
			}
			for range 20 {
				u := testkit.Unit(rng)
				got, want := r3.Dot(u, geom.Support(big, u)), k*r3.Dot(u, geom.Support(s, u))
				if !(math.Abs(got-want) <= 1e-13*k*size) {
					t.Fatalf("%v times %g: support value %g along %v, want %g", s.Kind(), k, got, u, want)
				}
			}
		}
	}
	for k := range geom.KindCount {
		if !seen[k] {
			t.Errorf("no %v was scaled", k)
		}
	}
}

// What cannot be scaled is refused, and what leaves the range of its kind does not validate.
func TestScaledRefuses(t *testing.T) {
	for _, k := range []float64{0, -1, math.NaN()} {
		if s, err := geom.Scaled(geom.Sphere{R: 1}, k); err == nil {
			t.Errorf("scaled by %g: %v", k, s)
		}
	}
	hull, err := geom.NewConvex([]r3.Vec{vec(1, 0, 0), vec(0, 1, 0), vec(0, 0, 1), vec(0, 0, 0)})
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range []geom.Shape{hull, geom.Sphere{R: 1}, geom.WithMargin(geom.Sphere{R: 1}, 1),
		geom.WithMargin(hull, 1)} {
		if big, err := geom.Scaled(s, 1e300); err == nil && big.Validate() == nil {
			t.Errorf("a %v of 1e300 m passes", s.Kind())
		} else if err != nil && big != nil {
			t.Errorf("a %v comes with the error %v", big.Kind(), err)
		}
	}
}

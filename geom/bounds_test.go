package geom_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"clearance/geom"

	"gonum.org/v1/gonum/spatial/r3"
)

// The bounding ball holds all support points and touches one, the inscribed ball
// lies under all support planes and touches one, and the box is that of the
// six axis directions.
func TestBounds(t *testing.T) {
	rng := rand.New(rand.NewPCG(25, 26))
	for _, s := range analyticShapes() {
		c, outer, inner := s.Center(), s.BoundingRadius(), s.Inradius()
		tol := 32 * eps * outer
		if r := s.Residual(c); !(r <= 0) {
			t.Errorf("%s: the center has residual %g", label(s), r)
		}
		for i := range 300 {
			d := randomUnit(rng)
			if i%2 == 0 {
				d = generalUnit(rng, s)
			}
			p := geom.Support(s, d)
			if far := r3.Norm(r3.Sub(p, c)); !(far <= outer+tol) {
				t.Fatalf("%s: %v lies %g from the center, bounding radius %g", label(s), p, far, outer)
			}
			if near := r3.Dot(d, r3.Sub(p, c)); !(near >= inner-tol) {
				t.Fatalf("%s: the support plane along %v is %g from the center, inradius %g", label(s), d, near, inner)
			}
		}
		lo, hi := s.AABB()
		for i, axis := range []r3.Vec{vec(1, 0, 0), vec(0, 1, 0), vec(0, 0, 1)} {
			if got, want := entry(hi, i), supportValue(s, axis); math.Abs(got-want) > 2*eps*outer {
				t.Errorf("%s: AABB ends at %g on axis %d, want %g", label(s), got, i, want)
			}
			if got, want := entry(lo, i), -supportValue(s, r3.Scale(-1, axis)); math.Abs(got-want) > 2*eps*outer {
				t.Errorf("%s: AABB begins at %g on axis %d, want %g", label(s), got, i, want)
			}
		}
	}
}

// Both radii are tight: the extreme of |support point| and of h over a fine set of
// directions comes close to them.
func TestBoundsTight(t *testing.T) {
	rng := rand.New(rand.NewPCG(27, 28))
	for _, s := range []geom.Shape{
		geom.Cylinder{R: 1, HalfLength: 0.5}, geom.Cone{R: 1, HalfLength: 0.5}, geom.Cone{R: 0.5, HalfLength: 1},
		geom.Frustum{RBottom: 1, RTop: 0.5, HalfLength: 2}, geom.Frustum{RBottom: 0.2, RTop: 0.9, HalfLength: 0.3},
		geom.Ellipsoid{SemiAxes: vec(1, 2, 3)},
		geom.Superquadric{SemiAxes: vec(1, 1.2, 0.9), Alpha1: 0.4, Alpha2: 0.7},
		geom.Superquadric{SemiAxes: vec(1, 1.2, 0.9), Alpha1: 1.6, Alpha2: 1.3},
		geom.Superquadric{SemiAxes: vec(1, 1.2, 0.9), Alpha1: 0.6, Alpha2: 1.3},
		geom.Superquadric{SemiAxes: vec(1, 1.2, 0.9), Alpha1: 1.6, Alpha2: 0.7},
		geom.WithMargin(geom.Cone{R: 1, HalfLength: 0.5}, 0.3),
	} {
		far, near := 0.0, math.Inf(1)
		for range 20000 {
			d := randomUnit(rng)
			p := geom.Support(s, d)
			far, near = max(far, r3.Norm(p)), min(near, r3.Dot(d, p))
		}
		if got := s.BoundingRadius(); far < 0.99*got {
			t.Errorf("%s: bounding radius %g, farthest point found at %g", label(s), got, far)
		}
		if got := s.Inradius(); near > 1.01*got {
			t.Errorf("%s: inradius %g, nearest plane found at %g", label(s), got, near)
		}
	}
}

func TestHalfspaceBounds(t *testing.T) {
	h := geom.WithMargin(geom.Halfspace{}, 0.5)
	if !math.IsInf(h.BoundingRadius(), 1) || h.Inradius() != 0.5 || h.Radius() != 0.5 {
		t.Errorf("bounding radius %g, inradius %g, radius %g, want +Inf, 0.5, 0.5", h.BoundingRadius(), h.Inradius(),
			h.Radius())
	}
	lo, hi := h.AABB()
	inf := math.Inf(1)
	if lo != vec(-inf, -inf, -inf) || hi != vec(inf, inf, 0.5) {
		t.Errorf("AABB %v %v", lo, hi)
	}
}

// A ball of the radius returned rolls freely inside the core: h - ρ|d| is still the support
// function of a convex set, that is, the Hessian exceeds the ball's.
func TestMinCurvatureRadius(t *testing.T) {
	rng := rand.New(rand.NewPCG(29, 30))
	for _, axes := range []r3.Vec{vec(1, 1, 1), vec(1, 2, 3), vec(3, 0.1, 3), vec(0.1, 3, 0.1), vec(1e-3, 1, 1e3)} {
		e := geom.Ellipsoid{SemiAxes: axes}
		rho := geom.MinCurvatureRadius(geom.WithMargin(e, 1))
		if want := e.Inradius() * e.Inradius() / e.BoundingRadius(); !(rho <= want && rho > want*(1-8*eps)) {
			t.Errorf("axes %v: ρ = %g, want %g rounded down", axes, rho, want)
		}
		for i := range 500 {
			d := randomUnit(rng)
			if i%2 == 0 {
				d = generalUnit(rng, e)
			}
			h, ok := e.SupportHessian(d)
			x := r3.Unit(r3.Cross(d, randomUnit(rng)))
			q := r3.Dot(x, h.MulVec(x))
			norm := max(math.Abs(h[0]), math.Abs(h[4]), math.Abs(h[8]))
			if !ok || q < rho-8*eps*norm {
				t.Fatalf("axes %v: radius of curvature %g along %v, below ρ = %g", axes, q, d, rho)
			}
		}
	}
	for _, s := range append(analyticShapes(), geom.Halfspace{}) {
		if rho := geom.MinCurvatureRadius(s); s.Kind() != geom.KindEllipsoid && rho != 0 {
			t.Errorf("%s: ρ = %g, want 0", label(s), rho)
		}
	}
}

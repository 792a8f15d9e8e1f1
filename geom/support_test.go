package geom_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"clearance/geom"

	"gonum.org/v1/gonum/spatial/r3"
)

// powerSum is (Σ max(y, 0)^e)^(1/e), scaled by the largest so that nothing overflows.
func powerSum(y []float64, e float64) float64 {
	m := slices.Max(y)
	if !(m > 0) {
		return 0
	}
	sum := 0.0
	for _, v := range y {
		sum += math.Pow(max(v, 0)/m, e)
	}
	return m * math.Pow(sum, 1/e)
}

// The support value equals the closed form. Both are a dozen operations on terms
// no larger than the bounding radius.
func TestSupportClosedForm(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for _, s := range analyticShapes() {
		for range 200 {
			d := randomUnit(rng)
			if rng.IntN(2) == 0 {
				d = generalUnit(rng, s)
			}
			got, want := supportValue(s, d), closedForm(s, d)
			if !(math.Abs(got-want) <= 16*eps*s.BoundingRadius()) {
				t.Fatalf("%s: h(%v) = %g, want %g, off by %g", label(s), d, got, want, got-want)
			}
		}
	}
}

// A support point lies on the surface, and beats the support points of all other directions.
func TestSupportPointOnSurfaceAndMaximal(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	for _, s := range analyticShapes() {
		size := s.BoundingRadius()
		var dirs, points [100]r3.Vec
		for i := range dirs {
			dirs[i] = generalUnit(rng, s)
			if i%2 == 0 {
				dirs[i] = randomUnit(rng)
			}
			points[i] = geom.Support(s, dirs[i])
			if r := s.Residual(points[i]); !(math.Abs(r) <= 16*eps*size) {
				t.Fatalf("%s: support point %v in direction %v has residual %g", label(s), points[i], dirs[i], r)
			}
		}
		for i, d := range dirs {
			h := r3.Dot(d, points[i])
			for j, p := range points {
				if v := r3.Dot(d, p); !(v <= h+16*eps*size) {
					t.Fatalf("%s: <d,x> = %g at the support point of %v, but %g at that of %v", label(s), h, d, v,
						dirs[j])
				}
			}
		}
	}
}

// The point depends on the direction only, not on its length, down to the smallest
// and up to the largest numbers.
func TestSupportScaleOfDirection(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	for _, s := range analyticShapes() {
		for range 20 {
			d := randomUnit(rng)
			want := supportValue(s, d)
			for _, scale := range []float64{0x1p-1000, 0x1p-700, 0x1p-490, 0x1p-30, 0x1p30, 0x1p490, 0x1p700,
				0x1p1000} {
				p := geom.Support(s, r3.Scale(scale, d))
				if got := r3.Dot(d, p); !(math.Abs(got-want) <= 16*eps*s.BoundingRadius()) {
					t.Fatalf("%s: <d,x> = %g for direction %g × %v, want %g", label(s), got, scale, d, want)
				}
			}
		}
	}
}

// A mixture of magnitudes in one direction must not lose the large component, and
// a tiny lateral component still selects a side of the rim.
func TestSupportMixedMagnitudes(t *testing.T) {
	for _, s := range analyticShapes() {
		for _, c := range []struct{ d, like r3.Vec }{
			{vec(1e-300, 0, 0), vec(1, 0, 0)},
			{vec(0, -1e300, 0), vec(0, -1, 0)},
			{vec(1e-200, 0, 1), vec(0, 0, 1)},
			{vec(1e-200, 0, -1e200), vec(0, 0, -1)},
			{vec(5e-324, 5e-324, 0), vec(1, 1, 0)},
			{vec(math.MaxFloat64, math.MaxFloat64, math.MaxFloat64), vec(1, 1, 1)},
		} {
			p := geom.Support(s, c.d)
			got, want := r3.Dot(c.like, p), closedForm(s, c.like)
			if !(math.Abs(got-want) <= 16*eps*s.BoundingRadius()) {
				t.Errorf("%s: direction %v gives %v, <%v,x> = %g, want %g", label(s), c.d, p, c.like, got, want)
			}
		}
	}
	p := geom.Cylinder{R: 1, HalfLength: 2}.CoreSupport(vec(0, 1e-250, 1))
	if want := vec(0, 1, 2); p != want {
		t.Errorf("cylinder: support for a tiny lateral component = %v, want %v", p, want)
	}
}

// Zero and non-finite directions give a finite point of the core.
func TestSupportDegenerateDirections(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	values := []float64{0, math.Copysign(0, -1), nan, inf, -inf, 1}
	for _, s := range append(analyticShapes(), geom.Halfspace{}) {
		limit := 16 * eps * s.BoundingRadius()
		if s.Kind() == geom.KindHalfspace {
			limit = 0
		}
		for _, x := range values {
			for _, y := range values {
				for _, z := range values {
					d := vec(x, y, z)
					p := s.CoreSupport(d)
					// A point of the core is at least Radius inside the shape.
					if r := s.Residual(p) + s.Radius(); !geom.Finite(p) || !(r <= limit) {
						t.Fatalf("%s: CoreSupport(%v) = %v, %g outside the core", label(s), d, p, r)
					}
					if q := geom.Support(s, d); !geom.Finite(q) {
						t.Fatalf("%s: Support(%v) = %v", label(s), d, q)
					}
				}
			}
		}
	}
}

// Scaling a shape by a power of two scales the support points exactly, except where
// exponentials are involved, which it must not touch either.
func TestSupportScaleOfShape(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 10))
	const k = 0x1p10
	for _, pair := range [][2]geom.Shape{
		{geom.Capsule{R: 0.3, HalfLength: 0.7}, geom.Capsule{R: k * 0.3, HalfLength: k * 0.7}},
		{geom.Cylinder{R: 0.3, HalfLength: 0.7}, geom.Cylinder{R: k * 0.3, HalfLength: k * 0.7}},
		{geom.Cone{R: 0.3, HalfLength: 0.7}, geom.Cone{R: k * 0.3, HalfLength: k * 0.7}},
		{geom.Frustum{RBottom: 0.3, RTop: 0.1, HalfLength: 0.7}, geom.Frustum{RBottom: k * 0.3, RTop: k * 0.1,
			HalfLength: k * 0.7}},
		{geom.Box{HalfExtents: vec(0.3, 0.7, 0.2)}, geom.Box{HalfExtents: vec(k*0.3, k*0.7, k*0.2)}},
		{geom.Ellipsoid{SemiAxes: vec(0.3, 0.7, 0.2)}, geom.Ellipsoid{SemiAxes: vec(k*0.3, k*0.7, k*0.2)}},
		{geom.Superquadric{SemiAxes: vec(0.3, 0.7, 0.2), Alpha1: 0.4, Alpha2: 1.2},
			geom.Superquadric{SemiAxes: vec(k*0.3, k*0.7, k*0.2), Alpha1: 0.4, Alpha2: 1.2}},
	} {
		for range 50 {
			d := randomUnit(rng)
			a, b := geom.Support(pair[0], d), geom.Support(pair[1], d)
			if b != r3.Scale(k, a) {
				t.Fatalf("%s: support %v, scaled shape %v", label(pair[0]), a, b)
			}
			p := r3.Scale(2*rng.Float64(), a)
			if ra, rb := pair[0].Residual(p), pair[1].Residual(r3.Scale(k, p)); rb != k*ra {
				t.Fatalf("%s: residual %g, scaled shape %g", label(pair[0]), ra, rb)
			}
		}
	}
}

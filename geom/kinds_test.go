package geom_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"clearance/geom"
	"clearance/internal/testkit"

	"gonum.org/v1/gonum/spatial/r3"
)

const eps = 0x1p-53 // unit roundoff

func vec(x, y, z float64) r3.Vec { return r3.Vec{X: x, Y: y, Z: z} }

// analyticShapes returns bounded shapes of every analytic kind: round numbers,
// random sizes over four decades, extreme sizes and extreme aspect ratios.
func analyticShapes() []geom.Shape {
	shapes := []geom.Shape{
		geom.Sphere{R: 1},
		geom.Capsule{R: 0.5, HalfLength: 2},
		geom.Capsule{R: 0.5},
		geom.Cylinder{R: 1.5, HalfLength: 0.5},
		geom.Cone{R: 1, HalfLength: 1},
		geom.Frustum{RBottom: 1, RTop: 0.25, HalfLength: 0.75},
		geom.Frustum{RBottom: 0, RTop: 2, HalfLength: 0.25},
		geom.Frustum{RBottom: 1, RTop: 1, HalfLength: 1},
		geom.Box{HalfExtents: vec(1, 2, 3)},
		geom.Ellipsoid{SemiAxes: vec(3, 1, 2)},
		geom.Ellipsoid{SemiAxes: vec(1, 1, 1)},
		geom.Superquadric{SemiAxes: vec(1, 2, 3), Alpha1: 1, Alpha2: 1},
		geom.Superquadric{SemiAxes: vec(1, 2, 3), Alpha1: 0.3, Alpha2: 1.7},
		geom.Superquadric{SemiAxes: vec(2, 1, 1), Alpha1: geom.MinExponent, Alpha2: geom.MaxExponent},
		geom.Superquadric{SemiAxes: vec(2, 1, 1), Alpha1: geom.MaxExponent, Alpha2: geom.MinExponent},
	}
	// Needles and plates of 1:1e6, and both ends of the usual sizes.
	for _, a := range [][3]float64{{1e-3, 1e-3, 1e3}, {1e3, 1e3, 1e-3}, {1e-4, 1e-4, 1e-4}, {1e4, 1e4, 1e4},
		{1e-3, 1, 1e3}} {
		shapes = append(shapes,
			geom.Capsule{R: a[0], HalfLength: a[2]},
			geom.Cylinder{R: a[0], HalfLength: a[2]},
			geom.Cone{R: a[0], HalfLength: a[2]},
			geom.Frustum{RBottom: a[0], RTop: a[1] / 3, HalfLength: a[2]},
			geom.Box{HalfExtents: vec(a[0], a[1], a[2])},
			geom.Ellipsoid{SemiAxes: vec(a[0], a[1], a[2])},
			geom.Superquadric{SemiAxes: vec(a[0], a[1], a[2]), Alpha1: 0.5, Alpha2: 1.25})
	}
	rng := rand.New(rand.NewPCG(1, 2))
	size := func() float64 { return math.Pow(10, 4*rng.Float64()-2) }
	for range 4 {
		shapes = append(shapes,
			geom.Sphere{R: size()},
			geom.Capsule{R: size(), HalfLength: size()},
			geom.Cylinder{R: size(), HalfLength: size()},
			geom.Cone{R: size(), HalfLength: size()},
			geom.Frustum{RBottom: size(), RTop: size(), HalfLength: size()},
			geom.Box{HalfExtents: vec(size(), size(), size())},
			geom.Ellipsoid{SemiAxes: vec(size(), size(), size())},
			geom.Superquadric{SemiAxes: vec(size(), size(), size()), Alpha1: 0.1 + 1.8*rng.Float64(),
				Alpha2: 0.1 + 1.8*rng.Float64()})
	}
	for _, s := range shapes[:len(shapes):len(shapes)] {
		if rng.IntN(3) == 0 {
			shapes = append(shapes, geom.WithMargin(s, size()))
		}
	}
	// Last, so that the others meet the same random numbers with and without them.
	for i, s := range poweredShapes() {
		if shapes = append(shapes, s); i%3 == 0 {
			shapes = append(shapes, geom.WithMargin(s, 0.25))
		}
	}
	return shapes
}

// closedForm is the support function h(d) written down independently: norms for
// sums of balls, maxima over rims and corners, and powers for the dual norm.
func closedForm(s geom.Shape, d r3.Vec) float64 {
	lateral := math.Hypot(d.X, d.Y)
	norm := math.Hypot(lateral, d.Z)
	switch s := s.(type) {
	case geom.Sphere:
		return s.R * norm
	case geom.Capsule:
		return s.R*norm + s.HalfLength*math.Abs(d.Z)
	case geom.Cylinder:
		return s.R*lateral + s.HalfLength*math.Abs(d.Z)
	case geom.Cone:
		return max(s.HalfLength*d.Z, s.R*lateral-s.HalfLength*d.Z)
	case geom.Frustum:
		return max(s.RTop*lateral+s.HalfLength*d.Z, s.RBottom*lateral-s.HalfLength*d.Z)
	case geom.Box:
		return s.HalfExtents.X*math.Abs(d.X) + s.HalfExtents.Y*math.Abs(d.Y) + s.HalfExtents.Z*math.Abs(d.Z)
	case geom.Ellipsoid:
		return math.Hypot(math.Hypot(s.SemiAxes.X*d.X, s.SemiAxes.Y*d.Y), s.SemiAxes.Z*d.Z)
	case geom.Superquadric:
		norm2 := func(u, v, e float64) float64 { // scaled by the larger, so that v^e does not vanish
			m := max(u, v)
			if m == 0 {
				return 0
			}
			return m * math.Pow(math.Pow(u/m, e)+math.Pow(v/m, e), 1/e)
		}
		l := norm2(s.SemiAxes.X*math.Abs(d.X), s.SemiAxes.Y*math.Abs(d.Y), 2/(2-s.Alpha2))
		return norm2(l, s.SemiAxes.Z*math.Abs(d.Z), 2/(2-s.Alpha1))
	case *geom.SmoothHull:
		var y []float64
		for _, v := range s.Vertices() {
			y = append(y, r3.Dot(r3.Sub(v, s.Center()), d))
		}
		return r3.Dot(s.Center(), d) + powerSum(y, s.Sharpness())
	case *geom.SmoothRevolution:
		rho := math.Hypot(lateral, math.Sqrt(s.Flatness())*d.Z)
		var y []float64
		for _, p := range s.Profile() {
			y = append(y, p.X*rho+p.Y*d.Z)
		}
		return powerSum(y, s.Sharpness())
	case geom.Rounded:
		return closedForm(s.Shape, d) + s.Margin*norm
	}
	panic("no closed form for " + s.Kind().String())
}

func label(s geom.Shape) string {
	switch s := s.(type) {
	case *geom.SmoothHull:
		return fmt.Sprintf("smooth_hull{%d vertices, β = %g, radii %g and %g}", len(s.Vertices()), s.Sharpness(),
			s.Inradius(), s.BoundingRadius())
	case *geom.SmoothRevolution:
		return fmt.Sprintf("smooth_revolution{%v, β = %g, γ = %g}", s.Profile(), s.Sharpness(), s.Flatness())
	case geom.Rounded:
		return fmt.Sprintf("%s with margin %g", label(s.Shape), s.Margin)
	}
	return fmt.Sprintf("%s%+v", s.Kind(), s)
}

// exactResidual says whether the Residual of s is the signed distance itself.
func exactResidual(s geom.Shape) bool {
	switch s.Kind() {
	case geom.KindSuperquadric, geom.KindSmoothHull, geom.KindSmoothRevolution:
		return false
	}
	return true
}

// randomUnit returns a uniform unit vector; now and then one in a coordinate
// plane or on an axis.
func randomUnit(rng *rand.Rand) r3.Vec {
	for {
		v := testkit.Normal(rng)
		if rng.IntN(8) == 0 {
			v.X = 0
		}
		if rng.IntN(8) == 0 {
			v.Y = 0
		}
		if rng.IntN(8) == 0 {
			v.Z = 0
		}
		if n := r3.Norm(v); n > 1e-3 {
			return r3.Scale(1/n, v)
		}
	}
}

// generalUnit returns a unit vector in which every component of the normal matters
// to s: uniform on the surface of an ellipsoid of its extents, so that long
// shapes are seen from all sides. It has no zero components.
func generalUnit(rng *rand.Rand, s geom.Shape) r3.Vec {
	_, hi := s.AABB()
	v := vec(rng.NormFloat64()/hi.X, rng.NormFloat64()/hi.Y, rng.NormFloat64()/hi.Z)
	return r3.Scale(1/r3.Norm(v), v)
}

// supportValue is h(d) from the support point.
func supportValue(s geom.Shape, d r3.Vec) float64 { return r3.Dot(d, geom.Support(s, d)) }

func TestKindNames(t *testing.T) {
	seen := map[string]bool{}
	for k := range geom.KindCount {
		name := k.String()
		if seen[name] || name == "" {
			t.Errorf("kind %d has the name %q, empty or taken", k, name)
		}
		seen[name] = true
		if got, err := geom.ParseKind(name); err != nil || got != k {
			t.Errorf("ParseKind(%q) = %v, %v", name, got, err)
		}
	}
	if got := geom.KindCount.String(); got != fmt.Sprintf("kind(%d)", int(geom.KindCount)) {
		t.Errorf("name of an unknown kind = %q", got)
	}
	if _, err := geom.ParseKind("tetrahedron"); err == nil {
		t.Error("ParseKind accepted an unknown name")
	}
}

func TestTestShapesAreValid(t *testing.T) {
	kinds := map[geom.Kind]bool{}
	for _, s := range analyticShapes() {
		kinds[s.Kind()] = true
		if err := s.Validate(); err != nil {
			t.Errorf("%s: %v", label(s), err)
		}
	}
	for k := range geom.KindCount {
		if k.Family() != geom.FamilyHull && !k.Traits().Unbounded && !kinds[k] { // hulls have tests of their own
			t.Errorf("no %s among the test shapes", k)
		}
	}
}

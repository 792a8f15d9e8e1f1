package geom_test

import (
	"math"
	"strings"
	"testing"

	"clearance/geom"

	"gonum.org/v1/gonum/spatial/r3"
)

func TestValidateAccepts(t *testing.T) {
	for _, s := range []geom.Shape{
		geom.Sphere{R: geom.MinSize}, geom.Sphere{R: geom.MaxSize},
		geom.Capsule{R: 1}, geom.Capsule{R: 1e-9, HalfLength: 1e9},
		geom.Frustum{RTop: 1, HalfLength: 1}, geom.Frustum{RBottom: 1, HalfLength: 1},
		geom.Ellipsoid{SemiAxes: vec(1e-9, 1, 1e9)},
		geom.Superquadric{SemiAxes: vec(1, 1, 1), Alpha1: geom.MinExponent, Alpha2: geom.MaxExponent},
		geom.Halfspace{},
		geom.Rounded{Shape: geom.Sphere{R: 1}}, geom.WithMargin(geom.Halfspace{}, 1e-12),
		geom.WithMargin(geom.Sphere{R: 1}, 1e9),
	} {
		if err := s.Validate(); err != nil {
			t.Errorf("%s: %v", label(s), err)
		}
	}
}

// Every bad parameter is named, with its value and what is wanted.
func TestValidateRejects(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	sq := func(x, y, z, a1, a2 float64) geom.Shape {
		return geom.Superquadric{SemiAxes: vec(x, y, z), Alpha1: a1, Alpha2: a2}
	}
	for _, c := range []struct {
		s    geom.Shape
		want string
	}{
		{geom.Sphere{R: 0}, "sphere: radius = 0, want > 0 and finite"},
		{geom.Sphere{R: -1}, "sphere: radius = -1, want > 0 and finite"},
		{geom.Sphere{R: nan}, "sphere: radius = NaN, want > 0 and finite"},
		{geom.Sphere{R: inf}, "sphere: radius = +Inf, want > 0 and finite"},
		{geom.Sphere{R: 1e-10}, "sphere: radius = 1e-10 m is out of range, want 1e-09 to 1e+09 (choose another unit " +
			"of length)"},
		{geom.Sphere{R: 2e9}, "sphere: radius = 2e+09 m is out of range"},
		{geom.Capsule{R: 0, HalfLength: 1}, "capsule: radius = 0"},
		{geom.Capsule{R: 1, HalfLength: -2}, "capsule: half_length = -2, want ≥ 0 and finite"},
		{geom.Capsule{R: 1, HalfLength: nan}, "capsule: half_length = NaN, want ≥ 0"},
		{geom.Capsule{R: 1, HalfLength: 1e-300}, "capsule: half_length = 1e-300 m is out of range"},
		{geom.Cylinder{R: nan, HalfLength: 1}, "cylinder: radius = NaN"},
		{geom.Cylinder{R: 1}, "cylinder: half_length = 0, want > 0"},
		{geom.Cone{R: -1, HalfLength: 1}, "cone: radius = -1"},
		{geom.Cone{R: 1, HalfLength: inf}, "cone: half_length = +Inf"},
		{geom.Frustum{HalfLength: 1}, "frustum: radius_bottom and radius_top are both 0, want one of them > 0"},
		{geom.Frustum{RBottom: -1, RTop: 1, HalfLength: 1}, "frustum: radius_bottom = -1, want ≥ 0"},
		{geom.Frustum{RBottom: 1, RTop: nan, HalfLength: 1}, "frustum: radius_top = NaN"},
		{geom.Frustum{RBottom: 1, RTop: 1}, "frustum: half_length = 0"},
		{geom.Box{HalfExtents: vec(1, -1, 1)}, "box: half_extents.y = -1, want > 0 and finite"},
		{geom.Box{HalfExtents: vec(0, 1, 1)}, "box: half_extents.x = 0"},
		{geom.Box{HalfExtents: vec(1, 1, nan)}, "box: half_extents.z = NaN"},
		{geom.Ellipsoid{SemiAxes: vec(1, 1, 0)}, "ellipsoid: semi_axes.z = 0"},
		{geom.Ellipsoid{SemiAxes: vec(-inf, 1, 1)}, "ellipsoid: semi_axes.x = -Inf"},
		{sq(0, 1, 1, 1, 1), "superquadric: semi_axes.x = 0"},
		{sq(1, 1, 1, 0, 1), "superquadric: exponents[0] = 0, want 0.01 to 1.99"},
		{sq(1, 1, 1, 1, 2), "superquadric: exponents[1] = 2, want 0.01 to 1.99"},
		{sq(1, 1, 1, nan, 1), "superquadric: exponents[0] = NaN"},
		{geom.WithMargin(geom.Box{HalfExtents: vec(1, 1, 1)}, -0.5), "box: margin = -0.5, want 0 to 1e+09"},
		{geom.WithMargin(geom.Halfspace{}, nan), "halfspace: margin = NaN"},
		{geom.WithMargin(geom.Sphere{R: 1}, inf), "sphere: margin = +Inf"},
		{geom.WithMargin(geom.Sphere{R: -1}, 1), "sphere: radius = -1"},
		{geom.WithMargin(geom.WithMargin(geom.Sphere{R: 1}, -1), 2), "sphere: margin = -1"},
		{geom.WithMargin(geom.WithMargin(geom.Sphere{R: 1}, 2), -1), "sphere: margin = -1"},
		{geom.Rounded{Margin: 1}, "margin: no shape to wrap"},
	} {
		err := c.s.Validate()
		if err == nil || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%+v: error %v, want %q", c.s, err, c.want)
		}
	}
}

func TestWithMargin(t *testing.T) {
	var box geom.Shape = geom.Box{HalfExtents: vec(1, 2, 3)}
	if got := geom.WithMargin(box, 0); got != box {
		t.Errorf("WithMargin(box, 0) = %+v, want the box itself", got)
	}
	if got, want := geom.WithMargin(geom.WithMargin(box, 0.5), 0.25), geom.WithMargin(box, 0.75); got != want {
		t.Errorf("nested margins give %+v, want %+v", got, want)
	}
	r := geom.WithMargin(geom.Capsule{R: 0.5, HalfLength: 1}, 0.25)
	if r.Kind() != geom.KindCapsule || r.Radius() != 0.75 || r.CoreSupport(vec(0, 0, -1)) != vec(0, 0, -1) {
		t.Errorf("rounded capsule: kind %s, radius %g, core support %v", r.Kind(), r.Radius(),
			r.CoreSupport(vec(0, 0, -1)))
	}
	// A capsule with a margin is a capsule with a larger radius.
	same := geom.Capsule{R: 0.75, HalfLength: 1}
	for _, p := range []r3.Vec{vec(0, 0, 0), vec(1, 2, 3), vec(0.1, 0, -1.2)} {
		if math.Abs(r.Residual(p)-same.Residual(p)) > 4*eps*r3.Norm(p) {
			t.Errorf("residual of %v = %g, want %g", p, r.Residual(p), same.Residual(p))
		}
	}
	if r.BoundingRadius() != same.BoundingRadius() || r.Inradius() != same.Inradius() {
		t.Errorf("radii %g, %g, want %g, %g", r.BoundingRadius(), r.Inradius(), same.BoundingRadius(), same.Inradius())
	}
}

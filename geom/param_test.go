package geom_test

import (
	"math"
	"reflect"
	"strings"
	"testing"

	"gonum.org/v1/gonum/spatial/r3"

	"clearance/geom"
)

// samples returns a valid shape of every kind, without a margin: lengths below 1 m, and points around the origin.
func samples(t *testing.T) (all []geom.Shape) {
	t.Helper()
	octahedron := []float64{1.1, 0, 0, -1, 0, 0, 0, 1, 0, 0, -1, 0, 0, 0, 1, 0, 0, -1}
	for k := range geom.KindCount {
		var values [][]float64
		for _, p := range k.Params() {
			switch {
			case p.List && p.Width == 3:
				values = append(values, octahedron)
			case p.List:
				values = append(values, []float64{1, 0.5, 0.25, -1})
			case p.Length:
				values = append(values, []float64{0.25, 0.5, 0.75}[:p.Width])
				if p.Center {
					values[len(values)-1] = []float64{0.01, 0.02, -0.03}
				}
			default:
				values = append(values, make([]float64, p.Width))
				for i := range p.Width {
					values[len(values)-1][i] = map[string]float64{"exponents": 0.5, "sharpness": 12,
						"flatness": 0.125}[p.Name]
				}
			}
		}
		s, err := k.New(values)
		if err != nil {
			t.Fatalf("%v of %v: %v; where it has a parameter of a new sort, say here what is valid", k, values, err)
		}
		all = append(all, s)
	}
	return all
}

// Every kind has a full row: shapes of it are made of their parameters and give them back, bit for bit.
func TestRows(t *testing.T) {
	for i, s := range samples(t) {
		k := geom.Kind(i)
		if s.Kind() != k {
			t.Fatalf("New of %v gives a %v", k, s.Kind())
		}
		if f := k.Family(); f == geom.FamilyNone || f >= geom.FamilyCount {
			t.Errorf("%v is of no family", k)
		}
		names := map[string]bool{"kind": true, "name": true, "margin": true, "mesh": true, "part": true}
		for _, p := range k.Params() {
			if names[p.Name] || p.Name == "" || p.Name != strings.ToLower(p.Name) {
				t.Errorf("%v: the name %q of a parameter is empty, taken or not in lower case", k, p.Name)
			}
			names[p.Name] = true
		}
		values, ok := geom.Values(s)
		if !ok || len(values) != len(k.Params()) {
			t.Fatalf("%v has the values %v, %t", k, values, ok)
		}
		again, err := k.New(values)
		if err != nil || !reflect.DeepEqual(again, s) {
			t.Errorf("%v of its own values %v is %+v, %v, want %+v", k, values, again, err, s)
		}
		if _, ok := geom.Values(geom.Rounded{Shape: s, Margin: 1}); ok {
			t.Errorf("%v: a margin is no parameter", k)
		}
		if inner, margin := geom.WithoutMargin(geom.Rounded{Shape: geom.Rounded{Shape: s, Margin: 1},
			Margin: 0.5}); margin != 1.5 || !reflect.DeepEqual(inner, s) {
			t.Errorf("%v with two margins is %+v and %g", k, inner, margin)
		}
	}
}

// New refuses values of another number, and numbers out of range, by the name of the parameter.
func TestNewRefuses(t *testing.T) {
	for i, s := range samples(t) {
		k := geom.Kind(i)
		values, _ := geom.Values(s)
		refused := func(what string, values [][]float64, want string) {
			t.Helper()
			if s, err := k.New(values); err == nil || !strings.HasPrefix(err.Error(), k.String()+": ") ||
				!strings.Contains(err.Error(), want) {
				t.Errorf("%v with %s: %v, %v, want an error with %q", k, what, s, err, want)
			}
		}
		refused("a value too many", append(values[:len(values):len(values)], []float64{1}), "parameters, want")
		for j, p := range k.Params() {
			wrong := append([][]float64(nil), values...)
			if wrong[j] = append(append([]float64(nil), values[j]...), 1); p.List {
				wrong[j] = wrong[j][:len(wrong[j])-2]
			}
			refused("a number too many in "+p.Name, wrong, p.Name)
			wrong[j] = append([]float64(nil), values[j]...)
			for n := range wrong[j] {
				keep := wrong[j][n]
				wrong[j][n] = math.NaN()
				refused("NaN in "+p.Name, wrong, p.Name)
				wrong[j][n] = keep
			}
		}
	}
	if s, err := geom.KindCount.New(nil); err == nil {
		t.Errorf("%v of no kind", s)
	}
	if geom.KindCount.Params() != nil || geom.KindCount.Family() != geom.FamilyNone ||
		geom.KindCount.Traits() != (geom.Traits{}) {
		t.Error("what is no kind has parameters or a family")
	}
}

// Traits agree with the shapes themselves.
func TestTraits(t *testing.T) {
	for _, s := range samples(t) {
		k, traits := s.Kind(), s.Kind().Traits()
		if got := math.IsInf(s.BoundingRadius(), 1); got != traits.Unbounded {
			t.Errorf("%v: bounding radius %g, unbounded %t", k, s.BoundingRadius(), traits.Unbounded)
		}
		if _, hessian := s.(geom.Smooth); traits.Smooth && !hessian {
			t.Errorf("%v is smooth and has no Hessian", k)
		}
		if traits.StrictlyConvex && (traits.Polyhedral || !(s.Inradius() > s.Radius())) {
			t.Errorf("%v is strictly convex, polyhedral %t, inradius %g", k, traits.Polyhedral, s.Inradius())
		}
		d := vec(0.3, 0.4, 0.5)
		if traits.Revolution {
			turned := s.CoreSupport(vec(d.Y, -d.X, d.Z)) // by a quarter about z
			if p := s.CoreSupport(d); math.Abs(turned.X-p.Y)+math.Abs(turned.Y+p.X)+math.Abs(turned.Z-p.Z) > 1e-12 {
				t.Errorf("%v: support points %v and, rotated, %v", k, p, turned)
			}
		}
		if k.Family().PointOrSegment() && s.CoreSupport(vec(1, 2, 0)).X != 0 {
			t.Errorf("%v has an extent across z", k)
		}
	}
}

// The distance of points, segments and boxes is a formula, for some pairs, in either order.
func TestHasFormula(t *testing.T) {
	yes := map[[2]geom.Family]bool{
		{geom.FamilyPoint, geom.FamilyPoint}: true, {geom.FamilyPoint, geom.FamilySegment}: true,
		{geom.FamilySegment, geom.FamilySegment}: true, {geom.FamilyPoint, geom.FamilyBox}: true,
	}
	for a := range geom.FamilyCount {
		for b := range geom.FamilyCount {
			if got, want := geom.HasFormula(a, b), yes[[2]geom.Family{a, b}] || yes[[2]geom.Family{b, a}]; got != want {
				t.Errorf("families %d and %d: %t", a, b, got)
			}
		}
	}
}

// Every attribute has a full row whose name is free, and its default passes its own check.
func TestAttributeRows(t *testing.T) {
	names := map[string]bool{"kind": true, "name": true, "margin": true, "mesh": true, "part": true}
	for a := range geom.AttributeCount {
		info := a.Info()
		if info.Name == "" || info.Plural == "" || info.Meaning == "" || info.Width < 1 || names[info.Name] {
			t.Errorf("attribute %d: the row %+v lacks something, or its name is taken", a, info)
		}
		names[info.Name] = true
		for k := range geom.KindCount {
			for _, p := range k.Params() {
				if a.ParameterOf(k) && p.Name == info.Name && (p.List || p.Width != info.Width) {
					t.Errorf("%s is a parameter of %v with other numbers", a, k)
				}
			}
		}
		for _, s := range samples(t) {
			v := a.Default(s)
			if v == nil || s.Kind().Traits().Unbounded {
				continue
			}
			if err := a.Check(s, v); err != nil {
				t.Errorf("the default: %v", err)
			}
			if err := a.Check(s, v[1:]); err == nil || !strings.Contains(err.Error(), info.Name) {
				t.Errorf("%s of %v with a number less: %v", a, s.Kind(), err)
			}
			for i := range v {
				for _, x := range []float64{math.NaN(), math.Inf(1)} {
					bad := append([]float64{}, v...)
					bad[i] = x
					if err := a.Check(s, bad); err == nil || !strings.Contains(err.Error(), info.Name) {
						t.Errorf("%s %v of %v: %v", a, bad, s.Kind(), err)
					}
				}
			}
		}
	}
}

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

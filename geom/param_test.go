package geom_test

import (
	"math"
	"reflect"
	"strings"
	"testing"

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

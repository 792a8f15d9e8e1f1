package batch

import (
	"errors"
	"math"
	"strings"
	"testing"

	"clearance/geom"

	"gonum.org/v1/gonum/num/quat"
	"gonum.org/v1/gonum/spatial/r3"
)

func testLibrary(t testing.TB) *Library {
	t.Helper()
	l, err := NewLibrary([]geom.Shape{
		geom.Sphere{R: 0.5},
		geom.Box{HalfExtents: r3.Vec{X: 1, Y: 2, Z: 2}},
		geom.Halfspace{},
		geom.WithMargin(geom.Halfspace{}, 0.25),
	}, []string{"ball", "", "floor", "soft floor"})
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func TestNewLibraryRefuses(t *testing.T) {
	good := geom.Sphere{R: 1}
	many := make([]geom.Shape, MaxShapes+1)
	for i := range many {
		many[i] = good
	}
	for _, c := range []struct {
		what   string
		shapes []geom.Shape
		names  []string
		want   []string // parts of the error
	}{
		{"negative radius", []geom.Shape{good, geom.Sphere{R: -1}}, []string{"a", "b"},
			[]string{"shape 1", `"b"`, "radius", "-1"}},
		{"NaN extent", []geom.Shape{geom.Box{HalfExtents: r3.Vec{X: 1, Y: math.NaN(), Z: 1}}}, nil,
			[]string{"shape 0", "half_extents.y"}},
		{"infinite axis", []geom.Shape{geom.Ellipsoid{SemiAxes: r3.Vec{X: math.Inf(1), Y: 1, Z: 1}}}, nil,
			[]string{"shape 0", "semi_axes.x"}},
		{"negative margin", []geom.Shape{geom.WithMargin(good, -1)}, nil, []string{"shape 0", "margin"}},
		{"nil shape", []geom.Shape{good, nil}, nil, []string{"shape 1", "nil"}},
		{"too large", []geom.Shape{geom.Box{HalfExtents: r3.Vec{X: 9e8, Y: 9e8, Z: 9e8}}}, nil,
			[]string{"shape 0", "bounding radius"}},
		{"names do not fit", []geom.Shape{good, good}, []string{"a"}, []string{"2 shapes", "1 names"}},
		{"too many", many, nil, []string{"at most 1048576"}},
	} {
		l, err := NewLibrary(c.shapes, c.names)
		if err == nil || l != nil {
			t.Errorf("%s: got library %v, error %v; want none and an error", c.what, l != nil, err)
			continue
		}
		for _, part := range c.want {
			if !strings.Contains(err.Error(), part) {
				t.Errorf("%s: error %q does not name %q", c.what, err, part)
			}
		}
	}
	var e *ShapeError
	if _, err := NewLibrary([]geom.Shape{geom.Sphere{}}, nil); !errors.As(err, &e) || e.Index != 0 {
		t.Errorf("error %v is not a *ShapeError of shape 0", err)
	}
}

func TestLibraryIsACopy(t *testing.T) {
	shapes, names := []geom.Shape{geom.Sphere{R: 1}}, []string{"a"}
	l, err := NewLibrary(shapes, names)
	if err != nil {
		t.Fatal(err)
	}
	shapes[0], names[0] = nil, "b"
	if l.Shape(0) == nil || l.Name(0) != "a" || l.Name(1) != "" || l.Len() != 1 {
		t.Error("the library shares the caller's slices")
	}
}

func TestPairSize(t *testing.T) {
	l := testLibrary(t)
	for _, c := range []struct {
		a, b int32
		want float64
	}{{0, 0, 1}, {0, 1, 3.5}, {1, 2, 3}, {3, 0, 0.75}} {
		if got := l.PairSize(c.a, c.b); math.Abs(got-c.want) > 1e-15 {
			t.Errorf("size of pair %d, %d = %g, want %g", c.a, c.b, got, c.want)
		}
	}
	if got := l.MinPairSize(); got != 0 {
		t.Errorf("smallest size %g, want 0 for the half-space", got)
	}
	if empty, err := NewLibrary(nil, nil); err != nil || empty.MinPairSize() != 0 {
		t.Errorf("empty library: %v", err)
	}
}

func TestCheckRow(t *testing.T) {
	l := testLibrary(t)
	nan, inf := math.NaN(), math.Inf(1)
	good := Row{ShapeA: 0, ShapeB: 1, PoseA: geom.IdentityPose(), PoseB: geom.IdentityPose()}
	for _, c := range []struct {
		what   string
		change func(r *Row)
		column string // "" for a valid row
		reason string
	}{
		{"good", func(r *Row) {}, "", ""},
		{"half-space and ball", func(r *Row) { r.ShapeA = 2 }, "", ""},
		{"tiny quaternion", func(r *Row) { r.PoseA.Rotation = quat.Number{Real: 5e-324} }, "", ""},
		{"huge quaternion", func(r *Row) { r.PoseB.Rotation = quat.Number{Real: 1e308, Kmag: 1e308} }, "", ""},
		{"position at the limit", func(r *Row) { r.PoseA.Position.Y = -MaxLength }, "", ""},
		{"index of int64", func(r *Row) { r.ShapeB = math.MaxInt32 }, "shape_b",
			"index 2147483647 or beyond is not in the library, want one in [0, 4)"},
		{"negative index", func(r *Row) { r.ShapeA = -1 }, "shape_a",
			"index -1 is not in the library, want one in [0, 4)"},
		{"index too large", func(r *Row) { r.ShapeB = 4 }, "shape_b", "index 4"},
		{"NaN position", func(r *Row) { r.PoseA.Position.X = nan }, "position_a", "NaN"},
		{"infinite position", func(r *Row) { r.PoseB.Position.Z = -inf }, "position_b", "-Inf"},
		{"position beyond the limit", func(r *Row) { r.PoseB.Position.Z = 2 * MaxLength }, "position_b", "at most"},
		{"zero quaternion", func(r *Row) { r.PoseA.Rotation = quat.Number{} }, "rotation_a", "zero"},
		{"NaN quaternion", func(r *Row) { r.PoseB.Rotation.Imag = nan }, "rotation_b", "not finite"},
		{"NaN last in quaternion", func(r *Row) { r.PoseB.Rotation.Kmag = nan }, "rotation_b", "not finite"},
		{"infinite quaternion", func(r *Row) { r.PoseA.Rotation.Real = inf }, "rotation_a", "not finite"},
		{"two half-spaces", func(r *Row) { r.ShapeA, r.ShapeB = 3, 2 }, "shape_b", "half-space"},
	} {
		r := good
		c.change(&r)
		err := l.CheckRow(7, &r)
		if c.column == "" {
			if err != nil {
				t.Errorf("%s: %v", c.what, err)
			}
			for _, p := range []geom.Pose{r.PoseA, r.PoseB} {
				if n := quat.Abs(p.Rotation); math.Abs(n-1) > 1e-15 {
					t.Errorf("%s: quaternion of length %g after the check", c.what, n)
				}
			}
			continue
		}
		var e *RowError
		if !errors.As(err, &e) || e.Row != 7 || e.Column != c.column || !strings.Contains(e.Reason, c.reason) {
			t.Errorf("%s: got %v, want row 7, column %s, reason with %q", c.what, err, c.column, c.reason)
		}
	}
}

func TestReadDoesNotAllocate(t *testing.T) {
	pairs := NewPairs(1)
	pairs.SetRow(0, &Row{ShapeB: 1, PoseA: geom.IdentityPose(), PoseB: geom.IdentityPose()})
	job := &Job{Library: testLibrary(t), Input: pairs, Options: Options{WarmStart: []float64{1, 2, 3}}}
	r := new(Row)
	if n := testing.AllocsPerRun(100, func() {
		if warm, err := job.Read(0, r); err != nil || warm != (r3.Vec{X: 1, Y: 2, Z: 3}) {
			t.Fatal(warm, err)
		}
	}); n != 0 {
		t.Errorf("%g allocations a row", n)
	}
	job.Options.WarmStart[1] = math.NaN()
	var e *RowError
	if _, err := job.Read(0, r); !errors.As(err, &e) || e.Column != "warm_start" {
		t.Errorf("NaN warm start: got %v", err)
	}
}

func vec(x, y, z float64) r3.Vec { return r3.Vec{X: x, Y: y, Z: z} }

// flat returns a square in the plane z = 1.
func flat(t *testing.T) geom.Shape {
	t.Helper()
	s, err := geom.NewConvex([]r3.Vec{vec(-1, -1, 1), vec(1, -1, 1), vec(1, 1, 1), vec(-1, 1, 1)})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestWithCenters(t *testing.T) {
	l, err := NewLibrary([]geom.Shape{geom.Box{HalfExtents: vec(1, 2, 3)}, flat(t), geom.Halfspace{},
		geom.WithMargin(flat(t), 0.25)}, []string{"brick", "", "floor", ""})
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []float64{1, 0, 0, 0.25} {
		if got := l.GrowthInradius(int32(i)); math.Abs(got-want) > 1e-8 || got > want {
			t.Errorf("shape %d: inradius %g, want %g or little less", i, got, want)
		}
	}
	with, err := l.WithCenters(map[int32]r3.Vec{0: vec(0.5, 0, 0), 1: vec(0.5, 0.5, 1), 3: vec(0, 0, 1.125)})
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []float64{0.5, 0, 0, 0.125} {
		if got := with.GrowthInradius(int32(i)); math.Abs(got-want) > 1e-8 || got > want {
			t.Errorf("shape %d about its new center: inradius %g, want %g or little less", i, got, want)
		}
	}
	if c := with.GrowthCenter(0); c != vec(0.5, 0, 0) {
		t.Errorf("center %v", c)
	}
	if c := l.GrowthCenter(0); c != vec(0, 0, 0) || l.GrowthInradius(0) < 0.99 {
		t.Errorf("the library itself has changed: center %v, inradius %g", c, l.GrowthInradius(0))
	}
	for _, c := range []struct {
		shape  int32
		center r3.Vec
		want   string
	}{
		{0, vec(1, 0, 0), `shape 0 ("brick"): box: center = (1, 0, 0), want an interior point; this one`},
		{0, vec(0, 0, 4), "this one lies 1 m outside"},
		{0, vec(math.NaN(), 0, 0), "center = (NaN, 0, 0), want an interior point"},
		{0, vec(0, 2e9, 0), "want an interior point"},
		{1, vec(0, 0, 1.5), "want a point of the flat shape; this one lies 0.5 m away"},
		{2, vec(0, 0, -1), `shape 2 ("floor"): halfspace: center: a half-space does not grow`},
		{3, vec(0, 0, 1.25), "want an interior point"},
		{4, vec(0, 0, 0), "shape 4, want one in [0, 4)"},
		{-1, vec(0, 0, 0), "shape -1, want one in [0, 4)"},
	} {
		_, err := l.WithCenters(map[int32]r3.Vec{c.shape: c.center})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("shape %d, center %v: %v, want %q", c.shape, c.center, err, c.want)
		}
		var s *ShapeError
		inside := c.shape >= 0 && int(c.shape) < l.Len()
		if inside != errors.As(err, &s) || inside && s.Index != int(c.shape) {
			t.Errorf("shape %d, center %v: %v is not the error of the shape", c.shape, c.center, err)
		}
	}
}

// Growth refuses the pairs in which no shape has an interior point as its center, and other queries do not.
func TestGrowthOfFlatPairs(t *testing.T) {
	l, err := NewLibrary([]geom.Shape{geom.Sphere{R: 1}, flat(t), geom.Halfspace{}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	for a := range int32(3) {
		for b := range int32(3) {
			pairs := NewPairs(1)
			pairs.ShapeA[0], pairs.ShapeB[0] = a, b
			for _, q := range []Query{Distance, Growth} {
				_, err := (&Job{Library: l, Input: pairs, Options: Options{Query: q}}).Read(0, new(Row))
				want := q == Growth && a > 0 && b > 0 || a == 2 && b == 2
				var row *RowError
				undefined := want && !(a == 2 && b == 2) // two half-spaces have no distance either
				if want != (err != nil) || want && (!errors.As(err, &row) || row.Column != "shape_b" ||
					row.Undefined != undefined) {
					t.Errorf("%v of shapes %d and %d: %v", q, a, b, err)
				}
			}
		}
	}
	if err := l.CheckGrowth(5, 1, 2); err == nil || err.Error() != "row 5, column shape_b: no growth distance of "+
		"the flat shape 1 and the half-space 2: neither has an interior point as its center" {
		t.Error(err)
	}
}

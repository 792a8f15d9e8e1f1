package batch

import (
	"errors"
	"math"
	"strings"
	"testing"

	"clearance/geom"

	"gonum.org/v1/gonum/spatial/r3"
)

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

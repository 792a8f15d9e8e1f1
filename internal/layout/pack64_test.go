package layout

import (
	"math"
	"testing"

	"clearance/batch"
	"clearance/geom"

	"gonum.org/v1/gonum/spatial/r2"
	"gonum.org/v1/gonum/spatial/r3"
)

// mustSmoothHull is an octahedron with an inner point, around a center of its own.
func mustSmoothHull(t *testing.T) geom.Shape {
	v := []r3.Vec{{X: 1.1}, {X: -1}, {Y: 1}, {Y: -1}, {Z: 1}, {Z: -1}}
	s, err := geom.NewSmoothHull(v, 7.3, r3.Vec{X: 0.1})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func mustSmoothRevolution(t *testing.T) geom.Shape {
	s, err := geom.NewSmoothRevolution([]r2.Vec{{X: 0.3, Y: 1}, {X: 0.1, Y: -1}}, 20.3, 1e-3)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// The records in double precision are those in single precision before rounding.
func TestPacked64(t *testing.T) {
	convex, err := geom.NewConvex([]r3.Vec{{X: 0.1}, {X: 1.1}, {Y: 1.3}, {Z: 1.7}})
	if err != nil {
		t.Fatal(err)
	}
	shapes := []geom.Shape{
		geom.WithMargin(geom.Ellipsoid{SemiAxes: r3.Vec{X: 0.1, Y: 0.2, Z: 0.3}}, 0.7),
		geom.Frustum{RBottom: 0.1, RTop: 0.2, HalfLength: 0.3},
		geom.Superquadric{SemiAxes: r3.Vec{X: 0.1, Y: 0.2, Z: 0.3}, Alpha1: 0.6, Alpha2: 1.1},
		convex,
		geom.WithMargin(convex, 0.3),
		geom.Halfspace{},
		mustSmoothHull(t), mustSmoothRevolution(t),
	}
	l, err := batch.NewLibrary(shapes, nil)
	if err != nil {
		t.Fatal(err)
	}
	single, err := Pack(l)
	if err != nil {
		t.Fatal(err)
	}
	double := Pack64(l, single)
	if len(double.Shapes) != len(shapes) || len(double.Vertices) != 8+6+2 {
		t.Fatalf("%d shapes, %d vertices", len(double.Shapes), len(double.Vertices))
	}
	for i, d := range double.Shapes {
		s := single.Shapes[i]
		if d.Kind != s.Kind || d.VertexOffset != s.VertexOffset ||
			d.VertexCount != s.VertexCount || float32(d.Radius) != s.Radius || float32(d.Bounding) != s.Ball[3] {
			t.Errorf("shape %d: %+v, want what %+v was rounded from", i, d, s)
		}
		for k, p := range d.Params {
			if float32(p) != s.Params[k] {
				t.Errorf("shape %d: parameter %d is %g, want %g", i, k, p, s.Params[k])
			}
		}
		for k, c := range d.Center {
			if float32(c) != s.Ball[k] {
				t.Errorf("shape %d: center %v, want %v", i, d.Center, s.Ball)
			}
		}
		if d.Erode != geom.MinCurvatureRadius(shapes[i]) {
			t.Errorf("shape %d: erode %g", i, d.Erode)
		}
	}
	if d := double.Shapes[0]; !(d.Erode > 0) || d.Params[0] != 0.1 || d.Radius != 0.7 {
		t.Errorf("ellipsoid with margin: %+v", d)
	}
	if !math.IsInf(double.Shapes[5].Bounding, 1) {
		t.Error("a half-space is bounded")
	}
	for i, v := range double.Vertices {
		for k, x := range v.Position {
			if float32(x) != single.Vertices[i][k] {
				t.Errorf("vertex %d: %v, want %v", i, v.Position, single.Vertices[i])
			}
		}
	}
}

package geom

import (
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/spatial/r2"
	"gonum.org/v1/gonum/spatial/r3"
)

// The answer of RevolutionOf holds: rotated about the line, a core has the same support values.
func TestRevolutionOf(t *testing.T) {
	convex := func(points ...r3.Vec) Shape {
		c, err := NewConvex(points)
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	vase, err := NewSmoothRevolution([]r2.Vec{{X: 0.3, Y: 0.35}, {X: 0.2, Y: -0.3}}, 20, 1e-2)
	if err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(3, 5))
	for _, c := range []struct {
		shape    Shape
		ok, ball bool
	}{
		{Sphere{R: 2}, true, true},
		{Capsule{R: 1, HalfLength: 2}, true, false},
		{Cylinder{R: 1, HalfLength: 2}, true, false},
		{WithMargin(Cone{R: 1, HalfLength: 2}, 0.1), true, false},
		{Frustum{RBottom: 1, RTop: 0.5, HalfLength: 2}, true, false},
		{vase, true, false},
		{Ellipsoid{SemiAxes: r3.Vec{X: 2, Y: 2, Z: 1}}, true, false},
		{Ellipsoid{SemiAxes: r3.Vec{X: 1, Y: 2, Z: 2}}, true, false},
		{Ellipsoid{SemiAxes: r3.Vec{X: 2, Y: 1, Z: 2}}, true, false},
		{Ellipsoid{SemiAxes: r3.Vec{X: 2, Y: 2, Z: 2}}, true, true},
		{Ellipsoid{SemiAxes: r3.Vec{X: 1, Y: 2, Z: 3}}, false, false},
		{Superquadric{SemiAxes: r3.Vec{X: 2, Y: 2, Z: 1}, Alpha1: 0.5, Alpha2: 1}, true, false},
		{Superquadric{SemiAxes: r3.Vec{X: 1, Y: 2, Z: 2}, Alpha1: 1, Alpha2: 1}, true, false},
		{Superquadric{SemiAxes: r3.Vec{X: 1, Y: 2, Z: 2}, Alpha1: 0.5, Alpha2: 1}, false, false},
		{Superquadric{SemiAxes: r3.Vec{X: 2, Y: 2, Z: 2}, Alpha1: 1, Alpha2: 0.5}, false, false},
		{convex(r3.Vec{X: 1, Y: 2, Z: 3}), true, true},
		{convex(r3.Vec{X: 1, Y: 2, Z: 3}, r3.Vec{X: -1, Y: 4}, r3.Vec{Y: 3, Z: 1.5}), true, false},
		{convex(r3.Vec{X: 1}, r3.Vec{Y: 1}, r3.Vec{Z: 1}), false, false},
		{Box{HalfExtents: r3.Vec{X: 1, Y: 1, Z: 1}}, false, false},
		{Halfspace{}, false, false},
	} {
		r, ok := RevolutionOf(c.shape)
		if ok != c.ok || r.Ball != c.ball {
			t.Errorf("%v: %t, ball %t; want %t, %t", c.shape, ok, r.Ball, c.ok, c.ball)
		}
		if !ok {
			continue
		}
		height := func(d r3.Vec) float64 { return r3.Dot(r3.Sub(c.shape.CoreSupport(d), r.At), d) }
		for range 100 {
			axis := r.Axis
			if r.Ball {
				axis = r3.Vec{X: rng.NormFloat64(), Y: rng.NormFloat64(), Z: rng.NormFloat64()}
			}
			d := r3.Unit(r3.Vec{X: rng.NormFloat64(), Y: rng.NormFloat64(), Z: rng.NormFloat64()})
			turned := r3.NewRotation(2*math.Pi*rng.Float64(), axis).Rotate(d)
			if a, b := height(d), height(turned); math.Abs(a-b) > 1e-13*(1+math.Abs(a)) {
				t.Fatalf("%v: %v high along %v, %v along %v", c.shape, a, d, b, turned)
			}
		}
	}
}

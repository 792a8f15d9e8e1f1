package engine

import (
	"math"
	"math/rand/v2"
	"testing"

	"clearance/batch"
	"clearance/geom"

	"gonum.org/v1/gonum/spatial/r3"
)

// TestSuperquadrics: superquadrics of all exponents, from boxes to octahedra, with other
// kinds and among themselves, get the answers of the CPU.
func TestSuperquadrics(t *testing.T) {
	b, c := open(t, Options{}), processor(t)
	g := rand.New(rand.NewPCG(2, 7))
	exponents := []float64{geom.MinExponent, 0.1, 0.5, 1, 1.3, 1.7, geom.MaxExponent}
	var shapes []geom.Shape
	for _, a1 := range exponents {
		for _, a2 := range exponents {
			axes := r3.Vec{X: math.Pow(10, -g.Float64()), Y: math.Pow(10, -g.Float64()), Z: math.Pow(10, -g.Float64())}
			shapes = append(shapes, geom.Superquadric{SemiAxes: axes, Alpha1: a1, Alpha2: a2})
		}
	}
	shapes = append(shapes,
		geom.Superquadric{SemiAxes: r3.Vec{X: 1e-3, Y: 1, Z: 1}, Alpha1: 0.6, Alpha2: 1.2},
		geom.Superquadric{SemiAxes: r3.Vec{X: 1, Y: 1e-3, Z: 2e-3}, Alpha1: 1.4, Alpha2: 0.3},
		geom.WithMargin(shapes[20], 0.1), geom.Box{HalfExtents: r3.Vec{X: 0.4, Y: 0.2, Z: 0.5}}, geom.Sphere{R: 0.3})
	lib, err := batch.NewLibrary(shapes, nil)
	if err != nil {
		t.Fatal(err)
	}
	rows := size(800, 1000, 4000)
	checkRows(t, b, c, lib, scattered(g, lib, rows))
}

// TestSuperquadricClosedForms: along the axes the support is the semi-axis, whatever the
// exponents; with all exponents 1 it is an ellipsoid.
func TestSuperquadricClosedForms(t *testing.T) {
	b := open(t, Options{})
	axes := r3.Vec{X: 0.5, Y: 0.7, Z: 0.3}
	shapes := []geom.Shape{geom.Sphere{R: 0.25}, geom.Halfspace{}, geom.Ellipsoid{SemiAxes: axes}}
	for _, a := range []float64{geom.MinExponent, 0.3, 1, 1.5, geom.MaxExponent} {
		shapes = append(shapes, geom.Superquadric{SemiAxes: axes, Alpha1: a, Alpha2: 2 - a})
	}
	lib, err := batch.NewLibrary(shapes, nil)
	if err != nil {
		t.Fatal(err)
	}
	pairs := batch.NewPairs(0)
	var want []float64
	add := func(a, b int, at r3.Vec, distance float64) {
		pairs.ShapeA, pairs.ShapeB = append(pairs.ShapeA, int32(a)), append(pairs.ShapeB, int32(b))
		pairs.PositionA = append(pairs.PositionA, 0, 0, 0)
		pairs.PositionB = append(pairs.PositionB, at.X, at.Y, at.Z)
		pairs.RotationA, pairs.RotationB = append(pairs.RotationA, 1, 0, 0, 0), append(pairs.RotationB, 1, 0, 0, 0)
		want = append(want, distance)
	}
	for k := 3; k < len(shapes); k++ {
		add(0, k, r3.Vec{X: 2}, 2-0.25-0.5)
		add(k, 0, r3.Vec{Y: -2}, 2-0.25-0.7)
		add(0, k, r3.Vec{Z: 2}, 2-0.25-0.3)
		add(1, k, r3.Vec{Z: 2}, 2-0.3)
		add(k, k, r3.Vec{Y: 2}, 2-1.4)
	}
	job := &batch.Job{Library: lib, Input: pairs, Options: batch.Options{Precision: batch.Double}}
	job.Results = batch.NewResults(pairs.Len(), &job.Options)
	if err := b.Run(t.Context(), job, 0, pairs.Len(), job.Results); err != nil {
		t.Fatal(err)
	}
	for i, w := range want {
		got := job.Results.Distance().At(i)
		if status := batch.Status(job.Results.Status()[i]); status != batch.Separated || !(math.Abs(got-w) <= 1e-12) {
			t.Errorf("row %d: %v at %.17g, want %.17g", i, status, got, w)
		}
	}
}

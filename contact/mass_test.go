package contact

import (
	"math"
	"testing"

	"clearance/batch"
	"clearance/geom"

	"gonum.org/v1/gonum/spatial/r3"
)

// TestMassOfKinds compares the integrals of every kind, at a pose, with sums over a grid of points inside.
func TestMassOfKinds(t *testing.T) {
	pose, err := geom.Translate(0.1, -0.2, 0.3).Compose(geom.Rotate(r3.Vec{X: 1, Y: 2, Z: -1}, 0.7)).Normalized()
	if err != nil {
		t.Fatal(err)
	}
	const density = 1000
	compared := 0
	for _, s := range manifoldShapes(t) {
		if k := s.Kind(); testing.Short() && (k == geom.KindSmoothHull || k == geom.KindSmoothRevolution) {
			continue // TestMomentsSmooth encloses them
		}
		lib, err := batch.NewLibrary([]geom.Shape{s}, nil)
		if err != nil {
			t.Fatal(err)
		}
		bodies, err := batch.NewBodies(lib, []batch.Body{{Parts: []batch.Part{{Shape: 0, Pose: pose}}}})
		if err != nil {
			t.Fatal(err)
		}
		got, err := MassOfBody(bodies, 0, density)
		if err != nil {
			continue
		}
		compared++
		lo, hi := s.AABB()
		const n = 40
		step := r3.Scale(1.0/n, r3.Sub(hi, lo))
		cell := step.X * step.Y * step.Z * density
		var sum moments
		for i := range n * n * n {
			at := r3.Vec{X: float64(i % n), Y: float64(i / n % n), Z: float64(i / n / n)}
			p := r3.Vec{X: lo.X + (at.X+0.5)*step.X, Y: lo.Y + (at.Y+0.5)*step.Y, Z: lo.Z + (at.Z+0.5)*step.Z}
			if s.Residual(p) <= 0 {
				w := pose.Apply(p)
				sum.add(moments{cell, r3.Scale(cell, w), sym3{cell * w.X * w.X, cell * w.Y * w.Y, cell * w.Z * w.Z,
					cell * w.X * w.Y, cell * w.X * w.Z, cell * w.Y * w.Z}})
			}
		}
		c := r3.Scale(1/sum.volume, sum.first)
		if math.Abs(got.Mass/sum.volume-1) > 0.01 || r3.Norm(r3.Sub(got.Center, c)) > 0.003 {
			t.Errorf("%v: mass %g at %v, by points %g at %v", s.Kind(), got.Mass, got.Center, sum.volume, c)
		}
		d := func(i int, x, y float64) float64 { return sum.second[i] - sum.volume*x*y }
		xx, yy, zz := d(0, c.X, c.X), d(1, c.Y, c.Y), d(2, c.Z, c.Z)
		want := [6]float64{yy + zz, zz + xx, xx + yy, -d(3, c.X, c.Y), -d(4, c.X, c.Z), -d(5, c.Y, c.Z)}
		for i := range want {
			if math.Abs(got.Inertia[i]-want[i]) > 0.01*(want[0]+want[1]+want[2]) {
				t.Errorf("%v: inertia %v, by points %v", s.Kind(), got.Inertia, want)
				break
			}
		}
	}
	if compared < 15 {
		t.Errorf("%d shapes have a mass", compared)
	}
}

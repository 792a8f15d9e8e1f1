package testkit

import (
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/num/quat"
	"gonum.org/v1/gonum/spatial/r3"
)

// Draws have what their comments say: unit vectors and quaternions, poses that are normalised, points on
// the ellipsoid, and directions without a preferred side.
func TestDraws(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	const n = 4000
	var sum r3.Vec
	for range n {
		u := Unit(rng)
		sum = r3.Add(sum, u)
		if q := Rotation(rng); !(math.Abs(r3.Norm(u)-1) <= 1e-15 && math.Abs(quat.Abs(q)-1) <= 1e-15) {
			t.Fatalf("direction %v, rotation %v", u, q)
		}
		if p := Pose(rng, 2); !(math.Abs(quat.Abs(p.Rotation)-1) <= 1e-15) {
			t.Fatalf("pose %v", p)
		}
	}
	// The mean of n directions has a standard deviation of 1/√n.
	if !(r3.Norm(sum) < 4*math.Sqrt(n)) {
		t.Errorf("%d directions add up to %v", n, sum)
	}
	a := r3.Vec{X: 1, Y: 2, Z: 3}
	for _, p := range OnEllipsoid(rng, a, 100) {
		if !(math.Abs(math.Hypot(p.X/a.X, math.Hypot(p.Y/a.Y, p.Z/a.Z))-1) <= 1e-15) {
			t.Errorf("%v is not on the ellipsoid", p)
		}
	}
	if h := Hull(rng, a, 50); len(h.Hull().Vertices) != 50 || h.BoundingRadius() > 4 {
		t.Errorf("a hull of %d vertices, radius %g", len(h.Hull().Vertices), h.BoundingRadius())
	}
}

// Equal generators give equal draws.
func TestSeeded(t *testing.T) {
	a, b := rand.New(rand.NewPCG(3, 4)), rand.New(rand.NewPCG(3, 4))
	for range 10 {
		if Pose(a, 1) != Pose(b, 1) || Unit(a) != Unit(b) {
			t.Fatal("equal seeds, other draws")
		}
	}
}

// TestGain compares with schedules by hand.
func TestGain(t *testing.T) {
	for _, c := range []struct {
		pieces int
		speeds []float64
		want   float64
	}{
		{1, []float64{1, 0.5}, 1},
		{2, []float64{1, 0.5}, 1}, // the slow one ends its only piece after 2
		{3, []float64{1, 0.5}, 1.5},
		{4, []float64{1, 1}, 2},
		{5, []float64{1, 1}, 5. / 3},
		{300, []float64{1, 0.5}, 1.5},
	} {
		if got := Gain(c.pieces, c.speeds...); math.Abs(got-c.want) > 1e-12 {
			t.Errorf("%d pieces, speeds %v: %v, want %v", c.pieces, c.speeds, got, c.want)
		}
	}
}

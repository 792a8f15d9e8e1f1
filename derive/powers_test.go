package derive

import (
	"math"
	"math/rand/v2"
	"testing"

	"clearance/batch"
	"clearance/geom"
	"clearance/internal/testkit"

	"gonum.org/v1/gonum/num/quat"
	"gonum.org/v1/gonum/spatial/r2"
	"gonum.org/v1/gonum/spatial/r3"
)

// poweredShapes draws shapes whose support functions have powers, over the range of their parameters; the last one has
// more points than the kernel takes.
func poweredShapes(t *testing.T, rng *rand.Rand) (shapes []geom.Shape) {
	t.Helper()
	within := func(lo, hi float64) float64 { return lo + (hi-lo)*rng.Float64() }
	size := func() r3.Vec { return r3.Vec{X: within(0.2, 0.5), Y: within(0.2, 0.5), Z: within(0.2, 0.5)} }
	for range 12 {
		shapes = append(shapes, geom.Superquadric{SemiAxes: size(), Alpha1: within(0.2, 1.8), Alpha2: within(0.2, 1.8)})
	}
	shapes = append(shapes, geom.Superquadric{SemiAxes: size(), Alpha1: 1, Alpha2: 1})
	for _, n := range []int{8, 33, 256, 257} {
		points := testkit.Hull(rng, size(), n).Hull().Vertices
		s, err := geom.NewSmoothHull(points, math.Exp(within(1, 4)), r3.Vec{X: 0.02, Y: -0.03, Z: 0.01})
		if err != nil {
			t.Fatal(err)
		}
		shapes = append(shapes, s)
		profile := []r2.Vec{{X: 0.3, Y: 0.1}, {X: 0.1, Y: 0.4}, {X: 0.2, Y: within(-0.4, -0.2)}, {X: 0, Y: 0.45},
			{X: 0.35, Y: within(-0.1, 0)}}
		rev, err := geom.NewSmoothRevolution(profile, math.Exp(within(1, 4)), within(0.001, 0.5))
		if err != nil {
			t.Fatal(err)
		}
		shapes = append(shapes, rev)
	}
	return shapes
}

// TestLanesPowers holds the kernel to Go on shapes with powers over the range of their parameters, some in poses in
// which their Hessian takes a limit.
func TestLanesPowers(t *testing.T) {
	rng := rand.New(rand.NewPCG(33, 4))
	shapes := poweredShapes(t, rng)
	others := []geom.Shape{geom.Box{HalfExtents: r3.Vec{X: 0.3, Y: 0.2, Z: 0.4}}, geom.Sphere{R: 0.2},
		testkit.Hull(rng, r3.Vec{X: 0.3, Y: 0.3, Z: 0.2}, 20), geom.Halfspace{}}
	var rows, growth []Row
	for i, a := range shapes {
		for _, b := range append(others, shapes[rng.IntN(len(shapes))], shapes[i]) {
			for _, gap := range []float64{0.3, 1e-3, -0.02} {
				rows = append(rows, placedAtGap(rng, a, b, gap))
			}
			aligned := geom.Pose{Position: r3.Vec{Z: -2}, Rotation: quat.Number{Real: 1}}
			if b.Kind() != geom.KindHalfspace {
				aligned.Position = r3.Vec{X: 1.5}
			}
			rows = append(rows, solve(a, b, geom.IdentityPose(), aligned))
		}
	}
	for i := range rows {
		r := &rows[i]
		if g := solveGrowth(r.A, r.B, r.PoseA, r.PoseB); g.Answered {
			growth = append(growth, g)
		}
	}
	for _, set := range [][]Row{rows, growth} {
		job := jobOf(t, set, batch.Double)
		want := compareKernel(t, job, Options{})
		compareKernel(t, job, Options{Mode: Gumbel})
		compareKernel(t, job, Options{Mode: Gaussian})
		full := 0
		for _, s := range want.Column(batch.ColSmoothness).U8 {
			if Smoothness(s).Full() {
				full++
			}
		}
		if full < len(set)*3/4 {
			t.Errorf("%d of %d rows have all derivatives", full, len(set))
		}
	}
}

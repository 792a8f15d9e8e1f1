package engine

import (
	"math"
	"math/rand/v2"
	"testing"

	"clearance/batch"
	"clearance/geom"
	"clearance/internal/testkit"

	"gonum.org/v1/gonum/spatial/r2"
	"gonum.org/v1/gonum/spatial/r3"
)

// sharpnesses are those that smooth shapes are tested with, from the softest to sharper than
// the papers have them.
var sharpnesses = []float64{geom.MinSharpness, 3, 7.3, 20, 60, 200, geom.MaxSharpness}

// smoothShapes is n smooth hulls and n smooth revolutions of each sharpness: of few points
// and many, long and flat, with a center off the middle, with a margin.
func smoothShapes(t testing.TB, g *rand.Rand, n int) (all []geom.Shape) {
	t.Helper()
	for k := range n * len(sharpnesses) {
		beta := sharpnesses[k%len(sharpnesses)]
		axes := [3]float64{math.Pow(10, -g.Float64()), math.Pow(10, -g.Float64()), math.Pow(10, -g.Float64())}
		center := r3.Vec{X: 0.2 * axes[0] * g.Float64(), Y: 5, Z: -0.1 * axes[2]}
		points := make([]r3.Vec, 20+g.IntN(40))
		for i := range points {
			d := testkit.Unit(g)
			points[i] = r3.Vec{X: axes[0] * d.X, Y: 5 + axes[1]*d.Y, Z: axes[2] * d.Z}
		}
		hull, err := geom.NewSmoothHull(points, beta, center)
		if err != nil {
			t.Fatal(err)
		}
		profile := []r2.Vec{{X: axes[0] * g.Float64(), Y: axes[1]}, {X: axes[0], Y: 0.1},
			{X: axes[0] * g.Float64(), Y: -axes[2]}}
		turned, err := geom.NewSmoothRevolution(profile, beta, math.Pow(10, -4*g.Float64()))
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, hull, turned)
	}
	all[1] = geom.WithMargin(all[1], 0.1)
	return all
}

// smoothSet is rows of smooth shapes of all kinds.
func smoothSet(t testing.TB, rows int) (*batch.Library, *batch.Pairs) {
	t.Helper()
	g := rand.New(rand.NewPCG(2, 16))
	shapes := append(smoothShapes(t, g, 2), geom.Ellipsoid{SemiAxes: r3.Vec{X: 0.2, Y: 0.5, Z: 0.9}},
		geom.Sphere{R: 0.4},
		geom.Superquadric{SemiAxes: r3.Vec{X: 0.3, Y: 0.4, Z: 0.25}, Alpha1: 1.2, Alpha2: 1.5})
	lib, err := batch.NewLibrary(shapes, nil)
	if err != nil {
		t.Fatal(err)
	}
	return lib, scattered(g, lib, rows)
}

// TestSmooth: smooth hulls and revolutions, with other kinds and among themselves, get the
// answers of the CPU.
func TestSmooth(t *testing.T) {
	b, c := open(t, Options{}), processor(t)
	g := rand.New(rand.NewPCG(2, 17))
	shapes := append(smoothShapes(t, g, 2),
		geom.Box{HalfExtents: r3.Vec{X: 0.4, Y: 0.2, Z: 0.5}}, geom.Sphere{R: 0.3}, geom.Halfspace{},
		geom.Superquadric{SemiAxes: r3.Vec{X: 0.3, Y: 0.4, Z: 0.25}, Alpha1: 0.6, Alpha2: 1.4})
	lib, err := batch.NewLibrary(shapes, nil)
	if err != nil {
		t.Fatal(err)
	}
	rows := size(400, 500, 2000)
	checkRows(t, b, c, lib, scattered(g, lib, rows))
}

// TestSmoothIsSuperquadric: the smooth hull of the six ends of three axes has the support
// function of a superquadric of exponents 2 - 2/β, so the distances are the same.
func TestSmoothIsSuperquadric(t *testing.T) {
	b := open(t, Options{})
	axes := r3.Vec{X: 0.5, Y: 0.7, Z: 0.3}
	ends := []r3.Vec{{X: axes.X}, {X: -axes.X}, {Y: axes.Y}, {Y: -axes.Y}, {Z: axes.Z}, {Z: -axes.Z}}
	for _, beta := range []float64{2.5, 7, 20, 200} {
		hull, err := geom.NewSmoothHull(ends, beta, r3.Vec{})
		if err != nil {
			t.Fatal(err)
		}
		alpha := 2 - 2/beta
		other := geom.Superquadric{SemiAxes: axes, Alpha1: alpha, Alpha2: alpha}
		ball := geom.Ellipsoid{SemiAxes: r3.Vec{X: 0.2, Y: 0.3, Z: 0.6}}
		var got [2]*batch.Results
		for k, s := range []geom.Shape{hull, other} {
			lib, err := batch.NewLibrary([]geom.Shape{s, ball}, nil)
			if err != nil {
				t.Fatal(err)
			}
			pairs := scattered(rand.New(rand.NewPCG(4, 18)), lib, 200)
			for i := range pairs.ShapeA { // one shape of each kind, at poses that do not depend on sizes
				pairs.ShapeA[i], pairs.ShapeB[i] = 0, 1
				for k := range 3 {
					pairs.PositionA[3*i+k], pairs.PositionB[3*i+k] = 0, math.Copysign(0.9, math.Sin(float64(3*i+k)))
				}
			}
			got[k] = direct(t, b, lib, pairs, batch.Options{Precision: batch.Double})
		}
		for i := range got[0].N {
			x, y := got[0].Distance().At(i), got[1].Distance().At(i)
			gap := float64(got[0].Gap()[i]) + float64(got[1].Gap()[i])
			if got[0].Status()[i] != uint8(batch.Separated) || got[1].Status()[i] != uint8(batch.Separated) ||
				!(math.Abs(x-y) <= gap) || !(gap < 1e-11) {
				t.Fatalf("β = %g, row %d: %v at %.17g and %v at %.17g, gaps %g", beta, i,
					batch.Status(got[0].Status()[i]), x, batch.Status(got[1].Status()[i]), y, gap)
			}
		}
	}
}

// TestSmoothRevolutionClosedForm: distances of spheres across and along the axis.
func TestSmoothRevolutionClosedForm(t *testing.T) {
	b := open(t, Options{})
	const a, c, radius = 0.5, 0.4, 0.25
	shapes := []geom.Shape{geom.Sphere{R: radius}, geom.Halfspace{}}
	var along []float64
	for _, beta := range sharpnesses {
		gamma := 0.09
		s, err := geom.NewSmoothRevolution([]r2.Vec{{X: a}, {Y: c}, {Y: -c}}, beta, gamma)
		if err != nil {
			t.Fatal(err)
		}
		shapes = append(shapes, s)
		along = append(along, c*math.Pow(1+math.Pow(a*math.Sqrt(gamma)/c, beta), 1/beta))
	}
	lib, err := batch.NewLibrary(shapes, nil)
	if err != nil {
		t.Fatal(err)
	}
	pairs := batch.NewPairs(0)
	var want []float64
	for k, high := range along {
		s := int32(k + 2)
		for _, r := range []struct {
			a, b     int32
			at       r3.Vec
			distance float64
		}{
			{0, s, r3.Vec{X: 2}, 2 - radius - a}, {s, 0, r3.Vec{Y: -2}, 2 - radius - a},
			{0, s, r3.Vec{Z: 2}, 2 - radius - high}, {1, s, r3.Vec{Z: 2}, 2 - high}, {s, s, r3.Vec{Z: -2}, 2 - 2*high},
		} {
			pairs.ShapeA, pairs.ShapeB = append(pairs.ShapeA, r.a), append(pairs.ShapeB, r.b)
			pairs.PositionA = append(pairs.PositionA, 0, 0, 0)
			pairs.PositionB = append(pairs.PositionB, r.at.X, r.at.Y, r.at.Z)
			pairs.RotationA, pairs.RotationB = append(pairs.RotationA, 1, 0, 0, 0), append(pairs.RotationB, 1, 0, 0, 0)
			want = append(want, r.distance)
		}
	}
	got := direct(t, b, lib, pairs, batch.Options{Precision: batch.Double})
	for i, w := range want {
		d := got.Distance().At(i)
		if status := batch.Status(got.Status()[i]); status != batch.Separated || !(math.Abs(d-w) <= 1e-12) {
			t.Errorf("row %d: %v at %.17g, want %.17g", i, status, d, w)
		}
	}
}

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

// TestHessians: support points and Hessians of the shaders are those of package geom, which
// are tested against finite differences.
func TestHessians(t *testing.T) {
	b := open(t, Options{})
	g := rand.New(rand.NewPCG(9, 21))
	shapes := smoothShapes(t, g, 2)
	for range 6 {
		axes := r3.Vec{X: math.Pow(10, -g.Float64()), Y: math.Pow(10, -g.Float64()), Z: math.Pow(10, -g.Float64())}
		shapes = append(shapes, geom.Ellipsoid{SemiAxes: axes}, geom.Superquadric{SemiAxes: axes,
			Alpha1: 0.3 + 1.5*g.Float64(), Alpha2: 0.3 + 1.5*g.Float64()})
	}
	shapes = append(shapes, geom.Sphere{R: 0.5}, geom.Superquadric{SemiAxes: r3.Vec{X: 1, Y: 2, Z: 0.5}, Alpha1: 1,
		Alpha2: 1})
	shapes[1] = shapes[3] // without its margin: the shaders have the core alone
	lib, err := batch.NewLibrary(shapes, nil)
	if err != nil {
		t.Fatal(err)
	}
	const perShape = 40
	var numbers []float64
	unit := func() r3.Vec { return testkit.Unit(g) }
	type row struct {
		shape   geom.Shape
		d, e, f r3.Vec
	}
	var rows []row
	for i, s := range shapes {
		for range perShape {
			d := unit()
			e := r3.Unit(r3.Cross(d, unit()))
			r := row{s, d, e, r3.Cross(d, e)}
			rows = append(rows, r)
			numbers = append(numbers, float64(i))
			for _, v := range []r3.Vec{r.d, r.e, r.f} {
				numbers = append(numbers, v.X, v.Y, v.Z)
			}
		}
	}
	k, err := b.libraries.of(t.Context(), lib)
	if err != nil {
		t.Fatal(err)
	}
	defer b.libraries.release(k)
	got := evaluate(t, b, compile(t, "../shaders/testdata/hessian.comp"), numbers, len(rows), 6, k.shapes64,
		k.vertices64, k.cells)
	for i, r := range rows {
		out := got[6*i:]
		p := r.shape.CoreSupport(r.d)
		size := r.shape.BoundingRadius() + r3.Norm(r.shape.Center())
		if off := r3.Norm(r3.Sub(p, r3.Vec{X: out[0], Y: out[1], Z: out[2]})); !(off <= 1e-10*size) {
			t.Errorf("row %d, %v: support point %v, want %v", i, r.shape.Kind(), out[:3], p)
		}
		var want [3]float64
		if s, ok := r.shape.(geom.Smooth); ok && r.shape.Kind() != geom.KindSphere {
			if h, ok := s.SupportHessian(r.d); ok {
				he, hf := h.MulVec(r.e), h.MulVec(r.f)
				want = [3]float64{r3.Dot(r.e, he), r3.Dot(r.e, hf), r3.Dot(r.f, hf)}
			}
		}
		// The sums of sharp hulls cancel where one vertex is all but alone.
		allowed := 1e-9 * (math.Abs(want[0]) + math.Abs(want[2]) + size)
		for j, w := range want {
			if !(math.Abs(out[3+j]-w) <= allowed) {
				t.Errorf("row %d, %v: Hessian %v, want %v", i, r.shape.Kind(), out[3:6], want)
				break
			}
		}
	}
}

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

package engine

import (
	"math"
	"math/rand/v2"
	"testing"

	"clearance/batch"
	"clearance/geom"
	"clearance/internal/testkit"

	"gonum.org/v1/gonum/spatial/r3"
)

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

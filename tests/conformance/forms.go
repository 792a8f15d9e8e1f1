package conformance

import (
	"fmt"
	"math"

	"clearance/geom"

	"gonum.org/v1/gonum/spatial/r2"
	"gonum.org/v1/gonum/spatial/r3"
)

// Form is a shape of the suite as the support matrix lists it: a kind, or one of
// the forms that the kind convex takes.
type Form struct {
	Kind geom.Kind
	Name string // that of the kind, with the form in brackets

	Flat bool // without interior, unless a margin gives it one

	shape geom.Shape
}

// Why some kinds are left to others: NoKernel to the reference solvers by the kernels, NoShader by the shaders,
// NoTwoFloats by proofs in sums of two floats to those in double precision. Of every other kind they answer rows.
var (
	NoKernel    = map[geom.Kind]string{}
	NoShader    = map[geom.Kind]string{}
	NoTwoFloats = map[geom.Kind]string{
		geom.KindSuperquadric:     "its support function takes powers",
		geom.KindSmoothHull:       "the same",
		geom.KindSmoothRevolution: "the same",
		geom.KindHalfspace:        "it has no support points; formulas are proved in double precision",
	}
)

// Shape returns the shape of the form, without a margin.
func (f Form) Shape() geom.Shape { return f.shape }

// margin is what every second shape of a form is wrapped in, metres.
const margin = 0.05

// Forms returns every form of every kind that can be built, in the order of the kinds.
func Forms() []Form {
	plate := ring(6, 0.4)
	forms := []Form{
		{shape: geom.Sphere{R: 0.3}},
		{shape: geom.Capsule{R: 0.15, HalfLength: 0.4}},
		{shape: geom.Cylinder{R: 0.25, HalfLength: 0.35}},
		{shape: geom.Cone{R: 0.4, HalfLength: 0.3}},
		{shape: geom.Frustum{RBottom: 0.35, RTop: 0.2, HalfLength: 0.25}},
		{shape: geom.Box{HalfExtents: r3.Vec{X: 0.2, Y: 0.3, Z: 0.45}}},
		{shape: geom.Ellipsoid{SemiAxes: r3.Vec{X: 0.5, Y: 0.2, Z: 0.3}}},
		{shape: geom.Superquadric{SemiAxes: r3.Vec{X: 0.3, Y: 0.4, Z: 0.25}, Alpha1: 0.6, Alpha2: 1.4}},
		{shape: mustSmooth(geom.NewSmoothHull(spiral(12), 12, r3.Vec{}))},
		{shape: mustSmooth(geom.NewSmoothRevolution([]r2.Vec{{X: 0.3, Y: 0.35}, {X: 0.2, Y: -0.3}}, 20, 1e-2))},
		{Name: "hull", shape: mustConvex(spiral(40))},
		{Name: "plate", Flat: true, shape: mustConvex(plate)},
		{Name: "triangle", Flat: true, shape: mustConvex(plate[:3])},
		{Name: "segment", Flat: true, shape: mustConvex([]r3.Vec{{X: -0.3, Z: 0.1}, {X: 0.4, Y: 0.2}})},
		{Name: "point", Flat: true, shape: mustConvex([]r3.Vec{{X: 0.1, Y: -0.2, Z: 0.05}})},
		{shape: geom.Halfspace{}},
	}
	for i := range forms {
		f := &forms[i]
		f.Kind = f.shape.Kind()
		if f.Name == "" {
			f.Name = f.Kind.String()
		} else {
			f.Name = fmt.Sprintf("%s (%s)", f.Kind, f.Name)
		}
	}
	return forms
}

// shapes returns two shapes of each form, without and with a margin: form f is
// shape 2·f and, with the margin, 2·f + 1.
func shapes(forms []Form) (all []geom.Shape, names []string) {
	for _, f := range forms {
		all = append(all, f.shape, geom.WithMargin(f.shape, margin))
		names = append(names, f.Name, f.Name+" with margin")
	}
	return all, names
}

// ring is a regular polygon of n corners in the plane z = 0.
func ring(n int, radius float64) []r3.Vec {
	p := make([]r3.Vec, n)
	for i := range p {
		sin, cos := math.Sincos(2 * math.Pi * float64(i) / float64(n))
		p[i] = r3.Vec{X: radius * cos, Y: radius * sin}
	}
	return p
}

// spiral is n points on an ellipsoid, evenly spread along a spiral of golden angles.
func spiral(n int) []r3.Vec {
	p := make([]r3.Vec, n)
	for i := range p {
		z := 1 - (2*float64(i)+1)/float64(n)
		sin, cos := math.Sincos(float64(i) * math.Pi * (3 - math.Sqrt(5)))
		r := math.Sqrt(1 - z*z)
		p[i] = r3.Vec{X: 0.3 * r * cos, Y: 0.4 * r * sin, Z: 0.25 * z}
	}
	return p
}

// mustSmooth returns a shape written above.
func mustSmooth[S geom.Shape](s S, err error) geom.Shape {
	if err != nil {
		panic(fmt.Sprintf("conformance: %v", err))
	}
	return s
}

// mustConvex builds a hull of points written above.
func mustConvex(points []r3.Vec) geom.Shape {
	c, err := geom.NewConvex(points)
	if err != nil {
		panic(fmt.Sprintf("conformance: hull of %d points: %v", len(points), err))
	}
	return c
}

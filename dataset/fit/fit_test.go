package fit

import (
	"math"
	"math/rand/v2"
	"testing"

	"clearance/geom"
	"clearance/internal/testkit"

	"gonum.org/v1/gonum/diff/fd"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/num/quat"
	"gonum.org/v1/gonum/spatial/r3"
)

func corners(a, b, c float64) []r3.Vec {
	var v []r3.Vec
	for i := range 8 {
		sign := func(bit int) float64 { return float64(1 - 2*(i>>bit&1)) }
		v = append(v, r3.Vec{X: a * sign(0), Y: b * sign(1), Z: c * sign(2)})
	}
	return v
}

func hullOf(t *testing.T, points []r3.Vec) geom.Shape {
	t.Helper()
	c, err := geom.NewConvex(points)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// The gradient of the search agrees with differences, for soft and sharp bodies.
func TestHullGradient(t *testing.T) {
	g := rand.New(rand.NewPCG(61, 62))
	target := newTarget(geom.Box{HalfExtents: r3.Vec{X: 1, Y: 2, Z: 3}})
	for _, u := range []float64{-6, -3, 0, 2} {
		f := hullFit{target: &target, k: 7}
		x := make([]float64, 22)
		for i, n := range sphere(7) {
			x[3*i], x[3*i+1], x[3*i+2] = n.X+0.1*g.Float64(), n.Y+0.1*g.Float64(), n.Z+0.1*g.Float64()
		}
		x[21] = u
		want := fd.Gradient(nil, func(x []float64) float64 { return f.evaluate(x, nil) }, x,
			&fd.Settings{Formula: fd.Central})
		got := make([]float64, 22)
		f.evaluate(x, got)
		if d := floats.Distance(got, want, math.Inf(1)); !(d < 1e-6) {
			t.Errorf("u = %g: gradient %v, differences say %v", u, got, want)
		}
	}
}

// A smooth hull is found again from its own support function, wherever it lies and however large.
func TestSmoothHullOfItself(t *testing.T) {
	for _, size := range []float64{1e-3, 1, 1e3} {
		var v []r3.Vec
		center := r3.Vec{X: 7 * size}
		for _, p := range corners(size, 0.8*size, 0.6*size) {
			v = append(v, r3.Add(p, center))
		}
		body, err := geom.NewSmoothHull(v, 8, center)
		if err != nil {
			t.Fatal(err)
		}
		s, err := SmoothHull(body, 12)
		if err != nil {
			t.Fatal(err)
		}
		if e := Measure(body, s, geom.IdentityPose()); !(e.Hausdorff() < 0.02*body.BoundingRadius()) {
			t.Errorf("size %g: off by %+v", size, e)
		}
	}
}

// More vertices come nearer; a sharp box is met by its corners.
func TestSmoothHullOfHulls(t *testing.T) {
	g := rand.New(rand.NewPCG(63, 64))
	var cloud []r3.Vec
	for range 300 {
		u := testkit.Unit(g)
		cloud = append(cloud, r3.Vec{X: 0.1 * u.X, Y: 0.06 * u.Y, Z: 0.03 * u.Z})
	}
	for _, body := range []geom.Shape{hullOf(t, cloud), hullOf(t, corners(0.1, 0.07, 0.02))} {
		size, last := body.BoundingRadius(), math.Inf(1)
		for _, k := range []int{6, 20} {
			s, err := SmoothHull(body, k)
			if err != nil {
				t.Fatal(err)
			}
			e := Measure(body, s, geom.IdentityPose())
			if !(e.RMS < last) {
				t.Errorf("%d vertices: rms %g after %g", k, e.RMS, last)
			}
			last = e.RMS
			if k == 20 && !(e.Hausdorff() < 0.1*size && e.RMS < 0.03*size) {
				t.Errorf("20 vertices: %+v of %g", e, size)
			}
		}
	}
}

// A superquadric is recovered from its hull, rotated and translated.
func TestSuperquadricOfItself(t *testing.T) {
	want := geom.Superquadric{SemiAxes: r3.Vec{X: 0.3, Y: 0.2, Z: 0.1}, Alpha1: 0.6, Alpha2: 0.9}
	q := quat.Number{Real: 0.5, Imag: 0.3, Jmag: -0.4, Kmag: 0.2}
	pose := geom.Pose{Position: r3.Vec{X: 1, Y: 2, Z: 3}, Rotation: quat.Scale(1/quat.Abs(q), q)}
	m := pose.Matrix()
	var points []r3.Vec
	for _, n := range sphere(3000) {
		points = append(points, r3.Add(m.MulVec(want.CoreSupport(n)), pose.Position))
	}
	s, at, err := Superquadric(hullOf(t, points))
	if err != nil {
		t.Fatal(err)
	}
	if e := Measure(hullOf(t, points), s, at); !(e.Hausdorff() < 0.01*want.BoundingRadius()) {
		t.Errorf("found %+v at %+v, off by %+v", s, at, e)
	}
}

// The errors are those of bodies whose Hausdorff distance is known: two balls, and a box in
// its ball.
func TestMeasure(t *testing.T) {
	pose := geom.Pose{Position: r3.Vec{X: 3}, Rotation: quat.Number{Real: 1}}
	e := Measure(geom.Sphere{R: 2}, geom.Sphere{R: 1}, pose)
	if math.Abs(e.Outside-2) > 1e-3 || math.Abs(e.Inside-4) > 2e-3 {
		t.Errorf("balls: %+v, want 2 outside and 4 inside", e)
	}
	e = Measure(geom.Box{HalfExtents: r3.Vec{X: 1, Y: 1, Z: 1}}, geom.Sphere{R: math.Sqrt(3)}, geom.IdentityPose())
	if math.Abs(e.Outside-(math.Sqrt(3)-1)) > 1e-2 || e.Inside > 1e-12 {
		t.Errorf("box in its ball: %+v", e)
	}
}

// What cannot be fitted is named.
func TestErrors(t *testing.T) {
	flat := hullOf(t, []r3.Vec{{}, {X: 1}, {Y: 1}})
	if _, err := SmoothHull(flat, 20); err == nil {
		t.Error("a triangle is fitted")
	}
	if _, _, err := Superquadric(flat); err == nil {
		t.Error("a triangle is fitted")
	}
	if _, err := SmoothHull(geom.Sphere{R: 1}, 3); err == nil {
		t.Error("three vertices are accepted")
	}
	if _, err := SmoothHull(geom.Halfspace{}, 20); err == nil {
		t.Error("a half-space is fitted")
	}
}

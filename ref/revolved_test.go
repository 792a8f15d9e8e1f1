package ref

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"clearance/geom"
	"clearance/internal/testkit"

	"gonum.org/v1/gonum/num/quat"
	"gonum.org/v1/gonum/spatial/r2"
	"gonum.org/v1/gonum/spatial/r3"
)

// Depths of bodies of revolution about one axis take some ten steps instead of tens of thousands,
// and are those of the same bodies tilted by a little, which have no common axis and go the
// usual way.
func TestRevolved(t *testing.T) {
	vase, err := geom.NewSmoothRevolution([]r2.Vec{{X: 0.3, Y: 0.35}, {X: 0.2, Y: -0.3}}, 20, 1e-2)
	if err != nil {
		t.Fatal(err)
	}
	shapes := []geom.Shape{
		geom.Sphere{R: 0.3}, geom.Capsule{R: 0.15, HalfLength: 0.4}, geom.Cylinder{R: 0.25, HalfLength: 0.35},
		geom.Cone{R: 0.4, HalfLength: 0.3},
		geom.Frustum{RBottom: 0.35, RTop: 0.2, HalfLength: 0.25}, vase,
		geom.WithMargin(geom.Cylinder{R: 0.1, HalfLength: 0.3}, 0.05),
		geom.Ellipsoid{SemiAxes: r3.Vec{X: 0.3, Y: 0.3, Z: 0.35}},
		geom.Ellipsoid{SemiAxes: r3.Vec{X: 0.3, Y: 0.3, Z: 0.3}},
		geom.Superquadric{SemiAxes: r3.Vec{X: 0.3, Y: 0.3, Z: 0.25}, Alpha1: 0.6, Alpha2: 1},
		geom.WithMargin(mustConvex(r3.Vec{X: 0.1, Y: -0.2, Z: 0.3}), 0.2),
		geom.WithMargin(mustConvex(r3.Vec{X: 0.3, Y: 0.2, Z: -0.3}, r3.Vec{X: 0.3, Y: 0.2, Z: 0.3}), 0.1),
	}
	rng := rand.New(rand.NewPCG(71, 72))
	const tilt = 1e-7
	flips := []quat.Number{{Real: 1}, {Imag: 1}, {Jmag: 1}, {Kmag: 1}, {Real: math.Sqrt2 / 2, Kmag: math.Sqrt2 / 2}}
	for _, a := range shapes {
		for _, b := range shapes {
			axisA, _ := geom.RevolutionOf(a)
			axisB, _ := geom.RevolutionOf(b)
			ballA, ballB := axisA.Ball, axisB.Ball
			if polytopeCore(a) && polytopeCore(b) {
				continue
			}
			for k, along := range []float64{0, 0.05, -0.1, 0.2} {
				q := placed{a: a, b: b, pa: geom.IdentityPose(), pb: geom.IdentityPose()}
				q.pa.Rotation = testkit.Rotation(rng)
				q.pb.Rotation = quat.Mul(q.pa.Rotation, flips[rng.IntN(len(flips))])
				if ballA {
					q.pa, q.pb = q.pb, q.pa // the axis of the other
				}
				axis := q.pa
				q.pb.Position = axis.Apply(r3.Vec{Z: along})
				if ballA {
					axis = q.pb
					axis.Position = r3.Vec{}
					q.pb.Position = axis.Apply(r3.Vec{Z: along})
				}
				// The axes, not the origins, are in one line.
				for _, c := range []struct {
					pose *geom.Pose
					at   r3.Vec
				}{{&q.pa, axisA.At}, {&q.pb, axisB.At}} {
					c.pose.Position = r3.Sub(r3.Scale(2, c.pose.Position), c.pose.Apply(c.at))
				}
				p := q.pair()
				o := Options{Method: MethodGJK, Tolerance: []float64{0, 5e-7}[k%2] * p.Size()}
				r := Solve(&p, o, nil)
				name := fmt.Sprintf("%v and %v, %g along", a.Kind(), b.Kind(), along)
				if r.Status != Penetrating || r.Iterations > 60 {
					t.Errorf("%s: %v ± %g, %v in %d steps", name, r.Distance, r.Gap(), r.Status, r.Iterations)
				}
				if off := norm(r3.Sub(r3.Sub(r.WitnessB, r.WitnessA), r3.Scale(r.Distance, r.Normal))); off > r.Gap() {
					t.Errorf("%s: the witnesses are %g off, gap %g", name, off, r.Gap())
				}
				for _, w := range []float64{a.Residual(r.WitnessA),
					b.Residual(q.pb.ApplyInverse(p.ToWorld(r.WitnessB)))} {
					if w > 2*r.Gap() {
						t.Errorf("%s: a witness is %g outside its body, gap %g", name, w, r.Gap())
					}
				}
				if h := -r3.Dot(r.Normal, p.Support(r.Normal).W) - p.Radius; math.Abs(h-r.Lower) > 4*p.Roundoff() {
					t.Errorf("%s: the support plane is at %v, the bound %v", name, h, r.Lower)
				}

				lean := quat.Number{Real: 1, Imag: tilt / 2}
				if ballB || ballA { // aside instead
					q.pb.Position = r3.Add(q.pb.Position, axis.Apply(r3.Vec{X: tilt}))
				} else {
					q.pb.Rotation = quat.Mul(q.pb.Rotation, quat.Scale(1/quat.Abs(lean), lean))
				}
				tilted := q.pair()
				o.Tolerance = 1e-6 * p.Size()
				s := Solve(&tilted, o, nil)
				if s.Status != Penetrating || math.Abs(s.Distance-r.Distance) > r.Gap()+s.Gap()+2*tilt*p.Size() {
					t.Errorf("%s: %v ± %g, tilted %v ± %g (%v)", name, r.Distance, r.Gap(), s.Distance, s.Gap(),
						s.Status)
				}
			}
		}
	}
}

// A body beside the axis, or tilted, has no axis in common with the other.
func TestCommonAxis(t *testing.T) {
	cylinder, box := geom.Cylinder{R: 1, HalfLength: 2}, geom.Box{HalfExtents: r3.Vec{X: 1, Y: 1, Z: 2}}
	spheroid := geom.Ellipsoid{SemiAxes: r3.Vec{X: 2, Y: 1, Z: 1}}
	lean := quat.Number{Real: 1, Imag: 1e-3}
	lean = quat.Scale(1/quat.Abs(lean), lean)
	for _, c := range []struct {
		a, b  geom.Shape
		at    r3.Vec
		turn  quat.Number
		ok    bool
		slack float64 // at least
	}{
		{cylinder, cylinder, r3.Vec{Z: 1}, quat.Number{Kmag: 1}, true, 0},
		{cylinder, cylinder, r3.Vec{X: 1e-3, Z: 1}, quat.Number{Real: 1}, true, 1e-3},
		{cylinder, cylinder, r3.Vec{}, lean, true, 2e-3 * math.Sqrt(5) * 0.99},
		{cylinder, geom.Sphere{R: 1}, r3.Vec{Z: 1}, lean, true, 0},
		{cylinder, box, r3.Vec{}, quat.Number{Real: 1}, false, 0},
		{geom.Sphere{R: 1}, geom.Sphere{R: 1}, r3.Vec{X: 2, Y: 1}, lean, true, 0},
		{cylinder, spheroid, r3.Vec{Z: 1}, quat.Number{Real: math.Sqrt2 / 2, Jmag: math.Sqrt2 / 2}, true, 0},
		{cylinder, spheroid, r3.Vec{Z: 1}, quat.Number{Real: 1}, true, 1},
		{geom.Ellipsoid{SemiAxes: r3.Vec{X: 1, Y: 2, Z: 3}}, cylinder, r3.Vec{}, quat.Number{Real: 1}, false, 0},
		{mustConvex(r3.Vec{X: 3, Y: 1, Z: 2}), cylinder, r3.Vec{X: 3, Y: 1}, quat.Number{Real: 1}, true, 0},
		{mustConvex(r3.Vec{X: 3, Y: 1, Z: 2}, r3.Vec{X: 3, Y: 1, Z: 5}), cylinder, r3.Vec{X: 3, Y: 1},
			quat.Number{Real: 1}, true, 0},
		{mustConvex(r3.Vec{X: 3, Y: 1, Z: 2}, r3.Vec{X: 4, Y: 1, Z: 5}), cylinder, r3.Vec{X: 3, Y: 1},
			quat.Number{Real: 1}, true, 1},
		{mustConvex(r3.Vec{X: 3}, r3.Vec{X: 4}, r3.Vec{Y: 1}), cylinder, r3.Vec{}, quat.Number{Real: 1}, false, 0},
	} {
		p := NewPair(c.a, c.b, geom.IdentityPose(), geom.Pose{Position: c.at, Rotation: c.turn})
		_, _, slack, ok := p.commonAxis()
		if ok != c.ok || slack < c.slack || c.slack == 0 && slack > p.Roundoff() {
			t.Errorf("%v and %v at %v: %v, slack %g", c.a, c.b, c.at, ok, slack)
		}
	}
}

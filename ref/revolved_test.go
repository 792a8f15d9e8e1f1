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
	shapes := revolvedShapes(t)
	rng := rand.New(rand.NewPCG(71, 72))
	const tilt = 1e-6
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
		aside float64
	}{
		{cylinder, cylinder, r3.Vec{Z: 1}, quat.Number{Kmag: 1}, true, 0, 0},
		{cylinder, cylinder, r3.Vec{X: 1e-3, Z: 1}, quat.Number{Real: 1}, true, 0, 1e-3},
		{cylinder, cylinder, r3.Vec{}, lean, true, 2e-3 * math.Sqrt(5) * 0.99, 0},
		{cylinder, geom.Sphere{R: 1}, r3.Vec{Z: 1}, lean, true, 0, 0},
		{cylinder, geom.Sphere{R: 1}, r3.Vec{Y: 2, Z: 1}, lean, true, 0, 2},
		{cylinder, box, r3.Vec{}, quat.Number{Real: 1}, false, 0, 0},
		{geom.Sphere{R: 1}, geom.Sphere{R: 1}, r3.Vec{X: 2, Y: 1}, lean, true, 0, 0},
		{cylinder, spheroid, r3.Vec{Z: 1}, quat.Number{Real: math.Sqrt2 / 2, Jmag: math.Sqrt2 / 2}, true, 0, 0},
		{cylinder, spheroid, r3.Vec{Z: 1}, quat.Number{Real: 1}, true, 1, 0},
		{geom.Ellipsoid{SemiAxes: r3.Vec{X: 1.25, Y: 3, Z: 1}}, cylinder, r3.Vec{},
			quat.Number{Real: math.Sqrt2 / 2, Imag: math.Sqrt2 / 2}, true, 0.25, 0},
		{mustConvex(r3.Vec{X: 3, Y: 1, Z: 2}), cylinder, r3.Vec{X: 3, Y: 1}, quat.Number{Real: 1}, true, 0, 0},
		{mustConvex(r3.Vec{X: 3, Y: 1, Z: 2}, r3.Vec{X: 3, Y: 1, Z: 5}), cylinder, r3.Vec{X: 3, Y: 1},
			quat.Number{Real: 1}, true, 0, 0},
		{mustConvex(r3.Vec{X: 3, Y: 1, Z: 2}, r3.Vec{X: 4, Y: 1, Z: 5}), cylinder, r3.Vec{X: 3, Y: 1},
			quat.Number{Real: 1}, true, 0.7, math.Sqrt(0.4)},
		{mustConvex(r3.Vec{X: 3}, r3.Vec{X: 4}, r3.Vec{Y: 1}), cylinder, r3.Vec{}, quat.Number{Real: 1}, false, 0, 0},
	} {
		p := NewPair(c.a, c.b, geom.IdentityPose(), geom.Pose{Position: c.at, Rotation: c.turn})
		axes, ok := p.commonAxis()
		if ok != c.ok || axes.slack < c.slack || c.slack == 0 && axes.slack > p.Roundoff() ||
			math.Abs(axes.aside-c.aside) > 1e-15 {
			t.Errorf("%v and %v at %v: %v, slack %g, %g aside", c.a, c.b, c.at, ok, axes.slack, axes.aside)
		}
	}
}

// Solids of revolution beside one another's axes have their depths in as few steps as on one axis. Where they are
// aside by little, a polytope takes hundreds of thousands.
func TestParallelAxes(t *testing.T) {
	shapes := revolvedShapes(t)
	rng := rand.New(rand.NewPCG(73, 74))
	deep := 0
	for _, a := range shapes {
		for _, b := range shapes {
			if polytopeCore(a) && polytopeCore(b) {
				continue
			}
			for _, aside := range []float64{1e-14, 1e-12, 1e-9, 1e-7, 1e-4, 0.02, 0.1, 0.3} {
				axisA, _ := geom.RevolutionOf(a)
				axisB, _ := geom.RevolutionOf(b)
				q := placed{a: a, b: b, pa: geom.Pose{Rotation: testkit.Rotation(rng)}}
				q.pb.Rotation = q.pa.Rotation
				side := r3.Scale(aside, r3.Unit(r3.Vec{X: rng.NormFloat64(), Y: rng.NormFloat64()}))
				side.Z = 0.2 * rng.NormFloat64()
				q.pb.Position = q.pa.Apply(r3.Sub(r3.Add(axisA.At, side), axisB.At))
				p := q.pair()
				for _, tolerance := range []float64{0, 5e-7, 1e-12} {
					o := Options{Tolerance: tolerance * p.Size()}
					r := Solve(&p, o, nil)
					name := fmt.Sprintf("%v and %v, %g aside, tolerance %g", a.Kind(), b.Kind(), aside, tolerance)
					if err := certify(&q, &o, &r); err != nil || r.Status == Undecided || r.Iterations > 300 {
						t.Errorf("%s: %v [%g, %g] in %d steps: %v", name, r.Status, r.Lower, r.Upper, r.Iterations, err)
					}
					if r.Ended == EndedByEPA {
						deep++
					}
				}
			}
		}
	}
	if deep < 1000 {
		t.Errorf("%d depths of cores", deep)
	}
}

// TestNearlyRoundEllipsoids: ellipsoids with two semi-axes that differ by less than the tolerance are spheroids.
func TestNearlyRoundEllipsoids(t *testing.T) {
	for _, semi := range []r3.Vec{{X: 1, Y: 1 + 1e-10, Z: 2}, {X: 2, Y: 1 + 1e-14, Z: 1}, {X: 1 + 4e-10, Y: 2, Z: 1}} {
		turn := map[float64]quat.Number{semi.Z: {Real: 1}, semi.X: {Real: math.Sqrt2 / 2, Jmag: math.Sqrt2 / 2},
			semi.Y: {Real: math.Sqrt2 / 2, Imag: math.Sqrt2 / 2}}[2]
		for _, b := range revolvedShapes(t) {
			for _, at := range []r3.Vec{{}, {X: 1e-9}, {X: 1e-7, Y: -2e-7, Z: 0.1}, {Y: 0.3, Z: 0.2}} {
				q := placed{a: geom.Ellipsoid{SemiAxes: semi}, b: b, pa: geom.Pose{Rotation: turn},
					pb: geom.Pose{Position: at, Rotation: quat.Number{Real: 1}}}
				axisB, _ := geom.RevolutionOf(b)
				q.pb.Position = r3.Sub(q.pb.Position, axisB.At)
				p := q.pair()
				o := Options{}
				r := Solve(&p, o, nil)
				if err := certify(&q, &o, &r); err != nil || r.Status != Penetrating || r.Iterations > 300 {
					t.Errorf("%v and %v at %v: %v [%g, %g] in %d steps: %v", semi, b.Kind(), at, r.Status, r.Lower,
						r.Upper, r.Iterations, err)
				}
			}
		}
	}
}

// revolvedShapes are solids of revolution, smooth ones, ones with edges, balls and segments among them.
func revolvedShapes(t *testing.T) []geom.Shape {
	vase, err := geom.NewSmoothRevolution([]r2.Vec{{X: 0.3, Y: 0.35}, {X: 0.2, Y: -0.3}}, 20, 1e-2)
	if err != nil {
		t.Fatal(err)
	}
	return []geom.Shape{
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
}

// TestNearlyCoaxialAtTheLastDigits: an ellipsoid almost on the axis of a capsule or a cylinder, or on it with almost
// equal semi-axes, or tilted by little, at a tolerance for which a polytope would need a million faces.
func TestNearlyCoaxialAtTheLastDigits(t *testing.T) {
	var ws Workspace
	for _, b := range []geom.Shape{geom.Capsule{R: 0.3, HalfLength: 1}, geom.Cylinder{R: 0.4, HalfLength: 2.5},
		geom.WithMargin(geom.Cylinder{R: 0.4, HalfLength: 2.5}, 0.1)} {
		for _, semi := range []r3.Vec{{X: 1, Y: 1, Z: 2}, {X: 1, Y: 1 + 1e-9, Z: 2}, {X: 1, Y: 1 + 1e-11, Z: 2}} {
			for _, at := range []r3.Vec{{}, {X: 1e-9}, {Y: -1e-8, Z: 0.1}, {X: 1e-9, Y: 1e-10, Z: -0.1}} {
				for _, tilt := range []float64{0, 1e-9, 1e-8} {
					for _, swap := range []bool{false, true} {
						q := placed{a: geom.Ellipsoid{SemiAxes: semi}, b: b, pa: geom.IdentityPose(),
							pb: geom.Pose{Position: at, Rotation: quat.Number{Real: 1, Imag: tilt / 2}}}
						if swap {
							q = placed{a: q.b, b: q.a, pa: q.pb, pb: q.pa}
						}
						p := q.pair()
						o := Options{Tolerance: 1e-12 * p.Size()}
						r := Solve(&p, o, &ws)
						if err := certify(&q, &o, &r); err != nil || r.Status != Penetrating || r.Iterations > 8_000 {
							t.Errorf("%v and %v at %v, tilt %g, swapped %t: %v [%g, %g] in %d steps: %v", semi,
								b.Kind(), at, tilt, swap, r.Status, r.Lower, r.Upper, r.Iterations, err)
						}
					}
				}
			}
		}
	}
}

package cpu

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"clearance/batch"
	"clearance/geom"

	"gonum.org/v1/gonum/num/quat"
	"gonum.org/v1/gonum/spatial/r3"
)

// revolved are pairs of cylinders, cones, frustums, capsules and spheres whose distance is a
// formula: B is at `at` in the frame of A, rotated about the x axis.
var revolved = []struct {
	name string
	a, b geom.Shape
	at   r3.Vec
	turn float64
	want float64
}{
	{"cap over cap, coaxial", geom.Cylinder{R: 0.5, HalfLength: 1}, geom.Cylinder{R: 0.3, HalfLength: 0.2},
		r3.Vec{Z: 1.5}, 0, 0.3},
	{"sides, parallel", geom.Cylinder{R: 0.5, HalfLength: 1}, geom.Cylinder{R: 0.3, HalfLength: 0.2},
		r3.Vec{X: 1, Z: 0.4}, 0, 0.2},
	{"sides, crossed", geom.Cylinder{R: 0.5, HalfLength: 1}, geom.Cylinder{R: 0.3, HalfLength: 2}, r3.Vec{X: 1},
		math.Pi / 2, 0.2},
	{"side over cap", geom.Cylinder{R: 0.5, HalfLength: 1}, geom.Cylinder{R: 0.3, HalfLength: 2}, r3.Vec{Z: 2},
		math.Pi / 2, 0.7},
	{"rims", geom.Cylinder{R: 0.5, HalfLength: 1}, geom.Cylinder{R: 0.3, HalfLength: 1}, r3.Vec{X: 1.1, Z: 2.4}, 0,
		0.5},
	{"apexes", geom.Cone{R: 0.5, HalfLength: 1}, geom.Cone{R: 0.3, HalfLength: 1}, r3.Vec{Z: 2.25}, math.Pi, 0.25},
	{"base over apex", geom.Cone{R: 0.5, HalfLength: 1}, geom.Cone{R: 0.3, HalfLength: 1}, r3.Vec{Y: 0.1, Z: 2.25}, 0,
		0.25},
	{"sphere at a cone's side", geom.Cone{R: 3, HalfLength: 2}, geom.Sphere{R: 0.5}, r3.Vec{X: 1.5 + 0.8, Z: 0.6}, 0,
		0.5},
	{"sphere over an apex", geom.Cone{R: 3, HalfLength: 2}, geom.Sphere{R: 0.5}, r3.Vec{Z: 3}, 0, 0.5},
	{"capsule over a cap", geom.Cylinder{R: 0.5, HalfLength: 1}, geom.Capsule{R: 0.2, HalfLength: 0.4}, r3.Vec{Z: 1.5},
		math.Pi / 2, 0.3},
	{"capsule upright over a cap", geom.Cylinder{R: 0.5, HalfLength: 1}, geom.Capsule{R: 0.2, HalfLength: 0.4},
		r3.Vec{Z: 2}, 0, 0.4},
	{"capsule in a cap", geom.Cylinder{R: 0.5, HalfLength: 1}, geom.Capsule{R: 0.2, HalfLength: 0.4}, r3.Vec{Z: 1.1},
		math.Pi / 2, -0.1},
	{"frustum over a rim", geom.Frustum{RBottom: 3, RTop: 1, HalfLength: 1}, geom.Sphere{R: 0.25},
		r3.Vec{X: 1.3, Z: 1.4}, 0, 0.25},
	{"frustum, sphere below", geom.Frustum{RBottom: 3, RTop: 1, HalfLength: 1}, geom.Sphere{R: 0.25},
		r3.Vec{X: 2, Z: -2}, 0, 0.75},
}

// Distances of solids of revolution are those of the formulas, in either order of the pair, in
// any place, and are found by Newton's method in a few steps. The query collide agrees.
func TestRevolvedAgainstFormulas(t *testing.T) {
	rng := rand.New(rand.NewPCG(71, 72))
	var shapes []geom.Shape
	for _, c := range revolved {
		shapes = append(shapes, c.a, c.b)
	}
	lib, err := batch.NewLibrary(shapes, nil)
	if err != nil {
		t.Fatal(err)
	}
	const places = 8
	pairs := batch.NewPairs(2 * places * len(revolved))
	for i := range pairs.Len() {
		k := i / (2 * places)
		c, a := revolved[k], randomPose(rng)
		if i%(2*places) < 2 { // the axes as they are
			a = geom.IdentityPose()
		}
		turn := geom.Pose{Position: c.at, Rotation: quat.Number{Real: math.Cos(c.turn / 2), Imag: math.Sin(c.turn / 2)}}
		row := batch.Row{ShapeA: int32(2 * k), ShapeB: int32(2*k + 1), PoseA: a, PoseB: a.Compose(turn)}
		if i%2 == 1 {
			row.ShapeA, row.ShapeB, row.PoseA, row.PoseB = row.ShapeB, row.ShapeA, row.PoseB, row.PoseA
		}
		pairs.SetRow(i, &row)
	}
	for _, variant := range variants(t) {
		b := newVariant(t, variant, 1)
		for _, p := range []batch.Precision{batch.Single, batch.Double} {
			t.Run(fmt.Sprintf("%s/%v", variant, p), func(t *testing.T) {
				o := batch.Options{Precision: p, Columns: batch.FileColumns}
				r := solve(t, b, lib, pairs, o, 0)
				audit(t, &batch.Job{Library: lib, Input: pairs, Options: o, Results: r})
				meet := solve(t, b, lib, pairs, batch.Options{Query: batch.Collide, Columns: batch.ColStatus}, 0)
				newton := 0
				for i := range pairs.Len() {
					c := revolved[i/(2*places)]
					if d, gap := r.Distance().At(i), float64(r.Gap()[i]); math.Abs(d-c.want) > gap+1e-14 {
						t.Errorf("%s, place %d: distance %v, want %v within %v", c.name, i%(2*places), d, c.want, gap)
					}
					if batch.Solver(r.Method()[i]) == batch.SolverNewton {
						newton++
						if r.Iterations()[i] > 10 {
							t.Errorf("%s, place %d: %d steps", c.name, i%(2*places), r.Iterations()[i])
						}
					}
					if want := c.want < 0; (batch.Status(meet.Status()[i]) == batch.Penetrating) != want {
						t.Errorf("%s, place %d: status %v", c.name, i%(2*places), batch.Status(meet.Status()[i]))
					}
				}
				if newton < pairs.Len()*9/10 {
					t.Errorf("Newton's method answered %d of %d rows", newton, pairs.Len())
				}
			})
		}
	}
}

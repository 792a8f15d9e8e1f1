package verify_test

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"

	"clearance/batch"
	"clearance/cpu"
	"clearance/geom"
	"clearance/internal/testkit"

	"gonum.org/v1/gonum/spatial/r3"
)

// mixedShapes are two or more of every kind, sizes 0.1 to 1, the last a half-space.
func mixedShapes() []geom.Shape {
	return []geom.Shape{
		geom.Sphere{R: 0.4}, geom.Sphere{R: 0.9},
		geom.Capsule{R: 0.2, HalfLength: 0.5},
		geom.Cylinder{R: 0.3, HalfLength: 0.6},
		geom.Cone{R: 0.5, HalfLength: 0.4},
		geom.Frustum{RBottom: 0.5, RTop: 0.2, HalfLength: 0.3},
		geom.Box{HalfExtents: r3.Vec{X: 0.2, Y: 0.5, Z: 0.9}},
		geom.Box{HalfExtents: r3.Vec{X: 0.7, Y: 0.6, Z: 0.1}},
		geom.Ellipsoid{SemiAxes: r3.Vec{X: 0.2, Y: 0.5, Z: 0.8}},
		geom.Ellipsoid{SemiAxes: r3.Vec{X: 0.9, Y: 0.3, Z: 0.4}},
		geom.Superquadric{SemiAxes: r3.Vec{X: 0.5, Y: 0.4, Z: 0.7}, Alpha1: 0.8, Alpha2: 1.3},
		geom.WithMargin(geom.Box{HalfExtents: r3.Vec{X: 0.3, Y: 0.3, Z: 0.3}}, 0.05),
		geom.WithMargin(geom.Ellipsoid{SemiAxes: r3.Vec{X: 0.6, Y: 0.3, Z: 0.2}}, 0.1),
		hull(8, 1), hull(64, 2),
		hull(2, 3), hull(3, 4), // a segment and a triangle
		geom.Halfspace{},
	}
}

// hull is the hull of n random points on an ellipsoid.
func hull(n int, seed uint64) geom.Shape {
	return testkit.Hull(rand.New(rand.NewPCG(seed, 3)), r3.Vec{X: 0.3, Y: 0.6, Z: 0.9}, n)
}

// randomPairs places n pairs of the library around the offset, from deep overlap to
// some sizes apart. No pair has two half-spaces.
func randomPairs(lib *batch.Library, n int, seed uint64, offset r3.Vec) *batch.Pairs {
	rng := rand.New(rand.NewPCG(seed, 1))
	in := batch.NewPairs(n)
	for i := range n {
		var r batch.Row
		r.ShapeA, r.ShapeB = int32(rng.IntN(lib.Len())), int32(rng.IntN(lib.Len()-1))
		if rng.IntN(2) == 0 {
			r.ShapeA, r.ShapeB = r.ShapeB, r.ShapeA
		}
		r.PoseA = geom.Pose{Position: r3.Add(offset, r3.Scale(3, testkit.Unit(rng))), Rotation: testkit.Rotation(rng)}
		away := lib.PairSize(r.ShapeA, r.ShapeB) * 1.3 * rng.Float64()
		r.PoseB = geom.Pose{Position: r3.Add(r.PoseA.Position, r3.Scale(away, testkit.Unit(rng))),
			Rotation: testkit.Rotation(rng)}
		in.SetRow(i, &r)
	}
	return in
}

func newLibrary(t testing.TB, shapes ...geom.Shape) *batch.Library {
	t.Helper()
	lib, err := batch.NewLibrary(shapes, nil)
	if err != nil {
		t.Fatal(err)
	}
	return lib
}

// solved returns the job with the answers of the CPU back end.
func solved(t testing.TB, lib *batch.Library, in batch.Input, o batch.Options) *batch.Job {
	t.Helper()
	job := &batch.Job{Library: lib, Input: in, Options: o, Results: batch.NewResults(in.Len(), &o)}
	backend, err := cpu.New(cpu.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer backend.Close()
	if err := backend.Run(context.Background(), job, 0, in.Len(), job.Results); err != nil {
		t.Fatal(err)
	}
	if job.Results.Bits() != nil && job.Results.Status() != nil {
		job.Results.PackBits(job.Results.Status())
	}
	return job
}

// closed is a pair whose answer is known, in the frame of A at the origin.
type closed struct {
	name     string
	a, b     geom.Shape
	at       r3.Vec // position of B
	distance float64
	normal   r3.Vec
	wa       r3.Vec // a witness on A
}

// closedForms are pairs along axes, of each sign, with their exact answers.
func closedForms() []closed {
	x, z := r3.Vec{X: 1}, r3.Vec{Z: 1}
	ball, small := geom.Sphere{R: 1}, geom.Sphere{R: 0.5}
	cube := geom.Box{HalfExtents: r3.Vec{X: 1, Y: 1, Z: 1}}
	slab := geom.Box{HalfExtents: r3.Vec{X: 0.5, Y: 2, Z: 1}}
	return []closed{
		{"spheres separated", ball, small, r3.Vec{X: 2}, 0.5, x, x},
		{"spheres touching", ball, small, r3.Vec{X: 1.5}, 0, x, x},
		{"spheres penetrating", ball, small, r3.Vec{X: 1.25}, -0.25, x, x},
		{"boxes separated", cube, slab, r3.Vec{X: 2, Y: 0.25}, 0.5, x, r3.Vec{X: 1, Y: 0.5}},
		{"boxes touching", cube, slab, r3.Vec{X: 1.5, Y: 0.25}, 0, x, r3.Vec{X: 1, Y: 0.5}},
		{"boxes penetrating", cube, slab, r3.Vec{X: 1.25, Y: 0.25}, -0.25, x, r3.Vec{X: 1, Y: 0.5}},
		{"box above plane", geom.Halfspace{}, slab, r3.Vec{X: 3, Z: 1.25}, 0.25, z, r3.Vec{X: 3}},
		{"sphere above plane", geom.Halfspace{}, small, r3.Vec{X: 3, Z: 0.75}, 0.25, z, r3.Vec{X: 3}},
		{"sphere on plane", geom.Halfspace{}, small, r3.Vec{X: 3, Z: 0.5}, 0, z, r3.Vec{X: 3}},
		{"sphere in plane", geom.Halfspace{}, small, r3.Vec{X: 3, Z: 0.25}, -0.25, z, r3.Vec{X: 3}},
	}
}

// closedJob writes the closed forms into a job by hand, gap included.
func closedJob(t testing.TB, precision batch.Precision, offset r3.Vec) (*batch.Job, []closed) {
	t.Helper()
	cases := closedForms()
	var shapes []geom.Shape
	in := batch.NewPairs(len(cases))
	rng := rand.New(rand.NewPCG(5, 5))
	o := batch.Options{Precision: precision, Columns: batch.FileColumns}
	res := batch.NewResults(len(cases), &o)
	for i, c := range cases {
		q := testkit.Rotation(rng)
		pose := geom.Pose{Position: offset, Rotation: q}
		pose, err := pose.Normalized()
		if err != nil {
			t.Fatal(err)
		}
		row := batch.Row{ShapeA: int32(2 * i), ShapeB: int32(2*i + 1), PoseA: pose, PoseB: pose}
		row.PoseB.Position = pose.Apply(c.at)
		in.SetRow(i, &row)
		shapes = append(shapes, c.a, c.b)

		m := pose.Matrix()
		a := batch.Answer{Distance: c.distance, Normal: m.MulVec(c.normal), Iterations: 1, Solver: batch.SolverGJK}
		if max(c.a.Kind(), c.b.Kind()) == geom.KindHalfspace {
			a.Solver = batch.SolverClosedForm
		}
		a.WitnessA = pose.Apply(c.wa)
		a.WitnessB = r3.Add(a.WitnessA, r3.Scale(c.distance, a.Normal))
		// Half of the tolerance at most: a part of its own, and eps·|offset| for
		// each of the two positions that the offset rounds.
		size := c.b.BoundingRadius()
		if c.a.Kind() != geom.KindHalfspace {
			size += c.a.BoundingRadius()
		}
		half := 0.25e-6 * size
		if precision == batch.Double {
			half = 0.25e-12 * size
		}
		half += 0x1p-52 * r3.Norm(offset)
		a.Lower, a.Upper = c.distance-half, c.distance+half
		switch {
		case c.distance > 0:
			a.Status = batch.Separated
		case c.distance < 0:
			a.Status = batch.Penetrating
		default:
			a.Status = batch.Touching
		}
		res.Put(i, &a)
	}
	job := &batch.Job{Library: newLibrary(t, shapes...), Input: in, Options: o, Results: res}
	return job, cases
}

func offsetKm() r3.Vec { return r3.Vec{X: 600, Y: -700, Z: 400 * math.Sqrt2} }

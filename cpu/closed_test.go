package cpu

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"clearance/batch"
	"clearance/dispatch"
	"clearance/geom"
	"clearance/internal/testkit"
	"clearance/internal/testkit/rowcheck"
	"clearance/kernels"

	"gonum.org/v1/gonum/num/quat"
	"gonum.org/v1/gonum/spatial/r2"
	"gonum.org/v1/gonum/spatial/r3"
)

// closedShapes are the shapes that closed forms exist for, of ordinary and of extreme
// sizes, then the other kinds, which have closed forms with half-spaces.
func closedShapes(t testing.TB) *batch.Library {
	t.Helper()
	box := func(x, y, z float64) geom.Shape { return geom.Box{HalfExtents: r3.Vec{X: x, Y: y, Z: z}} }
	shapes := []geom.Shape{
		geom.Sphere{R: 0.5}, geom.Sphere{R: 1e-4}, geom.Sphere{R: 1e4}, geom.WithMargin(geom.Sphere{R: geom.MinSize},
			0.1),
		geom.Capsule{R: 0.2, HalfLength: 0.7}, geom.Capsule{R: 0.3, HalfLength: 0.4}, geom.Capsule{R: 0.4},
		geom.Capsule{R: 1e-4, HalfLength: 1}, geom.Capsule{R: 1e-4, HalfLength: 1e4},
		geom.Capsule{R: 1, HalfLength: 1e-6},
		geom.WithMargin(geom.Capsule{R: geom.MinSize, HalfLength: 0.5}, 0.02),
		box(0.2, 0.4, 0.6), box(0.5, 0.5, 0.5), box(1, 1, geom.MinSize), box(1, geom.MinSize, geom.MinSize),
		box(geom.MinSize, geom.MinSize, geom.MinSize),
		box(1e4, 1e-4, 1e-4), box(1e4, 1e4, 1e4), box(1e-4, 1e-4, 1e-4), geom.WithMargin(box(0.3, 0.3, 0.1), 0.05),
		geom.Halfspace{}, geom.WithMargin(geom.Halfspace{}, 0.1),
	}
	rng := rand.New(rand.NewPCG(11, 12))
	points := make([]r3.Vec, 60)
	for i := range points {
		points[i] = r3.Vec{X: 3 + 0.5*rng.NormFloat64(), Y: 0.5 * rng.NormFloat64(), Z: rng.NormFloat64()}
	}
	hull, err := geom.NewConvex(points)
	if err != nil {
		t.Fatal(err)
	}
	small, err := geom.NewConvex(points[:5])
	if err != nil {
		t.Fatal(err)
	}
	smooth, err := geom.NewSmoothHull(points, 30, hull.Center())
	if err != nil {
		t.Fatal(err)
	}
	vase, err := geom.NewSmoothRevolution([]r2.Vec{{X: 0.5, Y: 0.6}, {X: 0.2, Y: 0}, {X: 0.4, Y: -0.6}}, 15, 1e-3)
	if err != nil {
		t.Fatal(err)
	}
	shapes = append(shapes, smooth, geom.WithMargin(vase, 0.02),
		geom.Ellipsoid{SemiAxes: r3.Vec{X: 0.2, Y: 0.4, Z: 0.6}},
		geom.Ellipsoid{SemiAxes: r3.Vec{X: 1e-4, Y: 1, Z: 1e3}},
		geom.Cylinder{R: 0.3, HalfLength: 0.5}, geom.Cone{R: 0.4, HalfLength: 0.5},
		geom.WithMargin(geom.Frustum{RBottom: 0.4, RTop: 0.2, HalfLength: 0.3}, 0.01),
		hull, geom.WithMargin(small, 0.1),
		geom.Superquadric{SemiAxes: r3.Vec{X: 0.3, Y: 0.6, Z: 0.2}, Alpha1: 0.3, Alpha2: 1.7},
		geom.WithMargin(geom.Superquadric{SemiAxes: r3.Vec{X: 0.3, Y: 0.2, Z: 0.4}, Alpha1: geom.MaxExponent,
			Alpha2: geom.MinExponent}, 0.03),
	)
	lib, err := batch.NewLibrary(shapes, nil)
	if err != nil {
		t.Fatal(err)
	}
	return lib
}

// closedPairs places shapes of the library in poses that are hard cases for closed forms. Every
// row has a closed form for the query.
func closedPairs(t testing.TB, n int, seed uint64, q batch.Query) (*batch.Library, *batch.Pairs) {
	t.Helper()
	lib := closedShapes(t)
	rng := rand.New(rand.NewPCG(seed, 7))
	p := batch.NewPairs(n)
	for i := range n {
		row := batch.Row{PoseA: randomPose(rng), PoseB: randomPose(rng)}
		for ok := false; !ok; {
			row.ShapeA, row.ShapeB = int32(rng.IntN(lib.Len())), int32(rng.IntN(lib.Len()))
			ok = hasClosedForm(lib.Shape(row.ShapeA).Kind(), lib.Shape(row.ShapeB).Kind(), q)
		}
		closedPlace(rng, lib, &row)
		if rng.IntN(4) == 0 {
			away := r3.Vec{X: 1000 * rng.NormFloat64(), Y: 1000 * rng.NormFloat64(), Z: 1000 * rng.NormFloat64()}
			row.PoseA.Position, row.PoseB.Position = r3.Add(row.PoseA.Position, away), r3.Add(row.PoseB.Position, away)
		}
		p.SetRow(i, &row)
	}
	return lib, p
}

// closedPlace moves and rotates B.
func closedPlace(rng *rand.Rand, lib *batch.Library, row *batch.Row) {
	turned := func(axis r3.Vec, angle float64) quat.Number { // relative to A
		s, c := math.Sincos(angle / 2)
		q := quat.Number{Real: c, Imag: s * axis.X, Jmag: s * axis.Y, Kmag: s * axis.Z}
		return quat.Mul(row.PoseA.Rotation, q)
	}
	axes := []r3.Vec{{X: 1}, {Y: 1}, {Z: 1}}
	axis := axes[rng.IntN(3)]
	switch rng.IntN(7) {
	case 0: // parallel
		row.PoseB.Rotation = row.PoseA.Rotation
	case 1: // at right angles
		row.PoseB.Rotation = turned(axis, math.Pi/2*float64(1+rng.IntN(3)))
	case 2: // nearly parallel
		row.PoseB.Rotation = turned(axis, math.Pow(10, -16+14*rng.Float64()))
	case 3: // an edge crosses a face at an angle
		row.PoseB.Rotation = turned(axis, math.Pi/4)
	}
	a, b := lib.Shape(row.ShapeA), lib.Shape(row.ShapeB)
	m := row.PoseA.Matrix()
	sizeA, sizeB := min(a.BoundingRadius(), 2), min(b.BoundingRadius(), 2)
	step := math.Pow(10, -17+17*rng.Float64()) * (sizeA + sizeB)
	switch rng.IntN(6) {
	case 0: // one origin, or nearly
		row.PoseB.Position = row.PoseA.Position
		if rng.IntN(2) == 0 {
			row.PoseB.Position = r3.Add(row.PoseA.Position, r3.Scale(step, m.MulVec(axis)))
		}
	case 1: // along one axis of A
		row.PoseB.Position = r3.Add(row.PoseA.Position, r3.Scale(2*rng.Float64()*(sizeA+sizeB), m.MulVec(axis)))
	case 2: // in a coordinate plane of A
		d := testkit.Normal(rng)
		d = r3.Sub(d, r3.Scale(r3.Dot(d, axis), axis))
		row.PoseB.Position = r3.Add(row.PoseA.Position, m.MulVec(r3.Scale(0.5*(sizeA+sizeB), d)))
	case 3: // touching along a direction, or nearly
		d := testkit.Unit(rng)
		if rng.IntN(2) == 0 {
			d = m.MulVec(axis)
		}
		mb := row.PoseB.Matrix()
		pa, pb := r3.Vec{}, r3.Vec{}
		if a.Kind() != geom.KindHalfspace {
			pa = m.MulVec(geom.Support(a, m.MulVecT(d)))
		}
		if b.Kind() != geom.KindHalfspace {
			pb = mb.MulVec(geom.Support(b, mb.MulVecT(r3.Scale(-1, d))))
		}
		if rng.IntN(2) == 0 {
			step = 0
		} else if rng.IntN(2) == 0 {
			step = -step
		}
		row.PoseB.Position = r3.Add(row.PoseA.Position, r3.Add(r3.Sub(pa, pb), r3.Scale(step, d)))
	default:
		d := testkit.Normal(rng)
		row.PoseB.Position = r3.Add(row.PoseA.Position, r3.Scale(0.7*(sizeA+sizeB), d))
	}
}

// Closed forms pass the audit and the comparison with ref.
func TestClosedForms(t *testing.T) {
	n := size(4000)
	for _, variant := range variants(t) {
		for _, o := range []batch.Options{
			{}, {Precision: batch.Double}, {Tolerance: 1e-3}, {HasCutOff: true, CutOff: 0.05},
			{HasCutOff: true, CutOff: -0.01, Precision: batch.Double},
			{Query: batch.Penetration}, {Query: batch.Penetration, Precision: batch.Double},
			{Query: batch.Collide}, {Query: batch.Collide, Precision: batch.Double},
			{Query: batch.Collide, Columns: everything},
			{Query: batch.Collide, Columns: everything, Precision: batch.Double},
		} {
			t.Run(fmt.Sprintf("%s/%v/%v/%v/%v/%v", variant, o.Query, o.Precision, o.Tolerance, o.CutOff, o.Columns),
				func(t *testing.T) {
					lib, pairs := closedPairs(t, n, 1, o.Query)
					r := solve(t, newVariant(t, variant, 2), lib, pairs, o, 0)
					audit(t, &batch.Job{Library: lib, Input: pairs, Options: o, Results: r})
				})
		}
	}
}

// hasClosedForm reports whether a closed form is expected to answer a pair.
func hasClosedForm(a, b geom.Kind, q batch.Query) bool {
	point := func(k geom.Kind) bool { return k == geom.KindSphere }
	segment := func(k geom.Kind) bool { return k == geom.KindSphere || k == geom.KindCapsule }
	box := func(k geom.Kind) bool { return k == geom.KindBox }
	switch {
	case a == geom.KindHalfspace || b == geom.KindHalfspace:
		return a != b
	case segment(a) && segment(b), point(a) && box(b), box(a) && point(b):
		return true
	}
	return box(a) && box(b) && q == batch.Collide
}

// Closed forms answer all rows except those within rounding errors of touching, in one step. A call that names
// GJK gets GJK.
func TestClosedFormsAnswer(t *testing.T) {
	n := size(4000)
	for _, q := range []batch.Query{batch.Distance, batch.Collide} {
		lib, pairs := closedPairs(t, n, 2, q)
		for _, variant := range variants(t) {
			steps := func(m batch.Method) []uint16 {
				b := newVariant(t, variant, 1)
				r := solve(t, b, lib, pairs, batch.Options{Query: q, Method: m, Columns: batch.ColStatus |
					batch.ColIterations}, 0)
				if _, left := b.RowsBy(); m == batch.Auto && float64(left) > 0.05*float64(n) {
					t.Errorf("%s, %v: %d of %d rows left to the reference solvers", variant, q, left, n)
				}
				return r.Iterations()
			}
			auto, gjk := steps(batch.Auto), steps(batch.GJK)
			missed, iterated := 0, 0
			for i := range n {
				if auto[i] != 1 {
					missed++
				}
				if gjk[i] > 1 {
					iterated++
				}
			}
			t.Logf("%s, %v: %d of %d rows went to the iterated solver", variant, q, missed, n)
			// A sixth of the rows is placed to touch, a quarter of these to the last
			// digit, which the closed form of boxes does not decide.
			if most := map[batch.Query]float64{batch.Distance: 0.005,
				batch.Collide: 0.1}[q]; float64(missed) > most*float64(n) {
				t.Errorf("%s, %v: %d of %d rows went to the iterated solver", variant, q, missed, n)
			}
			if iterated < n/4 {
				t.Errorf("%s, %v: with GJK named, %d of %d rows take more than a step", variant, q, iterated, n)
			}
		}
	}
}

// Swapped shapes give the same answer the other way round.
func TestClosedFormsSwap(t *testing.T) {
	n := size(4000)
	for _, o := range []batch.Options{{Precision: batch.Double}, {Query: batch.Collide, Precision: batch.Double,
		Columns: everything}} {
		lib, pairs := closedPairs(t, n, 3, o.Query)
		swapped := batch.NewPairs(n)
		var row batch.Row
		for i := range n {
			pairs.Row(i, &row)
			row.ShapeA, row.ShapeB, row.PoseA, row.PoseB = row.ShapeB, row.ShapeA, row.PoseB, row.PoseA
			swapped.SetRow(i, &row)
		}
		for _, variant := range variants(t) {
			b := newVariant(t, variant, 2)
			r, s := solve(t, b, lib, pairs, o, 0), solve(t, b, lib, swapped, o, 0)
			for i := range n {
				miss := math.Abs(r.Distance().At(i)-s.Distance().At(i)) - float64(r.Gap()[i]) - float64(s.Gap()[i])
				if !(miss <= 0) {
					t.Errorf("%s, %v, row %d: %g ± %g, swapped %g ± %g", variant, o.Query, i, r.Distance().At(i),
						r.Gap()[i], s.Distance().At(i), s.Gap()[i])
				}
				if r.Status()[i] != s.Status()[i] && batch.Status(r.Status()[i]) != batch.Touching &&
					batch.Status(s.Status()[i]) != batch.Touching {
					t.Errorf("%s, %v, row %d: %v, swapped %v", variant, o.Query, i, batch.Status(r.Status()[i]),
						batch.Status(s.Status()[i]))
				}
			}
		}
	}
}

// Answers known beforehand, to the last digits.
func TestClosedFormsKnown(t *testing.T) {
	quarter := quat.Number{Real: math.Sqrt(0.5), Imag: math.Sqrt(0.5)} // z to −y
	sphere, capsule, point := geom.Sphere{R: 0.5}, geom.Capsule{R: 0.25, HalfLength: 1}, geom.Capsule{R: 0.25}
	box, plane := geom.Box{HalfExtents: r3.Vec{X: 1, Y: 2, Z: 3}}, geom.Halfspace{}
	for _, c := range []struct {
		name   string
		a, b   geom.Shape
		at     r3.Vec // of B
		turn   quat.Number
		want   float64
		normal r3.Vec // zero: any
	}{
		{"spheres separated", sphere, sphere, r3.Vec{Y: 3}, quat.Number{Real: 1}, 2, r3.Vec{Y: 1}},
		{"spheres touching", sphere, sphere, r3.Vec{X: -1}, quat.Number{Real: 2}, 0, r3.Vec{X: -1}},
		{"spheres nested", sphere, geom.Sphere{R: 2}, r3.Vec{Z: 0.25}, quat.Number{Real: 1}, -2.25, r3.Vec{Z: 1}},
		{"spheres, one center", sphere, sphere, r3.Vec{}, quat.Number{Real: 1}, -1, r3.Vec{}},
		{"crossing capsules", capsule, capsule, r3.Vec{}, quarter, -0.5, r3.Vec{}},
		{"crossing capsules, apart", capsule, capsule, r3.Vec{X: 2}, quarter, 1.5, r3.Vec{X: 1}},
		{"one capsule twice", capsule, capsule, r3.Vec{}, quat.Number{Real: 1}, -0.5, r3.Vec{}},
		{"parallel capsules", capsule, capsule, r3.Vec{X: 3, Z: 1}, quat.Number{Real: 1}, 2.5, r3.Vec{X: 1}},
		{"collinear capsules", capsule, capsule, r3.Vec{Z: -5}, quat.Number{Imag: 1}, 2.5, r3.Vec{Z: -1}},
		{"collinear capsules, overlapping", capsule, capsule, r3.Vec{Z: 1.5}, quat.Number{Real: 1}, -0.5, r3.Vec{}},
		{"collinear capsules, cores touching", capsule, capsule, r3.Vec{Z: 2}, quat.Number{Real: 1}, -0.5, r3.Vec{}},
		{"capsule of length 0 in a capsule", capsule, point, r3.Vec{Z: 0.5}, quat.Number{Real: 1}, -0.5, r3.Vec{}},
		{"capsule and its end", capsule, sphere, r3.Vec{Z: 3}, quat.Number{Real: 1}, 1.25, r3.Vec{Z: 1}},
		{"box and sphere", box, sphere, r3.Vec{X: 1 + 3, Y: 2 + 4, Z: 1}, quarter, 4.5, r3.Vec{X: 0.6, Y: 0.8}},
		{"sphere in box", box, sphere, r3.Vec{X: -0.75}, quarter, -0.75, r3.Vec{X: -1}},
		{"sphere on a face", box, sphere, r3.Vec{Z: 3}, quarter, -0.5, r3.Vec{Z: 1}},
		{"sphere and box", sphere, box, r3.Vec{Z: -4}, quat.Number{Real: 1}, 0.5, r3.Vec{Z: -1}},
		{"plane and box", plane, box, r3.Vec{Z: 4}, quarter, 2, r3.Vec{Z: 1}},
		{"plane and capsule below", plane, capsule, r3.Vec{X: 5, Z: -4}, quat.Number{Real: 1}, -5.25, r3.Vec{Z: 1}},
		{"box and plane", box, plane, r3.Vec{Z: 4}, quat.Number{Imag: 1}, 1, r3.Vec{Z: 1}},
	} {
		lib, err := batch.NewLibrary([]geom.Shape{c.a, c.b}, nil)
		if err != nil {
			t.Fatal(err)
		}
		pairs := batch.NewPairs(1)
		pairs.SetRow(0, &batch.Row{ShapeB: 1, PoseA: geom.IdentityPose(),
			PoseB: geom.Pose{Position: c.at, Rotation: c.turn}})
		for _, variant := range variants(t) {
			b := newVariant(t, variant, 1)
			o := batch.Options{Precision: batch.Double}
			job := &batch.Job{Library: lib, Input: pairs, Options: o}
			if _, err := dispatch.New(b).Run(context.Background(), job, dispatch.Options{}); err != nil {
				t.Fatal(err)
			}
			r := job.Results
			normal := r3.Vec{X: r.Normal().At(0), Y: r.Normal().At(1), Z: r.Normal().At(2)}
			if !(math.Abs(r.Distance().At(0)-c.want) <= 1e-14) || !(r.Gap()[0] < 1e-13) || r.Iterations()[0] != 1 {
				t.Errorf("%s, %s: %v, %.17g ± %g in %d steps, want %g in one", c.name, variant,
					batch.Status(r.Status()[0]), r.Distance().At(0), r.Gap()[0], r.Iterations()[0], c.want)
			}
			if c.normal != (r3.Vec{}) && !(r3.Norm(r3.Sub(normal, c.normal)) < 1e-14) {
				t.Errorf("%s, %s: normal %v, want %v", c.name, variant, normal, c.normal)
			}
			if _, left := b.RowsBy(); left != 0 {
				t.Errorf("%s, %s: left to the reference solvers", c.name, variant)
			}
			audit(t, job)
		}
	}
}

// Answers of closed forms, and of the rows that go on from them to the iterative solver,
// are the same bit for bit for any workers, chunks and order of the rows, within a
// variant.
func TestClosedFormsSameBits(t *testing.T) {
	n := size(3000)
	for _, o := range []batch.Options{
		{Columns: everything}, {Columns: everything, Precision: batch.Double},
		{Columns: everything, Query: batch.Collide},
	} {
		lib, pairs := closedPairs(t, n, 4, o.Query)
		pairs.RotationA[4*17] = math.NaN()
		order := rand.New(rand.NewPCG(3, 4)).Perm(n)
		shuffled := batch.NewPairs(n)
		var row batch.Row
		for to, from := range order {
			pairs.Row(from, &row)
			shuffled.SetRow(to, &row)
		}
		for _, variant := range variants(t) {
			want := solve(t, newVariant(t, variant, 1), lib, pairs, o, 0)
			for _, workers := range []int{2, 5} {
				b := newVariant(t, variant, workers)
				for _, chunk := range []int{64, 640, 0} {
					got := solve(t, b, lib, pairs, o, chunk)
					for i := range n {
						if !rowcheck.Same(want, i, got, i) {
							t.Fatalf("%s, %v: row %d differs with %d workers, chunks of %d", variant, o.Query, i,
								workers, chunk)
						}
					}
				}
				got := solve(t, b, lib, shuffled, o, 0)
				for to, from := range order {
					if !rowcheck.Same(want, from, got, to) {
						t.Fatalf("%s, %v: row %d differs when it stands at %d", variant, o.Query, from, to)
					}
				}
			}
		}
	}
}

// The value of a column does not depend on which other columns the call wants.
func TestClosedFormsAnyColumns(t *testing.T) {
	n := size(2000)
	for _, q := range []batch.Query{batch.Distance, batch.Collide} {
		lib, pairs := closedPairs(t, n, 5, q)
		for _, variant := range variants(t) {
			b := newVariant(t, variant, 1)
			all := solve(t, b, lib, pairs, batch.Options{Query: q, Columns: everything}, 0)
			few := solve(t, b, lib, pairs, batch.Options{Query: q, Columns: batch.ColStatus | batch.ColIterations}, 0)
			for i := range n {
				if all.Status()[i] != few.Status()[i] || all.Iterations()[i] != few.Iterations()[i] {
					t.Errorf("%s, %v, row %d: %v after %d steps with all columns, %v after %d with two", variant, q, i,
						batch.Status(all.Status()[i]), all.Iterations()[i], batch.Status(few.Status()[i]),
						few.Iterations()[i])
				}
			}
		}
	}
}

// Workers share no cache line of any column: blocks begin and end at multiples of 64
// rows, so that even the narrowest column, with one byte per row, fills a line.
func TestBlocksShareNoLine(t *testing.T) {
	const line = 64
	for workers := 1; workers <= 300; workers += 1 + workers/8 {
		for n := 1; n < 1<<22; n += 1 + n/3 {
			rows := blockRows(n, workers)
			if rows <= 0 || rows%line != 0 || rows > kernels.BlockRows {
				t.Fatalf("%d rows, %d workers: blocks of %d rows", n, workers, rows)
			}
		}
	}
}

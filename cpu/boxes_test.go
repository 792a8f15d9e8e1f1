package cpu

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"

	"clearance/batch"
	"clearance/geom"

	"gonum.org/v1/gonum/num/quat"
	"gonum.org/v1/gonum/spatial/r3"
)

// boxKinds are boxes of all proportions, and shapes that the kernels treat as flat boxes: needles,
// plates, cubes, rounded boxes, capsules.
func boxKinds(rng *rand.Rand) []geom.Shape {
	var shapes []geom.Shape
	log := func() float64 { return math.Pow(10, 3*rng.Float64()-3) }
	for range 12 {
		b := geom.Box{HalfExtents: r3.Vec{X: log(), Y: log(), Z: log()}}
		shapes = append(shapes, b, geom.WithMargin(b, log()), geom.Capsule{R: log(), HalfLength: log()})
	}
	return append(shapes,
		geom.Box{HalfExtents: r3.Vec{X: 1e-6, Y: 1e-6, Z: 1}}, geom.Box{HalfExtents: r3.Vec{X: 1, Y: 1e-7, Z: 1}},
		geom.Box{HalfExtents: r3.Vec{X: 0.5, Y: 0.5, Z: 0.5}})
}

// coreOf returns the half extents of the core of a shape of boxKinds, and the radius around it.
func coreOf(s geom.Shape) (half [3]float64, radius float64) {
	radius = s.Radius()
	if m, ok := s.(geom.Rounded); ok {
		s = m.Shape
	}
	switch v := s.(type) {
	case geom.Box:
		return [3]float64{v.HalfExtents.X, v.HalfExtents.Y, v.HalfExtents.Z}, radius
	case geom.Capsule:
		return [3]float64{0, 0, v.HalfLength}, radius
	}
	panic("no box")
}

// featurePoint is a random support point of a core in a direction of its own frame: anywhere on the
// exposed face.
func featurePoint(rng *rand.Rand, half [3]float64, d r3.Vec) r3.Vec {
	along := [3]float64{d.X, d.Y, d.Z}
	for i, x := range along {
		if along[i] = math.Copysign(half[i], x); math.Abs(x) < 1e-12 {
			along[i] = half[i] * (2*rng.Float64() - 1)
		}
	}
	return r3.Vec{X: along[0], Y: along[1], Z: along[2]}
}

// boxesApart returns n pairs of boxKinds whose distance is known: points of two exposed faces with
// opposite normals ±n are placed at that distance along n. If n is the normal of a face or the cross product of
// edges, the points lie within faces and edges.
func boxesApart(t *testing.T, n int, far float64) (*batch.Library, *batch.Pairs, []float64) {
	t.Helper()
	rng := rand.New(rand.NewPCG(21, 4))
	shapes := boxKinds(rng)
	lib, err := batch.NewLibrary(shapes, nil)
	if err != nil {
		t.Fatal(err)
	}
	pairs, want := batch.NewPairs(n), make([]float64, n)
	for i := range n {
		row := batch.Row{ShapeA: int32(rng.IntN(len(shapes))), ShapeB: int32(rng.IntN(len(shapes)))}
		halfA, radiusA := coreOf(shapes[row.ShapeA])
		halfB, radiusB := coreOf(shapes[row.ShapeB])
		row.PoseA = randomPose(rng)
		row.PoseA.Rotation, row.PoseB.Rotation = normalized(row.PoseA.Rotation), normalized(randomPose(rng).Rotation)
		row.PoseA.Position = r3.Scale(far, row.PoseA.Position)
		if i%5 == 0 { // parallel axes
			row.PoseB.Rotation = row.PoseA.Rotation
		}
		a, b := geom.Pose{Rotation: row.PoseA.Rotation}.Matrix(), geom.Pose{Rotation: row.PoseB.Rotation}.Matrix()
		axis := func(m geom.Mat3) r3.Vec {
			var e [3]float64
			e[rng.IntN(3)] = 1
			return m.MulVec(r3.Vec{X: e[0], Y: e[1], Z: e[2]})
		}
		var normal r3.Vec
		switch i % 4 {
		case 0:
			normal = direction(rng)
		case 1:
			normal = axis(a)
		case 2:
			normal = axis(b)
		case 3:
			if normal = r3.Cross(axis(a), axis(b)); r3.Norm(normal) < 1e-3 {
				normal = axis(a)
			}
		}
		normal = r3.Unit(normal)
		apart := []float64{0.02, 0.3, 2, 50, 1e-3}[i%7%5] * lib.PairSize(row.ShapeA, row.ShapeB)
		pa := a.MulVec(featurePoint(rng, halfA, a.MulVecT(normal)))
		pb := b.MulVec(featurePoint(rng, halfB, b.MulVecT(r3.Scale(-1, normal))))
		row.PoseB.Position = r3.Add(row.PoseA.Position, r3.Sub(r3.Add(pa, r3.Scale(apart, normal)), pb))
		pairs.SetRow(i, &row)
		want[i] = apart - radiusA - radiusB
	}
	return lib, pairs, want
}

// Boxes whose distance is known, in both precisions, far from the origin, with a cut-off and
// from a warm start.
func TestBoxesOfKnownDistance(t *testing.T) {
	n := size(4000)
	for _, far := range []float64{1, 1e4} {
		lib, pairs, want := boxesApart(t, n, far)
		warm := make([]float64, 3*n)
		for i := range warm {
			warm[i] = float64(i%11) - 5
		}
		for _, variant := range variants(t) {
			for _, o := range []batch.Options{{}, {Precision: batch.Double}, {Query: batch.Penetration},
				{HasCutOff: true, CutOff: 0.1}, {WarmStart: warm}} {
				r := solve(t, newVariant(t, variant, 1), lib, pairs, o, 0)
				audit(t, &batch.Job{Library: lib, Input: pairs, Options: o, Results: r})
				for i, d := range want {
					if o.HasCutOff && d > o.CutOff {
						continue // the query gives no distance
					}
					// Positions are rounded.
					slack := 4e-15 * (far + r3.Norm(r3.Vec{X: pairs.PositionB[3*i], Y: pairs.PositionB[3*i+1],
						Z: pairs.PositionB[3*i+2]}))
					if off := math.Abs(r.Distance().At(i) - d); !(off <= float64(r.Gap()[i])+slack) {
						t.Fatalf("%s, %+v, %g away: row %d: %v, want %v, gap %v", variant, o.Precision, far, i,
							r.Distance().At(i), d, r.Gap()[i])
					}
				}
			}
		}
	}
}

// Nearly all separated boxes end by Newton's method, and penetrating ones by separating axes;
// a call that names GJK gets GJK. Statuses alone end by separating axes.
func TestBoxesByNewton(t *testing.T) {
	lib, pairs := draw(t, "boxes", size(3000))
	n := pairs.Len()
	for _, variant := range variants(t) {
		for _, c := range []struct {
			o    batch.Options
			most float64 // share of rows by GJK
		}{
			{batch.Options{}, 0.03}, {batch.Options{Precision: batch.Double}, 0.04}, {batch.Options{Method: batch.GJK},
				1},
			{batch.Options{Query: batch.Collide, Columns: batch.ColStatus | batch.ColMethod}, 0.001},
		} {
			b, r := newVariant(t, variant, 1), batch.NewResults(n, &c.o)
			if err := b.Run(context.Background(), &batch.Job{Library: lib, Input: pairs, Options: c.o}, 0, n,
				r); err != nil {
				t.Fatal(err)
			}
			by := float64(b.idle[0].solver.Stats().Rows32) / float64(n)
			if by > c.most || c.most == 1 && by != 1 {
				t.Errorf("%s, %v, %v, method %v: %.1f %% of the rows by GJK", variant, c.o.Query, c.o.Precision,
					c.o.Method, 100*by)
			}
		}
	}
}

// A grid of equal boxes with parallel axes, side by side with and without a gap, stacked, and one
// within another, has known statuses. Where they touch, any status is accepted.
func TestBoxesOnAGrid(t *testing.T) {
	half := 0x1p-2
	lib, err := batch.NewLibrary([]geom.Shape{geom.Box{HalfExtents: r3.Vec{X: half, Y: half, Z: half}}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	var steps []float64
	for _, s := range []float64{0, half, 2*half - 1e-6, 2 * half, 2*half + 1e-6, 3} {
		steps = append(steps, s, -s)
	}
	k := len(steps)
	pairs := batch.NewPairs(k * k * k)
	turned := normalized(quat.Number{Real: 0.3, Imag: 0.5, Jmag: -0.2, Kmag: 0.8})
	for i := range pairs.Len() {
		row := batch.Row{PoseA: geom.Pose{Rotation: turned}, PoseB: geom.Pose{Rotation: turned}}
		m := row.PoseA.Matrix()
		row.PoseB.Position = m.MulVec(r3.Vec{X: steps[i%k], Y: steps[i/k%k], Z: steps[i/k/k]})
		pairs.SetRow(i, &row)
	}
	for _, variant := range variants(t) {
		for _, o := range []batch.Options{{Query: batch.Collide, Columns: batch.ColStatus}, {Query: batch.Collide}, {},
			{Precision: batch.Double}} {
			r := batch.NewResults(pairs.Len(), &o)
			if err := newVariant(t, variant, 1).Run(context.Background(), &batch.Job{Library: lib, Input: pairs,
				Options: o}, 0, pairs.Len(), r); err != nil {
				t.Fatal(err)
			}
			for i, s := range r.Status() {
				most := max(math.Abs(steps[i%k]), math.Abs(steps[i/k%k]), math.Abs(steps[i/k/k])) - 2*half
				want := batch.Penetrating
				if most > 0 {
					want = batch.Separated
				}
				near := batch.Status(s) == batch.Touching && math.Abs(most) < 1e-5
				if batch.Status(s) != want && !near && most != 0 {
					t.Fatalf("%s, %v, %v: row %d is %v, want %v, %g apart along an axis", variant, o.Query, o.Precision,
						i, batch.Status(s), want, most)
				}
			}
		}
	}
}

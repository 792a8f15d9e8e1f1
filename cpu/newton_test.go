package cpu

import (
	"math"
	"math/rand/v2"
	"testing"

	"clearance/batch"
	"clearance/geom"
	"clearance/internal/testkit"

	"gonum.org/v1/gonum/num/quat"
	"gonum.org/v1/gonum/spatial/r3"
)

// The distance of ellipsoids on a common axis of both is that of the ends of their axes. Needles
// and plates, nearly touching and far away, with a common rotation.
func TestEllipsoidsEndToEnd(t *testing.T) {
	rng := rand.New(rand.NewPCG(8, 1))
	const n = 600
	var shapes []geom.Shape
	for range 64 {
		axis := func() float64 { return math.Pow(10, 4*rng.Float64()-3) }
		shapes = append(shapes, geom.Ellipsoid{SemiAxes: r3.Vec{X: axis(), Y: axis(), Z: axis()}})
	}
	lib, err := batch.NewLibrary(shapes, nil)
	if err != nil {
		t.Fatal(err)
	}
	pairs, want := batch.NewPairs(n), make([]float64, n)
	for i := range n {
		row := batch.Row{ShapeA: int32(rng.IntN(64)), ShapeB: int32(rng.IntN(64))}
		a, b := lib.Shape(row.ShapeA).(geom.Ellipsoid).SemiAxes, lib.Shape(row.ShapeB).(geom.Ellipsoid).SemiAxes
		gap := []float64{1e-6, 1e-3, 0.1, 1, 100}[i%5] * (a.X + b.Z)
		// B's z axis along A's x axis, and A as random as poses get.
		q := normalized(randomPose(rng).Rotation)
		turned, half := geom.Pose{Rotation: q}.Matrix(), math.Sqrt(0.5)
		row.PoseA.Rotation, row.PoseB.Rotation = q, quat.Mul(q, quat.Number{Real: half, Jmag: half})
		row.PoseB.Position = r3.Scale(a.X+gap+b.Z, turned.MulVec(r3.Vec{X: 1}))
		pairs.SetRow(i, &row)
		want[i] = gap
	}
	for _, variant := range variants(t) {
		for _, o := range []batch.Options{{}, {Precision: batch.Double}} {
			r := solve(t, newVariant(t, variant, 1), lib, pairs, o, 0)
			audit(t, &batch.Job{Library: lib, Input: pairs, Options: o, Results: r})
			for i := range n {
				off := math.Abs(r.Distance().At(i) - want[i])
				if !(off <= float64(r.Gap()[i])+1e-15*r3.Norm(r3.Vec{X: pairs.PositionB[3*i], Y: pairs.PositionB[3*i+1],
					Z: pairs.PositionB[3*i+2]})) {
					t.Fatalf("%s, %v: row %d: %v, want %v, gap %v", variant, o.Precision, i, r.Distance().At(i),
						want[i],
						r.Gap()[i])
				}
			}
		}
	}
}

// Newton's method ends nearly all rows of separated ellipsoids, in both precisions.
// The others go on to GJK, and none is undecided. A call that names GJK gets it.
func TestEllipsoidsByNewton(t *testing.T) {
	lib, all := draw(t, "ellipsoids", size(3000))
	apart := batch.NewPairs(all.Len() - (all.Len()+2)/3) // every third row penetrates
	var row batch.Row
	for i, k := 0, 0; i < all.Len(); i++ {
		if i%3 != 0 {
			all.Row(i, &row)
			apart.SetRow(k, &row)
			k++
		}
	}
	for _, variant := range variants(t) {
		for _, o := range []batch.Options{{}, {Precision: batch.Double}, {Method: batch.GJK}} {
			b := newVariant(t, variant, 1)
			r := solve(t, b, lib, apart, o, 0)
			audit(t, &batch.Job{Library: lib, Input: apart, Options: o, Results: r})
			by := float64(b.idle[0].solver.Stats().Rows32) / float64(apart.Len())
			if o.Method == batch.GJK && by != 1 || o.Method == batch.Auto && by > 0.01 {
				t.Errorf("%s, %v, method %v: %.1f %% of the rows by GJK", variant, o.Precision, o.Method, 100*by)
			}
		}
	}
}

// In double precision most pairs with a curved side end without steps of GJK in
// float64, for any kind on the other side, within the same bounds.
func TestCurvedPairsPolished(t *testing.T) {
	hulls, _ := draw(t, "hull8", 1)
	big, _ := draw(t, "hull32", 1)
	curved := []geom.Shape{
		geom.Cylinder{R: 0.3, HalfLength: 0.5}, geom.Cone{R: 0.4, HalfLength: 0.5},
		geom.Frustum{RBottom: 0.4, RTop: 0.2, HalfLength: 0.3},
		geom.Ellipsoid{SemiAxes: r3.Vec{X: 0.2, Y: 0.4, Z: 0.6}},
		geom.WithMargin(geom.Cylinder{R: 0.5, HalfLength: 0.01}, 0.02),
	}
	others := append([]geom.Shape{
		geom.Sphere{R: 0.1}, geom.Capsule{R: 0.1, HalfLength: 0.5},
		geom.Box{HalfExtents: r3.Vec{X: 0.2, Y: 0.4, Z: 0.6}}, hulls.Shape(0), big.Shape(0),
	}, curved...)
	lib, err := batch.NewLibrary(append(append([]geom.Shape{}, curved...), others...), nil)
	if err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(4, 4))
	pairs := batch.NewPairs(size(8000))
	for i := range pairs.Len() {
		row := batch.Row{ShapeA: int32(i % len(curved)), ShapeB: int32(len(curved) + i/len(curved)%len(others)),
			PoseA: randomPose(rng), PoseB: randomPose(rng)}
		d := testkit.Unit(rng)
		row.PoseB.Position = r3.Add(row.PoseA.Position, r3.Scale(1.6+rng.Float64(), d)) // apart
		if i%2 == 0 {
			row.ShapeA, row.ShapeB = row.ShapeB, row.ShapeA
		}
		pairs.SetRow(i, &row)
	}
	for _, variant := range variants(t) {
		b, o := newVariant(t, variant, 1), batch.Options{Precision: batch.Double}
		r := solve(t, b, lib, pairs, o, 0)
		audit(t, &batch.Job{Library: lib, Input: pairs, Options: o, Results: r})
		by := float64(b.idle[0].solver.Stats().Rows64) / float64(pairs.Len())
		if by > 0.15 {
			t.Errorf("%s: %.1f %% of the rows by GJK in float64", variant, 100*by)
		}
		_, left := b.RowsBy()
		t.Logf("%s: %.1f %% of the rows by GJK in float64, %.2f %% by the reference solvers", variant, 100*by,
			100*float64(left)/float64(pairs.Len()))
	}
}

package cpu

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/num/quat"
	"gonum.org/v1/gonum/spatial/r2"
	"gonum.org/v1/gonum/spatial/r3"

	"clearance/batch"
	"clearance/geom"
	"clearance/internal/testkit"
	"clearance/kernels"
	"clearance/verify"
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

// TestEllipsoidalRows: concentric rows of superquadrics that are ellipsoids, with equal or
// nearly equal axes, are decided and pass the audit, with kernels and without.
func TestEllipsoidalRows(t *testing.T) {
	var shapes []geom.Shape
	for _, axes := range []r3.Vec{{X: 1, Y: 1, Z: 1}, {X: 1, Y: 1, Z: 1 + 1e-9}, {X: 1, Y: 1 + 1e-12, Z: 1 + 1e-6}} {
		shapes = append(shapes, geom.Superquadric{SemiAxes: axes, Alpha1: 1, Alpha2: 1})
	}
	shapes = append(shapes, geom.Sphere{R: 0.5}, geom.Ellipsoid{SemiAxes: r3.Vec{X: 0.5, Y: 0.5, Z: 0.5}},
		geom.Capsule{R: 0.3, HalfLength: 0.2}, geom.Cylinder{R: 0.3, HalfLength: 0.2})
	lib, err := batch.NewLibrary(shapes, nil)
	if err != nil {
		t.Fatal(err)
	}
	n := len(shapes)
	p := batch.NewPairs(3 * n)
	for i := range 3 * n {
		p.SetRow(i, &batch.Row{ShapeA: int32(i / n), ShapeB: int32(i % n), PoseA: geom.IdentityPose(),
			PoseB: geom.IdentityPose()})
	}
	for _, precision := range []batch.Precision{batch.Single, batch.Double} {
		for _, variant := range []string{"", "off"} {
			b, err := New(Options{SIMD: variant})
			if err != nil {
				t.Fatal(err)
			}
			job := &batch.Job{Library: lib, Input: p, Options: batch.Options{Precision: precision}}
			job.Results = batch.NewResults(p.Len(), &job.Options)
			if err := b.Run(t.Context(), job, 0, p.Len(), job.Results); err != nil {
				t.Fatal(err)
			}
			b.Close()
			for i, s := range job.Results.Status() {
				if batch.Status(s) != batch.Penetrating {
					t.Errorf("%v, kernels %q: %T and %T: %v after %d iterations", precision, variant, shapes[i/n],
						shapes[i%n],
						batch.Status(s), job.Results.Iterations()[i])
				}
			}
			report, err := verify.Audit(t.Context(), job, verify.Options{})
			if err != nil || report.Wrong() > 0 {
				t.Errorf("%v, kernels %q: %d wrong, %v", precision, variant, report.Wrong(), err)
			}
		}
	}
}

// sameOrLess checks answers of RTR against those of GJK and EPA: the intervals meet, and no
// depth is larger beyond the gaps.
func sameOrLess(t *testing.T, got, want *batch.Results) {
	t.Helper()
	for i := range got.N {
		g, w, gap := got.Distance().At(i), want.Distance().At(i), float64(got.Gap()[i])+float64(want.Gap()[i])
		if batch.Status(want.Status()[i]) >= batch.Undecided {
			t.Fatalf("row %d: the reference is %v", i, batch.Status(want.Status()[i]))
		}
		if batch.Status(got.Status()[i]) >= batch.Undecided || !(math.Abs(g-w) <= gap) {
			t.Fatalf("row %d: %v %g ± %g, GJK and EPA give %v %g ± %g", i, batch.Status(got.Status()[i]), g,
				got.Gap()[i],
				batch.Status(want.Status()[i]), w, want.Gap()[i])
		}
	}
}

// rtrStats sums up the workers of a back end.
func rtrStats(b *Backend) (s kernels.Stats) {
	for _, w := range b.idle {
		if w.solver != nil {
			one := w.solver.Stats()
			s.RowsRTR += one.RowsRTR
			s.DoneRTR += one.DoneRTR
			s.StepsRTR += one.StepsRTR
			s.Rows32 += one.Rows32
		}
	}
	return s
}

// Nearly all ellipsoids that RTR starts are answered with its own certificate: deeply penetrating ones,
// and with the method RTR all.
func TestRTROnEllipsoids(t *testing.T) {
	lib, pairs := draw(t, "ellipsoids", size(6000))
	deep := overlapping(pairs)
	for _, variant := range variants(t) {
		for _, o := range []batch.Options{
			{Query: batch.Penetration}, {Query: batch.Penetration, Precision: batch.Double}, {Precision: batch.Double},
			{Method: batch.RTR}, {HasCutOff: true, CutOff: 0.02},
		} {
			t.Run(fmt.Sprintf("%s/%v/%v/%v", variant, o.Query, o.Precision, o.Method), func(t *testing.T) {
				in := pairs
				if o.Query == batch.Penetration {
					in = deep
				}
				b := newVariant(t, variant, 2)
				r := solve(t, b, lib, in, o, 0)
				audit(t, &batch.Job{Library: lib, Input: in, Options: o, Results: r})
				s := rtrStats(b)
				// Of the penetrating ones, the eroded cores intersect in one of nine.
				least := int64(in.Len() / 30)
				if o.Method == batch.RTR {
					least = int64(in.Len())
				}
				if open := s.RowsRTR - s.DoneRTR; s.RowsRTR < least || open*100 > int64(in.Len()) ||
					open*8 > s.RowsRTR {
					t.Errorf("RTR answered %d of %d rows that it took, of %d", s.DoneRTR, s.RowsRTR, in.Len())
				}
				if _, left := b.RowsBy(); left != 0 {
					t.Errorf("%d rows left to the reference solvers", left)
				}
				t.Logf("%.2f evaluations per pair, %d of %d rows went on to GJK",
					float64(s.StepsRTR)/float64(s.DoneRTR), s.RowsRTR-s.DoneRTR, s.RowsRTR)
				if o.HasCutOff {
					return // where a distance beyond the cut-off need not be close
				}
				o.Method = batch.GJK
				sameOrLess(t, r, solve(t, NewReference(), lib, in, o, 0))
			})
		}
	}
}

// smoothPairs are pairs that random draws do not contain: spheres, needles and plates of up to 1e4 to 1,
// with the same center, the same axes, rotated by rounding errors, deep inside one another,
// touching, a kilometer from the origin.
func smoothPairs(t *testing.T, rng *rand.Rand, scale float64) (*batch.Library, *batch.Pairs) {
	t.Helper()
	shapes := []geom.Shape{
		geom.Sphere{R: 0.4 * scale}, geom.Ellipsoid{SemiAxes: r3.Vec{X: 0.2 * scale, Y: 0.6 * scale, Z: 0.4 * scale}},
		geom.Ellipsoid{SemiAxes: r3.Vec{X: 0.3 * scale, Y: 0.3 * scale, Z: 0.3 * scale}},
		geom.Ellipsoid{SemiAxes: r3.Vec{X: scale, Y: 0.5 * scale, Z: 0.5 * scale}},
		geom.Ellipsoid{SemiAxes: r3.Vec{X: 1e-4 * scale, Y: 1e-4 * scale, Z: scale}},
		geom.Ellipsoid{SemiAxes: r3.Vec{X: 1e-4 * scale, Y: scale, Z: scale}},
		geom.Ellipsoid{SemiAxes: r3.Vec{X: 1e-4 * scale, Y: 0.01 * scale, Z: scale}},
		geom.Ellipsoid{SemiAxes: r3.Vec{X: 0.05 * scale, Y: 0.1 * scale, Z: scale}},
	}
	shapes = append(shapes, geom.Rounded{Shape: shapes[1], Margin: 0.1 * scale},
		geom.Rounded{Shape: shapes[6], Margin: 0.1 * scale})
	lib, err := batch.NewLibrary(shapes, nil)
	if err != nil {
		t.Fatal(err)
	}
	pairs := oddPairs(rng, len(shapes), oddPoses+6, scale, func(row *batch.Row, pose int, away r3.Vec) {
		switch {
		case pose == 3: // rotated by a small angle
			row.PoseB.Position = r3.Scale(1e-6, away)
		case pose >= oddPoses+3: // anywhere inside, and beside
			row.PoseB.Rotation = randomPose(rng).Rotation
			row.PoseB.Position = r3.Scale(float64(pose-oddPoses-2), away)
		case pose >= oddPoses: // one on top of the other, along an axis: touching, or nearly
			p, err := row.PoseA.Normalized()
			if err != nil {
				t.Fatal(err)
			}
			_, hi := shapes[row.ShapeA].AABB()
			_, to := shapes[row.ShapeB].AABB()
			row.PoseA, row.PoseB = p, p
			row.PoseB.Position = p.Apply(r3.Vec{Z: hi.Z + to.Z + []float64{0, 1e-9, -1e-5}[pose-oddPoses]*scale})
		}
		if pose%3 == 1 {
			takeFar(rng, row)
		}
	})
	return lib, pairs
}

// Rows go on to GJK and EPA where the rounding errors of needles and plates are too large, or where the
// local minimum is not the global one: less than a tenth.
func TestRTROnAdversarialPairs(t *testing.T) {
	scales := []float64{1, 1e-4, 1e4}
	if testing.Short() {
		scales = scales[:1]
	}
	for _, scale := range scales {
		lib, pairs := smoothPairs(t, rand.New(rand.NewPCG(61, 62)), scale)
		for _, variant := range variants(t) {
			for _, o := range []batch.Options{{}, {Precision: batch.Double},
				{Query: batch.Penetration, Method: batch.RTR}, {Query: batch.Collide, Method: batch.RTR}} {
				t.Run(fmt.Sprintf("%g/%s/%v/%v", scale, variant, o.Query, o.Precision), func(t *testing.T) {
					b := newVariant(t, variant, 2)
					r := solve(t, b, lib, pairs, o, 0)
					audit(t, &batch.Job{Library: lib, Input: pairs, Options: o, Results: r})
					s := rtrStats(b)
					_, left := b.RowsBy()
					t.Logf("RTR answered %d of the %d rows that it took, %d of %d are left to the reference solvers",
						s.DoneRTR, s.RowsRTR, left, pairs.Len())
					least := int64(pairs.Len() / 2) // pairs whose eroded cores intersect
					if o.Method == batch.RTR {
						least = int64(pairs.Len())
					}
					if (s.RowsRTR-s.DoneRTR)*10 > int64(pairs.Len()) || s.RowsRTR < least {
						t.Errorf("RTR answered %d of the %d rows that it took", s.DoneRTR, s.RowsRTR)
					}
				})
			}
		}
	}
}

// A call that names RTR gets it on superquadrics, smooth hulls and revolutions: nearly all separated ones, of
// sharp ones half, are answered with its own certificate, and depths go on to EPA in the kernels.
func TestRTROnPowers(t *testing.T) {
	for _, set := range powerSets {
		lib, pairs := drawPowers(t, set.shape, size(1500))
		for _, variant := range variants(t) {
			for _, o := range []batch.Options{
				{Method: batch.RTR}, {Method: batch.RTR, Precision: batch.Double},
				{Method: batch.RTR, Query: batch.Penetration},
				{Method: batch.RTR, Query: batch.Collide}, {Method: batch.RTR, HasCutOff: true, CutOff: 0.02},
			} {
				t.Run(fmt.Sprintf("%s/%s/%v/%v/%v", set.name, variant, o.Query, o.Precision, o.HasCutOff),
					func(t *testing.T) {
						b := newVariant(t, variant, 2)
						o.Columns = everything
						r := solve(t, b, lib, pairs, o, 0)
						audit(t, &batch.Job{Library: lib, Input: pairs, Options: o, Results: r})
						apart, by := 0, map[batch.Solver]int{}
						for i := range r.N {
							if batch.Status(r.Status()[i]) == batch.Separated {
								apart++
								by[batch.Solver(r.Method()[i])]++
							}
						}
						s := rtrStats(b)
						_, left := b.RowsBy()
						t.Logf("%d of %d rows taken; %v of %d separated; %.1f evaluations per row; %d left to the "+
							"reference solvers", s.RowsRTR, r.N, by, apart,
							float64(s.StepsRTR)/float64(s.DoneRTR), left)
						if s.RowsRTR != int64(r.N) || left > int64(r.N/50) {
							t.Errorf("RTR took %d of %d rows, %d are left to the reference solvers",
								s.RowsRTR, r.N, left)
						}
						least := 90 // of a hundred
						if set.name == "sharp superquadrics" {
							least = 50
						}
						if apart == 0 || by[batch.SolverRTR]*100 < least*apart {
							t.Errorf("RTR ended %d of the %d separated rows", by[batch.SolverRTR], apart)
						}
					})
			}
		}
	}
}

// powerSets are the kinds whose support functions take powers.
var powerSets = []struct {
	name  string
	shape func(rng *rand.Rand, i int) geom.Shape
}{
	{"superquadrics", func(rng *rand.Rand, _ int) geom.Shape {
		return geom.Superquadric{SemiAxes: logVec3(rng), Alpha1: 0.2 + 1.6*rng.Float64(),
			Alpha2: 0.2 + 1.6*rng.Float64()}
	}},
	{"sharp superquadrics", func(rng *rand.Rand, i int) geom.Shape {
		alpha := []float64{geom.MinExponent, 0.05, 1, 1.9, geom.MaxExponent}
		return geom.Superquadric{SemiAxes: logVec3(rng), Alpha1: alpha[i%5], Alpha2: alpha[i/5%5]}
	}},
	{"smooth hulls", func(rng *rand.Rand, i int) geom.Shape {
		center := r3.Scale(rng.Float64(), direction(rng))
		axes := logVec3(rng)
		for {
			points := make([]r3.Vec, 8+rng.IntN(25))
			for k := range points {
				u := direction(rng)
				points[k] = r3.Add(center, r3.Vec{X: axes.X * u.X, Y: axes.Y * u.Y, Z: axes.Z * u.Z})
			}
			if s, err := geom.NewSmoothHull(points, sharpnesses[i%len(sharpnesses)], center); err == nil {
				return s
			}
		}
	}},
	{"smooth revolutions", func(rng *rand.Rand, i int) geom.Shape {
		profile := []r2.Vec{{X: logUniform(rng), Y: logUniform(rng)}, {X: logUniform(rng), Y: -logUniform(rng)}}
		for range rng.IntN(6) {
			profile = append(profile, r2.Vec{X: logUniform(rng), Y: 2*rng.Float64() - 1})
		}
		s, err := geom.NewSmoothRevolution(profile, sharpnesses[i%len(sharpnesses)], []float64{1e-3, geom.MinFlatness,
			1}[i%3])
		if err != nil {
			panic(err)
		}
		return s
	}},
}

var sharpnesses = []float64{10, geom.MinSharpness, 40, 200}

// drawPowers is n rows of a set, placed as package generate does: a third penetrates, a third has distances of
// up to a tenth of a meter, the others of up to two. In every eighth row both bodies have the same axes.
func drawPowers(t testing.TB, shape func(*rand.Rand, int) geom.Shape, n int) (*batch.Library, *batch.Pairs) {
	t.Helper()
	rng := rand.New(rand.NewPCG(61, 62))
	shapes := make([]geom.Shape, 256)
	for i := range shapes {
		shapes[i] = shape(rng, i)
		if i%4 == 3 {
			shapes[i] = geom.WithMargin(shapes[i], 0.02)
		}
	}
	lib, err := batch.NewLibrary(shapes, nil)
	if err != nil {
		t.Fatal(err)
	}
	pairs := batch.NewPairs(n)
	for i := range n {
		row := batch.Row{ShapeA: int32(rng.IntN(len(shapes))), ShapeB: int32(rng.IntN(len(shapes)))}
		row.PoseA, row.PoseB = randomPose(rng), randomPose(rng)
		if i%8 == 7 {
			row.PoseB.Rotation = row.PoseA.Rotation
		}
		apart := []float64{-0.1 * rng.Float64(), 0.1 * rng.Float64(), 2 * rng.Float64()}[i%3]
		ma, mb := row.PoseA.Matrix(), row.PoseB.Matrix()
		a, b, u := shapes[row.ShapeA], shapes[row.ShapeB], direction(rng)
		if i%16 == 15 { // along an axis, where exposed faces are corners or faces
			u = ma.MulVec(r3.Vec{X: 1})
		}
		reach := r3.Dot(u, ma.MulVec(geom.Support(a, ma.MulVecT(u)))) - r3.Dot(u,
			mb.MulVec(geom.Support(b, mb.MulVecT(r3.Scale(-1, u)))))
		row.PoseB.Position = r3.Add(row.PoseA.Position, r3.Scale(reach+apart, u))
		pairs.SetRow(i, &row)
	}
	return lib, pairs
}

// Every answer of every variant passes the audit and agrees with the reference.
func TestPowers(t *testing.T) {
	n := size(1500)
	for _, set := range powerSets {
		lib, pairs := drawPowers(t, set.shape, n)
		for _, variant := range variants(t) {
			for _, o := range []batch.Options{
				{}, {Precision: batch.Double}, {Query: batch.Penetration},
				{Query: batch.Penetration, Precision: batch.Double},
				{Query: batch.Collide}, {Query: batch.Collide, Columns: everything},
			} {
				t.Run(fmt.Sprintf("%s/%s/%v/%v/%v", set.name, variant, o.Query, o.Precision, o.Columns != 0),
					func(t *testing.T) {
						b := newVariant(t, variant, 2)
						r := solve(t, b, lib, pairs, o, 0)
						audit(t, &batch.Job{Library: lib, Input: pairs, Options: o, Results: r})
						by, left := b.RowsBy()
						t.Logf("%.1f %% of the rows left to the reference solvers", 100*float64(left)/float64(by+left))
					})
			}
		}
	}
}

// The kernels decline next to no row: in double precision only some of sharp shapes.
func TestPowersByKernels(t *testing.T) {
	n := size(3000)
	for _, set := range powerSets {
		lib, pairs := drawPowers(t, set.shape, n)
		for _, variant := range variants(t) {
			for _, o := range []batch.Options{{}, {Query: batch.Collide}, {Query: batch.Penetration}} {
				b := newVariant(t, variant, 2)
				solve(t, b, lib, pairs, o, 0)
				if _, left := b.RowsBy(); left > int64(n/50) {
					t.Errorf("%s, %s, %v: %d of %d rows left to the reference solvers", set.name, variant, o.Query,
						left, n)
				}
			}
		}
	}
}

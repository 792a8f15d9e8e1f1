package cpu

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"clearance/batch"
	"clearance/geom"
	"clearance/kernels"

	"gonum.org/v1/gonum/spatial/r3"
)

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

package tests

import (
	"math"
	"testing"

	"clearance/batch"
	"clearance/geom"

	"gonum.org/v1/gonum/spatial/r3"
)

// flat reports whether row i has no growth distance.
func (s *set) flat(i int) bool {
	return s.lib.CheckGrowth(i, s.pairs.ShapeA[i], s.pairs.ShapeB[i]) != nil
}

// inradius is that of D about the centers of growth, next to a half-space that of the other shape.
func (s *set) inradius(i int) float64 {
	return s.lib.GrowthInradius(s.pairs.ShapeA[i]) + s.lib.GrowthInradius(s.pairs.ShapeB[i])
}

// growthSlack bounds what moving every point of both bodies by at most a length changes of a growth distance α:
// the numerator of every dual bound <n,p>/h(n) by the length, and h(n), at least the inradius, by as much.
func (s *set) growthSlack(i int, alpha, length float64) float64 {
	return (1 + alpha) * length / s.inradius(i)
}

// centers are those of growth of a row, in the world.
func centers(lib *batch.Library, r *batch.Row) (a, b r3.Vec) {
	ma, mb := r.PoseA.Matrix(), r.PoseB.Matrix()
	return r3.Add(ma.MulVec(lib.GrowthCenter(r.ShapeA)), r.PoseA.Position),
		r3.Add(mb.MulVec(lib.GrowthCenter(r.ShapeB)), r.PoseB.Position)
}

// unbounded reports whether a shape of row i is a half-space.
func (s *set) unbounded(i int) bool {
	half := func(k int32) bool { return s.lib.Shape(k).Kind().Traits().Unbounded }
	return half(s.pairs.ShapeA[i]) || half(s.pairs.ShapeB[i])
}

// stretched moves the centers of bounded pairs k times as far apart, in the same direction.
func (s *set) stretched(k float64) *batch.Pairs {
	return mapRows(s.pairs, func(_ int, r *batch.Row) {
		a, b := centers(s.lib, r)
		r.PoseB.Position = r3.Add(r.PoseB.Position, r3.Scale(k-1, r3.Sub(b, a)))
	})
}

// grown scales every shape by k and leaves the centers where they are in the world.
func (s *set) grown(t *testing.T, k float64) (*batch.Library, *batch.Pairs) {
	t.Helper()
	shapes, at := make([]geom.Shape, s.lib.Len()), map[int32]r3.Vec{}
	for i := range shapes {
		var err error
		if shapes[i], err = geom.Scaled(s.lib.Shape(int32(i)), k); err != nil {
			t.Fatal(err)
		}
		if !shapes[i].Kind().Traits().Unbounded {
			at[int32(i)] = r3.Scale(k, s.lib.GrowthCenter(int32(i)))
		}
	}
	lib, err := batch.NewLibrary(shapes, nil)
	if err == nil {
		lib, err = lib.WithCenters(at)
	}
	if err != nil {
		t.Fatal(err)
	}
	return lib, mapRows(s.pairs, func(_ int, r *batch.Row) {
		a, b := centers(s.lib, r)
		c, d := centers(lib, r)
		r.PoseA.Position = r3.Add(r.PoseA.Position, r3.Sub(a, c))
		r.PoseB.Position = r3.Add(r.PoseB.Position, r3.Sub(b, d))
	})
}

// TestGrowthIsHomogeneous: the factor is proportional to the distance of the centers, and inversely to the
// scale of both shapes about them.
func TestGrowthIsHomogeneous(t *testing.T) {
	const n, k = 294, 1.75
	eachSet(t, n, func(t *testing.T, s *set) {
		for _, precision := range []batch.Precision{batch.Single, batch.Double} {
			o := batch.Options{Query: batch.Growth, Precision: precision}
			want := answer(t, s.lib, s.pairs, o, 2, 0)
			lib, fixed := s.grown(t, k)
			for _, v := range []struct {
				name  string
				lib   *batch.Library
				pairs *batch.Pairs
				by    float64
			}{{"centers farther apart", s.lib, s.stretched(k), k}, {"larger shapes", lib, fixed, 1 / k}} {
				got := answer(t, v.lib, v.pairs, o, 2, 0)
				compared := 0
				for i := range n {
					if s.unbounded(i) || max(want.Status()[i], got.Status()[i]) >= uint8(batch.Undecided) {
						continue // half-spaces do not grow
					}
					compared++
					alpha, gap := want.Distance().At(i), float64(want.Gap()[i])
					again := got.Distance().At(i)
					// The poses of both are rounded, and the parameters of the scaled shapes.
					slack := s.growthSlack(i, math.Max(alpha, again), 32*eps*k*s.reach(i))
					slack += float64(got.Gap()[i]) + v.by*gap
					if !(math.Abs(again-v.by*alpha) <= slack) {
						t.Errorf("%v, %s: row %d (%s): %s; then %s, want %.17g", precision, v.name, i, s.describe(i),
							tell(want, i), tell(got, i), v.by*alpha)
					}
				}
				if compared < n/2 && s.name != "adversarial" || compared < n/4 {
					t.Errorf("%v, %s: %d of %d rows compared", precision, v.name, compared, n)
				}
			}
		}
	})
}

// TestGrowthAndDistance: the factor passes 1 where the signed distance σ changes its sign. With balls of radius r
// in D and ρ about it, both about the origin, it is between 1 + σ/ρ and 1 + σ/r.
func TestGrowthAndDistance(t *testing.T) {
	const n = 588
	eachSet(t, n, func(t *testing.T, s *set) {
		o := batch.Options{Precision: batch.Double}
		signed := answer(t, s.lib, s.pairs, o, 2, 0)
		o.Query = batch.Growth
		growth := answer(t, s.lib, s.pairs, o, 2, 0)
		var sides [2]int
		for i := range n {
			if growth.Status()[i] >= uint8(batch.Undecided) || signed.Status()[i] >= uint8(batch.Undecided) {
				continue
			}
			inner, outer := s.inradius(i), 0.0
			for _, k := range []int32{s.pairs.ShapeA[i], s.pairs.ShapeB[i]} {
				if shape := s.lib.Shape(k); !shape.Kind().Traits().Unbounded {
					outer += r3.Norm(r3.Sub(shape.Center(), s.lib.GrowthCenter(k))) + shape.BoundingRadius()
				}
			}
			lower, upper := claimed(growth, i, batch.Growth)
			from, to := claimed(signed, i, batch.Distance)
			least, greatest := 1+from/outer, 1+to/inner
			if from < 0 {
				least = 1 + from/inner
			} else {
				sides[0]++
			}
			if to < 0 {
				greatest = math.Max(0, 1+to/outer) // 0 where a center lies in a half-space
				sides[1]++
			}
			round := s.growthSlack(i, upper, 8*eps*s.reach(i))
			if !(lower <= greatest+round && upper >= least-round) {
				t.Errorf("row %d (%s): signed %s; growth %s, want one in [%.17g, %.17g]", i, s.describe(i),
					tell(signed, i), tell(growth, i), least, greatest)
			}
		}
		if sides[0]+sides[1] < n/4 {
			t.Errorf("%v rows on the two sides", sides)
		}
	})
}

// TestFlatPairsDoNotGrow: such rows are invalid, whatever the poses, and no others are.
func TestFlatPairsDoNotGrow(t *testing.T) {
	s := newSet(t, "adversarial", 5, 2000)
	growth := answer(t, s.lib, s.pairs, batch.Options{Query: batch.Growth}, 2, 0)
	flat := 0
	for i, status := range growth.Status() {
		invalid := batch.Status(status) == batch.Invalid
		if invalid != s.flat(i) {
			t.Errorf("row %d (%s) is %v", i, s.describe(i), batch.Status(status))
		}
		if invalid {
			flat++
		}
	}
	if flat == 0 {
		t.Error("no row is flat")
	}
}

package tests

import (
	"math"
	"testing"

	"clearance/batch"
	"clearance/geom"
	"clearance/internal/testkit"

	"gonum.org/v1/gonum/spatial/r3"
)

const eps = 0x1p-53 // unit roundoff of float64

// variant is a batch whose answers follow from those of another.
type variant struct {
	lib   *batch.Library
	pairs *batch.Pairs
	scale float64             // of every length
	slack func(i int) float64 // what rounding the new input costs row i, metres of the variant
}

// TestMetamorphic: swapping A and B, moving both bodies and scaling everything change
// the answers as they must, within the gaps of both answers and what rounding
// the changed input costs.
func TestMetamorphic(t *testing.T) {
	const n = 294 // 21 of each adversarial case
	eachSet(t, n, func(t *testing.T, s *set) {
		variants := map[string]variant{"swap": s.swapped(), "rigid motion": s.moved(), "scale": s.scaled(t, 1/3.),
			"scale up": s.scaled(t, 7.3)}
		eachQuestion(t, func(t *testing.T, o batch.Options) {
			want := answer(t, s.lib, s.pairs, o, 2, 0)
			for name, v := range variants {
				got := answer(t, v.lib, v.pairs, o, 2, 0)
				silent := 0
				for i := range n {
					if o.Query.Info().CheckShapes(s.lib, i, s.pairs.ShapeA[i], s.pairs.ShapeB[i]) != nil {
						continue // refused, see TestFlatPairsDoNotGrow
					}
					if !s.agree(t, name, &v, o.Query, want, got, i) {
						silent++
					}
				}
				// A row that is undecided claims nothing. More of them than a rare
				// tie or sliver would make the test empty.
				if silent > n/50 {
					t.Errorf("%s: %d of %d rows are undecided on either side", name, silent, n)
				}
			}
		})
	})
}

// agree fails if the answers of row i contradict each other, and reports whether both
// sides claim anything.
func (s *set) agree(t *testing.T, name string, v *variant, q batch.Query, want, got *batch.Results, i int) bool {
	t.Helper()
	a, b := batch.Status(want.Status()[i]), batch.Status(got.Status()[i])
	if a == batch.Invalid || b == batch.Invalid {
		t.Errorf("%s: row %d (%s) is %v and %v", name, i, s.describe(i), a, b)
	}
	if a >= batch.Undecided || b >= batch.Undecided {
		return false
	}
	scale, slack := v.scale, v.slack(i)
	if q == batch.Growth { // of no unit
		scale, slack = 1, s.growthSlack(i, want.Distance().At(i), slack/v.scale)
	}
	// Both intervals hold the value of their own input; those of the two
	// inputs differ by slack at most.
	lower, upper := claimed(want, i, q)
	from, to := claimed(got, i, q)
	if !(scale*lower <= to+slack && from <= scale*upper+slack) {
		t.Errorf("%s: row %d (%s): %s; then %s, where %.17g would follow; rounding explains %.3g",
			name, i, s.describe(i), tell(want, i), tell(got, i), scale*want.Distance().At(i), slack)
	}
	return true
}

// claimed is the interval of the value that an answer claims. Where the
// caller does not care for more (separated rows of the penetration and collide
// queries, any contact of collide) it is what the status says.
func claimed(r *batch.Results, i int, q batch.Query) (lower, upper float64) {
	d, gap := r.Distance().At(i), float64(r.Gap()[i])
	lower, upper = d-gap, d+gap
	touch, wide := q.Info().Touch, q == batch.Penetration || q == batch.Collide
	switch batch.Status(r.Status()[i]) {
	case batch.Separated:
		lower = math.Max(lower, touch)
		if wide {
			upper = math.Inf(1)
		}
	case batch.Penetrating:
		upper = math.Min(upper, touch)
		if q == batch.Collide {
			lower = math.Inf(-1)
		}
	}
	return lower, upper
}

// reach is the sum of all lengths of row i that rounding in its input is relative to:
// positions, bounding radii and centers of both bodies. The boundary of a half-space
// counts up to where the other body is.
func (s *set) reach(i int) float64 {
	var r batch.Row
	s.pairs.Row(i, &r)
	between := r3.Norm(r3.Sub(r.PoseB.Position, r.PoseA.Position))
	sum := r3.Norm(r.PoseA.Position) + r3.Norm(r.PoseB.Position) + between
	for _, k := range []int32{r.ShapeA, r.ShapeB} {
		shape := s.lib.Shape(k)
		sum += r3.Norm(shape.Center())
		if radius := shape.BoundingRadius(); !math.IsInf(radius, 1) {
			sum += radius
		}
	}
	return sum
}

// swapped exchanges A and B. The input is not rounded; only the frame of the pair is
// another, and the gaps account for that.
func (s *set) swapped() variant {
	return variant{lib: s.lib, scale: 1, slack: func(int) float64 { return 0 },
		pairs: mapRows(s.pairs, func(_ int, r *batch.Row) {
			r.ShapeA, r.ShapeB = r.ShapeB, r.ShapeA
			r.PoseA, r.PoseB = r.PoseB, r.PoseA
		})}
}

// moved rotates and shifts the world of each row. A signed distance changes by no more
// than the points of the bodies do: rounding moves a rotated and shifted position by
// at most 8 eps of its length, and rotates a product of quaternions by 8 eps.
func (s *set) moved() variant {
	shift := make([]float64, s.pairs.Len())
	v := variant{lib: s.lib, scale: 1, pairs: mapRows(s.pairs, func(i int, r *batch.Row) {
		motion := geom.Pose{Position: r3.Scale(10*s.rng.Float64(), testkit.Unit(s.rng)),
			Rotation: testkit.Rotation(s.rng)}
		shift[i] = r3.Norm(motion.Position)
		r.PoseA, r.PoseB = motion.Compose(r.PoseA), motion.Compose(r.PoseB)
	})}
	v.slack = func(i int) float64 { return 16 * eps * (s.reach(i) + 2*shift[i]) }
	return v
}

// scaled multiplies every length. Each product is rounded once, which moves every
// point of a body by eps of its distance from the origin; the support functions of
// curved shapes are homogeneous up to the few roundings that the gaps account for.
func (s *set) scaled(t *testing.T, k float64) variant {
	t.Helper()
	shapes := make([]geom.Shape, s.lib.Len())
	for i := range shapes {
		var err error
		if shapes[i], err = geom.Scaled(s.lib.Shape(int32(i)), k); err != nil {
			t.Fatal(err)
		}
	}
	lib, err := batch.NewLibrary(shapes, nil)
	if err != nil {
		t.Fatal(err)
	}
	v := variant{lib: lib, scale: k, pairs: mapRows(s.pairs, func(_ int, r *batch.Row) {
		r.PoseA.Position = r3.Scale(k, r.PoseA.Position)
		r.PoseB.Position = r3.Scale(k, r.PoseB.Position)
	})}
	v.slack = func(i int) float64 { return 8 * eps * k * s.reach(i) }
	return v
}

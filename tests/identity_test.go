package tests

import (
	"fmt"
	"math"
	"testing"

	"clearance/batch"
	"clearance/geom"
	"clearance/internal/testkit/rowcheck"

	"gonum.org/v1/gonum/num/quat"
)

// asked are the questions of the metamorphic tests: each query, both precisions,
// and each method at least once.
var asked = []batch.Options{
	{Columns: everything},
	{Columns: everything, Precision: batch.Double, Method: batch.Nesterov},
	{Columns: everything, Precision: batch.Double, Query: batch.Penetration},
	{Columns: everything, Query: batch.Penetration, Method: batch.Polyak},
	{Columns: everything, Query: batch.Collide, Method: batch.GJK},
	{Columns: everything | batch.ColPoint, Query: batch.Growth},
	{Columns: everything | batch.ColPoint, Query: batch.Growth, Precision: batch.Double},
}

func eachQuestion(t *testing.T, test func(t *testing.T, o batch.Options)) {
	for _, o := range asked {
		t.Run(fmt.Sprintf("%v %v %v", o.Query, o.Precision, o.Method), func(t *testing.T) { test(t, o) })
	}
}

// TestBitIdentity: a row's answer depends on the row alone. Chunks, workers, the order
// of the rows, the form of the input and earlier calls change no bit of it.
func TestBitIdentity(t *testing.T) {
	const n = 5*64 + 17 // odd on purpose: the last chunk and the last word of bits are not full
	eachSet(t, n, func(t *testing.T, s *set) {
		eachQuestion(t, func(t *testing.T, o batch.Options) {
			want := answer(t, s.lib, s.pairs, o, 1, 0)
			decided := 0
			for _, st := range want.Status() {
				if batch.Status(st) < batch.Undecided {
					decided++
				}
			}
			if decided < n*9/10 {
				t.Fatalf("%d of %d rows are decided; equal bits would show nothing", decided, n)
			}

			requireSame(t, "asked again", s, want, answer(t, s.lib, s.pairs, o, 1, 0), itself)
			for _, chunk := range []int{64, 128} {
				requireSame(t, fmt.Sprintf("chunks of %d", chunk), s, want, answer(t, s.lib, s.pairs, o, 1, chunk),
					itself)
			}
			for _, workers := range []int{2, 7} {
				requireSame(t, fmt.Sprintf("%d workers", workers), s, want, answer(t, s.lib, s.pairs, o, workers, 0),
					itself)
			}

			place := s.rng.Perm(n) // row i moves to place[i]
			shuffled := batch.NewPairs(n)
			var r batch.Row
			for i, to := range place {
				s.pairs.Row(i, &r)
				shuffled.SetRow(to, &r)
			}
			requireSame(t, "rows in another order", s, want, answer(t, s.lib, shuffled, o, 2, 64),
				func(i int) int { return place[i] })

			lo, hi := 64+s.rng.IntN(64), n-s.rng.IntN(64)
			part := answer(t, s.lib, s.pairs.Slice(lo, hi), o, 2, 0)
			for i := range part.N {
				if column := rowcheck.Differs(want, lo+i, part, i); column != "" {
					t.Fatalf("row %d (%s) differs in column %s where the batch begins at %d:\n%s\n%s",
						lo+i, s.describe(lo+i), column, lo, tell(want, lo+i), tell(part, i))
				}
			}

			worlds := answer(t, s.lib, asWorlds(s.pairs), o, 2, 64)
			if worlds.N != 2*n {
				t.Fatalf("%d rows from two worlds of %d pairs", worlds.N, n)
			}
			requireSame(t, "as a world", s, want, worlds, itself)
			requireSame(t, "as the second world", s, want, worlds, func(i int) int { return n + i })
		})
	})
}

// asWorlds writes a pair list as two equal worlds, in which each pair has two bodies
// of its own.
func asWorlds(p *batch.Pairs) *batch.Worlds {
	w := &batch.Worlds{}
	var r batch.Row
	var poses []float64
	for i := range p.Len() {
		p.Row(i, &r)
		w.Shapes = append(w.Shapes, r.ShapeA, r.ShapeB)
		w.TemplateA, w.TemplateB = append(w.TemplateA, int32(2*i)), append(w.TemplateB, int32(2*i+1))
		for _, pose := range []geom.Pose{r.PoseA, r.PoseB} {
			q := quat.Number(pose.Rotation)
			poses = append(poses, pose.Position.X, pose.Position.Y, pose.Position.Z, q.Real, q.Imag, q.Jmag, q.Kmag)
		}
	}
	w.Poses = append(poses, poses...)
	return w
}

// TestColumnSelection: which columns are asked for changes no value in them. Of a query whose rows may end with
// their status, the columns that tell how a row was solved depend on whether they do, and so may the status of a row
// within the tolerance of contact, see [batch.QueryInfo].
func TestColumnSelection(t *testing.T) {
	eachSet(t, 150, func(t *testing.T, s *set) {
		eachQuestion(t, func(t *testing.T, o batch.Options) {
			want := answer(t, s.lib, s.pairs, o, 1, 0)
			choices := []batch.Columns{0, batch.ColBits, everything &^ batch.ColStatus}
			for c := batch.Columns(1); c <= everything; c <<= 1 {
				choices = append(choices, c, c|batch.ColStatus)
			}
			for _, c := range choices {
				part := o
				part.Columns = c
				got := answer(t, s.lib, s.pairs, part, 2, 64)
				if got.Columns != part.EffectiveColumns() {
					t.Fatalf("asked for the columns %v, got %v", part.EffectiveColumns(), got.Columns)
				}
				alone := part.StatusAlone() && !o.StatusAlone()
				near := 2 * batch.SingleTolerance
				if o.Precision == batch.Double {
					near = 2 * batch.DoubleCurvedGrowthTolerance
				}
				if alone {
					got.Drop(batch.ColIterations | batch.ColMethod)
				}
				for i := range want.N {
					if alone && math.Abs(want.Distance().At(i)-o.Query.Info().Touch) <= near {
						continue
					}
					if column := rowcheck.Differs(want, i, got, i); column != "" {
						t.Fatalf("with the columns %v, row %d (%s) differs in column %s; with all: %s",
							got.Columns, i, s.describe(i), column, tell(want, i))
					}
				}
			}
		})
	})
}

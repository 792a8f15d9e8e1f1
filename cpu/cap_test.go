package cpu

import (
	"context"
	"math"
	"os"
	"testing"

	"clearance/batch"
	"clearance/internal/testkit/rowcheck"
	"clearance/verify"
)

// The kernels and the reference solvers keep the iteration limit: rows that reach it are undecided, with
// bounds that contain the exact value, and all others are correct. A limit that no row reaches changes no bit.
func TestIterationCap(t *testing.T) {
	n := size(1200)
	type input struct {
		lib   *batch.Library
		pairs *batch.Pairs
	}
	sets := map[string]input{}
	for _, set := range []string{"ellipsoids", "boxes", "capsule-cylinder-cone", "hull32"} {
		lib, pairs := draw(t, set, n)
		sets[set] = input{lib, pairs}
	}
	for _, set := range powerSets {
		lib, pairs := drawPowers(t, set.shape, n/4)
		sets[set.name] = input{lib, pairs}
	}
	for set, in := range sets {
		lib, pairs, n := in.lib, in.pairs, in.pairs.Len()
		truth := solve(t, newVariant(t, variants(t)[0], 2), lib, pairs, batch.Options{Precision: batch.Double,
			Columns: everything}, 0)
		for _, variant := range variants(t) {
			for _, o := range []batch.Options{{}, {Precision: batch.Double}, {Query: batch.Penetration},
				{Query: batch.Collide}, {Method: batch.RTR}} {
				o.Columns = everything
				free := solve(t, newVariant(t, variant, 2), lib, pairs, o, 0)
				last := n + 1
				for _, steps := range []int{1, 2, 4, 8, 40, 300, 5000} {
					o.MaxIterations = steps
					b := newVariant(t, variant, 2)
					r := solve(t, b, lib, pairs, o, 0)
					rep, err := verify.Audit(context.Background(), &batch.Job{Library: lib, Input: pairs, Options: o,
						Results: r}, verify.Options{})
					if err != nil {
						t.Fatal(err)
					}
					if rep.WrongRows != 0 {
						rep.WriteText(os.Stderr)
						t.Errorf("%s, %s, %v, %v, at most %d: %d wrong rows", set, variant, o.Query, o.Precision, steps,
							rep.WrongRows)
					}
					if rep.Status.Undecided > last || steps == 2 && o.Query == batch.Distance &&
						rep.Status.Undecided == 0 {
						t.Errorf("%s, %s, %v, %v: %d rows undecided after at most %d steps, %d before", set, variant,
							o.Query, o.Precision, rep.Status.Undecided, steps, last)
					}
					if last = rep.Status.Undecided; steps == 1 {
						last = n // by the reference solvers alone
					}
					over := 0
					for i := range n {
						if steps > 1 && int(r.Iterations()[i]) > steps {
							over++
						}
						if off := math.Abs(r.Distance().At(i) - truth.Distance().At(i)); o.Query == batch.Distance &&
							!(off <= float64(r.Gap()[i])+float64(truth.Gap()[i])) {
							t.Fatalf("%s, %s, at most %d: row %d is off by %v, gap %v", set, variant, steps, i, off,
								r.Gap()[i])
						}
						// It may raise the default of a reference solver, which is 100 for RTR.
						if steps == 5000 && free.Iterations()[i] < 100 && !rowcheck.Same(free, i, r, i) {
							t.Fatalf("%s, %s, %v, %v, row %d: a cap that is not reached changes the answer: %v ± %v "+
								"in %d steps by %v, was %v ± %v in %d by %v", set, variant, o.Query, o.Precision, i,
								r.Distance().At(i), r.Gap()[i], r.Iterations()[i], batch.Solver(r.Method()[i]),
								free.Distance().At(i), free.Gap()[i], free.Iterations()[i],
								batch.Solver(free.Method()[i]))
						}
					}
					// The reference solvers, which answer declined rows, add the iterations of several solvers.
					kernels, left := b.RowsBy()
					if over > int(left) {
						t.Errorf("%s, %s, %v: %d rows took more than %d steps, and %d were left", set, variant, o.Query,
							over, steps, left)
					}
					if steps > 1 && o.Query == batch.Distance && o.Method == batch.Auto && kernels < int64(n)/3 {
						t.Errorf("%s, %s, at most %d: the kernels answered %d of %d rows", set, variant, steps, kernels,
							n)
					}
				}
			}
		}
	}
}

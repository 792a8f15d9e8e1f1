package engine

import (
	"testing"

	"clearance/batch"
	"clearance/dispatch"
	"clearance/geom"
	"clearance/internal/testkit/rowcheck"
)

// The device says what ended a row: the method that was asked for, plain GJK where double
// precision had to go on from it, the formula of half-spaces.
func TestMethodColumn(t *testing.T) {
	eachPath(t, func(t *testing.T, o Options) {
		b := open(t, o)
		lib, pairs := set(t, "mixed", 0, 300)
		for _, q := range []batch.Query{batch.Distance, batch.Collide} {
			for _, m := range []batch.Method{batch.Auto, batch.GJK, batch.Nesterov, batch.Polyak} {
				for _, columns := range []batch.Columns{batch.FileColumns, batch.ColStatus | batch.ColMethod} {
					job := &batch.Job{Library: lib, Input: pairs, Options: batch.Options{Query: q, Method: m,
						Columns: columns}}
					rep := run(t, job, dispatch.Options{}, b)
					rowcheck.Audit(t, job)
					n, undecided := rep.Solvers, rep.Counts[batch.Undecided]
					if asked := batch.Solver(max(m, batch.GJK)); n[asked] < 200 || n[batch.SolverClosedForm] == 0 ||
						n[batch.SolverNone] > undecided {
						t.Errorf("%v, %v, %v: %v of %d rows, %v undecided", q, m, columns, n, pairs.Len(), undecided)
					}
				}
			}
		}
	})
}

func TestMethodOfHalfspaces(t *testing.T) {
	b := open(t, Options{})
	lib, err := batch.NewLibrary([]geom.Shape{geom.Halfspace{}, geom.Sphere{R: 1}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	pairs := batch.NewPairs(2)
	for i := range 2 {
		pairs.SetRow(i, &batch.Row{ShapeA: int32(i), ShapeB: int32(1 - i), PoseA: geom.IdentityPose(),
			PoseB: geom.IdentityPose()})
	}
	pairs.PositionB[2] = 3 // above the plane; the other way around the sphere is deep in it
	for m := range batch.RTR {
		job := &batch.Job{Library: lib, Input: pairs, Options: batch.Options{Method: m, Columns: batch.FileColumns}}
		rep := run(t, job, dispatch.Options{}, b)
		if rowcheck.Audit(t, job); rep.Solvers[batch.SolverClosedForm] != 2 || job.Results.Distance().At(0) != 2 {
			t.Errorf("%v: %v", m, rep.Solvers)
		}
	}
}

package cpu

import (
	"context"
	"fmt"
	"testing"

	"clearance/batch"
	"clearance/geom"
	"clearance/internal/testkit/rowcheck"
	"clearance/kernels"
	"clearance/verify"
)

// unwritten is no code of a solver.
const unwritten = 0xee

// The method column is written in every row, by every path of every variant, and it
// changes no other column.
func TestMethodColumn(t *testing.T) {
	lib, pairs := mixed(t, size(4000), 31)
	n := pairs.Len()
	for _, variant := range append(kernels.Supported(), kernels.Off) {
		b, err := New(Options{Workers: 2, SIMD: variant})
		if err != nil {
			t.Fatal(err)
		}
		defer b.Close()
		for m := range batch.MethodCount {
			for q := range batch.QueryCount {
				if !b.Serves().Has(&batch.Options{Query: q, Method: m}) {
					continue
				}
				for _, columns := range []batch.Columns{batch.AllColumns, batch.ColStatus} {
					t.Run(fmt.Sprintf("%s/%v/%v/%v", variant, m, q, columns), func(t *testing.T) {
						o := batch.Options{Query: q, Method: m, Columns: columns}
						without := solve(t, b, lib, pairs, o, 0)
						o.Columns |= batch.ColMethod
						job := &batch.Job{Library: lib, Input: pairs, Options: o, Results: batch.NewResults(n, &o)}
						for i := range job.Results.Method() {
							job.Results.Method()[i] = unwritten
						}
						if err := b.Run(context.Background(), job, 0, n, job.Results); err != nil {
							t.Fatal(err)
						}
						audit, err := verify.Audit(context.Background(), job, verify.Options{})
						if err != nil {
							t.Fatal(err)
						}
						if c := audit.Check("method"); c.Failed > 0 || c.Ran < n*9/10 ||
							audit.Check("invalid").Failed > 0 {
							t.Errorf("the audit of the methods: %+v, of invalid rows: %+v", c, audit.Check("invalid"))
						}
						for i, s := range job.Results.Method() {
							if s == unwritten {
								t.Fatalf("row %d has no method", i)
							}
						}
						for i := range n {
							if !rowcheck.Same(without, i, job.Results, i) {
								t.Fatalf("row %d has another answer with the column of the method", i)
							}
						}
					})
				}
			}
		}
	}
}

// Auto takes the closed form, the separating axes, or the fastest other solver of the pair. A call that names a
// method gets it.
func TestWhatAutoTakes(t *testing.T) {
	if len(kernels.Supported()) == 0 {
		t.Skip("no kernels: package ref has no formula but that of half-spaces")
	}
	lib, pairs := mixed(t, size(4000), 32)
	b := newBackend(t, 2)
	const apart, deep = 0, 1
	type key struct {
		a, b geom.Kind
		side int
	}
	taken := func(o batch.Options) map[key][batch.SolverCount]int {
		o.Columns = batch.FileColumns
		r := solve(t, b, lib, pairs, o, 0)
		got := map[key][batch.SolverCount]int{}
		for i, s := range r.Status() {
			if batch.Status(s) >= batch.Undecided {
				continue
			}
			x, y := lib.Shape(pairs.ShapeA[i]).Kind(), lib.Shape(pairs.ShapeB[i]).Kind()
			k := key{min(x, y), max(x, y), apart}
			if batch.Status(s) == batch.Penetrating {
				k.side = deep
			}
			counts := got[k]
			counts[r.Method()[i]]++
			got[k] = counts
		}
		return got
	}
	all := func(m batch.Method, q batch.Query, k key, want ...batch.Solver) {
		t.Helper()
		counts := taken(batch.Options{Method: m, Query: q})[k]
		sum, wanted := 0, 0
		for _, n := range counts {
			sum += n
		}
		for _, w := range want {
			wanted += counts[w]
		}
		if sum == 0 || wanted < sum*9/10 { // rows that a closed form does not decide go on
			t.Errorf("%v, %v of %v and %v: %v, want %v", m, q, k.a, k.b, counts, want)
		}
	}
	for _, side := range []int{apart, deep} {
		all(batch.Auto, batch.Distance, key{geom.KindSphere, geom.KindSphere, side}, batch.SolverClosedForm)
		all(batch.Auto, batch.Distance, key{geom.KindSphere, geom.KindCapsule, side}, batch.SolverClosedForm)
		all(batch.Auto, batch.Distance, key{geom.KindSphere, geom.KindBox, side}, batch.SolverClosedForm)
		all(batch.Auto, batch.Collide, key{geom.KindBox, geom.KindBox, side}, batch.SolverAxes)
		all(batch.GJK, batch.Collide, key{geom.KindBox, geom.KindBox, side}, batch.SolverGJK)
		for m := range batch.MethodCount {
			all(m, batch.Distance, key{geom.KindCone, geom.KindHalfspace, side}, batch.SolverClosedForm)
		}
	}
	all(batch.Auto, batch.Distance, key{geom.KindBox, geom.KindBox, apart}, batch.SolverNewton)
	all(batch.GJK, batch.Distance, key{geom.KindBox, geom.KindBox, apart}, batch.SolverGJK)
	all(batch.Auto, batch.Distance, key{geom.KindBox, geom.KindBox, deep}, batch.SolverAxes)
	all(batch.Auto, batch.Distance, key{geom.KindCylinder, geom.KindCone, apart}, batch.SolverNewton)
	all(batch.Auto, batch.Distance, key{geom.KindCapsule, geom.KindFrustum, apart}, batch.SolverNewton)
	all(batch.GJK, batch.Distance, key{geom.KindCylinder, geom.KindCone, apart}, batch.SolverGJK)
	all(batch.Auto, batch.Collide, key{geom.KindCylinder, geom.KindCone, apart}, batch.SolverGJK)
	all(batch.Auto, batch.Distance, key{geom.KindCylinder, geom.KindCone, deep}, batch.SolverEPA)
	all(batch.Auto, batch.Distance, key{geom.KindEllipsoid, geom.KindEllipsoid, apart}, batch.SolverNewton)
	// If the eroded cores are disjoint, the depth is computed as a distance.
	all(batch.Auto, batch.Distance, key{geom.KindEllipsoid, geom.KindEllipsoid, deep}, batch.SolverRTR,
		batch.SolverNewton)
	all(batch.GJK, batch.Distance, key{geom.KindEllipsoid, geom.KindEllipsoid, apart}, batch.SolverGJK)
	all(batch.GJK, batch.Distance, key{geom.KindSphere, geom.KindSphere, apart}, batch.SolverGJK)
	all(batch.Nesterov, batch.Distance, key{geom.KindCylinder, geom.KindCone, apart}, batch.SolverNesterov)
	all(batch.Polyak, batch.Distance, key{geom.KindEllipsoid, geom.KindEllipsoid, apart}, batch.SolverPolyak)
	all(batch.RTR, batch.Distance, key{geom.KindEllipsoid, geom.KindEllipsoid, apart}, batch.SolverRTR)
	all(batch.RTR, batch.Distance, key{geom.KindSphere, geom.KindEllipsoid, deep}, batch.SolverRTR)
	all(batch.RTR, batch.Distance, key{geom.KindCylinder, geom.KindCone, apart}, batch.SolverGJK)
}

package verify_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"clearance/batch"
	"clearance/geom"
	"clearance/verify"

	"gonum.org/v1/gonum/spatial/r3"
)

// everyColumn has the columns that growth can answer.
var everyColumn = batch.Growth.FileColumns()

// growthLibrary has the shapes of mixedShapes, some of which grow about another point than the default.
func growthLibrary(t testing.TB) *batch.Library {
	t.Helper()
	lib, err := newLibrary(t, mixedShapes()...).WithCenters(map[int32]r3.Vec{
		1: {X: 0.5}, 4: {Z: -0.2}, 6: {X: 0.1, Y: -0.2, Z: 0.3}, 9: {X: 0.4}, 11: {Y: 0.25},
	})
	if err != nil {
		t.Fatal(err)
	}
	return lib
}

// TestSolvedGrowthPasses audits the answers of the solvers for all kinds of shapes, and compares them with
// those of the reference, by the columns requested.
func TestSolvedGrowthPasses(t *testing.T) {
	lib := growthLibrary(t)
	for _, precision := range []batch.Precision{batch.Single, batch.Double} {
		for _, offset := range []r3.Vec{{}, offsetKm()} {
			for _, columns := range []batch.Columns{everyColumn, batch.ColStatus | batch.ColBits,
				batch.ColStatus | batch.ColMethod, batch.ColDistance,
				batch.ColDistance | batch.ColGap | batch.ColStatus, batch.ColStatus | batch.ColNormal,
				batch.ColStatus | batch.ColWitnessA | batch.ColWitnessB} {
				for _, cut := range []float64{0, 1.25} {
					if cut > 0 && columns == batch.ColDistance {
						continue // nothing tells which rows are not meant to be accurate
					}
					name := fmt.Sprintf("%v, offset %g, columns %v, cut-off %g", precision, r3.Norm(offset), columns,
						cut)
					o := batch.Options{Query: batch.Growth, Precision: precision, Columns: columns, CutOff: cut,
						HasCutOff: cut > 0}
					n := 600
					job := solved(t, lib, randomPairs(lib, n, 7, offset), o)
					r := audit(t, job, verify.Options{DescentEvery: 2})
					if !r.OK() {
						t.Log(name)
						wantOK(t, r)
					}
					known := columns&(batch.ColStatus|batch.ColBits) != 0
					if columns&batch.ColStatus != 0 && (r.Status.Separated < n/4 || r.Status.Penetrating < n/4 ||
						r.Status.Undecided > 0) {
						t.Errorf("%s: %+v", name, r.Status)
					}
					if known && r.Unproved > n/100 {
						t.Errorf("%s: %d of %d statuses neither proved nor refuted", name, r.Unproved, n)
					}
					c, err := verify.Compare(t.Context(), job, verify.CompareOptions{})
					if err != nil || !c.OK() || c.RefUndecided > 0 {
						t.Errorf("%s: %+v, %v", name, c, err)
					}
				}
			}
		}
	}
}

// growthMutations each change one value of a column. A mutation of a length must show once it moves a bound by
// more than the gap and the rounding of the columns.
func growthMutations() []mutation {
	all := []mutation{
		{"distance up", func(job *batch.Job, i int) bool { return shiftFactor(job, i, 1) }},
		{"distance down", func(job *batch.Job, i int) bool { return shiftFactor(job, i, -1) }},
		{"distance NaN", func(job *batch.Job, i int) bool { job.Results.Distance().Set(i, math.NaN()); return true }},
		{"distance Inf", func(job *batch.Job, i int) bool { job.Results.Distance().Set(i, math.Inf(1)); return true }},
		{"distance negative", func(job *batch.Job, i int) bool {
			d := job.Results.Distance().At(i)
			job.Results.Distance().Set(i, -d)
			return d > 1e-3
		}},
		{"gap NaN", func(job *batch.Job, i int) bool { job.Results.Gap()[i] = float32(math.NaN()); return true }},
		{"gap negative", func(job *batch.Job, i int) bool { job.Results.Gap()[i] = -1e-3; return true }},
		{"gap infinite", func(job *batch.Job, i int) bool { job.Results.Gap()[i] = float32(math.Inf(1)); return true }},
		{"gap beyond the tolerance", func(job *batch.Job, i int) bool {
			job.Results.Gap()[i] = float32(1e-2 * math.Max(1, job.Results.Distance().At(i)))
			return true
		}},
		{"normal too long", func(job *batch.Job, i int) bool {
			setVec(job.Results.Normal(), i, r3.Scale(1+0x1p-18, vecAt(job.Results.Normal(), i)))
			return true
		}},
		{"normal reversed", func(job *batch.Job, i int) bool {
			setVec(job.Results.Normal(), i, r3.Scale(-1, vecAt(job.Results.Normal(), i)))
			return true
		}},
		{"normal zero", func(job *batch.Job, i int) bool { setVec(job.Results.Normal(), i, r3.Vec{}); return true }},
		{"normal NaN", func(job *batch.Job, i int) bool { job.Results.Normal().Set(3*i+1, math.NaN()); return true }},
		{"witness_a NaN", func(job *batch.Job, i int) bool {
			job.Results.WitnessA().Set(3*i,
				math.NaN())
			return true
		}},
		{"witness_b NaN", func(job *batch.Job, i int) bool {
			job.Results.WitnessB().Set(3*i,
				math.NaN())
			return true
		}},
		{"point NaN", func(job *batch.Job, i int) bool { job.Results.Point().Set(3*i, math.NaN()); return true }},
		{"point moved", func(job *batch.Job, i int) bool {
			p := job.Results.Point()
			setVec(p, i, r3.Add(vecAt(p, i), r3.Scale(growthBound(job, i), across(vecAt(job.Results.Normal(), i)))))
			return true
		}},
		{"point is the witness", func(job *batch.Job, i int) bool {
			x, a := vecAt(job.Results.Point(), i), vecAt(job.Results.WitnessA(), i)
			setVec(job.Results.Point(), i, a)
			return r3.Norm(r3.Sub(x, a)) > growthBound(job, i)
		}},
		{"iterations 0", func(job *batch.Job, i int) bool {
			job.Results.Iterations()[i] = 0
			s := batch.Solver(job.Results.Method()[i])
			return s == batch.SolverGrowth && !bothBoxes(growthKinds(job, i))
		}},
	}
	for k, col := range []func(*batch.Results) *batch.Values{colA, colB} {
		for _, by := range [][2]float64{{-2, 0}, {2, 0}, {0, 2}} {
			all = append(all, mutation{fmt.Sprintf("witness %d by %v along the normal and across", k, by),
				func(job *batch.Job, i int) bool {
					// The point leaves its shape, or proves less. Where the factor is 0 any point proves it.
					f, n := col(job.Results), vecAt(job.Results.Normal(), i)
					to := r3.Add(r3.Scale(by[0], n), r3.Scale(by[1], across(n)))
					setVec(f, i, r3.Add(vecAt(f, i), r3.Scale(growthBound(job, i), to)))
					return job.Results.Distance().At(i) > 1e-3
				}})
		}
	}
	for _, s := range []uint8{0, 1, 2, 4, 5, 200} { // 3, undecided, is never OK
		all = append(all, mutation{fmt.Sprintf("status %d", s), func(job *batch.Job, i int) bool {
			r := job.Results
			close := math.Abs(r.Distance().At(i)-1) <= float64(r.Gap()[i])
			if s == r.Status()[i] || close && s <= uint8(batch.Penetrating) {
				return false
			}
			r.Status()[i] = s
			return true
		}})
	}
	for s := range batch.SolverCount + 2 {
		all = append(all, mutation{fmt.Sprintf("method %v", s), func(job *batch.Job, i int) bool {
			job.Results.Method()[i] = uint8(s)
			a, b := growthKinds(job, i)
			switch s {
			case batch.SolverClosedForm:
				return a != geom.KindSphere && a != geom.KindHalfspace && b != geom.KindHalfspace
			case batch.SolverAxes:
				return !bothBoxes(a, b)
			case batch.SolverGrowth:
				return a == geom.KindHalfspace || b == geom.KindHalfspace
			case batch.SolverNewton:
				flat := func(k geom.Kind) bool { return k == geom.KindConvex } // without a margin here
				return a == geom.KindHalfspace || b == geom.KindHalfspace || flat(a) && flat(b)
			}
			return true
		}})
	}
	return all
}

func growthKinds(job *batch.Job, i int) (a, b geom.Kind) {
	var row batch.Row
	job.Input.Row(i, &row)
	return job.Library.Shape(row.ShapeA).Kind(), job.Library.Shape(row.ShapeB).Kind()
}

// shiftFactor moves the distance by three gaps, and by what the rounding of the normal and the witnesses may
// hide.
func shiftFactor(job *batch.Job, i int, side float64) bool {
	r := job.Results
	var row batch.Row
	job.Input.Row(i, &row)
	inradius := job.Library.GrowthInradius(row.ShapeA) + job.Library.GrowthInradius(row.ShapeB)
	alpha := r.Distance().At(i)
	r.Distance().Set(i, alpha+side*(3*float64(r.Gap()[i])+(1+alpha)*growthBound(job, i)/inradius))
	return true
}

// growthBound is bound with the size of the scaled pair: a length that moves the factor by three gaps.
func growthBound(job *batch.Job, i int) float64 {
	var row batch.Row
	job.Input.Row(i, &row)
	alpha := job.Results.Distance().At(i)
	gap := 3 * float64(job.Results.Gap()[i]) * math.Max(1, 1/alpha)
	return (1 + alpha) * (bound(job, i) + gap*job.Library.PairSize(row.ShapeA, row.ShapeB))
}

// TestGrowthMutations spoils one column of every row, mutations drawn at random, and wants each row and no other
// to be found.
func TestGrowthMutations(t *testing.T) {
	lib := growthLibrary(t)
	all := growthMutations()
	for _, precision := range []batch.Precision{batch.Single, batch.Double} {
		const n = 3000
		rng := rand.New(rand.NewPCG(9, 13))
		in := randomPairs(lib, n, 23, r3.Vec{X: 2})
		o := batch.Options{Query: batch.Growth, Precision: precision, Columns: everyColumn}
		truth, spoiled := solved(t, lib, in, o), solved(t, lib, in, o)
		wantOK(t, audit(t, truth, verify.Options{}))
		which := make([]string, n)
		applied := map[string]int{}
		for i := range n {
			if s := batch.Status(truth.Results.Status()[i]); s >= batch.Undecided {
				continue
			}
			m := all[rng.IntN(len(all))]
			if m.spoil(spoiled, i) {
				which[i] = m.name
				applied[m.name]++
				continue
			}
			copyRow(spoiled.Results, truth.Results, i)
			setVec(spoiled.Results.Point(), i, vecAt(truth.Results.Point(), i))
		}
		r := audit(t, spoiled, verify.Options{Worst: n})
		found := make([]bool, n)
		for _, c := range r.Checks {
			for _, w := range c.Worst {
				found[w.Row] = found[w.Row] || w.Failed
			}
		}
		for i, name := range which {
			if (name != "") != found[i] {
				a, b := growthKinds(truth, i)
				t.Errorf("%v, row %d (%v and %v, factor %g ± %g): found %t after %q", precision, i, a, b,
					truth.Results.Distance().At(i), truth.Results.Gap()[i], found[i], name)
			}
		}
		for _, m := range all {
			if applied[m.name] == 0 {
				t.Errorf("%v: %s was applied to no row", precision, m.name)
			}
		}
	}
}

// Two shapes without an interior point have no growth distance: their rows are rightly invalid, and counted apart from
// those of bad input. An answer to one is wrong.
func TestGrowthUndefined(t *testing.T) {
	point, err := geom.NewConvex([]r3.Vec{{X: 0.25}})
	if err != nil {
		t.Fatal(err)
	}
	lib := newLibrary(t, geom.Sphere{R: 1}, point, geom.Halfspace{})
	in := batch.NewPairs(4)
	for i, shapes := range [][2]int32{{1, 1}, {2, 1}, {0, 1}, {0, 0}} {
		in.ShapeA[i], in.ShapeB[i] = shapes[0], shapes[1]
	}
	in.PositionB[3*3] = math.NaN()
	job := solved(t, lib, in, batch.Options{Query: batch.Growth})
	r := audit(t, job, verify.Options{})
	wantOK(t, r)
	if r.Status.Invalid != 3 || r.Undefined != 2 {
		t.Errorf("%d invalid rows, %d of them without a value; want 3 and 2", r.Status.Invalid, r.Undefined)
	}
	var sum verify.Report
	sum.Merge(r)
	sum.Merge(r)
	if sum.Undefined != 4 {
		t.Errorf("%d rows without a value in two reports of 2", sum.Undefined)
	}
	var text strings.Builder
	if err := r.WriteText(&text); err != nil || !strings.Contains(text.String(),
		"3 invalid (of 2 the shapes have no value of the query)") {
		t.Errorf("%v, %s", err, text.String())
	}

	job.Results.Status()[0] = uint8(batch.Penetrating)
	if r := audit(t, job, verify.Options{}); r.Undefined != 1 || r.Wrong() != 1 {
		t.Errorf("a point in a point is answered: %d rows without a value, %d wrong", r.Undefined, r.Wrong())
	}
}

// The witness of B comes from the frame of A, so that its rounding grows with the distance of the shapes.
func TestGrowthOfDistantPairs(t *testing.T) {
	ring := []r3.Vec{{Z: 0.02}, {Z: -0.02}}
	for k := range 7 {
		sin, cos := math.Sincos(float64(k))
		ring = append(ring, r3.Vec{X: 0.03 * cos, Y: 0.03 * sin, Z: 1e-3 * float64(k)})
	}
	hull, err := geom.NewConvex(ring)
	if err != nil {
		t.Fatal(err)
	}
	lib := newLibrary(t, hull, hull)
	in := randomPairs(lib, 2000, 5, r3.Vec{})
	for i := range in.Len() {
		in.PositionB[3*i] += 2
	}
	job := solved(t, lib, in, batch.Options{Query: batch.Growth, Precision: batch.Double})
	wantOK(t, audit(t, job, verify.Options{}))
}

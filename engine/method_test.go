package engine

import (
	"fmt"
	"math"
	"testing"

	"clearance/batch"
	"clearance/dispatch"
	"clearance/geom"
	"clearance/internal/testkit/rowcheck"

	"gonum.org/v1/gonum/spatial/r3"
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

// TestRTR: by the methods rtr and auto the answers of smooth pairs are those of the CPU by GJK
// and EPA, in both precisions, apart and in penetration, and the audit refutes none. The
// device leaves hardly an ellipsoid.
func TestRTR(t *testing.T) {
	b, c := open(t, Options{}), processor(t)
	rows := size(200, 800, 3000)
	for _, name := range []string{"ellipsoids", "smooth", "mixed", "adversarial"} {
		for what, o := range map[string]batch.Options{
			"single": {Method: batch.RTR}, "double": {Method: batch.RTR, Precision: batch.Double},
			"penetration": {Method: batch.RTR, Query: batch.Penetration},
			"cut-off":     {Method: batch.RTR, HasCutOff: true, CutOff: -0.01},
			"loose":       {Method: batch.RTR, Tolerance: 1e-3}, "auto, double": {Precision: batch.Double},
		} {
			t.Run(name+"/"+what, func(t *testing.T) {
				lib, pairs := set(t, name, 0, rows)
				job := &batch.Job{Library: lib, Input: pairs, Options: o}
				rep := run(t, job, dispatch.Options{}, b, c)
				rowcheck.Audit(t, job)
				o.Method = batch.GJK
				want := &batch.Job{Library: lib, Input: pairs, Options: o}
				run(t, want, dispatch.Options{}, c)
				compare(t, job, job.Results, want.Results)
				if name == "ellipsoids" && rep.Declined()*100 > rows {
					t.Errorf("%d rows of %d declined", rep.Declined(), rows)
				}
			})
		}
	}
}

// TestRTRConverges: the steps are those of a second-order method. GJK takes 16 on ellipsoids at
// the tolerance of single precision, and twice as many for each further six digits.
func TestRTRConverges(t *testing.T) {
	b := open(t, Options{})
	lib, pairs := set(t, "ellipsoids", 0, 500)
	for precision, most := range map[batch.Precision]float64{batch.Single: 8, batch.Double: 10} {
		out := direct(t, b, lib, pairs, batch.Options{Method: batch.RTR, Precision: precision})
		sum, n := 0, 0
		for i, s := range out.Status() {
			if s < uint8(batch.Undecided) {
				sum, n = sum+int(out.Iterations()[i]), n+1
			}
		}
		if mean := float64(sum) / float64(max(n, 1)); !(mean <= most) || n < 450 {
			t.Errorf("%v: %g steps on average of %d rows, want at most %g", precision, mean, n, most)
		}
	}
}

// TestRTRCap: a cap on steps holds.
func TestRTRCap(t *testing.T) {
	b := open(t, Options{})
	lib, pairs := set(t, "ellipsoids", 0, 500)
	holdsCaps(t, b, lib, pairs, 1, 2, 5, 8)
}

// holdsCaps asks for the method rtr with caps on the steps: none takes more, and the last cap is enough for half
// of the rows.
func holdsCaps(t *testing.T, b *Backend, lib *batch.Library, pairs *batch.Pairs, caps ...int) {
	t.Helper()
	for k, most := range caps {
		out := direct(t, b, lib, pairs, batch.Options{Method: batch.RTR, MaxIterations: most})
		answered := 0
		for i, s := range out.Status() {
			if s >= uint8(batch.Undecided) {
				continue
			}
			answered++
			if n := int(out.Iterations()[i]); n > most+1 { // certify.comp looks along the direction that it is handed
				t.Fatalf("cap %d: row %d took %d steps", most, i, n)
			}
		}
		if k == len(caps)-1 && 2*answered < pairs.Len() {
			t.Errorf("cap %d: %d rows answered", most, answered)
		}
	}
}

// TestRTRNamed: the method column says which rows the trust region method ended: by auto those of
// ellipsoids, and by rtr those of other smooth kinds that are separated as well.
func TestRTRNamed(t *testing.T) {
	b := open(t, Options{})
	for name, want := range map[string]map[batch.Method][2]int{ // least and most of 500 rows
		"ellipsoids": {batch.Auto: {480, 500}, batch.RTR: {480, 500}, batch.GJK: {0, 0}},
		"boxes":      {batch.Auto: {0, 0}, batch.RTR: {0, 0}},
		"smooth":     {batch.Auto: {0, 50}, batch.RTR: {250, 500}},
	} {
		lib, pairs := set(t, name, 0, 500)
		for m, n := range want {
			out := direct(t, b, lib, pairs, batch.Options{Method: m, Columns: batch.FileColumns})
			rtr := 0
			for i, s := range out.Status() {
				if s >= uint8(batch.Undecided) {
					continue
				}
				switch batch.Solver(out.Method()[i]) {
				case batch.SolverRTR:
					rtr++
				case batch.SolverNone:
					t.Errorf("%s by %v: row %d is answered by nobody", name, m, i)
				}
			}
			if rtr < n[0] || rtr > n[1] {
				t.Errorf("%s by %v: RTR ended %d rows, want %d to %d", name, m, rtr, n[0], n[1])
			}
		}
	}
}

// TestWideGaps: in single precision a gap is at most half the tolerance, or what rounding
// leaves at the distance of the pair (96·2⁻⁵², as everywhere), and the rounding of the
// stored distance to float32. So a gap above 1e-6 of the size is that of a pair many
// times its size apart, as a small shape beside a half-space, or of two points.
func TestWideGaps(t *testing.T) {
	b, c := open(t, Options{}), processor(t)
	rows := size(5000, 5000, 20000)
	lib, pairs := set(t, "adversarial", 0, rows)
	job := &batch.Job{Library: lib, Input: pairs}
	run(t, job, dispatch.Options{}, b, c)
	var r batch.Row
	wide := 0
	for i := range rows {
		pairs.Row(i, &r)
		size := lib.PairSize(r.ShapeA, r.ShapeB)
		scale := size + r3.Norm(r3.Sub(r.PoseB.Position, r.PoseA.Position)) +
			r3.Norm(lib.Shape(r.ShapeA).Center()) + r3.Norm(lib.Shape(r.ShapeB).Center())
		gap, distance := float64(job.Results.Gap()[i]), math.Abs(job.Results.Distance().At(i))
		// The gap itself is rounded up to float32.
		if allowed := (max(0.5e-6*size, 96*0x1p-52*scale) + 0x1p-24*distance) * (1 + 0x1p-22); !(gap <= allowed) {
			t.Errorf("row %d: size %g, distance %g, gap %g, allowed %g", i, size, distance, gap, allowed)
		}
		if gap > 1e-6*size {
			wide++
			if !(distance > 8*size) && size > 0 {
				t.Errorf("row %d: size %g, distance %g, gap %g", i, size, distance, gap)
			}
		}
	}
	if wide == 0 || wide > rows/100 {
		t.Errorf("%d of %d gaps are above 1e-6 of the size", wide, rows)
	}
}

// TestPointsAlmostTogether: points so close to one another that squares underflow are left to the CPU, and the
// distances of all lie within their gaps.
func TestPointsAlmostTogether(t *testing.T) {
	b, c := open(t, Options{}), processor(t)
	lib, pairs, apart := rowcheck.TinyPairs(t)
	for _, query := range []batch.Query{batch.Distance, batch.Collide, batch.Penetration} {
		for _, method := range []batch.Method{batch.Auto, batch.GJK, batch.Nesterov, batch.Polyak, batch.RTR} {
			o := batch.Options{Query: query, Precision: batch.Double, Method: method,
				Columns: query.Available() &^ (batch.ColBits | batch.DerivedColumns)}
			where := fmt.Sprintf("%v, %v", query, method)
			for i, status := range direct(t, b, lib, pairs, o).Status() {
				if left := status == 0xff; left != (apart[i] < 1e-140) {
					t.Errorf("%s: %v apart: left to the CPU %v", where, apart[i], left)
				}
			}
			job := &batch.Job{Library: lib, Input: pairs, Options: o}
			run(t, job, dispatch.Options{}, b, c)
			rowcheck.Points(t, where, job.Results, apart)
		}
	}
}

// Statuses of pairs that touch up to 1e-13 m and more, of sizes from 1e-4 to 1e4 m, are none that is wrong. Directions
// of single precision, however short, prove nothing: certify.comp and prove.comp divide by their length in double
// precision, prove_two_floats.comp in two floats.
func TestStatusesOfTouchingPairs(t *testing.T) {
	lib, pairs := rowcheck.TouchingPairs(t, 4000, 4)
	eachPath(t, func(t *testing.T, o Options) {
		b, c := open(t, o), processor(t)
		for _, query := range []batch.Query{batch.Collide, batch.Growth} {
			for _, method := range []batch.Method{batch.Auto, batch.GJK, batch.Nesterov, batch.Polyak} {
				if query == batch.Growth && method != batch.Auto {
					continue
				}
				for _, columns := range []batch.Columns{batch.ColStatus, batch.ColStatus | batch.ColDistance} {
					job := &batch.Job{Library: lib, Input: pairs, Options: batch.Options{Query: query, Method: method,
						Columns: columns}}
					run(t, job, dispatch.Options{}, b, c)
					rowcheck.Touching(t, fmt.Sprintf("%v, %v, columns %v", query, method, columns), job.Results)
				}
			}
		}
	})
}

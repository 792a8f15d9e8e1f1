package engine

import (
	"testing"

	"clearance/batch"
	"clearance/dispatch"
	"clearance/internal/testkit/rowcheck"
)

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

package engine

import (
	"fmt"
	"math"
	"testing"

	"clearance/batch"
	"clearance/cpu"
	"clearance/dataset/generate"
	"clearance/dispatch"
	"clearance/internal/testkit/rowcheck"
)

// setNames are the sets that need no files.
var setNames = []string{"ellipsoids", "boxes", "capsule-cylinder-cone", "hull8", "hull32", "hull128", "hull512",
	"mixed", "adversarial"}

// set returns rows [first, first+n) of a generated set, or n rows of smooth shapes.
func set(t testing.TB, name string, first, n int) (*batch.Library, *batch.Pairs) {
	t.Helper()
	if name == "smooth" {
		return smoothSet(t, n)
	}
	gen, err := generate.New(name, 1, generate.Options{Shapes: 64})
	if err != nil {
		t.Fatal(err)
	}
	pairs := batch.NewPairs(n)
	gen.Fill(pairs, first)
	return gen.Library(), pairs
}

// processor returns the CPU back end.
func processor(t testing.TB) *cpu.Backend {
	t.Helper()
	c, err := cpu.New(cpu.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// run answers a job on the first back end; the others finish what it declines.
func run(t testing.TB, job *batch.Job, do dispatch.Options, backends ...dispatch.Backend) dispatch.Report {
	t.Helper()
	do.Backend = backends[0].Name()
	rep, err := dispatch.New(backends...).Run(t.Context(), job, do)
	if err != nil {
		t.Fatal(err)
	}
	return rep
}

// compare fails the test where two answers to one row exclude each other: intervals
// without a common point, or statuses that differ although one interval is clear of 0.
func compare(t *testing.T, job *batch.Job, got, want *batch.Results) {
	t.Helper()
	bad := 0
	for i := range got.N {
		gd, gg := got.Distance().At(i), float64(got.Gap()[i])
		wd, wg := want.Distance().At(i), float64(want.Gap()[i])
		beyond := false
		if cutOff, ok := job.Options.EffectiveCutOff(); ok {
			beyond = gd-gg > cutOff || wd-wg > cutOff
		}
		ok := got.Status()[i] == want.Status()[i] || math.Abs(gd) <= gg || math.Abs(wd) <= wg
		ok = ok && (beyond && gd+gg >= wd-wg && wd+wg >= gd-gg || math.Abs(gd-wd) <= gg+wg ||
			got.Status()[i] >= uint8(batch.Undecided) && got.Status()[i] == want.Status()[i])
		if bad++; ok {
			bad--
		} else if bad < 5 {
			t.Errorf("row %d: %v, %.17g ± %g; the CPU says %v, %.17g ± %g", i, batch.Status(got.Status()[i]), gd, gg,
				batch.Status(want.Status()[i]), wd, wg)
		}
	}
	if bad > 0 {
		t.Errorf("%d rows differ from the CPU", bad)
	}
}

// TestSets: on every generated set, in both precisions, the audit refutes nothing, the
// answers are those of the CPU, the gap is what was promised, and no row that has a
// shader is declined, or rarely.
func TestSets(t *testing.T) {
	b, c := open(t, Options{}), processor(t)
	rows := size(400, 1000, 3000)
	for _, name := range setNames {
		for _, precision := range []batch.Precision{batch.Single, batch.Double} {
			t.Run(fmt.Sprintf("%s/%v", name, precision), func(t *testing.T) {
				lib, pairs := set(t, name, 0, rows)
				options := batch.Options{Precision: precision}
				job := &batch.Job{Library: lib, Input: pairs, Options: options}
				before := b.Stats().Declined
				rep := run(t, job, dispatch.Options{}, b, c)
				after := b.Stats().Declined
				rowcheck.Audit(t, job)
				want := &batch.Job{Library: lib, Input: pairs, Options: options}
				wantRep := run(t, want, dispatch.Options{}, c)
				compare(t, job, job.Results, want.Results)

				if rep.Counts[batch.Undecided] > wantRep.Counts[batch.Undecided] || rep.Counts[batch.Invalid] != 0 {
					t.Errorf("statuses %v, on the CPU %v", rep.Counts, wantRep.Counts)
				}
				declined, most := after.Sum()-before.Sum(), int64(rows/500)
				if name == "adversarial" { // with round shapes on one axis, whose polytopes fill up
					most = int64(rows / 25)
				}
				if declined > most || after.Unknown != 0 || after.Budget != 0 || declined != int64(rep.Declined()) {
					t.Errorf("declined %+v, before %+v, report %d", after, before, rep.Declined())
				}
				if name == "adversarial" {
					return // far from the origin rounding allows more
				}
				if precision == batch.Single && !(rep.WorstGap <= 1e-6) || precision == batch.Double &&
					rep.WorstGap > max(wantRep.WorstGap, batch.DoubleCurvedDepthTolerance) {
					t.Errorf("worst gap %g, on the CPU %g", rep.WorstGap, wantRep.WorstGap)
				}
			})
		}
	}
}

// TestQueries: cut-offs, queries, methods, tolerances, warm starts and caps on all kinds
// of rows.
func TestQueries(t *testing.T) {
	b, c := open(t, Options{}), processor(t)
	rows := size(200, 500, 1500)
	warm := make([]float64, 3*rows)
	for i := range warm {
		warm[i] = math.Sin(float64(i)) * 1e-30
	}
	clear(warm[30:60])
	for what, o := range map[string]batch.Options{
		"penetration":         {Query: batch.Penetration},
		"penetration, double": {Query: batch.Penetration, Precision: batch.Double, Method: batch.Polyak},
		"cut-off":             {HasCutOff: true, CutOff: 0.05},
		"cut-off, nesterov":   {HasCutOff: true, CutOff: -0.01, Method: batch.Nesterov},
		"nesterov":            {Method: batch.Nesterov},
		"polyak":              {Method: batch.Polyak, Precision: batch.Double},
		"loose":               {Tolerance: 1e-2},
		"tight":               {Tolerance: 1e-9},
		"warm start":          {WarmStart: warm},
		"cap":                 {MaxIterations: 3},
	} {
		for _, name := range []string{"mixed", "adversarial"} {
			t.Run(what+"/"+name, func(t *testing.T) {
				lib, pairs := set(t, name, 0, rows)
				job := &batch.Job{Library: lib, Input: pairs, Options: o}
				run(t, job, dispatch.Options{}, b, c)
				rowcheck.Audit(t, job)
				want := &batch.Job{Library: lib, Input: pairs, Options: o}
				run(t, want, dispatch.Options{}, c)
				if o.MaxIterations == 0 {
					compare(t, job, job.Results, want.Results)
				} else {
					for i, n := range job.Results.Iterations() {
						if int(n) > o.MaxIterations && job.Results.Status()[i] < uint8(batch.Undecided) &&
							want.Results.Iterations()[i] <= uint16(o.MaxIterations) {
							t.Fatalf("row %d took %d iterations, the cap is %d", i, n, o.MaxIterations)
						}
					}
				}
			})
		}
	}
}

// TestCollide: bits and statuses are those of the CPU where the distance is clear of 0,
// and most penetrating rows are decided on the device.
func TestCollide(t *testing.T) {
	b, c := open(t, Options{}), processor(t)
	rows := size(300, 500, 2000)
	for _, name := range setNames {
		first := 0
		if name == "adversarial" {
			rows *= 4
			first = 27252 - rows/2 // a row that a tetrahedron taken at its word would call overlapping
		}
		lib, pairs := set(t, name, first, rows)
		job := &batch.Job{Library: lib, Input: pairs, Options: batch.Options{Query: batch.Collide}}
		rep := run(t, job, dispatch.Options{}, b, c)
		truth := &batch.Job{Library: lib, Input: pairs, Options: batch.Options{Precision: batch.Double}}
		run(t, truth, dispatch.Options{}, c)
		for i, s := range job.Results.Status() {
			d, gap := truth.Results.Distance().At(i), float64(truth.Results.Gap()[i])
			if want := truth.Results.Status()[i]; s != want && math.Abs(d) > 1e-6*lib.PairSize(pairs.ShapeA[i],
				pairs.ShapeB[i])+gap {
				t.Errorf("%s, row %d: %v, want %v at distance %g", name, i, batch.Status(s), batch.Status(want), d)
			}
			if job.Results.Bit(i) != (s != uint8(batch.Separated)) {
				t.Errorf("%s, row %d: wrong bit", name, i)
			}
		}
		rowcheck.Audit(t, job)
		if declined := rep.Declined(); name != "mixed" && name != "adversarial" && declined*20 > rows {
			t.Errorf("%s: %d rows of %d declined", name, declined, rows)
		}
	}
}

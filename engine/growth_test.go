package engine

import (
	"fmt"
	"math"
	"testing"

	"clearance/batch"
	"clearance/dispatch"
	"clearance/internal/testkit/rowcheck"
)

// growthSets are the sets of which growth distances are tested.
var growthSets = append([]string{"smooth"}, setNames...)

// growthColumns are all columns of growth distances.
var growthColumns = batch.Growth.FileColumns()

// compareGrowth fails the test where two answers to one row exclude each other: intervals without a common point, or
// statuses that differ although one interval is clear of 1. Rows that the device declined are left out.
func compareGrowth(t *testing.T, got, want *batch.Results) {
	t.Helper()
	bad := 0
	for i := range got.N {
		if got.Status()[i] == uint8(batch.Undecided) {
			continue
		}
		gd, gg := got.Distance().At(i), float64(got.Gap()[i])
		wd, wg := want.Distance().At(i), float64(want.Gap()[i])
		ok := got.Status()[i] == want.Status()[i] || math.Abs(gd-1) <= gg || math.Abs(wd-1) <= wg
		ok = ok && (math.Abs(gd-wd) <= gg+wg || got.Status()[i] == uint8(batch.Invalid))
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

// TestGrowth: on every set, in both precisions, the audit proves all answers of the device from the shapes alone, they
// are those of the CPU, and few rows are declined.
func TestGrowth(t *testing.T) {
	b, c := open(t, Options{}), processor(t)
	rows := size(150, 300, 3000)
	for _, name := range growthSets {
		lib, pairs := set(t, name, 0, rows)
		for _, precision := range []batch.Precision{batch.Single, batch.Double} {
			t.Run(fmt.Sprintf("%s/%v", name, precision), func(t *testing.T) {
				o := batch.Options{Query: batch.Growth, Precision: precision, Columns: growthColumns}
				job := &batch.Job{Library: lib, Input: pairs, Options: o}
				before := b.Stats()
				rep := run(t, job, dispatch.Options{}, b)
				after := b.Stats()
				rowcheck.Audit(t, job)
				want := &batch.Job{Library: lib, Input: pairs, Options: o}
				run(t, want, dispatch.Options{}, c)
				compareGrowth(t, job.Results, want.Results)
				evaluations := 0
				for _, n := range job.Results.Iterations() {
					evaluations += int(n)
				}
				declined := after.Declined.Sum() - before.Declined.Sum()
				t.Logf("of %d rows %d declined and %d continued in double precision, %.1f evaluations", rows, declined,
					after.Refined-before.Refined, float64(evaluations)/float64(rows))
				most := int64(rows / 50)
				if precision == batch.Double && name == "adversarial" {
					most *= 2 // needles and plates, for which the device has no bound of 1e-12
				}
				if n := rep.Counts; int64(n[batch.Undecided]) != declined || declined > most ||
					after.Declined.Gap-before.Declined.Gap != declined {
					t.Errorf("statuses %v, declined %+v, before %+v", n, after.Declined, before.Declined)
				}
			})
		}
	}
}

// TestGrowthOptions: status alone with and without other columns, cut-offs, warm starts, tolerances and limits.
func TestGrowthOptions(t *testing.T) {
	b, c := open(t, Options{}), processor(t)
	rows := size(200, 500, 2000)
	warm := make([]float64, 3*rows)
	for i := range warm {
		warm[i] = math.Sin(float64(i)) * 1e-30
	}
	clear(warm[30:60])
	for _, name := range []string{"mixed", "boxes", "adversarial"} {
		lib, pairs := set(t, name, 0, rows)
		truth := &batch.Job{Library: lib, Input: pairs, Options: batch.Options{Query: batch.Growth,
			Precision: batch.Double, Columns: growthColumns}}
		run(t, truth, dispatch.Options{}, c)
		for what, o := range map[string]batch.Options{
			"status":               {Columns: batch.ColStatus},
			"bits, double":         {Columns: batch.ColBits, Precision: batch.Double},
			"status and method":    {Columns: batch.ColStatus | batch.ColMethod | batch.ColIterations},
			"point":                {Columns: batch.ColStatus | batch.ColDistance | batch.ColWitnessA | batch.ColPoint},
			"cut-off":              {Columns: growthColumns, HasCutOff: true, CutOff: 1.25},
			"cut-off below 1":      {Columns: growthColumns, HasCutOff: true, CutOff: 0.5, Precision: batch.Double},
			"warm":                 {Columns: growthColumns, WarmStart: warm},
			"tolerance":            {Columns: growthColumns, Tolerance: 1e-3},
			"tolerance, double":    {Columns: growthColumns, Tolerance: 1e-9, Precision: batch.Double},
			"limit of evaluations": {Columns: growthColumns, MaxIterations: 7},
		} {
			t.Run(name+"/"+what, func(t *testing.T) {
				o.Query = batch.Growth
				job := &batch.Job{Library: lib, Input: pairs, Options: o}
				before := b.Stats()
				rep := run(t, job, dispatch.Options{}, b, c)
				rowcheck.Audit(t, job)
				checkGrowthStatus(t, job.Results, truth.Results, max(o.Tolerance, batch.SingleTolerance))
				declined := rep.Declined()
				if o.MaxIterations == 0 && (declined > rows/50 || rep.Counts[batch.Undecided] > 0) {
					t.Errorf("%d declined, statuses %v", declined, rep.Counts)
				}
				for i, n := range job.Results.Iterations() {
					if o.MaxIterations > 0 && int(n) > o.MaxIterations {
						t.Fatalf("row %d took %d evaluations, the limit is %d", i, n, o.MaxIterations)
					}
				}
				t.Logf("%d declined, %d continued", declined, b.Stats().Refined-before.Refined)
			})
		}
	}
}

// checkGrowthStatus compares statuses and bits with those of factors that are known, where these are clear of 1 by more
// than the tolerance.
func checkGrowthStatus(t *testing.T, got, truth *batch.Results, tolerance float64) {
	t.Helper()
	for i := range got.N {
		alpha, gap := truth.Distance().At(i), float64(truth.Gap()[i])
		status := batch.Status(truth.Status()[i])
		if got.Status() != nil {
			status = batch.Status(got.Status()[i])
		}
		clear := batch.Status(truth.Status()[i]) < batch.Undecided && math.Abs(alpha-1) > gap+tolerance
		if clear && status < batch.Undecided && status != batch.Status(truth.Status()[i]) {
			t.Errorf("row %d: %v at the factor %g ± %g", i, status, alpha, gap)
		}
		if got.Bits() != nil && clear && got.Bit(i) != (alpha < 1) {
			t.Errorf("row %d: bit %t at the factor %g", i, got.Bit(i), alpha)
		}
	}
}

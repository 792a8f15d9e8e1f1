package main

import (
	"math"
	"testing"

	"clearance/batch"
)

// TestDifferingRows changes one bit of each column in turn.
func TestDifferingRows(t *testing.T) {
	for _, precision := range []batch.Precision{batch.Single, batch.Double} {
		o := batch.Options{Precision: precision, Columns: batch.FileColumns}
		bump := func(f *batch.Values, i int) {
			if f.F64 != nil {
				f.F64[i] = math.Float64frombits(math.Float64bits(f.F64[i]) ^ 1)
			} else {
				f.F32[i] = math.Float32frombits(math.Float32bits(f.F32[i]) ^ 1)
			}
		}
		for name, change := range map[string]func(r *batch.Results){
			"distance":   func(r *batch.Results) { bump(r.Distance(), 2) },
			"normal":     func(r *batch.Results) { bump(r.Normal(), 8) },
			"witness_a":  func(r *batch.Results) { bump(r.WitnessA(), 6) },
			"witness_b":  func(r *batch.Results) { bump(r.WitnessB(), 7) },
			"gap":        func(r *batch.Results) { r.Gap()[2] = 0 },
			"status":     func(r *batch.Results) { r.Status()[2]++ },
			"iterations": func(r *batch.Results) { r.Iterations()[2]++ },
			"method":     func(r *batch.Results) { r.Method()[2]++ },
		} {
			a, b := batch.NewResults(4, &o), batch.NewResults(4, &o)
			if n := differingRows(a, b); n != 0 { // rows without an answer hold NaN
				t.Fatalf("%v: %d of the rows differ from themselves", precision, n)
			}
			change(b)
			if n := differingRows(a, b); n != 1 {
				t.Errorf("%v: a change of %s makes %d rows differ, want 1", precision, name, n)
			}
		}
	}
	o := batch.Options{Columns: batch.ColStatus}
	if n := differingRows(batch.NewResults(3, &o), batch.NewResults(3, &o)); n != 0 {
		t.Errorf("results of one column: %d rows differ", n)
	}
}

package rowcheck

import (
	"math"
	"testing"

	"clearance/batch"
)

// Every column is compared, by its bits, and the first that differs is named.
func TestDiffers(t *testing.T) {
	o := &batch.Options{Columns: batch.FileColumns | batch.ColBits, Precision: batch.Double}
	results := func() *batch.Results {
		r := batch.NewResults(2, o)
		for i := range 2 {
			r.Put(i, &batch.Answer{Status: batch.Separated, Distance: 1, Lower: 1, Upper: 1})
		}
		return r
	}
	for column, change := range map[string]func(r *batch.Results){
		"":           func(*batch.Results) {},
		"status":     func(r *batch.Results) { r.Status()[1]++ },
		"distance":   func(r *batch.Results) { r.Distance().Set(1, math.Nextafter(1, 2)) },
		"gap":        func(r *batch.Results) { r.Gap()[1] = math.Float32frombits(math.Float32bits(r.Gap()[1]) ^ 1) },
		"normal":     func(r *batch.Results) { r.Normal().Set(5, math.Copysign(0, -1)) },
		"witness_a":  func(r *batch.Results) { r.WitnessA().Set(3, 2) },
		"witness_b":  func(r *batch.Results) { r.WitnessB().Set(4, 2) },
		"iterations": func(r *batch.Results) { r.Iterations()[1]++ },
		"method":     func(r *batch.Results) { r.Method()[1]++ },
		"bits":       func(r *batch.Results) { r.Bits()[0] ^= 2 },
	} {
		r, s := results(), results()
		change(s)
		if got := Differs(r, 1, s, 1); got != column || Same(r, 1, s, 1) != (column == "") {
			t.Errorf("%q differs, got %q", column, got)
		}
		if got := Differs(r, 0, s, 0); got != "" {
			t.Errorf("row 0 differs in %q, where row 1 was changed", got)
		}
	}
	few := batch.NewResults(2, &batch.Options{Columns: batch.ColStatus})
	if got := Differs(results(), 1, few, 1); few.Status()[1] == results().Status()[1] && got != "" {
		t.Errorf("columns that one result lacks differ: %q", got)
	}
}

package papers

import "testing"

// TestWarmStart: a direction that was right 8 ms ago leaves plain GJK less to do than one
// from nowhere.
func TestWarmStart(t *testing.T) {
	got := quick(t, "warm-start").WarmStart
	for _, kind := range warmKinds {
		for _, q := range questions {
			row := got[kind.name+"/gjk/"+q]
			if !(row["previous"].Mean < row["none"].Mean) {
				t.Errorf("%s, %s: %v with the previous solution, %v without", kind.name, q, row["previous"],
					row["none"])
			}
		}
	}
	// Passes, not steps, are independent: counts of one pass go together, which makes the
	// scatter of a mean several times that of independent counts; so only the full
	// run is compared, by eye.
	if want := committed(t).WarmStart; len(want) != len(got) {
		t.Errorf("%d rows, %d are committed", len(got), len(want))
	}
}

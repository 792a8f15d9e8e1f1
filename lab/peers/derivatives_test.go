package peers

import (
	"context"
	"strings"
	"testing"

	"clearance/batch"
)

// TestDerivatives takes this module in double precision for the peer: its central differences agree with its
// derivatives, and pairs at the end of a smooth piece are few.
func TestDerivatives(t *testing.T) {
	needClock(t)
	peer, err := NewOurs("test", batch.Double, "")
	if err != nil {
		t.Fatal(err)
	}
	defer peer.Close()
	report, err := MeasureDerivatives(context.Background(), peer, "test", Options{
		Sets: []string{"ellipsoids", "boxes", "hull32"}, Rows: 90, Rounds: 1, Seed: 5,
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, table := range report.Tables {
		if table.Rows < 30 || table.Rows > table.Apart || table.Apart > 60 {
			t.Errorf("%s: %d pairs compared, %d apart, of 90", table.Set, table.Rows, table.Apart)
		}
		if len(table.Times) != 9 || len(table.Errors) != 3 {
			t.Fatalf("%s: %d times and %d errors, want 9 and 3", table.Set, len(table.Times), len(table.Errors))
		}
		single, forward, central := table.Errors[0], table.Errors[1], table.Errors[2]
		for _, e := range []DerivativeError{single, forward, central} {
			if e.Failed > 0 {
				t.Errorf("%s: %s has no derivatives of %d pairs", table.Set, e.Name, e.Failed)
			}
		}
		for _, s := range []Spread{central.Distance, central.Normal, central.Witnesses} {
			if !(s.Median < 1e-5) {
				t.Errorf("%s: central differences are off by %v", table.Set, s)
			}
		}
		for _, s := range []Spread{single.Distance, single.Normal, single.Witnesses} {
			if !(s.Worst < 1e-3) {
				t.Errorf("%s: derivatives in single precision are off by %v", table.Set, s)
			}
		}
	}
	var page strings.Builder
	if err := report.WriteMarkdown(&page); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"12 calls over ours", "| hull32 | step |", ": central"} {
		if !strings.Contains(page.String(), want) {
			t.Errorf("the page lacks %q", want)
		}
	}
}

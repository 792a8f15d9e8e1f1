package cpu

import (
	"testing"

	"clearance/batch"
)

// The initial direction, which replaces both cores by ellipsoids of their extents, separates most rows with
// distances of up to 0.1 m in one step. The line of the centers separates 40 to 48 %.
func TestFirstDirections(t *testing.T) {
	for _, set := range []string{"ellipsoids", "hull8", "hull32", "hull128"} {
		lib, pairs := draw(t, set, size(3000))
		for _, variant := range variants(t) {
			r := solve(t, newVariant(t, variant, 1), lib, pairs, batch.Options{Query: batch.Collide,
				Columns: everything}, 0)
			near, first := 0, 0
			for i := 1; i < pairs.Len(); i += 3 { // the rows of a set that are near
				near++
				if batch.Status(r.Status()[i]) == batch.Separated && r.Iterations()[i] <= 2 { // the proof counts as one
					first++
				}
			}
			if share := float64(first) / float64(near); share < 0.65 {
				t.Errorf("%s, %s: %.0f %% of %d rows in one step, want 65 %%", set, variant, 100*share, near)
			} else {
				t.Logf("%s, %s: %.0f %%", set, variant, 100*share)
			}
		}
	}
}

package cpu

import (
	"testing"

	"clearance/internal/testkit"
)

// TestPiecesBesideABusyCore: two workers, of which one has half of a core, would end the rows of a call 1.3 times as
// early as one (1.5 is the most), and never later; where there are many rows, 1.4 times.
func TestPiecesBesideABusyCore(t *testing.T) {
	for _, c := range []struct {
		rows  int
		least float64
	}{{1000, 1}, {4096, 1.3}, {1 << 14, 1.4}, {minChunkRows, 1.4}, {1 << 18, 1.4}} {
		rows := blockRows(c.rows, 2)
		pieces := (c.rows + rows - 1) / rows
		if gain := testkit.Gain(pieces, 1, 0.5); gain < c.least {
			t.Errorf("%d rows in %d blocks of %d: a gain of %.2f, want %.1f", c.rows, pieces, rows, gain, c.least)
		}
	}
}

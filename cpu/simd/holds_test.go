//go:build cgo

package simd

import (
	"fmt"
	"testing"
)

// A tetrahedron said to hold a ball around the origin does, whose faces float64 measures; one that does with twice
// the rounding to spare is said to; and the test face by face tells more of them than that by
// the longest edge: see testdata/holds.c.
func TestHolds(t *testing.T) {
	for _, variant := range Supported() {
		t.Run(variant, func(t *testing.T) {
			out := runProgram(t, variant, "holds.c", nil)
			var drawn, held, wrong, missed, gained int
			if _, err := fmt.Sscanf(string(out), "%d drawn %d held %d wrong %d missed %d gained", &drawn, &held, &wrong, &missed, &gained); err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			if drawn < 39000 || held < drawn/10 || held > drawn/2 || wrong > 0 || missed > 0 || gained < held/10 {
				t.Errorf("%s", out)
			}
			t.Logf("%s", out)
		})
	}
}

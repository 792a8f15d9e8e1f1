//go:build cgo

package simd

import (
	"fmt"
	"testing"
)

// No height of two cores of revolution is lower in the cap around a local minimum than the cap
// promises, and nearly all pairs have a minimum with a cap: see testdata/caps.c. One pair in
// nine has parallel axes, where D is flat to all sides.
func TestCaps(t *testing.T) {
	for _, variant := range Supported() {
		t.Run(variant, func(t *testing.T) {
			out := runProgram(t, variant, "caps.c", nil)
			var drawn, minima, caps, wide, steps int
			if _, err := fmt.Sscanf(string(out), "%d drawn %d minima %d caps %d wide %d steps", &drawn, &minima, &caps, &wide, &steps); err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			if drawn < 10000 || minima < drawn*97/100 || caps < drawn*9/10 || wide < caps/4 || steps > 4*drawn {
				t.Errorf("%s", out)
			}
			t.Logf("%s", out)
		})
	}
}

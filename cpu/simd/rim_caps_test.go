//go:build cgo

package simd_test

import "testing"

// No support value of two cores of revolution is smaller in the cap around a local minimum than the
// bound of the cap certificate, and nearly all pairs have a minimum with a cap: see
// testdata/rim_caps.c. One pair in nine has parallel axes, where D is flat in all directions.
func TestRimCaps(t *testing.T) {
	eachVariant(t, func(t *testing.T, variant string) {
		var drawn, minima, caps, wide, steps int
		out := scanProgram(t, variant, "rim_caps.c", "%d drawn %d minima %d caps %d wide %d steps", &drawn, &minima,
			&caps, &wide, &steps)
		if drawn < 10000 || minima < drawn*97/100 || caps < drawn*9/10 || wide < caps/4 || steps > 4*drawn {
			t.Error(out)
		}
	})
}

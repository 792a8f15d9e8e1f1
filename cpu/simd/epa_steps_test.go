//go:build cgo

package simd_test

import "testing"

// The nearest face of a polytope is the one with the least key, a face that cannot be expanded has its distance as its
// key, and covers start from support points: see testdata/epa_steps.c.
func TestEPASteps(t *testing.T) {
	eachVariant(t, func(t *testing.T, variant string) {
		var orders, faces, covers int
		out := scanProgram(t, variant, "epa_steps.c", "%d orders %d faces %d covers", &orders, &faces, &covers)
		if orders < 4000 || faces < 3000 || covers < 300 {
			t.Error(out)
		}
	})
}

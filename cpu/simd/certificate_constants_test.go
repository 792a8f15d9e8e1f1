//go:build cgo

package simd_test

import "testing"

// The reach of a cap, the apex over it and the upper bound of Newton's method hold, and a tenth more would not: see
// testdata/certificate_constants.c.
func TestCertificateConstants(t *testing.T) {
	eachVariant(t, func(t *testing.T, variant string) {
		var caps, apices, bounds int
		out := scanProgram(t, variant, "certificate_constants.c", "%d caps %d apices %d bounds", &caps, &apices,
			&bounds)
		if caps < 1000 || apices < 19000 || bounds < 19000 {
			t.Error(out)
		}
	})
}

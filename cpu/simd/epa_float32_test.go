//go:build cgo

package simd_test

import "testing"

// Float32 polytopes, expanded within clouds of points that are random, coplanar or flat, stay closed
// and wind around the origin once, and their least keys bound the depth. Except with AVX-512, a
// polytope without one of its faces is declined. See testdata/epa_float32.c.
func TestPolytopes32(t *testing.T) {
	eachVariant(t, func(t *testing.T, variant string) {
		var kept, spoilt, steps int
		out := scanProgram(t, variant, "epa_float32.c", "%d kept %d spoilt %d steps", &kept, &spoilt, &steps)
		if kept < 3000 || steps < 3*kept || spoilt > steps/100 {
			t.Error(out)
		}
	})
}

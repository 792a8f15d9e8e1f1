//go:build cgo

package simd

import "testing"

// Polytopes of float32, expanded within clouds of points that are random, coplanar or flat,
// stay closed and wind around the origin once, the distances of their faces bound the depth, and (but for
// AVX-512) one with a face taken out is not handed on: see testdata/epa_float32.c.
func TestPolytopes32(t *testing.T) {
	eachVariant(t, func(t *testing.T, variant string) {
		var kept, spoilt, steps int
		out := scanProgram(t, variant, "epa_float32.c", "%d kept %d spoilt %d steps", &kept, &spoilt, &steps)
		if kept < 3000 || steps < 3*kept || spoilt > steps/100 {
			t.Error(out)
		}
	})
}

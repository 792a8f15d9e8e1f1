//go:build cgo

package simd_test

import "testing"

// A tetrahedron that is reported to contain a ball around the origin does, as its faces in float64 show; one
// that does with a margin of twice the rounding bound is reported; and the test with one bound per face
// accepts more of them than that with the longest edge: see testdata/contains.c.
func TestContains(t *testing.T) {
	eachVariant(t, func(t *testing.T, variant string) {
		var drawn, held, wrong, missed, gained int
		out := scanProgram(t, variant, "contains.c", "%d drawn %d held %d wrong %d missed %d gained", &drawn, &held,
			&wrong, &missed, &gained)
		if drawn < 39000 || held < drawn/10 || held > drawn/2 || wrong > 0 || missed > 0 || gained < held/10 {
			t.Error(out)
		}
	})
}

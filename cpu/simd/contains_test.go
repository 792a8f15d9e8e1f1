//go:build cgo

package simd

import "testing"

// A tetrahedron said to hold a ball around the origin does, whose faces float64 measures; one that does with twice
// the rounding to spare is said to; and the test face by face tells more of them than that by
// the longest edge: see testdata/contains.c.
func TestContains(t *testing.T) {
	eachVariant(t, func(t *testing.T, variant string) {
		var drawn, held, wrong, missed, gained int
		out := scanProgram(t, variant, "contains.c", "%d drawn %d held %d wrong %d missed %d gained", &drawn, &held, &wrong, &missed, &gained)
		if drawn < 39000 || held < drawn/10 || held > drawn/2 || wrong > 0 || missed > 0 || gained < held/10 {
			t.Error(out)
		}
	})
}

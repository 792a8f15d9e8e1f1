//go:build cgo

package simd_test

import "testing"

// The errors of relative poses in float32 are below the bounds of pose_float32.h, and those of the axes of boxes
// below the bounds of box_axes.h. Rows out of range are recognized. See testdata/frame.c.
func TestFrame(t *testing.T) {
	eachVariant(t, func(t *testing.T, variant string) {
		var rows, taken, refused int
		var rotation, translation, axes float64
		out := scanProgram(t, variant, "frame.c", "%d rows %d taken %d refused %g rotation %g translation %g axes",
			&rows, &taken, &refused, &rotation, &translation, &axes)
		if rows < 40000 || taken > 0 || refused > 0 {
			t.Error(out)
		}
		if !(rotation > 1 && rotation < 50 && translation > 1 && translation < 40 && axes > 1 && axes < 128) {
			t.Error(out)
		}
	})
}

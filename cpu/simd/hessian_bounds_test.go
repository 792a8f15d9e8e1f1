//go:build cgo

package simd_test

import "testing"

// Support functions satisfy the lower bounds of hessian_bounds.h over caps (testdata/hessian_bounds.c), and over tiny
// caps the bounds do not exceed the Hessian at the center. The bounds are tight enough to be useful: over caps
// of less than 0.05, most keep 0.3 of the trace of the Hessian. Around the minima of pairs no support value in
// the widest cap is lower than proved, and most pairs have such a cap.
func TestHessianBounds(t *testing.T) {
	eachVariant(t, func(t *testing.T, variant string) {
		var n [4][4]int // of each class: directions drawn; with small caps; of these, with 0.3 of the trace; tight
		var at []any
		for i := range n {
			for j := range n[i] {
				at = append(at, &n[i][j])
			}
		}
		var pairs, some, wide int
		at = append(at, &pairs, &some, &wide)
		out := scanProgram(t, variant, "hessian_bounds.c", "%d %d %d %d\n%d %d %d %d\n%d %d %d %d\n%d %d %d %d\n%d "+
			"pairs %d caps %d wide", at...)
		if pairs < 10000 || some*10 < pairs*5 || wide*10 < pairs*2 {
			t.Error(out)
		}
		for i, c := range n {
			if c[0] < 5000 || c[2]*10 < c[1]*8 || c[3]*10 < c[0]*8 {
				t.Errorf("class %d: %s", i, out)
			}
		}
	})
}

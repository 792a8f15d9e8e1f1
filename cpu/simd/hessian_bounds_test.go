//go:build cgo

package simd

import "testing"

// Support functions bend over caps of directions as much as is promised (testdata/hessian_bounds.c), in no direction
// more than they do at the middle of a small one; and the promise is worth something: over caps of less than
// 0.05, most cores keep 0.3 of the trace of their Hessian. Around the minima of pairs no height in the widest cap is
// lower, and most have one.
func TestHessianBounds(t *testing.T) {
	eachVariant(t, func(t *testing.T, variant string) {
		var n [4][4]int // of each class: directions drawn, of them with small caps, bent enough, and tight
		var at []any
		for i := range n {
			for j := range n[i] {
				at = append(at, &n[i][j])
			}
		}
		var pairs, some, wide int
		at = append(at, &pairs, &some, &wide)
		out := scanProgram(t, variant, "hessian_bounds.c", "%d %d %d %d\n%d %d %d %d\n%d %d %d %d\n%d %d %d %d\n%d pairs %d caps %d wide", at...)
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

//go:build cgo

package simd

import "testing"

// Tables are laid out for the width of the kernels, so each variant has to state it,
// those of other machines as well.
func TestEveryVariantHasAWidth(t *testing.T) {
	for _, name := range Names() {
		if widths[name] == 0 {
			t.Errorf("no width for %s", name)
		}
	}
}

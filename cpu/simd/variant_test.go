//go:build cgo

package simd

import "testing"

// The layout of tables depends on the vector width, so every variant has to have one,
// those of other machines as well.
func TestEveryVariantHasAWidth(t *testing.T) {
	for _, name := range Names() {
		if widths[name] == 0 {
			t.Errorf("no width for %s", name)
		}
	}
}

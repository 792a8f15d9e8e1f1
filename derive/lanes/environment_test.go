package lanes

import (
	"strings"
	"testing"

	"clearance/cpu/simd"
)

// TestChoice: the names are those of the CPU kernels.
func TestChoice(t *testing.T) {
	for _, name := range append(simd.Supported(), "", simd.Off) {
		if got, err := choice(name); got != name || err != nil {
			t.Errorf("%q: %q, %v", name, got, err)
		}
	}
	got, err := choice("avx22")
	if err == nil || got != simd.Off || !strings.Contains(err.Error(), `CLEARANCE_SIMD: unknown SIMD variant "avx22"`) {
		t.Errorf("a misspelled name: %q, %v", got, err)
	}
}

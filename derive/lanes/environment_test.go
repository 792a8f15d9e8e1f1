package lanes

import (
	"strings"
	"testing"

	"clearance/cpu/simd"
)

// TestChoice: the names are those of the CPU kernels.
func TestChoice(t *testing.T) {
	for _, name := range append(simd.Supported(), "", simd.Off) {
		t.Setenv(simd.EnvSIMD, name)
		if got, err := choice(); got != name || err != nil {
			t.Errorf("%q: %q, %v", name, got, err)
		}
	}
	t.Setenv(simd.EnvSIMD, "avx22")
	got, err := choice()
	if err == nil || got != simd.Off || !strings.Contains(err.Error(), `CLEARANCE_SIMD: unknown SIMD variant "avx22"`) {
		t.Errorf("a misspelled name: %q, %v", got, err)
	}
}

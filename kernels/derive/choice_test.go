package derive

import (
	"strings"
	"testing"

	"clearance/kernels"
)

// TestChoice: the names are those of the CPU kernels.
func TestChoice(t *testing.T) {
	for _, name := range append(kernels.Supported(), "", kernels.Off) {
		t.Setenv(kernels.EnvSIMD, name)
		if got, err := choice(); got != name || err != nil {
			t.Errorf("%q: %q, %v", name, got, err)
		}
	}
	t.Setenv(kernels.EnvSIMD, "avx22")
	got, err := choice()
	const says = `CLEARANCE_SIMD: unknown SIMD variant "avx22"`
	if err == nil || got != kernels.Off || !strings.Contains(err.Error(), says) {
		t.Errorf("a misspelled name: %q, %v", got, err)
	}
}

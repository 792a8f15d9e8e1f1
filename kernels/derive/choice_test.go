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
		want := kernels.Best(name, Variants())
		if got, err := Choose(""); got != want || err != nil {
			t.Errorf("environment %q: %q, %v", name, got, err)
		}
		t.Setenv(kernels.EnvSIMD, kernels.Off)
		if got, err := Choose(name); name != "" && got != want || err != nil {
			t.Errorf("option %q: %q, %v", name, got, err)
		}
	}
	t.Setenv(kernels.EnvSIMD, "avx22")
	got, err := Choose("")
	const says = `CLEARANCE_SIMD: unknown SIMD variant "avx22"`
	if err == nil || got != kernels.Off || !strings.Contains(err.Error(), says) {
		t.Errorf("a misspelled name: %q, %v", got, err)
	}
}

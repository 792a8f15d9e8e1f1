package kernels

import (
	"strings"
	"testing"
)

// TestNamed: the option counts before the environment, and a name that there is none of is an error that lists all.
func TestNamed(t *testing.T) {
	for _, c := range []struct{ option, environment, want, says string }{
		{"", "", "", ""},
		{"", Off, Off, ""},
		{Off, "bogus", Off, ""},
		{"", "bogus", "", `environment variable CLEARANCE_SIMD: unknown SIMD variant "bogus", want one of avx512, ` +
			"avx2, neon, portable, or off"},
		{"AVX2", Off, "", `--simd: unknown SIMD variant "AVX2", want one of avx512`},
	} {
		t.Setenv(EnvSIMD, c.environment)
		got, err := Named(c.option, "--simd")
		if got != c.want || (err == nil) != (c.says == "") || err != nil && !strings.Contains(err.Error(), c.says) {
			t.Errorf("%+v: %q, %v", c, got, err)
		}
	}
	for _, name := range Supported() {
		t.Setenv(EnvSIMD, name)
		if got, err := Named("", ""); got != name || err != nil {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
}

func TestBest(t *testing.T) {
	both := []string{"avx2", "portable"}
	for _, c := range []struct {
		name string
		have []string
		want string
	}{
		{"", both, "avx2"}, {"avx512", both, "avx2"}, {"avx2", both, "avx2"}, {"portable", both, "portable"},
		{"neon", both, "portable"}, {"avx2", both[1:], "portable"}, {"neon", both[1:], "portable"},
		{"", nil, Off}, {"avx2", nil, Off}, {Off, both, Off}, {"", both[1:], "portable"},
	} {
		if got := Best(c.name, c.have); got != c.want {
			t.Errorf("%q of %v: %s, want %s", c.name, c.have, got, c.want)
		}
	}
}

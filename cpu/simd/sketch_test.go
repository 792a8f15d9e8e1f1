//go:build cgo

package simd

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// Polytopes of float32, expanded within clouds of points that are random, coplanar or flat,
// stay closed and wind around the origin once, their heights bound the depth, and one with a
// face taken out is not handed on: see testdata/sketch.c.
func TestSketches(t *testing.T) {
	cc, err := exec.LookPath("gcc")
	if err != nil {
		t.Skip("no gcc to build the program with")
	}
	header := map[string][]string{
		"avx512":   {"isa_avx512.h", "-mavx512f", "-mavx512dq", "-mavx512vl", "-mavx512bw", "-mfma", "-mpopcnt", "-mbmi"},
		"avx2":     {"isa_avx2.h", "-mavx2", "-mfma", "-mpopcnt", "-mbmi"},
		"neon":     {"isa_neon.h"},
		"portable": {"isa_vec.h"},
	}
	here, err := filepath.Abs(".")
	if err != nil {
		t.Fatal(err)
	}
	for _, variant := range Supported() {
		t.Run(variant, func(t *testing.T) {
			program := filepath.Join(t.TempDir(), "sketch")
			h := header[variant]
			build := exec.Command(cc, append([]string{"-O1", "-std=gnu11", "-w", fmt.Sprintf("-DISA=%q", filepath.Join(here, h[0])),
				filepath.Join("testdata", "sketch.c"), "-lm", "-o", program}, h[1:]...)...)
			if out, err := build.CombinedOutput(); err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			out, err := exec.Command(program).CombinedOutput()
			var kept, spoilt, steps int
			if _, scanErr := fmt.Sscanf(string(out), "%d kept %d spoilt %d steps", &kept, &spoilt, &steps); err != nil || scanErr != nil {
				t.Fatalf("%v: %s", err, out)
			}
			if kept < 3000 || steps < 3*kept || spoilt > steps/100 {
				t.Errorf("%s", out)
			}
			t.Log(strings.TrimSpace(string(out)))
		})
	}
}

//go:build cgo

package simd

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// TestSanitizers compiles every kernel that this machine can run with AddressSanitizer
// and UndefinedBehaviorSanitizer into a small C program, and runs it on columns,
// vertices and shapes that end where their last value ends, for lengths around the
// widths of vectors. The copies of the code for single pairs of classes are left out.
func TestSanitizers(t *testing.T) {
	if testing.Short() {
		t.Skip("compiles C programs")
	}
	cc, err := exec.LookPath("gcc")
	if err != nil {
		t.Skip("no gcc to build the kernels with sanitizers")
	}
	dir := t.TempDir()
	probe := exec.Command(cc, "-fsanitize=address,undefined", "-x", "c", "-", "-o", filepath.Join(dir, "probe"))
	probe.Stdin = strings.NewReader("int main(void) { return 0; }")
	if out, err := probe.CombinedOutput(); err != nil {
		t.Skipf("this gcc links no sanitizer: %v: %s", err, out)
	}
	files := map[string]string{
		"avx512": "kernel_avx512_amd64.c", "avx2": "kernel_avx2_amd64.c", "portable": "kernel_portable.c",
	}
	for _, variant := range Supported() {
		t.Run(variant, func(t *testing.T) {
			t.Parallel()
			here, err := filepath.Abs(".")
			if err != nil {
				t.Fatal(err)
			}
			program := filepath.Join(dir, variant)
			build := exec.Command(cc, "-O0", "-g1", "-std=c11", "-w", "-fsanitize=address,undefined", "-fno-sanitize-recover=all",
				"-DCLR_GENERIC", "-DKERNEL_NAME=clr_run_"+variant, fmt.Sprintf("-DKERNEL_FILE=%q", filepath.Join(here, files[variant])),
				filepath.Join("testdata", "sanitize.c"), "-lm", "-o", program)
			if out, err := build.CombinedOutput(); err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			out, err := exec.Command(program).CombinedOutput()
			var answered int
			if _, scanErr := fmt.Sscanf(string(out), "%d rows answered", &answered); err != nil || scanErr != nil || answered < 1000 {
				t.Fatalf("%v: %s", err, out)
			}
			t.Logf("%s on %s: %s", variant, runtime.GOARCH, strings.TrimSpace(string(out)))
		})
	}
}

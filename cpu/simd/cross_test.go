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

// TestCrossCompiled compiles kernels with another compiler, for this processor or for
// another that qemu plays, into the program that TestSanitizers runs, without the
// sanitizers and as one copy of the code: no row is lost, and none is answered twice. What is not installed is skipped;
// scripts/simd-cross.sh installs it and runs the Go tests in the same places.
func TestCrossCompiled(t *testing.T) {
	if testing.Short() {
		t.Skip("compiles C programs")
	}
	const sysroot = "/usr/aarch64-linux-gnu"
	qemuArm := []string{"qemu-aarch64", "-L", sysroot}
	for _, c := range []struct {
		variant, file string
		on            string // GOARCH that the compiler makes programs for
		cc            string
		run           []string
	}{
		{"neon", "kernel_neon_arm64.c", "arm64", "aarch64-linux-gnu-gcc", qemuArm},
		{"portable", "kernel_portable.c", "arm64", "aarch64-linux-gnu-gcc", qemuArm},
		{"avx2", "kernel_avx2_amd64.c", "amd64", "gcc", []string{"qemu-x86_64", "-cpu", "max"}},
		{"portable", "kernel_portable.c", runtime.GOARCH, "clang", nil},
	} {
		t.Run(c.variant+" for "+c.on+" by "+c.cc, func(t *testing.T) {
			if c.on == "amd64" && runtime.GOARCH != "amd64" {
				t.Skip("no amd64 compiler on this machine")
			}
			for _, tool := range append([]string{c.cc}, c.run...)[:min(2, 1+len(c.run))] {
				if _, err := exec.LookPath(tool); err != nil {
					t.Skipf("SKIPPED: no %s; scripts/simd-cross.sh installs it on Debian and Ubuntu", tool)
				}
			}
			here, err := filepath.Abs(".")
			if err != nil {
				t.Fatal(err)
			}
			program := filepath.Join(t.TempDir(), c.variant)
			build := exec.Command(c.cc, "-O1", "-std=c11", "-w", "-DCLR_GENERIC", "-DKERNEL_NAME=clr_run_"+c.variant,
				fmt.Sprintf("-DKERNEL_FILE=%q", filepath.Join(here, c.file)), filepath.Join("testdata", "sanitize.c"), "-lm", "-o", program)
			if out, err := build.CombinedOutput(); err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			command := append(c.run, program)
			out, err := exec.Command(command[0], command[1:]...).CombinedOutput()
			var answered int
			if _, scanErr := fmt.Sscanf(string(out), "%d rows answered", &answered); err != nil || scanErr != nil || answered < 1000 {
				t.Fatalf("%s: %v: %s", strings.Join(command, " "), err, out)
			}
			t.Logf("%s", strings.TrimSpace(string(out)))
		})
	}
}

//go:build cgo

package simd_test

import (
	"os/exec"
	"runtime"
	"testing"
)

// TestCrossCompiled compiles kernels with another compiler, for this processor or for
// another that qemu emulates, into the program that TestSanitizers runs, without the
// sanitizers and with CLR_GENERIC: each row is answered or declined, exactly once. Compilers that are
// not installed are skipped; scripts/simd-cross.sh installs them and runs the Go tests with
// them.
func TestCrossCompiled(t *testing.T) {
	if testing.Short() {
		t.Skip("compiles C programs")
	}
	const sysroot = "/usr/aarch64-linux-gnu"
	qemuArm := []string{"qemu-aarch64", "-L", sysroot}
	for _, c := range []struct {
		variant string
		on      string // GOARCH that the compiler makes programs for
		cc      string
		run     []string
	}{
		{"neon", "arm64", "aarch64-linux-gnu-gcc", qemuArm},
		{"portable", "arm64", "aarch64-linux-gnu-gcc", qemuArm},
		{"avx2", "amd64", "gcc", []string{"qemu-x86_64", "-cpu", "max"}},
		{"portable", runtime.GOARCH, "clang", nil},
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
			runKernels(t, c.variant, c.cc, c.run, "-O1")
		})
	}
}

//go:build cgo

package simd_test

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"clearance/cpu/simd"
	"clearance/tests/need"
)

// TestSanitizers compiles every kernel that this machine can run with AddressSanitizer and
// UndefinedBehaviorSanitizer into a small C program, and runs it on columns, vertices and shapes that
// end with their last value, for lengths around the widths of vectors. The kernels are compiled with
// CLR_GENERIC. gcc does not check loads and stores of intrinsics, so most is checked in the
// portable variant. Every check of UndefinedBehaviorSanitizer runs in make test-all: those of single
// pointers (null, alignment, object-size, pointer-overflow) take half of the time to compile, and
// most of what they find AddressSanitizer finds as well. In make test the checks are calls, and the code is
// optimised a little, so that loads whose values are not used are not checked: it compiles in two fifths
// of the time.
func TestSanitizers(t *testing.T) {
	if testing.Short() {
		t.Skip("compiles C programs")
	}
	cc, err := exec.LookPath("gcc")
	if err != nil {
		need.Compiler(t, "there is no gcc to build the kernels with sanitizers")
	}
	probe := exec.Command(cc, "-fsanitize=address,undefined", "-x", "c", "-", "-o", filepath.Join(t.TempDir(), "probe"))
	probe.Stdin = strings.NewReader("int main(void) { return 0; }")
	if out, err := probe.CombinedOutput(); err != nil {
		need.Compiler(t, fmt.Sprintf("this gcc links no sanitizer: %v: %s", err, out))
	}
	for _, variant := range simd.Supported() {
		t.Run(variant, func(t *testing.T) {
			if variant != "portable" {
				need.Full(t, "the same source is checked as the portable variant, and TestKernelsStayWithinColumns "+
					"runs this one")
			}
			t.Parallel()
			flags := []string{"-O0"}
			if !need.All() {
				flags = []string{"-O1", "-fno-sanitize=null,alignment,object-size,pointer-overflow", "--param",
					"asan-instrumentation-with-call-threshold=0"}
			}
			flags = append([]string{"-g1", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"}, flags...)
			runKernels(t, variant, cc, nil, flags...)
		})
	}
}

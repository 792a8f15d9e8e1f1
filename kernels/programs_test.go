//go:build cgo

package kernels_test

import (
	"bytes"
	"fmt"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"clearance/kernels"
	"clearance/tests/need"
)

// runProgram builds a program of testdata for one instruction set, feeds it the input, and returns
// what it prints.
func runProgram(t *testing.T, variant, file string, in []byte, flags ...string) []byte {
	t.Helper()
	cc, runner := toolchain(t)
	header := map[string][]string{
		"avx512": {"isa_avx512.h", "-mavx512f", "-mavx512dq", "-mavx512vl", "-mavx512bw", "-mfma", "-mpopcnt",
			"-mbmi"},
		"avx2":     {"isa_avx2.h", "-mavx2", "-mfma", "-mpopcnt", "-mbmi"},
		"neon":     {"isa_neon.h"},
		"portable": {"isa_vec.h"},
	}[variant]
	flags = append(append([]string{"-O2", define(t, "ISA", filepath.Join("isa", header[0]))}, header[1:]...), flags...)
	return execute(t, runner, build(t, cc, file, flags...), in)
}

// eachVariant runs a sub-test for every instruction set of this machine. In make test it leaves out those
// between the widest and the portable one, whose code for these programs differs by the width alone.
func eachVariant(t *testing.T, test func(t *testing.T, variant string)) {
	t.Helper()
	variants := kernels.Supported()
	for k, variant := range variants {
		t.Run(variant, func(t *testing.T) {
			if k > 0 && k < len(variants)-1 {
				need.Full(t, "the widest and the portable variant run, and kernels of all variants elsewhere")
			}
			test(t, variant)
		})
	}
}

// scanProgram runs a program without input, logs and returns what it prints, and reads the numbers in that.
func scanProgram(t *testing.T, variant, file, format string, numbers ...any) string {
	t.Helper()
	out := strings.TrimSpace(string(runProgram(t, variant, file, nil)))
	if _, err := fmt.Sscanf(out, format, numbers...); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	t.Log(out)
	return out
}

// runKernels builds sanitize.c with the kernels of one variant, compiled with CLR_GENERIC, and runs it for distances
// and for growth distances, and derive.c with the kernels of derivatives: each row is answered or declined, exactly
// once.
func runKernels(t *testing.T, variant, cc string, runner []string, flags ...string) {
	t.Helper()
	for _, kernel := range [][2]string{{"pairs", "clr_run_"}, {"growth", "clr_growth_"}} {
		files, err := filepath.Glob(filepath.Join(kernel[0], variant, "*.c"))
		if err != nil || len(files) != 1 {
			t.Fatalf("the kernel of %s of %s has the files %v, %v", kernel[0], variant, files, err)
		}
		query := kernel[0]
		program := build(t, cc, "sanitize.c", append([]string{"-DCLR_GENERIC", define(t, "KERNEL_FILE", files[0]),
			"-DRUN_KERNEL=" + kernel[1] + variant}, flags...)...)
		out := execute(t, runner, program, nil, query)
		var answered int
		if _, err := fmt.Sscanf(string(out), "%d rows answered", &answered); err != nil || answered < 1000 {
			t.Fatalf("%s: %v: %s", query, err, out)
		}
		t.Logf("%s: %s", query, bytes.TrimSpace(out))
	}
	files, err := filepath.Glob(filepath.Join("derive", variant, "*.c"))
	if err != nil || len(files) != 1 {
		t.Fatalf("the kernel of derivatives of %s has the files %v, %v", variant, files, err)
	}
	program := build(t, cc, "derive.c", append([]string{define(t, "KERNEL_FILE", files[0]),
		"-DRUN_KERNEL=clr_derive_" + variant}, flags...)...)
	out := execute(t, runner, program, nil)
	var answered int
	if _, err := fmt.Sscanf(string(out), "%d rows answered", &answered); err != nil || answered < 2000 {
		t.Fatalf("derivatives: %v: %s", err, out)
	}
	t.Logf("derivatives: %s", bytes.TrimSpace(out))
}

// runContacts builds sanitize_contacts.c with the kernels of contacts of one variant and runs it: most of the worlds
// are solved, and pairs have contact points.
func runContacts(t *testing.T, variant, cc string, runner []string, flags ...string) {
	t.Helper()
	units, err := filepath.Glob(filepath.Join("contact", variant, "*.c"))
	if err != nil || len(units) == 0 {
		t.Fatalf("the kernels of contacts of %s have the files %v, %v", variant, units, err)
	}
	flags = append(append(flags[:len(flags):len(flags)], units...), "-D_GNU_SOURCE", "-DUNIT=contact_kernels_"+variant,
		"-lm")
	out := execute(t, runner, build(t, cc, "sanitize_contacts.c", flags...), nil)
	var solved, of, points int
	if _, err := fmt.Sscanf(string(out), "%d of %d solved, %d points", &solved, &of, &points); err != nil ||
		solved < of*9/10 || points < 500 {
		t.Fatalf("contacts: %v: %s", err, out)
	}
	t.Logf("contacts: %s", bytes.TrimSpace(out))
}

// define is the flag that names a file of this folder, which programs of testdata include.
func define(t *testing.T, name, file string) string {
	t.Helper()
	path, err := filepath.Abs(file)
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("-D%s=%q", name, path)
}

// build compiles a program of testdata and returns its path.
func build(t *testing.T, cc, file string, flags ...string) string {
	t.Helper()
	program := filepath.Join(t.TempDir(), "program")
	args := append([]string{"-std=c11", "-w", filepath.Join("testdata", file), "-lm", "-o", program}, flags...)
	if out, err := exec.Command(cc, args...).CombinedOutput(); err != nil {
		t.Fatalf("%s %s: %v: %s", cc, strings.Join(args, " "), err, out)
	}
	return program
}

// execute runs a program with arguments and returns what it prints; one that fails fails the test with it.
func execute(t *testing.T, runner []string, program string, in []byte, args ...string) []byte {
	t.Helper()
	command := append(append(runner[:len(runner):len(runner)], program), args...)
	run := exec.Command(command[0], command[1:]...)
	var said bytes.Buffer
	run.Stdin, run.Stderr = bytes.NewReader(in), &said
	out, err := run.Output()
	if err != nil {
		t.Fatalf("%s: %v: %.2000s%.8000s", strings.Join(command, " "), err, out, said.String())
	}
	return out
}

// toolchain returns gcc for the processor of this test, and what runs its programs: nothing, or
// qemu where the test itself runs under it and gcc makes programs for the machine below.
func toolchain(t *testing.T) (cc string, runner []string) {
	cc, err := exec.LookPath("gcc")
	if err != nil {
		need.Compiler(t, "there is no gcc to build C programs with")
	}
	target, err := exec.Command(cc, "-dumpmachine").Output()
	if err != nil {
		t.Fatal(err)
	}
	if runtime.GOARCH != "arm64" || strings.HasPrefix(string(target), "aarch64") {
		return cc, nil
	}
	const cross = "aarch64-linux-gnu"
	return cross + "-gcc", []string{"qemu-aarch64", "-L", "/usr/" + cross}
}

// The reach of a cap, the apex over it and the upper bound of Newton's method hold, and a tenth more would not: see
// testdata/certificate_constants.c.
func TestCertificateConstants(t *testing.T) {
	eachVariant(t, func(t *testing.T, variant string) {
		var caps, apices, bounds int
		out := scanProgram(t, variant, "certificate_constants.c", "%d caps %d apices %d bounds", &caps, &apices,
			&bounds)
		if caps < 1000 || apices < 19000 || bounds < 19000 {
			t.Error(out)
		}
	})
}

// A tetrahedron that is reported to contain a ball around the origin does, as its faces in float64 show; one
// that does with a margin of twice the rounding bound is reported; and the test with one bound per face
// accepts more of them than that with the longest edge: see testdata/contains.c.
func TestContains(t *testing.T) {
	eachVariant(t, func(t *testing.T, variant string) {
		var drawn, held, wrong, missed, gained int
		out := scanProgram(t, variant, "contains.c", "%d drawn %d held %d wrong %d missed %d gained", &drawn, &held,
			&wrong, &missed, &gained)
		if drawn < 39000 || held < drawn/10 || held > drawn/2 || wrong > 0 || missed > 0 || gained < held/10 {
			t.Error(out)
		}
	})
}

// Float32 polytopes, expanded within clouds of points that are random, coplanar or flat, stay closed
// and wind around the origin once, and their least keys bound the depth. Except with AVX-512, a
// polytope without one of its faces is declined. See testdata/epa_float32.c.
func TestPolytopes32(t *testing.T) {
	eachVariant(t, func(t *testing.T, variant string) {
		var kept, spoilt, steps int
		out := scanProgram(t, variant, "epa_float32.c", "%d kept %d spoilt %d steps", &kept, &spoilt, &steps)
		if kept < 3000 || steps < 3*kept || spoilt > steps/100 {
			t.Error(out)
		}
	})
}

// The nearest face of a polytope is the one with the least key, a face that cannot be expanded has its distance as its
// key, and covers start from support points: see testdata/epa_steps.c.
func TestEPASteps(t *testing.T) {
	eachVariant(t, func(t *testing.T, variant string) {
		var orders, faces, covers int
		out := scanProgram(t, variant, "epa_steps.c", "%d orders %d faces %d covers", &orders, &faces, &covers)
		if orders < 4000 || faces < 3000 || covers < 300 {
			t.Error(out)
		}
	})
}

// The errors of relative poses in float32 are below the bounds of input.h, and those of the axes of boxes
// below the bounds of box_axes.h. Rows out of range are recognized. See testdata/frame.c.
func TestFrame(t *testing.T) {
	eachVariant(t, func(t *testing.T, variant string) {
		var rows, taken, refused int
		var rotation, translation, axes float64
		out := scanProgram(t, variant, "frame.c", "%d rows %d taken %d refused %g rotation %g translation %g axes",
			&rows, &taken, &refused, &rotation, &translation, &axes)
		if rows < 40000 || taken > 0 || refused > 0 {
			t.Error(out)
		}
		if !(rotation > 1 && rotation < 50 && translation > 1 && translation < 40 && axes > 1 && axes < 128) {
			t.Error(out)
		}
	})
}

// Support functions satisfy the lower bounds of hessian.h over caps (testdata/hessian_bounds.c), and over tiny
// caps the bounds do not exceed the Hessian at the center. The bounds are tight enough to be useful: over caps
// of less than 0.05, most keep 0.3 of the trace of the Hessian. Around the minima of pairs no support value in
// the widest cap is lower than proved, and most pairs have such a cap.
func TestHessianBounds(t *testing.T) {
	eachVariant(t, func(t *testing.T, variant string) {
		var n [4][4]int // of each class: directions drawn; with small caps; of these, with 0.3 of the trace; tight
		var at []any
		for i := range n {
			for j := range n[i] {
				at = append(at, &n[i][j])
			}
		}
		var pairs, some, wide int
		at = append(at, &pairs, &some, &wide)
		out := scanProgram(t, variant, "hessian_bounds.c", "%d %d %d %d\n%d %d %d %d\n%d %d %d %d\n%d %d %d %d\n%d "+
			"pairs %d caps %d wide", at...)
		if pairs < 10000 || some*10 < pairs*5 || wide*10 < pairs*2 {
			t.Error(out)
		}
		for i, c := range n {
			if c[0] < 5000 || c[2]*10 < c[1]*8 || c[3]*10 < c[0]*8 {
				t.Errorf("class %d: %s", i, out)
			}
		}
	})
}

// No support value of two cores of revolution is smaller in the cap around a local minimum than the
// bound of the cap certificate, and nearly all pairs have a minimum with a cap: see
// testdata/rim_caps.c. One pair in nine has parallel axes, where D is flat in all directions.
func TestRimCaps(t *testing.T) {
	eachVariant(t, func(t *testing.T, variant string) {
		var drawn, minima, caps, wide, steps int
		out := scanProgram(t, variant, "rim_caps.c", "%d drawn %d minima %d caps %d wide %d steps", &drawn, &minima,
			&caps, &wide, &steps)
		if drawn < 10000 || minima < drawn*97/100 || caps < drawn*9/10 || wide < caps/4 || steps > 4*drawn {
			t.Error(out)
		}
	})
}

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
	for _, variant := range kernels.Supported() {
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
			runContacts(t, variant, cc, nil, flags...)
		})
	}
}

// TestCrossCompiled compiles kernels with another compiler, for this processor or for
// another that qemu emulates, into the program that TestSanitizers runs, without the
// sanitizers and with CLR_GENERIC: each row is answered or declined, exactly once. Compilers that are
// not installed are skipped; scripts/simd-cross.sh installs them, runs this test and the Go tests with them.
func TestCrossCompiled(t *testing.T) {
	if testing.Short() {
		t.Skip("compiles C programs")
	}
	need.Full(t, "TestSanitizers runs these programs as this compiler makes them; make cross runs them by the others")
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
			runContacts(t, c.variant, c.cc, c.run, "-O1")
		})
	}
}

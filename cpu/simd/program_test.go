//go:build cgo

package simd_test

import (
	"bytes"
	"fmt"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"clearance/cpu/simd"
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
	flags = append(append([]string{"-O2", define(t, "ISA", header[0])}, header[1:]...), flags...)
	return execute(t, runner, build(t, cc, file, flags...), in)
}

// eachVariant runs a sub-test for every instruction set of this machine. In make test it leaves out those
// between the widest and the portable one, whose code for these programs differs by the width alone.
func eachVariant(t *testing.T, test func(t *testing.T, variant string)) {
	t.Helper()
	variants := simd.Supported()
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
// and for growth distances: each row is answered or declined, exactly once.
func runKernels(t *testing.T, variant, cc string, runner []string, flags ...string) {
	t.Helper()
	file, ok := map[string]string{
		"avx512": "kernels_avx512_amd64.c", "avx2": "kernels_avx2_amd64.c", "neon": "kernels_neon_arm64.c",
		"portable": "kernels_portable.c",
	}[variant]
	if !ok {
		t.Fatalf("no kernels are called %s", variant)
	}
	program := build(t, cc, "sanitize.c", append([]string{"-DCLR_GENERIC", define(t, "KERNELS_FILE", file),
		"-DPAIRS_KERNEL=clr_run_" + variant, "-DGROWTH_KERNEL=clr_growth_" + variant}, flags...)...)
	for _, query := range []string{"pairs", "growth"} {
		out := execute(t, runner, program, nil, query)
		var answered int
		if _, err := fmt.Sscanf(string(out), "%d rows answered", &answered); err != nil || answered < 1000 {
			t.Fatalf("%s: %v: %s", query, err, out)
		}
		t.Logf("%s: %s", query, bytes.TrimSpace(out))
	}
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

package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"clearance/internal/console"
	"clearance/internal/testkit"
	"clearance/kernels"
	"clearance/lab/gpucost"
)

func TestMain(m *testing.M) {
	if gpucost.InChild() {
		os.Exit(gpucost.Child(os.Stdout, os.Stderr))
	}
	if os.Getenv(actAsMain) != "" {
		main()
	}
	os.Exit(m.Run())
}

// actAsMain is the variable of the environment of a process that is the program.
const actAsMain = "LAB_TEST_MAIN"

// outcome is the result of a command line.
type outcome struct {
	code           int
	stdout, stderr string
}

// command runs a command line in this process.
func command(t *testing.T, args ...string) outcome {
	t.Helper()
	var stdout, stderr bytes.Buffer
	code := run(t.Context(), args, &stdout, &stderr)
	return outcome{code, stdout.String(), stderr.String()}
}

// want fails the test unless the command ended with the code, see [testkit.WantExit].
func (o outcome) want(t *testing.T, code int) outcome {
	t.Helper()
	testkit.WantExit(t, program, o.code, code, o.stdout, o.stderr)
	return o
}

// says fails the test unless standard error contains the text.
func (o outcome) says(t *testing.T, text string) outcome {
	t.Helper()
	if !strings.Contains(o.stderr, text) {
		t.Errorf("standard error = %q, want it to hold %q", o.stderr, text)
	}
	return o
}

// readReport reads a report of JSON.
func readReport[T any](t *testing.T, path string) *T {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	r := new(T)
	if err := json.Unmarshal(data, r); err != nil {
		t.Fatal(err)
	}
	return r
}

// TestFlagRange: values beyond any use are refused, not tried.
func TestFlagRange(t *testing.T) {
	const huge = "9223372036854775807"
	for _, args := range [][]string{
		{"peers", "--rounds", huge}, {"matrix", "--rounds", huge}, {"matrix", "--pairs", huge},
		{"matrix", "--threads", huge}, {"matrix", "--threads", "-1"}, {"matrix", "--pairs", "-1"},
		{"matrix", "--thread-pairs", "0"}, {"peers", "--rows", huge}, {"peers", "--rows", "4194305"},
		{"compare", "a.json", "b.json", "--alpha", "0"}, {"compare", "a.json", "b.json", "--alpha", "NaN"},
		{"scaling", "--rounds", huge}, {"matrix", "--sample", huge},
	} {
		flag, value := args[len(args)-2], args[len(args)-1]
		command(t, args...).want(t, console.ExitBadInput).says(t, "want ").says(t, flag).says(t, value)
	}
}

// TestUnknownKernels: commands that have kernels solve refuse a name that there are none of, of the environment as well
// as of the flag.
func TestUnknownKernels(t *testing.T) {
	const says = `unknown SIMD variant "bogus", want one of avx512, avx2, neon, portable, or off`
	for _, name := range []string{"matrix", "scaling"} {
		t.Setenv(kernels.EnvSIMD, "bogus")
		command(t, name).want(t, console.ExitBadInput).says(t, "environment variable CLEARANCE_SIMD: "+says)
		t.Setenv(kernels.EnvSIMD, "")
		command(t, name, "--simd", "bogus").want(t, console.ExitBadInput).says(t, says)
	}
}

// TestOutputIsNoInput: peers refuses to write over the report that it reads, and one file twice.
func TestOutputIsNoInput(t *testing.T) {
	file := filepath.Join(t.TempDir(), "report.json")
	if err := os.WriteFile(file, []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"--from", file, "--json", file}, {"--from", file, "--markdown", file},
		{"--json", file, "--markdown", file}} {
		command(t, append([]string{"peers"}, args...)...).want(t, console.ExitBadInput).says(t, "are one file")
	}
}

// Package need is for tests that cannot run without something that not every machine has.
// Where it is missing they are skipped and say why, or fail if the environment says that it
// has to be there, as .ci/run does. It also holds the level of testing: what only
// `make test-all` runs is skipped elsewhere, with a line that says so.
package need

import (
	"os"
	"os/exec"
	"testing"
)

// Variables of the environment that, set to 1, make a failure of what is missing.
const (
	RequireVulkan   = "REQUIRE_VULKAN"
	RequireCompiler = "REQUIRE_COMPILER"
	RequireDisplay  = "REQUIRE_DISPLAY"
)

// Tests is the variable of the environment that, set to "all" as by `make test-all`, has every
// test run in full.
const Tests = "CLEARANCE_TESTS"

// Deferred begins the reason of every test that is left to `make test-all`. scripts/unit.sh
// lists these tests apart from those that lack something.
const Deferred = "LEFT TO make test-all"

// All reports whether every test runs in full.
func All() bool { return os.Getenv(Tests) == "all" }

// Full ends a test that only `make test-all` runs. The reason says what covers the same code
// in `make test`.
func Full(t testing.TB, why string) {
	t.Helper()
	if !All() {
		t.Skipf("%s: %s", Deferred, why)
	}
}

// Vulkan ends a test that lacks a Vulkan device or what comes with it: the validation
// layer, the shader compiler, the official headers.
func Vulkan(t testing.TB, why string) {
	t.Helper()
	missing(t, RequireVulkan, why)
}

// Compiler ends a test that builds a C program and cannot: there is no compiler, or it
// lacks the sanitizers.
func Compiler(t testing.TB, why string) {
	t.Helper()
	missing(t, RequireCompiler, why)
}

// Display ends a test of the viewer that lacks a display in memory, or the headers to build the window.
func Display(t testing.TB, why string) {
	t.Helper()
	missing(t, RequireDisplay, why)
}

func missing(t testing.TB, variable, why string) {
	t.Helper()
	if os.Getenv(variable) == "1" {
		t.Fatalf("%s=1, but %s", variable, why)
		return
	}
	t.Skipf("SKIPPED: %s", why)
}

// CC returns the C compiler of this machine, the one that CC names or else the first of cc
// and gcc, or ends the test.
func CC(t testing.TB) string {
	t.Helper()
	for _, name := range []string{os.Getenv("CC"), "cc", "gcc"} {
		if name == "" {
			continue
		}
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	Compiler(t, "there is no C compiler; install gcc")
	return ""
}

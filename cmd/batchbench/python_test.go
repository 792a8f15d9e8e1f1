package main

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// interpreter makes a shell script the interpreter of the Python package. The first argument is -P; an import has two
// more, a command of the package -m, clearance, its name and its own arguments.
func interpreter(t *testing.T, script string) {
	t.Helper()
	if _, err := exec.LookPath("sh"); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "python")
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+script), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv(pythonVariable, path)
}

// TestPythonCommands gives all arguments to the Python package, and takes its output and its error.
func TestPythonCommands(t *testing.T) {
	interpreter(t, `[ "$2" = -c ] && exit 0
echo "$@"`)
	for _, name := range []string{"view", "decompose"} {
		got := command(name, "--pairs", "a b", "--help").want(t, exitGood).stdout
		if want := "-P -m clearance " + name + " --pairs a b --help\n"; got != want {
			t.Errorf("%s ran %q, want %q", name, got, want)
		}
	}
	interpreter(t, `[ "$2" = -c ] && exit 0
echo "usage: view" >&2
echo "clearance: pairs.npz has no column shape_a" >&2
exit 3`)
	command("view").want(t, exitBadInput).says(t, "view: pairs.npz has no column shape_a")
}

// TestPythonMissing says what to install where the package or the interpreter is missing.
func TestPythonMissing(t *testing.T) {
	interpreter(t, `echo "ModuleNotFoundError: No module named 'clearance'" >&2
exit 1`)
	for _, name := range []string{"view", "decompose"} {
		command(name).want(t, exitBadInput).says(t, "No module named 'clearance'").says(t, "make wheel").
			says(t, pythonVariable)
	}
	t.Setenv(pythonVariable, filepath.Join(t.TempDir(), "none"))
	command("view").want(t, exitBadInput).says(t, "no such file").says(t, "make wheel")
}

// TestPythonInterrupted ends the interpreter.
func TestPythonInterrupted(t *testing.T) {
	interpreter(t, `[ "$2" = -c ] && exit 0
exec sleep 36000`)
	ctx, cancel := context.WithCancel(context.Background())
	time.AfterFunc(100*time.Millisecond, cancel)
	got := commandContext(ctx, "decompose", "a.stl", "a.obj").want(t, exitInterrupted)
	if !strings.Contains(got.stderr, "interrupted") {
		t.Errorf("ended with %q", got.stderr)
	}
}

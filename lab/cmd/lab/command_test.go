package main

import (
	"bytes"
	"encoding/json"
	"os"
	"strings"
	"testing"

	"clearance/internal/console"
	"clearance/lab/gpucost"
)

func TestMain(m *testing.M) {
	if gpucost.InChild() {
		os.Exit(gpucost.Child(os.Stdout, os.Stderr))
	}
	os.Exit(m.Run())
}

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

// want fails the test unless the command ended with the code. Every command that fails gives
// the reason in lines that begin with the name of the program.
func (o outcome) want(t *testing.T, code int) outcome {
	t.Helper()
	if o.code != code {
		t.Fatalf("exit code %d, want %d\nstdout: %s\nstderr: %s", o.code, code, o.stdout, o.stderr)
	}
	if (code == console.ExitGood) != (o.stderr == "") {
		t.Errorf("exit code %d, and standard error %q", code, o.stderr)
	}
	for line := range strings.Lines(o.stderr) {
		if !strings.HasPrefix(line, program+": ") {
			t.Errorf("line on standard error without the name of the program: %q", line)
		}
	}
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

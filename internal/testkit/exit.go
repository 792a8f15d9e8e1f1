package testkit

import (
	"strings"
	"testing"
)

// WantExit fails the test unless a command line of the program, run in a pipe, ended with the wanted code, and said
// nothing on standard error if that is 0, else the reason in lines that begin with the name of the program.
func WantExit(t *testing.T, program string, code, want int, stdout, stderr string) {
	t.Helper()
	if code != want {
		t.Fatalf("exit code %d, want %d\nstdout: %s\nstderr: %s", code, want, stdout, stderr)
	}
	if (code == 0) != (stderr == "") {
		t.Errorf("exit code %d, and standard error %q", code, stderr)
	}
	for line := range strings.Lines(stderr) {
		if !strings.HasPrefix(line, program+": ") {
			t.Errorf("line on standard error without the name of the program: %q", line)
		}
	}
}

package main

import (
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestInterruptedAndNotSaved: an interrupted run that cannot be saved says so, and not that its steps are saved.
func TestInterruptedAndNotSaved(t *testing.T) {
	out := filepath.Join(t.TempDir(), "out.npz")
	ctx, cancel := context.WithCancel(t.Context())
	var stderr bytes.Buffer
	e := &env{stdout: io.Discard, stderr: &stderr, at: func(_ string, done int) {
		if done == 3 {
			if err := os.RemoveAll(out + ".parts"); err != nil {
				t.Error(err)
			}
			cancel()
		}
	}}
	code := e.run(ctx, []string{"step", "--scene", "ground", "--count", "3", "--steps", "40", "--out", out})
	said := stderr.String()
	if code != exitInterrupted || strings.Contains(said, "are saved in") || !strings.Contains(said, "are not saved") {
		t.Errorf("exit code %d: %s", code, said)
	}
}

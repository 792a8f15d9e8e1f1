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

// TestStillResumes: a run of worlds that do not advance ends at the same step with and without an interrupt.
func TestStillResumes(t *testing.T) {
	dir := t.TempDir()
	args := func(name string, more ...string) []string {
		return append([]string{"step", "--scene", "stack4", "--count", "1", "--steps", "40", "--max-contacts", "3",
			"--reference", "--out", filepath.Join(dir, name+".npz")}, more...)
	}
	command(args("whole")...).want(t, exitWrong).says(t, "the run ends after step 10 of 40")
	interruptedAt(t, "step", 5, args("parts")...).want(t, exitInterrupted)
	command(args("parts", "--resume")...).want(t, exitWrong).says(t, "the run ends after step 10 of 40")
	whole, err := os.ReadFile(filepath.Join(dir, "whole.npz"))
	if err != nil {
		t.Fatal(err)
	}
	parts, err := os.ReadFile(filepath.Join(dir, "parts.npz"))
	if err != nil || !bytes.Equal(whole, parts) {
		t.Errorf("other bytes after an interrupt (%v)", err)
	}
}

// TestSaveAgain: after a save that failed, with its first part or all of them on the disk, the next one saves the same
// rows and states, and the run that goes on has the results of one without a failure.
func TestSaveAgain(t *testing.T) {
	beginRun := groundRuns(t)
	results := map[string][3][]byte{}
	for _, blocked := range []string{"", "problems-000000.npz", "contacts-000000.npz", runFile} {
		dir := t.TempDir()
		in := func(name string) string { return filepath.Join(dir, name) }
		flags := &stepFlags{out: in("o.npz"), problems: in("p.npz"), contacts: in("c.npz"), every: 1, steps: 4,
			saveEvery: 9}
		begin := func() *stepRun {
			r, err := beginRun(flags)
			if err != nil {
				t.Fatalf("%s: %v", blocked, err)
			}
			return r
		}
		advance := func(r *stepRun) {
			for range 2 {
				if err := r.advance(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
		}
		r := begin()
		advance(r)
		if blocked != "" {
			path := filepath.Join(r.folder, blocked) // a folder, which no file replaces
			if err := os.MkdirAll(path, 0o777); err != nil {
				t.Fatal(err)
			}
			if err := r.save(); err == nil {
				t.Fatalf("%s: saved onto a folder", blocked)
			}
			if err := os.Remove(path); err != nil {
				t.Fatal(err)
			}
		}
		if err := r.save(); err != nil {
			t.Fatal(err)
		}
		r.locked.Close()
		flags.resume = true
		r = begin()
		advance(r)
		if err := r.finish(); err != nil {
			t.Fatal(err)
		}
		var files [3][]byte
		for i, name := range []string{"o.npz", "p.npz", "c.npz"} {
			file, err := os.ReadFile(in(name))
			if err != nil {
				t.Fatal(err)
			}
			files[i] = file
			if want := results[""][i]; blocked != "" && !bytes.Equal(files[i], want) {
				t.Errorf("%s: %s has other bytes after a save that failed", blocked, name)
			}
		}
		results[blocked] = files
	}
}

// TestInterruptedAndNotSaved: an interrupted run that cannot be saved says so, and not that its steps are saved.
func TestInterruptedAndNotSaved(t *testing.T) {
	out := filepath.Join(t.TempDir(), "out.npz")
	ctx, cancel := context.WithCancel(t.Context())
	var stderr bytes.Buffer
	e := &env{Program: program, Stdout: io.Discard, Stderr: &stderr, At: func(_ string, done int) {
		if done == 3 {
			if err := os.RemoveAll(out + ".parts"); err != nil {
				t.Error(err)
			}
			cancel()
		}
	}}
	code := e.Run(ctx, newRoot(e), []string{"step", "--scene", "ground", "--count", "3", "--steps", "40", "--out", out})
	said := stderr.String()
	if code != exitInterrupted || strings.Contains(said, "are saved in") || !strings.Contains(said, "are not saved") {
		t.Errorf("exit code %d: %s", code, said)
	}
}

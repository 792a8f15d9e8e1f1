package main

import (
	"path/filepath"
	"strings"
	"testing"
)

// derive runs the command on the files of a test.
func (f files) derive(args ...string) outcome {
	return command(append([]string{"derive", "--shapes", f.shapes, "--pairs", f.pairs, "--results", f.results},
		args...)...)
}

// TestDerive writes derivatives of scored pairs in both formats and every mode, of distances and of growth distances.
func TestDerive(t *testing.T) {
	for _, ext := range []string{".npz", ".parquet"} {
		f := newFiles(t, ext)
		command("generate", "--set", "mixed", "--pairs", "300", "--shapes", f.shapes,
			"--out", f.pairs).want(t, exitGood)
		for _, query := range []string{"distance", "growth"} {
			f.score("--query", query, "--backend", "ref").want(t, exitGood)
			for _, mode := range []string{"exact", "gumbel", "gaussian", "zeroth"} {
				out := filepath.Join(f.dir, mode+ext)
				text := f.derive("--out", out, "--derivative", mode, "--samples", "3").want(t, exitGood).stdout
				want := "smooth"
				if mode != "exact" {
					want = "smoothed"
				}
				if !strings.Contains(text, want) || !strings.Contains(text, query) {
					t.Errorf("%s, %s: %s", mode, query, text)
				}
			}
		}
		f.derive("--out", filepath.Join(f.dir, "some"+ext), "--columns", "d_distance,smoothness").want(t, exitGood)
	}
}

// TestDeriveRefuses names what is wrong.
func TestDeriveRefuses(t *testing.T) {
	f := newFiles(t, ".npz")
	out := filepath.Join(f.dir, "d.npz")
	command("generate", "--set", "boxes", "--pairs", "20", "--shapes", f.shapes, "--out", f.pairs).want(t, exitGood)
	f.score("--backend", "ref", "--columns", "distance,status").want(t, exitGood)
	f.derive("--out", out).want(t, exitBadInput).says(t, "lacks the columns normal")
	f.score("--backend", "ref").want(t, exitGood)
	f.derive("--out", out, "--columns", "d_gap").want(t, exitBadInput).says(t, "d_gap")
	f.derive("--out", out, "--derivative", "second").want(t, exitBadInput).says(t, "second")
	f.derive("--out", out, "--epsilon", "-1").want(t, exitBadInput).says(t, "epsilon")
	f.derive("--out", out, "--query", "growth").want(t, exitBadInput).says(t, "distance, not growth")
	f.derive("--out", f.results).want(t, exitBadInput).says(t, "one file")
	f.derive().want(t, exitBadInput).says(t, "out")
}

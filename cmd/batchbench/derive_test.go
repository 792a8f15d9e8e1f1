package main

import (
	"path/filepath"
	"strings"
	"testing"

	"clearance/batch"
	"clearance/dataset"
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

// TestScoreDerivatives: columns of derivatives of a scored file are those of the derivatives of its answers.
func TestScoreDerivatives(t *testing.T) {
	for _, ext := range []string{".npz", ".parquet"} {
		f := newFiles(t, ext)
		command("generate", "--set", "mixed", "--pairs", "300", "--shapes", f.shapes, "--out", f.pairs).
			want(t, exitGood)
		scored := filepath.Join(f.dir, "scored"+ext)
		columns := "distance,gap,normal,witness_a,witness_b,status,d_distance,d_normal,smoothness"
		command("score", "--shapes", f.shapes, "--pairs", f.pairs, "--out", scored, "--backend", "ref", "--precision",
			"double", "--columns", columns, "--derivative", "gaussian", "--seed", "4").want(t, exitGood)
		f.results = scored
		out := filepath.Join(f.dir, "derived"+ext)
		f.derive("--out", out, "--columns", "d_distance,d_normal,smoothness", "--derivative", "gaussian", "--seed",
			"4").want(t, exitGood)
		some := readDerivatives(t, scored)
		every := readDerivatives(t, out)
		for i := range some.N {
			if c := some.Differs(i, every, i); c != 0 {
				t.Fatalf("%s, row %d: column %v differs", ext, i, c)
			}
		}
		if text := f.score("--columns", "all").want(t, exitGood).stdout; strings.Contains(text, "d_normal") {
			t.Errorf("all columns have derivatives: %s", text)
		}
		f.score("--query", "collide", "--columns", "d_distance").want(t, exitBadInput).says(t, "no column d_distance")
		f.score("--columns", "d_distance", "--epsilon", "-1").want(t, exitBadInput).says(t, "epsilon")
	}
}

// TestVerifyDerivatives: derivatives of scored and of derived files pass; an altered file is refuted with the row and
// the column, and other questions are refused.
func TestVerifyDerivatives(t *testing.T) {
	f := newFiles(t, ".npz")
	command("generate", "--set", "mixed", "--pairs", "300", "--shapes", f.shapes, "--out", f.pairs).want(t, exitGood)
	f.score("--backend", "ref", "--precision", "double", "--columns",
		"distance,gap,normal,witness_a,witness_b,status,d_distance,d_normal,smoothness").want(t, exitGood)
	audit := func(path string, args ...string) outcome {
		return command(append([]string{"verify", "derivatives", "--shapes", f.shapes, "--pairs", f.pairs, "--results",
			path}, args...)...)
	}
	text := audit(f.results).want(t, exitGood).stdout
	if !strings.Contains(text, "judged by properties") || !strings.Contains(text, "certified in") {
		t.Error(text)
	}
	derived := filepath.Join(f.dir, "derived.parquet")
	f.derive("--out", derived).want(t, exitGood)
	audit(derived, "--all").want(t, exitGood)

	all := readResults(t, f.results)
	column := all.Column(batch.ColDDistance)
	for k := range 12 {
		column.F64[12*17+k] *= 1.01
	}
	altered := filepath.Join(f.dir, "altered.npz")
	w, err := dataset.CreateResults(altered, all.Columns, all.Precision, int64(all.N))
	if err != nil {
		t.Fatal(err)
	}
	defer w.Abort()
	if err := w.Write(all); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if text := audit(altered, "--all").want(t, exitWrong).stdout; !strings.Contains(text, "row 17, column d_distance") {
		t.Error(text)
	}
	audit(f.results, "--query", "growth").want(t, exitBadInput).says(t, "--query")
	audit(f.results, "--derivative", "gumbel").want(t, exitBadInput).says(t, "--derivative")
	f.score("--backend", "ref").want(t, exitGood)
	audit(f.results).want(t, exitBadInput).says(t, "no columns of derivatives")
}

// readDerivatives reads a file that has columns of derivatives.
func readDerivatives(t *testing.T, path string) *batch.Results {
	t.Helper()
	r, err := dataset.OpenResults(path)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if r.Columns()&batch.DerivedColumns == 0 || r.Metadata()["smoothness"] == "" ||
		r.Metadata()["derivative"] != "gaussian" {
		t.Fatalf("%s has the columns %v, metadata %v", path, r.Columns(), r.Metadata())
	}
	return readResults(t, path)
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

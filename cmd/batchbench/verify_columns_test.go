package main

import (
	"math"
	"path/filepath"
	"testing"

	"clearance/batch"
	"clearance/dataset"
)

// TestVerifyColumns: a file whose columns do not prove its distances passes only where the reference has solved every
// row, and a distance of its own passes nowhere.
func TestVerifyColumns(t *testing.T) {
	for _, columns := range []string{"distance", "distance,status", "distance,gap", "distance,gap,status,normal"} {
		for _, ext := range formats {
			f := newFiles(t, ext)
			f.ballAndBox(t, 50, nil)
			f.score("--columns", columns).want(t, exitGood)
			in := []string{"verify", "--shapes", f.shapes, "--pairs", f.pairs, "--results"}
			command(append(in, f.results, "--sample", "49")...).want(t, exitWrong).says(t, "1 distance not audited").
				says(t, "witness_a")
			command(append(in, f.results, "--all")...).want(t, exitGood)

			r, err := dataset.OpenResults(f.results)
			if err != nil {
				t.Fatal(err)
			}
			forged := batch.NewResults(50, &batch.Options{Columns: r.Columns()})
			if n, err := r.Next(forged); n != 50 || err != nil {
				t.Fatal(n, err)
			}
			_ = r.Close()
			for i := range forged.Distance().F32 {
				forged.Distance().F32[i] = 7.5
			}
			path := filepath.Join(f.dir, "forged"+ext)
			w, err := dataset.CreateResults(path, r.Columns(), batch.Single, 50)
			if err != nil {
				t.Fatal(err)
			}
			if err := w.Write(forged); err != nil {
				t.Fatal(err)
			}
			if err := w.Close(); err != nil {
				t.Fatal(err)
			}
			command(append(in, path, "--sample", "0")...).want(t, exitWrong)
			command(append(in, path, "--all")...).want(t, exitWrong).says(t, "50 wrong answers")
		}
	}
}

// TestVerifyUnprovedColumns: an infinite distance passes nowhere, and normals, witnesses and points that no column
// proves are said to be not audited, whatever the reference finds of the distance.
func TestVerifyUnprovedColumns(t *testing.T) {
	for _, c := range []struct{ query, columns, says string }{
		{"distance", "distance,normal,witness_a", "normal, witness_a not audited"},
		{"distance", "distance,gap,normal,witness_a", "witness_a not audited"},
		{"distance", "status,witness_a,witness_b", "witness_a, witness_b not audited"},
		{"growth", "status,normal,point", "normal, point not audited"},
	} {
		f := newFiles(t, ".npz")
		f.ballAndBox(t, 20, nil)
		f.score("--query", c.query, "--columns", c.columns).want(t, exitGood)
		in := []string{"verify", "--shapes", f.shapes, "--pairs", f.pairs, "--results", f.results, "--query", c.query}
		command(append(in, "--all")...).want(t, exitWrong).says(t, c.says)
	}
	f := newFiles(t, ".npz")
	f.ballAndBox(t, 20, nil)
	f.score("--columns", "distance").want(t, exitGood)
	all := readResults(t, f.results)
	for i := range all.N {
		all.Distance().Set(i, math.Inf(1))
	}
	path := filepath.Join(f.dir, "infinite.npz")
	w, err := dataset.CreateResults(path, all.Columns, all.Precision, int64(all.N))
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Write(all); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	command("verify", "--shapes", f.shapes, "--pairs", f.pairs, "--results", path, "--all").want(t, exitWrong).
		says(t, "20 wrong answers")
}

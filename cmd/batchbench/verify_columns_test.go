package main

import (
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

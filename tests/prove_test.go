package tests

import (
	"testing"

	"clearance/batch"
	"clearance/cpu"
	"clearance/dataset/generate"
	"clearance/tests/need"
	"clearance/verify"
)

// TestDepthsAreProved: the lower bounds of the depths of all sets are proved by branch and bound over
// directions, to the gap of each row, in both precisions.
func TestDepthsAreProved(t *testing.T) {
	rows, adversarial := 300, 300
	if need.All() {
		rows, adversarial = 30_000, 6000 // of which a third penetrate
	}
	b, err := cpu.New(cpu.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	for _, set := range generate.Names() {
		if set == "mesh" { // needs files
			continue
		}
		n := rows
		if set == "adversarial" {
			n = adversarial
		}
		gen, err := generate.New(set, 20, generate.Options{})
		if err != nil {
			t.Fatal(err)
		}
		pairs := batch.NewPairs(n)
		gen.Fill(pairs, 0)
		for _, precision := range []batch.Precision{batch.Single, batch.Double} {
			job := &batch.Job{Library: gen.Library(), Input: pairs, Options: batch.Options{Precision: precision}}
			job.Results = batch.NewResults(n, &job.Options)
			if err := b.Run(t.Context(), job, 0, n, job.Results); err != nil {
				t.Fatal(err)
			}
			p, err := verify.Prove(t.Context(), job, verify.ProveOptions{})
			if err != nil {
				t.Fatal(err)
			}
			if p.Proved != p.Depths || p.Depths < n/4 {
				t.Errorf("%s, %v: %+v", set, precision, p)
			}
			t.Logf("%s, %v: %d depths, %d directions", set, precision, p.Depths, p.Directions)
		}
	}
}

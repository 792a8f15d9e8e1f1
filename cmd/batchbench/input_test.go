package main

import (
	"math"
	"path/filepath"
	"testing"

	"clearance/batch"
	"clearance/dataset"
)

// TestWorlds scores and verifies a rollout: three worlds of three bodies on a line,
// two pairs of bodies each.
func TestWorlds(t *testing.T) {
	f := newFiles(t, ".npz")
	f.ballAndBox(t, 1, nil)
	w := &batch.Worlds{Shapes: []int32{0, 1, 1}, TemplateA: []int32{0, 1}, TemplateB: []int32{1, 2}}
	for world := range 3 {
		for body := range 3 {
			w.Poses = append(w.Poses, float64(body*(world+2)), 0, 0, 1, 0, 0, 0)
		}
	}
	worlds := filepath.Join(f.dir, "worlds.npz")
	if err := dataset.WriteWorlds(worlds, w); err != nil {
		t.Fatal(err)
	}
	for _, query := range []string{"distance", "growth"} {
		in := []string{"--shapes", f.shapes, "--worlds", worlds, "--query", query}
		command(append([]string{"score", "--out", f.results}, in...)...).want(t, exitGood)
		command(append([]string{"verify", "--results", f.results, "--all"}, in...)...).want(t, exitGood)
		res := readResults(t, f.results)
		if res.N != 6 {
			t.Fatalf("%d answers, want 6", res.N)
		}
		for i := range res.N {
			step := float64(i/2 + 2)
			want := []float64{step - 1.5, step - 1}[i%2] // box and ball, ball and ball
			if query == "growth" {
				want = []float64{step / 1.5, step}[i%2]
			}
			if d := res.Distance().At(i); math.Abs(d-want) > 1e-6 {
				t.Errorf("row %d: %s %g, want %g", i, query, d, want)
			}
		}
	}

	// The rows of an invalid body are invalid.
	w.Poses[7*4+3] = 0
	if err := dataset.WriteWorlds(worlds, w); err != nil {
		t.Fatal(err)
	}
	command("score", "--shapes", f.shapes, "--worlds", worlds, "--out", f.results).want(t, exitBadInput).
		says(t, worlds+": row 2, column rotation_b").says(t, "2 rows of 6")
	command("score", "--shapes", f.shapes, "--worlds", worlds, "--pairs", f.pairs, "--out", f.results).want(t,
		exitBadInput).
		says(t, "give one of them")
	command("score", "--shapes", f.shapes, "--worlds", f.pairs, "--out", f.results).want(t, exitBadInput).says(t,
		f.pairs)
	command("score", "--shapes", f.shapes, "--out", f.results).want(t, exitBadInput).says(t, "--pairs is missing")
}

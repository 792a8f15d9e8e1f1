package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"clearance/batch"
	"clearance/dataset"
)

// TestVerifyParts: results of rows of a file of worlds, or of motions, one range after the other in a folder, are
// audited as those of the whole; with a gap, or without the last, they are refused by name.
func TestVerifyParts(t *testing.T) {
	dir := t.TempDir()
	shapes, bodies := ballBodies(t, dir)
	w := &batch.Worlds{Bodies: []int32{0, 0, 0}, TemplateA: []int32{0, 1}, TemplateB: []int32{1, 2}}
	m := &batch.Motions{T: 2, Bodies: []int32{0, 0, 0}, TemplateA: []int32{0, 1}, TemplateB: []int32{1, 2}}
	for i := range 6 {
		for k := range 3 {
			w.Poses = append(w.Poses, float64(k)*(0.8+0.2*float64(i)), 0, 0, 1, 0, 0, 0)
		}
		for _, z := range []float64{4, 0.5} {
			for k := range 3 {
				m.Poses = append(m.Poses, float64(k), 0, z*float64(k*(i%2)), 1, 0, 0, 0)
			}
		}
	}
	worlds, motions := filepath.Join(dir, "worlds.parquet"), filepath.Join(dir, "motions.npz")
	for _, err := range []error{dataset.WriteRollout(worlds, w, bodies), dataset.WriteMotions(motions, m, bodies)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct{ command, flags string }{
		{"rollout", ""}, {"rollout", "--reduce world"}, {"sweep", ""},
	} {
		in := []string{"--shapes", shapes, "--worlds", worlds}
		if c.command == "sweep" {
			in[3] = motions
		}
		in = append(in, strings.Fields(c.flags)...)
		folder := filepath.Join(t.TempDir(), "parts")
		if err := os.Mkdir(folder, 0o700); err != nil {
			t.Fatal(err)
		}
		part := func(i int) string { return filepath.Join(folder, fmt.Sprintf("part-%d.parquet", i)) }
		for i, rows := range []string{"0:4", "4:6", "6:12"} {
			command(append([]string{c.command, "--rows", rows, "--out", part(i)}, in...)...).want(t, exitGood)
		}
		verify := append([]string{"verify", c.command, "--all", "--results", folder}, in...)
		command(verify...).want(t, exitGood)
		if err := os.Rename(part(1), filepath.Join(folder, "_kept")); err != nil {
			t.Fatal(err)
		}
		command(verify...).want(t, exitBadInput).says(t, "part-2.parquet").says(t, "follow one another")
		for _, err := range []error{os.Rename(filepath.Join(folder, "_kept"), part(1)), os.Remove(part(2))} {
			if err != nil {
				t.Fatal(err)
			}
		}
		command(verify...).want(t, exitBadInput).says(t, "do not belong together")
	}
}

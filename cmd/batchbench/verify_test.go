package main

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"clearance/batch"
	"clearance/dataset"
	"clearance/geom"
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

// TestVerifyOpenWorlds: what the sample leaves unproved is said, and is not exit code 0. Rows of bodies of one part
// prove themselves.
func TestVerifyOpenWorlds(t *testing.T) {
	dir := t.TempDir()
	shapes, worlds := filepath.Join(dir, "shapes.json"), filepath.Join(dir, "worlds.npz")
	lib, err := batch.NewLibrary([]geom.Shape{geom.Sphere{R: 0.5}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	part := batch.Part{Pose: geom.IdentityPose()}
	other := part
	other.Pose.Position.Y = 0.5
	bodies, err := batch.NewBodies(lib, []batch.Body{{Parts: []batch.Part{part}}, {Parts: []batch.Part{part, other}}})
	if err != nil {
		t.Fatal(err)
	}
	if err := dataset.WriteBodies(shapes, bodies); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		body           int32
		flags, columns string
		open, code     int
	}{
		{0, "", "default", 0, exitGood},
		{1, "", "default", 4, exitWrong},
		{0, "--reduce world", "default", 4, exitWrong},
		{0, "--max-distance 0.2", "default", 2, exitWrong},
		{0, "", "distance,status,gap", 4, exitWrong},
		{0, "--query collide", "status", 4, exitWrong},
	} {
		w := &batch.Worlds{Bodies: []int32{0, c.body}, TemplateA: []int32{0}, TemplateB: []int32{1}}
		for k := range 5 {
			w.Poses = append(w.Poses, 0, 0, 0, 1, 0, 0, 0, 0.6+0.3*float64(k), 0, 0, 1, 0, 0, 0)
		}
		if err := dataset.WriteRollout(worlds, w, bodies); err != nil {
			t.Fatal(err)
		}
		in := append([]string{"--shapes", shapes, "--worlds", worlds}, strings.Fields(c.flags)...)
		out := filepath.Join(dir, "results.npz")
		score := append([]string{"rollout", "--out", out}, in...)
		if c.columns != "default" {
			score = append(score, "--columns", c.columns)
		}
		command(score...).want(t, exitGood)
		verify := append([]string{"verify", "rollout", "--results", out}, in...)
		o := command(append(verify, "--sample", "1")...).want(t, c.code)
		if c.code != exitGood {
			o.says(t, plural(c.open, "world")+" not solved by the reference")
		}
		command(append(verify, "--all")...).want(t, exitGood)
	}
}

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

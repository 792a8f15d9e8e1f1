package main

import (
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"clearance/batch"
	"clearance/dataset"
	"clearance/rollout"
)

// TestRollout answers worlds of bodies: a dumb-bell of two balls 2 m apart, and a ball that passes it by, in three
// worlds; in the last the pose is bad.
func TestRollout(t *testing.T) {
	dir := t.TempDir()
	shapes, worlds := filepath.Join(dir, "shapes.json"), filepath.Join(dir, "worlds")
	document := `{"version": 1, "shapes": [{"kind": "sphere", "radius": 0.5, "name": "ball"}], "bodies": [
		{"name": "bell", "parts": [{"shape": "ball", "position": [-1, 0, 0]},
			{"shape": "ball", "position": [1, 0, 0]}]},
		{"name": "ball", "parts": [{"shape": 0}]}]}`
	if err := os.WriteFile(shapes, []byte(document), 0o600); err != nil {
		t.Fatal(err)
	}
	bodies, err := dataset.ReadBodies(shapes)
	if err != nil {
		t.Fatal(err)
	}
	w := &batch.Worlds{Bodies: []int32{0, 1, 1}, TemplateA: []int32{0, 0}, TemplateB: []int32{1, 2}}
	for _, x := range []float64{3, 1.5} {
		w.Poses = append(w.Poses, 0, 0, 0, 1, 0, 0, 0, x, 0, 0, 1, 0, 0, 0, -9, 0, 0, 1, 0, 0, 0)
	}
	write := func() {
		for _, ext := range formats {
			if err := dataset.WriteRollout(worlds+ext, w, bodies); err != nil {
				t.Fatal(err)
			}
		}
	}
	write()
	for _, ext := range formats {
		out := filepath.Join(dir, "results"+ext)
		in := []string{"rollout", "--shapes", shapes, "--worlds", worlds + ext, "--out", out, "--columns", "all"}
		command(in...).want(t, exitGood)
		r, meta, err := dataset.ReadRolloutResults(out)
		if err != nil || r.N != 4 || math.Abs(r.Distance().At(0)-1) > 1e-6 || math.Abs(r.Distance().At(2)+0.5) > 1e-6 ||
			r.PartA[0] != 1 || r.PartA[3] != 0 || meta["reduce"] != "none" || meta["method"] != "auto" {
			t.Fatalf("%+v, %v, %v", r, meta, err)
		}
		o := command(append(in, "--reduce", "world", "--max-distance", "2")...).want(t, exitGood)
		if !strings.Contains(o.stdout, "2 worlds, 4 pairs of bodies") ||
			!strings.Contains(o.stdout, "2 pairs of bodies culled") {
			t.Errorf("report %s", o.stdout)
		}
		if r, _, err = dataset.ReadRolloutResults(out); err != nil || r.N != 2 ||
			math.Abs(r.Distance().At(0)-1) > 1e-6 ||
			r.Pair[1] != 0 || r.Contacts[1] != 1 || r.Any[0] != rollout.AnyNone || r.PartA[1] != 1 {
			t.Fatalf("%+v, %v", r, err)
		}
		o = command(append(in, "--json", "-")...).want(t, exitGood)
		if !strings.Contains(o.stdout, `"solved_part_pairs"`) {
			t.Errorf("report %s", o.stdout)
		}
	}
	out := filepath.Join(dir, "results.npz")
	p := &batch.Worlds{Shapes: []int32{0, 0}, Poses: w.Poses[:14], TemplateA: []int32{0}, TemplateB: []int32{1}}
	for _, ext := range formats {
		plain := filepath.Join(dir, "plain"+ext)
		if err := dataset.WriteWorlds(plain, p); err != nil {
			t.Fatal(err)
		}
		command("rollout", "--shapes", shapes, "--worlds", plain, "--out", out, "--reduce", "world").want(t, exitGood)
		if r, _, err := dataset.ReadRolloutResults(out); err != nil || r.N != 1 ||
			math.Abs(r.Distance().At(0)-2) > 1e-6 {
			t.Errorf("shapes as bodies: %+v, %v", r, err)
		}
	}

	w.Poses[7*4] = math.NaN()
	write()
	in := []string{"rollout", "--shapes", shapes, "--worlds", worlds + ".parquet", "--out", out}
	command(append(in, "--reduce", "world")...).want(t, exitBadInput).says(t, "world 1, body 1, column poses").
		says(t, "1 row of 2")
	o := command(append(in, "--audit")...).want(t, exitBadInput)
	if !strings.Contains(o.stdout, "audit: 8 pairs of parts in 2 worlds solved by the reference, 0 rows refuted") {
		t.Errorf("report %s", o.stdout)
	}
	command(append(in, "--max-distance", "-1")...).want(t, exitBadInput).says(t, "max_distance -1")
	command(append(in, "--reduce", "planet")...).want(t, exitBadInput).says(t, "planet")
	command("rollout", "--shapes", shapes, "--out", out).want(t, exitBadInput).says(t, "--worlds is missing")
}

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
	"clearance/rollout/sweep"
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

// formats are the extensions of files.
var formats = []string{".npz", ".parquet"}

// ballsFile writes a file of shapes with a ball of radius 0.5.
func ballsFile(t *testing.T, dir string) string {
	t.Helper()
	path := filepath.Join(dir, "shapes.json")
	document := `{"version": 1, "shapes": [{"kind": "sphere", "radius": 0.5}]}`
	if err := os.WriteFile(path, []byte(document), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// ballBodies writes a file of shapes with a ball of radius 0.5, and returns the bodies of the file.
func ballBodies(t *testing.T, dir string) (shapes string, bodies *batch.Bodies) {
	t.Helper()
	shapes = ballsFile(t, dir)
	bodies, err := dataset.ReadBodies(shapes)
	if err != nil {
		t.Fatal(err)
	}
	return shapes, bodies
}

// TestSweep sweeps three worlds of a ball that moves past another: into it, beside it, and with a bad way point.
func TestSweep(t *testing.T) {
	dir := t.TempDir()
	shapes, bodies := ballBodies(t, dir)
	motions := filepath.Join(dir, "motions")
	m := &batch.Motions{T: 3, Bodies: []int32{0, 0}, TemplateA: []int32{0}, TemplateB: []int32{1}}
	for _, y := range []float64{0, 2} {
		for _, x := range []float64{-4, -2, 2} {
			m.Poses = append(m.Poses, 0, 0, 0, 1, 0, 0, 0, x, y, 0, 1, 0, 0, 0)
		}
	}
	write := func() {
		for _, ext := range formats {
			if err := dataset.WriteMotions(motions+ext, m, bodies); err != nil {
				t.Fatal(err)
			}
		}
	}
	write()
	for _, ext := range formats {
		out := filepath.Join(dir, "results"+ext)
		in := []string{"sweep", "--shapes", shapes, "--worlds", motions + ext, "--out", out, "--time-tolerance", "1e-4"}
		o := command(in...).want(t, exitGood)
		if !strings.Contains(o.stdout, "1 free, 1 in contact") {
			t.Errorf("report %s", o.stdout)
		}
		r, meta, err := dataset.ReadSweepResults(out)
		if err != nil || r.N != 2 || sweep.State(r.State[0]) != sweep.Contact || math.Abs(r.T1[0]-1.25) > 1e-4 ||
			!(r.T0[0] <= 1.25 && r.T1[0]-r.T0[0] <= 1e-4) || sweep.State(r.State[1]) != sweep.Free ||
			!(r.Lower[1] >= 0.5 && r.Lower[1] <= 1 && r.Upper[1] >= 1) || meta["way_points"] != "3" {
			t.Fatalf("%+v, %v, %v", r, meta, err)
		}
		o = command(append(in, "--json", "-")...).want(t, exitGood)
		if !strings.Contains(o.stdout, `"evaluations"`) {
			t.Errorf("report %s", o.stdout)
		}
		command(append(in, "--max-evaluations", "2")...).want(t, exitWrong).says(t, "2 rows of 2 undecided").
			says(t, "larger --max-evaluations")
	}
	out := filepath.Join(dir, "results.npz")
	in := []string{"sweep", "--shapes", shapes, "--worlds", motions + ".npz", "--out", out}
	for _, c := range []string{"--reduce", "--no-culling", "--columns", "--cutoff", "--method", "--precision",
		"--pairs"} {
		command(append(in, c)...).want(t, exitBadInput).says(t, c)
	}
	command(append(in, "--time-tolerance", "2")...).want(t, exitBadInput).says(t, "time tolerance 2")
	command("rollout", "--shapes", shapes, "--worlds", motions+".npz", "--out", out).want(t, exitBadInput).
		says(t, "poses")
	command("sweep", "--shapes", shapes, "--out", out).want(t, exitBadInput).says(t, "--worlds is missing")
	m.Poses[7*3] = math.NaN()
	write()
	command(in...).want(t, exitBadInput).says(t, "world 0, body 1, column poses").
		says(t, "1 row of 2")
}

// TestAllPairs answers all pairs of balls in a row, by a file without templates and by --all-pairs.
func TestAllPairs(t *testing.T) {
	dir := t.TempDir()
	shapes, bodies := ballBodies(t, dir)
	w := &batch.Worlds{Bodies: []int32{0, 0, 0, 0}}
	for _, step := range []float64{1.1, 3, 0.9} {
		for k := range 4 {
			w.Poses = append(w.Poses, step*float64(k), 0, 0, 1, 0, 0, 0)
		}
	}
	out, worlds := filepath.Join(dir, "results.parquet"), ""
	for i := range 4 {
		flag := i >= 2
		if w.AllPairs = !flag; flag {
			w.TemplateA, w.TemplateB = []int32{0}, []int32{3}
		}
		worlds = filepath.Join(dir, "worlds"+formats[i%2])
		if err := dataset.WriteRollout(worlds, w, bodies); err != nil {
			t.Fatal(err)
		}
		in := []string{"rollout", "--shapes", shapes, "--worlds", worlds, "--out", out, "--max-distance", "0.2"}
		if flag {
			in = append(in, "--all-pairs")
		}
		command(in...).want(t, exitGood)
		r, _, err := dataset.ReadRolloutResults(out)
		if err != nil || r.N != 6 || r.BodyA[1] != 1 || r.BodyB[1] != 2 || r.Offsets[1] != 3 || r.Offsets[2] != 3 ||
			math.Abs(r.Distance().At(4)+0.1) > 1e-6 {
			t.Fatalf("%+v, %v", r, err)
		}
		command(append(in, "--reduce", "world")...).want(t, exitGood)
		if r, _, err = dataset.ReadRolloutResults(out); err != nil || r.N != 3 || r.Contacts[2] != 3 ||
			r.Any[1] != rollout.AnyNone {
			t.Fatalf("%+v, %v", r, err)
		}
	}
	command("verify", "rollout", "--shapes", shapes, "--worlds", worlds, "--all-pairs", "--results", out,
		"--max-distance", "0.2", "--reduce", "world").want(t, exitGood)
}

package main

import (
	"math"
	"path/filepath"
	"strings"
	"testing"

	"clearance/batch"
	"clearance/dataset"
	"clearance/rollout"
)

// TestVerifyRollout verifies results files of worlds of bodies, as they were written and with changes.
func TestVerifyRollout(t *testing.T) {
	dir := t.TempDir()
	shapes, bodies := ballBodies(t, dir)
	w := &batch.Worlds{M: 4, Bodies: []int32{0, 0, 0, 0}}
	for _, step := range []float64{1.1, 3, 0.9} {
		for k := range 4 {
			w.Poses = append(w.Poses, step*float64(k), 0, 0, 1, 0, 0, 0)
		}
	}
	for _, c := range []struct {
		flags string
		all   bool
		says  string
		other string // flags of another question
	}{
		{"", false, "9 rows: 0 undecided, 0 invalid", "--reduce world"},
		{"--reduce world", false, "9 pairs of parts in 3 worlds solved by the reference", ""},
		{"--max-distance 0.2", false, "6 as answers of the pair of parts that they name", "--max-distance 0.3"},
		{"--max-distance 0.2", true, "18 pairs of parts in 3 worlds", ""},
		{"--reduce world", true, "3 rows", "--query growth"},
		{"--max-distance 0.2 --all-pairs", false, "18 pairs of parts in 3 worlds", "--max-distance 0.2"},
		{"--query collide", false, "0 rows refuted", "--query penetration"},
		{"--query growth", false, "0 rows refuted", ""},
	} {
		for _, ext := range formats {
			w.TemplateA, w.TemplateB = []int32{0, 1, 2}, []int32{1, 2, 3}
			if w.AllPairs = c.all; c.all {
				w.TemplateA, w.TemplateB = nil, nil
			}
			worlds, out := filepath.Join(dir, "worlds"+ext), filepath.Join(dir, "results"+ext)
			if err := dataset.WriteRollout(worlds, w, bodies); err != nil {
				t.Fatal(err)
			}
			in := []string{"--shapes", shapes, "--worlds", worlds}
			flags := strings.Fields(c.flags)
			command(append(append([]string{"rollout", "--out", out}, in...), flags...)...).want(t, exitGood)
			check := append([]string{"verify", "rollout", "--results", out}, in...)
			o := command(append(check, flags...)...).want(t, exitGood)
			if !strings.Contains(o.stdout, c.says) {
				t.Errorf("%q: report %s, want %q in it", c.flags, o.stdout, c.says)
			}
			o = command(append(append(check, flags...), "--all", "--json", "-")...).want(t, exitGood)
			report := decode[verifyRolloutReport](t, []byte(o.stdout))
			if !report.Good || report.Audit.Worlds != 3 || report.Audit.Wrong() != 0 || report.Audit.Named.Rows == 0 {
				t.Errorf("%q: %s", c.flags, o.stdout)
			}
			o = command(append(append(check, flags...), "--sample", "0")...).want(t, exitWrong).says(t,
				"not audited")
			if !strings.Contains(o.stdout, "0 pairs of parts in 0 worlds") {
				t.Errorf("%q: %s", c.flags, o.stdout)
			}
			if c.other != "" {
				command(append(check, strings.Fields(c.other)...)...).want(t, exitBadInput).says(t, out)
			}
		}
	}
}

// TestVerifyChangedRollout: a file with a changed row, or of other worlds, does not pass.
func TestVerifyChangedRollout(t *testing.T) {
	dir := t.TempDir()
	shapes, bodies := ballBodies(t, dir)
	w := &batch.Worlds{Bodies: []int32{0, 0}, TemplateA: []int32{0}, TemplateB: []int32{1},
		Poses: []float64{0, 0, 0, 1, 0, 0, 0, 3, 0, 0, 1, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0.5, 0, 0, 1, 0, 0, 0}}
	worlds, out, changed := filepath.Join(dir, "w.parquet"), filepath.Join(dir, "r.npz"), filepath.Join(dir, "c.npz")
	if err := dataset.WriteRollout(worlds, w, bodies); err != nil {
		t.Fatal(err)
	}
	in := []string{"--shapes", shapes, "--worlds", worlds}
	command(append([]string{"rollout", "--out", out}, in...)...).want(t, exitGood)
	verify := append([]string{"verify", "rollout", "--results", changed}, in...)
	for says, change := range map[string]func(r *rollout.Results){
		"1 wrong answer": func(r *rollout.Results) { r.Distance().F32[0] += 0.5 },
		"1 undecided":    func(r *rollout.Results) { r.Status()[1], r.Gap()[1] = uint8(batch.Undecided), 1 },
		"2 wrong answers": func(r *rollout.Results) {
			r.PartB[1], r.PartA[0] = 1, -2
		},
		"has 1 rows, want 2": func(r *rollout.Results) {
			r.N, r.PartA, r.PartB, r.Results = 1, r.PartA[:1], r.PartB[:1], r.Slice(0, 1)
		},
	} {
		r, _, err := dataset.ReadRolloutResults(out)
		if err != nil {
			t.Fatal(err)
		}
		change(r)
		if err := dataset.WriteRolloutResults(changed, r, &rollout.Options{}, 2, nil); err != nil {
			t.Fatal(err)
		}
		code := exitWrong
		if strings.HasPrefix(says, "has ") {
			code = exitBadInput
		}
		o := command(verify...).want(t, code)
		if !strings.Contains(o.stdout+o.stderr, strings.TrimPrefix(says, "1 u")) {
			t.Errorf("%s%s, want %q", o.stdout, o.stderr, says)
		}
	}
	command(append([]string{"verify", "sweep", "--results", out}, in...)...).want(t, exitBadInput).
		says(t, "way_point")
	in = append([]string{"verify", "rollout", "--results", out}, in...)
	command(append(in, "--prove", "3")...).want(t, exitBadInput).says(t, "--prove")
	command(append(in, "--precision", "double")...).want(t, exitBadInput).says(t, "precision single")
	command(append(in, "--all-pairs", "--max-distance", "1")...).want(t, exitBadInput).says(t, out)
	command(append(in, "--all-pairs")...).want(t, exitBadInput).says(t, out)
	command("verify", "rollout", "--shapes", shapes, "--results", out).want(t, exitBadInput).
		says(t, "--worlds is missing")
	command("verify", "rollout", "--shapes", shapes, "--worlds", worlds, "--results",
		filepath.Join(dir, "none.npz")).want(t, exitBadInput).says(t, "none.npz")
}

// TestVerifyRolloutVectors: normals, witnesses and points of a file without the columns that prove them, and of rows
// that name no parts, are not believed.
func TestVerifyRolloutVectors(t *testing.T) {
	dir := t.TempDir()
	shapes, bodies := ballBodies(t, dir)
	w := &batch.Worlds{M: 3, Bodies: []int32{0, 0, 0}, TemplateA: []int32{0, 1}, TemplateB: []int32{1, 2}}
	for _, x := range []float64{0, 1.1, 9} { // bodies 1 and 2 are beyond the largest distance
		w.Poses = append(w.Poses, x, 0, 0, 1, 0, 0, 0)
	}
	worlds, out, forged := filepath.Join(dir, "w.npz"), filepath.Join(dir, "r.npz"), filepath.Join(dir, "f.npz")
	if err := dataset.WriteRollout(worlds, w, bodies); err != nil {
		t.Fatal(err)
	}
	in := []string{"--shapes", shapes, "--worlds", worlds}
	for _, c := range []struct{ columns, lacks string }{
		{"status,distance,gap,normal,witness_a,witness_b", ""},
		{"status,distance,normal", "normal not audited: the file lacks gap, witness_a, witness_b"},
		{"status,distance,gap,normal", ""},
		{"status,distance,gap,witness_a", "witness_a not audited: the file lacks normal, witness_b"},
		{"status,witness_a,witness_b", "witness_a, witness_b not audited"},
	} {
		far := []string{"--max-distance", "2"}
		answer := append([]string{"rollout", "--out", out, "--columns", c.columns}, in...)
		command(append(answer, far...)...).want(t, exitGood)
		verify := append(append([]string{"verify", "rollout", "--all", "--results"}, out), append(in, far...)...)
		if c.lacks == "" {
			command(verify...).want(t, exitGood)
		} else {
			command(verify...).want(t, exitWrong).says(t, c.lacks)
		}
		verify[4] = forged
		for row := range 2 {
			for _, value := range []float32{0, 0.5, float32(math.Inf(1))} {
				r, _, err := dataset.ReadRolloutResults(out)
				if err != nil {
					t.Fatal(err)
				}
				for _, column := range []*batch.Values{r.Normal(), r.WitnessA(), r.WitnessB()} {
					if column.Len() > 0 {
						column.F32[3*row+1] = value
					}
				}
				if r.PartA[row] >= 0 && value == 0 {
					continue // as it was
				}
				o := &rollout.Options{MaxDistance: 2, HasMaxDistance: true}
				if err := dataset.WriteRolloutResults(forged, r, o, 1, nil); err != nil {
					t.Fatal(err)
				}
				if got := command(verify...); got.code != exitWrong {
					t.Errorf("%s, row %d, %g: exit code %d\n%s%s", c.columns, row, value, got.code, got.stdout,
						got.stderr)
				}
			}
		}
	}
}

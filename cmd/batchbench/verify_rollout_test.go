package main

import (
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"

	"clearance/batch"
	"clearance/dataset"
	"clearance/internal/testkit"
	"clearance/rollout"
	"clearance/rollout/sweep"
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

// TestVerifySweep: results of sweeps pass as they were written, and with any of these changes they do not.
func TestVerifySweep(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	writeText(t, at("shapes.json"), map[string]any{"version": 1,
		"shapes": []any{map[string]any{"kind": "sphere", "radius": 0.4},
			map[string]any{"kind": "box", "half_extents": []float64{0.2, 0.3, 0.4}}},
		"bodies": []any{map[string]any{"name": "ball", "parts": []any{map[string]any{"shape": 0}}},
			map[string]any{"name": "hammer", "parts": []any{map[string]any{"shape": 1},
				map[string]any{"shape": 0, "position": []float64{0.5, 0, 0}}}}}})
	bodies, err := dataset.ReadBodies(at("shapes.json"))
	if err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(31, 15))
	m := &batch.Motions{T: 3, M: 3, TemplateA: []int32{0, 1}, TemplateB: []int32{1, 2}}
	for world := range 40 {
		m.Bodies = append(m.Bodies, 0, 1, 1)
		if world == 7 {
			m.Bodies[3*world] = batch.Absent
		}
		for range m.T * m.M {
			p := testkit.Pose(rng, 1.6)
			m.Poses = append(m.Poses, p.Position.X, p.Position.Y, p.Position.Z, p.Rotation.Real, p.Rotation.Imag,
				p.Rotation.Jmag, p.Rotation.Kmag)
		}
	}
	if err := dataset.WriteMotions(at("motions.npz"), m, bodies); err != nil {
		t.Fatal(err)
	}
	in := []string{"--shapes", at("shapes.json"), "--worlds", at("motions.npz")}
	for _, flags := range []string{"", "--time-tolerance 1e-3", "--max-distance 0.2"} {
		more := strings.Fields(flags)
		command(append(append([]string{"sweep", "--out", at("out.npz")}, in...), more...)...).want(t, exitGood)
		verify := append(append([]string{"verify", "sweep", "--results", at("out.npz")}, in...), more...)
		command(append(verify, "--all")...).want(t, exitGood)
		o := command(append(verify, "--sample", "20")...).want(t, exitWrong).says(t, "60 rows")
		if !strings.Contains(o.stdout, "of 60 rows the form alone") {
			t.Errorf("report %s", o.stdout)
		}
		command(append(verify, "--sample", "0")...).want(t, exitWrong).says(t, "not audited")
	}
	command(append([]string{"sweep", "--out", at("out.npz")}, in...)...).want(t, exitGood)
	r, meta, err := dataset.ReadSweepResults(at("out.npz"))
	if err != nil {
		t.Fatal(err)
	}
	of := func(state sweep.State, good func(i int) bool) int {
		for i, s := range r.State {
			if sweep.State(s) == state && good(i) {
				return i
			}
		}
		panic(fmt.Sprintf("no row is %v", state))
	}
	free := of(sweep.Free, func(i int) bool { return r.Lower[i] < 1 })
	hit := of(sweep.Contact, func(i int) bool { return r.T0[i] > 0.1 && r.T0[i] < 1.5 })
	absent := of(sweep.Free, func(i int) bool { return math.IsInf(r.Lower[i], 1) })
	setFree := func(r *rollout.SweepResults, i int) {
		r.State[i], r.Lower[i], r.Upper[i], r.Closest[i], r.T0[i], r.T1[i] = 0, 0.1, 1, 0, 2, math.NaN()
	}
	for what, change := range map[string]func(r *rollout.SweepResults){
		"no state":           func(r *rollout.SweepResults) { r.State[free] = 9 },
		"undecided":          func(r *rollout.SweepResults) { r.State[hit] = uint8(sweep.Undecided) },
		"invalid":            func(r *rollout.SweepResults) { r.State[free] = uint8(sweep.Invalid) },
		"free, in contact":   func(r *rollout.SweepResults) { setFree(r, hit) },
		"free, half the way": func(r *rollout.SweepResults) { r.T0[free] = 1 },
		"larger lower bound": func(r *rollout.SweepResults) { r.Lower[free] = 1.5 * r.Upper[free] },
		"both larger":        func(r *rollout.SweepResults) { r.Lower[free] += 2; r.Upper[free] += 3 },
		"smaller upper":      func(r *rollout.SweepResults) { r.Upper[free] = r.Lower[free]; r.Lower[free] /= 2 },
		"no lower bound":     func(r *rollout.SweepResults) { r.Lower[free] = 0 },
		"a part":             func(r *rollout.SweepResults) { r.PartA[hit], r.PartB[hit] = 0, 7 },
		"contact, free": func(r *rollout.SweepResults) {
			r.State[free], r.Lower[free], r.T0[free], r.T1[free] = uint8(sweep.Contact), 0, 0.5, 0.5
		},
		"earlier contact":    func(r *rollout.SweepResults) { r.T0[hit], r.T1[hit] = r.T0[hit]-0.05, r.T1[hit]-0.05 },
		"later contact":      func(r *rollout.SweepResults) { r.T0[hit], r.T1[hit] = r.T0[hit]+0.05, r.T1[hit]+0.05 },
		"wide contact":       func(r *rollout.SweepResults) { r.T0[hit] -= 0.05 },
		"contact, no bodies": func(r *rollout.SweepResults) { r.State[absent] = uint8(sweep.Contact) },
		"near, no bodies":    func(r *rollout.SweepResults) { r.Lower[absent] = 2 },
	} {
		forged, _, err := dataset.ReadSweepResults(at("out.npz"))
		if err != nil {
			t.Fatal(err)
		}
		change(forged)
		if err := dataset.WriteSweepResults(at("forged.npz"), forged, 40, 3, meta); err != nil {
			t.Fatal(err)
		}
		got := command(append([]string{"verify", "sweep", "--all", "--results", at("forged.npz")}, in...)...)
		if got.code != exitWrong {
			t.Errorf("%s: exit code %d\n%s%s", what, got.code, got.stdout, got.stderr)
		}
	}
	verify := append([]string{"verify", "sweep", "--results", at("out.npz")}, in...)
	command(append(verify, "--prove", "3")...).want(t, exitBadInput).says(t, "--prove")
	command(append(verify, "--reduce", "world")...).want(t, exitBadInput).says(t, "--reduce")
	command("verify", "sweep", "--results", at("out.npz"), "--shapes", at("shapes.json")).want(t, exitBadInput).
		says(t, "--worlds")
}

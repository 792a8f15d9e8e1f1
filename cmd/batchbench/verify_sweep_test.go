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

package audit

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gonum.org/v1/gonum/spatial/r3"

	"clearance/batch"
	"clearance/cpu"
	"clearance/dataset"
	"clearance/dispatch"
	"clearance/geom"
	"clearance/internal/score"
	"clearance/internal/testkit"
	"clearance/rollout"
	"clearance/rollout/sweep"
	"clearance/verify"
)

// reportText is a report as JSON, without the count of a check that runs once per call.
func reportText(t *testing.T, report any) string {
	t.Helper()
	if r, ok := report.(*Rollout); ok {
		once := *r
		named := *r.Named
		named.Checks = append([]verify.Check(nil), named.Checks...)
		for i := range named.Checks {
			if named.Checks[i].Name == "columns" {
				named.Checks[i].Ran = 0
			}
		}
		once.Named, report = &named, &once
	}
	text, err := json.MarshalIndent(report, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestRolloutFiles: the report of files that are audited by ranges of worlds, however long, is that of the whole in
// memory, of right results and of altered ones, with the rows of the file, whatever the sample.
func TestRolloutFiles(t *testing.T) {
	near := rollout.Options{MaxDistance: 0.3, HasMaxDistance: true}
	for name, c := range map[string]struct {
		o     rollout.Options
		all   bool
		lists bool // worlds have bodies of their own
	}{
		"rows": {}, "rows of own bodies": {lists: true}, "all pairs": {o: near, all: true},
		"worlds":                   {o: rollout.Options{Reduce: rollout.ReduceWorld}},
		"worlds of own bodies":     {o: rollout.Options{Reduce: rollout.ReduceWorld}, lists: true},
		"least of all, own bodies": {o: rollout.Options{Reduce: rollout.ReduceWorld}, all: true, lists: true},
	} {
		c.o.Columns = batch.FileColumns
		job := auditedJob(t, c.o, c.all)
		if c.lists {
			job = ownBodies(t, job)
		}
		dir := t.TempDir()
		worlds, results := filepath.Join(dir, "worlds.npz"), filepath.Join(dir, "results.parquet")
		if err := dataset.WriteRollout(worlds, job.Worlds, job.Bodies); err != nil {
			t.Fatal(err)
		}
		for _, altered := range []bool{false, true} {
			if altered {
				for _, i := range []int{1, job.Results.N / 2, job.Results.N - 1} {
					job.Results.Distance().F32[i] += 0.5
				}
			}
			if err := dataset.WriteRolloutResults(results, job.Results, &c.o, job.Worlds.Count(), nil); err != nil {
				t.Fatal(err)
			}
			for _, pairs := range []int64{0, 40, All} {
				s := &Sample{Pairs: pairs, Seed: 3}
				whole, err := auditInMemory(t.Context(), job, s)
				if err != nil {
					t.Fatal(err)
				}
				if altered && pairs == All && (whole.Wrong() < 3 || whole.Good()) {
					t.Errorf("%s: %d of 3 altered rows are refuted", name, whole.Wrong())
				}
				if !altered && whole.Good() != (whole.Open == 0 && pairs > 0) {
					t.Errorf("%s: %+v", name, whole)
				}
				want := reportText(t, whole)
				for _, step := range []int{0, 1, 7} {
					told := 0
					s.Progress = func(rows int) { told += rows }
					files := &RolloutFiles{Options: c.o, Files: Files{Bodies: job.Bodies, Worlds: worlds,
						Results: results, Hi: score.ToEnd, step: step}}
					found, err := files.Audit(t.Context(), s)
					if err != nil {
						t.Fatal(err)
					}
					if got := reportText(t, found); got != want || told != job.Results.N {
						t.Errorf("%s, a sample of %d, %d worlds at a time, %d rows told:\n%s\nwant\n%s", name, pairs,
							step, told, got, want)
					}
					s.Progress = nil
				}
			}
		}
	}
}

// ownBodies answers the worlds of a job anew, with bodies of their own, some of which are absent.
func ownBodies(t *testing.T, job *rollout.Job) *rollout.Job {
	t.Helper()
	rng := rand.New(rand.NewPCG(5, 12))
	w := *job.Worlds
	w.M = len(job.Worlds.Bodies)
	w.Bodies = make([]int32, 20*w.M)
	for i := range w.Bodies {
		w.Bodies[i] = rng.Int32N(3) - 1
	}
	out := &rollout.Job{Bodies: job.Bodies, Worlds: &w, Options: job.Options}
	c, err := cpu.New(cpu.Options{})
	if err != nil {
		t.Fatal(err)
	}
	d := dispatch.New(c)
	defer d.Close()
	if _, err := rollout.Run(t.Context(), d, out, dispatch.Options{}); err != nil {
		t.Fatal(err)
	}
	return out
}

// sweptFiles writes motions of a job and their results.
func sweptFiles(t *testing.T, dir string) (files *SweepFiles, results *batch.SweepResults) {
	t.Helper()
	bodies := auditedJob(t, rollout.Options{}, false).Bodies
	rng := rand.New(rand.NewPCG(31, 15))
	m := &batch.Motions{T: 3, M: 3, Bodies: []int32{0, 1, 1}, TemplateA: []int32{0, 1}, TemplateB: []int32{1, 2}}
	for range 20 * m.T * m.M {
		p := testkit.Pose(rng, 1.2)
		m.Poses = append(m.Poses, p.Position.X, p.Position.Y, p.Position.Z, p.Rotation.Real, p.Rotation.Imag,
			p.Rotation.Jmag, p.Rotation.Kmag)
	}
	c, err := cpu.New(cpu.Options{})
	if err != nil {
		t.Fatal(err)
	}
	d := dispatch.New(c)
	defer d.Close()
	job := &rollout.SweepJob{Bodies: bodies, Motions: m}
	if _, err := rollout.Sweep(t.Context(), d, job, dispatch.Options{}); err != nil {
		t.Fatal(err)
	}
	files = &SweepFiles{Files: Files{Bodies: bodies, Worlds: filepath.Join(dir, "motions.parquet"),
		Results: filepath.Join(dir, "results.npz"), Hi: score.ToEnd}}
	if err := dataset.WriteMotions(files.Worlds, m, bodies); err != nil {
		t.Fatal(err)
	}
	return files, job.Results
}

// TestSweepFiles: the report of results of motions does not depend on the ranges by which they are audited, of right
// results and of altered ones.
func TestSweepFiles(t *testing.T) {
	files, results := sweptFiles(t, t.TempDir())
	for _, altered := range []bool{false, true} {
		if altered {
			results.Lower[0], results.Upper[0], results.Closest[0] = 5, 6, 1
			results.State[0], results.T0[0] = uint8(sweep.Free), 2
			results.State[39] = 9
		}
		if err := dataset.WriteSweepResults(files.Results, results, 20, 3, nil); err != nil {
			t.Fatal(err)
		}
		for _, rows := range []int64{0, 11, All} {
			want := ""
			for _, step := range []int{0, 1, 7} {
				files.step = step
				found, err := files.Audit(t.Context(), &Sample{Pairs: rows, Seed: 2, Workers: 2})
				if err != nil {
					t.Fatal(err)
				}
				if found.Rows != 40 || int64(found.Sample) != min(rows, 40) ||
					rows == All && (found.Refuted == 2) != altered {
					t.Errorf("altered %t, %d rows: %+v", altered, rows, found)
				}
				if got := reportText(t, found); want == "" {
					want = got
				} else if got != want {
					t.Errorf("%d rows, %d worlds at a time:\n%s\nwant\n%s", rows, step, got, want)
				}
			}
		}
	}
}

// TestPartsOfFiles: of some worlds of files the audit is of these, with the row numbers of the results; what others
// state there, or results of other worlds, is not looked at, or refused.
func TestPartsOfFiles(t *testing.T) {
	dir := t.TempDir()
	swept, moved := sweptFiles(t, dir)
	if err := dataset.WriteSweepResults(swept.Results, moved, 20, 3, nil); err != nil {
		t.Fatal(err)
	}
	for _, all := range []bool{false, true} {
		o := rollout.Options{MaxDistance: 0.3, HasMaxDistance: true, Options: batch.Options{Columns: batch.FileColumns}}
		job := auditedJob(t, o, all)
		files := &RolloutFiles{Options: o, Files: Files{Bodies: job.Bodies, Worlds: filepath.Join(dir, "worlds.npz"),
			Results: filepath.Join(dir, "found.npz"), Lo: 5, Hi: 12, Within: true}}
		if err := dataset.WriteRollout(files.Worlds, job.Worlds, job.Bodies); err != nil {
			t.Fatal(err)
		}
		row := 5 * 4 // of world 5
		if all {
			row = int(job.Results.Offsets[5])
		}
		job.Results.Distance().F32[0] += 1 // of world 0
		job.Results.Distance().F32[row] += 1
		if err := dataset.WriteRolloutResults(files.Results, job.Results, &o, 20, nil); err != nil {
			t.Fatal(err)
		}
		found, err := files.Audit(t.Context(), &Sample{Pairs: All})
		if err != nil {
			t.Fatal(err)
		}
		if found.Worlds != 7 || found.Refuted != 1 ||
			!strings.HasPrefix(found.First[0], fmt.Sprintf("world 5, row %d: ", row)) {
			t.Errorf("all pairs %t: %+v", all, found)
		}
		files.Within = false
		if _, err := files.Audit(t.Context(), &Sample{}); err == nil ||
			!strings.Contains(err.Error(), "states worlds 0 to 19, the audit asks for 5 to 11") {
			t.Errorf("results of more worlds: %v", err)
		}
		files.Lo, files.Hi = 15, 21
		if _, err := files.Audit(t.Context(), &Sample{}); err == nil ||
			!strings.Contains(err.Error(), "worlds 15 to 21 of a file of 20") {
			t.Errorf("worlds that the file does not have: %v", err)
		}
	}
	swept.Lo, swept.Hi, swept.Within = 3, 9, true
	found, err := swept.Audit(t.Context(), &Sample{Pairs: All})
	if err != nil || found.Rows != 12 || found.Refuted != 0 {
		t.Errorf("%+v, %v", found, err)
	}
	data, err := os.ReadFile(swept.Results)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(swept.Results, bytes.Replace(data, []byte("states"), []byte("stares"), 1)[:len(data)/2],
		0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := swept.Audit(t.Context(), &Sample{Pairs: All}); err == nil ||
		!strings.Contains(err.Error(), swept.Results) {
		t.Errorf("a file that is cut: %v", err)
	}
}

// TestAuditOfMixedBodies: rows of bodies of parts of many kinds and sizes pass the audit.
func TestAuditOfMixedBodies(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 5))
	shapes := []geom.Shape{geom.Sphere{R: 0.01}, geom.Box{HalfExtents: r3.Vec{X: 0.1, Y: 0.2, Z: 0.3}},
		geom.Capsule{R: 0.1, HalfLength: 0.4}, geom.Cylinder{R: 0.3, HalfLength: 0.2},
		geom.Ellipsoid{SemiAxes: r3.Vec{X: 0.1, Y: 0.4, Z: 0.2}}, geom.Cone{R: 0.2, HalfLength: 0.3}}
	lib, err := batch.NewLibrary(shapes, nil)
	if err != nil {
		t.Fatal(err)
	}
	var list []batch.Body
	for range 8 {
		var b batch.Body
		for range 1 + rng.IntN(4) {
			b.Parts = append(b.Parts, batch.Part{Shape: int32(rng.IntN(len(shapes))), Pose: testkit.Pose(rng, 0.4)})
		}
		list = append(list, b)
	}
	bodies, err := batch.NewBodies(lib, list)
	if err != nil {
		t.Fatal(err)
	}
	worlds := 40
	if !testing.Short() {
		worlds = 400
	}
	w := &batch.Worlds{M: 6}
	for range worlds * w.M {
		w.Bodies = append(w.Bodies, int32(rng.IntN(len(list)+1))-1)
		p := testkit.Pose(rng, 0.9)
		w.Poses = append(w.Poses, p.Position.X, p.Position.Y, p.Position.Z, p.Rotation.Real, p.Rotation.Imag,
			p.Rotation.Jmag, p.Rotation.Kmag)
	}
	c, err := cpu.New(cpu.Options{})
	if err != nil {
		t.Fatal(err)
	}
	d := dispatch.New(c)
	defer d.Close()
	for k := range 48 {
		o := rollout.Options{Reduce: rollout.Reduce(k & 1), Options: batch.Options{
			Precision: batch.Precision(k >> 1 & 1),
			Query:     []batch.Query{batch.Distance, batch.Penetration, batch.Collide, batch.Growth}[k>>2&3],
		}}
		if w.TemplateA, w.TemplateB, w.AllPairs = nil, nil, k>>4 == 2; !w.AllPairs {
			w.TemplateA, w.TemplateB = []int32{0, 1, 2, 4, 5}, []int32{1, 2, 3, 5, 0}
		}
		if o.Query == batch.Distance && k>>4 > 0 {
			o.MaxDistance, o.HasMaxDistance = 0.2, true
		}
		if w.AllPairs && o.Query == batch.Growth && o.Reduce == rollout.ReduceNone {
			continue // which all pairs do not support
		}
		job := &rollout.Job{Bodies: bodies, Worlds: w, Options: o}
		if _, err := rollout.Run(t.Context(), d, job, dispatch.Options{}); err != nil {
			t.Fatal(err)
		}
		a, err := auditInMemory(t.Context(), job, &Sample{Pairs: int64(worlds) * 30})
		if err != nil {
			t.Fatal(err)
		}
		if a.Wrong() != 0 {
			t.Errorf("%d: %s", k, fmt.Sprintf("%+v", a))
		}
	}
}

package main

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"

	"clearance/batch"
	"clearance/dataset"
	"clearance/dispatch"
	"clearance/rollout"
)

// streamed are the bodies of the tests below: some of several parts.
const streamed = `{"version": 1, "shapes": [{"kind": "sphere", "radius": 0.5},
	{"kind": "box", "half_extents": [0.3, 0.2, 0.4]}, {"kind": "capsule", "radius": 0.1, "half_length": 0.4}],
	"bodies": [
	{"parts": [{"shape": 0, "position": [-1, 0, 0]}, {"shape": 1, "position": [1, 0, 0]}]},
	{"parts": [{"shape": 2}]}, {"parts": [{"shape": 1}, {"shape": 2, "position": [0, 0.5, 0]}]}]}`

// streamedBodies writes them into a folder.
func streamedBodies(t *testing.T) (dir, shapes string, bodies *batch.Bodies) {
	t.Helper()
	dir = t.TempDir()
	shapes = filepath.Join(dir, "shapes.json")
	err := os.WriteFile(shapes, []byte(streamed), 0o600)
	if err == nil {
		bodies, err = dataset.ReadBodies(shapes)
	}
	if err != nil {
		t.Fatal(err)
	}
	return dir, shapes, bodies
}

// somePoses returns n random poses, each a position within a cube and a quaternion.
func somePoses(rng *rand.Rand, n int) []float64 {
	var poses []float64
	for range n {
		for range 3 {
			poses = append(poses, 4*rng.Float64()-2)
		}
		for range 4 {
			poses = append(poses, rng.NormFloat64())
		}
	}
	return poses
}

// sameBytes fails unless two files have the same bytes.
func sameBytes(t *testing.T, what, got, want string) {
	t.Helper()
	a, errA := os.ReadFile(got)
	b, errB := os.ReadFile(want)
	if errA != nil || errB != nil {
		t.Fatal(errA, errB)
	}
	if !bytes.Equal(a, b) {
		t.Errorf("%s: another file than that of all worlds at a time", what)
	}
}

// TestRolloutRanges: worlds that are read, answered and written by small ranges give the bytes of a file that is
// answered at once, and the same report.
func TestRolloutRanges(t *testing.T) {
	dir, shapes, bodies := streamedBodies(t)
	rng := rand.New(rand.NewPCG(30, 1))
	const worlds, m = 23, 4
	shared := &batch.Worlds{M: m, Bodies: []int32{0, 1, 2, 0}, Poses: somePoses(rng, worlds*m),
		TemplateA: []int32{0, 1, 0}, TemplateB: []int32{1, 2, 3}}
	own := *shared
	own.Bodies = nil
	for range worlds * m {
		own.Bodies = append(own.Bodies, rng.Int32N(4)-1)
	}
	all := own
	all.TemplateA, all.TemplateB, all.AllPairs = nil, nil, true
	all.Poses = slices.Clone(own.Poses)
	all.Poses[7*m*17+3] *= 1e300 // world 17 is invalid, if it has a body there
	for i, w := range []*batch.Worlds{shared, &own, &all} {
		for _, ext := range formats {
			in, out := filepath.Join(dir, "worlds"+ext), filepath.Join(dir, "whole"+ext)
			if err := dataset.WriteRollout(in, w, bodies); err != nil {
				t.Fatal(err)
			}
			for _, reduce := range []rollout.Reduce{rollout.ReduceNone, rollout.ReduceWorld} {
				outcome := command("rollout", "--shapes", shapes, "--worlds", in, "--out", out, "--reduce",
					reduce.String(), "--max-distance", "1", "--backend", "cpu")
				for _, step := range []int{1, 5, 22} {
					rep := streamRollout(t, shapes, in, filepath.Join(dir, "parts"+ext), reduce, step)
					what := fmt.Sprintf("form %d, %s, reduce %v, ranges of %d worlds", i, ext, reduce, step)
					sameBytes(t, what, filepath.Join(dir, "parts"+ext), out)
					for _, row := range rep.RowErrors {
						outcome.says(t, row.Error())
					}
					if rep.Worlds != worlds {
						t.Errorf("%s: %d worlds", what, rep.Worlds)
					}
				}
			}
		}
	}
}

// streamRollout answers a file of worlds by ranges.
func streamRollout(t *testing.T, shapes, in, out string, reduce rollout.Reduce, step int) rollout.Report {
	t.Helper()
	f := &rolloutFlags{maxDistance: 1, reduce: reduce}
	f.backend = "cpu"
	file, err := f.openWorlds(context.Background(), nil, &inputFlags{shapes: shapes, worlds: in})
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	h, err := f.open()
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	o, err := f.rolloutOptions()
	if err != nil {
		t.Fatal(err)
	}
	rows := int64(file.Count() * file.RowsPerWorld())
	switch {
	case reduce == rollout.ReduceWorld:
		rows = int64(file.Count())
	case rows == 0:
		rows = dataset.UnknownRows
	}
	w := dataset.CreateRolloutResults(out, &o, file.Count(), rows, map[string]string{metaMethod: o.Method.String(),
		metaTolerance: strconv.FormatFloat(o.Tolerance, 'g', -1, 64)})
	defer w.Abort()
	done := 0
	rep, err := rollout.RunStream(t.Context(), h.Dispatcher(),
		&rollout.Stream[*batch.Worlds]{Bodies: file.Bodies, Source: file, Hi: file.Count(), Worlds: step}, o,
		dispatch.Options{Backend: "cpu", Progress: func(now, total int) {
			if now < done || now > total {
				t.Errorf("%d of %d done after %d", now, total, done)
			}
			done = now
		}}, w.Write)
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	if done == 0 {
		t.Error("no progress")
	}
	return rep
}

// TestSweepRanges: motions that are read, swept and written by small ranges give the bytes of a file that is swept at
// once.
func TestSweepRanges(t *testing.T) {
	dir, shapes, bodies := streamedBodies(t)
	rng := rand.New(rand.NewPCG(30, 2))
	const worlds, m, way = 11, 3, 4
	shared := &batch.Motions{M: m, T: way, Bodies: []int32{0, 1, 2}, Poses: somePoses(rng, worlds*m*way),
		TemplateA: []int32{0, 1}, TemplateB: []int32{1, 2}}
	own := *shared
	own.Bodies = nil
	for range worlds * m {
		own.Bodies = append(own.Bodies, rng.Int32N(4)-1)
	}
	for i, motions := range []*batch.Motions{shared, &own} {
		for _, ext := range formats {
			in := filepath.Join(dir, "m"+ext)
			whole, parts := filepath.Join(dir, "whole"+ext), filepath.Join(dir, "p"+ext)
			if err := dataset.WriteMotions(in, motions, bodies); err != nil {
				t.Fatal(err)
			}
			command("sweep", "--shapes", shapes, "--worlds", in, "--out", whole, "--backend", "cpu").want(t, exitGood)
			for _, step := range []int{1, 4, 10} {
				streamSweep(t, shapes, in, parts, step)
				sameBytes(t, fmt.Sprintf("form %d, %s, ranges of %d worlds", i, ext, step), parts, whole)
			}
		}
	}
}

// streamSweep sweeps a file of motions by ranges.
func streamSweep(t *testing.T, shapes, in, out string, step int) {
	t.Helper()
	bodies, err := dataset.ReadBodies(shapes)
	if err != nil {
		t.Fatal(err)
	}
	file, err := dataset.OpenMotions(in, bodies)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	b := backendFlags{backend: "cpu"}
	h, err := b.open()
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	var f sweepFlags
	rows := int64(file.Count() * file.RowsPerWorld())
	w, err := dataset.CreateSweepResults(out, file.Count(), file.WayPoints(), rows, map[string]string{
		metaTolerance:    strconv.FormatFloat(f.options.Tolerance, 'g', -1, 64),
		"time_tolerance": strconv.FormatFloat(f.options.TimeTolerance, 'g', -1, 64)})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Abort()
	rep, err := rollout.SweepStream(t.Context(), h.Dispatcher(),
		&rollout.Stream[*batch.Motions]{Bodies: bodies, Source: file, Hi: file.Count(), Worlds: step}, f.options,
		dispatch.Options{Backend: "cpu"}, w.Write)
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	if rep.Worlds != file.Count() || int64(rep.Rows) != rows {
		t.Errorf("report of %d worlds, %d rows", rep.Worlds, rep.Rows)
	}
}

package dataset

import (
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"testing"

	"clearance/batch"
	"clearance/internal/testkit"
)

// TestMotionFiles writes motions and reads them back, and gives files of another form.
func TestMotionFiles(t *testing.T) {
	bodies := someBodies(t)
	poses := make([]float64, 2*3*2*7)
	for i := range poses {
		poses[i] = float64(i)
	}
	for _, ext := range formats {
		dir := t.TempDir()
		path := filepath.Join(dir, "motions"+ext)
		for _, list := range [][]int32{{0, 1}, {0, 1, -1, 0}} {
			m := &batch.Motions{M: 2, T: 3, Bodies: list, Poses: poses, TemplateA: []int32{0}, TemplateB: []int32{1}}
			if err := WriteMotions(path, m, bodies); err != nil {
				t.Fatal(err)
			}
			got, err := ReadMotions(path, bodies)
			if err != nil {
				t.Fatal(err)
			}
			if got.M != 2 || got.T != 3 || got.Count() != 2 || !slices.Equal(got.Bodies, list) ||
				!slices.Equal(got.Poses, poses) || !slices.Equal(got.TemplateB, m.TemplateB) {
				t.Errorf("%s: %+v, want %+v", ext, got, m)
			}
			_, err = ReadRollout(path, bodies)
			testkit.WantError(t, err, path, map[string]string{".npz": "array poses has shape [2,3,2,7], want [W,M,7]",
				".parquet": `unknown column "way_point"`}[ext])
		}
		worlds := filepath.Join(dir, "worlds"+ext)
		w := &batch.Worlds{M: 2, Bodies: []int32{0, 1}, Poses: poses, TemplateA: []int32{0}, TemplateB: []int32{1}}
		if err := WriteRollout(worlds, w, bodies); err != nil {
			t.Fatal(err)
		}
		_, err := ReadMotions(worlds, bodies)
		testkit.WantError(t, err, worlds, map[string]string{".npz": "[W,T,M,7]",
			".parquet": "way_point is missing"}[ext])
		m := &batch.Motions{M: 2, T: 1, Bodies: []int32{0, 1}, Poses: poses}
		testkit.WantError(t, WriteMotions(path, m, bodies), path, "way points")
		m = &batch.Motions{}
		if err := WriteMotions(path, m, bodies); err != nil {
			t.Fatal(err)
		}
		if got, err := ReadMotions(path, bodies); err != nil || got.Count() != 0 || got.WayPoints() != 2 {
			t.Errorf("%s: no motions: %+v, %v", ext, got, err)
		}
	}
	_, err := ReadMotions("m.csv", bodies)
	testkit.WantError(t, err, ".csv", "want .parquet or .npz")
}

func TestSweepResults(t *testing.T) {
	for _, ext := range formats {
		r := &batch.SweepResults{N: 2, State: []uint8{0, 1}, Lower: []float64{0.5, 0}, Upper: []float64{0.6, 0},
			Closest: []float64{0.1, math.NaN()}, T0: []float64{1, 0.25}, T1: []float64{math.NaN(), 0.26},
			PartA: []int32{-1, 3}, PartB: []int32{0, 1}, Evaluations: []int32{7, 8}}
		path := filepath.Join(t.TempDir(), "sweeps"+ext)
		if err := WriteSweepResults(path, r, 2, 5, map[string]string{"tolerance": "0"}); err != nil {
			t.Fatal(err)
		}
		got, meta, err := ReadSweepResults(path)
		if err != nil {
			t.Fatal(err)
		}
		if fmt.Sprint(got) != fmt.Sprint(r) || meta["way_points"] != "5" || meta["query"] != "sweep" {
			t.Errorf("%s: %+v, %v, want %+v", ext, got, meta, r)
		}
	}
}

// TestSparseResults: results of all pairs have the world of each row, and offsets again when they are read.
func TestSparseResults(t *testing.T) {
	for _, ext := range formats {
		o := batch.RolloutOptions{MaxDistance: 0.5, HasMaxDistance: true}
		r := batch.NewRolloutResults(3, &o)
		r.Offsets, r.BodyA, r.BodyB = []int64{0, 2, 2, 3, 3}, []int32{0, 0, 1}, []int32{1, 2, 2}
		path := filepath.Join(t.TempDir(), "results"+ext)
		if err := WriteRolloutResults(path, r, &o, 4, nil); err != nil {
			t.Fatal(err)
		}
		got, _, err := ReadRolloutResults(path)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(got.Offsets, r.Offsets) || !slices.Equal(got.BodyB, r.BodyB) {
			t.Errorf("%s: offsets %v, bodies %v", ext, got.Offsets, got.BodyB)
		}
	}
}

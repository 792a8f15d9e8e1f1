package dataset

import (
	"math"
	"path/filepath"
	"slices"
	"testing"

	"clearance/batch"
	"clearance/geom"
)

func someBodies(t testing.TB) *batch.Bodies {
	t.Helper()
	lib, err := batch.NewLibrary([]geom.Shape{geom.Sphere{R: 1}, geom.Sphere{R: 2}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return batch.BodiesOfShapes(lib)
}

func TestRolloutFiles(t *testing.T) {
	bodies := someBodies(t)
	poses := make([]float64, 7*6)
	for i := range poses {
		poses[i] = math.Sqrt(float64(i))
	}
	for _, ext := range formats {
		for _, w := range []*batch.Worlds{
			{M: 3, Bodies: []int32{0, 1, -1}, Poses: poses, TemplateA: []int32{0, 1}, TemplateB: []int32{1, 2}},
			{M: 3, Bodies: []int32{0, 1, -1, 1, 1, 0}, Poses: poses, TemplateA: []int32{0}, TemplateB: []int32{2}},
			{M: 3, Bodies: []int32{0, 1, 1}, Poses: poses, AllPairs: true, SkipA: []int32{0}, SkipB: []int32{2}},
			{M: 3, Bodies: []int32{0, 1, 1}, Poses: poses, AllPairs: true},
			{M: 3, Bodies: []int32{0, 1, 1}, Poses: poses},
			{M: 6, Bodies: []int32{0, 1, 1, -1, 0, 0}, Poses: poses, TemplateA: []int32{5}, TemplateB: []int32{4}},
			{},
		} {
			path := filepath.Join(t.TempDir(), "worlds"+ext)
			if err := WriteRollout(path, w, bodies); err != nil {
				t.Fatal(err)
			}
			got, err := ReadRollout(path, bodies)
			if err != nil {
				t.Fatal(err)
			}
			if got.M != w.M || !slices.Equal(got.Bodies, w.Bodies) || !slices.Equal(got.Poses, w.Poses) ||
				!slices.Equal(got.TemplateA, w.TemplateA) || !slices.Equal(got.TemplateB, w.TemplateB) ||
				got.AllPairs != w.AllPairs || !slices.Equal(got.SkipA, w.SkipA) || !slices.Equal(got.SkipB, w.SkipB) {
				t.Errorf("%s: %+v, want %+v", ext, got, w)
			}
			if has, err := HasBodies(path); err != nil || !has {
				t.Errorf("%s has bodies: %t, %v", ext, has, err)
			}
			_, err = ReadWorlds(path)
			wantError(t, err, path, `unknown column "bod`)
		}
		dir := t.TempDir()
		bad := &batch.Worlds{Bodies: []int32{0, 7}, Poses: poses[:14], TemplateA: []int32{0}, TemplateB: []int32{1}}
		wantError(t, WriteRollout(filepath.Join(dir, "w"+ext), bad, bodies), "w"+ext, "bodies[1]")
		plain := filepath.Join(dir, "plain"+ext)
		if err := WriteWorlds(plain, &batch.Worlds{Shapes: []int32{0}, Poses: poses[:7]}); err != nil {
			t.Fatal(err)
		}
		if has, err := HasBodies(plain); err != nil || has {
			t.Errorf("%s has bodies: %t, %v", ext, has, err)
		}
		_, err := ReadRollout(plain, bodies)
		wantError(t, err, plain, "shape")
	}
}

func TestRolloutResults(t *testing.T) {
	for _, ext := range formats {
		for _, reduce := range []batch.Reduce{batch.ReduceNone, batch.ReduceWorld} {
			o := batch.RolloutOptions{Reduce: reduce, MaxDistance: 0.5, HasMaxDistance: true, Options: batch.Options{
				Precision: batch.Double, Columns: batch.ColDistance | batch.ColGap | batch.ColStatus | batch.ColMethod}}
			r := batch.NewRolloutResults(3, &o)
			for i := range 3 {
				r.Put(i, &batch.Answer{Distance: float64(i), Lower: float64(i), Upper: float64(i) + 0.5,
					Solver: batch.SolverBounds})
				r.PartA[i], r.PartB[i] = int32(i), -1
			}
			if r.Pair != nil {
				r.Pair[2], r.Contacts[1], r.Failed[0], r.Any[1] = 4, 5, 6, batch.AnyContact
			}
			path := filepath.Join(t.TempDir(), "results"+ext)
			if err := WriteRolloutResults(path, r, &o, 3, map[string]string{"method": "auto"}); err != nil {
				t.Fatal(err)
			}
			got, meta, err := ReadRolloutResults(path)
			if err != nil {
				t.Fatal(err)
			}
			if got.N != 3 || got.Distance().At(2) != 2 || got.Gap()[1] != r.Gap()[1] || got.PartA[2] != 2 ||
				got.PartB[0] != -1 || !slices.Equal(got.Pair, r.Pair) || !slices.Equal(got.Any, r.Any) ||
				!slices.Equal(got.Contacts, r.Contacts) || !slices.Equal(got.Failed, r.Failed) ||
				!slices.Equal(got.Method(), r.Method()) || got.Precision != batch.Double {
				t.Errorf("%s: %+v", ext, got)
			}
			if meta["reduce"] != reduce.String() || meta["max_distance"] != "0.5" || meta["worlds"] != "3" ||
				meta["query"] != "distance" {
				t.Errorf("%s: metadata %v", ext, meta)
			}
			if math.IsNaN(got.Distance().At(0)) {
				t.Errorf("%s: no distance", ext)
			}
		}
	}
}

package dataset

import (
	"math/rand/v2"
	"path/filepath"
	"testing"

	"clearance/batch"
)

// TestWorldRowsByRange: rows by ranges, which may begin and end within worlds, are those of the worlds in memory.
func TestWorldRowsByRange(t *testing.T) {
	rng := rand.New(rand.NewPCG(32, 1))
	w := &batch.Worlds{Shapes: []int32{0, 1, 2}, TemplateA: []int32{0, 0, 1, 2, 1}, TemplateB: []int32{1, 2, 2, 0, 0}}
	for range 11 * 3 * 7 {
		w.Poses = append(w.Poses, rng.Float64())
	}
	for _, name := range []string{"w.npz", "w.parquet"} {
		path := filepath.Join(t.TempDir(), name)
		if err := WriteWorlds(path, w); err != nil {
			t.Fatal(err)
		}
		for _, steps := range [][]int{{55}, {5}, {10, 15}, {1}, {3}, {7, 1, 2, 25}, {64}} {
			for _, skip := range []int{0, 4, 10} {
				r, err := OpenWorldRows(path)
				if err != nil {
					t.Fatal(err)
				}
				if r.Len() != w.Len() {
					t.Fatalf("%d rows, want %d", r.Len(), w.Len())
				}
				var used batch.Input
				for lo, k := skip, 0; lo < w.Len(); k++ {
					hi := lo + steps[k%len(steps)]
					in, err := r.Rows(lo, hi, used)
					if err != nil {
						t.Fatal(err)
					}
					if n := min(hi, w.Len()) - lo; in.Len() != n {
						t.Fatalf("%s, rows %d to %d: %d rows, want %d", name, lo, hi, in.Len(), n)
					}
					for i := range in.Len() {
						var got, want batch.Row
						in.Row(i, &got)
						if w.Row(lo+i, &want); got != want {
							t.Fatalf("%s, steps %d: row %d is %+v, want %+v", name, steps, lo+i, got, want)
						}
					}
					if in, err := r.Rows(hi, hi, nil); err != nil || in.Len() != 0 {
						t.Fatalf("%s, no rows from %d on: %v", name, hi, err)
					}
					lo, used = hi, in
				}
				if in, err := r.Rows(w.Len(), w.Len()+9, used); err != nil || in.Len() != 0 {
					t.Errorf("%s: behind the end: %v", name, err)
				}
				if err := r.Close(); err != nil {
					t.Error(err)
				}
			}
		}
	}
}

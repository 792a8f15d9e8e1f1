package score

import (
	"path/filepath"
	"testing"

	"clearance/batch"
	"clearance/dataset"
	"clearance/geom"
)

// TestLeastPairs: where all worlds are known to have the same list, their number of pairs is known before they are
// read: of the bodies that are there, without those to skip. Else it is at least none.
func TestLeastPairs(t *testing.T) {
	lib, err := batch.NewLibrary([]geom.Shape{geom.Sphere{R: 1}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	table := batch.BodiesOfShapes(lib)
	const m, worlds = 5, 3
	poses := make([]float64, 7*m*worlds)
	for i := range m * worlds {
		poses[7*i+3] = 1
	}
	shared := []int32{0, 0, batch.Absent, 0, 0}
	for _, c := range []struct {
		name  string
		list  []int32
		skip  int
		pairs int64
	}{
		{"one list", shared, 0, 6}, {"with a skip", shared, 1, 5},
		{"own lists", append(append(append([]int32{}, shared...), 0, 0, 0, 0, 0), shared...), 0, 0},
	} {
		w := &batch.Worlds{M: m, Bodies: c.list, Poses: poses, AllPairs: true, SkipA: make([]int32, c.skip),
			SkipB: make([]int32, c.skip)}
		for i := range c.skip {
			w.SkipB[i] = 1
		}
		path := filepath.Join(t.TempDir(), "worlds.npz")
		if err := dataset.WriteRollout(path, w, table); err != nil {
			t.Fatal(err)
		}
		s, err := OpenWorlds(path, table, true)
		if err != nil {
			t.Fatal(err)
		}
		if got := s.pairs(); got != c.pairs {
			t.Errorf("%s: %d pairs, want %d", c.name, got, c.pairs)
		}
		s.Close()
	}
}

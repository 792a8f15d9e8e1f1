package score

import (
	"path/filepath"
	"slices"
	"strings"
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

// TestSimulationPairs: a simulation has the pairs of bodies that its worlds have: those that a file lists, or all but
// those that it leaves out. Worlds of other bodies, or with empty places, are refused.
func TestSimulationPairs(t *testing.T) {
	lib, err := batch.NewLibrary([]geom.Shape{geom.Sphere{R: 0.5}, geom.Sphere{R: 1}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	bodies := batch.BodiesOfShapes(lib)
	shapes := filepath.Join(t.TempDir(), "shapes.json")
	if err := dataset.WriteBodies(shapes, bodies); err != nil {
		t.Fatal(err)
	}
	density := 1000.0
	worlds := func(list ...int32) *batch.Worlds {
		w := &batch.Worlds{M: 3, Bodies: list, Poses: make([]float64, 2*3*7)}
		for i := range 6 {
			w.Poses[7*i], w.Poses[7*i+3] = float64(3*i), 1
		}
		return w
	}
	for _, c := range []struct {
		name         string
		w            *batch.Worlds
		change       func(w *batch.Worlds)
		skipA, skipB []int32
	}{
		{"listed", worlds(0, 1, 0), func(w *batch.Worlds) { w.TemplateA, w.TemplateB = []int32{2}, []int32{0} },
			[]int32{0, 1}, []int32{1, 2}},
		{"all", worlds(0, 1, 0, 0, 1, 0), func(w *batch.Worlds) { w.AllPairs = true }, nil, nil},
		{"all but one", worlds(0, 1, 0), func(w *batch.Worlds) {
			w.AllPairs, w.SkipA, w.SkipB = true, []int32{1}, []int32{2}
		}, []int32{1}, []int32{2}},
	} {
		c.change(c.w)
		scene, state, err := Simulation(shapes, "worlds.npz", bodies, c.w, batch.Physics{Density: &density})
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if !slices.Equal(scene.SkipA, c.skipA) || !slices.Equal(scene.SkipB, c.skipB) || len(scene.Body) != 3 ||
			state.Worlds != 2 {
			t.Errorf("%s: %d bodies in %d worlds without the pairs %v, %v; want 3 in 2 without %v, %v", c.name,
				len(scene.Body), state.Worlds, scene.SkipA, scene.SkipB, c.skipA, c.skipB)
		}
	}
	for want, w := range map[string]*batch.Worlds{
		"worlds.npz: world 1, body 2: ": worlds(0, 1, 0, 0, 1, 1),
		"worlds.npz: world 0, body 1: ": worlds(0, batch.Absent, 0),
	} {
		if _, _, err := Simulation(shapes, "worlds.npz", bodies, w, batch.Physics{Density: &density}); err == nil ||
			!strings.HasPrefix(err.Error(), want) {
			t.Errorf("%v, want an error that begins with %q", err, want)
		}
	}
	if _, _, err := Simulation(shapes, "worlds.npz", bodies, worlds(0, 1, 0), batch.Physics{}); err == nil ||
		!strings.HasPrefix(err.Error(), shapes+": body 0") {
		t.Errorf("without a mass: %v", err)
	}
}

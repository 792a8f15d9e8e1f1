package dataset

import (
	"archive/zip"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gonum.org/v1/gonum/spatial/r3"

	"clearance/batch"
	"clearance/dataset/table"
	"clearance/geom/mesh"
)

// drainPairs reads a file to its end or first error. It checks that what was read
// is as long as the file says.
func drainPairs(t *testing.T, path string) {
	t.Helper()
	r, err := OpenPairs(path)
	if err != nil {
		return
	}
	defer r.Close()
	p := batch.NewPairs(64)
	var rows int64
	for rows < 1<<16 { // a small file may claim billions of equal rows
		n, err := r.Next(p)
		if errors.Is(err, io.EOF) {
			if rows != r.Len() {
				t.Errorf("%d rows, Len is %d", rows, r.Len())
			}
			return
		}
		if err != nil {
			return
		}
		rows += int64(n)
	}
}

func drainResults(t *testing.T, path string) {
	t.Helper()
	r, err := OpenResults(path)
	if err != nil {
		return
	}
	defer r.Close()
	res := batch.NewResults(64, &batch.Options{Columns: r.Columns(), Precision: r.Precision()})
	var rows int64
	for rows < 1<<16 {
		n, err := r.Next(res)
		if errors.Is(err, io.EOF) {
			if rows != r.Len() {
				t.Errorf("%d rows, Len is %d", rows, r.Len())
			}
			return
		}
		if err != nil {
			return
		}
		rows += int64(n)
	}
}

// shortTable reports whether a file is a table of the columns that does not claim to be long.
func shortTable(path string, cols []table.Column) bool {
	src, err := openTable(path, cols, nil)
	if err != nil {
		return false
	}
	defer src.Close()
	return src.Rows() < 1<<16
}

// drainWorlds reads files of worlds, unless a table claims to be long.
func drainWorlds(t *testing.T, path string) {
	t.Helper()
	parquet := filepath.Ext(path) == ".parquet"
	has, hasErr := HasBodies(path)
	bodies := someBodies(t)
	for _, form := range []*worldForm{&formShapes, &formBodies, &formMotions} {
		if parquet && !shortTable(path, form.table()) {
			continue
		}
		f, err := whole(openWorldFile(path, form, nil, func(f *worldFile, _ int) (*worldFile, error) { return f, nil }))
		if err != nil {
			continue
		}
		if hasErr != nil || has != (form != &formShapes) {
			t.Errorf("bodies %t, %v, in a file of %s", has, hasErr, form.list)
		}
		if moving, err := HasWayPoints(path); err != nil || moving != (form == &formMotions) {
			t.Errorf("way points %t, %v, in a file of %s", moving, err, form.list)
		}
		if n := f.worlds() * f.m * f.t; len(f.poses) != 7*n || len(f.list) != f.m && len(f.list) != f.worlds()*f.m {
			t.Errorf("%d poses, %d %s in %d worlds of %d, %d way points", len(f.poses), len(f.list), form.list,
				f.worlds(), f.m, f.t)
		}
	}
	if w, err := ReadWorlds(path); !parquet && err == nil && w.CheckShape() != nil {
		t.Error("ReadWorlds lets a wrong shape pass")
	}
	if w, err := ReadRollout(path, bodies); !parquet && err == nil && w.CheckBodies(bodies) != nil {
		t.Error("ReadRollout lets a wrong shape pass")
	}
}

// addWorlds adds files of worlds of each form.
func addWorlds(f *testing.F, ext string) {
	bodies := someBodies(f)
	poses, template := make([]float64, 4*2*7), [2][]int32{{0}, {1}}
	for i, write := range []func(path string) error{
		func(path string) error {
			return WriteWorlds(path, &batch.Worlds{Shapes: []int32{0, 1}, Poses: poses, TemplateA: template[0],
				TemplateB: template[1]})
		},
		func(path string) error {
			return WriteRollout(path, &batch.Worlds{M: 2, Bodies: []int32{0, 1, 1, -1, 0, 0, 0, 1}, Poses: poses,
				TemplateA: template[0], TemplateB: template[1]}, bodies)
		},
		func(path string) error {
			return WriteRollout(path, &batch.Worlds{Bodies: []int32{0, 1}, Poses: poses, AllPairs: true,
				SkipA: template[0], SkipB: template[1]}, bodies)
		},
		func(path string) error {
			return WriteMotions(path, &batch.Motions{M: 2, T: 2, Bodies: []int32{0, 1, 1, 1}, Poses: poses,
				TemplateA: template[0], TemplateB: template[1]}, bodies)
		},
	} {
		path := filepath.Join(f.TempDir(), fmt.Sprint(i, ext))
		if err := write(path); err != nil {
			f.Fatal(err)
		}
		data, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
}

// drainRollouts reads results of rollouts and sweeps, unless the file claims to be long.
func drainRollouts(t *testing.T, path string) {
	t.Helper()
	long := func(cols []table.Column) bool { return !shortTable(path, cols) }
	if !long(rolloutResultColumns()) {
		r, _, err := ReadRolloutResults(path, WithMemory(1<<20))
		if err == nil && (len(r.PartA) != r.N || len(r.PartB) != r.N || r.Results.CheckShape() != nil) {
			t.Errorf("results of %d rows with %d and %d parts", r.N, len(r.PartA), len(r.PartB))
		}
	}
	if !long(table.Sweeps) {
		if r, _, err := ReadSweepResults(path); err == nil && len(r.T1) != r.N {
			t.Errorf("sweeps of %d rows with %d times", r.N, len(r.T1))
		}
	}
}

// addRollouts adds files of results of rollouts and sweeps.
func addRollouts(f *testing.F, ext string) {
	o := batch.RolloutOptions{Reduce: batch.ReduceWorld}
	worlds := filepath.Join(f.TempDir(), "worlds"+ext)
	err := WriteRolloutResults(worlds, batch.NewRolloutResults(2, &o), &o, 2, nil)
	o.Reduce = batch.ReduceNone
	r := batch.NewRolloutResults(1, &o)
	r.Offsets, r.BodyA, r.BodyB = []int64{0, 1}, []int32{0}, []int32{1}
	sparse := filepath.Join(f.TempDir(), "sparse"+ext)
	err = errors.Join(err, WriteRolloutResults(sparse, r, &o, 1, nil))
	sweeps := filepath.Join(f.TempDir(), "sweeps"+ext)
	err = errors.Join(err, WriteSweepResults(sweeps, &batch.SweepResults{}, 0, 2, nil))
	if err != nil {
		f.Fatal(err)
	}
	for _, name := range []string{worlds, sparse, sweeps} {
		data, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
}

// addGolden adds the golden files and files of the package's own making.
func addGolden(f *testing.F, ext string) {
	names, err := filepath.Glob("testdata/*" + ext)
	if err != nil || len(names) == 0 {
		f.Fatalf("no golden %s files: %v", ext, err)
	}
	own := filepath.Join(f.TempDir(), "own"+ext)
	if err := WritePairs(own, testPairs(3)); err != nil {
		f.Fatal(err)
	}
	res := filepath.Join(f.TempDir(), "res"+ext)
	w, err := CreateResults(res, 0, batch.Double, 2)
	if err != nil {
		f.Fatal(err)
	}
	if err := w.Write(testResults(2, 0, batch.Double)); err != nil {
		f.Fatal(err)
	}
	if err := w.Close(); err != nil {
		f.Fatal(err)
	}
	for _, name := range append(names, own, res) {
		data, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
}

// fuzzFile puts data into a file, which readers need.
func fuzzFile(t *testing.T, ext string, data []byte) string {
	path := filepath.Join(t.TempDir(), "f"+ext)
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func FuzzNPZ(f *testing.F) {
	addGolden(f, ".npz")
	addRollouts(f, ".npz")
	addWorlds(f, ".npz")
	f.Add(zipped(f, pairFiles(2), zip.Store))
	f.Fuzz(func(t *testing.T, data []byte) {
		path := fuzzFile(t, ".npz", data)
		drainPairs(t, path)
		drainResults(t, path)
		drainRollouts(t, path)
		drainWorlds(t, path)
	})
}

func FuzzParquet(f *testing.F) {
	addGolden(f, ".parquet")
	addRollouts(f, ".parquet")
	addWorlds(f, ".parquet")
	f.Fuzz(func(t *testing.T, data []byte) {
		path := fuzzFile(t, ".parquet", data)
		drainPairs(t, path)
		drainResults(t, path)
		drainRollouts(t, path)
		drainWorlds(t, path)
	})
}

func FuzzShapes(f *testing.F) {
	f.Add(library(`{"kind": "box", "half_extents": [1, 2, 3], "name": "x", "margin": 0.5}`))
	f.Add(library(`{"kind": "convex", "vertices": [[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]]}`))
	f.Add(library(`{"kind": "convex", "mesh": "a.obj", "part": "a"}`))
	f.Add(library(`{"kind": "sphere", "radius": 1, "center": [0.5, 0, 0]}`))
	f.Add(library(`{"kind": "superquadric", "semi_axes": [1, 2, 3], "exponents": [0.5, 1.5]},
		{"kind": "frustum", "radius_bottom": 0, "radius_top": 1, "half_length": 1}`))
	f.Fuzz(func(t *testing.T, text string) {
		read := func(path string) ([]mesh.Part, error) {
			return []mesh.Part{{Name: "a", Vertices: []r3.Vec{{}, {X: 1}, {Y: 1}, {Z: 1}}}}, nil
		}
		p, err := parseShapes(strings.NewReader(text), ".", read)
		if err != nil {
			return
		}
		shapes, names := p.shapes, p.names
		if len(shapes) != len(names) {
			t.Fatalf("%d shapes, %d names", len(shapes), len(names))
		}
		for i, s := range shapes {
			if err := s.Validate(); err != nil {
				t.Errorf("shape %d passes, but %v", i, err)
			}
		}
		path := filepath.Join(t.TempDir(), "again.json")
		if err := WriteShapes(path, shapes, names); err != nil {
			t.Fatal(err)
		}
		if again, _, err := ReadShapes(path); err != nil || len(again) != len(shapes) {
			t.Errorf("%d shapes are read back as %d, %v", len(shapes), len(again), err)
		}
		lib, err := batch.NewLibrary(shapes, names)
		if err == nil {
			lib, err = lib.WithAttributes(&p.attributes)
		}
		if err != nil {
			return // larger than a library takes
		}
		if err := WriteLibrary(path, lib); err != nil {
			t.Fatal(err)
		}
		again, err := ReadLibrary(path)
		if err != nil {
			t.Fatal(err)
		}
		for i := range int32(lib.Len()) {
			if again.GrowthCenter(i) != lib.GrowthCenter(i) {
				t.Errorf("shape %d: the center %v is read back as %v", i, lib.GrowthCenter(i), again.GrowthCenter(i))
			}
		}
	})
}

package score

import (
	"context"
	"errors"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"clearance/batch"
	"clearance/cpu"
	"clearance/dataset"
	"clearance/dispatch"
	"clearance/geom"
	"clearance/verify"
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

// TestFilesAndAudit: answers of some rows of a file have the bits that they have in the results of the whole file, and
// an audit proves both. It refutes answers of other rows. Rows that a file does not have, results in place of the pairs
// and numbers of rows that do not match are refused; a check that fails leaves no file.
func TestFilesAndAudit(t *testing.T) {
	lib, err := batch.NewLibrary([]geom.Shape{geom.Sphere{R: 0.5}, geom.Capsule{R: 0.2, HalfLength: 0.4}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	const n, lo, hi = 40, 10, 30
	rng := rand.New(rand.NewPCG(47, 1))
	p := batch.NewPairs(n)
	for i := range n {
		p.ShapeA[i], p.ShapeB[i] = int32(i%2), int32(i/2%2)
		p.RotationA[4*i], p.RotationB[4*i] = 1, 1
		p.PositionB[3*i] = 0.5 + 2*rng.Float64()
	}
	dir := t.TempDir()
	in, whole, some := filepath.Join(dir, "pairs.npz"), filepath.Join(dir, "whole.npz"), filepath.Join(dir, "some.npz")
	w, err := dataset.CreatePairs(in, n)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(w.Write(p), w.Close()); err != nil {
		t.Fatal(err)
	}
	d := dispatch.New(cpu.NewReference())
	o := batch.Options{Columns: batch.ColStatus | ProofColumns, Precision: batch.Double}
	files := func(lo, hi int, out string, check Check) error {
		_, err := Files(t.Context(), d, lib, in, lo, hi, out, o, dispatch.Options{}, check)
		return err
	}
	if err := errors.Join(files(0, ToEnd, whole, nil), files(lo, hi, some, nil)); err != nil {
		t.Fatal(err)
	}
	read := func(path string) *batch.Results {
		t.Helper()
		r, err := dataset.OpenResults(path)
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		out := batch.NewResults(int(r.Len()), &batch.Options{Columns: r.Columns(), Precision: r.Precision()})
		if err := Fill(out.N, func(at int) (int, error) { return r.Next(out.Slice(at, out.N)) }); err != nil {
			t.Fatal(err)
		}
		return out
	}
	if all, part := read(whole), read(some); all.N != n || part.N != hi-lo ||
		!slices.Equal(part.Distance().F64, all.Distance().F64[lo:hi]) {
		t.Errorf("%d and %d rows, of which the same ones differ", all.N, part.N)
	}

	audit := func(lo, hi int, results string, at int) (*verify.Report, int, error) {
		return Audit(t.Context(), lib, in, lo, hi, results, at, o, 1, nil)
	}
	for _, c := range []struct {
		lo, hi  int
		results string
		at      int
	}{{0, ToEnd, whole, Whole}, {lo, hi, whole, lo}, {lo, hi, some, Whole}, {lo + 5, hi, some, 5}} {
		rows := c.hi - c.lo
		if c.hi == ToEnd {
			rows = n
		}
		found, proved, err := audit(c.lo, c.hi, c.results, c.at)
		if err != nil || proved != rows || found.WrongRows > 0 {
			t.Errorf("%v: %d rows are proved: %v", c, proved, err)
		}
	}
	if found, _, err := audit(lo+1, hi+1, some, Whole); err != nil || found.WrongRows < (hi-lo)/2 {
		t.Errorf("answers of other rows: %+v, %v", found, err)
	}

	failure, left := errors.New("the check fails"), filepath.Join(dir, "left.npz")
	for _, c := range []struct {
		name string
		err  error
		want string
	}{
		{"rows beyond the end", files(lo, n+1, left, nil), "rows 10 to 41 of a file of 40 pairs"},
		{"rows backwards", files(hi, lo, left, nil), "rows 30 to 10 of a file of 40 pairs"},
		{"the input", files(0, ToEnd, in, nil), "is the input"},
		{"no such input", Different(filepath.Join(dir, "none.npz"), in), "none.npz"},
		{"a check", files(lo, hi, left, func(rep *dispatch.Report, path string) error {
			if rep.Rows != hi-lo || read(path).N != hi-lo {
				t.Errorf("%d rows are checked", rep.Rows)
			}
			return failure
		}), failure.Error()},
	} {
		if c.err == nil || !strings.Contains(c.err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.name, c.err, c.want)
		}
	}
	for _, at := range []int{Whole, n - 1} {
		if _, _, err := audit(lo, hi, whole, at); err == nil || !strings.Contains(err.Error(), "20 pairs of "+in) {
			t.Errorf("from row %d on: %v", at, err)
		}
	}
	if _, err := os.Stat(left); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a file is left: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, err := Audit(ctx, lib, in, 0, ToEnd, whole, Whole, o, 1, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("a cancelled audit: %v", err)
	}
}

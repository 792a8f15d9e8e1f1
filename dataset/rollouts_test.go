package dataset

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"clearance/batch"
	"clearance/dataset/output"
	"clearance/dataset/table"
	"clearance/geom"
	"clearance/internal/memory"
	"clearance/internal/testkit"
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
			testkit.WantError(t, err, path, `unknown column "bod`)
		}
		dir := t.TempDir()
		bad := &batch.Worlds{Bodies: []int32{0, 7}, Poses: poses[:14], TemplateA: []int32{0}, TemplateB: []int32{1}}
		testkit.WantError(t, WriteRollout(filepath.Join(dir, "w"+ext), bad, bodies), "w"+ext, "bodies[1]")
		plain := filepath.Join(dir, "plain"+ext)
		if err := WriteWorlds(plain, &batch.Worlds{Shapes: []int32{0}, Poses: poses[:7]}); err != nil {
			t.Fatal(err)
		}
		if has, err := HasBodies(plain); err != nil || has {
			t.Errorf("%s has bodies: %t, %v", ext, has, err)
		}
		_, err := ReadRollout(plain, bodies)
		testkit.WantError(t, err, plain, "shape")
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

// rolloutTable writes a file of results of a rollout by hand: columns that are int32 or uint8, and metadata.
func rolloutTable(t *testing.T, ext string, columns map[string]any, meta map[string]string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "results"+ext)
	var cols []table.Column
	var values []any
	n := 0
	for name, v := range columns {
		typ := table.Int32
		if list, ok := v.([]int32); ok {
			n = len(list)
		} else {
			typ, n = table.Uint8, len(v.([]uint8))
		}
		cols, values = append(cols, table.Column{Name: name, Width: 1, Types: []table.Type{typ}}), append(values, v)
	}
	writeTable(t, path, cols, meta, values, n)
	return path
}

// writeTable writes a file of columns and metadata as they are.
func writeTable(t *testing.T, path string, columns []table.Column, meta map[string]string, values []any, n int) {
	t.Helper()
	out, err := createTable(output.Disk{}, path, columns, int64(n))
	if err != nil {
		t.Fatal(err)
	}
	for key, text := range meta {
		out.Describe(key, text)
	}
	if err := out.Write(values, n); err != nil {
		t.Fatal(err)
	}
	if err := out.Commit(); err != nil {
		t.Fatal(err)
	}
}

// TestRowsOfSomeWorlds: rows of all pairs of some worlds of a file have the numbers of their worlds in it.
func TestRowsOfSomeWorlds(t *testing.T) {
	for _, ext := range formats {
		o := batch.RolloutOptions{}
		r := batch.NewRolloutResults(3, &o)
		r.BodyA, r.BodyB, r.Offsets = []int32{0, 0, 1}, []int32{1, 2, 2}, []int64{0, 2, 2, 3}
		path := filepath.Join(t.TempDir(), "results"+ext)
		w := CreateRolloutResults(path, &o, 3, UnknownRows, map[string]string{MetaWorlds: "5:8"})
		w.From(5)
		if err := errors.Join(w.Write(r), w.Close()); err != nil {
			t.Fatal(err)
		}
		got, meta, err := ReadRolloutResults(path)
		if err != nil {
			t.Fatal(err)
		}
		if want := []int64{0, 0, 0, 0, 0, 0, 2, 2, 3}; meta["worlds"] != "5:8" || !slices.Equal(got.Offsets, want) {
			t.Errorf("%s: worlds %s, offsets %v, want 5:8, %v", ext, meta["worlds"], got.Offsets, want)
		}
	}
}

// TestRowsOfAllPairsBeyondDisk: results of all pairs that are known to have more rows than the disk has room for are
// refused at their first row, in a file and in a folder of parts.
func TestRowsOfAllPairsBeyondDisk(t *testing.T) {
	o := batch.RolloutOptions{}
	r := batch.NewRolloutResults(1, &o)
	r.BodyA, r.BodyB, r.Offsets = []int32{0}, []int32{1}, []int64{0, 1}
	for _, name := range []string{"results.npz", "results.parquet", "results" + string(filepath.Separator)} {
		folder := t.TempDir()
		w := CreateRolloutResults(folder+string(filepath.Separator)+name, &o, 1, UnknownRows, nil)
		w.AtLeast(1 << 50)
		var refused *memory.DiskError
		if err := w.Write(r); !errors.As(err, &refused) {
			t.Errorf("%s: %v", name, err)
		}
		w.Abort()
		if left, err := os.ReadDir(folder); err != nil || len(left) > 0 {
			t.Errorf("%s: %v is left, %v", name, left, err)
		}
	}
}

// TestContactsComplete: a file says whether the contacts of its worlds are all of them.
func TestContactsComplete(t *testing.T) {
	for _, ext := range formats {
		for _, complete := range []bool{false, true} {
			o := batch.RolloutOptions{Reduce: batch.ReduceWorld}
			r := batch.NewRolloutResults(2, &o)
			r.ContactsComplete = complete
			path := filepath.Join(t.TempDir(), "results"+ext)
			if err := WriteRolloutResults(path, r, &o, 2, nil); err != nil {
				t.Fatal(err)
			}
			got, meta, err := ReadRolloutResults(path)
			if err != nil {
				t.Fatal(err)
			}
			if got.ContactsComplete != complete || (meta["contacts_complete"] == "true") != complete {
				t.Errorf("%s: complete %t, metadata %q, want %t", ext, got.ContactsComplete, meta["contacts_complete"],
					complete)
			}
		}
		part := []int32{0}
		bad := rolloutTable(t, ext, map[string]any{"part_a": part, "part_b": part},
			map[string]string{"contacts_complete": "perhaps"})
		_, _, err := ReadRolloutResults(bad)
		testkit.WantError(t, err, bad, "metadata contacts_complete", `"perhaps"`)
	}
}

// TestWorldsOfTinyFile: the number of worlds that metadata state does not make a small file large.
func TestWorldsOfTinyFile(t *testing.T) {
	part := []int32{0}
	for _, ext := range formats {
		columns := map[string]any{"part_a": part, "part_b": part, "body_a": part, "body_b": part, "world": part}
		for _, worlds := range []string{"100000000", "2147483647", "99999999999999", "-1", "many", ""} {
			path := rolloutTable(t, ext, columns, map[string]string{"worlds": worlds})
			_, _, err := ReadRolloutResults(path)
			testkit.WantError(t, err, path, "metadata worlds", worlds)
		}
		path := rolloutTable(t, ext, columns, map[string]string{"worlds": "1000"})
		if _, _, err := ReadRolloutResults(path, WithMemory(1000)); err == nil && ext == ".npz" {
			t.Error("offsets of 8008 bytes in a budget of 1000")
		}
		if r, _, err := ReadRolloutResults(path); err != nil || len(r.Offsets) != 1001 || r.Offsets[1] != 1 {
			t.Errorf("%s: 1000 worlds: %v", ext, err)
		}
	}
}

// TestSolversOfRollouts: codes of solvers follow the names in the metadata.
func TestSolversOfRollouts(t *testing.T) {
	part := []int32{0, 0}
	for _, ext := range formats {
		columns := map[string]any{"part_a": part, "part_b": part, "method": []uint8{1, 9}}
		path := rolloutTable(t, ext, columns, map[string]string{"solvers": "1=epa,9=bounds"})
		r, _, err := ReadRolloutResults(path)
		if err != nil {
			t.Fatal(err)
		}
		if r.Method()[0] != uint8(batch.SolverEPA) || r.Method()[1] != uint8(batch.SolverBounds) {
			t.Errorf("%s: solvers %v", ext, r.Method())
		}
		path = rolloutTable(t, ext, columns, map[string]string{"solvers": "1=epa,9=warp"})
		_, _, err = ReadRolloutResults(path)
		testkit.WantError(t, err, path, "row 1", "column method", `"warp"`)
	}
}

// TestIncompleteRollouts: a file without a column that its others need is refused.
func TestIncompleteRollouts(t *testing.T) {
	part, status := []int32{0}, []uint8{0}
	for _, ext := range formats {
		for missing, columns := range map[string]map[string]any{
			"part_a":   {"status": status},
			"part_b":   {"status": status, "part_a": part},
			"contacts": {"part_a": part, "part_b": part, "pair": part, "failed": part, "any": status},
			"pair":     {"part_a": part, "part_b": part, "any": status},
			"body_b":   {"part_a": part, "part_b": part, "body_a": part},
			"body_a":   {"part_a": part, "part_b": part, "world": part},
		} {
			path := rolloutTable(t, ext, columns, map[string]string{"worlds": "1"})
			_, _, err := ReadRolloutResults(path)
			testkit.WantError(t, err, path, "column "+missing+" is missing")
		}
	}
}

// A rolloutForm is a form of results of worlds.
type rolloutForm struct {
	name string
	o    batch.RolloutOptions
	rows int // of a world, 0 of all pairs
}

var rolloutForms = []rolloutForm{
	{"rows", batch.RolloutOptions{}, 3},
	{"worlds", batch.RolloutOptions{Reduce: batch.ReduceWorld}, 1},
	{"all pairs", batch.RolloutOptions{MaxDistance: 1, HasMaxDistance: true}, 0},
}

// results makes results of so many worlds, some of which have no rows of all pairs, and one as many as several blocks.
func (f *rolloutForm) results(worlds int) *batch.RolloutResults {
	rng := rand.New(rand.NewPCG(7, uint64(f.rows)))
	offsets := make([]int64, worlds+1)
	for w := range worlds {
		n := f.rows
		if n == 0 {
			n = max(rng.IntN(12)-4, 0)
		}
		if f.rows == 0 && w == worlds/2 {
			n = 2*blockRows + 5
		}
		offsets[w+1] = offsets[w] + int64(n)
	}
	n := int(offsets[worlds])
	o := &batch.Options{Columns: batch.ColDistance | batch.ColStatus}
	r := &batch.RolloutResults{Results: batch.NewResults(n, o)}
	fill := func(to *[]int32) {
		*to = make([]int32, n)
		for i := range *to {
			(*to)[i] = rng.Int32N(1000)
		}
	}
	fill(&r.PartA)
	fill(&r.PartB)
	for i := range n {
		r.Distance().F32[i], r.Status()[i] = rng.Float32(), uint8(rng.IntN(3))
	}
	switch f.rows {
	case 1:
		fill(&r.Pair)
		fill(&r.Contacts)
		fill(&r.Failed)
		r.Any, r.ContactsComplete = make([]uint8, n), true
	case 0:
		fill(&r.BodyA)
		fill(&r.BodyB)
		r.Offsets = offsets
	}
	return r
}

// part is the results of worlds [lo, hi).
func (f *rolloutForm) part(r *batch.RolloutResults, lo, hi int) *batch.RolloutResults {
	begin, end := lo*f.rows, hi*f.rows
	var offsets []int64
	if r.Offsets != nil {
		begin, end = int(r.Offsets[lo]), int(r.Offsets[hi])
		for _, x := range r.Offsets[lo : hi+1] {
			offsets = append(offsets, x-int64(begin))
		}
	}
	cut := func(list []int32) []int32 {
		if list == nil {
			return nil
		}
		return list[begin:end]
	}
	p := &batch.RolloutResults{Results: r.Slice(begin, end), PartA: cut(r.PartA), PartB: cut(r.PartB),
		Pair: cut(r.Pair), Contacts: cut(r.Contacts), Failed: cut(r.Failed), BodyA: cut(r.BodyA), BodyB: cut(r.BodyB),
		Offsets: offsets, ContactsComplete: r.ContactsComplete}
	if r.Any != nil {
		p.Any = r.Any[begin:end]
	}
	return p
}

// write writes the results of worlds [lo, hi), with their range as metadata unless they are all of them.
func (f *rolloutForm) write(path string, r *batch.RolloutResults, lo, hi, of int) error {
	var meta map[string]string
	if hi-lo < of {
		meta = map[string]string{MetaWorlds: fmt.Sprintf("%d:%d", lo, hi)}
	}
	p := f.part(r, lo, hi)
	rows := int64(p.N)
	if f.rows == 0 {
		rows = UnknownRows
	}
	w := CreateRolloutResults(path, &f.o, hi-lo, rows, meta)
	w.From(lo)
	return errors.Join(w.Write(p), w.Close())
}

// sameRollout compares results, and worlds of them by the numbers of their rows.
func sameRollout(t *testing.T, what string, got, want *batch.RolloutResults) {
	t.Helper()
	same := got.N == want.N && slices.Equal(got.Distance().F32, want.Distance().F32) &&
		slices.Equal(got.Status(), want.Status()) && slices.Equal(got.Any, want.Any) &&
		slices.Equal(got.Offsets, want.Offsets)
	for _, c := range [][2][]int32{{got.PartA, want.PartA}, {got.PartB, want.PartB}, {got.Pair, want.Pair},
		{got.Contacts, want.Contacts}, {got.Failed, want.Failed}, {got.BodyA, want.BodyA}, {got.BodyB, want.BodyB}} {
		same = same && slices.Equal(c[0], c[1])
	}
	if !same {
		t.Errorf("%s: %d rows, offsets %v; want %d, %v, or their columns differ", what, got.N, got.Offsets, want.N,
			want.Offsets)
	}
}

// TestRolloutRanges: ranges of worlds are read as the whole has them, of a file and of a folder of parts that follow
// one another, whichever worlds are passed over, and the folder is read as the whole.
func TestRolloutRanges(t *testing.T) {
	const worlds = 40
	for _, f := range rolloutForms {
		whole := f.results(worlds)
		for _, ext := range formats {
			dir := t.TempDir()
			file, folder := filepath.Join(dir, "whole"+ext), t.TempDir()
			if err := f.write(file, whole, 0, worlds, worlds); err != nil {
				t.Fatal(err)
			}
			for i, p := range [][2]int{{0, 7}, {7, 7}, {7, 30}, {30, worlds}} {
				if err := f.write(filepath.Join(folder, fmt.Sprintf("part-%d%s", i, ext)), whole, p[0], p[1],
					worlds); err != nil {
					t.Fatal(err)
				}
			}
			for _, path := range []string{file, folder} {
				what := fmt.Sprintf("%s of %s", f.name, path)
				got, meta, err := ReadRolloutResults(path)
				if err != nil {
					t.Fatal(err)
				}
				sameRollout(t, what, got, whole)
				if text := meta[MetaWorlds]; text != "40" && text != "0:40" || (text == "40") != (path == file) {
					t.Errorf("%s: worlds %q", what, text)
				}
				for _, ranges := range [][][2]int{{{0, worlds}}, {{0, 3}, {3, 3}, {3, 25}, {25, worlds}},
					{{5, 6}, {9, 9}, {20, 21}, {33, 39}}} {
					r, err := OpenRolloutResults(path)
					if err != nil {
						t.Fatal(err)
					}
					if lo, hi := r.Range(); lo != 0 || hi != worlds || r.Len() != int64(whole.N) ||
						r.AllPairs() != (f.rows == 0) || r.Reduced() != (f.rows == 1) || r.Bodies() != (f.rows == 0) {
						t.Errorf("%s: worlds %d to %d, %d rows", what, lo, hi-1, r.Len())
					}
					for _, p := range ranges {
						got, err := r.Worlds(p[0], p[1], f.rows)
						if err != nil {
							t.Fatal(err)
						}
						sameRollout(t, fmt.Sprintf("worlds %v of %s", p, what), got, f.part(whole, p[0], p[1]))
						first := int64(p[0] * f.rows)
						if f.rows == 0 {
							first = whole.Offsets[p[0]]
						}
						if got.N > 0 && r.FirstRow() != first {
							t.Errorf("worlds %v of %s begin at row %d, want %d", p, what, r.FirstRow(), first)
						}
					}
					if _, err := r.Worlds(worlds-1, worlds+1, f.rows); err == nil {
						t.Errorf("%s: a world beyond the last is read", what)
					}
					if err := r.Close(); err != nil {
						t.Error(err)
					}
				}
			}
		}
	}
}

// TestPartOfWorlds: results of some worlds alone know the numbers of these.
func TestPartOfWorlds(t *testing.T) {
	for _, f := range rolloutForms {
		whole := f.results(20)
		path := filepath.Join(t.TempDir(), "part.parquet")
		if err := f.write(path, whole, 6, 15, 20); err != nil {
			t.Fatal(err)
		}
		r, err := OpenRolloutResults(path)
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		if lo, hi := r.Range(); lo != 6 || hi != 15 {
			t.Errorf("%s: worlds %d to %d, want 6 to 14", f.name, lo, hi-1)
		}
		if _, err := r.Worlds(5, 7, f.rows); err == nil {
			t.Errorf("%s: a world before the first is read", f.name)
		}
		got, err := r.Worlds(8, 12, f.rows)
		if err != nil {
			t.Fatal(err)
		}
		sameRollout(t, f.name, got, f.part(whole, 8, 12))
	}
}

// TestRolloutPartsRefused: a folder whose parts do not make one table is refused by the part at fault.
func TestRolloutPartsRefused(t *testing.T) {
	for _, f := range rolloutForms {
		whole := f.results(20)
		for name, parts := range map[string][][2]int{
			"a gap": {{0, 5}, {6, 20}}, "twice": {{0, 5}, {0, 5}}, "out of order": {{5, 20}, {0, 5}},
			"beside the whole": {{0, 5}, {0, 20}}, "after the whole": {{0, 20}, {5, 20}},
		} {
			dir := t.TempDir()
			for i, p := range parts {
				path := filepath.Join(dir, fmt.Sprintf("part-%d.npz", i))
				if err := f.write(path, whole, p[0], p[1], 20); err != nil {
					t.Fatal(err)
				}
			}
			_, _, err := ReadRolloutResults(dir)
			testkit.WantError(t, err, dir, "metadata worlds", "part-1.npz")
			if t.Failed() {
				t.Fatalf("%s, %s", f.name, name)
			}
		}
	}
	f := rolloutForms[1]
	dir := t.TempDir()
	for i, complete := range []bool{true, false} {
		r := f.results(20)
		r.ContactsComplete = complete
		if err := f.write(filepath.Join(dir, fmt.Sprintf("part-%d.npz", i)), r, 10*i, 10*i+10, 20); err != nil {
			t.Fatal(err)
		}
	}
	_, _, err := ReadRolloutResults(dir)
	testkit.WantError(t, err, "part-1.npz", "contacts_complete", "part-0.npz")
}

// TestWorldsOutOfOrder: rows of all pairs whose worlds are not in order, or not those of the results, are refused.
func TestWorldsOutOfOrder(t *testing.T) {
	four := []int32{0, 0, 0, 0}
	for _, ext := range formats {
		for _, worlds := range [][]int32{{0, 2, 1, 3}, {0, 1, 4, 4}, {-1, 0, 1, 2}} {
			path := rolloutTable(t, ext, map[string]any{"part_a": four, "part_b": four, "body_a": four, "body_b": four,
				"world": worlds}, map[string]string{"worlds": "4"})
			r, err := OpenRolloutResults(path)
			if err != nil {
				t.Fatal(err)
			}
			_, err = r.Worlds(0, 4, 0)
			testkit.WantError(t, err, path, "column world, row ")
			if err := r.Close(); err != nil {
				t.Error(err)
			}
		}
	}
	for _, text := range []string{"5:3", "-1:2", "a:b", ":", "1:2:3"} {
		path := rolloutTable(t, ".npz", map[string]any{"part_a": four, "part_b": four},
			map[string]string{"worlds": text})
		_, err := OpenRolloutResults(path)
		testkit.WantError(t, err, path, "metadata worlds", text)
	}
}

// TestSweepRanges: ranges of worlds of motions are read as the whole has them, of a file and of a folder of parts.
func TestSweepRanges(t *testing.T) {
	const worlds, rows = 30, 2
	rng := rand.New(rand.NewPCG(8, 1))
	whole := batch.NewSweepResults(worlds * rows)
	for i := range whole.N {
		whole.State[i], whole.Lower[i], whole.Evaluations[i] = uint8(rng.IntN(3)), rng.Float64(), rng.Int32N(9)
	}
	part := func(lo, hi int) *batch.SweepResults {
		p := batch.NewSweepResults((hi - lo) * rows)
		copy(p.State, whole.State[lo*rows:])
		copy(p.Lower, whole.Lower[lo*rows:])
		copy(p.Evaluations, whole.Evaluations[lo*rows:])
		return p
	}
	for _, ext := range formats {
		file, folder := filepath.Join(t.TempDir(), "whole"+ext), t.TempDir()
		if err := WriteSweepResults(file, whole, worlds, 3, nil); err != nil {
			t.Fatal(err)
		}
		for i, p := range [][2]int{{0, 4}, {4, 21}, {21, worlds}} {
			meta := map[string]string{MetaWorlds: fmt.Sprintf("%d:%d", p[0], p[1])}
			path := filepath.Join(folder, fmt.Sprintf("part-%d%s", i, ext))
			if err := WriteSweepResults(path, part(p[0], p[1]), p[1]-p[0], 3, meta); err != nil {
				t.Fatal(err)
			}
		}
		for _, path := range []string{file, folder} {
			r, err := OpenSweepResults(path)
			if err != nil {
				t.Fatal(err)
			}
			if lo, hi := r.Range(); lo != 0 || hi != worlds || r.Len() != worlds*rows {
				t.Errorf("%s: worlds %d to %d, %d rows", path, lo, hi-1, r.Len())
			}
			for _, p := range [][2]int{{2, 5}, {5, 5}, {8, 28}} {
				got, err := r.Worlds(p[0], p[1], rows)
				if err != nil {
					t.Fatal(err)
				}
				want := part(p[0], p[1])
				if !slices.Equal(got.State, want.State) || !slices.Equal(got.Lower, want.Lower) ||
					!slices.Equal(got.Evaluations, want.Evaluations) || got.N != want.N {
					t.Errorf("%s: worlds %v differ", path, p)
				}
			}
			if _, err := r.Worlds(worlds, worlds+1, rows); err == nil {
				t.Errorf("%s: a world beyond the last is read", path)
			}
			if err := r.Close(); err != nil {
				t.Error(err)
			}
		}
		if err := WriteSweepResults(filepath.Join(folder, "part-9"+ext), part(0, 4), 4, 3, nil); err != nil {
			t.Fatal(err)
		}
		_, err := OpenSweepResults(folder)
		testkit.WantError(t, err, folder, "metadata worlds", "part-9")
	}
}

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

package dataset

import (
	"archive/zip"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/apache/arrow-go/v18/parquet"

	"clearance/batch"
	ours "clearance/dataset/parquet"
	"clearance/internal/testkit"
)

// motionsFile writes worlds of moving bodies, each with bodies of its own, and returns them.
func motionsFile(t *testing.T, path string, worlds int) *batch.Motions {
	t.Helper()
	const m, way = 3, 2
	rng := rand.New(rand.NewPCG(30, 3))
	motions := &batch.Motions{M: m, T: way, TemplateA: []int32{0}, TemplateB: []int32{2}}
	for range worlds * m {
		motions.Bodies = append(motions.Bodies, rng.Int32N(3)-1)
	}
	for range worlds * way * m * 7 {
		motions.Poses = append(motions.Poses, rng.Float64())
	}
	if err := WriteMotions(path, motions, someBodies(t)); err != nil {
		t.Fatal(err)
	}
	return motions
}

// deflated compresses the arrays of an NPZ file.
func deflated(t *testing.T, path string) {
	t.Helper()
	old, err := zip.OpenReader(path)
	if err != nil {
		t.Fatal(err)
	}
	defer old.Close()
	out, err := os.Create(path + ".new")
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	w := zip.NewWriter(out)
	for _, member := range old.File {
		from, err := member.Open()
		if err != nil {
			t.Fatal(err)
		}
		to, err := w.Create(member.Name)
		if err == nil {
			_, err = io.Copy(to, from)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(path+".new", path); err != nil {
		t.Fatal(err)
	}
}

// TestWorldRanges: ranges of a file, also with gaps, are the same as slices of the whole, in files of several row
// groups and of arrays that are stored or deflated.
func TestWorldRanges(t *testing.T) {
	bodies := someBodies(t)
	const worlds = ours.RowGroup/3 + 7 // of 6 rows in Parquet: more than two row groups
	for _, file := range []string{"stored.npz", "deflated.npz", "w.parquet"} {
		path := filepath.Join(t.TempDir(), file)
		all := motionsFile(t, path, worlds)
		if file == "deflated.npz" {
			deflated(t, path)
		}
		for _, ranges := range [][][2]int{
			{{0, worlds}},
			{{0, 1}, {1, 1}, {1, worlds / 2}, {worlds / 2, worlds}},
			{{3, 5}, {7, 8}, {worlds - 2, worlds - 1}},
			{{worlds - 1, worlds}, {worlds, worlds}},
			{{ours.RowGroup / 6, ours.RowGroup/6 + 2}},
		} {
			r, err := OpenMotions(path, bodies)
			if err != nil {
				t.Fatal(err)
			}
			if r.Count() != worlds || r.BodiesPerWorld() != 3 || r.WayPoints() != 2 || r.RowsPerWorld() != 1 {
				t.Fatalf("%s: %d worlds of %d bodies, %d way points, %d pairs", file, r.Count(), r.BodiesPerWorld(),
					r.WayPoints(), r.RowsPerWorld())
			}
			for _, k := range ranges {
				got, err := r.Worlds(k[0], k[1])
				if err != nil {
					t.Fatalf("%s, worlds %v: %v", file, k, err)
				}
				want := all.Slice(k[0], k[1])
				if got.Count() != k[1]-k[0] || !slices.Equal(got.Poses, want.Poses) {
					t.Fatalf("%s, worlds %v: other poses", file, k)
				}
				for w := range got.Count() {
					for b := range int32(3) {
						if got.Body(w, b) != want.Body(w, b) {
							t.Fatalf("%s, worlds %v: other bodies in world %d", file, k, w)
						}
					}
				}
			}
			if last := ranges[len(ranges)-1][1]; last > 0 {
				if _, err := r.Worlds(last-1, last); err == nil {
					t.Errorf("%s: world %d read again", file, last-1)
				}
			}
			if err := r.Close(); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// TestShardReadsItsRange: the last world is read whatever the bytes of worlds before it are, and an error names
// the world of the file.
func TestShardReadsItsRange(t *testing.T) {
	bodies := someBodies(t)
	for _, ext := range formats {
		path := filepath.Join(t.TempDir(), "w"+ext)
		const worlds = ours.RowGroup/3 + 7
		motionsFile(t, path, worlds)
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for i := len(data) * 6 / 10; i < len(data)*8/10; i++ { // of the poses, or of the second of three row groups
			data[i] ^= 0x55
		}
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := ReadMotions(path, bodies); err == nil {
			t.Errorf("%s: a damaged file was read", ext)
		}
		r, err := OpenMotions(path, bodies)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := r.Worlds(worlds-1, worlds); err != nil {
			t.Errorf("%s: the last world: %v", ext, err)
		}
		r.Close()
	}
	path := filepath.Join(t.TempDir(), "w.npz")
	motions := motionsFile(t, path, 9)
	motions.Bodies[3*7+1] = 1
	if err := WriteMotions(path, motions, bodies); err != nil {
		t.Fatal(err)
	}
	one, err := batch.NewBodies(bodies.Library(), []batch.Body{{Parts: bodies.Parts(0)}})
	if err != nil {
		t.Fatal(err)
	}
	r, err := OpenMotions(path, one)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	_, err = r.Worlds(7, 8)
	testkit.WantError(t, err, path, "bodies[22] (world 7, body 1) = 1")
}

// worldRows are rows of a Parquet file of worlds, with poses that differ.
type worldRows struct {
	world, wayPoint, index []int32
	shapes                 bool
	meta                   map[string]string
}

// file writes the rows as they are.
func (r *worldRows) file(t *testing.T) string {
	t.Helper()
	form := formBodies
	if r.shapes {
		form = formShapes
	}
	form.wayPoints = r.wayPoint != nil
	n := len(r.world)
	b := newWorldBlock(n)
	for i := range b.position {
		b.position[i] = float64(i)
	}
	for i := range b.rotation {
		b.rotation[i] = -float64(i)
	}
	values := []any{r.world, r.index, b.position, b.rotation}
	if form.wayPoints {
		values = append(values, r.wayPoint)
	}
	path := filepath.Join(t.TempDir(), "worlds.parquet")
	writeTable(t, path, form.table(), r.meta, values, n)
	return path
}

// TestWorldRows: what is wrong with the rows of a file of worlds is named with file, row and column.
func TestWorldRows(t *testing.T) {
	bodies := someBodies(t)
	pairs := map[string]string{"template": "[[0, 1]]"}
	index := func(n int) []int32 { return make([]int32, n) }
	for _, c := range []struct {
		rows worldRows
		want []string
	}{
		{worldRows{world: []int32{1, 1}, index: index(2)}, []string{"row 0: world 1"}},
		{worldRows{world: []int32{0, 0, 2, 2}, index: index(4)}, []string{"row 2: world 2"}},
		{worldRows{world: []int32{0, 0, 1, 1, 1}, index: index(5)}, []string{"row 4: world 1", "behind body 1"}},
		{worldRows{world: []int32{0, 0, 1, 2}, index: index(4)},
			[]string{"row 3: world 2", "behind body 0 of world 1"}},
		{worldRows{world: []int32{0, 0, 1}, index: index(3)}, []string{"row 3 is missing", "body 0 of world 1"}},
		{worldRows{world: []int32{0, 0, 1, 0}, index: index(4)}, []string{"row 3: world 0"}},
		{worldRows{world: []int32{0, -1}, index: index(2)}, []string{"row 1: world -1"}},
		{worldRows{world: []int32{0, 0, 1, 1}, index: []int32{0, 1, 0, 0}, shapes: true, meta: pairs},
			[]string{"row 3: column shape is 0, want 1 as in world 0", "column body"}},
		{worldRows{world: []int32{0, 0, 1, 1}, index: []int32{0, 1, 0, 7}},
			[]string{"bodies[3] (world 1, body 1) = 7"}},
		{worldRows{world: []int32{0, 0}, index: index(2), meta: map[string]string{"template": "[[0, 2]]"}},
			[]string{"template_b[0] = 2"}},
		{worldRows{world: index(2), index: index(2), meta: map[string]string{"template": "[[0, 1], [1]]"}},
			[]string{"metadata template, pair 1: 1 numbers, want 2"}},
		{worldRows{world: index(2), index: index(2), meta: map[string]string{"template": "[[0, 1], [0.5, 1]]"}},
			[]string{"metadata template, pair 1", "0.5"}},
		{worldRows{world: index(2), index: index(2), meta: map[string]string{"template": "[[0, 1]"}},
			[]string{"metadata template, pair 1"}},
		{worldRows{world: index(2), index: index(2), meta: map[string]string{"template": "[[0, 1]] 2"}},
			[]string{"metadata template, pair 1: more text"}},
		{worldRows{world: index(2), index: index(2), meta: map[string]string{"skip": `{"a": 1}`}},
			[]string{"metadata skip, pair 0: want a JSON array"}},
		{worldRows{world: index(2), index: index(2), meta: map[string]string{"skip": "[]", "template": "[]"}},
			[]string{"metadata template and skip"}},
		{worldRows{world: index(2), index: index(2), shapes: true}, []string{"metadata template is missing"}},
		{worldRows{world: index(2), index: index(2), shapes: true,
			meta: map[string]string{"skip": "[]", "template": "[]"}},
			[]string{"metadata skip: pairs to skip apply to all pairs"}},
		{worldRows{world: index(2), index: index(2), wayPoint: index(2), meta: pairs},
			[]string{"column way_point", "2"}},
		{worldRows{world: index(3), index: index(3), wayPoint: []int32{0, 1, 3}, meta: pairs},
			[]string{"row 2: world 0, way point 3"}},
		{worldRows{world: []int32{0, 0, 0, 1, 1}, index: index(5), wayPoint: []int32{0, 1, 2, 0, 1}, meta: pairs},
			[]string{"row 5 is missing"}},
		{worldRows{world: []int32{0, 0, 1, 1, 1}, index: index(5), wayPoint: []int32{0, 1, 0, 1, 2}, meta: pairs},
			[]string{"row 4: world 1, way point 2"}},
		{worldRows{world: []int32{0, 0, 1, 2}, index: index(4), wayPoint: []int32{0, 1, 0, 0}, meta: pairs},
			[]string{"row 3: world 2, way point 0"}},
		{worldRows{world: index(4), index: []int32{0, 1, 0, 0}, wayPoint: []int32{0, 0, 1, 1}, meta: pairs},
			[]string{"row 3: column body is 0, want 1 as at way point 0"}},
	} {
		path := c.rows.file(t)
		var err error
		switch {
		case c.rows.shapes:
			_, err = ReadWorlds(path)
		case c.rows.wayPoint != nil:
			_, err = ReadMotions(path, bodies)
		default:
			_, err = ReadRollout(path, bodies)
		}
		testkit.WantError(t, err, append([]string{path}, c.want...)...)
	}
}

// TestWorldRowsRead: the pairs of worlds without rows, and lists that only some worlds share.
func TestWorldRowsRead(t *testing.T) {
	bodies := someBodies(t)
	none := worldRows{meta: map[string]string{"template": "[[0, 1]]"}}
	w, err := ReadRollout(none.file(t), bodies)
	if err != nil || w.Count() != 0 || w.AllPairs || len(w.TemplateA) != 0 {
		t.Errorf("no worlds: %+v, %v", w, err)
	}
	some := worldRows{world: []int32{0, 0, 1, 1, 2, 2}, index: []int32{0, 1, 0, 1, 0, -1},
		meta: map[string]string{"skip": " [ [1, 0] ] ", "pandas": "{}"}}
	w, err = ReadRollout(some.file(t), bodies)
	if err != nil {
		t.Fatal(err)
	}
	if w.M != 2 || !slices.Equal(w.Bodies, some.index) || w.Poses[7*5+2] != 17 || w.Poses[7*5+6] != -23 ||
		!w.AllPairs || !slices.Equal(w.SkipA, []int32{1}) {
		t.Errorf("%+v", w)
	}
}

// TestManyWorldRows: worlds of more rows than are read at a time.
func TestManyWorldRows(t *testing.T) {
	bodies := someBodies(t)
	const m, worlds = 3, blockOfWorlds
	w := &batch.Worlds{M: m, Poses: make([]float64, 7*m*worlds), TemplateA: []int32{0}, TemplateB: []int32{2}}
	for i := range w.Poses {
		w.Poses[i] = float64(i)
	}
	for i := range m * worlds {
		w.Bodies = append(w.Bodies, int32(i*i%3)-1)
	}
	path := filepath.Join(t.TempDir(), "worlds.parquet")
	if err := WriteRollout(path, w, bodies); err != nil {
		t.Fatal(err)
	}
	got, err := ReadRollout(path, bodies)
	if err != nil || !slices.Equal(got.Poses, w.Poses) || !slices.Equal(got.Bodies, w.Bodies[:m]) {
		t.Errorf("%d bodies, %d poses, %v", len(got.Bodies), len(got.Poses), err)
	}
	if _, err := ReadRollout(path, bodies, WithMemory(1<<10)); err == nil {
		t.Error("read in a budget of 1024 bytes")
	}
}

// TestWorldLeaves: lists of another length, nulls and other types are refused with row and column.
func TestWorldLeaves(t *testing.T) {
	leaves := func(change func(s []leafSpec) []leafSpec) string {
		var s []leafSpec
		for _, c := range formBodies.table() {
			l := leafSpec{name: c.Name, physical: parquet.Types.Int32, list: c.Width > 1}
			if l.list {
				l.physical = parquet.Types.Double
			}
			s = append(s, l)
		}
		path := filepath.Join(t.TempDir(), "worlds.parquet")
		writeLeaves(t, path, change(s), 4)
		return path
	}
	for want, change := range map[string]func(s []leafSpec) []leafSpec{
		"column position has 11 values": func(s []leafSpec) []leafSpec { s[2].lengths = []int{3, 2}; return s },
		"column world: row 2: null": func(s []leafSpec) []leafSpec {
			s[0].optional, s[0].nulls = true, []int{2}
			return s
		},
		"column rotation is missing, want float64 [N,4]": func(s []leafSpec) []leafSpec { return s[:3] },
		"column body is float64, want int32 or int64": func(s []leafSpec) []leafSpec {
			s[1].physical = s[2].physical
			return s
		},
		`unknown column "y"`: func(s []leafSpec) []leafSpec {
			s = append(s, s[0])
			s[4].name = "y"
			return s
		},
	} {
		path := leaves(change)
		_, err := ReadRollout(path, someBodies(t))
		testkit.WantError(t, err, path, want)
	}
}

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

package dataset

import (
	"path/filepath"
	"slices"
	"testing"

	"clearance/batch"

	"github.com/apache/arrow-go/v18/parquet"
)

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
		wantError(t, err, append([]string{path}, c.want...)...)
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
			l := leafSpec{name: c.name, physical: parquet.Types.Int32, list: c.width > 1}
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
		wantError(t, err, path, want)
	}
}

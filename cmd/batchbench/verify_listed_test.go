package main

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"clearance/batch"
	"clearance/contact"
	"clearance/dataset"
	"clearance/tests/need"
)

// listedScenes are steps whose contacts the tests audit: arguments of `step`, and of `verify contact` for its worlds.
func listedScenes(t *testing.T, dir string) map[string][]string {
	t.Helper()
	list := map[string][]string{"shapes": fewShapes(t, dir)}
	kinds := []string{"stack4"}
	if need.All() {
		kinds = []string{"ground", "heap", "mixed", "stack4", "stack10"}
	}
	for _, kind := range kinds {
		list[kind] = []string{"--scene", kind, "--count", "3", "--seed", "7"}
	}
	return list
}

// fewShapes writes a turntable, the ground, and bodies of several kinds, two of them of two parts, that fall on them.
func fewShapes(t *testing.T, dir string) []string {
	t.Helper()
	shapes, worlds := filepath.Join(dir, "s.json"), filepath.Join(dir, "w.npz")
	document := `{"version": 1, "shapes": [{"kind": "halfspace", "name": "ground"},
		{"kind": "cylinder", "name": "table", "radius": 0.6, "half_length": 0.05},
		{"kind": "box", "name": "box", "half_extents": [0.1, 0.15, 0.1]},
		{"kind": "capsule", "name": "capsule", "radius": 0.08, "half_length": 0.15},
		{"kind": "cylinder", "name": "log", "radius": 0.08, "half_length": 0.15},
		{"kind": "ellipsoid", "name": "egg", "semi_axes": [0.1, 0.12, 0.15]}],
		"bodies": [{"name": "ground", "parts": [{"shape": "ground"}]},
		{"name": "table", "fixed": true, "parts": [{"shape": "table"}]},
		{"name": "crate", "parts": [{"shape": "box"}], "mass": 2},
		{"name": "hammer", "mass": 1, "parts": [{"shape": "box", "position": [0.2, 0, 0]}, {"shape": "log"}]},
		{"name": "logs", "mass": 1, "parts": [{"shape": "log"}, {"shape": "capsule", "position": [0, 0.2, 0]}]},
		{"name": "egg", "parts": [{"shape": "egg"}], "mass": 1}]}`
	if err := os.WriteFile(shapes, []byte(document), 0o666); err != nil {
		t.Fatal(err)
	}
	bodies, err := dataset.ReadBodies(shapes)
	if err != nil {
		t.Fatal(err)
	}
	w := &batch.Worlds{M: 7, Bodies: slices.Concat(slices.Repeat([]int32{0, 1, 2, 2, 3, 4, 5}, 2)), AllPairs: true}
	spins := newColumnBuffer([]dataset.ColumnSpec{{Name: "spin", Width: 21}})
	for k := range 2 {
		tilt := 0.01 * float64(k)
		w.Poses = append(w.Poses, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0.3, 1, 0, 0, 0,
			0.2, 0, 0.46, 1, tilt, 0, 0, 0.2, 0.02, 0.67, 1, 0, tilt, 0, // crates on the table, one on the other
			-0.3, 0.1, 0.46, 1, tilt, 0, 0,
			1, 0, 0.09, 0.7071067811865476, 0, 0.7071067811865476, tilt, // lying on the ground
			-1.5, 0, 0.16, 1, 0, tilt, 0)
		spins.add(1, append(append(make([]float64, 3), 0, 0, 1.5), make([]float64, 15)...))
	}
	if err := dataset.WriteRollout(worlds, w, bodies); err != nil {
		t.Fatal(err)
	}
	if err := spins.write(filepath.Join(dir, "spins.npz")); err != nil {
		t.Fatal(err)
	}
	return []string{"--shapes", shapes, "--worlds", worlds}
}

// steppedFiles makes steps, and returns the files and the flags of `verify contact`.
func steppedFiles(t *testing.T, dir, name string, scene []string, more ...string) (files *listedFiles, flags []string) {
	t.Helper()
	at := func(kind string) string { return filepath.Join(dir, name+kind+".npz") }
	steps := "12"
	if name == "heap" || name == "mixed" { // whose bodies fall
		steps = "120"
	}
	step := append([]string{"step", "--out", at(""), "--problems", at("_p"), "--contacts", at("_c"), "--steps", steps},
		append(scene, more...)...)
	if name == "shapes" {
		step = append(step, "--velocities", filepath.Join(dir, "spins.npz"))
	}
	command(step...).want(t, exitGood)
	return &listedFiles{contacts: at("_c"), problems: at("_p"), states: at(""), timeStep: 5e-3},
		append([]string{"verify", "contact", "--results", at("_p"), "--contacts", at("_c"), "--states",
			at("")}, scene...)
}

// TestVerifyListed: contacts of steps pass as they were written, in full by their states and the worlds.
func TestVerifyListed(t *testing.T) {
	dir := t.TempDir()
	for name, scene := range listedScenes(t, dir) {
		files, full := steppedFiles(t, dir, name, scene)
		o := command(full...).want(t, exitGood)
		o.prints(t, "of 0 not audited")
		part := full[:6:6]
		command(part...).want(t, exitWrong).says(t, "not audited; see --states")
		command(append(part, scene...)...).want(t, exitBadInput).says(t, "go together")
		command(append(full[:8:8], "--time-step", "1e-3")...).want(t, exitBadInput).says(t, "go together")
		command(append(full[:len(full):len(full)], "--time-step", "1e-3")...).want(t, exitBadInput).says(t,
			files.contacts+" claims the time step 0.005 s")
		command(append(full[:2:2], "--results", files.problems, "--states", files.states)...).want(t, exitBadInput).
			says(t, "--contacts")
		_, full = steppedFiles(t, dir, name, scene, "--every", "2")
		command(full...).want(t, exitWrong).says(t, "not in the file")
	}
	command("verify", "contact", "--results", "p.npz", "--contacts", "c.npz", "--states", "s.npz", "--shapes",
		"s.json").want(t, exitBadInput).says(t, "--worlds is missing")
}

// listedLies are changes of a column of a file of contacts, in some rows.
var listedLies = []struct {
	name   string
	change func(x float64) float64
}{
	{"one percent more", func(x float64) float64 { return 1.01 * x }},
	{"1e-6 more", func(x float64) float64 { return x + 1e-6 }},
	{"the other sign", func(x float64) float64 { return -x }},
	{"zero", func(float64) float64 { return 0 }},
	{"NaN", func(float64) float64 { return math.NaN() }},
	{"infinity", func(float64) float64 { return math.Inf(1) }},
}

// TestVerifyListedLies: every column of a list of contacts by 1 %, sign, zero, NaN, infinity and swapped rows, of one
// row and of all, is refuted.
func TestVerifyListedLies(t *testing.T) {
	dir := t.TempDir()
	for name, scene := range listedScenes(t, dir) {
		files, full := steppedFiles(t, dir, name, scene)
		f := newVerifyContactOf(t, full)
		var err error
		if files.scene, err = f.scene(t.Context(), &env{}); err != nil {
			t.Fatal(err)
		}
		p, s, _, err := readContacts(files.problems)
		if err != nil {
			t.Fatal(err)
		}
		a := &listAudit{problem: p, solution: s}
		of, err := files.read(a)
		if err != nil {
			t.Fatal(err)
		}
		tell := &listedTeller{t: t, a: a, steps: of.Ints("step"), worlds: of.Ints("world"),
			rng: rand.New(rand.NewPCG(45, 7))}
		if n := tell.refuted(); n != 0 || a.Places+a.Worlds != 0 {
			t.Fatalf("%s: the honest file: %v, %+v", name, a.failures[:min(n, 8)], a.listedReport)
		}
		tell.all(name)
		t.Logf("%s: %d contacts, %d lies", name, a.Contacts, tell.count)
		if tell.count < 80 {
			t.Errorf("%s: %d lies", name, tell.count)
		}
	}
}

// newVerifyContactOf are the flags of a command line.
func newVerifyContactOf(t *testing.T, args []string) *verifyContactFlags {
	t.Helper()
	f := &verifyContactFlags{step: newStepFlags()}
	for i, a := range args {
		switch a {
		case "--states":
			f.states = args[i+1]
		case "--scene":
			f.step.scene = args[i+1]
		case "--seed":
			if _, err := fmt.Sscan(args[i+1], &f.step.seed); err != nil {
				t.Fatal(err)
			}
		case "--shapes":
			f.step.shapes = args[i+1]
		case "--worlds":
			f.step.worlds = args[i+1]
		}
	}
	return f
}

// listedTeller tells lies of a list of contacts.
type listedTeller struct {
	t             *testing.T
	a             *listAudit
	steps, worlds []int32
	rng           *rand.Rand
	count         int
}

// refuted audits the list as it is.
func (l *listedTeller) refuted() int {
	l.a.listedReport = listedReport{Contacts: l.a.Contacts, stated: true}
	l.a.run(l.steps, l.worlds)
	return l.a.wrong
}

func (l *listedTeller) check(lie string) {
	l.t.Helper()
	if l.count++; l.refuted() == 0 && l.a.Places+l.a.Worlds == 0 {
		l.t.Errorf("%s: believed", lie)
	}
}

// all tells every kind of lie of every column.
func (l *listedTeller) all(name string) {
	list := &l.a.list
	n := l.a.Contacts
	for _, all := range []bool{false, true} {
		for _, c := range []struct {
			name   string
			of     []float64
			needed float64 // difference from which a change is one
		}{{"position", list.Position, 1e-12}, {"normal", list.Normal, 1e-12}, {"impulse", list.Impulse, 1e-9},
			{"gap", list.Gap, 1e-7}} {
			for _, lie := range listedLies {
				l.reals(fmt.Sprintf("%s: %s, %s, all %v", name, c.name, lie.name, all), c.of, all, c.needed, lie.change)
			}
			l.swapped(fmt.Sprintf("%s: %s, swapped, all %v", name, c.name, all), c.of, all, c.needed)
		}
		for _, c := range []struct {
			name string
			of   []int32
		}{{"step", l.a.table.Ints("step")}, {"world", list.World}, {"body_a", list.BodyA}, {"body_b", list.BodyB},
			{"part_a", list.PartA}, {"part_b", list.PartB}} {
			for by, change := range map[string]func(x int32) int32{"one more": func(x int32) int32 { return x + 1 },
				"-1": func(int32) int32 { return -1 }, "one less": func(x int32) int32 { return x - 1 },
				"the largest": func(int32) int32 { return math.MaxInt32 }} {
				l.ints(fmt.Sprintf("%s: %s, %s, all %v", name, c.name, by, all), c.of, all, change)
			}
		}
		for by, change := range map[string]func(x uint64) uint64{"one more": func(x uint64) uint64 { return x + 1 },
			"another feature of A": func(x uint64) uint64 { return x ^ 1<<31 },
			"another kind":         func(x uint64) uint64 { return x ^ 1<<62 },
			"zero":                 func(uint64) uint64 { return 0 },
			"the witnesses":        func(uint64) uint64 { return 3 << 62 },
			"ones":                 func(uint64) uint64 { return math.MaxUint64 },
			"a point that entered": func(uint64) uint64 { return 3<<62 + 1<<31 }} {
			kept := slices.Clone(list.ID)
			for k, i := range l.rows(n, all) {
				list.ID[i] = change(kept[i])
				if k == 0 && list.ID[i] == kept[i] {
					list.ID[i] = 0
				}
			}
			// Points next to one another have the ID of any of them.
			if !slices.Equal(kept, list.ID) && !(by == "the witnesses" && !all) {
				l.check(fmt.Sprintf("%s: ID, %s, all %v", name, by, all))
			}
			copy(list.ID, kept)
		}
	}
	i := l.swappable()
	list.ID[i], list.ID[i+1] = list.ID[i+1], list.ID[i]
	l.check(name + ": IDs, swapped")
	list.ID[i], list.ID[i+1] = list.ID[i+1], list.ID[i]
}

// swappable is the first of two contacts of one pair in a row.
func (l *listedTeller) swappable() int {
	list := &l.a.list
	for i := range l.a.Contacts - 1 {
		if list.World[i] == list.World[i+1] && list.BodyA[i] == list.BodyA[i+1] && list.BodyB[i] == list.BodyB[i+1] &&
			list.PartA[i] == list.PartA[i+1] && list.PartB[i] == list.PartB[i+1] {
			return i
		}
	}
	l.t.Fatal("no pair has two contacts")
	return 0
}

// rows are all rows, or one.
func (l *listedTeller) rows(n int, all bool) (list []int) {
	if !all {
		return []int{l.rng.IntN(n)}
	}
	for i := range n {
		list = append(list, i)
	}
	return list
}

func (l *listedTeller) reals(lie string, column []float64, all bool, needed float64, change func(float64) float64) {
	l.t.Helper()
	kept := slices.Clone(column)
	width, changed := len(column)/l.a.Contacts, false
	for _, i := range l.rows(l.a.Contacts, all) {
		for k := width * i; k < width*(i+1); k++ {
			column[k] = change(kept[k])
			changed = changed || !(math.Abs(column[k]-kept[k]) <= needed)
		}
	}
	if changed {
		l.check(lie)
	}
	copy(column, kept)
}

// swapped exchanges two rows, or reverses all.
func (l *listedTeller) swapped(lie string, column []float64, all bool, needed float64) {
	l.t.Helper()
	kept, n := slices.Clone(column), l.a.Contacts
	width, changed := len(column)/n, false
	i, j := l.rng.IntN(n), l.rng.IntN(n)
	for row := range n {
		from := row
		switch {
		case all:
			from = n - 1 - row
		case row == i:
			from = j
		case row == j:
			from = i
		}
		for k := range width {
			x := kept[width*from+k]
			column[width*row+k] = x
			changed = changed || !(math.Abs(x-kept[width*row+k]) <= needed)
		}
	}
	if changed {
		l.check(lie)
	}
	copy(column, kept)
}

func (l *listedTeller) ints(lie string, column []int32, all bool, change func(int32) int32) {
	l.t.Helper()
	kept := slices.Clone(column)
	for _, i := range l.rows(l.a.Contacts, all) {
		column[i] = change(kept[i])
	}
	if !slices.Equal(kept, column) {
		l.check(lie)
	}
	copy(column, kept)
}

// TestVerifyListedWorlds: rows that are missing, doubled, or of worlds that were not advanced are refuted.
func TestVerifyListedWorlds(t *testing.T) {
	dir := t.TempDir()
	scene := []string{"--scene", "stack4", "--count", "2"}
	files, full := steppedFiles(t, dir, "one", scene)
	table, err := dataset.ReadColumns(files.contacts, listedColumns())
	if err != nil {
		t.Fatal(err)
	}
	values, err := tableSlices("contacts", table, listedColumns())
	if err != nil {
		t.Fatal(err)
	}
	states, err := dataset.ReadColumns(files.states, stateColumns(5))
	if err != nil {
		t.Fatal(err)
	}
	stateValues, err := tableSlices("states", states, stateColumns(5))
	if err != nil {
		t.Fatal(err)
	}
	write := func(path string, specs []dataset.ColumnSpec, n int, values []any) {
		t.Helper()
		b := newColumnBuffer(specs)
		b.add(n, values...)
		if err := b.write(path); err != nil {
			t.Fatal(err)
		}
	}
	for what, keep := range map[string]func() []int{
		"a row is missing": func() []int { return append(indices(0, 7), indices(8, table.Rows)...) },
		"a row is doubled": func() []int { return append(indices(0, 8), indices(7, table.Rows)...) },
		"no rows":          func() []int { return nil },
		"rows in reverse":  func() []int { r := indices(0, table.Rows); slices.Reverse(r); return r },
		"rows of one world": func() []int {
			return slices.DeleteFunc(indices(0, table.Rows), func(i int) bool {
				return table.Ints("world")[i] == 1
			})
		},
	} {
		rows := keep()
		write(files.contacts, listedColumns(), len(rows), rowsOf(values, table.Rows, rows))
		if got := command(full...); got.code != exitWrong || strings.Contains(got.stdout, " 0 claims refuted") {
			t.Errorf("%s: exit code %d\n%s%s", what, got.code, got.stdout, got.stderr)
		}
	}
	write(files.contacts, listedColumns(), table.Rows, values)
	for _, status := range []contact.StepStatus{contact.MotionUndecided, contact.NotStepped, contact.AdvancedInParts,
		99} {
		codes := slices.Clone(states.Codes("status"))
		codes[7] = uint8(status)
		forged := slices.Clone(stateValues)
		forged[slices.IndexFunc(stateColumns(5), func(c dataset.ColumnSpec) bool { return c.Name == "status" })] = codes
		write(files.states, stateColumns(5), states.Rows, forged)
		command(full...).want(t, exitWrong)
	}
}

func indices(lo, hi int) (list []int) {
	for i := lo; i < hi; i++ {
		list = append(list, i)
	}
	return list
}

// rowsOf are some of the n rows of columns.
func rowsOf(values []any, n int, rows []int) []any {
	out := make([]any, len(values))
	for i, v := range values {
		switch v := v.(type) {
		case []float64:
			list := []float64{}
			for _, r := range rows {
				list = append(list, v[r*len(v)/n:(r+1)*len(v)/n]...)
			}
			out[i] = list
		case []int32:
			list := []int32{}
			for _, r := range rows {
				list = append(list, v[r*len(v)/n:(r+1)*len(v)/n]...)
			}
			out[i] = list
		}
	}
	return out
}

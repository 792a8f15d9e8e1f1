package main

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"clearance/batch"
	"clearance/contact"
	"clearance/contact/scenes"
	"clearance/dataset"
	"clearance/dataset/table"
	"clearance/internal/testkit"
	native "clearance/kernels/contact"
	"clearance/ref"
	"clearance/tests/need"
	"clearance/verify"
)

// contactRows are the cells of the table of contact, by solver.
func contactRows(text string) map[string][]string {
	rows := map[string][]string{}
	for line := range strings.Lines(text) {
		if cells := strings.Fields(line); len(cells) == 15 {
			rows[cells[0]] = cells
		}
	}
	return rows
}

// TestContact solves scenes by every solver and prints a line each. What is solved is within the tolerance, of package
// ref too.
func TestContact(t *testing.T) {
	text := command("contact", "--scene", "slide", "--worlds", "5", "--reference", "--bounds").want(t, exitGood).stdout
	names := []string{"ncp-batch", "ccp-batch"}
	for _, s := range ref.ContactSolvers() {
		names = append(names, s.Name)
	}
	for _, name := range names {
		if strings.Count(text, name) != 1 {
			t.Errorf("no line of %s:\n%s", name, text)
		}
	}
	rows := contactRows(text)
	for _, name := range names {
		relative, err := strconv.ParseFloat(rows[name][7], 64)
		if solved := rows[name][1] == "5"; err != nil || solved != (relative <= 1e-6) {
			t.Errorf("%s: %s of 5 solved, relative residual %s", name, rows[name][1], rows[name][7])
		}
	}
}

// TestContactReferenceFile: solvers of package ref start from the warm impulses of a file, and a world without
// contacts is solved.
func TestContactReferenceFile(t *testing.T) {
	p, err := scenes.Generate("slide", 2, 1)
	if err != nil {
		t.Fatal(err)
	}
	p.Count[1] = 0
	var s contact.Solution
	if err := contact.Solve(t.Context(), p, contact.Options{Tolerance: 1e-9}, &s); err != nil {
		t.Fatal(err)
	}
	p.Warm = s.Impulse
	path := filepath.Join(t.TempDir(), "warm.npz")
	if err := writeContacts(path, p, &s, contact.NCP, 1e-9); err != nil {
		t.Fatal(err)
	}
	rows := contactRows(command("contact", "--problems", path, "--reference").want(t, exitGood).stdout)
	for _, solver := range ref.ContactSolvers() {
		cells := rows[solver.Name]
		if cells == nil || cells[3] != "0" {
			t.Fatalf("%s: %v", solver.Name, cells)
		}
		// ncp-newton takes internal forces out first.
		if solver.Model == ref.ContactNCP && solver.Name != "ncp-newton" && (cells[1] != "2" || cells[4] != "0.0") {
			t.Errorf("%s: %s of 2 solved after %s iterations", solver.Name, cells[1], cells[4])
		}
	}
}

// TestContactRefuses names what is wrong.
func TestContactRefuses(t *testing.T) {
	for _, args := range [][]string{{"--scene", "pile"}, {"--worlds", "0"}, {"--tolerance", "0"}, {"--relaxation", "2"},
		{"--limit", "0"}} {
		command(append([]string{"contact"}, args...)...).want(t, exitBadInput).says(t, args[0])
	}
}

// contactQuestion says what a file of contact problems of the tests answers.
type contactQuestion struct {
	kind    string
	model   contact.Model
	variant string
}

// contactQuestions are all kinds of scenes under both laws by every variant of the kernels and by Go.
func contactQuestions() (list []contactQuestion) {
	for _, kind := range scenes.Kinds() {
		for _, m := range []contact.Model{contact.NCP, contact.CCP} {
			for _, variant := range append(native.Supported(), contact.Off) {
				list = append(list, contactQuestion{kind, m, variant})
			}
		}
	}
	return list
}

// options are those of a seed: tolerances, bounds of the error and a warm start in turn. Bounds of stacks of eight take
// seconds.
func (q *contactQuestion) options(seed uint64) (o contact.Options, warm bool) {
	o = contact.Options{Model: q.model, SIMD: q.variant, Tolerance: []float64{1e-6, 1e-3, 1e-9}[seed%3],
		Bound: q.model == contact.CCP && seed%2 == 0 && q.kind != "stack8", DropInternal: seed%5 == 4, Workers: 1}
	return o, seed%4 >= 2
}

// TestVerifyContactHonest: no honest file is refuted, nor a bound of its error left open, of any kind of scene, law,
// back end, seed and options. A world that is undecided is said to be.
func TestVerifyContactHonest(t *testing.T) {
	seeds := uint64(2)
	if need.All() {
		seeds = 100
	}
	dir := t.TempDir()
	files, worlds, undecided, bounds := 0, 0, 0, 0
	for n, q := range contactQuestions() {
		for s := range seeds {
			seed := s
			if !need.All() {
				seed = uint64(n) + 7*s // all options
			}
			o, warm := q.options(seed)
			name := fmt.Sprintf("%s, %v, %s, seed %d, %+v, warm %v", q.kind, q.model, q.variant, seed, o, warm)
			p, err := scenes.Generate(q.kind, 2, seed)
			if err != nil {
				t.Fatal(err)
			}
			var first, solution contact.Solution
			if warm {
				loose := contact.Options{Model: q.model, Tolerance: 1e-2}
				if err := contact.Solve(t.Context(), p, loose, &first); err != nil {
					t.Fatal(err)
				}
				p.Warm = first.Impulse
			}
			if err := contact.Solve(t.Context(), p, o, &solution); err != nil {
				t.Fatal(err)
			}
			path := filepath.Join(dir, "f"+formats[seed%uint64(len(formats))])
			if err := writeContacts(path, p, &solution, q.model, o.Tolerance); err != nil {
				t.Fatal(err)
			}
			f := &verifyContactFlags{results: path,
				options: verify.ContactAudit{Model: q.model, Tolerance: o.Tolerance, Bounds: o.Bound}}
			r, err := verifyContacts(t.Context(), &env{}, f)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			files, worlds, undecided = files+1, worlds+r.Worlds, undecided+r.Undecided
			if o.Bound {
				bounds++
			}
			if r.Wrong > 0 || r.Unaudited > 0 || r.Invalid > 0 || r.Undecided == 0 && r.verdict() != nil {
				t.Errorf("%s: %v\n%v", name, r.verdict(), r.Failures)
			}
		}
	}
	t.Logf("%d files, %d of them with bounds; %d worlds, %d undecided", files, bounds, worlds, undecided)
	if undecided > worlds/100 {
		t.Errorf("%d worlds of %d undecided", undecided, worlds)
	}
}

// thrownFiles writes worlds of thin bodies that are thrown on a plate, some of whose steps are made in parts.
func thrownFiles(t *testing.T, dir string, worlds int) (scene []string, velocities string) {
	t.Helper()
	shapes, file := filepath.Join(dir, "s.json"), filepath.Join(dir, "w.npz")
	document := `{"version": 1, "shapes": [{"kind": "box", "name": "plate", "half_extents": [1, 1, 0.01]},
		{"kind": "ellipsoid", "name": "needle", "semi_axes": [0.2, 0.01, 0.01]},
		{"kind": "cylinder", "name": "log", "radius": 0.05, "half_length": 0.15},
		{"kind": "box", "name": "stick", "half_extents": [0.01, 0.01, 0.2]}],
		"bodies": [{"name": "plate", "fixed": true, "parts": [{"shape": "plate"}]},
		{"name": "needle", "mass": 1, "parts": [{"shape": "needle"}]},
		{"name": "log", "mass": 1, "parts": [{"shape": "log"}]},
		{"name": "stick", "mass": 1, "parts": [{"shape": "stick"}]},
		{"name": "two", "mass": 1, "parts": [{"shape": "log"}, {"shape": "needle", "position": [0, 0.1, 0]}]}]}`
	if err := os.WriteFile(shapes, []byte(document), 0o666); err != nil {
		t.Fatal(err)
	}
	bodies, err := dataset.ReadBodies(shapes)
	if err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(45, 3))
	w := &batch.Worlds{M: 5, AllPairs: true}
	first := newColumnBuffer([]dataset.ColumnSpec{{Name: "velocity", Width: 15}, {Name: "spin", Width: 15}})
	for range worlds {
		velocity, spin := make([]float64, 15), make([]float64, 15)
		for b := range w.M {
			p := testkit.Pose(rng, 0.3)
			p.Position.Z = 0.5 + 0.3*rng.Float64()
			if b == 0 {
				p.Position.X, p.Position.Y, p.Position.Z = 0, 0, 0
				p.Rotation.Real, p.Rotation.Imag, p.Rotation.Jmag, p.Rotation.Kmag = 1, 0, 0, 0
			} else {
				velocity[3*b+2] = -20 * rng.Float64()
				for i := range 3 {
					spin[3*b+i] = 10 * rng.NormFloat64()
				}
			}
			w.Bodies = append(w.Bodies, int32(b))
			w.Poses = append(w.Poses, p.Position.X, p.Position.Y, p.Position.Z, p.Rotation.Real, p.Rotation.Imag,
				p.Rotation.Jmag, p.Rotation.Kmag)
		}
		first.add(1, velocity, spin)
	}
	if err := dataset.WriteRollout(file, w, bodies); err != nil {
		t.Fatal(err)
	}
	velocities = filepath.Join(dir, "v.npz")
	if err := first.write(velocities); err != nil {
		t.Fatal(err)
	}
	return []string{"--shapes", shapes, "--worlds", file}, velocities
}

// TestVerifyThrown: no contact of bodies that are thrown is refuted, nor its impulse, and those of steps in parts are
// said to be not audited.
func TestVerifyThrown(t *testing.T) {
	dir := t.TempDir()
	scene, velocities := thrownFiles(t, dir, 12)
	_, full := steppedFiles(t, dir, "thrown", append(scene, "--velocities", velocities), "--steps", "60")
	full = append(full[:8:8], scene...)
	o := command(append(full, "--json", "-")...).want(t, exitWrong).says(t, "of steps in parts")
	r := decode[verifyContactReport](t, []byte(o.stdout))
	for _, f := range r.Failures {
		t.Error(f)
	}
	if r.Listed.Contacts < 1000 || r.Listed.Earlier == 0 || r.Listed.Places > r.Listed.Contacts/4 {
		t.Errorf("%+v", *r.Listed)
	}
}

// TestContactFilesAreDocumented: docs/contacts.md names every column of files of problems, states and contacts, and
// every column has a meaning.
func TestContactFilesAreDocumented(t *testing.T) {
	text, err := os.ReadFile("../../docs/contacts.md")
	if err != nil {
		t.Fatal(err)
	}
	meanings := map[string]string{}
	for _, cols := range [][]table.Sized{table.WorldSteps, table.Problems, table.Solutions, table.States} {
		for _, c := range cols {
			meanings[c.Name] = c.Meaning
		}
	}
	for _, c := range contact.ContactColumns {
		if c.IDs == nil {
			meanings[c.Name] = c.Meaning
			continue
		}
		meanings[c.Name+"_high"], meanings[c.Name+"_low"] = c.Meaning, c.Meaning
	}
	for name, meaning := range meanings {
		if meaning == "" {
			t.Errorf("column %s has no meaning", name)
		}
		if !strings.Contains(string(text), "`"+name+"`") {
			t.Errorf("docs/contacts.md does not name the column %s", name)
		}
	}
}

package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"clearance/batch"
	"clearance/contact"
	"clearance/contact/scenes"
	"clearance/cpu"
	"clearance/dataset"
)

// interruptedAt runs a command that is interrupted once its phase has come to a number of steps.
func interruptedAt(t *testing.T, phase string, done int, args ...string) outcome {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	var stdout, stderr bytes.Buffer
	e := &env{Program: program, Stdout: &stdout, Stderr: &stderr, At: func(what string, n int) {
		if what == phase && n >= done {
			cancel()
		}
	}}
	code := e.Run(ctx, newRoot(e), args)
	return outcome{code, stdout.String(), stderr.String()}
}

// prints fails the test unless standard output contains the text.
func (o outcome) prints(t *testing.T, text string) {
	t.Helper()
	if !strings.Contains(o.stdout, text) {
		t.Errorf("standard output %q, want %q", o.stdout, text)
	}
}

// TestStepResumes: a run that was interrupted, twice and between saves, ends with the bytes of one that was not.
func TestStepResumes(t *testing.T) {
	for _, ext := range []string{".npz", ".parquet"} {
		dir := t.TempDir()
		args := func(name string, more ...string) []string {
			return append([]string{"step", "--scene", "stack4", "--count", "3", "--steps", "12", "--every", "2",
				"--save-every", "5", "--reference", "--out", filepath.Join(dir, name+ext), "--problems",
				filepath.Join(dir, name+"_problems"+ext), "--contacts",
				filepath.Join(dir, name+"_contacts"+ext)}, more...)
		}
		command(args("whole")...).want(t, exitGood).prints(t, "advanced: 36 world-steps")
		interruptedAt(t, "step", 4, args("parts")...).want(t, exitInterrupted).says(t, "--resume")
		command(args("parts")...).want(t, exitBadInput).says(t, "interrupted run")
		command(args("parts", "--resume", "--steps", "13")...).want(t, exitBadInput).says(t, "another run")
		interruptedAt(t, "step", 4, args("parts", "--resume", "--workers", "2")...).want(t, exitInterrupted)
		command(args("parts", "--resume", "--workers", "1")...).want(t, exitGood).prints(t, "advanced: 36 world-steps")
		for _, kind := range []string{"", "_problems", "_contacts"} {
			whole, err := os.ReadFile(filepath.Join(dir, "whole"+kind+ext))
			if err != nil {
				t.Fatal(err)
			}
			parts, err := os.ReadFile(filepath.Join(dir, "parts"+kind+ext))
			if err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(whole, parts) {
				t.Errorf("%s%s: other bytes after interrupts", kind, ext)
			}
		}
		other := filepath.Join(dir, "other"+ext+".parts")
		if err := os.MkdirAll(filepath.Join(other, "mine"), 0o777); err != nil {
			t.Fatal(err)
		}
		command(args("other")...).want(t, exitBadInput).says(t, "not that of a run")
		if err := os.RemoveAll(other); err != nil {
			t.Fatal(err)
		}
		if left := names(t, dir); len(left) != 6 {
			t.Errorf("files %v, want the 6 results", left)
		}
		command("verify", "contact", "--results", filepath.Join(dir, "whole_problems"+ext)).want(t, exitGood).
			prints(t, "18 solved, 0 undecided, 0 invalid; 0 claims refuted")
	}
}

// TestStepOfFiles steps worlds of files, whose bodies state their physics, and reads the states back.
func TestStepOfFiles(t *testing.T) {
	dir := t.TempDir()
	shapes, worlds, out := filepath.Join(dir, "s.json"), filepath.Join(dir, "w.npz"), filepath.Join(dir, "o.npz")
	document := `{"version": 1, "shapes": [{"kind": "halfspace", "name": "ground"},
		{"kind": "box", "name": "box", "half_extents": [0.1, 0.1, 0.1]}],
		"bodies": [{"name": "ground", "parts": [{"shape": "ground"}], "friction": 0.5},
		{"name": "crate", "parts": [{"shape": "box"}], "mass": 2, "friction": 0.5}]}`
	if err := os.WriteFile(shapes, []byte(document), 0o666); err != nil {
		t.Fatal(err)
	}
	bodies, err := dataset.ReadBodies(shapes)
	if err != nil {
		t.Fatal(err)
	}
	w := &batch.Worlds{M: 2, Bodies: []int32{0, 1}, AllPairs: true, Poses: []float64{
		0, 0, 0, 1, 0, 0, 0, 0, 0, 0.1, 1, 0, 0, 0, // rests
		0, 0, 0, 1, 0, 0, 0, 0, 0, 1.1, 1, 0, 0, 0, // falls
	}}
	if err := dataset.WriteRollout(worlds, w, bodies); err != nil {
		t.Fatal(err)
	}
	args := []string{"step", "--shapes", shapes, "--worlds", worlds, "--steps", "10", "--every", "10", "--reference",
		"--out", out, "--time-step", "0.01"}
	command(args...).want(t, exitGood)
	table, err := dataset.ReadColumns(out, stateColumns(2))
	if err != nil {
		t.Fatal(err)
	}
	pose, velocity := table.Reals("pose"), table.Reals("velocity")
	if table.Rows != 4 || !slices.Equal(table.Ints("step"), []int32{0, 0, 10, 10}) {
		t.Fatalf("%d rows, steps %v", table.Rows, table.Ints("step"))
	}
	rest, fall := pose[14*2:14*3], pose[14*3:]
	near := func(what string, got, want, within float64) {
		t.Helper()
		if d := got - want; !(d <= within && -d <= within) {
			t.Errorf("%s: %g, want %g", what, got, want)
		}
	}
	near("z at rest", rest[9], 0.1, 1e-5)
	near("z in free fall", fall[9], 1.1-9.81*0.01*0.01*55, 1e-12) // Σ k over 10 semi-implicit steps
	near("speed in free fall", velocity[6*3+5], -0.981, 1e-12)

	// First velocities: the second world flies off and rotates about z, the first one slides.
	first := filepath.Join(dir, "first.npz")
	b := newColumnBuffer([]dataset.ColumnSpec{{Name: "velocity", Width: 6}, {Name: "spin", Width: 6}})
	write := func(velocity, spin []float64) {
		t.Helper()
		b.reset()
		b.add(len(spin)/6, velocity, spin)
		if err := b.write(first); err != nil {
			t.Fatal(err)
		}
	}
	write([]float64{0, 0, 0, 0.1, 0, 0, 0, 0, 0, 0, 2, 0}, []float64{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 3})
	moving := append(args, "--velocities", first)
	command(moving...).want(t, exitGood)
	if table, err = dataset.ReadColumns(out, stateColumns(2)); err != nil {
		t.Fatal(err)
	}
	pose = table.Reals("pose")
	near("y in flight", pose[14*3+8], 0.2, 1e-12)
	near("quaternion about z", pose[14*3+13], math.Sin(0.15), 1e-9)            // 3 rad/s for 0.1 s
	near("x of the one that slides", pose[14*2+7], 0.01*(0.2-3*0.04905), 1e-6) // friction stops it in the third step
	write([]float64{0, 0, 0, 0, 0, 0}, []float64{0, 0, 0, 0, 0, 0})
	command(moving...).want(t, exitBadInput).says(t, "1 rows; there are 2 worlds")
	write(slices.Repeat([]float64{0}, 12), append(slices.Repeat([]float64{0}, 11), math.Inf(1)))
	command(moving...).want(t, exitBadInput).says(t, "column spin, row 1, body 1: +Inf is not finite")

	for _, c := range []struct{ old, new, want string }{
		{`"mass": 2`, `"mass": 0`, "body 1: mass: 0 kg"},
		{`"mass": 2`, `"mass": -2`, "body 1: mass: -2 kg"},
		{`"mass": 2`, `"mass": 2, "inertia": [1, 1, 3]`, "body 1: inertia:"},
		{`"mass": 2`, `"restitution": 0.5`, "body 1: mass: the body states neither"},
		{`"mass": 2`, `"mass": 2, "restitution": 1.5`, "body 1: restitution: 1.5"},
		{`"mass": 2, "friction": 0.5`, `"mass": 2, "friction": -1`, "body 1: friction: -1"},
		{`"mass": 2`, `"mass": "x"`, "mass: string, want a number"},
		{`"mass": 2`, `"weight": 2`, "unknown field"},
		{`"mass": 2`, `"mass": 2, "fixed": true`, "a fixed body with a mass"},
	} {
		if err := os.WriteFile(shapes, []byte(strings.Replace(document, c.old, c.new, 1)), 0o666); err != nil {
			t.Fatal(err)
		}
		command(args...).want(t, exitBadInput).says(t, c.want)
	}
}

// TestStepOfManyContacts: bodies of seven boxes in a row, which have more contacts than there is room for at first,
// move and are recorded, with the same bytes after an interrupt; problems and contacts agree with each other. Under a
// limit no world is advanced, which is an error.
func TestStepOfManyContacts(t *testing.T) {
	dir := t.TempDir()
	shapes, worlds := filepath.Join(dir, "s.json"), filepath.Join(dir, "w.npz")
	var parts []string
	for i := range 7 {
		parts = append(parts, fmt.Sprintf(`{"shape": "box", "position": [%g, 0, 0]}`, 0.25*float64(i)))
	}
	document := `{"version": 1, "shapes": [{"kind": "halfspace", "name": "ground"},
		{"kind": "box", "name": "box", "half_extents": [0.1, 0.1, 0.1]}],
		"bodies": [{"name": "ground", "parts": [{"shape": "ground"}], "friction": 0.5},
		{"name": "row", "parts": [` + strings.Join(parts, ",") + `], "mass": 2, "friction": 0.5}]}`
	if err := os.WriteFile(shapes, []byte(document), 0o666); err != nil {
		t.Fatal(err)
	}
	bodies, err := dataset.ReadBodies(shapes)
	if err != nil {
		t.Fatal(err)
	}
	w := &batch.Worlds{M: 2, Bodies: []int32{0, 1}, AllPairs: true, Poses: []float64{
		0, 0, 0, 1, 0, 0, 0, 0, 0, 0.12, 1, 0, 0, 0, // falls, and then has 28 contacts
		0, 0, 0, 1, 0, 0, 0, 0, 0, 1.1, 1, 0, 0, 0,
	}}
	if err := dataset.WriteRollout(worlds, w, bodies); err != nil {
		t.Fatal(err)
	}
	at := func(name string) string { return filepath.Join(dir, name) }
	args := func(name string, more ...string) []string {
		return append([]string{"step", "--shapes", shapes, "--worlds", worlds, "--steps", "24", "--save-every", "5",
			"--reference", "--out", at(name + ".npz"), "--problems", at(name + "_problems.npz"), "--contacts",
			at(name + "_contacts.parquet")}, more...)
	}
	command(args("whole")...).want(t, exitGood).prints(t, "advanced: 48 world-steps")
	interruptedAt(t, "step", 8, args("parts")...).want(t, exitInterrupted)
	command(args("parts", "--resume")...).want(t, exitGood)
	for _, name := range []string{".npz", "_problems.npz", "_contacts.parquet"} {
		whole, err := os.ReadFile(at("whole" + name))
		if err != nil {
			t.Fatal(err)
		}
		if parts, err := os.ReadFile(at("parts" + name)); err != nil || !slices.Equal(whole, parts) {
			t.Errorf("%s: other bytes after an interrupt: %v", name, err)
		}
	}
	command("verify", "contact", "--results", at("whole_problems.npz"), "--contacts", at("whole_contacts.parquet"),
		"--states", at("whole.npz"), "--shapes", shapes, "--worlds", worlds).want(t, exitGood)
	p, solution, _, err := readContacts(at("whole_problems.npz"))
	if err != nil || p.Contacts != 28 {
		t.Fatalf("%d contacts a row, %v", p.Contacts, err)
	}
	table, err := dataset.ReadColumns(at("whole_contacts.parquet"), listedColumns())
	if err != nil {
		t.Fatal(err)
	}
	states, err := dataset.ReadColumns(at("whole.npz"), stateColumns(2))
	if err != nil {
		t.Fatal(err)
	}
	row, sum := 0, 0.0
	for i, n := range p.Count {
		sum = 0
		for c := range int(n) {
			if table.Ints("step")[row] != int32(i/2+1) || table.Ints("part_b")[row] > 6 ||
				table.Reals("impulse")[3*row+2] != solution.Impulse[3*(28*i+c)+2] {
				t.Fatalf("contact %d of row %d of the problems is another", c, i)
			}
			sum += table.Reals("impulse")[3*row+2]
			row++
		}
		if got := states.Reals("contact_force")[12*(i+2)+8]; math.Abs(got-sum/5e-3) > 1e-9 {
			t.Errorf("row %d: a contact force of %g N, want %g", i, got, sum/5e-3)
		}
	}
	if row != table.Rows || sum != 0 || row < 28 {
		t.Errorf("%d contacts of %d are those of problems", row, table.Rows)
	}
	carried := slices.IndexFunc(table.Reals("impulse"), func(x float64) bool { return x > 1e-3 })
	table.Reals("impulse")[carried] *= 1.001
	forged := newColumnBuffer(listedColumns())
	values, err := tableSlices("forged", table, listedColumns())
	if err != nil {
		t.Fatal(err)
	}
	forged.add(table.Rows, values...)
	if err := forged.write(at("forged.npz")); err != nil {
		t.Fatal(err)
	}
	refuted := command("verify", "contact", "--results", at("whole_problems.npz"), "--contacts", at("forged.npz"))
	refuted.want(t, exitWrong).prints(t, "1 claim refuted")
	refuted.prints(t, "impulse")

	w.Poses[9], w.Poses[23] = 0.1, 0.1
	if err := dataset.WriteRollout(worlds, w, bodies); err != nil {
		t.Fatal(err)
	}
	ended := command(args("still", "--max-contacts", "24")...)
	ended.want(t, exitWrong).says(t, "no world advanced in the last 10 steps; worlds by status: 2 too_many_contacts")
	ended.says(t, "after step 10 of 24")
	if states, err = dataset.ReadColumns(at("still.npz"), stateColumns(2)); err != nil || states.Rows != 22 {
		t.Errorf("%d rows of states, %v", states.Rows, err)
	}
}

// TestStepMaterials: bodies, parts and pairs of a file of shapes have their friction, and flags the rules.
func TestStepMaterials(t *testing.T) {
	dir := t.TempDir()
	shapes, worlds, out := filepath.Join(dir, "s.json"), filepath.Join(dir, "w.npz"), filepath.Join(dir, "o.npz")
	first := filepath.Join(dir, "first.npz")
	document := `{"version": 1, "shapes": [{"kind": "halfspace", "name": "ground"},
		{"kind": "box", "name": "box", "half_extents": [0.1, 0.1, 0.1]}],
		"bodies": [{"name": "ground", "parts": [{"shape": "ground"}], "friction": 0.9},
		{"name": "crate", "parts": [{"shape": "box"}], "mass": 2, "friction": 0.4}]}`
	file := func(old, replacement string) {
		t.Helper()
		if err := os.WriteFile(shapes, []byte(strings.Replace(document, old, replacement, 1)), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	file("", "")
	bodies, err := dataset.ReadBodies(shapes)
	if err != nil {
		t.Fatal(err)
	}
	w := &batch.Worlds{M: 2, Bodies: []int32{0, 1}, AllPairs: true, Poses: []float64{0, 0, 0, 1, 0, 0, 0,
		0, 0, 0.1, 1, 0, 0, 0}}
	if err := dataset.WriteRollout(worlds, w, bodies); err != nil {
		t.Fatal(err)
	}
	b := newColumnBuffer([]dataset.ColumnSpec{{Name: "velocity", Width: 6}})
	b.add(1, []float64{0, 0, 0, 2, 0, 0})
	if err := b.write(first); err != nil {
		t.Fatal(err)
	}
	args := []string{"step", "--shapes", shapes, "--worlds", worlds, "--velocities", first, "--steps", "10", "--every",
		"10", "--reference", "--out", out, "--time-step", "0.01"}
	for _, c := range []struct {
		old, replacement string
		flags            []string
		friction         float64
	}{
		{"", "", nil, 0.6},
		{"", "", []string{"--friction-rule", "minimum"}, 0.4},
		{"", "", []string{"--friction-rule", "product"}, 0.36},
		{`"box"}]`, `"box", "friction": 0.1}]`, nil, 0.3},
		{`0.4}]}`, `0.4}], "surfaces": [{"bodies": ["crate", 0], "friction": 0.25}]}`, nil, 0.25},
		{`0.4}]}`, `0.4}], "surfaces": [{"bodies": [0, 1], "friction": 0.2}, {"bodies": [1, 0], "parts": [0, null],
			"friction": 0.15}]}`, nil, 0.15},
	} {
		file(c.old, c.replacement)
		command(append(args, c.flags...)...).want(t, exitGood)
		table, err := dataset.ReadColumns(out, stateColumns(2))
		if err != nil {
			t.Fatal(err)
		}
		if got, want := table.Reals("velocity")[6+3], 2-c.friction*9.81*0.1; math.Abs(got-want) > 1e-5 {
			t.Errorf("%q %v: %g m/s, want %g", c.replacement, c.flags, got, want)
		}
	}
	for _, c := range []struct{ old, replacement, want string }{
		{`"box"}]`, `"box", "friction": -1}]`, "body 1: part 0: friction: -1"},
		{`"box"}]`, `"box", "restitution": 2}]`, "body 1: part 0: restitution: 2"},
		{`"box"}]`, `"box", "friction": "x"}]`, "part 0: friction: string, want a number"},
		{`0.4}]}`, `0.4}], "surfaces": [{"bodies": [0, 1], "friction": -2}]}`, "pair with body 1: friction: -2"},
		{`0.4}]}`, `0.4}], "surfaces": [{"bodies": [0, 1], "restitution": 2}]}`, "pair with body 1: restitution: 2"},
		{`0.4}]}`, `0.4}], "surfaces": [{"bodies": [0, 2], "friction": 1}]}`, "surface 0: bodies:"},
		{`0.4}]}`, `0.4}], "surfaces": [{"bodies": [0, 1], "parts": [0, 1], "friction": 1}]}`, "body 1: part 1"},
		{`0.4}]}`, `0.4}], "surfaces": [{"friction": 1}]}`, "surface 0: no bodies"},
		{`0.4}]}`, `0.4}], "surfaces": [{"bodies": [0, 1]}]}`, "neither friction nor restitution"},
		{`0.4}]}`, `0.4}], "surfaces": [{"bodies": [0, 1], "bounce": 1}]}`, "unknown field"},
	} {
		file(c.old, c.replacement)
		command(args...).want(t, exitBadInput).says(t, c.want)
	}
	file("", "")
	command(append(args, "--friction-rule", "sum")...).want(t, exitBadInput).says(t, "unknown rule")
}

// TestContactFiles: problems written with their impulses are read, solved again alike and audited; a forged impulse, a
// forged status and a forged residual are refuted.
func TestContactFiles(t *testing.T) {
	for _, ext := range []string{".npz", ".parquet"} {
		dir := t.TempDir()
		a, b := filepath.Join(dir, "a"+ext), filepath.Join(dir, "b"+ext)
		command("contact", "--scene", "stack4", "--worlds", "4", "--out", a).want(t, exitGood)
		command("contact", "--problems", a, "--out", b).want(t, exitGood)
		command("verify", "contact", "--results", a).want(t, exitGood).prints(t, "4 solved")
		command("verify", "contact", "--results", a, "--model", "ccp").want(t, exitBadInput).says(t, "claims the model")
		p, s, _, err := readContacts(a)
		if err != nil {
			t.Fatal(err)
		}
		_, again, _, err := readContacts(b)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(s.Impulse, again.Impulse) {
			t.Error("problems from a file have other impulses")
		}
		for _, forge := range []struct {
			change func()
			want   string
		}{
			{func() { s.Impulse[2] *= 1.01 }, "world 0: velocity"},
			{func() { s.Dual[1] = 0 }, "world 1: dual"},
			{func() { s.Velocity[6*4*2] += 1e-3 }, "world 2: velocity"},
		} {
			forge.change()
			if err := writeContacts(b, p, s, contact.NCP, 1e-6); err != nil {
				t.Fatal(err)
			}
			command("verify", "contact", "--results", b).want(t, exitWrong).prints(t, forge.want)
		}
		p.Friction[0] = -1
		if err := writeContacts(b, p, s, contact.NCP, 1e-6); err != nil {
			t.Fatal(err)
		}
		command("contact", "--problems", b).want(t, exitWrong).says(t, "world 0, contact 0: friction: -1")
	}
}

// TestStillResumes: a run of worlds that do not advance ends at the same step with and without an interrupt.
func TestStillResumes(t *testing.T) {
	dir := t.TempDir()
	args := func(name string, more ...string) []string {
		return append([]string{"step", "--scene", "stack4", "--count", "1", "--steps", "40", "--max-contacts", "3",
			"--reference", "--out", filepath.Join(dir, name+".npz")}, more...)
	}
	command(args("whole")...).want(t, exitWrong).says(t, "the run ends after step 10 of 40")
	interruptedAt(t, "step", 5, args("parts")...).want(t, exitInterrupted)
	command(args("parts", "--resume")...).want(t, exitWrong).says(t, "the run ends after step 10 of 40")
	whole, err := os.ReadFile(filepath.Join(dir, "whole.npz"))
	if err != nil {
		t.Fatal(err)
	}
	parts, err := os.ReadFile(filepath.Join(dir, "parts.npz"))
	if err != nil || !bytes.Equal(whole, parts) {
		t.Errorf("other bytes after an interrupt (%v)", err)
	}
}

// TestSaveAgain: after a save that failed, with its first part or all of them on the disk, the next one saves the same
// rows and states, and the run that goes on has the results of one without a failure.
func TestSaveAgain(t *testing.T) {
	beginRun := groundRuns(t)
	results := map[string][3][]byte{}
	for _, blocked := range []string{"", "problems-000000.npz", "contacts-000000.npz", runFile} {
		dir := t.TempDir()
		in := func(name string) string { return filepath.Join(dir, name) }
		flags := &stepFlags{out: in("o.npz"), problems: in("p.npz"), contacts: in("c.npz"), every: 1, steps: 4,
			saveEvery: 9}
		begin := func() *stepRun {
			r, err := beginRun(flags)
			if err != nil {
				t.Fatalf("%s: %v", blocked, err)
			}
			return r
		}
		advance := func(r *stepRun) {
			for range 2 {
				if err := r.advance(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
		}
		r := begin()
		advance(r)
		if blocked != "" {
			path := filepath.Join(r.folder, blocked) // a folder, which no file replaces
			if err := os.MkdirAll(path, 0o777); err != nil {
				t.Fatal(err)
			}
			if err := r.save(); err == nil {
				t.Fatalf("%s: saved onto a folder", blocked)
			}
			if err := os.Remove(path); err != nil {
				t.Fatal(err)
			}
		}
		if err := r.save(); err != nil {
			t.Fatal(err)
		}
		r.locked.Close()
		flags.resume = true
		r = begin()
		advance(r)
		if err := r.finish(); err != nil {
			t.Fatal(err)
		}
		var files [3][]byte
		for i, name := range []string{"o.npz", "p.npz", "c.npz"} {
			file, err := os.ReadFile(in(name))
			if err != nil {
				t.Fatal(err)
			}
			files[i] = file
			if want := results[""][i]; blocked != "" && !bytes.Equal(files[i], want) {
				t.Errorf("%s: %s has other bytes after a save that failed", blocked, name)
			}
		}
		results[blocked] = files
	}
}

// TestInterruptedAndNotSaved: an interrupted run that cannot be saved says so, and not that its steps are saved.
func TestInterruptedAndNotSaved(t *testing.T) {
	out := filepath.Join(t.TempDir(), "out.npz")
	ctx, cancel := context.WithCancel(t.Context())
	var stderr bytes.Buffer
	e := &env{Program: program, Stdout: io.Discard, Stderr: &stderr, At: func(_ string, done int) {
		if done == 3 {
			if err := os.RemoveAll(out + ".parts"); err != nil {
				t.Error(err)
			}
			cancel()
		}
	}}
	code := e.Run(ctx, newRoot(e), []string{"step", "--scene", "ground", "--count", "3", "--steps", "40", "--out", out})
	said := stderr.String()
	if code != exitInterrupted || strings.Contains(said, "are saved in") || !strings.Contains(said, "are not saved") {
		t.Errorf("exit code %d: %s", code, said)
	}
}

// TestStepFolder: a run that goes on takes no altered part and no altered state, two runs do not share a folder, and
// files of others are kept.
func TestStepFolder(t *testing.T) {
	dir := t.TempDir()
	out := filepath.Join(dir, "o.npz")
	args := []string{"step", "--scene", "ground", "--count", "2", "--steps", "6", "--save-every", "2", "--out", out}
	r := &stepRun{folder: out + ".parts"}
	if err := r.lock(); err != nil {
		t.Fatal(err)
	}
	refused := func(want string, args ...string) {
		t.Helper()
		command(args...).want(t, exitBadInput).says(t, want)
	}
	refused("another run writes to it", args...)
	r.locked.Close()

	foreign := filepath.Join(r.folder, "samples-000001.npz")
	if err := os.WriteFile(foreign, []byte("mine"), 0o666); err != nil {
		t.Fatal(err)
	}
	refused("samples-000001.npz, which is not that of a run", args...)
	if _, err := os.Stat(foreign); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(foreign); err != nil {
		t.Fatal(err)
	}

	refused("want a file .parquet or .npz", "step", "--scene", "ground", "--out", filepath.Join(dir, "o.txt"))
	for _, flag := range []string{"--friction", "--restitution", "--density"} {
		refused(flag, append(args, flag, "nan")...)
	}
	refused("of memory", append(args, "--count", "2000000000000")...)

	// An interrupted run, of which a part, or the state behind it, is altered.
	flags := &stepFlags{out: out, every: 1, steps: 6, saveEvery: 2}
	begin := groundRuns(t)
	interrupted, err := begin(flags)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := interrupted.advance(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if err := interrupted.save(); err != nil {
		t.Fatal(err)
	}
	interrupted.locked.Close()
	flags.resume = true
	again := func() error {
		r, err := begin(flags)
		if r != nil {
			r.locked.Close()
		}
		return err
	}
	if err := again(); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"states-000000.npz", runFile} {
		path := filepath.Join(out+".parts", name)
		whole, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		altered := bytes.Replace(whole, []byte{0, 0, 0, 0, 0, 0, 0xf0, 0x3f}, []byte{0, 0, 0, 0, 0, 0, 0xf1, 0x3f}, 1)
		if bytes.Equal(altered, whole) {
			t.Fatalf("%s has no number 1", name)
		}
		if err := os.WriteFile(path, altered, 0o666); err != nil {
			t.Fatal(err)
		}
		if err := again(); err == nil {
			t.Errorf("%s: taken although it was altered", name)
		}
		if err := os.WriteFile(path, whole, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	for name, of := range map[string]*string{"kernels": &flags.kernels, "version": &flags.version} {
		*of = "others"
		if err := again(); err == nil || !strings.Contains(err.Error(), "of another run") {
			t.Errorf("others, %s: %v", name, err)
		}
		*of = ""
	}
}

// TestPartsOfLargeRows: a run whose rows would fill the memory that they may take is saved before, and its results are
// those of a run that was not.
func TestPartsOfLargeRows(t *testing.T) {
	run := func() (list [][]byte) {
		folder := t.TempDir()
		names := []string{"states.npz", "problems.npz", "contacts.npz"}
		args := []string{"step", "--scene", "stack4", "--count", "3", "--steps", "20"}
		for i, flag := range []string{"--out", "--problems", "--contacts"} {
			args = append(args, flag, filepath.Join(folder, names[i]))
		}
		command(args...).want(t, exitGood)
		for _, name := range names {
			data, err := os.ReadFile(filepath.Join(folder, name))
			if err != nil {
				t.Fatal(err)
			}
			list = append(list, data)
		}
		return list
	}
	want := run()
	defer func(n int64) { partBytes = n }(partBytes)
	partBytes = 1 << 12
	for i, data := range run() {
		if !bytes.Equal(data, want[i]) {
			t.Errorf("file %d differs", i)
		}
	}
}

// groundRuns returns a function that begins runs of two worlds of boxes on the ground.
func groundRuns(t *testing.T) (begin func(*stepFlags) (*stepRun, error)) {
	t.Helper()
	scene, state, err := scenes.Simulation("ground", 2, 1)
	if err != nil {
		t.Fatal(err)
	}
	solver, err := cpu.New(cpu.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { solver.Close() })
	return func(f *stepFlags) (*stepRun, error) {
		f.options.TimeStep = 0.005
		f.options.Gravity.Z = -9.81
		return f.begin(scene, state, solver)
	}
}

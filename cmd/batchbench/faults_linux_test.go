package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"clearance/batch"
	"clearance/dataset"
)

// Faults of files, by the commands that write results: the table of docs/file-faults.md.

// faultCase is a command that writes results, but for its output.
type faultCase struct {
	name    string
	args    []string
	formats []string // of outputs: extensions, and "/" for a folder of parts
}

func (c faultCase) run(out string, more ...string) outcome {
	return c.runContext(context.Background(), out, more...)
}

func (c faultCase) runContext(ctx context.Context, out string, more ...string) outcome {
	return commandContext(ctx, slices.Concat(c.args, []string{"--out", out}, more)...)
}

// faultCases writes the inputs of all commands to a folder. Each makes results of some kilobytes.
func faultCases(t *testing.T, dir string) []faultCase {
	t.Helper()
	const n = 300
	f := files{dir: dir, shapes: filepath.Join(dir, "box.json"), pairs: filepath.Join(dir, "pairs.npz"),
		results: filepath.Join(dir, "answers.npz")}
	f.ballAndBox(t, n, func(p *batch.Pairs) {
		for i := range p.Len() {
			p.PositionB[3*i+1] = 1e-3 * float64(i)
		}
	})
	f.score().want(t, exitGood)
	shapes, bodies := ballBodies(t, dir)
	w := &batch.Worlds{Bodies: []int32{0, 0}, TemplateA: []int32{0}, TemplateB: []int32{1}}
	m := &batch.Motions{T: 2, Bodies: w.Bodies, TemplateA: w.TemplateA, TemplateB: w.TemplateB}
	for i := range 2 * n {
		world := []float64{0, 0, 0, 1, 0, 0, 0, 2 + 0.01*float64(i), 0, 0, 1, 0, 0, 0}
		if m.Poses = append(m.Poses, world...); i%2 == 0 {
			w.Poses = append(w.Poses, world...)
		}
	}
	worlds, motions := filepath.Join(dir, "worlds.npz"), filepath.Join(dir, "motions.npz")
	err := errors.Join(dataset.WriteRollout(worlds, w, bodies), dataset.WriteMotions(motions, m, bodies))
	if err != nil {
		t.Fatal(err)
	}
	every := []string{".npz", ".parquet", "/"}
	return []faultCase{
		{"score", []string{"score", "--backend", "cpu", "--shapes", f.shapes, "--pairs", f.pairs}, every},
		{"score --audit", []string{"score", "--audit", "--backend", "cpu", "--shapes", f.shapes,
			"--pairs", f.pairs}, every},
		{"rollout", []string{"rollout", "--backend", "cpu", "--shapes", shapes, "--worlds", worlds}, every},
		{"sweep", []string{"sweep", "--backend", "cpu", "--shapes", shapes, "--worlds", motions}, every},
		{"derive", []string{"derive", "--shapes", f.shapes, "--pairs", f.pairs, "--results", f.results}, every},
		{"contact", []string{"contact", "--scene", "stack4", "--worlds", "30"}, every[:2]},
		{"step", []string{"step", "--scene", "ground", "--count", "3", "--steps", "40", "--save-every", "10"},
			every[:2]},
	}
}

// eachFault calls a test for each command and format, with a new folder for its output.
func eachFault(t *testing.T, do func(t *testing.T, c faultCase, out string)) {
	for _, c := range faultCases(t, t.TempDir()) {
		for _, format := range c.formats {
			t.Run(c.name+" "+strings.Replace(format, "/", "folder", 1), func(t *testing.T) {
				do(t, c, filepath.Join(t.TempDir(), "out")+format)
			})
		}
	}
}

// onFullDisk runs a command in a process of its own that may write so many kilobytes to a file, as on a full disk.
func (c faultCase) onFullDisk(t *testing.T, kilobytes int, out string, more ...string) outcome {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	words := []string{"-c", fmt.Sprintf(`ulimit -f %d; exec "$0" "$@"`, kilobytes), self}
	run := exec.Command("bash", slices.Concat(words, c.args, []string{"--out", out}, more)...)
	run.Env = append(os.Environ(), actAsMain+"=1")
	var stdout, stderr bytes.Buffer
	run.Stdout, run.Stderr = &stdout, &stderr
	_ = run.Run()
	return outcome{run.ProcessState.ExitCode(), stdout.String(), stderr.String()}
}

// bytesOf are the bytes of a file, or of the parts of a folder.
func bytesOf(t *testing.T, path string) []byte {
	t.Helper()
	var all []byte
	list := []string{path}
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		list = nil
		for _, name := range names(t, path) {
			list = append(list, filepath.Join(path, name))
		}
	}
	for _, path := range list {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, data...)
	}
	return all
}

// TestFullDisk: where there is no room the error names the output, and nothing is left but what a run goes on from.
func TestFullDisk(t *testing.T) {
	eachFault(t, func(t *testing.T, c faultCase, out string) {
		dir := filepath.Dir(filepath.Clean(out))
		c.onFullDisk(t, 2, out).want(t, exitBadInput).says(t, "out").says(t, "file too large")
		left := []string(nil)
		if c.name == "step" { // of which no step is saved
			left = []string{"out" + filepath.Ext(out) + ".parts"}
			if list := names(t, filepath.Join(dir, left[0])); len(list) > 0 {
				t.Errorf("the saved run has %v", list)
			}
		}
		if list := names(t, dir); !slices.Equal(list, left) {
			t.Errorf("left %v, want %v", list, left)
		}
		c.run(out).want(t, exitGood)
		if list := names(t, dir); len(list) != 1 {
			t.Errorf("there are %v beside the results", list)
		}
	})
}

// TestFullDiskOfAStep: where a saved run has no room for its files at the end, or for a part, it goes on with room, to
// the bits of a run that had it.
func TestFullDiskOfAStep(t *testing.T) {
	cases := faultCases(t, t.TempDir())
	c := cases[len(cases)-1]
	for _, ext := range formats {
		dir := t.TempDir()
		more := []string{"--problems", filepath.Join(dir, "problems"+ext), "--contacts",
			filepath.Join(dir, "contacts"+ext)}
		want := filepath.Join(dir, "want"+ext)
		c.run(want, more...).want(t, exitGood)
		wanted := [][]byte{bytesOf(t, want), bytesOf(t, more[1]), bytesOf(t, more[3])}
		out := filepath.Join(dir, "out"+ext)
		failed := 0
		for _, room := range []int{8, 14, 24} {
			o := c.onFullDisk(t, room, out, more...)
			if o.code == exitGood {
				continue
			}
			failed++
			o.want(t, exitBadInput).says(t, "file too large")
			c.run(out, append(more, "--resume")...).want(t, exitGood)
			for i, path := range []string{out, more[1], more[3]} {
				if !bytes.Equal(bytesOf(t, path), wanted[i]) {
					t.Errorf("%s, %d kB of room: other results", path, room)
				}
			}
			if _, err := os.Stat(out + ".parts"); err == nil {
				t.Errorf("%d kB of room: the parts are still there", room)
			}
		}
		if failed < 2 {
			t.Errorf("%s: %d rooms were too small", ext, failed)
		}
	}
}

// TestTwoRuns: of two runs that write a file at a time each writes one of its own, and that of the last to end counts;
// the second of two folders, or of two runs of `step`, is refused, and what was there stays.
func TestTwoRuns(t *testing.T) {
	eachFault(t, func(t *testing.T, c faultCase, out string) {
		c.run(out).want(t, exitGood)
		want := bytesOf(t, out)
		if strings.HasSuffix(out, "/") {
			c.run(out).want(t, exitBadInput).says(t, "not empty")
			if !bytes.Equal(bytesOf(t, out), want) {
				t.Error("the results of the first run have changed")
			}
			if err := os.RemoveAll(out); err != nil {
				t.Fatal(err)
			}
		}
		if c.name == "step" {
			r := &stepRun{folder: out + ".parts"}
			if err := r.lock(); err != nil {
				t.Fatal(err)
			}
			c.run(out).want(t, exitBadInput).says(t, "another run writes to it")
			r.locked.Close()
			c.run(out).want(t, exitGood)
			return
		}
		// Another run is at work at the same name.
		other, err := dataset.CreateResults(out, batch.ColStatus, batch.Single, 1)
		if err != nil {
			t.Fatal(err)
		}
		c.run(out).want(t, exitGood)
		if got := bytesOf(t, out); !bytes.Equal(got, want) {
			t.Error("beside another run results are others")
		}
		res := batch.NewResults(1, &batch.Options{Columns: batch.ColStatus})
		err = errors.Join(other.Write(res), other.Close())
		if strings.HasSuffix(out, "/") != (err != nil) {
			t.Errorf("the end of the other run: %v", err)
		}
		if err != nil && !bytes.Equal(bytesOf(t, out), want) {
			t.Error("the results of the first run have changed")
		}
		if list := names(t, filepath.Dir(filepath.Clean(out))); len(list) != 1 {
			t.Errorf("there are %v", list)
		}
	})
}

// TestForeignFiles: files beside an output, and that which a link names, are kept; what a run left that was killed is
// removed.
func TestForeignFiles(t *testing.T) {
	eachFault(t, func(t *testing.T, c faultCase, out string) {
		place := filepath.Clean(out)
		dir, base := filepath.Split(place)
		mine := []string{"." + base + ".short.tmp", ".other.ABCDEFGHIJKL.tmp", base + ".ABCDEFGHIJKL.tmp",
			base + ".bak", "part-00000.parquet", "mine"}
		for _, name := range mine {
			if err := os.WriteFile(dir+name, []byte("mine"), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		folder := strings.HasSuffix(out, "/")
		stale := "." + base + ".ABCDEFGHIJKL.tmp"
		err := os.WriteFile(dir+stale, []byte("killed"), 0o600)
		if folder {
			err = errors.Join(os.Remove(dir+stale), os.Mkdir(dir+stale, 0o700))
		} else {
			err = errors.Join(err, os.Symlink(dir+"mine", place))
		}
		if err != nil {
			t.Fatal(err)
		}
		c.run(out).want(t, exitGood)
		for _, name := range mine {
			if data, err := os.ReadFile(dir + name); err != nil || string(data) != "mine" {
				t.Errorf("%s has %q: %v", name, data, err)
			}
		}
		if list := names(t, dir); slices.Contains(list, stale) || len(list) != len(mine)+1 {
			t.Errorf("there are %v", list)
		}
		if !folder {
			return
		}
		if err := os.WriteFile(place+"/mine", []byte("mine"), 0o600); err != nil {
			t.Fatal(err)
		}
		before := names(t, place)
		c.run(out).want(t, exitBadInput).says(t, "not empty")
		if after := names(t, place); !slices.Equal(before, after) {
			t.Errorf("the folder has %v, and had %v", after, before)
		}
	})
}

// TestNoPlace: an output that cannot be written is refused before the work, and no folder is made.
func TestNoPlace(t *testing.T) {
	eachFault(t, func(t *testing.T, c faultCase, out string) {
		dir := filepath.Dir(filepath.Clean(out))
		format := strings.TrimPrefix(out, filepath.Join(dir, "out"))
		file := filepath.Join(dir, "file")
		if err := os.WriteFile(file, []byte("mine"), 0o600); err != nil {
			t.Fatal(err)
		}
		for _, place := range []string{filepath.Join(dir, "none", "out"), filepath.Join(file, "out")} {
			c.run(place+format).want(t, exitBadInput).says(t, place)
		}
		if format == "/" {
			c.run(file+format).want(t, exitBadInput).says(t, file)
		}
		if list := names(t, dir); !slices.Equal(list, []string{"file"}) {
			t.Errorf("left %v", list)
		}
	})
}

// TestInterrupted: an interrupt leaves nothing but the saved steps of a simulation.
func TestInterrupted(t *testing.T) {
	eachFault(t, func(t *testing.T, c faultCase, out string) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		c.runContext(ctx, out).want(t, exitInterrupted).says(t, "interrupted")
		list := names(t, filepath.Dir(filepath.Clean(out)))
		if c.name != "step" {
			if len(list) > 0 {
				t.Errorf("left %v", list)
			}
			return
		}
		if !slices.Equal(list, []string{filepath.Base(out) + ".parts"}) {
			t.Errorf("left %v", list)
		}
		c.run(out).want(t, exitBadInput).says(t, "give --resume")
		c.run(out, "--resume").want(t, exitGood)
		got := bytesOf(t, out)
		c.run(out).want(t, exitGood)
		if !bytes.Equal(got, bytesOf(t, out)) {
			t.Error("a resumed run has other bits")
		}
	})
}

// TestAlteredResults: results that were altered are not believed: a byte that is not the one written is found by
// reading, or the answers are refuted, or they are good ones still.
func TestAlteredResults(t *testing.T) {
	dir := t.TempDir()
	cases := faultCases(t, dir)
	verify := map[string][]string{
		"score":   {"verify", "--shapes", dir + "/box.json", "--pairs", dir + "/pairs.npz"},
		"rollout": {"verify", "rollout", "--shapes", dir + "/shapes.json", "--worlds", dir + "/worlds.npz", "--all"},
		"sweep":   {"verify", "sweep", "--shapes", dir + "/shapes.json", "--worlds", dir + "/motions.npz", "--all"},
		"derive":  {"verify", "derivatives", "--shapes", dir + "/box.json", "--pairs", dir + "/pairs.npz"},
		"contact": {"verify", "contact"},
	}
	for _, c := range cases {
		check, ok := verify[c.name]
		if !ok {
			continue
		}
		out := filepath.Join(t.TempDir(), "out.npz")
		c.run(out).want(t, exitGood)
		audit := append(check, "--results", out)
		command(audit...).want(t, exitGood)
		whole := bytesOf(t, out)
		for _, at := range []int{len(whole) / 5, len(whole) / 2, 4 * len(whole) / 5} {
			altered := slices.Clone(whole)
			altered[at] ^= 0x5a
			if err := os.WriteFile(out, altered, 0o600); err != nil {
				t.Fatal(err)
			}
			if o := command(audit...); o.code == exitGood {
				t.Errorf("%s: byte %d of %d is another one, and nobody says so: %s", c.name, at, len(whole), o.stdout)
			}
		}
		if err := os.WriteFile(out, whole[:len(whole)/2], 0o600); err != nil {
			t.Fatal(err)
		}
		command(audit...).want(t, exitBadInput).says(t, out)
	}
}

// TestKilledStep: what a run of `step` left that was killed while it wrote a part does not stop the next one.
func TestKilledStep(t *testing.T) {
	cases := faultCases(t, t.TempDir())
	c := cases[len(cases)-1]
	out := filepath.Join(t.TempDir(), "out.npz")
	c.run(out).want(t, exitGood)
	want := bytesOf(t, out)
	for _, kind := range []string{"states-000003.npz", "problems-000000.npz", runFile} {
		for _, resumed := range []bool{false, true} {
			ctx, cancel := context.WithCancel(t.Context())
			if cancel(); resumed {
				c.runContext(ctx, out).want(t, exitInterrupted)
			} else if err := os.Mkdir(out+".parts", 0o700); err != nil {
				t.Fatal(err)
			}
			left := filepath.Join(out+".parts", fmt.Sprintf(".%s.ABCDEFGHIJKL.tmp", kind))
			if err := os.WriteFile(left, []byte("half"), 0o600); err != nil {
				t.Fatal(err)
			}
			c.run(out, "--resume").want(t, exitGood)
			if !bytes.Equal(bytesOf(t, out), want) {
				t.Error("results are others")
			}
			if _, err := os.Stat(out + ".parts"); err == nil {
				t.Errorf("%s is still there", left)
			}
		}
	}
}

// TestOtherKernels: a run goes on with the kernels, the input and the parts that it began with alone.
func TestOtherKernels(t *testing.T) {
	cases := faultCases(t, t.TempDir())
	c := cases[len(cases)-1]
	out := filepath.Join(t.TempDir(), "out.npz")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	c.runContext(ctx, out).want(t, exitInterrupted)
	c.run(out, "--resume", "--simd", "off").want(t, exitBadInput).says(t, "of another run")
	t.Setenv("CLEARANCE_SIMD", "portable")
	c.run(out, "--resume").want(t, exitBadInput).says(t, "of another run")
	t.Setenv("CLEARANCE_SIMD", "")
	c.run(out, "--resume", "--seed", "2").want(t, exitBadInput).says(t, "of another run")
	part := filepath.Join(out+".parts", "states-000000.npz")
	if err := os.Rename(part, part+".away"); err != nil {
		t.Fatal(err)
	}
	c.run(out, "--resume").want(t, exitBadInput).says(t, part)
	if err := os.Rename(part+".away", part); err != nil {
		t.Fatal(err)
	}
	c.run(out, "--resume").want(t, exitGood)
}

// Outputs in the place of something else: of inputs, links, files and folders.

// inputsOf are the files that a command reads.
func inputsOf(args []string) (list []string) {
	for i, a := range args[1:] {
		if strings.HasPrefix(args[i], "--") && args[i] != "--scene" && filepath.Ext(a) != "" && filepath.IsAbs(a) {
			list = append(list, a)
		}
	}
	return list
}

// withFiles are the cases, and those of `contact` and `step` that read files.
func withFiles(t *testing.T, dir string) []faultCase {
	t.Helper()
	list := faultCases(t, dir)
	problems := filepath.Join(dir, "problems.npz")
	for _, c := range list {
		if c.name == "contact" {
			c.run(problems).want(t, exitGood)
		}
	}
	const worlds = 300
	b := newColumnBuffer([]dataset.ColumnSpec{{Name: "velocity", Width: 6}})
	b.add(worlds, make([]float64, 6*worlds))
	velocities := filepath.Join(dir, "velocities.npz")
	if err := b.write(velocities); err != nil {
		t.Fatal(err)
	}
	return append(list, faultCase{"contact of a file", []string{"contact", "--problems", problems}, formats},
		faultCase{"step of files", []string{"step", "--shapes", dir + "/shapes.json", "--worlds", dir + "/worlds.npz",
			"--velocities", velocities, "--density", "1000", "--gravity", "0,0,0", "--steps", "6", "--save-every", "2"},
			formats})
}

// TestOutputIsInput: an output that is one of the inputs of a command, or a link to it, is refused, and the input keeps
// its bytes.
func TestOutputIsInput(t *testing.T) {
	tried := 0
	for _, c := range withFiles(t, t.TempDir()) {
		for _, input := range inputsOf(c.args) {
			before := bytesOf(t, input)
			link := filepath.Join(t.TempDir(), "link"+filepath.Ext(input))
			if err := os.Symlink(input, link); err != nil {
				t.Fatal(err)
			}
			outs := []string{input, link}
			if c.args[0] == "step" {
				if filepath.Ext(input) == ".json" {
					continue // no output has that extension
				}
				fresh := filepath.Join(t.TempDir(), "out.npz")
				c.run(fresh, "--contacts", input).want(t, exitBadInput).says(t, "one file")
				c.run(fresh, "--problems", link).want(t, exitBadInput).says(t, "one file")
			}
			for _, out := range outs {
				c.run(out).want(t, exitBadInput).says(t, "are one file").says(t, out)
			}
			if !bytes.Equal(bytesOf(t, input), before) {
				t.Fatalf("%s has changed %s", c.name, input)
			}
			tried++
		}
	}
	if tried < 13 {
		t.Errorf("%d inputs", tried)
	}
}

// TestLinksToFolders: a link to an empty folder stays, and the results are in that folder; one to nothing is refused
// before the work, and kept.
func TestLinksToFolders(t *testing.T) {
	eachFault(t, func(t *testing.T, c faultCase, out string) {
		if !strings.HasSuffix(out, "/") {
			return
		}
		place := filepath.Clean(out)
		real := filepath.Join(t.TempDir(), "real")
		if err := os.Symlink(real, place); err != nil {
			t.Fatal(err)
		}
		var stderr bytes.Buffer
		e := &env{Program: program, Stdout: new(bytes.Buffer), Stderr: &stderr, At: func(string, int) {
			t.Error("it has begun to work")
		}}
		if code := e.Run(t.Context(), newRoot(e), slices.Concat(c.args, []string{"--out", out})); code != exitBadInput {
			t.Errorf("exit code %d: %s", code, &stderr)
		}
		if list := names(t, filepath.Dir(place)); !slices.Equal(list, []string{"out"}) {
			t.Errorf("left %v", list)
		}
		if err := os.Mkdir(real, 0o700); err != nil {
			t.Fatal(err)
		}
		c.run(out).want(t, exitGood)
		if info, err := os.Lstat(place); err != nil || info.Mode()&os.ModeSymlink == 0 {
			t.Errorf("the link is no link: %v, %v", info, err)
		}
		if len(names(t, real)) == 0 {
			t.Error("there are no results in the folder that the link names")
		}
		c.run(out).want(t, exitBadInput).says(t, "not empty")
	})
}

// TestFilesAlone: `contact` and `step` write no folders, and say so before the work.
func TestFilesAlone(t *testing.T) {
	for _, c := range faultCases(t, t.TempDir()) {
		if slices.Contains(c.formats, "/") {
			continue
		}
		dir := t.TempDir()
		c.run(filepath.Join(dir, "out")+"/").want(t, exitBadInput).says(t, "want a file .parquet or .npz")
		c.run(dir).want(t, exitBadInput).says(t, dir)
		c.run(filepath.Join(dir, "out.txt")).want(t, exitBadInput).says(t, "out.txt")
		if list := names(t, dir); len(list) > 0 {
			t.Errorf("%s left %v", c.name, list)
		}
	}
}

// TestPlaceOfParts: a file in the place of the folder of a saved run is refused and kept; a link to a folder is
// followed, removed at the end, and its folder stays.
func TestPlaceOfParts(t *testing.T) {
	cases := faultCases(t, t.TempDir())
	c := cases[len(cases)-1]
	out := filepath.Join(t.TempDir(), "out.npz")
	if err := os.WriteFile(out+".parts", []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	c.run(out).want(t, exitBadInput).says(t, out+".parts")
	if string(bytesOf(t, out+".parts")) != "mine" {
		t.Error("the file has changed")
	}
	real := t.TempDir()
	mine := filepath.Join(real, "mine")
	err := errors.Join(os.Remove(out+".parts"), os.Symlink(real, out+".parts"),
		os.WriteFile(mine, []byte("mine"), 0o600))
	if err != nil {
		t.Fatal(err)
	}
	c.run(out).want(t, exitBadInput).says(t, "has the file mine")
	if err := os.Remove(mine); err != nil {
		t.Fatal(err)
	}
	c.run(out).want(t, exitGood)
	if list := names(t, filepath.Dir(out)); !slices.Equal(list, []string{"out.npz"}) {
		t.Errorf("there are %v", list)
	}
	if list := names(t, real); len(list) > 0 {
		t.Errorf("there are %v", list)
	}
}

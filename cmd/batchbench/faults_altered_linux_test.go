package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"clearance/batch"
	"clearance/dataset"
	"clearance/dataset/output"
)

// Inputs, results and saved states that were altered, replaced or lost.

// TestAlteredFormats: a byte of results that is not the one written is found by reading, or refuted, or it changes no
// answer: in files of both formats, and in folders.
func TestAlteredFormats(t *testing.T) {
	dir := t.TempDir()
	pairs := []string{"--shapes", dir + "/box.json", "--pairs", dir + "/pairs.npz", "--results"}
	worlds := []string{"--shapes", dir + "/shapes.json", "--worlds", dir + "/worlds.npz", "--all", "--results"}
	motions := []string{"--shapes", dir + "/shapes.json", "--worlds", dir + "/motions.npz", "--all", "--results"}
	verify := map[string][]string{
		"score": append([]string{"verify"}, pairs...), "rollout": append([]string{"verify", "rollout"}, worlds...),
		"sweep":  append([]string{"verify", "sweep"}, motions...),
		"derive": append([]string{"verify", "derivatives"}, pairs...), "contact": {"verify", "contact", "--results"},
	}
	for _, c := range faultCases(t, dir) {
		audit := verify[c.name]
		for _, format := range c.formats {
			out := filepath.Join(t.TempDir(), "out") + format
			file, more := out, []string(nil)
			switch {
			case c.name == "step":
				file = filepath.Join(t.TempDir(), "problems"+format)
				audit, more = verify["contact"], []string{"--problems", file}
			case audit == nil:
				continue
			}
			c.run(out, more...).want(t, exitGood)
			check := func() outcome { return command(append(slices.Clone(audit), file)...) }
			if format == "/" {
				file = filepath.Clean(out)
			}
			check().want(t, exitGood)
			path := file
			if format == "/" {
				path = filepath.Join(file, names(t, file)[0])
			}
			whole, values := bytesOf(t, path), valuesOf(t, c.name, file)
			refused := 0
			for k := range 12 {
				altered := slices.Clone(whole)
				at := (2*k + 1) * len(whole) / 24
				altered[at] ^= 0x5a
				if err := os.WriteFile(path, altered, 0o600); err != nil {
					t.Fatal(err)
				}
				o := check()
				if o.code != exitGood {
					refused++
				} else if fault := otherThan(values, valuesOf(t, c.name, file), format != ".npz"); fault != "" {
					t.Errorf("%s %s: byte %d of %d is another one, and nobody says so: %s\n%s", c.name, format, at,
						len(whole), fault, o.stdout)
				}
			}
			if refused == 0 {
				t.Errorf("%s %s: nothing was refused", c.name, format)
			}
			if err := os.WriteFile(path, whole[:len(whole)/2], 0o600); err != nil {
				t.Fatal(err)
			}
			check().want(t, exitBadInput).says(t, path)
		}
	}
}

// otherThan says which number of a text is another one than before, where the last bits are free.
func otherThan(before, after string, lastBits bool) string {
	a, b := strings.Fields(before), strings.Fields(after)
	if len(a) != len(b) {
		return fmt.Sprintf("%d numbers, %d before", len(b), len(a))
	}
	for i := range a {
		if a[i] == b[i] {
			continue
		}
		x, errX := strconv.ParseFloat(strings.Trim(a[i], "[]{}"), 64)
		y, errY := strconv.ParseFloat(strings.Trim(b[i], "[]{}"), 64)
		if !lastBits || errX != nil || errY != nil || !(math.Abs(x-y) <= 1e-3*max(1, math.Abs(x))) {
			return fmt.Sprintf("number %d of %d is %s, and was %s", i, len(a), b[i], a[i])
		}
	}
	return ""
}

// valuesOf are the numbers of results as text: a byte of a file may be one that says nothing of them.
func valuesOf(t *testing.T, name, path string) string {
	t.Helper()
	var all any
	var err error
	switch name {
	case "rollout":
		var r *batch.RolloutResults
		if r, _, err = dataset.ReadRolloutResults(path); err == nil {
			whole := *r
			whole.Results = nil
			all = []any{whole, columnsOf(r.Results)}
		}
	case "sweep":
		var r *batch.SweepResults
		if r, _, err = dataset.ReadSweepResults(path); err == nil { // wider bounds are true as well
			all = []any{r.N, r.State, r.T0, r.T1, r.PartA, r.PartB}
		}
	case "contact", "step":
		_, s, _, readErr := readContacts(path) // an altered problem is another question, which the answer may solve
		if err = readErr; err == nil {
			all = []any{s.Impulse, s.Velocity, s.Residual, s.Status}
		}
	default:
		all = columnsOf(readAll(t, path))
	}
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("%v", all)
}

func columnsOf(r *batch.Results) (columns []any) {
	for _, c := range (batch.AllColumns | batch.DerivedColumns).Each() {
		columns = append(columns, *r.Column(c))
	}
	return columns
}

// TestAlteredState: a run of `step` goes on with no part of any kind that was altered, nor with an altered state.
func TestAlteredState(t *testing.T) {
	for _, ext := range formats {
		cases := faultCases(t, t.TempDir())
		c := cases[len(cases)-1]
		dir := t.TempDir()
		out := filepath.Join(dir, "out"+ext)
		more := []string{"--problems", filepath.Join(dir, "problems"+ext), "--contacts",
			filepath.Join(dir, "contacts"+ext)}
		ctx, cancel := context.WithCancel(t.Context())
		e := &env{Program: program, Stdout: new(bytes.Buffer), Stderr: new(bytes.Buffer), At: func(_ string, done int) {
			if done == 25 {
				cancel()
			}
		}}
		code := e.Run(ctx, newRoot(e), slices.Concat(c.args, []string{"--out", out}, more))
		if code != exitInterrupted {
			t.Fatalf("exit code %d", code)
		}
		cancel()
		folder := out + ".parts"
		saved := names(t, folder)
		if len(saved) != 3*3+1 {
			t.Fatalf("saved %v", saved)
		}
		for _, name := range saved {
			path := filepath.Join(folder, name)
			whole := bytesOf(t, path)
			altered := slices.Clone(whole)
			altered[len(altered)/2] ^= 1
			for _, data := range [][]byte{altered, whole[:len(whole)/2], nil} {
				if err := os.WriteFile(path, data, 0o600); err != nil {
					t.Fatal(err)
				}
				c.run(out, append(more, "--resume")...).want(t, exitBadInput).says(t, name)
			}
			if err := os.Remove(path); err != nil {
				t.Fatal(err)
			}
			if name != runFile { // without which there is no run
				c.run(out, append(more, "--resume")...).want(t, exitBadInput).says(t, name)
			}
			if err := os.WriteFile(path, whole, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		c.run(out, append(more, "--resume")...).want(t, exitGood)
		if list := names(t, dir); len(list) != 3 {
			t.Errorf("there are %v", list)
		}
	}
}

// TestAlteredInputOfARun: a run of `step` goes on with the bytes of the files that it began with.
func TestAlteredInputOfARun(t *testing.T) {
	dir := t.TempDir()
	list := withFiles(t, dir)
	c := list[len(list)-1]
	out := filepath.Join(t.TempDir(), "out.npz")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	c.runContext(ctx, out).want(t, exitInterrupted)
	for _, input := range inputsOf(c.args) {
		whole := bytesOf(t, input)
		altered := bytes.Replace(whole, []byte("0.5"), []byte("0.6"), 1) // the radius
		if filepath.Ext(input) == ".npz" {
			altered = alteredColumn(t, input)
		}
		if err := os.WriteFile(input, altered, 0o600); err != nil {
			t.Fatal(err)
		}
		c.run(out, "--resume").want(t, exitBadInput).says(t, "of another run")
		if err := os.WriteFile(input, whole, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	c.run(out, "--resume").want(t, exitGood)
}

// alteredColumn is a file of worlds or of velocities with another number.
func alteredColumn(t *testing.T, path string) []byte {
	t.Helper()
	other := filepath.Join(t.TempDir(), "other.npz")
	switch filepath.Base(path) {
	case "velocities.npz":
		tab, err := dataset.ReadColumns(path, []dataset.ColumnSpec{{Name: "velocity", Width: 6}})
		if err != nil {
			t.Fatal(err)
		}
		b := newColumnBuffer([]dataset.ColumnSpec{{Name: "velocity", Width: 6}})
		tab.Reals("velocity")[7] = 0.25
		b.add(tab.Rows, tab.Reals("velocity"))
		if err := b.write(other); err != nil {
			t.Fatal(err)
		}
	default:
		bodies, err := dataset.ReadBodies(filepath.Join(filepath.Dir(path), "shapes.json"))
		if err != nil {
			t.Fatal(err)
		}
		w, err := dataset.ReadRollout(path, bodies)
		if err != nil {
			t.Fatal(err)
		}
		w.Poses[14] += 0.25
		if err := dataset.WriteRollout(other, w, bodies); err != nil {
			t.Fatal(err)
		}
	}
	return bytesOf(t, other)
}

// TestReplacedInput: a command answers the file that it has opened, also where another one takes its name meanwhile.
func TestReplacedInput(t *testing.T) {
	dir := t.TempDir()
	for _, c := range faultCases(t, dir) {
		inputs := inputsOf(c.args)
		if len(inputs) == 0 || c.name == "score --audit" { // which opens the pairs once more
			continue
		}
		want := filepath.Join(t.TempDir(), "want.npz")
		c.run(want).want(t, exitGood)
		out := filepath.Join(t.TempDir(), "out.npz")
		kept := map[string][]byte{}
		e := &env{Program: program, Stdout: new(bytes.Buffer), Stderr: new(bytes.Buffer), At: func(string, int) {
			for _, path := range inputs {
				if kept[path] == nil {
					kept[path] = bytesOf(t, path)
					err := errors.Join(os.WriteFile(path+".new", []byte("other"), 0o600), os.Rename(path+".new", path))
					if err != nil {
						t.Error(err)
					}
				}
			}
		}}
		code := e.Run(t.Context(), newRoot(e), slices.Concat(c.args, []string{"--out", out}))
		for path, data := range kept {
			if err := os.WriteFile(path, data, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if len(kept) == 0 || code != exitGood || !bytes.Equal(bytesOf(t, out), bytesOf(t, want)) {
			t.Errorf("%s: exit code %d, %s", c.name, code, e.Stderr)
		}
	}
}

// TestAuditOfAReplacedInput: `score --audit` reads the pairs again, and what they are then refutes answers of others.
func TestAuditOfAReplacedInput(t *testing.T) {
	dir := t.TempDir()
	cases := faultCases(t, dir)
	c := cases[1]
	out, path := filepath.Join(t.TempDir(), "out.npz"), dir+"/pairs.npz"
	p, err := dataset.ReadPairs(path)
	if err != nil {
		t.Fatal(err)
	}
	for i := range p.PositionB {
		p.PositionB[i] += 0.5
	}
	replaced := false
	e := &env{Program: program, Stdout: new(bytes.Buffer), Stderr: new(bytes.Buffer), At: func(what string, _ int) {
		if what == "score" && !replaced {
			replaced = true
			if err := dataset.WritePairs(path, p); err != nil {
				t.Error(err)
			}
		}
	}}
	code := e.Run(t.Context(), newRoot(e), slices.Concat(c.args, []string{"--out", out}))
	if code != exitWrong || !replaced {
		t.Errorf("exit code %d: %s", code, e.Stderr)
	}
}

// TestMissingPart: readers of a folder of results refuse one of which a part is missing.
func TestMissingPart(t *testing.T) {
	dir := t.TempDir()
	cases := faultCases(t, dir)
	for _, c := range cases {
		folder := filepath.Join(t.TempDir(), "parts")
		if err := os.Mkdir(folder, 0o700); err != nil {
			t.Fatal(err)
		}
		part := func(i int) string { return filepath.Join(folder, fmt.Sprintf("part-%d.parquet", i)) }
		var readers [][]string
		switch c.name {
		case "score":
			pairs := []string{"--shapes", dir + "/box.json", "--pairs", dir + "/pairs.npz", "--results", folder}
			readers = [][]string{append([]string{"verify"}, pairs...),
				append([]string{"derive", "--out", filepath.Join(t.TempDir(), "d.npz")}, pairs...)}
		case "rollout", "sweep":
			readers = [][]string{{"verify", c.name, "--all", "--results", folder, "--shapes", dir + "/shapes.json",
				"--worlds", dir + map[string]string{"rollout": "/worlds.npz", "sweep": "/motions.npz"}[c.name]}}
		default:
			continue
		}
		for i := range 3 {
			c.run(part(i), "--rows", strconv.Itoa(100*i)+":"+strconv.Itoa(100*(i+1))).want(t, exitGood)
		}
		for _, read := range readers {
			command(read...).want(t, exitGood)
		}
		for i := range 3 {
			kept := filepath.Join(folder, "_kept")
			if err := os.Rename(part(i), kept); err != nil {
				t.Fatal(err)
			}
			for _, read := range readers {
				command(read...).want(t, exitBadInput).says(t, folder)
			}
			if err := os.Rename(kept, part(i)); err != nil {
				t.Fatal(err)
			}
		}
	}
	missingDerivatives(t, dir)
}

// missingDerivatives does so of a folder of derivatives.
func missingDerivatives(t *testing.T, dir string) {
	t.Helper()
	whole, err := dataset.ReadPairs(dir + "/pairs.npz")
	if err != nil {
		t.Fatal(err)
	}
	folder := filepath.Join(t.TempDir(), "parts")
	if err := os.Mkdir(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	part := func(i int) string { return filepath.Join(folder, fmt.Sprintf("part-%d.parquet", i)) }
	for i := range 3 {
		pairs, results := filepath.Join(t.TempDir(), "pairs.npz"), filepath.Join(t.TempDir(), "results.npz")
		if err := dataset.WritePairs(pairs, whole.Slice(100*i, 100*(i+1))); err != nil {
			t.Fatal(err)
		}
		in := []string{"--shapes", dir + "/box.json", "--pairs", pairs}
		command(append([]string{"score", "--backend", "cpu", "--out", results}, in...)...).want(t, exitGood)
		command(append([]string{"derive", "--results", results, "--out", part(i)}, in...)...).want(t, exitGood)
	}
	read := []string{"verify", "derivatives", "--shapes", dir + "/box.json", "--pairs", dir + "/pairs.npz", "--results",
		folder}
	command(read...).want(t, exitGood)
	for i := range 3 {
		if err := os.Rename(part(i), filepath.Join(folder, "_kept")); err != nil {
			t.Fatal(err)
		}
		command(read...).want(t, exitBadInput).says(t, folder)
		if err := os.Rename(filepath.Join(folder, "_kept"), part(i)); err != nil {
			t.Fatal(err)
		}
	}
}

// Interrupts and kills at any place of the work, by the commands that write results.

// ending is a context that ends when it is looked at for some number of times: an interrupt at any place of the work
// that looks for one.
type ending struct {
	context.Context
	mu   sync.Mutex
	left int
	done chan struct{}
}

func endingAfter(looks int) *ending {
	return &ending{Context: context.Background(), left: looks, done: make(chan struct{})}
}

func (c *ending) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.left--; c.left >= 0 {
		return nil
	}
	if c.left == -1 {
		close(c.done)
	}
	return context.Canceled
}

func (c *ending) Done() <-chan struct{} { return c.done }

// TestInterruptedAnywhere: an interrupt leaves no results, wherever it comes, and what was at the output before stays;
// of a simulation the saved steps, from which it goes on to the same bits.
func TestInterruptedAnywhere(t *testing.T) {
	eachFault(t, func(t *testing.T, c faultCase, out string) {
		c.run(out).want(t, exitGood)
		want, dir := bytesOf(t, out), filepath.Dir(filepath.Clean(out))
		if strings.HasSuffix(out, "/") {
			if err := os.RemoveAll(out); err != nil {
				t.Fatal(err)
			}
		}
		before := names(t, dir)
		interrupted := func(where string, o outcome) bool {
			t.Helper()
			if o.code == exitGood {
				return false
			}
			o.want(t, exitInterrupted)
			if c.name == "step" {
				c.run(out, "--resume").want(t, exitGood)
				if !bytes.Equal(bytesOf(t, out), want) {
					t.Fatalf("interrupted %s, and resumed: other bits", where)
				}
			}
			if list := names(t, dir); !slices.Equal(list, before) {
				t.Fatalf("interrupted %s: left %v, there was %v", where, list, before)
			}
			if len(before) > 0 && !bytes.Equal(bytesOf(t, out), want) {
				t.Fatalf("interrupted %s: the file of before is another one", where)
			}
			return true
		}
		ended, looks := 0, 0
		for interrupted(fmt.Sprintf("after %d looks", looks), c.runContext(endingAfter(looks), out)) {
			ended++
			looks += 1 + looks
		}
		ended += c.atEachProgress(t, out, interrupted)
		if ended == 0 && c.name != "score" { // whose rows are one block here: TestInterrupt has more
			t.Error("no interrupt")
		}
	})
}

// atEachProgress interrupts a command at each place of its progress, and returns the number of those at which it ended
// before it was through.
func (c faultCase) atEachProgress(t *testing.T, out string, interrupted func(where string, o outcome) bool) int {
	t.Helper()
	ended := 0
	for k, reached := 1, true; reached; k += k {
		if strings.HasSuffix(out, "/") {
			if err := os.RemoveAll(out); err != nil {
				t.Fatal(err)
			}
		}
		ctx, cancel := context.WithCancel(t.Context())
		n := 0
		reached = false
		var mu sync.Mutex
		var stdout, stderr bytes.Buffer
		e := &env{Program: program, Stdout: &stdout, Stderr: &stderr, At: func(string, int) {
			mu.Lock()
			defer mu.Unlock()
			if n++; n == k {
				reached = true
				cancel()
			}
		}}
		code := e.Run(ctx, newRoot(e), slices.Concat(c.args, []string{"--out", out}))
		cancel()
		if interrupted(fmt.Sprintf("at progress %d", k), outcome{code, stdout.String(), stderr.String()}) {
			ended++
		}
	}
	return ended
}

// TestInterruptedBetween: `contact` writes its output when all solvers are through.
func TestInterruptedBetween(t *testing.T) {
	dir := t.TempDir()
	for looks := 0; ; looks++ {
		o := commandContext(endingAfter(looks), "contact", "--scene", "stack4", "--worlds", "3", "--reference",
			"--limit", "2", "--out", filepath.Join(dir, "out.npz"))
		if o.code == exitGood {
			break
		}
		if o.want(t, exitInterrupted); len(names(t, dir)) > 0 {
			t.Fatalf("interrupted after %d looks: left %v", looks, names(t, dir))
		}
	}
}

// TestKilled: a process that is killed in its work leaves temporary files alone, and the next run to that output
// removes them; that of a simulation goes on behind the last saved step.
func TestKilled(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	eachFault(t, func(t *testing.T, c faultCase, out string) {
		if c.name == "contact" { // writes its file at once: TestForeignFiles has what a kill leaves
			return
		}
		dir, base := filepath.Split(filepath.Clean(out))
		phase, args := map[string]string{"score --audit": "verify:1", "step": "step:15"}[c.name], c.args
		switch {
		case c.name == "rollout": // which has no file before it has answers
			phase, args = "verify:1", append(slices.Clone(args), "--audit")
		case phase == "":
			phase = c.name + ":1"
		}
		run := exec.Command(self, slices.Concat(args, []string{"--out", out})...)
		run.Env = append(os.Environ(), actAsMain+"=1", killItself+"="+phase)
		_ = run.Run()
		if s, ok := run.ProcessState.Sys().(syscall.WaitStatus); !ok || s.Signal() != syscall.SIGKILL {
			t.Fatalf("it was not killed: %v", run.ProcessState)
		}
		left := names(t, dir)
		more := []string(nil)
		for _, name := range left {
			if c.name == "step" {
				more = []string{"--resume"}
			} else if name == base || output.FinalName(name) != base {
				t.Errorf("left %v", left)
			}
		}
		if len(left) == 0 {
			t.Error("there was nothing to leave")
		}
		c.run(out, more...).want(t, exitGood)
		if list := names(t, dir); !slices.Equal(list, []string{base}) {
			t.Errorf("there are %v beside the results", list)
		}
		got := bytesOf(t, out)
		other := filepath.Join(t.TempDir(), base) + strings.TrimPrefix(out, dir+base)
		c.run(other).want(t, exitGood)
		if !bytes.Equal(got, bytesOf(t, other)) {
			t.Error("other bits")
		}
	})
}

package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"clearance/batch"
	"clearance/dataset"
	"clearance/tests/need"
)

// actAsMain makes the test binary behave as the program, for tests that need a
// process of their own.
const actAsMain = "BATCHBENCH_TEST_MAIN"

// signalItself names a phase in whose progress such a process sends itself an interrupt.
const signalItself = "BATCHBENCH_TEST_SIGNAL"

// killItself names a phase, and the progress in it, as in "score:100", at which such a process kills itself.
const killItself = "BATCHBENCH_TEST_KILL"

func TestMain(m *testing.M) {
	if os.Getenv(actAsMain) != "" {
		atProgress = func(ctx context.Context, what string, done int) {
			phase, at, _ := strings.Cut(os.Getenv(killItself), ":")
			if n, _ := strconv.Atoi(at); what == phase && done >= n {
				if self, err := os.FindProcess(os.Getpid()); err == nil {
					_ = self.Kill()
				}
				select {}
			}
			if what != os.Getenv(signalItself) || ctx.Err() != nil {
				return
			}
			self, err := os.FindProcess(os.Getpid())
			if err == nil {
				err = self.Signal(os.Interrupt)
			}
			if err != nil {
				panic(err)
			}
			<-ctx.Done()
		}
		main()
	}
	os.Exit(m.Run())
}

// TestCancelled: if the context has ended, every long-running command ends with code 130 and
// without a file.
func TestCancelled(t *testing.T) {
	f := newFiles(t, ".parquet")
	f.ballAndBox(t, 1000, nil)
	f.score().want(t, exitGood)
	before := names(t, f.dir)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	for _, args := range [][]string{
		{"run", "--pairs", "2000", "--json", f.json},
		{"score", "--shapes", f.shapes, "--pairs", f.pairs, "--out", filepath.Join(f.dir, "new.npz"), "--json", f.json},
		{"verify", "--shapes", f.shapes, "--pairs", f.pairs, "--results", f.results, "--json", f.json},
		{"generate", "--set", "boxes", "--shapes", filepath.Join(f.dir, "new.json"), "--out",
			filepath.Join(f.dir, "new.parquet")},
	} {
		o := commandContext(ctx, args...).want(t, exitInterrupted).says(t, "interrupted")
		if o.stdout != "" {
			t.Errorf("%s wrote to standard output: %q", args[0], o.stdout)
		}
		if after := names(t, f.dir); !slices.Equal(before, after) {
			t.Errorf("%s left %v, there was %v", args[0], after, before)
		}
	}
}

// TestInterrupt: a process gets the signal after the first rows of its results.
func TestInterrupt(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("a process cannot send an interrupt to another on Windows")
	}
	f := newFiles(t, ".npz")
	f.ballAndBox(t, 1<<18, nil)
	for _, out := range []string{f.results, filepath.Join(f.dir, "results") + "/"} {
		interrupted(t, f, out)
	}
}

// interrupted runs a process that gets the signal while it writes results.
func interrupted(t *testing.T, f files, out string) {
	t.Helper()
	before := names(t, f.dir)

	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self, "score", "--shapes", f.shapes, "--pairs", f.pairs, "--out", out, "--workers", "1")
	cmd.Env = append(os.Environ(), actAsMain+"=1", signalItself+"=score")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	_ = cmd.Run()
	if code := cmd.ProcessState.ExitCode(); code != exitInterrupted {
		t.Errorf("exit code %d, want %d; standard error %q", code, exitInterrupted, &stderr)
	}
	if !strings.Contains(stderr.String(), "interrupted") {
		t.Errorf("standard error = %q", &stderr)
	}
	if after := names(t, f.dir); !slices.Equal(before, after) {
		t.Errorf("left %v, there was %v", after, before)
	}
}

// TestAuditInterrupted: an interrupt in the audit leaves no file of results, in any format, of pairs and of worlds.
func TestAuditInterrupted(t *testing.T) {
	f := newFiles(t, ".parquet")
	f.ballAndBox(t, 1000, nil)
	worlds := filepath.Join(f.dir, "worlds.npz")
	w := &batch.Worlds{Shapes: []int32{0, 1}, TemplateA: []int32{0}, TemplateB: []int32{1}}
	for range 1000 {
		w.Poses = append(w.Poses, 0, 0, 0, 1, 0, 0, 0, 0, 0, 3, 1, 0, 0, 0)
	}
	if err := dataset.WriteWorlds(worlds, w); err != nil {
		t.Fatal(err)
	}
	before := names(t, f.dir)
	for _, in := range [][]string{{"score", "--pairs", f.pairs}, {"score", "--worlds", worlds},
		{"rollout", "--worlds", worlds, "--max-distance", "1"}} {
		for _, ext := range formats {
			for _, phase := range []string{in[0], "verify"} {
				ctx, cancel := context.WithCancel(t.Context())
				var stdout, stderr bytes.Buffer
				reached := false
				e := &env{Program: program, Stdout: &stdout, Stderr: &stderr, At: func(what string, done int) {
					if what == phase && done > 0 {
						reached = true
						cancel()
					}
				}}
				code := e.Run(ctx, newRoot(e), append(in, "--audit", "--shapes", f.shapes, "--out",
					filepath.Join(f.dir, "out"+ext)))
				cancel()
				if !reached || code != exitInterrupted || !strings.Contains(stderr.String(), "no output file") {
					t.Errorf("%v %s, interrupted in %s: %v, exit code %d, %s", in, ext, phase, reached, code, &stderr)
				}
				if after := names(t, f.dir); !slices.Equal(before, after) {
					t.Errorf("%v %s, interrupted in %s: left %v, there was %v", in, ext, phase, after, before)
				}
			}
		}
	}
}

// longestExit is far more than the second within which a signal ends a run: the machine may be busy.
const longestExit = 30 * time.Second

// signaled is a command line with what it reads and writes.
type signaled struct {
	args    []string
	writes  []string
	both    bool // all of them or none
	check   func(t *testing.T, path string)
	longest time.Duration // of a run that nothing interrupts
	phase   string        // of many blocks, in whose progress a run of its own is interrupted
}

// TestSignals sends signals to score, verify, generate and fit at random moments, and in the progress of audits: they
// end, leave no temporary file and their input as it was, and what they write is complete or not there.
func TestSignals(t *testing.T) {
	runs := 12
	if need.All() {
		runs = 500
	}
	if runtime.GOOS == "windows" {
		t.Skip("a process cannot send a signal to another on Windows")
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	f := newFiles(t, ".npz")
	command("generate", "--set", "mixed", "--pairs", "60000", "--shapes", f.shapes, "--out", f.pairs).want(t, exitGood)
	f.score("--precision", "double").want(t, exitGood)
	mesh := boxOBJ(t)
	inputs := []string{f.shapes, f.pairs, f.results, mesh}
	sums := make([][sha256.Size]byte, len(inputs))
	for i, path := range inputs {
		sums[i] = sum(t, path)
	}
	out := t.TempDir()
	at := func(name string) string { return filepath.Join(out, name) }
	results := func(t *testing.T, path string) { readResults(t, path) }
	pairs := func(t *testing.T, path string) {
		if strings.HasSuffix(path, ".json") {
			if _, err := dataset.ReadLibrary(path); err != nil {
				t.Error(err)
			}
			return
		}
		p, err := dataset.OpenPairs(path)
		if err != nil {
			t.Error(err)
			return
		}
		defer p.Close()
		if p.Len() != 60000 {
			t.Errorf("%s: %d rows", path, p.Len())
		}
	}
	shapes := func(t *testing.T, path string) {
		if _, _, err := dataset.ReadShapes(path); err != nil {
			t.Error(err)
		}
	}
	exists := func(t *testing.T, path string) {
		if b, err := os.ReadFile(path); err != nil || !bytes.HasSuffix(bytes.TrimSpace(b), []byte("}")) {
			t.Errorf("%s: %v, %d bytes", path, err, len(b))
		}
	}
	commands := []*signaled{
		{args: []string{"score", "--workers", "1", "--precision", "double", "--shapes", f.shapes, "--pairs", f.pairs,
			"--out", at("r.npz")}, writes: []string{at("r.npz")}, check: results},
		{args: []string{"score", "--workers", "1", "--audit", "--shapes", f.shapes, "--pairs", f.pairs, "--out",
			at("r.parquet")}, writes: []string{at("r.parquet")}, check: results, phase: "verify"},
		{args: []string{"verify", "--workers", "1", "--prove", "50", "--shapes", f.shapes, "--pairs", f.pairs,
			"--results", f.results, "--json", at("v.json")}, writes: []string{at("v.json")}, check: exists,
			phase: "verify"},
		{args: []string{"generate", "--set", "mixed", "--pairs", "60000", "--shapes", at("g.json"), "--out",
			at("g.npz")}, writes: []string{at("g.json"), at("g.npz")}, both: true, check: pairs},
		{args: []string{"generate", "--set", "adversarial", "--pairs", "60000", "--shapes", at("h.json"), "--out",
			at("h.parquet")}, writes: []string{at("h.json"), at("h.parquet")}, both: true, check: pairs},
		{args: []string{"fit", "--mesh", mesh, "--vertices", "60", "--shapes", at("f.json")},
			writes: []string{at("f.json")}, check: shapes},
	}
	rng := rand.New(rand.NewPCG(24, 500))
	if need.All() {
		rng = rand.New(rand.NewPCG(uint64(time.Now().UnixNano()), 500))
	}
	signals := []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP}
	for _, c := range commands {
		if c.phase == "" {
			continue
		}
		t.Setenv(signalItself, c.phase)
		if code, _ := c.run(t, self, nil, 0); code != exitInterrupted {
			t.Errorf("%v, interrupted in %s, ends with code %d", c.args, c.phase, code)
		}
		c.verify(t, out, false)
	}
	t.Setenv(signalItself, "")
	interrupted, longest := 0, time.Duration(0)
	for i := range runs {
		c := commands[i%len(commands)]
		if c.longest == 0 {
			start := time.Now()
			if code, took := c.run(t, self, nil, 0); code != exitGood {
				t.Fatalf("%v ends with code %d after %v", c.args, code, took)
			}
			c.longest = time.Since(start)
			c.verify(t, out, true)
		}
		signal := signals[rng.IntN(len(signals))]
		code, took := c.run(t, self, signal, time.Duration(rng.Float64()*float64(c.longest)))
		longest = max(longest, took)
		if took > longestExit {
			t.Errorf("run %d: %v ends %v after %v", i, c.args, took, signal)
		}
		if code != exitGood {
			interrupted++
		}
		if code != exitGood && code != exitInterrupted && code != -1 { // −1: before the program looks at signals
			t.Errorf("run %d: %v ends with code %d after %v", i, c.args, code, signal)
		}
		c.verify(t, out, code == exitGood)
		for j, path := range inputs {
			if sum(t, path) != sums[j] {
				t.Fatalf("run %d: %v changed %s", i, c.args, path)
			}
		}
	}
	t.Logf("%d of %d runs interrupted, the slowest in %v", interrupted, runs, longest)
}

// run runs the command line, sends it the signal, if there is one, and returns its exit code and the time between.
func (c *signaled) run(t *testing.T, self string, signal os.Signal, after time.Duration) (int, time.Duration) {
	t.Helper()
	cmd := exec.Command(self, c.args...)
	cmd.Env = append(os.Environ(), actAsMain+"=1")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() { _ = cmd.Wait(); close(ended) }()
	sent := time.Now()
	if signal != nil {
		time.Sleep(after)
		sent = time.Now()
		_ = cmd.Process.Signal(signal) // an error means that it has ended
	}
	select {
	case <-ended:
	case <-time.After(time.Hour):
		_ = cmd.Process.Kill()
		<-ended
	}
	return cmd.ProcessState.ExitCode(), time.Since(sent)
}

// verify tests what the run wrote to the folder, and removes it.
func (c *signaled) verify(t *testing.T, folder string, good bool) {
	t.Helper()
	written := 0
	for _, path := range c.writes {
		_, err := os.Stat(path)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		written++
		c.check(t, path)
		if err := os.Remove(path); err != nil {
			t.Error(err)
		}
	}
	if good && written != len(c.writes) || c.both && written != 0 && written != len(c.writes) {
		t.Errorf("%v wrote %d of %v", c.args, written, c.writes)
	}
	if left := names(t, folder); !slices.Equal(left, nil) {
		t.Fatalf("%v left %v", c.args, left)
	}
}

func sum(t *testing.T, path string) [sha256.Size]byte {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return sha256.Sum256(b)
}

package main

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"clearance/dataset"
	"clearance/tests/need"
)

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

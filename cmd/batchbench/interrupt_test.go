package main

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"

	"clearance/batch"
	"clearance/dataset"
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

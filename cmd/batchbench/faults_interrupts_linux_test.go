package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"clearance/dataset/output"
)

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

package engine

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"clearance/batch"
	"clearance/dispatch"
	"clearance/engine/internal/vk"
	"clearance/internal/layout"
)

// TestDrainTimesOut: a call that is cancelled while the device does not end its work leaves a chunk in its workspace.
// The next call must not take those answers for its own; the device is of no use any more.
func TestDrainTimesOut(t *testing.T) {
	b := openAlone(t, Options{ChunkRows: 128, Timeout: 200 * time.Millisecond})
	lib, pairs := set(t, "boxes", 0, 500)
	ctx, cancel := context.WithCancel(t.Context())
	disarm := vk.Inject(vk.Fault{Call: "wait", Times: -1, Result: vk.ResultTimeout})
	defer disarm()
	in := canceller{pairs, 200, cancel} // of the second chunk; the first is on the device
	o := new(batch.Options)
	if err := b.Run(ctx, &batch.Job{Library: lib, Input: in}, 0, 500, unanswered(500, o)); !errors.Is(err,
		context.Canceled) {
		t.Errorf("the cancelled call: %v", err)
	}
	disarm()
	for range workspacesPerDevice {
		out := unanswered(64, o)
		job := &batch.Job{Library: lib, Input: pairs}
		if err := b.Run(t.Context(), job, 400, 464, out); !errors.Is(err, vk.Timeout) {
			t.Errorf("the next call: %v", err)
		}
		if i := out.Marks.Next(0, batch.Answered); i >= 0 {
			t.Fatalf("row %d got an answer, %v, of a device that is of no use", i, batch.Status(out.Status()[i]))
		}
	}
}

// TestWaitingForAWorkspace: a call that waits for a workspace while the device fails returns the failure.
func TestWaitingForAWorkspace(t *testing.T) {
	b := openAlone(t, Options{})
	lib, pairs := set(t, "boxes", 0, 100)
	var taken []*workspace
	for range workspacesPerDevice {
		taken = append(taken, <-b.workspaces)
	}
	done := make(chan error, 1)
	go func() {
		done <- b.Run(context.Background(), &batch.Job{Library: lib, Input: pairs}, 0, 100,
			unanswered(100, new(batch.Options)))
	}()
	select {
	case err := <-done:
		t.Fatalf("ended without a workspace: %v", err)
	case <-time.After(100 * time.Millisecond): // past the check at its beginning
	}
	b.failed(&vk.Error{Cause: vk.Timeout, Op: "wait"})
	for _, l := range taken {
		b.workspaces <- l
	}
	if err := <-done; !errors.Is(err, vk.Timeout) {
		t.Errorf("error %v", err)
	}
	if n := len(b.workspaces); n != workspacesPerDevice {
		t.Errorf("%d workspaces left of %d", n, workspacesPerDevice)
	}
}

// panicking is a context that panics when it is asked for the third time.
type panicking struct {
	context.Context
	calls *atomic.Int64
}

func (p panicking) Err() error {
	if p.calls.Add(1) > 2 {
		panic("no such context")
	}
	return nil
}

// TestPanicLosesNoWorkspace: after panics of more calls than there are workspaces the device answers on.
func TestPanicLosesNoWorkspace(t *testing.T) {
	b := openAlone(t, Options{ChunkRows: 64})
	lib, pairs := set(t, "boxes", 0, 500)
	o := new(batch.Options)
	h := hold(t, b, lib, pairs)
	for range workspacesPerDevice + 1 {
		for name, call := range map[string]func(ctx context.Context) error{
			"run": func(ctx context.Context) error {
				return b.Run(ctx, &batch.Job{Library: lib, Input: pairs}, 0, 500, unanswered(500, o))
			},
			"held": func(ctx context.Context) error { return h.Run(ctx, o, unanswered(500, o)) },
		} {
			func() {
				defer func() {
					if recover() == nil {
						t.Errorf("%s: no panic", name)
					}
				}()
				call(panicking{context.Background(), new(atomic.Int64)})
			}()
		}
	}
	if n := len(b.workspaces); n != workspacesPerDevice {
		t.Fatalf("%d workspaces left of %d", n, workspacesPerDevice)
	}
	for i := range h.(*Held).flights {
		if h.(*Held).flights[i].busy {
			t.Errorf("flight %d of the held batch was not waited for", i)
		}
	}
	run(t, &batch.Job{Library: lib, Input: pairs}, dispatch.Options{}, b, processor(t))
}

// TestStatusWordOfNoShader: a row with the code of a solver that no shader writes is declined.
func TestStatusWordOfNoShader(t *testing.T) {
	o := batch.Options{Columns: batch.ColStatus | batch.ColMethod}
	out := unanswered(2, &o)
	l := placementOf(out, 2)
	memory := make([]byte, l.bytes)
	words := recordsIn[uint32](memory[4*l.statusAt():])
	words[0] = uint32(batch.Separated) | 1<<layout.SolverShift
	words[1] = uint32(batch.Separated) | uint32(len(layout.Solvers))<<layout.SolverShift
	sum := l.takeDown(memory, out, 0, 0, 2)
	if batch.Status(out.Status()[0]) != batch.Separated || batch.Solver(out.Method()[0]) != layout.Solvers[1] {
		t.Errorf("row 0: status %d by %d", out.Status()[0], out.Method()[0])
	}
	if out.Marks[0] != batch.Answered || out.Marks[1] != batch.Unanswered || sum.declined[0] != 1 {
		t.Errorf("row 1: status %d by %d, declined %v", out.Status()[1], out.Method()[1], sum.declined)
	}
}

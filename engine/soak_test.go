package engine

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"clearance/batch"
	"clearance/dispatch"
	"clearance/engine/internal/vk"
	"clearance/internal/layout"
	"clearance/internal/testkit"
	"clearance/internal/testkit/rowcheck"
	"clearance/tests/need"
)

// usage is what a process may leak.
type usage struct {
	resident    int // MiB, 0 where the system does not tell
	files       int
	goroutines  int
	handles     string
	libraries   int
	collections uint32
}

func measure(t *testing.T, b *Backend) usage {
	t.Helper()
	u := usage{resident: testkit.ResidentMiB(t), goroutines: runtime.NumGoroutine(),
		handles: fmt.Sprint(vk.LiveHandles())}
	if files, err := os.ReadDir("/proc/self/fd"); err == nil {
		u.files = len(files)
	}
	if b != nil {
		b.libraries.mu.Lock()
		u.libraries = len(b.libraries.kept)
		b.libraries.mu.Unlock()
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	u.collections = m.NumGC
	return u
}

// soaker asks one back end random questions whose answers are known.
type soaker struct {
	b      *Backend
	cases  []soakCase
	calls  atomic.Int64
	rows   atomic.Int64
	worlds *batch.Worlds
}

type soakCase struct {
	lib  *batch.Library
	in   batch.Input
	o    batch.Options
	want *batch.Results
}

func newSoaker(t *testing.T, b *Backend) *soaker {
	s := &soaker{b: b}
	add := func(lib *batch.Library, in batch.Input, o batch.Options) {
		s.cases = append(s.cases, soakCase{lib, in, o, direct(t, b, lib, in, o)})
	}
	for _, n := range []int{1, 70, 3000, 20_000} {
		lib, pairs := set(t, "mixed", 0, n)
		add(lib, pairs, batch.Options{})
		if n < 20_000 {
			add(lib, pairs, batch.Options{Precision: batch.Double, Method: batch.Nesterov})
		}
	}
	lib, pairs := set(t, "boxes", 0, 500)
	add(lib, pairs, batch.Options{Method: batch.Polyak})
	lib, w := stack(t, 31, 0)
	add(lib, w, batch.Options{})
	s.worlds = w
	return s
}

// everyWorkspace has all workspaces compute the largest case, so that they have grown to their size.
func (s *soaker) everyWorkspace(t *testing.T) {
	var used []*workspace
	for range cap(s.b.workspaces) {
		for _, c := range s.cases {
			direct(t, s.b, c.lib, c.in, c.o)
		}
		used = append(used, <-s.b.workspaces) // nobody else is here: it was this one or the next
	}
	for _, l := range used {
		s.b.workspaces <- l
	}
	for _, l := range used {
		if l.slots[0].rows == 0 || l.slots[1].rows == 0 {
			t.Fatal("a workspace was not used")
		}
	}
}

// work asks until the end, every question in Run or through a held batch.
func (s *soaker) work(t *testing.T, seed uint64, end time.Time) {
	random := rand.New(rand.NewPCG(seed, 1))
	for time.Now().Before(end) && !t.Failed() {
		c := &s.cases[random.IntN(len(s.cases))]
		lo := random.IntN(c.in.Len()/64+1) * 64
		if lo >= c.in.Len() {
			lo = 0
		}
		hi := min(c.in.Len(), lo+64*(1+random.IntN(400)))
		whole := unanswered(c.in.Len(), &c.o)
		if random.IntN(4) == 0 {
			lo, hi = 0, c.in.Len()
			if !s.held(t, c, whole, random.IntN(5)) {
				return
			}
		} else {
			job := &batch.Job{Library: c.lib, Input: c.in, Options: c.o}
			if err := s.b.Run(t.Context(), job, lo, hi, whole.Slice(lo, hi)); err != nil {
				t.Error(err)
				return
			}
		}
		for i := lo; i < hi; i++ {
			if whole.Status()[i] != c.want.Status()[i] || whole.Status()[i] != 0xff && !rowcheck.Same(whole, i,
				c.want, i) {
				t.Errorf("row %d of %d has other bits", i, c.in.Len())
				return
			}
		}
		s.calls.Add(1)
		s.rows.Add(int64(hi - lo))
	}
}

// held answers a case through a held batch, after some steps of a rollout.
func (s *soaker) held(t *testing.T, c *soakCase, out *batch.Results, steps int) bool {
	h, err := s.b.Hold(t.Context(), c.lib, c.in)
	if err != nil {
		t.Error(err)
		return false
	}
	for range steps + 1 {
		if err = h.Update(t.Context(), c.in); err == nil {
			err = h.Run(t.Context(), &c.o, out)
		}
		if err != nil {
			t.Error(err)
			break
		}
	}
	if e := h.Close(); e != nil {
		t.Error(e)
	}
	return err == nil
}

// TestSoak: small and large batches without a pause, on both memory paths, beside a
// goroutine that makes garbage: every answer keeps its bits, nothing is said by the
// validation layer, and memory, handles, files and goroutines do not grow. Half of the
// time goes without the layer, which keeps some memory of every stream, and only there
// the memory of the process is watched.
func TestSoak(t *testing.T) {
	need.Full(t, "TestOpenClose, TestLibraries and TestHeldShared look for the same leaks in a shorter time")
	limit := testkit.SoakTime(t, 3*time.Second, time.Second) / 4
	eachPath(t, func(t *testing.T, o Options) {
		o.ChunkRows, o.CacheDir = 4096, testCache
		t.Run("validation", func(t *testing.T) { soakBackend(t, openAlone(t, o), limit, false) })
		t.Run("memory", func(t *testing.T) {
			before := fmt.Sprint(vk.LiveHandles())
			b, err := Open(o)
			if err != nil {
				need.Vulkan(t, err.Error())
			}
			soakBackend(t, b, limit, true)
			if err := b.Close(); err != nil {
				t.Error(err)
			}
			if live := fmt.Sprint(vk.LiveHandles()); live != before {
				t.Errorf("handles left: %s, before %s", live, before)
			}
		})
	})
}

func soakBackend(t *testing.T, b *Backend, limit time.Duration, watchMemory bool) {
	t.Helper()
	s := newSoaker(t, b)
	s.everyWorkspace(t)
	stop := testkit.Garbage()
	defer stop()
	phase := func(seed uint64, d time.Duration) usage {
		end := time.Now().Add(d)
		var wg sync.WaitGroup
		for worker := range uint64(4) {
			wg.Go(func() { s.work(t, 10*seed+worker, end) })
		}
		wg.Wait()
		return measure(t, b)
	}
	first := phase(0, limit/3)
	last := first
	for k := uint64(1); k < 3; k++ {
		last = phase(k, limit/3)
		if m := b.Messages(); len(m) > 0 {
			t.Fatalf("%d messages, the first: %s", len(m), m[0])
		}
	}
	// What is held at a time is chance: 10 % and 16 MiB of room.
	if watchMemory && last.resident > first.resident+first.resident/10+16 {
		t.Errorf("%d MiB became %d", first.resident, last.resident)
	}
	if last.handles != first.handles {
		t.Errorf("handles %s became %s", first.handles, last.handles)
	}
	if last.files > first.files || last.goroutines > first.goroutines || last.libraries > maxLibraries {
		t.Errorf("%+v became %+v", first, last)
	}
	if s.calls.Load() < 12 || last.collections-first.collections < 3 {
		t.Errorf("only %d calls and %d collections", s.calls.Load(), last.collections-first.collections)
	}
	t.Logf("%d calls, %d rows, %d collections; at first %d MiB, %d files, %d goroutines, at the end %d MiB, %d "+
		"files, %d goroutines; handles %s",
		s.calls.Load(), s.rows.Load(), last.collections, first.resident, first.files, first.goroutines, last.resident,
		last.files, last.goroutines, last.handles)
}

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

package dispatch

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"clearance/batch"
)

// keeper is a fake that holds batches. It answers from a copy of the poses made in Hold or
// Update, so that a call which bypasses the held batch is noticed.
type keeper struct {
	*picky
	refuse error   // of Hold
	fault  error   // of the next Run or Update of a held batch
	held   []*kept // all batches that were held
}

type kept struct {
	k       *keeper
	lib     *batch.Library
	x       []float64
	runs    int
	updates int
	closed  int
}

func (k *keeper) Hold(ctx context.Context, lib *batch.Library, in batch.Input) (batch.Held, error) {
	if k.refuse != nil {
		return nil, k.refuse
	}
	h := &kept{k: k, lib: lib}
	h.take(in)
	k.held = append(k.held, h)
	return h, ctx.Err()
}

func (h *kept) take(in batch.Input) {
	h.x = h.x[:0]
	var r batch.Row
	for i := range in.Len() {
		in.Row(i, &r)
		h.x = append(h.x, r.PoseB.Position.X)
	}
}

func (h *kept) Len() int { return len(h.x) }

func (h *kept) Update(ctx context.Context, in batch.Input) error {
	h.updates++
	if h.k.fault != nil {
		return h.k.fault
	}
	h.take(in)
	return ctx.Err()
}

func (h *kept) Run(ctx context.Context, o *batch.Options, out *batch.Results) error {
	h.runs++
	if h.k.fault != nil {
		return h.k.fault
	}
	for i, x := range h.x {
		if a := fakeAnswer(x); !h.k.declines(i) {
			out.Put(i, &a)
		}
	}
	return ctx.Err()
}

func (h *kept) Close() error { h.closed++; return nil }

func newKeeper(declines func(int) bool) *keeper {
	return &keeper{picky: &picky{fake: &fake{name: "gpu"}, declines: declines, chunk: 64}}
}

func none(int) bool { return false }

// move puts row i at x = (i + step) mod 7.
func move(p *batch.Pairs, step int) {
	for i := range p.Len() {
		p.PositionB[3*i] = float64((i + step) % 7)
	}
}

// A held batch runs step by step, and rows that it declines are answered by another back
// end; the answers are those for the poses of the step.
func TestHold(t *testing.T) {
	lib, pairs := testPairs(t, 300)
	for _, c := range []struct {
		what     string
		backends func() (*keeper, []Backend)
		resident bool
		declined int
	}{
		{"held", func() (*keeper, []Backend) { k := newKeeper(none); return k, []Backend{k} }, true, 0},
		{"held, with rows declined", func() (*keeper, []Backend) {
			k := newKeeper(third)
			return k, []Backend{k, device("cpu", batch.CPU, "")}
		}, true, 100},
		{"held under another name", func() (*keeper, []Backend) {
			k := newKeeper(none)
			return k,
				[]Backend{Label(k, "gpu:1")}
		}, true, 0},
		{"not held", func() (*keeper, []Backend) { return nil, []Backend{&fake{name: "gpu"}} }, false, 0},
		{"refused", func() (*keeper, []Backend) {
			k := newKeeper(none)
			k.refuse = errors.New("out of memory")
			return k, []Backend{k}
		}, false, 0},
		{"shared", func() (*keeper, []Backend) {
			k := newKeeper(none)
			return k, []Backend{Label(k, "gpu:0"), Label(newKeeper(none), "gpu:1")}
		}, false, 0},
	} {
		k, list := c.backends()
		d := New(list...)
		b, err := d.Hold(t.Context(), lib, pairs, allColumns, Options{Backend: "gpu"})
		if err != nil {
			t.Fatalf("%s: %v", c.what, err)
		}
		if yes, why := b.Resident(); yes != c.resident || yes == (why != "") || b.Len() != 300 {
			t.Errorf("%s: resident %t, %q", c.what, yes, why)
		}
		for step := range 4 {
			move(pairs, step)
			if err := b.Update(t.Context(), pairs); err != nil {
				t.Fatal(err)
			}
			r, rep, err := b.Run(t.Context())
			if err != nil || rep.Done != 300 || rep.Declined() != c.declined || rep.Backend == "" {
				t.Fatalf("%s: report %+v, %v", c.what, rep, err)
			}
			checkRows(t, r, pairs, 0, 300)
		}
		if c.resident {
			h := k.held[0]
			if h.runs != 4 || h.updates != 4 || k.runs.Load() != 0 {
				t.Errorf("%s: %d runs, %d updates of what is held, %d calls past it", c.what, h.runs, h.updates,
					k.runs.Load())
			}
		}
		for range 2 {
			if err := b.Close(); err != nil {
				t.Error(err)
			}
		}
		if c.resident && k.held[0].closed != 1 {
			t.Errorf("%s: closed %d times", c.what, k.held[0].closed)
		}
		if _, _, err := b.Run(t.Context()); err == nil || b.Update(t.Context(), pairs) == nil {
			t.Errorf("%s: a closed batch works", c.what)
		}
	}
}

// A held batch is released when its device fails: the step is answered by another back end,
// or fails if the device was selected by name, and later steps run without it.
func TestHoldFails(t *testing.T) {
	lib, pairs := testPairs(t, 300)
	for _, at := range []string{"run", "update"} {
		for _, name := range []string{Auto, "gpu"} {
			k := newKeeper(none)
			k.device.Kind = batch.DiscreteGPU
			d := New(rank{Backend: k}, rank{device("cpu", batch.CPU, ""), time.Hour})
			b, err := d.Hold(t.Context(), lib, pairs, allColumns, Options{Backend: name})
			if err != nil {
				t.Fatal(err)
			}
			k.fault = errDevice
			if at == "update" {
				if err := b.Update(t.Context(), pairs); err != nil {
					t.Errorf("%s, %s: %v", at, name, err)
				}
				k.fault = nil
			}
			r, rep, err := b.Run(t.Context())
			lost := at == "run" && name == "gpu"
			if errors.Is(err, errDevice) != lost || (err != nil) != lost || (rep.Done == 300) == lost {
				t.Fatalf("%s, %s: report %+v, %v", at, name, rep, err)
			}
			if lost {
				checkUnanswered(t, r, 0, 300)
			} else {
				checkRows(t, r, pairs, 0, 300)
			}
			if yes, why := b.Resident(); yes || !strings.Contains(why, errDevice.Error()) || k.held[0].closed != 1 {
				t.Errorf("%s, %s: resident %t, %q", at, name, yes, why)
			}
			move(pairs, 3)
			if err := b.Update(t.Context(), pairs); err != nil {
				t.Fatal(err)
			}
			if r, _, err = b.Run(t.Context()); err != nil {
				t.Fatal(err)
			}
			checkRows(t, r, pairs, 0, 300)
		}
	}
}

// rank is a back end with an estimate that does not depend on the call.
type rank struct {
	Backend
	takes time.Duration
}

func (r rank) Estimate(int, *batch.Options) time.Duration { return r.takes }
func (r rank) inner() Backend                             { return r.Backend }

func TestHoldRefuses(t *testing.T) {
	lib, pairs := testPairs(t, 10)
	d := New(newKeeper(none))
	for _, c := range []struct {
		lib  *batch.Library
		in   batch.Input
		o    batch.Options
		do   Options
		want string
	}{
		{nil, pairs, batch.Options{}, Options{}, "no library"},
		{lib, nil, batch.Options{}, Options{}, "no input"},
		{lib, pairs, batch.Options{Query: batch.QueryCount}, Options{}, "not available yet"},
		{lib, pairs, batch.Options{}, Options{Backend: "tpu"}, `named "tpu"`},
		{lib, pairs, batch.Options{}, Options{ChunkRows: -1}, "ChunkRows -1"},
	} {
		if _, err := d.Hold(t.Context(), c.lib, c.in, c.o, c.do); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("error %v, want %q", err, c.want)
		}
	}
	b, err := d.Hold(t.Context(), lib, pairs, batch.Options{}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := b.Update(t.Context(), nil); err == nil {
		t.Error("an update without an input")
	}
	if err := b.Update(t.Context(), batch.NewPairs(9)); err == nil || !strings.Contains(err.Error(),
		"10 rows for an input of 9") {
		t.Errorf("an update of another length: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, rep, err := b.Run(ctx); !errors.Is(err, context.Canceled) || rep.Done != 0 {
		t.Errorf("cancelled: %+v, %v", rep, err)
	}
	if yes, _ := b.Resident(); !yes {
		t.Error("a cancelled call costs what is held")
	}
}

// TestStep: a step answers into results of the caller, and the batch keeps neither them nor the input.
func TestStep(t *testing.T) {
	lib, pairs := testPairs(t, 300)
	k := newKeeper(none)
	for _, d := range []*Dispatcher{New(k), New(&fake{name: "gpu"})} {
		b, err := d.Hold(t.Context(), lib, pairs, allColumns, Options{Backend: "gpu"})
		if err != nil {
			t.Fatal(err)
		}
		own, _, err := b.Run(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		checkRows(t, own, pairs, 0, 300)
		_, other := testPairs(t, 300)
		move(other, 5)
		out := used(300, &allColumns)
		if _, err := b.Step(t.Context(), other, out); err != nil {
			t.Fatal(err)
		}
		checkRows(t, out, other, 0, 300)
		checkRows(t, own, pairs, 0, 300)
		if b.job.Input != batch.Input(pairs) || b.job.Results != own {
			t.Error("the batch kept the input or the results of the step")
		}
		if _, err := b.Step(t.Context(), other, used(299, &allColumns)); err == nil {
			t.Error("results of another size were accepted")
		}
	}
}

// TestSeries: a series answers like single calls, in one chunk or several, and in results of any length.
func TestSeries(t *testing.T) {
	f := &fake{name: "a"}
	d := New(f)
	for _, chunk := range []int{0, 64} {
		s, err := d.Series(&allColumns, Options{ChunkRows: chunk})
		if err != nil {
			t.Fatal(err)
		}
		for _, n := range []int{1, 300, 0, 65, 1000} {
			lib, pairs := testPairs(t, n)
			job := &batch.Job{Library: lib, Input: pairs, Options: allColumns,
				Results: batch.NewResults(n, &allColumns)}
			rep, err := s.Run(t.Context(), job)
			if err != nil {
				t.Fatal(err)
			}
			checkRows(t, job.Results, pairs, 0, n)
			if rep.Rows != n || rep.Done != n || sum(rep.Counts) != n || rep.Backend != "a" ||
				rep.Iterations != int64(2*n) {
				t.Errorf("%d rows in chunks of %d: report %+v", n, chunk, rep)
			}
		}
		if _, err := s.Run(t.Context(), &batch.Job{}); err == nil {
			t.Error("an empty job")
		}
	}
	s, err := d.Series(&allColumns, Options{})
	if err != nil {
		t.Fatal(err)
	}
	lib, pairs := testPairs(t, 10)
	job := &batch.Job{Library: lib, Input: pairs, Options: allColumns, Results: batch.NewResults(10, &allColumns)}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.Run(ctx, job); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	checkUnanswered(t, job.Results, 0, 10)
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Run(t.Context(), job); !errors.Is(err, ErrClosed) {
		t.Errorf("after Close: %v", err)
	}
	if _, err := d.Series(&allColumns, Options{Backend: "b"}); !errors.Is(err, ErrNoBackend) {
		t.Errorf("no such back end: %v", err)
	}
}

// TestSeriesFailure: a back end that fails is not used again, and a series without any says so.
func TestSeriesFailure(t *testing.T) {
	bad, good := &fake{name: "bad", at: failAt(3)}, &fake{name: "good"}
	s, err := New(bad, good).Series(&allColumns, Options{})
	if err != nil {
		t.Fatal(err)
	}
	lib, pairs := testPairs(t, 10)
	for round := range 3 {
		job := &batch.Job{Library: lib, Input: pairs, Options: allColumns, Results: batch.NewResults(10, &allColumns)}
		rep, err := s.Run(t.Context(), job)
		if err != nil {
			t.Fatal(err)
		}
		checkRows(t, job.Results, pairs, 0, 10)
		if want := max(1-round, 0); len(rep.Failovers) != want {
			t.Errorf("round %d: %d failovers, want %d", round, len(rep.Failovers), want)
		}
	}
	if n := bad.runs.Load(); n != 1 {
		t.Errorf("the back end that failed was called %d times", n)
	}
	alone, err := New(&fake{name: "bad", at: failAt(3)}).Series(&allColumns, Options{})
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		job := &batch.Job{Library: lib, Input: pairs, Options: allColumns, Results: batch.NewResults(10, &allColumns)}
		if _, err := alone.Run(t.Context(), job); !errors.Is(err, errDevice) {
			t.Errorf("no back end left: %v", err)
		}
		checkUnanswered(t, job.Results, 3, 10)
	}
}

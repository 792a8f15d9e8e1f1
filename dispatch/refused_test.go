package dispatch

import (
	"context"
	"errors"
	"strings"
	"testing"

	"clearance/batch"
)

// A back end that is not available says why, whatever it is asked.
func TestAbsentSaysWhy(t *testing.T) {
	const why = "no driver is installed"
	b := Absent("vulkan", batch.DiscreteGPU, why)
	lib, pairs := testPairs(t, 1)
	job := &batch.Job{Library: lib, Input: pairs}
	job.Results = batch.NewResults(1, &job.Options)
	_, plan := b.Plan(&job.Options)
	for what, err := range map[string]error{
		"Plan": plan, "Run": b.Run(t.Context(), job, 0, 1, job.Results),
	} {
		if err == nil || err.Error() != why {
			t.Errorf("%s: %v, want %q", what, err, why)
		}
	}
	if device := b.Device(); b.Serves().Has(&job.Options) || device.Usable() || b.Close() != nil {
		t.Errorf("serves %v on %+v", b.Serves(), device)
	}
}

// Choose refuses queries and methods that no usable back end has in its table, and says which back ends there are.
func TestChooseRefuses(t *testing.T) {
	d := New(&fake{name: "a"}, &fake{name: "b"})
	_, err := d.Choose(Auto, &batch.Options{Query: batch.QueryCount}, 1)
	if !errors.Is(err, batch.ErrNotAvailable) || !strings.Contains(err.Error(), "none of the back ends a, b") {
		t.Errorf("a query that is in no table: %v", err)
	}
	for _, name := range []string{Auto, "a", "a+b"} {
		_, err := d.Choose(name, &batch.Options{Method: batch.Polyak}, 1)
		if !errors.Is(err, ErrNoBackend) || !strings.Contains(err.Error(), batch.Polyak.String()) {
			t.Errorf("%s, a method that is in no table: %v", name, err)
		}
	}
}

// Invalid options are refused before anything is read or allocated.
func TestInvalidOptions(t *testing.T) {
	lib, pairs := testPairs(t, 10)
	d, o := New(&fake{name: "a"}), batch.Options{Tolerance: -1}
	job := &batch.Job{Library: lib, Input: pairs, Options: o}
	_, run := d.Run(t.Context(), job, Options{})
	source := &slowSource{pairs: pairs}
	_, stream := d.RunStream(t.Context(), lib, source, o, &sink{}, Options{})
	_, hold := d.Hold(t.Context(), lib, pairs, o, Options{})
	for what, err := range map[string]error{"Run": run, "RunStream": stream, "Hold": hold} {
		if err == nil || !strings.Contains(err.Error(), "tolerance") {
			t.Errorf("%s: %v", what, err)
		}
	}
	if job.Results != nil || source.next != 0 {
		t.Errorf("results %v, %d rows read", job.Results, source.next)
	}
}

// greedy yields more rows than there is room for.
type greedy struct{ pairs *batch.Pairs }

func (g greedy) Rows(int, int, batch.Input) (batch.Input, error) { return g.pairs, nil }

func TestSourceCounts(t *testing.T) {
	lib, pairs := testPairs(t, 65)
	broken := *pairs
	broken.ShapeA = broken.ShapeA[:5]
	for want, p := range map[string]*batch.Pairs{"yielded 65 rows, want 0 to 64": pairs, "shape_b has 65": &broken} {
		out := new(sink)
		rep, err := New(&fake{name: "a"}).RunStream(t.Context(), lib, greedy{p}, batch.Options{}, out,
			Options{ChunkRows: 64})
		if err == nil || !strings.Contains(err.Error(), want) || rep.Rows != 0 || out.Len() != 0 {
			t.Errorf("%v, want %q; report %+v, %d answers written", err, want, rep, out.Len())
		}
	}
}

// The error of rows without an answer counts them and has the first invalid row, if there is one.
func TestRowsError(t *testing.T) {
	rep := &Report{Rows: 9, Done: 6}
	rep.Counts[batch.Undecided] = 2
	var rows *RowsError
	err := rep.Err()
	if !errors.As(err, &rows) || errors.Unwrap(err) != nil ||
		err.Error() != "rows without an answer: 2 undecided, 0 invalid" {
		t.Errorf("without an invalid row: %v, inside it %v", err, errors.Unwrap(err))
	}
	rep.Counts[batch.Invalid] = 1
	first := &batch.RowError{Row: 4, Column: "rotation_a", Reason: "zero"}
	rep.RowErrors = []*batch.RowError{first}
	err = rep.Err()
	if errors.Unwrap(err) != error(first) ||
		!strings.HasSuffix(err.Error(), "2 undecided, 1 invalid; first: "+first.Error()) {
		t.Errorf("with an invalid row: %v, inside it %v", err, errors.Unwrap(err))
	}
	if r := rep.Rate(); r != 0 {
		t.Errorf("%g rows per second in no time", r)
	}
	if rep.Wall = 2e9; rep.Rate() != 3 {
		t.Errorf("%g rows per second, want 3", rep.Rate())
	}
}

// A held batch fails on a closed dispatcher as any call does.
func TestHeldOfClosed(t *testing.T) {
	lib, pairs := testPairs(t, 10)
	k := newKeeper(none)
	d := New(k)
	b, err := d.Hold(t.Context(), lib, pairs, batch.Options{}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if yes, why := b.Resident(); !yes {
		t.Fatalf("not held: %s", why)
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	if err := b.Update(t.Context(), pairs); !errors.Is(err, ErrClosed) {
		t.Errorf("Update: %v", err)
	}
	if _, rep, err := b.Run(t.Context()); !errors.Is(err, ErrClosed) || rep.Rows != 0 || rep.WorstGapRow != -1 {
		t.Errorf("Run: %v, report %+v", err, rep)
	}
	if h := k.held[0]; h.runs != 0 || h.updates != 0 {
		t.Errorf("%d runs and %d updates reached the device", h.runs, h.updates)
	}
	if err := b.Close(); err != nil || k.held[0].closed != 1 {
		t.Errorf("closed %d times: %v", k.held[0].closed, err)
	}
}

// A context that has ended ends Hold and Update, and what is held stays.
func TestHoldCancelled(t *testing.T) {
	lib, pairs := testPairs(t, 10)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	d := New(newKeeper(none))
	if _, err := d.Hold(ctx, lib, pairs, batch.Options{}, Options{}); !errors.Is(err, context.Canceled) {
		t.Errorf("Hold: %v", err)
	}
	b, err := d.Hold(t.Context(), lib, pairs, batch.Options{}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := b.Update(ctx, pairs); !errors.Is(err, context.Canceled) {
		t.Errorf("Update: %v", err)
	}
	if yes, why := b.Resident(); !yes {
		t.Errorf("a cancelled update costs what is held: %s", why)
	}
}

// Where what is held cannot be released after a failure, the reason has both errors.
func TestReleaseFails(t *testing.T) {
	lib, pairs := testPairs(t, 10)
	k := newKeeper(none)
	b, err := New(k, &fake{name: "cpu"}).Hold(t.Context(), lib, pairs, batch.Options{}, Options{Backend: "gpu"})
	if err != nil {
		t.Fatal(err)
	}
	b.held = leaky{b.held}
	k.fault = errDevice
	if err := b.Update(t.Context(), pairs); err != nil {
		t.Fatal(err)
	}
	yes, why := b.Resident()
	if yes || !strings.Contains(why, errDevice.Error()) || !strings.HasSuffix(why, "; "+errLeak.Error()) {
		t.Errorf("resident %t, %q", yes, why)
	}
}

var errLeak = errors.New("memory is left")

// leaky is a held batch that cannot be closed.
type leaky struct{ batch.Held }

func (leaky) Close() error { return errLeak }

// A part of a held batch is transferred as in any call.
func TestPartOfHeld(t *testing.T) {
	lib, pairs := testPairs(t, 100)
	k := newKeeper(none)
	held, err := k.Hold(t.Context(), lib, pairs)
	if err != nil {
		t.Fatal(err)
	}
	job := &batch.Job{Library: lib, Input: pairs, Options: batch.Options{Columns: batch.FileColumns}}
	job.Results = batch.NewResults(100, &job.Options)
	if job.Plan, err = k.Plan(&job.Options); err != nil {
		t.Fatal(err)
	}
	r := resident{Backend: k, held: held}
	for _, part := range [][2]int{{0, 64}, {64, 100}} {
		lo, hi := part[0], part[1]
		if _, err := r.RunMeasured(t.Context(), job, lo, hi, job.Results.Slice(lo, hi)); err != nil {
			t.Fatal(err)
		}
	}
	checkRows(t, job.Results, pairs, 0, 100)
	if h := k.held[0]; h.runs != 0 || k.runs.Load() != 2 {
		t.Errorf("%d runs of the whole, %d calls", h.runs, k.runs.Load())
	}
}

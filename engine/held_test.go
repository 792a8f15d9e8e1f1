package engine

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"sync"
	"testing"
	"time"

	"clearance/batch"
	"clearance/dispatch"
	"clearance/engine/internal/vk"
	"clearance/internal/testkit/rowcheck"
	"clearance/verify"
)

// hold holds a batch until the end of the test.
func hold(t testing.TB, b *Backend, lib *batch.Library, in batch.Input) batch.Held {
	t.Helper()
	h, err := b.Hold(t.Context(), lib, in)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := h.Close(); err != nil {
			t.Errorf("close of the held batch: %v", err)
		}
	})
	return h
}

// unanswered returns results whose rows have no status and no answer.
func unanswered(n int, o *batch.Options) *batch.Results {
	out := batch.NewResults(n, o)
	for i := range out.Status() {
		out.Status()[i] = 0xff
	}
	out.Marks = make(batch.Marks, n)
	return out
}

// direct answers an input with Run.
func direct(t testing.TB, b *Backend, lib *batch.Library, in batch.Input, o batch.Options) *batch.Results {
	t.Helper()
	out := unanswered(in.Len(), &o)
	if err := b.Run(t.Context(), &batch.Job{Library: lib, Input: in, Options: o}, 0, in.Len(), out); err != nil {
		t.Fatal(err)
	}
	return out
}

// sameAll fails the test where two results differ in a bit. Of declined rows only the
// status is an answer.
func sameAll(t testing.TB, what string, got, want *batch.Results) {
	t.Helper()
	for i := range want.N {
		if got.Status()[i] != want.Status()[i] || want.Status()[i] != 0xff && !rowcheck.Same(got, i, want, i) {
			t.Errorf("%s: row %d has other bits", what, i)
			return
		}
	}
}

// stack returns a rollout of w worlds of 12 bodies of the mixed set, a few of them invalid.
func stack(t testing.TB, w, seed int) (*batch.Library, *batch.Worlds) {
	t.Helper()
	return stackOf(t, "mixed", w, seed)
}

// stackOf is stack with the bodies of any set.
func stackOf(t testing.TB, name string, w, seed int) (*batch.Library, *batch.Worlds) {
	t.Helper()
	const bodies = 12
	lib, pairs := set(t, name, 0, 64)
	in := &batch.Worlds{Shapes: make([]int32, bodies), Poses: make([]float64, 0, 7*w*bodies)}
	for i := range in.Shapes {
		in.Shapes[i] = pairs.ShapeB[i]
	}
	for i := range bodies {
		for j := range i {
			in.TemplateA, in.TemplateB = append(in.TemplateA, int32(j)), append(in.TemplateB, int32(i))
		}
	}
	in.TemplateA, in.TemplateB = append(in.TemplateA, 3), append(in.TemplateB, 3) // with itself
	for k := range w * bodies {
		i := (k + seed) % 64
		p := pairs.PositionB[3*i : 3*i+3]
		s, c := math.Sincos(float64(k + seed))
		in.Poses = append(in.Poses, p[0]+2*s, p[1]+2*c, p[2])
		in.Poses = append(in.Poses, pairs.RotationB[4*i:4*i+4]...)
	}
	if w > 2 {
		in.Poses[7*(bodies+5)+1] = math.NaN() // one coordinate
		clear(in.Poses[7*(2*bodies+7)+3 : 7*(2*bodies+8)])
	}
	return lib, in
}

// TestHeld: a held batch gives the bits of Run, for both forms of input, for every
// question in turn, again and again, and after its bodies have moved.
func TestHeld(t *testing.T) {
	eachPath(t, func(t *testing.T, o Options) {
		o.ChunkRows = 512
		b := open(t, o)
		w, n := size(11, 11, 31), size(700, 700, 1300)
		lib, worlds := stack(t, w, 0) // 67 rows each, chunks of seven worlds
		_, moved := stack(t, w, 17)
		mixed, pairs := set(t, "mixed", 0, n)
		_, other := set(t, "mixed", 5000, n)
		other.ShapeA, other.ShapeB = pairs.ShapeA, pairs.ShapeB
		pairs.ShapeA[70], pairs.PositionB[3*600+2] = 1000, math.Inf(1)
		warm := func(n int) []float64 {
			w := make([]float64, 3*n)
			for i := range w {
				w[i] = math.Sin(float64(i)) * 1e200
			}
			w[3*100+1] = math.Inf(-1)
			clear(w[:30])
			return w
		}
		for _, c := range []struct {
			name      string
			lib       *batch.Library
			in, later batch.Input
		}{{"worlds", lib, worlds, moved}, {"pairs", mixed, pairs, other}} {
			h := hold(t, b, c.lib, c.in)
			if h.Len() != c.in.Len() {
				t.Errorf("%s: %d rows held, want %d", c.name, h.Len(), c.in.Len())
			}
			wants := map[string]*batch.Results{} // by input and question
			for step, in := range []batch.Input{c.in, c.later, c.later, c.in} {
				if step > 0 {
					if err := h.Update(t.Context(), in); err != nil {
						t.Fatal(err)
					}
				}
				for k, q := range []batch.Options{
					{}, {}, {Precision: batch.Double, Method: batch.Nesterov}, {HasCutOff: true, CutOff: 0.1},
					{WarmStart: warm(in.Len())}, {}, {Query: batch.Penetration, Columns: batch.AllColumns},
					{Query: batch.Growth, Columns: growthColumns}, {Query: batch.Growth, Columns: batch.ColStatus},
				} {
					out := unanswered(in.Len(), &q)
					if err := h.Run(t.Context(), &q, out); err != nil {
						t.Fatal(err)
					}
					key := fmt.Sprint(in == c.later, k)
					if wants[key] == nil {
						wants[key] = direct(t, b, c.lib, in, q)
					}
					want := wants[key]
					if n := count(want, batch.Invalid); n == 0 && step == 0 {
						t.Errorf("%s: no invalid rows", c.name)
					}
					sameAll(t, fmt.Sprintf("%s, step %d", c.name, step), out, want)
				}
			}
		}
	})
}

func count(r *batch.Results, s batch.Status) (n int) {
	for _, v := range r.Status() {
		if v == uint8(s) {
			n++
		}
	}
	return n
}

// TestHeldShapes: inputs of every shape that may be held.
func TestHeldShapes(t *testing.T) {
	b := open(t, Options{ChunkRows: 64})
	lib, worlds := stack(t, 5, 0)
	wide := *worlds // more bodies than pairs: goes as a pair list
	wide.TemplateA, wide.TemplateB = wide.TemplateA[:4], wide.TemplateB[:4]
	none := &batch.Worlds{Shapes: worlds.Shapes}
	small := *worlds // chunks of several worlds and a rest
	small.TemplateA, small.TemplateB = small.TemplateA[10:29], small.TemplateB[10:29]
	for what, in := range map[string]*batch.Worlds{"large worlds": worlds, "wide worlds": &wide, "small worlds": &small,
		"nothing": none} {
		h := hold(t, b, lib, in)
		for range 2 {
			out := unanswered(in.Len(), new(batch.Options))
			if err := h.Run(t.Context(), new(batch.Options), out); err != nil {
				t.Fatalf("%s: %v", what, err)
			}
			sameAll(t, what, out, direct(t, b, lib, in, batch.Options{}))
			if err := h.Update(t.Context(), in); err != nil {
				t.Fatalf("%s: %v", what, err)
			}
		}
	}
}

// TestHeldErrors: what makes no sense is refused, with what to do, and costs nothing.
func TestHeldErrors(t *testing.T) {
	b := open(t, Options{})
	lib, worlds := stack(t, 4, 0)
	_, more := stack(t, 5, 0)
	_, pairs := set(t, "mixed", 0, worlds.Len())
	short := batch.NewPairs(worlds.Len())
	short.PositionA = short.PositionA[1:]
	ctx := t.Context()
	if _, err := b.Hold(ctx, nil, worlds); err == nil {
		t.Error("held without a library")
	}
	if _, err := b.Hold(ctx, lib, short); err == nil || !strings.Contains(err.Error(), "position_a") {
		t.Errorf("held a short column: %v", err)
	}
	h := hold(t, b, lib, worlds)
	for what, in := range map[string]batch.Input{"268 rows with an input of": more, "worlds of 12 bodies": pairs,
		"position_a": short, "without an input": nil} {
		if err := h.Update(ctx, in); err == nil || !strings.Contains(err.Error(), what) {
			t.Errorf("update: %v, want %q", err, what)
		}
	}
	o := new(batch.Options)
	for what, run := range map[string]func() error{
		"rows for": func() error { return h.Run(ctx, o, unanswered(7, o)) },
		"warm_start": func() error {
			return h.Run(ctx, &batch.Options{WarmStart: []float64{1}},
				unanswered(h.Len(), o))
		},
		"precision": func() error {
			return h.Run(ctx, &batch.Options{Precision: batch.Double},
				unanswered(h.Len(), o))
		},
		"lack": func() error {
			return h.Run(ctx, o,
				unanswered(h.Len(), &batch.Options{Columns: batch.ColStatus}))
		},
		"tolerance": func() error { return h.Run(ctx, &batch.Options{Tolerance: -1}, unanswered(h.Len(), o)) },
		"without":   func() error { return h.Run(ctx, o, nil) },
		"cancel": func() error {
			c, stop := context.WithCancel(ctx)
			stop()
			return h.Run(c, o,
				unanswered(h.Len(), o))
		},
		"batch is close": func() error { _ = h.Close(); return h.Run(ctx, o, unanswered(h.Len(), o)) },
	} {
		if what == "batch is close" {
			continue // the last
		}
		if what == "rows for" {
			what = "results of 7 rows"
		}
		if err := run(); err == nil || !strings.Contains(err.Error(), what) {
			t.Errorf("run: %v, want %q", err, what)
		}
	}
	out := unanswered(h.Len(), o)
	if err := h.Run(ctx, o, out); err != nil {
		t.Fatal(err)
	}
	sameAll(t, "afterwards", out, direct(t, b, lib, worlds, batch.Options{}))
	for range 2 {
		if err := h.Close(); err != nil {
			t.Error(err)
		}
	}
	if err := h.Run(ctx, o, out); !errors.Is(err, ErrHeldClosed) {
		t.Errorf("run after Close: %v", err)
	}
	if err := h.Update(ctx, worlds); !errors.Is(err, ErrHeldClosed) {
		t.Errorf("update after Close: %v", err)
	}
}

// TestHeldOutlivesBackend: after Close of the back end a held batch returns errors.
func TestHeldOutlivesBackend(t *testing.T) {
	b := open(t, Options{})
	lib, worlds := stack(t, 3, 0)
	h := hold(t, b, lib, worlds)
	out := unanswered(h.Len(), new(batch.Options))
	if err := h.Run(t.Context(), new(batch.Options), out); err != nil {
		t.Fatal(err)
	}
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	if err := h.Run(t.Context(), new(batch.Options), out); !errors.Is(err, ErrClosed) {
		t.Errorf("run: %v", err)
	}
	if err := h.Update(t.Context(), worlds); !errors.Is(err, ErrClosed) {
		t.Errorf("update: %v", err)
	}
	if _, err := b.Hold(t.Context(), lib, worlds); !errors.Is(err, ErrClosed) {
		t.Errorf("hold: %v", err)
	}
	if err := b.Warm(t.Context()); !errors.Is(err, ErrClosed) {
		t.Errorf("warm: %v", err)
	}
}

// TestHeldShared: several goroutines use one held batch, and Run beside it; one waits no
// longer than its context.
func TestHeldShared(t *testing.T) {
	b := open(t, Options{ChunkRows: 256})
	lib, worlds := stack(t, 9, 0)
	h := hold(t, b, lib, worlds)
	want := direct(t, b, lib, worlds, batch.Options{})
	var wg sync.WaitGroup
	for g := range 4 {
		wg.Go(func() {
			for range 5 {
				if g == 3 {
					sameAll(t, "beside", direct(t, b, lib, worlds, batch.Options{}), want)
					continue
				}
				if err := h.Update(t.Context(), worlds); err != nil {
					t.Error(err)
				}
				out := unanswered(h.Len(), new(batch.Options))
				if err := h.Run(t.Context(), new(batch.Options), out); err != nil {
					t.Error(err)
					return
				}
				sameAll(t, "shared", out, want)
			}
		})
	}
	wg.Wait()
	held := h.(*Held)
	<-held.lock
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if err := h.Run(ctx, new(batch.Options), unanswered(h.Len(), new(batch.Options))); !errors.Is(err,
		context.DeadlineExceeded) {
		t.Errorf("while another call uses it: %v", err)
	}
	held.lock <- struct{}{}
}

// TestHeldLibraries: the library of a held batch stays, however many others come after it.
func TestHeldLibraries(t *testing.T) {
	b := open(t, Options{})
	lib, worlds := stack(t, 2, 0)
	h := hold(t, b, lib, worlds)
	want := direct(t, b, lib, worlds, batch.Options{})
	for range maxLibraries + 3 {
		other, pairs := set(t, "boxes", 0, 10)
		direct(t, b, other, pairs, batch.Options{})
	}
	if n := len(b.libraries.kept); n != maxLibraries || b.libraries.kept[lib] == nil {
		t.Errorf("%d libraries kept, the held one: %v", n, b.libraries.kept[lib])
	}
	out := unanswered(h.Len(), new(batch.Options))
	if err := h.Run(t.Context(), &batch.Options{Method: batch.Nesterov}, out); err != nil { // recorded anew
		t.Fatal(err)
	}
	if err := h.Run(t.Context(), new(batch.Options), out); err != nil {
		t.Fatal(err)
	}
	sameAll(t, "afterwards", out, want)
}

// TestHeldAllocatesNothing: in a rollout nothing is left to the garbage collector, and what
// was recorded is submitted again.
func TestHeldAllocatesNothing(t *testing.T) {
	eachPath(t, func(t *testing.T, o Options) {
		b := open(t, o)
		lib, worlds := stack(t, 2, 0)
		h := hold(t, b, lib, worlds)
		out, q := unanswered(h.Len(), new(batch.Options)), new(batch.Options)
		step := func() {
			if err := h.Update(t.Context(), worlds); err != nil {
				t.Fatal(err)
			}
			if err := h.Run(t.Context(), q, out); err != nil {
				t.Fatal(err)
			}
		}
		step()
		if n := testing.AllocsPerRun(10, step); n > 0 {
			t.Errorf("%g allocations a step", n)
		}
		recorded := h.(*Held).flights[0].recorded
		step()
		if h.(*Held).flights[0].recorded != recorded {
			t.Error("the same question was recorded anew")
		}
	})
}

// TestHeldFaults: failures of the device end a call on a held batch with their cause. What
// is not forever is over when it is over.
func TestHeldFaults(t *testing.T) {
	for _, f := range []struct {
		fault vk.Fault
		cause error
	}{
		{vk.Fault{Call: "vkAllocateMemory", Times: -1, Result: vk.ErrorOutOfDeviceMemory}, vk.OutOfDeviceMemory},
		{vk.Fault{Call: "vkAllocateMemory", After: 1, Result: vk.ErrorOutOfHostMemory}, vk.OutOfHostMemory},
	} {
		t.Run("hold: "+f.fault.Call+" "+f.fault.Result.String(), func(t *testing.T) {
			b := openAlone(t, Options{ChunkRows: 256})
			lib, worlds := stackOf(t, "boxes", 9, 0)
			disarm := vk.Inject(f.fault)
			defer disarm()
			if _, err := b.Hold(t.Context(), lib, worlds); !errors.Is(err, f.cause) {
				t.Errorf("error %v", err)
			}
			disarm()
			h := hold(t, b, lib, worlds)
			out := unanswered(h.Len(), new(batch.Options))
			if err := h.Run(t.Context(), new(batch.Options), out); err != nil {
				t.Fatal(err)
			}
			sameAll(t, "afterwards", out, direct(t, b, lib, worlds, batch.Options{}))
		})
	}
	for _, f := range []struct {
		fault   vk.Fault
		cause   error
		forever bool
	}{
		{vk.Fault{Call: "vkQueueSubmit", After: 1, Times: -1, Result: vk.ErrorDeviceLost}, vk.DeviceLost, true},
		{vk.Fault{Call: "wait", After: 1, Times: -1, Result: vk.ErrorDeviceLost}, vk.DeviceLost, true},
		{vk.Fault{Call: "wait", Times: -1, Result: vk.ResultTimeout}, vk.Timeout, true},
		{vk.Fault{Call: "vkBeginCommandBuffer", After: 1, Result: vk.ErrorOutOfHostMemory}, vk.OutOfHostMemory, false},
		{vk.Fault{Call: "vkCreateComputePipelines", Result: vk.ErrorOutOfDeviceMemory}, vk.OutOfDeviceMemory, false},
	} {
		t.Run("run: "+f.fault.Call+" "+f.fault.Result.String(), func(t *testing.T) {
			b := openAlone(t, Options{ChunkRows: 256, Timeout: limitOf(f.cause)})
			lib, worlds := stackOf(t, "boxes", 9, 0)
			h := hold(t, b, lib, worlds)
			out := unanswered(h.Len(), new(batch.Options))
			disarm := vk.Inject(f.fault)
			defer disarm()
			if err := h.Run(t.Context(), new(batch.Options), out); !errors.Is(err, f.cause) {
				t.Errorf("error %v", err)
			}
			disarm()
			if d := b.Device(); d.Usable() == f.forever {
				t.Errorf("device %+v", d)
			}
			err := h.Run(t.Context(), new(batch.Options), out)
			if f.forever && !errors.Is(err, f.cause) || !f.forever && err != nil {
				t.Errorf("afterwards %v", err)
			}
			if !f.forever {
				sameAll(t, "afterwards", out, direct(t, b, lib, worlds, batch.Options{}))
			}
		})
	}
}

// TestHeldGarbage: a byte that the driver changes on the way back is found out by the
// audit, and the next run is good.
func TestHeldGarbage(t *testing.T) {
	b, c := openAlone(t, Options{}), processor(t)
	lib, all := set(t, "boxes", 0, 300)
	whole := &batch.Job{Library: lib, Input: all}
	run(t, whole, dispatch.Options{}, c)
	apart := batch.NewPairs(count(whole.Results, batch.Separated)) // which the device ends
	var r batch.Row
	n := 0
	for i, s := range whole.Results.Status() {
		if s == uint8(batch.Separated) {
			all.Row(i, &r)
			apart.SetRow(n, &r)
			n++
		}
	}
	h := hold(t, b, lib, apart)
	job := &batch.Job{Library: lib, Input: apart}
	for k, wrong := range []int{0, 1, 0} {
		job.Results = unanswered(n, &job.Options)
		disarm := func() {}
		if wrong > 0 {
			disarm = vk.Inject(vk.Fault{Call: "readback", Offset: 4*7 + 2 /* of the distance */, Mask: 0xfe})
		}
		err := h.Run(t.Context(), &job.Options, job.Results)
		disarm()
		if err != nil {
			t.Fatal(err)
		}
		report, err := verify.Audit(t.Context(), job, verify.Options{})
		if err != nil || n < 100 {
			t.Fatalf("%d rows, error %v", n, err)
		}
		if report.Wrong() != wrong {
			t.Errorf("run %d: the audit refutes %d rows, want %d", k, report.Wrong(), wrong)
		}
	}
}

package rollout

import (
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"

	"clearance/batch"
	"clearance/dispatch"
)

// TestStep: steps into results of the caller have the answers of Update and Run, and leave the batch's own alone.
func TestStep(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 7))
	bodies, d := table(t, rng), dispatcher(t)
	for _, o := range []Options{{}, {Reduce: ReduceWorld}} {
		o.MaxDistance, o.HasMaxDistance = 0.5, true
		w := scene(rng, bodies, 20, 6, 9, false)
		b, err := Hold(d, bodies, w, o, dispatch.Options{})
		if err != nil {
			t.Fatal(err)
		}
		moved := *w
		moved.Poses = slices.Clone(w.Poses)
		for i := 0; i < len(moved.Poses); i += 7 {
			moved.Poses[i] += 0.1
		}
		first, _, err := b.Run(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		before := slices.Clone(first.Distance().F32)
		out := NewResults(first.N, &o)
		rep, err := b.Step(t.Context(), &moved, out)
		if err != nil || rep.Done != first.N {
			t.Fatal(rep.Done, err)
		}
		if !sameBits(first.Distance().F32, before) {
			t.Error("the results of the batch changed")
		}
		if again, _, _ := b.Run(t.Context()); !sameBits(again.Distance().F32, before) {
			t.Error("the batch kept the worlds of the step")
		}
		if err := b.Update(&moved); err != nil {
			t.Fatal(err)
		}
		want, _, err := b.Run(t.Context())
		if err != nil || !sameBits(out.Distance().F32, want.Distance().F32) || !slices.Equal(out.Status(),
			want.Status()) ||
			!slices.Equal(out.PartA, want.PartA) || !slices.Equal(out.Pair, want.Pair) {
			t.Error("the answers of a step are not those of Update and Run", err)
		}
		bad := NewResults(first.N+1, &o)
		if _, err := b.Step(t.Context(), &moved, bad); err == nil {
			t.Error("results of another size were accepted")
		}
		if _, err := b.Step(t.Context(), &moved, &Results{Results: &batch.Results{}}); err == nil {
			t.Error("results without columns were accepted")
		}
	}
}

// sameBits compares floats; NaN is equal to NaN.
func sameBits(a, b []float32) bool {
	return slices.EqualFunc(a, b, func(x, y float32) bool { return x == y || x != x && y != y })
}

// TestStepsHoldNoResults: a batch that answers steps into results of its caller takes no memory for a row of its own.
func TestStepsHoldNoResults(t *testing.T) {
	d := dispatcher(t)
	bodies, w := arm(t, 4000)
	o := Options{Options: batch.Options{Columns: batch.ColDistance}, MaxDistance: 0.1, HasMaxDistance: true,
		BlockPairs: 1000, Workers: 1}
	heap := func() float64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return float64(m.HeapAlloc)
	}
	warm := &Job{Bodies: bodies, Worlds: w, Options: o}
	if _, err := Run(t.Context(), d, warm, dispatch.Options{Backend: "cpu"}); err != nil {
		t.Fatal(err) // tables and workers of the back end, which stay
	}
	for name, columns := range map[string]batch.Columns{"with statuses": batch.ColStatus, "without": 0} {
		o.Columns = batch.ColDistance | batch.ColGap | columns
		out := NewResults(w.Len(), &o)
		warm.Results = nil
		before := heap()
		h, err := Hold(d, bodies, w, o, dispatch.Options{Backend: "cpu"})
		if err != nil {
			t.Fatal(err)
		}
		opened := heap()
		if _, err := h.Step(t.Context(), w, out); err != nil {
			t.Fatal(err)
		}
		stepped := heap()
		rows := float64(w.Len())
		perRow := [2]float64{(opened - before) / rows, (stepped - before) / rows}
		t.Logf("%s: %.2f bytes per row", name, perRow)
		if perRow[0] > 1 || perRow[1] > 3 { // blocks, and at most a status of each row
			t.Errorf("%s: %.2f bytes per row after Hold and after a step, beside the results", name, perRow)
		}
		if h.Len() != w.Len() {
			t.Errorf("%d rows, want %d", h.Len(), w.Len())
		}
		runtime.KeepAlive(h)
		runtime.KeepAlive(out)
	}
}

package rollout

import (
	"runtime"
	"testing"

	"clearance/batch"
	"clearance/cpu"
	"clearance/dispatch"
	"clearance/tests/need"
)

// heldArm returns a held rollout of the arm on some workers, after its first steps.
func heldArm(t testing.TB, worlds, workers int) *Batch {
	t.Helper()
	c, err := cpu.New(cpu.Options{Workers: workers})
	if err != nil {
		t.Fatal(err)
	}
	d := dispatch.New(c)
	bodies, w := arm(t, worlds)
	o := Options{MaxDistance: 0.1, HasMaxDistance: true, Reduce: ReduceWorld, Workers: workers}
	o.Columns = batch.ColDistance | batch.ColGap | batch.ColStatus | batch.ColNormal | batch.ColWitnessA
	h, err := Hold(d, bodies, w, o, dispatch.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { h.Close(); d.Close() })
	for range 4 {
		if _, _, err := h.Run(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	return h
}

// TestAllocations: a step of a held rollout allocates nothing, also on several workers.
func TestAllocations(t *testing.T) {
	ctx := t.Context()
	for _, workers := range []int{1, 2, 3} {
		h := heldArm(t, 300, workers)
		if n := testing.AllocsPerRun(20, func() {
			if _, _, err := h.Run(ctx); err != nil {
				t.Fatal(err)
			}
		}); n > 0 {
			t.Errorf("%v allocations per step on %d workers", n, workers)
		}
	}
}

// TestMemory: 10,000 steps take the memory of the first.
func TestMemory(t *testing.T) {
	need.Full(t, "TestAllocations counts allocations per step")
	h := heldArm(t, 64, 1)
	size := func() uint64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	before := size()
	for range 10_000 {
		if _, _, err := h.Run(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if after := size(); after > before+1<<20 {
		t.Errorf("%d bytes after 10,000 steps, %d before", after, before)
	}
}

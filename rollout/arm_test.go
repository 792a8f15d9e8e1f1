package rollout

import (
	"fmt"
	"runtime"
	"testing"

	"clearance/batch"
	"clearance/cpu"
	"clearance/dispatch"
	"clearance/geom"
	"clearance/internal/testkit"
	armscene "clearance/internal/testkit/arm"
	"clearance/tests/need"
)

// arm is the scene of BenchmarkArm.
var arm = armscene.New

// BenchmarkArm measures 4,096 worlds of an arm in steps of a held rollout, on one worker and on two: with and without
// culling at 0.1 m and reduction. The metric MB is what the results of a step hold.
func BenchmarkArm(b *testing.B) {
	bodies, w := arm(b, 4096)
	columns := batch.ColDistance | batch.ColGap | batch.ColStatus
	for _, workers := range []int{1, 2} {
		c, err := cpu.New(cpu.Options{Workers: workers})
		if err != nil {
			b.Fatal(err)
		}
		d := dispatch.New(c)
		defer d.Close()
		for _, v := range []struct {
			name string
			o    Options
		}{
			{"all-rows", Options{NoCulling: true, Options: batch.Options{Columns: columns}}},
			{"all-worlds", Options{NoCulling: true, Reduce: ReduceWorld, Options: batch.Options{Columns: columns}}},
			{"culled-rows", Options{MaxDistance: 0.1, HasMaxDistance: true, Options: batch.Options{Columns: columns}}},
			{"culled-worlds", Options{MaxDistance: 0.1, HasMaxDistance: true, Reduce: ReduceWorld,
				Options: batch.Options{Columns: columns}}},
			{"collide-worlds", Options{Reduce: ReduceWorld, Options: batch.Options{Query: batch.Collide}}},
		} {
			v.o.Workers = workers
			b.Run(fmt.Sprintf("%s/%d", v.name, workers), func(b *testing.B) {
				h, err := Hold(d, bodies, w, v.o, dispatch.Options{Backend: "cpu"})
				if err != nil {
					b.Fatal(err)
				}
				defer h.Close()
				var res *Results
				var rep Report
				step := func() {
					if res, rep, err = h.Run(b.Context()); err != nil {
						b.Fatal(err)
					}
				}
				step()
				b.ReportAllocs()
				for b.Loop() {
					step()
				}
				b.ReportMetric(float64(b.N)*float64(w.Count())/b.Elapsed().Seconds(), "worlds/s")
				b.ReportMetric(100*float64(rep.Solved)/float64(rep.PartPairs), "%solved")
				b.ReportMetric(float64(res.N*(4+4+1+8))/1e6, "MB")
			})
		}
	}
}

// Arm is the scene of BenchmarkArm, for tests that this package cannot hold.
var Arm = arm

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

// TestMemoryBesideResults: a held rollout takes the memory of a block beside poses and results of the caller, however
// many worlds there are.
func TestMemoryBesideResults(t *testing.T) {
	lib, err := batch.NewLibrary([]geom.Shape{geom.Sphere{R: 0.4}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	bodies, err := batch.NewBodies(lib, []batch.Body{{Parts: []batch.Part{{Pose: geom.Translate(0, 0, 0)}}}})
	if err != nil {
		t.Fatal(err)
	}
	c, err := cpu.New(cpu.Options{Workers: 2})
	if err != nil {
		t.Fatal(err)
	}
	d := dispatch.New(c)
	defer d.Close()
	for _, worlds := range []int{100_000, 200_000} { // more pairs than the largest block
		w := &batch.Worlds{Bodies: []int32{0, 0, 0, 0}, TemplateA: []int32{0, 1, 2}, TemplateB: []int32{1, 2, 3}}
		for i := range 4 * worlds {
			w.Poses = append(w.Poses, 1.5*float64(i%4), 0, 0, 1, 0, 0, 0)
		}
		var before, after runtime.MemStats
		out := NewResults(3*worlds, &Options{})
		runtime.GC()
		runtime.ReadMemStats(&before)
		h, err := Hold(d, bodies, w, Options{Workers: 2}, dispatch.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := h.Step(t.Context(), w, out); err != nil {
			t.Fatal(err)
		}
		runtime.GC()
		runtime.ReadMemStats(&after)
		runtime.KeepAlive(w)
		runtime.KeepAlive(out)
		// A block has 2^16 pairs of 350 bytes. Slices have grown to that by appending.
		held, taken := int64(after.HeapAlloc-before.HeapAlloc), int64(after.TotalAlloc-before.TotalAlloc)
		if held > 40<<20 || taken > 100<<20 {
			t.Errorf("%d worlds: %d bytes are held beside poses and results, %d were taken", worlds, held, taken)
		}
		if err := h.Close(); err != nil {
			t.Error(err)
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

// TestPiecesBesideABusyCore: the blocks of a rollout are cut into so many tiles that two workers, of which one has half
// of a core, would end 1.4 times as early as one (1.5 is the most), and even with a quarter of a core not later.
func TestPiecesBesideABusyCore(t *testing.T) {
	d := dispatcher(t)
	bodies, worlds := arm(t, 4096)
	for name, o := range map[string]Options{
		"rows":             {Options: batch.Options{Query: batch.Distance}},
		"within 0.1 m":     {MaxDistance: 0.1, HasMaxDistance: true},
		"least of a world": {Reduce: ReduceWorld},
	} {
		o.Workers = 2
		held, err := Hold(d, bodies, worlds, o, dispatch.Options{Backend: "cpu"})
		if err != nil {
			t.Fatal(err)
		}
		if _, _, err := held.Run(t.Context()); err != nil {
			t.Fatal(err)
		}
		half, quarter := testkit.Gain(len(held.tiles), 1, 0.5), testkit.Gain(len(held.tiles), 1, 0.25)
		if half < 1.4 || quarter < 1 {
			t.Errorf("%s: %d tiles of a block, gains of %.2f and %.2f", name, len(held.tiles), half, quarter)
		}
	}
}

package rollout

import (
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"testing"

	"clearance/batch"
	"clearance/cpu"
	"clearance/dispatch"
	"clearance/geom"
	"clearance/internal/testkit"
	"clearance/tests/need"

	"gonum.org/v1/gonum/spatial/r3"
)

// arm returns the worlds of the benchmark of rollouts: an arm of 8 bodies (capsules, boxes and hulls of 32
// vertices, two of them of 4 parts) that reaches 1.6 m, among 12 obstacles within 1.1 m of its base, at other places in
// every world. The 100 pairs are the bodies of the arm with the obstacles, and four of its own.
func arm(t testing.TB, worlds int) (*batch.Bodies, *batch.Worlds) {
	t.Helper()
	rng := rand.New(rand.NewPCG(21, 0))
	hull := func(x, y, z float64) geom.Shape { return testkit.Hull(rng, r3.Vec{X: x, Y: y, Z: z}, 32) }
	box := func(x, y, z float64) geom.Shape { return geom.Box{HalfExtents: r3.Vec{X: x, Y: y, Z: z}} }
	shapes := []geom.Shape{
		geom.Capsule{R: 0.06, HalfLength: 0.09}, box(0.05, 0.05, 0.1), hull(0.06, 0.06, 0.11), // links
		hull(0.03, 0.03, 0.08), box(0.02, 0.02, 0.05), geom.Capsule{R: 0.02, HalfLength: 0.06}, // parts of the others
		box(0.15, 0.1, 0.08), hull(0.1, 0.08, 0.12), geom.Capsule{R: 0.07, HalfLength: 0.2}, // obstacles
	}
	lib, err := batch.NewLibrary(shapes, nil)
	if err != nil {
		t.Fatal(err)
	}
	single := func(shape int32) batch.Body {
		return batch.Body{Parts: []batch.Part{{Shape: shape, Pose: geom.IdentityPose()}}}
	}
	compound := batch.Body{Parts: []batch.Part{
		{Shape: 3, Pose: geom.Translate(0.04, 0, -0.03)}, {Shape: 3, Pose: geom.Translate(-0.04, 0, -0.03)},
		{Shape: 4, Pose: geom.Translate(0, 0.03, 0.06)}, {Shape: 5, Pose: geom.Translate(0, -0.03, 0.05)},
	}}
	list := []batch.Body{single(0), single(1), single(2), compound, single(6), single(7), single(8)}
	bodies, err := batch.NewBodies(lib, list)
	if err != nil {
		t.Fatal(err)
	}
	w := &batch.Worlds{Bodies: []int32{0, 2, 1, 3, 0, 2, 1, 3}}
	for k := range 12 {
		w.Bodies = append(w.Bodies, 4+int32(k%3))
	}
	for range worlds {
		joint := geom.IdentityPose()
		for range 8 {
			axis := r3.Vec{X: 1}
			if rng.IntN(2) == 0 {
				axis = r3.Vec{Y: 1}
			}
			joint = joint.Compose(geom.Rotate(axis, 1.2*(rng.Float64()-0.5)))
			link := joint.Compose(geom.Translate(0, 0, 0.1))
			w.Poses = appendPose(w.Poses, &link)
			joint = joint.Compose(geom.Translate(0, 0, 0.2))
		}
		for range 12 {
			p := testkit.Pose(rng, 1)
			radius := 0.3 + 0.8*math.Cbrt(rng.Float64())
			p.Position = r3.Scale(radius, testkit.Unit(rng))
			w.Poses = appendPose(w.Poses, &p)
		}
	}
	for a := range int32(8) {
		for o := range int32(12) {
			w.TemplateA, w.TemplateB = append(w.TemplateA, a), append(w.TemplateB, 8+o)
		}
	}
	for _, p := range [][2]int32{{0, 4}, {0, 7}, {1, 6}, {2, 7}} {
		w.TemplateA, w.TemplateB = append(w.TemplateA, p[0]), append(w.TemplateB, p[1])
	}
	return bodies, w
}

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

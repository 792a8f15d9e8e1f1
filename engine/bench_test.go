package engine

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"clearance/batch"
	"clearance/engine/internal/vk"
	"clearance/geom"
	"clearance/internal/testkit"
	"clearance/internal/testkit/rowcheck"
	"clearance/tests/need"

	"gonum.org/v1/gonum/num/quat"
	"gonum.org/v1/gonum/spatial/r3"
)

// benchBackend opens the back end without validation.
func benchBackend(b *testing.B, o Options) *Backend {
	b.Helper()
	o.CacheDir = testCache
	e, err := Open(o)
	if errors.Is(err, vk.NoLoader) || errors.Is(err, vk.NoDriver) || errors.Is(err, vk.NoDevice) ||
		errors.Is(err, vk.NoCgo) {
		need.Vulkan(b, err.Error())
	}
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { e.Close() })
	return e
}

// perRow adds the throughput of a benchmark whose iterations answer so many rows.
func perRow(b *testing.B, rows int) {
	b.ReportMetric(float64(rows)*float64(b.N)/b.Elapsed().Seconds(), "pairs/s")
}

// BenchmarkRun times calls of several sizes end to end, without validation.
func BenchmarkRun(b *testing.B) {
	e := benchBackend(b, Options{})
	for _, rows := range []int{0, 1, 1000, 100_000} {
		lib, pairs := set(b, "ellipsoids", 0, rows)
		job := &batch.Job{Library: lib, Input: pairs}
		out := batch.NewResults(rows, &job.Options)
		b.Run(fmt.Sprint(rows), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if err := e.Run(b.Context(), job, 0, rows, out); err != nil {
					b.Fatal(err)
				}
			}
			perRow(b, rows)
		})
	}
}

// BenchmarkRollout times a step of a rollout of 1,000 ellipsoid pairs, 20 worlds of 50: as
// a pair list, as worlds, and held on the device.
func BenchmarkRollout(b *testing.B) {
	e := benchBackend(b, Options{})
	lib, pairs := set(b, "ellipsoids", 0, 1000)
	worlds := &batch.Worlds{Shapes: pairs.ShapeA[:20]}
	for i := range 20 * 20 {
		worlds.Poses = append(worlds.Poses, pairs.PositionB[3*i:3*i+3]...)
		worlds.Poses = append(worlds.Poses, pairs.RotationB[4*i:4*i+4]...)
	}
	for i := range int32(50) {
		worlds.TemplateA, worlds.TemplateB = append(worlds.TemplateA, i%20), append(worlds.TemplateB, (i+1+i/20)%20)
	}
	list := rowcheck.Listed(worlds)
	out := batch.NewResults(1000, new(batch.Options))
	for name, in := range map[string]batch.Input{"list": list, "worlds": worlds} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			job := &batch.Job{Library: lib, Input: in}
			for b.Loop() {
				if err := e.Run(b.Context(), job, 0, 1000, out); err != nil {
					b.Fatal(err)
				}
			}
			perRow(b, 1000)
		})
	}
	b.Run("held", func(b *testing.B) {
		b.ReportAllocs()
		h, err := e.Hold(b.Context(), lib, worlds)
		if err != nil {
			b.Fatal(err)
		}
		defer h.Close()
		for b.Loop() {
			if err := h.Update(b.Context(), worlds); err != nil {
				b.Fatal(err)
			}
			if err := h.Run(b.Context(), new(batch.Options), out); err != nil {
				b.Fatal(err)
			}
		}
		perRow(b, 1000)
	})
}

// BenchmarkOrder times the kernels of the mixed set, 100,000 rows, in the order in which
// they come and sorted by class.
func BenchmarkOrder(b *testing.B) {
	const rows = 100_000
	e := benchBackend(b, Options{})
	lib, pairs := set(b, "mixed", 0, rows)
	job := &batch.Job{Library: lib, Input: pairs}
	out := batch.NewResults(rows, &job.Options)
	for _, c := range []struct {
		name     string
		unsorted bool
	}{{"sorted", false}, {"as it comes", true}} {
		b.Run(c.name, func(b *testing.B) {
			e.options.unsorted = c.unsorted
			defer func() { e.options.unsorted = false }()
			kernel := 0.0
			for b.Loop() {
				t, err := e.RunMeasured(b.Context(), job, 0, rows, out)
				if err != nil {
					b.Fatal(err)
				}
				kernel += t.Seconds()
			}
			perRow(b, rows)
			b.ReportMetric(rows*float64(b.N)/kernel, "kernel-pairs/s")
		})
	}
}

// BenchmarkPack times what the host does to write rows of the mixed set: as a pair list, as
// worlds of 12 bodies and 67 pairs, and their poses alone.
func BenchmarkPack(b *testing.B) {
	e := benchBackend(b, Options{ChunkRows: 1 << 18})
	const rows = 1 << 18
	lib, pairs := set(b, "mixed", 0, rows)
	_, worlds := stack(b, rows/67, 0)
	for name, in := range map[string]batch.Input{"list": pairs, "worlds": worlds} {
		h := hold(b, e, lib, in).(*Held)
		p := &h.packer
		w, _ := in.(*batch.Worlds)
		n := h.chunks[0].n
		b.Run(name, func(b *testing.B) {
			h.pointPacker(0, in, w)
			for b.Loop() {
				if err := p.all(false); err != nil {
					b.Fatal(err)
				}
			}
			perRow(b, n)
		})
		b.Run(name+", poses", func(b *testing.B) {
			h.pointPacker(0, in, w)
			for b.Loop() {
				if err := p.moved(); err != nil {
					b.Fatal(err)
				}
			}
			perRow(b, n)
		})
	}
}

// scattered is rows of random shapes of a library at random poses, some overlapping.
func scattered(g *rand.Rand, lib *batch.Library, rows int) *batch.Pairs {
	pairs := batch.NewPairs(rows)
	normal := func() r3.Vec { return testkit.Normal(g) }
	pose := func(p r3.Vec) geom.Pose {
		q := testkit.Quaternion(g)
		return geom.Pose{Position: p, Rotation: quat.Scale(1/quat.Abs(q), q)}
	}
	for i := range rows {
		a, b := int32(g.IntN(lib.Len())), int32(g.IntN(lib.Len()))
		at := r3.Scale(lib.PairSize(a, b), normal())
		from := r3.Scale(lib.PairSize(a, b)*(0.2+1.2*g.Float64()), r3.Unit(normal()))
		pairs.SetRow(i, &batch.Row{ShapeA: a, ShapeB: b, PoseA: pose(at), PoseB: pose(r3.Add(at, from))})
	}
	return pairs
}

// hullLibrary is hulls of n points on ellipsoids of semi-axes 0.1 to 1 m.
func hullLibrary(t testing.TB, g *rand.Rand, shapes, n int) *batch.Library {
	t.Helper()
	all := make([]geom.Shape, shapes)
	for k := range all {
		axes := [3]float64{math.Pow(10, -g.Float64()), math.Pow(10, -g.Float64()), math.Pow(10, -g.Float64())}
		points := make([]r3.Vec, n)
		for i := range points {
			d := testkit.Unit(g)
			points[i] = r3.Vec{X: axes[0] * d.X, Y: axes[1] * d.Y, Z: axes[2] * d.Z}
		}
		c, err := geom.NewConvex(points)
		if err != nil {
			t.Fatal(err)
		}
		all[k] = c
	}
	lib, err := batch.NewLibrary(all, nil)
	if err != nil {
		t.Fatal(err)
	}
	return lib
}

// benchKernels times the kernels of a job, per row, and counts the support
// evaluations of the rows that the device answered.
func benchKernels(b *testing.B, e *Backend, job *batch.Job) {
	rows := job.Input.Len()
	out := batch.NewResults(rows, &job.Options)
	if err := e.Run(b.Context(), job, 0, rows, out); err != nil { // shaders compiled, memory touched
		b.Fatal(err)
	}
	before := e.Stats()
	for b.Loop() {
		if err := e.Run(b.Context(), job, 0, rows, out); err != nil {
			b.Fatal(err)
		}
	}
	after := e.Stats()
	n := float64(rows) * float64(b.N)
	for i := range passes {
		if t := after.Times[i] - before.Times[i]; t > 0 {
			b.ReportMetric(float64(t.Nanoseconds())/n, passes[i].name+"-ns/row")
		}
	}
	b.ReportMetric(100*float64(after.Depths-before.Depths)/n, "depths-%")
	b.ReportMetric(100*float64(after.FoundInFloat32-before.FoundInFloat32)/n, "found-in-float32-%")
	b.ReportMetric(100*float64(after.Declined.Sum()-before.Declined.Sum())/n, "declined-%")
	steps, answered := 0, 0
	for i, s := range out.Status() {
		if s < uint8(batch.Undecided) && out.Iterations() != nil {
			steps, answered = steps+int(out.Iterations()[i]), answered+1
		}
	}
	b.ReportMetric(float64(steps)/float64(max(answered, 1)), "steps")
}

// BenchmarkHulls times hulls of several sizes with their cells and without, which is the
// scan of all vertices.
func BenchmarkHulls(b *testing.B) {
	e := benchBackend(b, Options{})
	for _, n := range []int{32, 64, 128, 512, 2048, 10000} {
		g := rand.New(rand.NewPCG(11, uint64(n)))
		lib := hullLibrary(b, g, max(4, min(64, 65536/n)), n)
		job := &batch.Job{Library: lib, Input: scattered(g, lib, 8192)}
		for _, scan := range []bool{false, true} {
			if scan && n > 512 {
				continue
			}
			name := fmt.Sprintf("%d/cells", n)
			if scan {
				name = fmt.Sprintf("%d/scan", n)
				k, err := e.libraries.of(b.Context(), lib)
				if err != nil {
					b.Fatal(err)
				}
				if !e.direct {
					b.Skip("the device's memory is not mapped: cells cannot be taken away")
				}
				clear(k.cells.Bytes()[:4*lib.Len()])
				e.libraries.release(k)
			}
			b.Run(name, func(b *testing.B) { benchKernels(b, e, job) })
		}
	}
}

// BenchmarkKernels times the generated sets.
func BenchmarkKernels(b *testing.B) {
	e := benchBackend(b, Options{})
	for _, name := range []string{"ellipsoids", "boxes", "capsule-cylinder-cone", "hull8", "hull32", "hull128",
		"hull512", "smooth", "mixed"} {
		for _, o := range []batch.Options{{}, {Query: batch.Collide}} {
			lib, pairs := set(b, name, 0, 8192)
			b.Run(fmt.Sprintf("%s/%v", name, o.Query), func(b *testing.B) {
				benchKernels(b, e, &batch.Job{Library: lib, Input: pairs, Options: o})
			})
		}
	}
}

// BenchmarkRTR times the method rtr beside GJK on smooth shapes, with overlaps and without.
func BenchmarkRTR(b *testing.B) {
	e := benchBackend(b, Options{})
	for _, name := range []string{"ellipsoids", "mixed", "smooth"} {
		lib, all := set(b, name, 0, 8192)
		for _, m := range []batch.Method{batch.GJK, batch.Auto, batch.RTR} {
			b.Run(fmt.Sprintf("%s/%v", name, m), func(b *testing.B) {
				benchKernels(b, e, &batch.Job{Library: lib, Input: all, Options: batch.Options{Method: m}})
			})
		}
	}
}

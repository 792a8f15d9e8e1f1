package engine

import (
	"errors"
	"fmt"
	"testing"

	"clearance/batch"
	"clearance/engine/internal/vk"
	"clearance/internal/testkit/rowcheck"
	"clearance/tests/need"
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

package rollout

import (
	"testing"
	"time"

	"clearance/batch"
	"clearance/dispatch"
	"clearance/engine"
	"clearance/tests/need"
)

// BenchmarkArmVulkan measures steps of a held rollout of 512 worlds of the arm on a Vulkan device, in turns with all
// answers returned and with those that the worlds, or the pairs of bodies, follow from. Metrics: milliseconds per step
// and of the device in it, and bytes per world that the device returns.
func BenchmarkArmVulkan(b *testing.B) {
	device, err := engine.Open(engine.Options{})
	if err != nil {
		need.Vulkan(b, err.Error())
	}
	d := dispatch.New(device, dispatcher(b).Backends()[0])
	defer d.Close()
	bodies, w := arm(b, 512)
	few := batch.ColDistance | batch.ColGap | batch.ColStatus
	all := few | batch.ColNormal | batch.ColWitnessA | batch.ColWitnessB
	for _, v := range []struct {
		name string
		o    Options
	}{
		{"all-worlds", Options{NoCulling: true, Reduce: ReduceWorld, Options: batch.Options{Columns: few}}},
		{"all-worlds-vectors", Options{NoCulling: true, Reduce: ReduceWorld, Options: batch.Options{Columns: all}}},
		{"all-rows-vectors", Options{NoCulling: true, Options: batch.Options{Columns: all}}},
		{"least-worlds-vectors", Options{Reduce: ReduceWorld, Options: batch.Options{Columns: all}}},
		{"culled-worlds-vectors", Options{MaxDistance: 0.1, HasMaxDistance: true, Reduce: ReduceWorld,
			Options: batch.Options{Columns: all}}},
		{"collide-worlds", Options{NoCulling: true, Reduce: ReduceWorld, Options: batch.Options{Query: batch.Collide}}},
	} {
		b.Run(v.name, func(b *testing.B) {
			var held [2]*Batch
			var wall, kernel [2]time.Duration
			var last [2]Report
			for i := range held {
				v.o.NoDeviceReduction = i == 0
				h, err := Hold(d, bodies, w, v.o, dispatch.Options{Backend: "vulkan"})
				if err != nil {
					b.Fatal(err)
				}
				defer h.Close()
				if _, _, err := h.Run(b.Context()); err != nil {
					b.Fatal(err)
				}
				held[i] = h
			}
			deviceTime := func() time.Duration {
				s := device.Stats()
				return s.Times.Of("reduce")
			}
			n, before := 0, deviceTime()
			for b.Loop() {
				for i, h := range held {
					_, rep, err := h.Run(b.Context())
					if err != nil {
						b.Fatal(err)
					}
					wall[i] += rep.Wall
					kernel[i] += rep.Kernel
					last[i] = rep
				}
				n++
			}
			for i, name := range []string{"whole", "reduced"} {
				b.ReportMetric(float64(wall[i].Microseconds())/1e3/float64(n), name+"-ms")
				b.ReportMetric(float64(kernel[i].Microseconds())/1e3/float64(n), name+"-kernel-ms")
				b.ReportMetric(float64(last[i].BytesDown)/float64(w.Count()), name+"-B/world")
			}
			b.ReportMetric(float64((deviceTime()-before).Microseconds())/1e3/float64(n), "reduce-ms")
			b.ReportMetric(float64(last[1].Solved)/float64(w.Count()), "solved/world")
			b.ReportMetric(float64(last[1].Omitted)/float64(w.Count()), "omitted/world")
			b.ReportMetric(0, "ns/op")
		})
	}
}

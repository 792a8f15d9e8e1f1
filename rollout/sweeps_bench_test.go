package rollout

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"clearance/batch"
	"clearance/cpu"
	"clearance/dispatch"
	"clearance/geom"
	"clearance/rollout/sweep"

	"gonum.org/v1/gonum/spatial/r3"
)

// sweptArm returns motions of the benchmark arm over some way points: its bodies drift by a centimetre from one to the
// next, and the obstacles rest at their places times spread.
func sweptArm(t testing.TB, worlds, ways int, spread float64) (*batch.Bodies, *batch.Motions) {
	t.Helper()
	bodies, w := arm(t, worlds)
	rng := rand.New(rand.NewPCG(22, 0))
	n := w.BodiesPerWorld()
	m := &batch.Motions{T: ways, Bodies: w.Bodies, TemplateA: w.TemplateA, TemplateB: w.TemplateB}
	for world := range worlds {
		drift := r3.Vec{X: 0.01 * rng.NormFloat64(), Y: 0.01 * rng.NormFloat64(), Z: 0.01 * rng.NormFloat64()}
		for way := range ways {
			for k := range int32(n) {
				p := w.Pose(world, k)
				if k < 8 {
					p.Position = r3.Add(p.Position, r3.Scale(float64(way), drift))
					p = p.Compose(geom.Rotate(r3.Vec{Z: 1}, 0.02*float64(way)))
				} else {
					p.Position = r3.Scale(spread, p.Position)
				}
				m.Poses = appendPose(m.Poses, &p)
			}
		}
	}
	return bodies, m
}

// BenchmarkSweeps measures sweeps of the benchmark arm with and without a largest distance, among obstacles that are
// near and far. The metric "open" is the share of rows with evaluations.
func BenchmarkSweeps(b *testing.B) {
	for _, workers := range []int{1, 2} {
		c, err := cpu.New(cpu.Options{Workers: workers})
		if err != nil {
			b.Fatal(err)
		}
		d := dispatch.New(c)
		for _, spread := range []float64{1, 8} {
			for _, limit := range []float64{0.05, -1} {
				worlds := 500
				if limit < 0 {
					worlds = 4
				}
				bodies, m := sweptArm(b, worlds, 10, spread)
				o := sweep.Options{Workers: workers, HasMaxDistance: limit >= 0, MaxDistance: max(limit, 0)}
				b.Run(fmt.Sprintf("workers=%d/spread=%g/limit=%g", workers, spread, limit), func(b *testing.B) {
					open := 0
					for b.Loop() {
						job := &SweepJob{Bodies: bodies, Motions: m, Options: o}
						if _, err := Sweep(b.Context(), d, job, dispatch.Options{}); err != nil {
							b.Fatal(err)
						}
						open = 0
						for _, n := range job.Results.Evaluations {
							if n > 0 {
								open++
							}
						}
					}
					b.ReportMetric(float64(m.Len())*float64(b.N)/b.Elapsed().Seconds(), "rows/s")
					b.ReportMetric(100*float64(open)/float64(m.Len()), "%open")
				})
			}
		}
		d.Close()
	}
}

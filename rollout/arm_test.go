package rollout

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"clearance/batch"
	"clearance/cpu"
	"clearance/dispatch"
	"clearance/geom"
	"clearance/internal/testkit"

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

package clearance_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"clearance"
	"clearance/batch"
	"clearance/geom"
	"clearance/internal/testkit"

	"gonum.org/v1/gonum/spatial/r3"
)

// BenchmarkShared calls Distance on rows that share both shapes, on rows that do not, and on worlds of an arm of hulls
// among boxes. Hulls have their vertices on the unit sphere and are 0.1 to 2 apart. The time is that of the best round.
func BenchmarkShared(b *testing.B) {
	const rows = 1 << 17
	for _, vertices := range []int{8, 32, 128} {
		for _, hulls := range []int{1, 256} {
			b.Run(fmt.Sprintf("%d/%d", vertices, hulls), func(b *testing.B) {
				rng := rand.New(rand.NewPCG(31, uint64(vertices)))
				var shapes []geom.Shape
				for range 2 * hulls {
					shapes = append(shapes, testkit.Hull(rng, r3.Vec{X: 1, Y: 1, Z: 1}, vertices))
				}
				pairs := batch.NewPairs(rows)
				for i := range rows {
					row := batch.Row{ShapeA: int32(rng.IntN(hulls)), ShapeB: int32(hulls + rng.IntN(hulls))}
					row.PoseA, row.PoseB = testkit.Pose(rng, 1), testkit.Pose(rng, 1)
					row.PoseB.Position = r3.Add(row.PoseA.Position, r3.Scale(2.1+1.9*rng.Float64(), testkit.Unit(rng)))
					pairs.SetRow(i, &row)
				}
				distances(b, shapes, pairs)
			})
		}
	}
	b.Run("arm", func(b *testing.B) { // 8 links, 12 obstacles, all pairs of both
		rng := rand.New(rand.NewPCG(32, 0))
		shapes := []geom.Shape{testkit.Hull(rng, r3.Vec{X: 0.06, Y: 0.06, Z: 0.11}, 32),
			testkit.Hull(rng, r3.Vec{X: 0.05, Y: 0.05, Z: 0.1}, 32),
			geom.Box{HalfExtents: r3.Vec{X: 0.15, Y: 0.1, Z: 0.08}},
			geom.Box{HalfExtents: r3.Vec{X: 0.1, Y: 0.08, Z: 0.12}}}
		w := &batch.Worlds{}
		for link := range int32(8) {
			w.Shapes = append(w.Shapes, link%2)
		}
		for obstacle := range int32(12) {
			w.Shapes = append(w.Shapes, 2+obstacle%2)
		}
		for link := range int32(8) {
			for obstacle := range int32(12) {
				w.TemplateA, w.TemplateB = append(w.TemplateA, link), append(w.TemplateB, 8+obstacle)
			}
		}
		for range 1000 {
			joint := geom.IdentityPose()
			put := func(p geom.Pose) {
				w.Poses = append(w.Poses, p.Position.X, p.Position.Y, p.Position.Z, p.Rotation.Real, p.Rotation.Imag,
					p.Rotation.Jmag, p.Rotation.Kmag)
			}
			for range 8 {
				joint = joint.Compose(geom.Rotate(r3.Unit(r3.Vec{X: 1, Y: rng.Float64()}), 1.2*(rng.Float64()-0.5)))
				put(joint.Compose(geom.Translate(0, 0, 0.1)))
				joint = joint.Compose(geom.Translate(0, 0, 0.2))
			}
			for range 12 {
				put(testkit.Pose(rng, 1.1))
			}
		}
		distances(b, shapes, w)
	})
}

// distances times calls of a handle on the CPU.
func distances(b *testing.B, shapes []geom.Shape, in batch.Input) {
	b.Helper()
	lib, err := batch.NewLibrary(shapes, nil)
	if err != nil {
		b.Fatal(err)
	}
	h, err := clearance.Open(clearance.WithBackend("cpu"))
	if err != nil {
		b.Fatal(err)
	}
	defer h.Close()
	best := math.Inf(1)
	for b.Loop() {
		start := time.Now()
		if _, _, err := h.Distance(b.Context(), lib, in); err != nil {
			b.Fatal(err)
		}
		best = min(best, float64(time.Since(start)))
	}
	b.ReportMetric(best/float64(in.Len()), "ns/row")
}

package cpu

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"clearance/batch"
	"clearance/geom"
	"clearance/internal/testkit"
	"clearance/kernels"

	"gonum.org/v1/gonum/num/quat"
	"gonum.org/v1/gonum/spatial/r3"
)

// BenchmarkHulls computes distances of 0.1 to 2 between hulls of 8 to 512 vertices on the unit sphere, with
// one hull in all rows, which stays in cache, and with 256 hulls. The time reported is that of the best round.
func BenchmarkHulls(b *testing.B) {
	for _, vertices := range []int{8, 12, 16, 24, 32, 48, 64, 128, 512} {
		for _, hulls := range []int{1, 256} {
			lib, pairs := drawHulls(b, vertices, hulls, benchmarkRows)
			for _, variant := range kernels.Supported() {
				b.Run(fmt.Sprintf("%d/%d/%s", vertices, hulls, variant), func(b *testing.B) {
					be, err := New(Options{Workers: 1, SIMD: variant})
					if err != nil {
						b.Fatal(err)
					}
					job := &batch.Job{Library: lib, Input: pairs}
					out := batch.NewResults(pairs.Len(), &job.Options)
					best := time.Duration(math.MaxInt64)
					if err := be.Run(context.Background(), job, 0, pairs.Len(), out); err != nil { // makes the table
						b.Fatal(err)
					}
					for b.Loop() {
						start := time.Now()
						if err := be.Run(context.Background(), job, 0, pairs.Len(), out); err != nil {
							b.Fatal(err)
						}
						best = min(best, time.Since(start))
					}
					b.ReportMetric(float64(best.Nanoseconds())/float64(pairs.Len()), "ns/pair")
				})
			}
		}
	}
}

func drawHulls(b *testing.B, vertices, hulls, rows int) (*batch.Library, *batch.Pairs) {
	b.Helper()
	rng := rand.New(rand.NewPCG(5, uint64(vertices)))
	direction := func() r3.Vec {
		return testkit.Unit(rng)
	}
	random := func() quat.Number {
		return testkit.Quaternion(rng)
	}
	var shapes []geom.Shape
	for range hulls {
		points := make([]r3.Vec, vertices)
		for i := range points {
			points[i] = direction()
		}
		hull, err := geom.NewConvex(points)
		if err != nil {
			b.Fatal(err)
		}
		shapes = append(shapes, hull)
	}
	lib, err := batch.NewLibrary(shapes, nil)
	if err != nil {
		b.Fatal(err)
	}
	pairs := batch.NewPairs(rows)
	for i := range rows {
		row := batch.Row{ShapeA: int32(rng.IntN(hulls)), ShapeB: int32(rng.IntN(hulls))}
		row.PoseA.Rotation, row.PoseB.Rotation = random(), random()
		row.PoseB.Position = r3.Scale(2.1+1.9*rng.Float64(), direction())
		pairs.SetRow(i, &row)
	}
	return lib, pairs
}

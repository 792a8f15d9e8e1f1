package cpu

import (
	"context"
	"math"
	"testing"
	"time"

	"clearance/batch"
	"clearance/kernels"
)

// BenchmarkSIMD solves sets on one core with every variant and with the reference
// solvers alone ("off"). "apart" are the separated rows of a set, with distances of up to 2 m; the
// others are all rows, of which a third penetrates. The time reported is that of the
// best round, as other programs may be running.
func BenchmarkSIMD(b *testing.B) {
	for _, set := range []string{"ellipsoids", "boxes", "capsule-cylinder-cone", "hull8", "hull32", "hull128",
		"hull512", "mixed"} {
		b.Run(set, func(b *testing.B) {
			lib, pairs := draw(b, set, benchmarkRows)
			benchmarkSet(b, lib, pairs)
		})
	}
	for _, set := range powerSets {
		b.Run(set.name, func(b *testing.B) {
			lib, pairs := drawPowers(b, set.shape, benchmarkRows)
			benchmarkSet(b, lib, pairs)
		})
	}
}

const benchmarkRows = 1 << 14

func benchmarkSet(b *testing.B, lib *batch.Library, pairs *batch.Pairs) {
	const n = benchmarkRows
	{
		apart := batch.NewPairs(n - n/3 - 1)
		var r batch.Row
		k := 0
		for i := range n {
			if i%3 != 0 && k < apart.Len() {
				pairs.Row(i, &r)
				apart.SetRow(k, &r)
				k++
			}
		}
		for _, c := range []struct {
			name string
			in   *batch.Pairs
			o    batch.Options
		}{
			{"apart", apart, batch.Options{}}, {"apart-double", apart, batch.Options{Precision: batch.Double}},
			{"all", pairs, batch.Options{}}, {"collide", pairs, batch.Options{Query: batch.Collide}},
			{"growth", pairs, batch.Options{Query: batch.Growth}},
		} {
			for _, variant := range append(kernels.Supported(), kernels.Off) {
				b.Run(c.name+"/"+variant, func(b *testing.B) {
					be, err := New(Options{Workers: 1, SIMD: variant})
					if err != nil {
						b.Fatal(err)
					}
					job := &batch.Job{Library: lib, Input: c.in, Options: c.o}
					out := batch.NewResults(c.in.Len(), &c.o)
					rows, best := c.in.Len(), time.Duration(math.MaxInt64)
					if err := be.Run(context.Background(), job, 0, c.in.Len(), out); err != nil { // makes the table
						b.Fatal(err)
					}
					for b.Loop() {
						start := time.Now()
						if err := be.Run(context.Background(), job, 0, c.in.Len(), out); err != nil {
							b.Fatal(err)
						}
						best = min(best, time.Since(start))
						rows += c.in.Len()
					}
					_, left := be.RowsBy()
					b.ReportMetric(float64(best.Nanoseconds())/float64(c.in.Len()), "ns/pair")
					b.ReportMetric(100*float64(left)/float64(rows), "%left")
					if w := be.idle[0].solver; w != nil && w.Stats().Rows32 > 0 {
						s := w.Stats()
						b.ReportMetric(float64(s.Lanes32)/float64(s.Rows32), "steps32/pair")
						b.ReportMetric(float64(s.Lanes32)/float64(s.Steps32), "lanes")
						b.ReportMetric(100*float64(s.Rows64)/float64(s.Rows32), "%64")
					}
				})
			}
		}
	}
}

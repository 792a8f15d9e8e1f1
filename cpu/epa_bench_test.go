package cpu

import (
	"context"
	"math"
	"testing"
	"time"

	"clearance/batch"
	"clearance/kernels"
)

// BenchmarkDepth answers penetration queries of the penetrating third of each set on one
// core, with every variant and with the reference solvers alone ("off"). The time
// reported is that of the best round, as other programs may be running.
func BenchmarkDepth(b *testing.B) {
	for _, set := range []string{"ellipsoids", "boxes", "capsule-cylinder-cone", "hull8", "hull32", "hull128",
		"hull512"} {
		lib, pairs := draw(b, set, 3<<12)
		benchmarkDepths(b, set, lib, overlapping(pairs))
	}
	for _, set := range powerSets {
		lib, pairs := drawPowers(b, set.shape, 9<<12)
		benchmarkDepths(b, set.name, lib, penetrating(b, lib, overlapping(pairs)))
	}
}

// penetrating returns the rows that penetrate beyond rounding errors.
func penetrating(t testing.TB, lib *batch.Library, pairs *batch.Pairs) *batch.Pairs {
	t.Helper()
	be, err := New(Options{})
	if err != nil {
		t.Fatal(err)
	}
	job := &batch.Job{Library: lib, Input: pairs, Options: batch.Options{Query: batch.Collide}}
	out := batch.NewResults(pairs.Len(), &job.Options)
	if err := be.Run(context.Background(), job, 0, pairs.Len(), out); err != nil {
		t.Fatal(err)
	}
	var rows []batch.Row
	for i, s := range out.Status() {
		if batch.Status(s) == batch.Penetrating {
			rows = append(rows, batch.Row{})
			pairs.Row(i, &rows[len(rows)-1])
		}
	}
	deep := batch.NewPairs(len(rows))
	for i := range rows {
		deep.SetRow(i, &rows[i])
	}
	return deep
}

func benchmarkDepths(b *testing.B, set string, lib *batch.Library, deep *batch.Pairs) {
	for _, c := range []struct {
		name string
		o    batch.Options
	}{
		{"single", batch.Options{Query: batch.Penetration}},
		{"single-gjk", batch.Options{Query: batch.Penetration, Method: batch.GJK}},
		{"double", batch.Options{Query: batch.Penetration, Precision: batch.Double}},
	} {
		for _, variant := range append(kernels.Supported(), kernels.Off) {
			b.Run(set+"/"+c.name+"/"+variant, func(b *testing.B) { benchmarkDepth(b, lib, deep, c.o, variant) })
		}
	}
}

func benchmarkDepth(b *testing.B, lib *batch.Library, in *batch.Pairs, o batch.Options, variant string) {
	be, err := New(Options{Workers: 1, SIMD: variant})
	if err != nil {
		b.Fatal(err)
	}
	job := &batch.Job{Library: lib, Input: in, Options: o}
	out := batch.NewResults(in.Len(), &o)
	if err := be.Run(context.Background(), job, 0, in.Len(), out); err != nil { // makes the table
		b.Fatal(err)
	}
	rows, best := in.Len(), time.Duration(math.MaxInt64)
	for b.Loop() {
		start := time.Now()
		if err := be.Run(context.Background(), job, 0, in.Len(), out); err != nil {
			b.Fatal(err)
		}
		best = min(best, time.Since(start))
		rows += in.Len()
	}
	steps := 0
	for _, k := range out.Iterations() {
		steps += int(k)
	}
	_, left := be.RowsBy()
	b.ReportMetric(float64(best.Nanoseconds())/float64(in.Len()), "ns/pair")
	b.ReportMetric(100*float64(left)/float64(rows), "%left")
	b.ReportMetric(float64(steps)/float64(in.Len()), "steps/pair")
}

// overlapping returns the penetrating rows of a set: every third.
func overlapping(pairs *batch.Pairs) *batch.Pairs {
	deep := batch.NewPairs((pairs.Len() + 2) / 3)
	var r batch.Row
	for i := range deep.Len() {
		pairs.Row(3*i, &r)
		deep.SetRow(i, &r)
	}
	return deep
}

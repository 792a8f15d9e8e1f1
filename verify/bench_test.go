package verify_test

import (
	"context"
	"testing"

	"clearance/batch"
	"clearance/verify"

	"gonum.org/v1/gonum/spatial/r3"
)

// BenchmarkAudit reports the time a row on one core.
func BenchmarkAudit(b *testing.B) {
	lib := newLibrary(b, mixedShapes()...)
	const rows = 4096
	for _, c := range []struct {
		name string
		o    batch.Options
	}{
		{"distance", batch.Options{}},
		{"no-normal", batch.Options{Columns: batch.ColStatus | batch.ColDistance | batch.ColGap}},
		{"collide", batch.Options{Query: batch.Collide}},
	} {
		b.Run(c.name, func(b *testing.B) {
			job := solved(b, lib, randomPairs(lib, rows, 1, r3.Vec{}), c.o)
			b.ReportAllocs()
			for b.Loop() {
				if _, err := verify.Audit(context.Background(), job, verify.Options{Workers: 1}); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/rows, "ns/row")
		})
	}
}

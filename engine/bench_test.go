package engine

import (
	"errors"
	"fmt"
	"testing"

	"clearance/batch"
	"clearance/engine/internal/vk"
)

// BenchmarkRun times calls of several sizes end to end, without validation.
func BenchmarkRun(b *testing.B) {
	e, err := Open(Options{})
	if errors.Is(err, vk.NoLoader) || errors.Is(err, vk.NoDriver) || errors.Is(err, vk.NoDevice) || errors.Is(err, vk.NoCgo) {
		unavailable(b, err.Error())
	}
	if err != nil {
		b.Fatal(err)
	}
	defer e.Close()
	for _, rows := range []int{1, 1000, 100_000} {
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
			b.ReportMetric(float64(rows)*float64(b.N)/b.Elapsed().Seconds(), "pairs/s")
		})
	}
}

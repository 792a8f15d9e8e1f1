package dataset

import (
	"errors"
	"io"
	"path/filepath"
	"testing"
	"time"

	"clearance/batch"
	"clearance/internal/testkit"
)

// benchRows is a few row groups, and more than caches hold.
const benchRows = 1 << 20

// perRow runs f until the time of the benchmark is up, and reports nanoseconds a row of the processors and of the
// clock.
func perRow(b *testing.B, f func()) {
	cpu, start := testkit.CPUTime(b), time.Now()
	for b.Loop() {
		f()
	}
	rows := float64(b.N) * benchRows
	b.ReportMetric(float64(testkit.CPUTime(b)-cpu)/rows, "cpu-ns/row")
	b.ReportMetric(float64(time.Since(start))/rows, "wall-ns/row")
}

// BenchmarkFiles writes and reads pairs and results in chunks, as a stream does. TMPDIR=/dev/shm leaves the disk out.
func BenchmarkFiles(b *testing.B) {
	const chunk = 1 << 17
	fail := func(err error) {
		if err != nil {
			b.Fatal(err)
		}
	}
	p := testPairs(chunk)
	for i := range p.ShapeA {
		p.ShapeA[i] &= 1023
	}
	r := testResults(chunk, 0, batch.Single)
	for i := range r.N { // as a solver leaves them
		r.Status()[i], r.Iterations()[i] = uint8(i%37/36), uint16(3+i%11)
	}
	for _, ext := range formats {
		pairs, results := filepath.Join(b.TempDir(), "pairs"+ext), filepath.Join(b.TempDir(), "results"+ext)
		b.Run("pairs/write"+ext, func(b *testing.B) {
			perRow(b, func() {
				w, err := CreatePairs(pairs, benchRows)
				fail(err)
				for range benchRows / chunk {
					fail(w.Write(p))
				}
				fail(w.Close())
			})
		})
		b.Run("pairs/read"+ext, func(b *testing.B) {
			into := batch.NewPairs(chunk)
			perRow(b, func() {
				f, err := OpenPairs(pairs)
				fail(err)
				for err == nil {
					_, err = f.Next(into)
				}
				if !errors.Is(err, io.EOF) {
					fail(err)
				}
				fail(f.Close())
			})
		})
		b.Run("results/write"+ext, func(b *testing.B) {
			perRow(b, func() {
				w, err := CreateResults(results, 0, batch.Single, benchRows)
				fail(err)
				for range benchRows / chunk {
					fail(w.Write(r))
				}
				fail(w.Close())
			})
		})
		b.Run("results/read"+ext, func(b *testing.B) {
			perRow(b, func() {
				f, err := OpenResults(results)
				fail(err)
				for err == nil {
					_, err = f.Next(r)
				}
				if !errors.Is(err, io.EOF) {
					fail(err)
				}
				fail(f.Close())
			})
		})
	}
}

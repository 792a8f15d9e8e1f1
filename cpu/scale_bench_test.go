package cpu

import (
	"context"
	"math"
	"runtime"
	"testing"
	"time"

	"clearance/batch"
)

// repeated returns separated rows of a set, repeated `times` times: the work per
// pair does not depend on their number.
func repeated(b *testing.B, set string, rows, times int) (*batch.Library, *batch.Pairs) {
	lib, drawn := draw(b, set, rows+rows/2+3)
	pairs := batch.NewPairs(rows * times)
	var row batch.Row
	for i, k := 0, 0; k < rows; i++ {
		if i%3 != 0 { // every third row penetrates
			drawn.Row(i, &row)
			for j := range times {
				pairs.SetRow(j*rows+k, &row)
			}
			k++
		}
	}
	return lib, pairs
}

// best is the least time of a call so far.
type best struct {
	be  *Backend
	job *batch.Job
	out *batch.Results
	d   time.Duration
}

func newBest(b *testing.B, workers int, lib *batch.Library, in *batch.Pairs) *best {
	be, err := New(Options{Workers: workers})
	if err != nil {
		b.Fatal(err)
	}
	var o batch.Options
	m := &best{be, &batch.Job{Library: lib, Input: in, Options: o}, batch.NewResults(in.Len(), &o), 0}
	m.run(b, 1) // makes the table, and touches the pages
	m.d = math.MaxInt64
	return m
}

// run answers the job several times and records the least time.
func (m *best) run(b *testing.B, times int) {
	start := time.Now()
	for range times {
		if err := m.be.Run(context.Background(), m.job, 0, m.job.Input.Len(), m.out); err != nil {
			b.Fatal(err)
		}
	}
	m.d = min(m.d, time.Since(start)/time.Duration(times))
}

func (m *best) nsPair() float64 { return float64(m.d.Nanoseconds()) / float64(m.job.Input.Len()) }

var scaleSets = []string{"ellipsoids", "boxes", "capsule-cylinder-cone", "hull32", "hull512"}

// BenchmarkCores says how many times as fast two workers are as one, in rounds taken in
// turn. At least 1.8 is wanted of a machine with two cores of its own and nothing
// else to do; two threads of one core cannot give that.
func BenchmarkCores(b *testing.B) {
	if runtime.GOMAXPROCS(0) < 2 {
		b.Skip("one processor: there is nothing to compare")
	}
	for _, set := range scaleSets {
		b.Run(set, func(b *testing.B) {
			lib, pairs := repeated(b, set, 1<<14, 8)
			one, two := newBest(b, 1, lib, pairs), newBest(b, 2, lib, pairs)
			for b.Loop() {
				one.run(b, 1)
				two.run(b, 1)
			}
			b.ReportMetric(one.nsPair(), "ns/pair-one")
			b.ReportMetric(two.nsPair(), "ns/pair-two")
			b.ReportMetric(one.nsPair()/two.nsPair(), "times")
		})
	}
}

// BenchmarkMemory says how much longer a pair takes among a million in memory than among
// 10,000 in cache, the same pairs, one worker, in rounds taken in turn. At most 1.2 times
// is wanted.
func BenchmarkMemory(b *testing.B) {
	const rows, times = 10_000, 100
	for _, set := range scaleSets {
		b.Run(set, func(b *testing.B) {
			lib, few := repeated(b, set, rows, 1)
			_, many := repeated(b, set, rows, times)
			cached, memory := newBest(b, 1, lib, few), newBest(b, 1, lib, many)
			for b.Loop() {
				cached.run(b, 10)
				memory.run(b, 1)
			}
			b.ReportMetric(cached.nsPair(), "ns/pair-cache")
			b.ReportMetric(memory.nsPair(), "ns/pair-memory")
			b.ReportMetric(memory.nsPair()/cached.nsPair(), "times")
		})
	}
}

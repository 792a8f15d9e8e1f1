package cpu

import (
	"context"
	"fmt"
	"math"
	"reflect"
	"sync/atomic"
	"testing"

	"clearance/batch"
	"clearance/dispatch"
	"clearance/internal/testkit/rowcheck"
)

// counted is a back end that does not count its rows: the dispatcher does.
type counted struct{ dispatch.Backend }

// countedReport answers pairs in chunks and returns the answers, and the report without times and parts of a call.
func countedReport(t *testing.T, b dispatch.Backend, lib *batch.Library, in batch.Input, o batch.Options,
	chunk int) (*batch.Results, string) {
	t.Helper()
	job := &batch.Job{Library: lib, Input: in, Options: o}
	rep, err := dispatch.New(b).Run(t.Context(), job, dispatch.Options{ChunkRows: chunk, MaxRowErrors: 5})
	if err != nil {
		t.Fatal(err)
	}
	rep.Wall, rep.Kernel, rep.Spans, rep.Shares, rep.Why, rep.Devices = 0, 0, nil, nil, "", nil
	text := ""
	for _, e := range rep.RowErrors {
		text += e.Error() + "; "
	}
	rep.RowErrors = nil
	return job.Results, fmt.Sprintf("%+v %s", rep, text)
}

// TestSameReports: 1, 2, 7 and 64 workers give the same bits and the same report in any chunks, and so does the
// dispatcher where it counts.
func TestSameReports(t *testing.T) {
	n := size(5000)
	lib, pairs := mixed(t, n, 11)
	for _, o := range []batch.Options{
		{Columns: everything}, {Columns: everything, Precision: batch.Double, HasCutOff: true, CutOff: 0.1},
		{Query: batch.Collide}, {Query: batch.Penetration},
	} {
		want, report := countedReport(t, counted{newBackend(t, 1)}, lib, pairs, o, n)
		for _, workers := range []int{1, 2, 7, 64} {
			b := newBackend(t, workers)
			for _, chunk := range []int{64, 1024, n} {
				got, rep := countedReport(t, b, lib, pairs, o, chunk)
				if rep != report {
					t.Fatalf("%v, %d workers, chunks of %d:\n%s, want\n%s", o.Query, workers, chunk, rep, report)
				}
				for i := range n {
					if !rowcheck.Same(want, i, got, i) {
						t.Fatalf("%v: row %d differs with %d workers, chunks of %d", o.Query, i, workers, chunk)
					}
				}
			}
		}
	}
}

// ending is a context that ends when it has been asked a number of times.
type ending struct {
	context.Context
	asked atomic.Int64
}

func (e *ending) Err() error {
	if e.asked.Add(-1) < 0 {
		return context.Canceled
	}
	return nil
}

// TestInterruptedCount: however early a call ends, rows have their answer or none, and the report counts what the
// columns hold. The results are the caller's, and held answers before.
func TestInterruptedCount(t *testing.T) {
	n := size(8000)
	lib, pairs := mixed(t, n, 12)
	o := batch.Options{Columns: batch.AllColumns | batch.ColMethod}
	whole := &batch.Job{Library: lib, Input: pairs, Options: o}
	if _, err := dispatch.New(newBackend(t, 2)).Run(t.Context(), whole, dispatch.Options{}); err != nil {
		t.Fatal(err)
	}
	for _, workers := range []int{1, 7, 64} {
		stopped := false
		d := dispatch.New(newBackend(t, workers))
		for asked := 0; asked < 60; asked += 7 {
			job := &batch.Job{Library: lib, Input: pairs, Options: o, Results: batch.NewResults(n, &o)}
			for i := range n {
				job.Results.Put(i, &batch.Answer{Distance: 7, Lower: 7, Upper: 7})
			}
			e := &ending{Context: context.Background()}
			e.asked.Store(int64(asked))
			rep, err := d.Run(e, job, dispatch.Options{ChunkRows: n})
			stopped = stopped || err != nil
			var counts [batch.StatusCount]int
			for i, s := range job.Results.Status() {
				counts[s]++
				none := batch.Status(s) == batch.Undecided && math.IsNaN(job.Results.Distance().At(i)) &&
					math.IsInf(float64(job.Results.Gap()[i]), 1) && job.Results.Iterations()[i] == 0
				if !none && !rowcheck.Same(job.Results, i, whole.Results, i) {
					t.Fatalf("%d workers, %d asked: row %d is %v, %g", workers, asked, i, batch.Status(s),
						job.Results.Distance().At(i))
				}
			}
			if !reflect.DeepEqual(rep.Counts, counts) || rep.Rows != n || err == nil && rep.Done != n {
				t.Fatalf("%d workers, %d asked: report %+v of rows %v, error %v", workers, asked, rep, counts, err)
			}
		}
		if !stopped {
			t.Errorf("%d workers: no call was interrupted", workers)
		}
	}
}

// TestPanicLeavesNoAnswer: the chunk in which a worker panics has no answer, and no trace of the memory before.
func TestPanicLeavesNoAnswer(t *testing.T) {
	const n, at = 600, 300
	lib, pairs := hookedPairs(t, n, at, func() { panic("deliberate") })
	job := &batch.Job{Library: lib, Input: pairs}
	rep, err := dispatch.New(newBackend(t, 7)).Run(t.Context(), job, dispatch.Options{})
	if err == nil || rep.Done != 0 || rep.Counts[batch.Undecided] != n {
		t.Fatalf("report %+v, error %v", rep, err)
	}
	for i, s := range job.Results.Status() {
		if batch.Status(s) != batch.Undecided || !math.IsNaN(job.Results.Distance().At(i)) {
			t.Fatalf("row %d is %v, %g", i, batch.Status(s), job.Results.Distance().At(i))
		}
	}
}

package dispatch

import (
	"context"
	"errors"
	"testing"

	"clearance/batch"
)

// TestSeries: a series answers like single calls, in one chunk or several, and in results of any length.
func TestSeries(t *testing.T) {
	f := &fake{name: "a"}
	d := New(f)
	for _, chunk := range []int{0, 64} {
		s, err := d.Series(&allColumns, Options{ChunkRows: chunk})
		if err != nil {
			t.Fatal(err)
		}
		for _, n := range []int{1, 300, 0, 65, 1000} {
			lib, pairs := testPairs(t, n)
			job := &batch.Job{Library: lib, Input: pairs, Options: allColumns,
				Results: batch.NewResults(n, &allColumns)}
			rep, err := s.Run(t.Context(), job)
			if err != nil {
				t.Fatal(err)
			}
			checkRows(t, job.Results, pairs, 0, n)
			if rep.Rows != n || rep.Done != n || sum(rep.Counts) != n || rep.Backend != "a" ||
				rep.Iterations != int64(2*n) {
				t.Errorf("%d rows in chunks of %d: report %+v", n, chunk, rep)
			}
		}
		if _, err := s.Run(t.Context(), &batch.Job{}); err == nil {
			t.Error("an empty job")
		}
	}
	s, err := d.Series(&allColumns, Options{})
	if err != nil {
		t.Fatal(err)
	}
	lib, pairs := testPairs(t, 10)
	job := &batch.Job{Library: lib, Input: pairs, Options: allColumns, Results: batch.NewResults(10, &allColumns)}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.Run(ctx, job); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	checkUnanswered(t, job.Results, 0, 10)
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Run(t.Context(), job); !errors.Is(err, ErrClosed) {
		t.Errorf("after Close: %v", err)
	}
	if _, err := d.Series(&allColumns, Options{Backend: "b"}); !errors.Is(err, ErrNoBackend) {
		t.Errorf("no such back end: %v", err)
	}
}

// TestSeriesFailure: a back end that fails is not used again, and a series without any says so.
func TestSeriesFailure(t *testing.T) {
	bad, good := &fake{name: "bad", at: failAt(3)}, &fake{name: "good"}
	s, err := New(bad, good).Series(&allColumns, Options{})
	if err != nil {
		t.Fatal(err)
	}
	lib, pairs := testPairs(t, 10)
	for round := range 3 {
		job := &batch.Job{Library: lib, Input: pairs, Options: allColumns, Results: batch.NewResults(10, &allColumns)}
		rep, err := s.Run(t.Context(), job)
		if err != nil {
			t.Fatal(err)
		}
		checkRows(t, job.Results, pairs, 0, 10)
		if want := max(1-round, 0); len(rep.Failovers) != want {
			t.Errorf("round %d: %d failovers, want %d", round, len(rep.Failovers), want)
		}
	}
	if n := bad.runs.Load(); n != 1 {
		t.Errorf("the back end that failed was called %d times", n)
	}
	alone, err := New(&fake{name: "bad", at: failAt(3)}).Series(&allColumns, Options{})
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		job := &batch.Job{Library: lib, Input: pairs, Options: allColumns, Results: batch.NewResults(10, &allColumns)}
		if _, err := alone.Run(t.Context(), job); !errors.Is(err, errDevice) {
			t.Errorf("no back end left: %v", err)
		}
		checkUnanswered(t, job.Results, 3, 10)
	}
}

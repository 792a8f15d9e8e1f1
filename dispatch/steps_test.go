package dispatch

import (
	"errors"
	"testing"

	"clearance/batch"
)

// TestSteps: the pairs of a step are asked of the CPU back end, else of the best one; of two that are alike the second
// takes over where the first fails, and stays. Only whole jobs are answered.
func TestSteps(t *testing.T) {
	lib, pairs := testPairs(t, 10)
	job := &batch.Job{Library: lib, Input: pairs, Options: batch.Options{Precision: batch.Double}}
	out := batch.NewResults(10, &job.Options)
	run := func(s *Steps, lo, hi int) error { return s.Run(t.Context(), job, lo, hi, out) }

	other, ours := &fake{name: "gpu"}, &fake{name: "cpu"}
	if err := run(New(other, ours).Steps(""), 0, 10); err != nil || ours.rows.Load() != 10 || other.rows.Load() != 0 {
		t.Errorf("%v; cpu answered %d rows, gpu %d", err, ours.rows.Load(), other.rows.Load())
	}
	if err := run(New(other, ours).Steps("gpu"), 0, 10); err != nil || other.rows.Load() != 10 {
		t.Errorf("%v; gpu answered %d rows", err, other.rows.Load())
	}
	if err := run(New(ours).Steps(""), 0, 9); err == nil {
		t.Error("a part of a job is answered")
	}

	first, second := &fake{name: "gpu:0"}, &fake{name: "gpu:1"}
	first.at = failAt(0)
	s := New(first, second).Steps("")
	for range 2 {
		if err := run(s, 0, 10); err != nil {
			t.Error(err)
		}
	}
	if first.runs.Load() != 1 || second.rows.Load() != 20 {
		t.Errorf("the first was asked %d times, the second answered %d rows", first.runs.Load(), second.rows.Load())
	}
	if err := run(New(first).Steps(""), 0, 10); !errors.Is(err, errDevice) {
		t.Errorf("got %v, want %v", err, errDevice)
	}
}

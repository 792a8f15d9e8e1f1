package dispatch

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"clearance/batch"
)

// flipped is a back end that answers one row with the code of a solver that does not exist.
type flipped struct {
	*fake
	row int
}

func (f *flipped) Run(ctx context.Context, job *batch.Job, lo, hi int, out *batch.Results) error {
	err := f.fake.Run(ctx, job, lo, hi, out)
	if lo <= f.row && f.row < hi {
		out.Method()[f.row-lo] = uint8(batch.SolverCount)
	}
	return err
}

// A solver code out of range, of a flipped bit for one, is a failure of the back end: another answers the chunk, and
// without another the rows are undecided.
func TestSolverCodeOutOfRange(t *testing.T) {
	const n = 300
	lib, pairs := testPairs(t, n)
	for _, columns := range []batch.Columns{batch.AllColumns, batch.ColStatus} {
		job := &batch.Job{Library: lib, Input: pairs, Options: batch.Options{Columns: columns}}
		d := New(&flipped{&fake{name: "a"}, 130}, &fake{name: "b"})
		rep, err := d.Run(t.Context(), job, Options{ChunkRows: 64})
		if err != nil || rep.Done != n || len(rep.Failovers) != 1 {
			t.Fatalf("columns %v: report %+v, error %v", columns, rep, err)
		}
		if f := rep.Failovers[0]; f.Backend != "a" || f.Lo != 128 ||
			!strings.Contains(f.Err.Error(), fmt.Sprintf("solver %d", batch.SolverCount)) {
			t.Errorf("columns %v: %+v", columns, f)
		}
		if columns == batch.AllColumns {
			checkRows(t, job.Results, pairs, 0, n)
		}

		job = &batch.Job{Library: lib, Input: pairs, Options: batch.Options{Columns: columns}}
		rep, err = New(&flipped{&fake{name: "a"}, 130}).Run(t.Context(), job, Options{ChunkRows: 64})
		if err == nil || rep.Done != 128 || rep.Counts[batch.Undecided] != n-128 {
			t.Errorf("columns %v: alone: report %+v, error %v", columns, rep, err)
		}
	}
}

// The same of rows that one back end declines and another answers.
func TestSolverCodeOfDeclinedRows(t *testing.T) {
	const n = 64
	lib, pairs := testPairs(t, n)
	job := &batch.Job{Library: lib, Input: pairs, Options: batch.Options{Columns: batch.AllColumns}}
	d := New(partialFake{&fake{name: "a", skip: 7}}, &flipped{&fake{name: "b"}, 0})
	rep, err := d.Run(t.Context(), job, Options{})
	if err != nil || rep.Done != n-1 || rep.Counts[batch.Undecided] != 1 || len(rep.Failovers) != 1 ||
		rep.Failovers[0].Backend != "b" {
		t.Errorf("report %+v, error %v", rep, err)
	}
}

// partialFake is a fake that may decline rows.
type partialFake struct{ *fake }

func (partialFake) Partial() bool { return true }

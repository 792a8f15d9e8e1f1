package dispatch

import (
	"context"
	"testing"
	"time"

	"clearance/batch"
)

// reducing is a back end that omits every second row of a set.
type reducing struct {
	*keeper
	lie   int  // added to what the tally counts
	plain bool // rows are omitted without a reduction as well
}

func (r *reducing) inner() Backend { return r.keeper }

func (r *reducing) RunReduced(ctx context.Context, job *batch.Job, lo, hi int, out *batch.Results,
	tally *batch.Tally) (time.Duration, error) {
	if err := r.keeper.Run(ctx, job, lo, hi, out); err != nil {
		return 0, err
	}
	tally.Bytes += int64(8 * (hi - lo))
	if job.Reduction == nil && !r.plain {
		return 0, nil
	}
	for i := lo; i < hi; i++ {
		if i%2 == 0 || out.Marks[i-lo] != batch.Answered || out.Status()[i-lo] >= uint8(batch.Undecided) {
			continue
		}
		tally.Rows++
		tally.Counts[out.Status()[i-lo]]++
		tally.Solvers[batch.SolverGJK]++
		tally.Iterations += int64(out.Iterations()[i-lo])
		tally.Portions = append(tally.Portions, batch.Portion{Row: int32(i), Contacts: 1})
		out.Marks[i-lo] = batch.Omitted
	}
	tally.Rows += r.lie
	return 0, nil
}

// pairsInSets is the reduction of n rows in sets of two, each a group.
func pairsInSets(n int) *batch.Reduction {
	r := &batch.Reduction{}
	for i := 0; i <= n; i += 2 {
		r.Sets, r.Groups = append(r.Sets, int32(i)), append(r.Groups, int32(i/2))
	}
	return r
}

// TestReduction: omitted rows are counted like others, their tally comes in the order of rows, and rows that are
// declined beside them are answered.
func TestReduction(t *testing.T) {
	const n = 640
	o := batch.Options{Columns: batch.FileColumns}
	for name, run := range map[string]func(d *Dispatcher, job *batch.Job) (*Report, error){
		"run": func(d *Dispatcher, job *batch.Job) (*Report, error) {
			rep, err := d.Run(t.Context(), job, Options{Backend: "gpu", ChunkRows: 64})
			return &rep, err
		},
		"series": func(d *Dispatcher, job *batch.Job) (*Report, error) {
			s, err := d.Series(&o, Options{Backend: "gpu", ChunkRows: 192})
			if err != nil || !s.Reduces() {
				t.Fatal(s.Reduces(), err)
			}
			job.Results = batch.NewResults(n, &o)
			job.Results.Marks = make(batch.Marks, n)
			if rep, err := s.Run(t.Context(), job); err != nil { // whose tally does not stay
				return rep, err
			}
			return s.Run(t.Context(), job)
		},
	} {
		lib, pairs := testPairs(t, n)
		job := &batch.Job{Library: lib, Input: pairs, Options: o, Reduction: pairsInSets(n)}
		b := &reducing{keeper: newKeeper(third)}
		rep, err := run(New(b, device("cpu", batch.CPU, "")), job)
		if err != nil || rep.Rows != n || rep.Done != n || sum(rep.Counts) != n || rep.Iterations != 2*n ||
			rep.Declined() == 0 || rep.BytesDown != 8*n || rep.Counts[batch.Undecided] != 0 {
			t.Fatalf("%s: report %+v, error %v", name, rep, err)
		}
		tally, k := &job.Reduction.Tally, 0
		for i, s := range job.Results.Status() {
			omitted := i%2 == 1 && !third(i)
			if omitted != (job.Results.Marks[i] == batch.Omitted) || !omitted && s >= uint8(batch.Undecided) {
				t.Fatalf("%s: row %d has status %d", name, i, s)
			}
			if omitted && tally.Portions[k].Row != int32(i) {
				t.Fatalf("%s: portion %d is %+v, want that of row %d", name, k, tally.Portions[k], i)
			}
			if omitted {
				k++
			}
		}
		if tally.Rows != k || len(tally.Portions) != k {
			t.Errorf("%s: %d rows omitted, and %d counted", name, k, tally.Rows)
		}
	}
}

// TestReductionRefused: a back end whose tally is wrong has failed; where there is no reduction, an omitted row has no
// answer; and a reduction that does not fit the rows is an error.
func TestReductionRefused(t *testing.T) {
	const n = 300
	lib, pairs := testPairs(t, n)
	for _, lie := range []int{1, -1} {
		job := &batch.Job{Library: lib, Input: pairs, Options: allColumns, Reduction: pairsInSets(n)}
		job.Options.Columns &^= batch.ColBits
		b := &reducing{keeper: newKeeper(none), lie: lie}
		rep, err := New(b, &fake{name: "cpu"}).Run(t.Context(), job, Options{ChunkRows: 64})
		if err != nil || len(rep.Failovers) != 1 || rep.Done != n || job.Reduction.Tally.Rows != 0 {
			t.Errorf("report %+v, tally %+v, error %v", rep, job.Reduction.Tally, err)
		}
		checkRows(t, job.Results, pairs, 0, n)
	}
	job := &batch.Job{Library: lib, Input: pairs, Options: allColumns}
	b := &reducing{keeper: newKeeper(none), plain: true}
	rep, err := New(b, device("cpu", batch.CPU, "")).Run(t.Context(), job, Options{Backend: "gpu"})
	if err != nil || rep.Declined() != n/2 {
		t.Errorf("%d rows declined, error %v", rep.Declined(), err)
	}
	counted := 0
	for _, k := range rep.Counts {
		counted += k
	}
	if counted != n {
		t.Errorf("%d rows counted, want %d", counted, n)
	}
	checkRows(t, job.Results, pairs, 0, n)

	good := pairsInSets(n)
	for what, r := range map[string]*batch.Reduction{
		"nothing":               {},
		"sets that end early":   {Sets: []int32{0, n - 1}, Groups: []int32{0, 1}},
		"sets that begin late":  {Sets: []int32{1, n}, Groups: []int32{0, 1}},
		"sets out of order":     {Sets: []int32{0, 20, 10, n}, Groups: []int32{0, 3}},
		"groups that end early": {Sets: good.Sets, Groups: good.Groups[:100]},
	} {
		job := &batch.Job{Library: lib, Input: pairs, Options: allColumns, Reduction: r}
		job.Options.Columns &^= batch.ColBits
		if _, err := New(b).Run(t.Context(), job, Options{}); err == nil {
			t.Errorf("%s: no error", what)
		}
	}
	job = &batch.Job{Library: lib, Input: pairs, Options: allColumns, Reduction: good}
	job.Options.Columns |= batch.ColBits
	if _, err := New(b).Run(t.Context(), job, Options{}); err == nil {
		t.Error("no error for a column of bits")
	}
}

// TestHeldIsNotReduced: a batch in device memory is answered there, though its back end can reduce others.
func TestHeldIsNotReduced(t *testing.T) {
	lib, pairs := testPairs(t, 100)
	k := &reducing{keeper: newKeeper(none)}
	b, err := New(k).Hold(t.Context(), lib, pairs, allColumns, Options{Backend: "gpu"})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	r, _, err := b.Run(t.Context())
	if err != nil || k.runs.Load() != 0 || k.held[0].runs != 1 {
		t.Errorf("%d calls past what is held, %d runs of it, error %v", k.runs.Load(), k.held[0].runs, err)
	}
	checkRows(t, r, pairs, 0, 100)
}

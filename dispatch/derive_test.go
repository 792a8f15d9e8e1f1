package dispatch

import (
	"context"
	"errors"
	"testing"

	"clearance/batch"
)

// asking is a differentiator that asks for answers of pairs.
type asking struct {
	lib    *batch.Library
	pairs  *batch.Pairs
	o      batch.Options
	answer *batch.Results
}

func (*asking) Needs() batch.Columns { return batch.ColStatus }

func (a *asking) Differentiate(ctx context.Context, _ *batch.Job, _, _ int, _ *batch.Results,
	answers batch.Answers) error {
	a.answer = batch.NewResults(a.pairs.Len(), &a.o)
	return answers(ctx, &batch.Job{Library: a.lib, Input: a.pairs, Options: a.o, Results: a.answer})
}

func (a *asking) Complete(ctx context.Context, job *batch.Job, lo, number int, out *batch.Results,
	answers batch.Answers) error {
	return a.Differentiate(ctx, job, lo, number, out, answers)
}

func (a *asking) Multiply(ctx context.Context, job *batch.Job, number int, _ *batch.Product,
	answers batch.Answers) error {
	return a.Differentiate(ctx, job, number, number, nil, answers)
}

// declining is a back end that does not answer a row.
type declining struct{ *fake }

func (declining) Partial() bool { return true }

// TestAnswers: what a differentiator asks is answered by the back end of the call, its declined rows by others, and by
// others altogether if it does not support the options. The rows are not among those of the report.
func TestAnswers(t *testing.T) {
	lib, pairs := testPairs(t, 40)
	_, asked := testPairs(t, 3000)
	o := batch.Options{Precision: batch.Double}
	for _, c := range []struct {
		name        string
		refuse      error
		first, next int64 // rows that back ends answer
	}{{"named", nil, 40 + 2999, 1}, {"auto", nil, 40 + 2999, 1}, {"refused", errors.New("single precision alone"), 40,
		3000}} {
		first, next := &fake{name: "first", skip: 2000}, &fake{name: "next"}
		d := New(declining{first}, next)
		a := &asking{lib: lib, pairs: asked, o: o}
		d.SetDifferentiator(a)
		run := Options{Backend: "first", ChunkRows: 64}
		if c.name == "auto" {
			run.Backend = Auto
		}
		job := &batch.Job{Library: lib, Input: pairs, Options: batch.Options{Columns: batch.ColDDistance}}
		ctx := context.Background()
		first.at = func(i int) error { // the first call has begun
			first.refuse = c.refuse
			return nil
		}
		rep, err := d.Run(ctx, job, run)
		if err != nil {
			t.Fatal(err)
		}
		checkRows(t, a.answer, asked, 0, 3000)
		if first.rows.Load() != c.first || next.rows.Load() != c.next || rep.Rows != 40 || rep.Done != 40 {
			t.Errorf("%s: %d and %d rows, report of %d", c.name, first.rows.Load(), next.rows.Load(), rep.Rows)
		}
		a.answer = nil
		p := batch.Product{Kind: batch.ValueVJP, Operands: make([]float64, 40), Results: make([]float64, 12*40)}
		if _, err := d.Multiply(ctx, job, &p, run); err != nil && c.refuse == nil {
			t.Fatal(err)
		}
		if c.refuse == nil {
			checkRows(t, a.answer, asked, 0, 3000)
		}
		if err := d.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

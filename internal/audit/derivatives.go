package audit

import (
	"context"
	"fmt"

	"clearance/batch"
	"clearance/derive"
	"clearance/internal/score"
	"clearance/verify"
)

// Derivatives are what an audit of columns of derivatives found.
type Derivatives struct {
	Derived *verify.DerivativeReport `json:"derivatives"`
	Answers *verify.Report           `json:"answers,omitempty"` // of the columns of answers beside them
}

// DerivativeOptions configure an audit of derivatives.
type DerivativeOptions struct {
	Workers  int
	FirstRow int // number of row 0 of the job, which the noise is keyed by

	// Answers are those that were differentiated. Nil: the columns of answers of the job if it has the columns
	// [derive.Needs], else they are not known.
	Answers *batch.Results

	// Solve answers pairs: those whose answers are not known, and the displaced ones of estimates of order zero.
	Solve batch.Answers

	Differences func(row int) bool // rows that are compared with differences too; nil is all
	Seed        uint64             // of the differences
	Progress    func(rows int)
}

// AuditDerivatives judges columns of derivatives, and those of answers beside them, which [verify.Audit] does. Nothing
// is believed: a row passes if its derivatives are proved, see [verify.AuditDerivatives], and if they are those that
// package derive takes of the answer of the row, column by column with the smoothness. Where that answer is not known,
// the row may be that of an answer of the back end in either precision or of the reference; if it is none of these, and
// not refuted, it is open.
func AuditDerivatives(ctx context.Context, job *batch.Job, o DerivativeOptions) (*Derivatives, error) {
	if err := job.Check(); err != nil {
		return nil, err
	}
	r, err := newRecomputer(ctx, job, &o)
	if err != nil {
		return nil, err
	}
	found := new(Derivatives)
	found.Derived, err = verify.AuditDerivatives(ctx, job, verify.DerivativeOptions{Workers: o.Workers,
		FirstRow: o.FirstRow, Differences: o.Differences, AnswerPrecision: r.precision(), Seed: o.Seed,
		Recomputed: func(i int) verify.Recomputation { return r.verdicts[i] }, Progress: o.Progress})
	if err != nil {
		return nil, err
	}
	found.Answers, err = r.auditAnswers(ctx)
	return found, err
}

// Merge adds the counts of another report, of later rows.
func (d *Derivatives) Merge(o *Derivatives) {
	d.Derived.Merge(o.Derived)
	switch {
	case d.Answers == nil:
		d.Answers = o.Answers
	case o.Answers != nil:
		d.Answers.Merge(o.Answers)
	}
}

// Refuted is the number of rows that are refuted, as derivatives or as answers.
func (d *Derivatives) Refuted() int {
	if d.Answers == nil {
		return d.Derived.Wrong
	}
	return max(d.Derived.Wrong, d.Answers.Wrong())
}

// auditAnswers audits the columns of answers, nil if there are none. A distance without the columns that prove it is
// proved by those of an answer that was taken again.
func (r *recomputer) auditAnswers(ctx context.Context) (*verify.Report, error) {
	answers := r.own
	if answers == nil || answers == r.job.Results {
		answers = r.job.Results
		claims := answers.Columns &^ batch.DerivedColumns
		if claims&score.AuditColumns == 0 {
			return nil, nil
		}
		with := batch.EmptyResults(answers.N, 0, answers.Precision)
		with.Adopt(answers, claims)
		if claims&batch.ColDistance != 0 && score.ProofColumns&^claims != 0 && len(r.candidates) > 0 {
			with.Drop(^score.AuditColumns)
			with.Adopt(r.candidates[0].answers, score.ProofColumns&^with.Columns)
		}
		answers = with
	}
	job := &batch.Job{Library: r.job.Library, Input: r.job.Input, Options: r.job.Options, Results: answers}
	job.Options.Columns, job.Options.Precision = answers.Columns, answers.Precision
	report, err := verify.Audit(ctx, job, verify.Options{Workers: r.o.Workers, FirstRow: r.o.FirstRow, Seed: r.o.Seed})
	if err != nil {
		return nil, fmt.Errorf("answers: %w", err)
	}
	return report, nil
}

// wanted are the columns that are taken again: the value alone is that of the answer as it is, else all.
func wanted(job *batch.Job) batch.Columns {
	columns := job.Results.Columns & batch.DerivedColumns
	if columns == batch.ColDDistance && job.Options.Derivative.Mode != derive.Zeroth {
		return columns
	}
	return batch.DerivedColumns
}

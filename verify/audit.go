package verify

import (
	"context"
	"fmt"
	"math/bits"
	"runtime"

	"clearance/batch"
)

// Options configure an audit. The zero value is the documented default.
type Options struct {
	// Workers is the number of goroutines; 0 is GOMAXPROCS.
	Workers int

	// FirstRow is added to the row numbers of the report: the index of the first row
	// of this job, if a batch is audited in chunks.
	FirstRow int

	// Numbers, if not nil, are the numbers of the rows of this job in their place, as where a batch is audited in part.
	Numbers []int

	// Worst is the number of worst rows kept for each check; 0 is 8.
	Worst int

	// Directions is the number of random directions tried on every row that
	// claims contact, besides the line of centers, the axes of both bodies and
	// their cross products; 0 is 16, a negative number none.
	Directions int

	// DescentEvery selects one of DescentEvery rows that claim contact for a descent of
	// the support function from the best direction found; 0 is 8, 1 is every row, a
	// negative number none.
	DescentEvery int

	// Seed chooses the random directions and the rows of the descent.
	Seed uint64

	// Progress, if not nil, is called with the number of rows audited since the
	// last call. Calls come from several goroutines, one at a time.
	Progress func(rows int)
}

func (o Options) withDefaults() (Options, error) {
	if o.Workers < 0 || o.FirstRow < 0 || o.Worst < 0 {
		return o, fmt.Errorf("verify: workers %d, first row %d and worst rows %d must not be negative", o.Workers,
			o.FirstRow, o.Worst)
	}
	if o.Workers == 0 {
		o.Workers = runtime.GOMAXPROCS(0)
	}
	if o.Worst == 0 {
		o.Worst = 8
	}
	if o.Directions == 0 {
		o.Directions = 16
	}
	o.Directions = min(o.Directions, tableSize)
	if o.DescentEvery == 0 {
		o.DescentEvery = 8
	}
	return o, nil
}

// number is that of row i of the job in the report.
func (o *Options) number(i int) int {
	if o.Numbers != nil {
		return o.Numbers[i]
	}
	return o.FirstRow + i
}

// blockOf is the number of rows that a worker takes at a time: at most some milliseconds of work,
// so that cancellation is prompt, at least enough that the shared counter is rarely contended,
// and several blocks for each worker in between.
func blockOf(n, workers int) int { return min(max(n/(4*workers), 64), 1024) }

// Audit checks every answer of job.Results against job.Input. It modifies nothing.
//
// The error is not nil if the audit could not run: columns of wrong lengths, or a cancelled
// context. Wrong answers are not an error; they are in the report.
func Audit(ctx context.Context, job *batch.Job, o Options) (*Report, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	if err := checkJob(job); err != nil {
		return nil, err
	}
	if o.Numbers != nil && len(o.Numbers) != job.Input.Len() {
		return nil, fmt.Errorf("verify: %d numbers of %d rows", len(o.Numbers), job.Input.Len())
	}
	report := newReport(o.Worst)
	report.Scale = job.Options.Query.Info().Tolerance.String()
	report.checkColumns(job)

	n := job.Input.Len()
	dirs := newCompass(o.Seed)
	err = inBlocks(ctx, n, blockOf(n, o.Workers), o.Workers, o.Progress, func() (check func(int), handIn func()) {
		a := newAuditor(job, &o, dirs)
		return a.row, func() { report.Merge(a.report) }
	})
	if err != nil {
		return nil, fmt.Errorf("verify: audit stopped: %w", err)
	}
	return report, nil
}

// checkJob returns an error for an invalid job, or for a query that this package has no audit for.
func checkJob(job *batch.Job) error {
	if err := job.Check(); err != nil {
		return fmt.Errorf("verify: %w", err)
	}
	if q := job.Options.Query; rulesOf[q] == nil {
		return fmt.Errorf("verify: there is no audit of the query %v: %w", q, batch.ErrNotAvailable)
	}
	return nil
}

// checkColumns checks for columns that were not requested. Lengths have been checked.
func (r *Report) checkColumns(job *batch.Job) {
	extra := job.Results.Columns &^ job.Options.EffectiveColumns()
	for c := extra; c != 0; c &= c - 1 {
		r.add(checkColumns, outcome{row: -1, found: float64(bits.TrailingZeros16(uint16(c))), residual: 1})
	}
	if extra == 0 {
		r.add(checkColumns, outcome{row: -1})
	}
}

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"clearance/batch"
	"clearance/dispatch"
	"clearance/internal/console"
	"clearance/internal/score"
	"clearance/verify"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// listedRowErrors is the number of invalid rows that are listed.
const listedRowErrors = 20

// answerFlags are the flags of the commands that answer the rows of a file: score, rollout and sweep.
type answerFlags struct {
	inputFlags
	out, json string
	rows      rowsFlag
}

// add registers the flags but those of the inputs. rows says which rows there are.
func (f *answerFlags) add(fs *pflag.FlagSet, rows string) {
	fs.StringVar(&f.out, "out", "", "file of results to write, .parquet or .npz, or a folder, as results/, for "+
		"Parquet files of at most 2^21 rows each")
	fs.StringVar(&f.json, "json", "", "write a report as JSON to this file; - is standard output, in place of the text")
	fs.Var(&f.rows, "rows", "answer rows lo to hi of the file alone, hi not included"+rows)
}

// check returns an error if an output is missing or cannot be written.
func (f *answerFlags) check() error {
	if err := needFlags("out", f.out); err != nil {
		return err
	}
	return checkOutputs(f.files(f.json), []namedFile{{"out", f.out}, {"json", f.json}})
}

// runOptions are the options of a call that advances the bar.
func (f *answerFlags) runOptions(backend string, bar *console.Progress) dispatch.Options {
	last := 0
	return dispatch.Options{Backend: backend, MaxRowErrors: listedRowErrors,
		Progress: func(done, _ int) { bar.Add(done - last); last = done }}
}

// printer is a report, as text; as JSON it is its fields.
type printer interface {
	print(w io.Writer, out string) error
}

// write prints a report, as text or as JSON.
func (f *answerFlags) write(e *env, r printer) error {
	if f.json != "-" {
		if err := r.print(e.Stdout, f.out); err != nil {
			return err
		}
	}
	if f.json == "" {
		return nil
	}
	return console.WriteJSON(e.Stdout, f.json, r)
}

const adviceUndecided = "try --precision double or a larger --tolerance"

// unanswered returns the error of a run of which some rows have no answer, nil if there are none. The column says so,
// and the advice is for undecided rows.
func (f *answerFlags) unanswered(invalid, undecided, rows int64, column, advice string) error {
	switch {
	case invalid > 0:
		return console.Exitf(exitBadInput, "%s of %s: bad input in %s; their %s is invalid, all others are answered",
			plural(invalid, "row"), thousands(rows), f.path(), column)
	case undecided > 0:
		return console.Wrong("%s of %s undecided; %s", plural(undecided, "row"), thousands(rows), advice)
	}
	return nil
}

// scoreFlags are the flags of `score`.
type scoreFlags struct {
	answerFlags
	solveFlags
	audit bool
}

func newScore(e *env) *cobra.Command {
	var f scoreFlags
	c := &cobra.Command{
		Use:   "score --shapes shapes.json --pairs pairs.parquet|.npz --out results.parquet|.npz",
		Short: "answer the pairs of a file",
		Long: `Answers every pair of a file and writes the answers in input order. The file is
streamed, so it may be larger than memory. The results file appears under its name
only once it is complete and, with --audit, checked. Worlds of bodies have the commands
'batchbench rollout' and, where the bodies move, 'batchbench sweep'.

With --rows a part of the file is answered, so that several machines can share it. The
answers have the bits of the whole by the same back end.

` + failedRows,
		Args: console.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return runScore(c.Context(), e, &f) },
	}
	pointElsewhere(c, "batchbench ")
	fs := c.Flags()
	f.addPairs(fs)
	f.answerFlags.add(fs, "")
	f.addColumns(fs)
	addDerivative(fs, &f.options.Derivative)
	fs.BoolVar(&f.audit, "audit", false, "audit every answer before the file gets its name, as 'verify' does")
	f.solveFlags.add(fs)
	return c
}

// failedRows says in help texts what happens to rows without an answer.
const failedRows = `An invalid row gets status invalid and is listed; all other rows are answered. The exit
code is then 2. Without invalid rows it is 1 if a row is undecided or, with --audit, if
an answer was refuted.`

// scoreReport is the report of `score --json`.
type scoreReport struct {
	Program        string        `json:"program"`
	Version        string        `json:"version"`
	Date           string        `json:"date"`
	Platform       string        `json:"platform"`
	Backend        string        `json:"backend"`
	Device         string        `json:"device"`
	Why            string        `json:"why"` // reason for that back end
	Query          string        `json:"query"`
	Method         string        `json:"method"`
	Precision      string        `json:"precision"`
	Tolerance      verify.Number `json:"tolerance"` // relative to the size of a pair; 0 is the default of the precision
	Columns        []string      `json:"columns"`
	Pairs          int           `json:"pairs"`
	Clock          string        `json:"clock"`
	Seconds        verify.Number `json:"seconds"`
	PairsPerSecond verify.Number `json:"pairs_per_second"`
	MeanIterations verify.Number `json:"mean_iterations"`
	WorstGap       verify.Number `json:"worst_gap_over_size"`
	WorstGapRow    int           `json:"worst_gap_row"` // -1 if there is none
	Counts         counts        `json:"counts"`
	// rows by the solver that ended them; absent for statuses alone
	Solvers   solverRows    `json:"solvers,omitempty"`
	Declined  int           `json:"declined"`             // rows that the back end declined
	RowErrors []string      `json:"row_errors,omitempty"` // the first of them
	Failovers []string      `json:"failovers,omitempty"`
	Verify    *verifyReport `json:"verify,omitempty"` // with --audit
}

// check returns an error for flags that are missing or do not go together.
func (f *scoreFlags) check() error {
	if err := f.checkPairs("batchbench "); err != nil {
		return err
	}
	if err := f.solveFlags.check(); err != nil {
		return err
	}
	if err := checkAudit(f.audit, f.options.Columns); err != nil {
		return err
	}
	if f.audit && f.rows.given {
		return errors.New("--audit takes all rows of a file, not --rows")
	}
	return f.answerFlags.check()
}

// checkAudit returns an error if answers of these columns are to be audited and cannot be.
func checkAudit(audit bool, columns batch.Columns) error {
	if audit && columns&score.AuditColumns == 0 {
		return fmt.Errorf("--audit: the columns %s are not enough to audit, want status or distance among them",
			strings.Join(columnList(columns), ", "))
	}
	return nil
}

func runScore(ctx context.Context, e *env, f *scoreFlags) error {
	if err := f.check(); err != nil {
		return err
	}
	h, err := f.open()
	if err != nil {
		return err
	}
	defer h.Close()
	var audit *verifyReport
	var check score.Check
	if f.audit { // before the file gets its name: after an interrupt there is none
		check = func(_ *dispatch.Report, complete string) (err error) {
			audit, err = f.auditFile(ctx, e, complete)
			return err
		}
	}
	rep, err := scoreFile(ctx, e, f, h.Dispatcher(), check)
	if err != nil {
		return err
	}

	for _, failover := range rep.Failovers {
		e.Warn("%s back end failed on rows %d to %d: %v", failover.Backend, failover.Lo, failover.Hi-1, failover.Err)
	}
	for _, row := range rep.RowErrors {
		e.Warn("%s: %v", f.path(), row)
	}
	report := newScoreReport(f, &rep)
	var verdict error
	if report.Verify = audit; audit != nil {
		verdict = audit.verdict()
	}
	if err := f.write(e, report); err != nil {
		return err
	}
	if report.Verify == nil || report.Verify.wrong() == 0 {
		c := report.Counts
		if err := f.unanswered(c.Invalid, c.Undecided, int64(report.Pairs), "status", adviceUndecided); err != nil {
			return err
		}
	}
	return verdict
}

// auditFile audits the complete file of results, which has a temporary path.
func (f *scoreFlags) auditFile(ctx context.Context, e *env, path string) (*verifyReport, error) {
	v := verifyFlags{solveFlags: f.solveFlags, auditFlags: auditFlags{inputFlags: f.inputFlags, results: path,
		sample: defaultSample, seed: 1}}
	v.columns = nil
	report, err := verifyFile(ctx, e, &v)
	if err == nil {
		report.Results = f.out
	}
	return report, err
}

// scoreFile answers the pairs of the file into the results file. After an error there is no results file.
func scoreFile(ctx context.Context, e *env, f *scoreFlags, d *dispatch.Dispatcher,
	check score.Check) (rep dispatch.Report, err error) {
	lib, err := f.library(ctx, e)
	if err != nil {
		return rep, err
	}
	pairs, err := f.openPairs()
	if err != nil {
		return rep, err
	}
	defer pairs.Close()
	rows, err := f.rows.of(pairs.Len())
	if err != nil {
		return rep, err
	}
	bar := e.Progress("score", int64(rows.Hi-rows.Lo))
	defer bar.Done()
	return score.Run(ctx, d, lib, pairs, rows, f.out, f.options, f.runOptions(f.backend, bar), check)
}

// Keys of the metadata that describes the query of a results file.
const (
	metaQuery     = score.MetaQuery
	metaMethod    = score.MetaMethod
	metaTolerance = score.MetaTolerance
	metaCutOff    = score.MetaCutOff
)

func newScoreReport(f *scoreFlags, rep *dispatch.Report) *scoreReport {
	o := &f.options
	r := &scoreReport{
		Program: "batchbench score", Version: console.Version(), Date: console.Now(), Platform: console.Platform(),
		Backend: rep.Backend, Device: devicesText(rep.Devices), Why: rep.Why,
		Query: o.Query.String(), Method: o.Method.String(), Precision: o.Precision.String(),
		Tolerance: verify.Number(o.Tolerance), Columns: columnList(o.Columns),
		Pairs: rep.Rows, Clock: "end to end, reading and writing the files included",
		Seconds: verify.Number(rep.Wall.Seconds()), PairsPerSecond: verify.Number(rep.Rate()),
		MeanIterations: verify.Number(mean(rep.Iterations, rep.Rows-rep.Counts[batch.Invalid])),
		WorstGap:       verify.Number(rep.WorstGap), WorstGapRow: rep.WorstGapRow,
		Counts: countsOf(rep), Solvers: solversOf(rep), Declined: rep.Declined(),
	}
	for _, row := range rep.RowErrors {
		r.RowErrors = append(r.RowErrors, row.Error())
	}
	for _, failover := range rep.Failovers {
		r.Failovers = append(r.Failovers, failover.Err.Error())
	}
	return r
}

func (r *scoreReport) print(w io.Writer, out string) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s\n", r.Backend, r.Device)
	fmt.Fprintf(&b, "query %s, method %s, precision %s%s\n", r.Query, r.Method, r.Precision,
		toleranceText(r.Tolerance, r.Query))
	fmt.Fprintf(&b, "%s in %.3gs, %s pairs/s (%s)\n", plural(r.Pairs, "pair"), float64(r.Seconds),
		perSecond(float64(r.PairsPerSecond)), r.Clock)
	fmt.Fprintf(&b, "%s separated, %s touching, %s penetrating, %s undecided, %s invalid\n",
		thousands(r.Counts.Separated),
		thousands(r.Counts.Touching), thousands(r.Counts.Penetrating), thousands(r.Counts.Undecided),
		thousands(r.Counts.Invalid))
	if len(r.Solvers) > 0 {
		fmt.Fprintf(&b, "by the solver that ended them: %v\n", r.Solvers)
	}
	if r.Declined > 0 {
		fmt.Fprintf(&b, "%s declined by %s and answered by another back end\n", plural(r.Declined, "row"), r.Backend)
	}
	if r.WorstGapRow >= 0 {
		fmt.Fprintf(&b, "worst gap %.2g of the %v, in row %d; %.1f iterations per pair\n", float64(r.WorstGap),
			scaleOf(r.Query), r.WorstGapRow, float64(r.MeanIterations))
	}
	fmt.Fprintf(&b, "results: %s\n", out)
	if _, err := io.WriteString(w, b.String()); err != nil {
		return err
	}
	if r.Verify != nil {
		return r.Verify.print(w)
	}
	return nil
}

// countsOf returns the number of rows of each status.
func countsOf(rep *dispatch.Report) counts {
	c := &rep.Counts
	return counts{
		Separated: int64(c[batch.Separated]), Touching: int64(c[batch.Touching]),
		Penetrating: int64(c[batch.Penetrating]),
		Undecided:   int64(c[batch.Undecided]), Invalid: int64(c[batch.Invalid]),
	}
}

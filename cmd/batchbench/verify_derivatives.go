package main

import (
	"context"
	"fmt"
	"io"
	"strconv"
	"strings"

	"clearance/batch"
	"clearance/internal/score"
	"clearance/verify"

	"github.com/spf13/cobra"
)

// verifyDerivativesFlags are the flags of `verify derivatives`.
type verifyDerivativesFlags struct {
	auditFlags
	solveFlags
	anyPrecision bool
}

func newVerifyDerivatives(e *env) *cobra.Command {
	var f verifyDerivativesFlags
	c := &cobra.Command{
		Use:   "derivatives --shapes shapes.json --pairs pairs.parquet|.npz --results results.parquet|.npz",
		Short: "audit columns of derivatives",
		Long: `Judges the columns d_distance, d_normal, d_witness_a, d_witness_b, curvature and smoothness
of a file of 'score --columns' or of 'derive'. Every row is judged by what is true of any
derivative: a common motion of both shapes moves the answer along, rows without an answer
have zeros. In a sample of the rows the reference solves the pair again at displaced poses:
d_distance must be the central difference of certified distances, or, where the answer is
not unique, lie between the one-sided ones; its derivatives by velocities are held to a
normal with a proved bound; those of normal and witnesses are compared with differences,
an estimate. The curvature is not audited.`,
		Args: noArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			f.anyPrecision = !c.Flags().Changed("precision")
			if err := f.checkPairs("batchbench verify "); err != nil {
				return err
			}
			if err := f.solveFlags.check(); err != nil {
				return err
			}
			if err := f.auditFlags.check(); err != nil {
				return err
			}
			report, err := verifyDerivatives(c.Context(), e, &f)
			if err != nil {
				return err
			}
			return f.write(e, report)
		},
	}
	fs := c.Flags()
	f.addPairs(fs)
	f.auditFlags.add(fs, defaultSample, "rows")
	f.addAudited(fs)
	fs.Var(choice[batch.DerivativeMode]{&f.options.Derivative.Mode, batch.ParseDerivativeMode}, "derivative",
		"what the derivatives have to be: exact, gumbel, gaussian or zeroth")
	return c
}

// derivativesReport is the report of `verify derivatives`.
type derivativesReport struct {
	Program    string                   `json:"program"`
	Version    string                   `json:"version"`
	Date       string                   `json:"date"`
	Results    string                   `json:"results"`
	Query      string                   `json:"query"`
	Derivative string                   `json:"derivative"`
	Precision  string                   `json:"precision"`
	Columns    []string                 `json:"columns"`
	Audit      *verify.DerivativeReport `json:"audit"`
	Good       bool                     `json:"good"`
}

func (r *derivativesReport) verdict() error {
	switch a := r.Audit; {
	case a.Wrong > 0:
		return exitf(exitWrong, "%s of %s refuted", plural(int64(a.Wrong), "row"), thousands(int64(a.Rows)))
	case a.Rows > a.None && a.Properties == 0:
		return exitf(exitWrong, "no derivative was audited: the file has the columns %s", strings.Join(r.Columns, ", "))
	}
	return nil
}

func (r *derivativesReport) print(w io.Writer) error {
	a := r.Audit
	n := func(v int) string { return thousands(int64(v)) }
	text := fmt.Sprintf("%s derivatives of the query %s in %s, columns %s\n", r.Derivative, r.Query, r.Results,
		strings.Join(r.Columns, ", "))
	text += fmt.Sprintf("%s rows, %s without derivatives; %s judged by properties\n", n(a.Rows), n(a.None),
		n(a.Properties))
	text += fmt.Sprintf("by differences: d_distance of %s rows, between one-sided ones of %s, other columns of %s "+
		"(an estimate); %s rows do not settle\n", n(a.Value), n(a.OneSided), n(a.Full), n(a.Unresolved))
	text += fmt.Sprintf("derivatives by velocities certified in %s rows, to %.1e\n", n(a.Certified), float64(a.Bound))
	if a.Wrong > 0 {
		text += fmt.Sprintf("refuted: %s rows\n", n(a.Wrong))
		for i := range a.Faults {
			text += "  " + a.Faults[i].String() + "\n"
		}
	}
	_, err := io.WriteString(w, text)
	return err
}

// verifyDerivatives audits a file against the question of the flags, which have been checked.
func verifyDerivatives(ctx context.Context, e *env, f *verifyDerivativesFlags) (*derivativesReport, error) {
	lib, pairs, results, err := f.openAnswered(f.results)
	if err != nil {
		return nil, err
	}
	defer pairs.Close()
	defer results.Close()
	meta := results.Metadata()
	for _, claim := range []struct{ key, want, flag string }{
		{metaQuery, f.options.Query.String(), "--query"},
		{score.MetaDerivative, f.options.Derivative.Mode.String(), "--derivative"},
	} {
		if got := meta[claim.key]; got != "" && got != claim.want {
			return nil, fmt.Errorf("%s claims the %s %s, the audit asks for %s; see %s", f.results, claim.key,
				strconv.Quote(printable(got, 60)), claim.want, claim.flag)
		}
	}
	columns := results.Columns() & batch.DerivedColumns
	switch {
	case columns == 0:
		return nil, fmt.Errorf("%s has no columns of derivatives, want some of %s", f.results,
			strings.Join(columnList(batch.DerivedColumns), ", "))
	case !f.anyPrecision && f.options.Precision != results.Precision():
		return nil, fmt.Errorf("%s is of precision %v, the audit asks for %v", f.results, results.Precision(),
			f.options.Precision)
	}
	f.options.Columns, f.options.Precision = results.Columns(), results.Precision()
	if err := f.options.Check(); err != nil {
		return nil, plainError(err)
	}
	n := results.Len()
	bar := e.progress("verify", n)
	defer bar.done()
	every := int64(1)
	if !f.all && f.sample > 0 {
		every = max(1, n/f.sample)
	}
	report := new(verify.DerivativeReport)
	err = score.Chunks(lib, pairs, results, f.options, chunkRows, func(job *batch.Job, first int64) error {
		found, err := verify.AuditDerivatives(ctx, job, verify.DerivativeOptions{Workers: f.workers,
			FirstRow: int(first), Seed: f.seed, Progress: bar.add, Differences: func(row int) bool {
				return (f.all || f.sample > 0) && (int64(row)+int64(f.seed%uint64(every)))%every == 0
			}})
		if err == nil {
			report.Merge(found)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	r := &derivativesReport{Program: "batchbench verify derivatives", Version: versionString(), Date: now(),
		Results: f.results, Query: f.options.Query.String(), Derivative: f.options.Derivative.Mode.String(),
		Precision: f.options.Precision.String(), Columns: columnList(columns), Audit: report}
	r.Good = r.verdict() == nil
	return r, nil
}

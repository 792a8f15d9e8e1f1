package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"clearance"
	"clearance/batch"
	"clearance/dataset"
	"clearance/derive"
	"clearance/internal/audit"
	"clearance/internal/console"
	"clearance/internal/score"
	"clearance/verify"

	"github.com/spf13/cobra"
)

// verifyDerivativesFlags are the flags of `verify derivatives`.
type verifyDerivativesFlags struct {
	auditFlags
	solveFlags
	answers      string
	anyPrecision bool
	given        func(flag string) bool
}

func newVerifyDerivatives(e *env) *cobra.Command {
	var f verifyDerivativesFlags
	c := &cobra.Command{
		Use:   "derivatives --shapes shapes.json --pairs pairs.parquet|.npz --results results.parquet|.npz",
		Short: "audit columns of derivatives",
		Long: `Judges the columns d_distance, d_normal, d_witness_a, d_witness_b, curvature and smoothness
of a file of 'score --columns' or of 'derive', and columns of answers beside them. No column is
believed. Every row is judged by what its columns say of one another, of the shapes and of the
poses, and its derivatives are taken again, in every mode: those of the answers in the file or
in --answers, which were differentiated, else of the CPU back end's and of the reference's. In a
sample of the rows the reference solves the pair again at displaced poses, which bounds the
derivative of the distance of separated shapes from both sides.

A row that is neither proved right nor refuted, as one that claims to be near singular where no
answer at hand is, counts as not audited. It is said, and is not exit code 0; with --answers
there are none but where rounding decides.

The file states amount of noise, samples, rings and seed; flags that differ are refused.`,
		Args: console.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			f.anyPrecision = !c.Flags().Changed("precision")
			f.given = c.Flags().Changed
			if err := f.checkPairs("batchbench verify "); err != nil {
				return err
			}
			if err := f.solveFlags.check(); err != nil {
				return err
			}
			if err := f.check(); err != nil {
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
	fs.StringVar(&f.answers, "answers", "", "file of the results that were differentiated, .parquet or .npz; default: "+
		"those of the file itself, else they are solved again")
	o := &f.options.Derivative
	fs.Var(choice[batch.DerivativeMode]{&o.Mode, batch.ParseDerivativeMode}, "derivative",
		"what the derivatives have to be: exact, gumbel, gaussian or zeroth")
	fs.Float64Var(&o.Epsilon, "epsilon", 0, "noise; default: what the file states, else that of the mode")
	fs.IntVar(&o.Samples, "samples", 0, "samples; default: what the file states, else those of the mode")
	fs.IntVar(&o.Rings, "rings", 0, "neighbours of the supporting feature; default: what the file states, else all")
	fs.Uint64Var(&o.Seed, "noise-seed", 1, "seed of the noise; default: what the file states, else 1")
	return c
}

// check returns an error for flags that are missing or do not go together.
func (f *verifyDerivativesFlags) check() error {
	if err := f.auditFlags.check(); err != nil || f.answers == "" {
		return err
	}
	return checkOutputs([]namedFile{{"answers", f.answers}}, []namedFile{{"json", f.json}})
}

// derivativesReport is the report of `verify derivatives`.
type derivativesReport struct {
	Program    string             `json:"program"`
	Version    string             `json:"version"`
	Date       string             `json:"date"`
	Results    string             `json:"results"`
	Query      string             `json:"query"`
	Derivative string             `json:"derivative"`
	Precision  string             `json:"precision"`
	Columns    []string           `json:"columns"`
	Known      bool               `json:"answers_known"` // of the file itself or of --answers
	Audit      *audit.Derivatives `json:"audit"`
	Good       bool               `json:"good"`
}

func (r *derivativesReport) verdict() error {
	d, a := r.Audit.Derived, r.Audit.Answers
	switch {
	case r.Audit.Refuted() > 0:
		return console.Wrong("%s of %s refuted", plural(r.Audit.Refuted(), "row"), thousands(d.Rows))
	case d.Open > 0:
		advice := "see --answers"
		if r.Known {
			advice = "rounding decides of them"
		}
		return console.Wrong("%s of %s not audited: they belong to no answer at hand; %s", plural(d.Open, "row"),
			thousands(d.Rows), advice)
	case a != nil && a.Undecided() > 0:
		return console.Wrong("%s not audited: their answers are undecided", plural(a.Undecided(), "row"))
	}
	return nil
}

func (r *derivativesReport) print(w io.Writer) error {
	d, a := r.Audit.Derived, r.Audit.Answers
	n := thousands[int]
	text := fmt.Sprintf("%s derivatives of the query %s in %s, columns %s\n", r.Derivative, r.Query, r.Results,
		strings.Join(r.Columns, ", "))
	text += fmt.Sprintf("%s rows, %s without derivatives; %s judged by properties, %s of them by a normal and points "+
		"that prove the value\n", n(d.Rows), n(d.None), n(d.Properties), n(d.Attained))
	of := "of answers that were solved again"
	if r.Known {
		of = "of the answers"
	}
	text += fmt.Sprintf("taken again %s: %s rows agree, %s not audited\n", of, n(d.Recomputed), n(d.Open))
	if d.Inexact > 0 {
		text += fmt.Sprintf("in %s rows Hessians are so large that rounding may change derivatives by 1e-3 or more\n",
			n(d.Inexact))
	}
	text += fmt.Sprintf("d_distance between proved bounds in %s rows, derivatives by velocities certified in %s, to "+
		"%.1e\n", n(d.OneSided), n(d.Certified), float64(d.Bound))
	text += fmt.Sprintf("beside differences of answers, an estimate: d_distance of %s rows agrees, "+
		"other columns of %s; "+
		"%s rows differ, %s do not settle\n", n(d.Value), n(d.Full), n(d.Disputed), n(d.Unresolved))
	if a != nil {
		text += fmt.Sprintf("answers beside them: %s of %s refuted, %s undecided\n", plural(a.Wrong(), "row"),
			n(a.Rows),
			n(a.Undecided()))
		c := checker{audit: *a}
		for _, fault := range faults(&c, maxListed) {
			text += "  " + fault + "\n"
		}
	}
	for _, list := range []struct {
		what  string
		count int
		rows  []verify.DerivativeFault
	}{{"refuted", d.Wrong, d.Faults}, {"not audited", d.Open, d.OpenRows}} {
		if list.count == 0 {
			continue
		}
		text += fmt.Sprintf("%s: %s\n", list.what, plural(list.count, "row"))
		for i := range list.rows {
			text += "  " + list.rows[i].String() + "\n"
		}
	}
	_, err := io.WriteString(w, text)
	return err
}

// maxListed is the number of faults of answers that the report lists.
const maxListed = 8

// stated completes the options of the noise by what the file states of itself.
func (f *verifyDerivativesFlags) stated(meta map[string]string) error {
	o := &f.options.Derivative
	var err error
	for _, x := range []struct {
		key, flag string
		get       func() string
		parse     func(s string) error
	}{
		{"epsilon", "epsilon", func() string { return strconv.FormatFloat(o.Epsilon, 'g', -1, 64) },
			func(s string) error { o.Epsilon, err = strconv.ParseFloat(s, 64); return err }},
		{"samples", "samples", func() string { return strconv.Itoa(o.Samples) },
			func(s string) error { o.Samples, err = strconv.Atoi(s); return err }},
		{"rings", "rings", func() string { return strconv.Itoa(o.Rings) },
			func(s string) error { o.Rings, err = strconv.Atoi(s); return err }},
		{"seed", "noise-seed", func() string { return strconv.FormatUint(o.Seed, 10) },
			func(s string) error { o.Seed, err = strconv.ParseUint(s, 10, 64); return err }},
	} {
		text, ok := meta[x.key]
		if !ok || o.Mode == batch.ExactDerivative {
			continue
		}
		want := x.get()
		if x.parse(text) != nil {
			return fmt.Errorf("%s: metadata: %s %s is no number", f.results, x.key,
				strconv.Quote(console.Printable(text, 60)))
		}
		if f.given(x.flag) && x.get() != want {
			return fmt.Errorf("%s states the %s %s, the audit asks for %s; see --%s", f.results, x.key, text, want,
				x.flag)
		}
	}
	if err := o.Check(); err != nil {
		return errors.New(strings.TrimPrefix(err.Error(), "derivative: "))
	}
	return nil
}

// question completes the options by the columns of the file, and refuses a file of another question.
func (f *verifyDerivativesFlags) question(results *dataset.ResultReader) (columns batch.Columns, err error) {
	meta := results.Metadata()
	for _, claim := range []struct{ key, want, flag string }{
		{metaQuery, f.options.Query.String(), "--query"},
		{score.MetaDerivative, f.options.Derivative.Mode.String(), "--derivative"},
	} {
		if got := meta[claim.key]; got != "" && got != claim.want {
			return 0, fmt.Errorf("%s claims the %s %s, the audit asks for %s; see %s", f.results, claim.key,
				strconv.Quote(console.Printable(got, 60)), claim.want, claim.flag)
		}
	}
	columns = results.Columns() & batch.DerivedColumns
	switch {
	case columns == 0:
		return 0, fmt.Errorf("%s has no columns of derivatives, want some of %s", f.results,
			strings.Join(columnList(batch.DerivedColumns), ", "))
	case !f.anyPrecision && f.options.Precision != results.Precision():
		return 0, fmt.Errorf("%s is of precision %v, the audit asks for %v", f.results, results.Precision(),
			f.options.Precision)
	}
	if err := f.stated(meta); err != nil {
		return 0, err
	}
	f.options.Columns, f.options.Precision = results.Columns(), results.Precision()
	return columns, plainError(f.options.Check())
}

// openAnswers opens the file of the answers that were differentiated, nil if it was not given.
func (f *verifyDerivativesFlags) openAnswers(n int64) (*dataset.ResultReader, error) {
	if f.answers == "" {
		return nil, nil
	}
	r, err := dataset.OpenResults(f.answers)
	if err != nil {
		return nil, err
	}
	missing := derive.Needs &^ r.Columns()
	switch {
	case r.Len() != n:
		err = fmt.Errorf("%s holds %s, %s holds %s; they do not belong together", f.answers, plural(r.Len(), "row"),
			f.results, plural(n, "row"))
	case missing != 0:
		err = fmt.Errorf("%s lacks the columns %s, which derivatives need", f.answers,
			strings.Join(columnList(missing), ", "))
	case r.Metadata()[metaQuery] != "" && r.Metadata()[metaQuery] != f.options.Query.String():
		err = fmt.Errorf("%s claims the query %s, the audit asks for %v; see --query", f.answers,
			strconv.Quote(console.Printable(r.Metadata()[metaQuery], 60)), f.options.Query)
	}
	if err != nil {
		r.Close()
		return nil, err
	}
	return r, nil
}

// verifyDerivatives audits a file against the question of the flags, which have been checked.
func verifyDerivatives(ctx context.Context, e *env, f *verifyDerivativesFlags) (*derivativesReport, error) {
	lib, pairs, results, err := f.openAnswered(ctx, e, f.results)
	if err != nil {
		return nil, err
	}
	defer pairs.Close()
	defer results.Close()
	columns, err := f.question(results)
	if err != nil {
		return nil, err
	}
	n := results.Len()
	answers, err := f.openAnswers(n)
	if err != nil {
		return nil, err
	}
	if answers != nil {
		defer answers.Close()
	}
	h, err := clearance.Open(clearance.WithBackend("cpu"), clearance.WithWorkers(f.workers))
	if err != nil {
		return nil, err
	}
	defer h.Close()
	bar := e.Progress("verify", n)
	defer bar.Done()
	report, err := f.audit(ctx, lib, pairs, results, answers, h.Answers(), bar.Add)
	if err != nil {
		return nil, err
	}
	r := &derivativesReport{Program: "batchbench verify derivatives", Version: console.Version(), Date: console.Now(),
		Results: f.results, Query: f.options.Query.String(), Derivative: f.options.Derivative.Mode.String(),
		Precision: f.options.Precision.String(), Columns: columnList(columns), Audit: report,
		Known: answers != nil || derive.Needs&^results.Columns() == 0}
	r.Good = r.verdict() == nil
	return r, nil
}

// audit audits all rows, some at a time.
func (f *verifyDerivativesFlags) audit(ctx context.Context, lib *batch.Library, pairs pairStream,
	results, answers *dataset.ResultReader, solve batch.Answers, told func(rows int)) (*audit.Derivatives, error) {
	every := int64(1)
	if !f.all && f.sample > 0 {
		every = max(1, results.Len()/f.sample)
	}
	report := &audit.Derivatives{Derived: new(verify.DerivativeReport)}
	err := score.Chunks(lib, pairs, results, f.options, deriveRows, func(job *batch.Job, first int64) error {
		o := audit.DerivativeOptions{Workers: f.workers, FirstRow: int(first), Seed: f.seed, Solve: solve,
			Progress: told,
			Differences: func(row int) bool {
				return (f.all || f.sample > 0) && (int64(row)+int64(f.seed%uint64(every)))%every == 0
			}}
		if answers != nil {
			o.Answers = batch.NewResults(job.Results.N, &batch.Options{Columns: answers.Columns(),
				Precision: answers.Precision()})
			if err := score.Fill(o.Answers.N, func(at int) (int, error) {
				return answers.Next(o.Answers.Slice(at, o.Answers.N))
			}); err != nil {
				return err
			}
		}
		found, err := audit.AuditDerivatives(ctx, job, o)
		if err == nil {
			report.Merge(found)
		}
		return err
	})
	return report, err
}

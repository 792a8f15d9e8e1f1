package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"clearance/dataset"
	"clearance/internal/audit"
	"clearance/internal/console"
	"clearance/verify"

	"github.com/spf13/cobra"
)

// verifySweepReport is the report of `verify sweep --json`.
type verifySweepReport struct {
	Program       string        `json:"program"`
	Version       string        `json:"version"`
	Date          string        `json:"date"`
	Results       string        `json:"results"`
	Query         string        `json:"query"`
	TimeTolerance verify.Number `json:"time_tolerance"` // 0 is the default
	Tolerance     verify.Number `json:"tolerance"`      // 0 is the default
	Claims        claims        `json:"claims"`         // of the file, which nothing rests on
	Good          bool          `json:"good"`
	Audit         *audit.Sweep  `json:"audit"`
}

// verifySweepFlags are the flags of `verify sweep`.
type verifySweepFlags struct {
	auditFlags
	backendFlags // workers alone
	sweepFlags
}

func newVerifySweep(e *env) *cobra.Command {
	var f verifySweepFlags
	c := &cobra.Command{
		Use:   "sweep --shapes shapes.json --worlds motions.parquet|.npz --results results.parquet|.npz",
		Short: "audit results of sweeps",
		Long: `Checks the form of each row of a file of results of 'batchbench sweep' from the shapes and
poses alone. Of a sample of rows the reference looks at each contact, and proves free
rows and the time before a contact by its distances and the speed of the bodies.

What a right answer is, the command line says, as in 'batchbench verify': give --tolerance,
--time-tolerance and --max-distance as they were.

Where rows are beyond the sample the exit code is not 0. Nothing depends on the numbers of
evaluations: only what is impossible of them is refuted.`,
		Args: console.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if err := errors.Join(f.checkWorlds(), f.backendFlags.check(), f.sweepFlags.check(),
				f.auditFlags.check()); err != nil {
				return err
			}
			report, err := verifySweep(c.Context(), e, &f)
			if err != nil {
				return err
			}
			return f.write(e, report)
		},
	}
	fs := c.Flags()
	f.modelFlags.add(fs)
	f.addWorlds(fs, "motions of bodies along way points")
	f.addPart(fs)
	f.auditFlags.add(fs, defaultSample, "rows")
	f.addWorkers(fs)
	f.addQuestion(fs)
	return c
}

// verifySweep audits a file of results of sweeps against the question of the flags.
func verifySweep(ctx context.Context, e *env, f *verifySweepFlags) (*verifySweepReport, error) {
	bodies, err := f.bodies(ctx, e)
	if err != nil {
		return nil, err
	}
	file, err := dataset.OpenMotions(f.worlds, bodies)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	part, err := f.rows.worlds(file.Count(), file.RowsPerWorld())
	if err != nil {
		return nil, err
	}
	var bar *console.Progress
	defer func() { bar.Done() }()
	o := f.options
	r := &verifySweepReport{Program: "batchbench verify", Version: console.Version(), Date: console.Now(),
		Results: f.results,
		Query:   sweepName, TimeTolerance: verify.Number(o.TimeTolerance), Tolerance: verify.Number(o.Tolerance)}
	sample := f.audited(f.workers, func(rows int) { bar.Add(rows) })
	files := &audit.SweepFiles{Options: o, Files: audit.Files{Bodies: bodies, Worlds: f.worlds, Results: f.results,
		Lo: part.Lo, Hi: part.Hi}}
	files.Accept = func(results *dataset.SweepReader) error {
		bar = e.Progress("verify", results.Len())
		r.Claims = claimsOf(results.Metadata())
		if query, ok := results.Metadata()[metaQuery]; ok && query != sweepName {
			return fmt.Errorf("%s claims to answer the query %s, the audit asks for sweep", f.results,
				strconv.Quote(console.Printable(query, 60)))
		}
		return nil
	}
	if r.Audit, err = files.Audit(ctx, sample); err != nil {
		return nil, err
	}
	r.Good = r.verdict() == nil
	return r, nil
}

// verdict returns an error with the exit code if the answers are not good.
func (r *verifySweepReport) verdict() error {
	switch a := r.Audit; {
	case a.Refuted > 0:
		return console.Wrong("%s: %s, the first are listed in the report", r.Results,
			plural(a.Refuted, "wrong answer"))
	case a.Undecided > 0:
		return console.Wrong("%s: %s undecided", r.Results, plural(a.Undecided, "answer"))
	case a.Unproved > 0:
		return console.Wrong("%s: %s neither proved nor refuted", r.Results, plural(a.Unproved, "answer"))
	case a.Sample == 0 && a.Rows > 0:
		return console.Wrong("%s: not audited: the reference has looked at no row; see --sample and --all",
			r.Results)
	case a.Sample < a.Rows:
		return console.Wrong("%s: not audited in full: the reference has not looked at %s; see --sample and --all",
			r.Results, plural(a.Rows-a.Sample, "row"))
	}
	return nil
}

// print writes the report as text.
func (r *verifySweepReport) print(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "\naudit of %s: query %s\n", r.Results, r.Query)
	if text := r.Claims.String(); text != "" {
		fmt.Fprintf(&b, "the file claims: %s\n", text)
	}
	fmt.Fprintf(&b, "%s: %s undecided, %s invalid\n", plural(r.Audit.Rows, "row"), thousands(r.Audit.Undecided),
		thousands(r.Audit.Invalid))
	printSweepAudit(&b, r.Audit)
	_, err := io.WriteString(w, b.String())
	return err
}

// printSweepAudit adds an audit as text.
func printSweepAudit(b *strings.Builder, a *audit.Sweep) {
	fmt.Fprintf(b, "audit: %s checked, %s at %s by the reference, %s unproved, %s refuted\n", plural(a.Rows, "row"),
		thousands(a.Sample), plural(a.Poses, "pose"), thousands(a.Unproved), thousands(a.Refuted))
	if rest := a.Rows - a.Sample; rest > 0 {
		fmt.Fprintf(b, "audit: of %s the form alone was checked\n", plural(rest, "row"))
	}
	b.WriteString("evaluations are not audited: nothing depends on them\n")
	for _, text := range a.First {
		fmt.Fprintf(b, "refuted: %s\n", text)
	}
}

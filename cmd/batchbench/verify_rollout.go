package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"clearance/dataset"
	"clearance/internal/audit"
	"clearance/internal/console"
	"clearance/internal/score"
	"clearance/rollout"
	"clearance/verify"
)

// verifyRolloutReport is the report of `verify rollout --json`.
type verifyRolloutReport struct {
	Program     string         `json:"program"`
	Version     string         `json:"version"`
	Date        string         `json:"date"`
	Results     string         `json:"results"`
	Query       string         `json:"query"`
	Precision   string         `json:"precision"`
	Reduce      string         `json:"reduce"`
	Tolerance   verify.Number  `json:"tolerance"`
	MaxDistance *verify.Number `json:"max_distance,omitempty"`
	Claims      claims         `json:"claims"` // of the file, which nothing rests on
	Columns     []string       `json:"columns"`
	Unproved    []string       `json:"unproved,omitempty"` // columns of vectors that nothing in the file proves
	Missing     []string       `json:"missing,omitempty"`  // columns that would
	Good        bool           `json:"good"`
	AtLeast     bool           `json:"contacts_at_least,omitempty"` // contacts are audited as lower bounds
	Audit       *audit.Rollout `json:"audit"`
}

// verifyRolloutFlags are the flags of `verify rollout`.
type verifyRolloutFlags struct {
	auditFlags
	rolloutFlags
	anyPrecision bool // of the file is good
}

func newVerifyRollout(e *env) *cobra.Command {
	var f verifyRolloutFlags
	c := &cobra.Command{
		Use:   "rollout --shapes shapes.json --worlds worlds.parquet|.npz --results results.parquet|.npz",
		Short: "audit results of worlds of bodies",
		Long: `Checks the form of each row of a file of results of 'batchbench rollout', and its answer
as one of the pair of parts that it names, from the shapes and poses alone. The reference
solves all pairs of parts of a sample of worlds, --sample of them in all, and what it
proves of them refutes rows, worlds, counts and missing rows.

What a right answer is, the command line says, as in 'batchbench verify': give --query,
--tolerance, --reduce, --max-distance and --all-pairs as they were.

What was not audited is said, and is not exit code 0: distances of a file without the
column gap unless --all has the reference solve every world, normals, witnesses and points of
a file without the columns that prove them, worlds that state failed rows, and worlds beyond
the sample. Where each pair of bodies has a row and each body one
part, rows prove themselves, and the sample is a second opinion.`,
		Args: console.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			f.anyPrecision = !c.Flags().Changed("precision")
			if err := errors.Join(f.checkWorlds(), f.solveFlags.check(), f.auditFlags.check()); err != nil {
				return err
			}
			report, err := verifyRollout(c.Context(), e, &f)
			if err != nil {
				return err
			}
			return f.write(e, report)
		},
	}
	fs := c.Flags()
	f.modelFlags.add(fs)
	f.addWorlds(fs, "worlds of bodies, or of shapes")
	f.addPart(fs)
	f.auditFlags.add(fs, audit.DefaultPairs, "pairs of parts, of whole worlds,")
	f.addAudited(fs)
	f.rolloutFlags.addQuestion(fs)
	return c
}

// verifyRollout audits a file of results of worlds of bodies against the question of the flags.
func verifyRollout(ctx context.Context, e *env, f *verifyRolloutFlags) (*verifyRolloutReport, error) {
	o, err := f.rolloutOptions()
	if err != nil {
		return nil, err
	}
	file, err := f.openWorlds(ctx, e, &f.inputFlags)
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
	r := &verifyRolloutReport{Program: "batchbench verify", Version: console.Version(), Date: console.Now(),
		Results: f.results}
	sample := f.audited(f.workers, func(rows int) { bar.Add(rows) })
	files := &audit.RolloutFiles{AllPairs: f.allPairs, Options: o, AnyPrecision: f.anyPrecision,
		Files: audit.Files{Bodies: file.Bodies, Worlds: f.worlds, Results: f.results, Lo: part.Lo, Hi: part.Hi}}
	files.Accept = func(results *dataset.RolloutReader, o *rollout.Options) error {
		bar = e.Progress("verify", results.Len())
		r.Claims = claimsOf(results.Metadata())
		r.AtLeast = results.Reduced() && audit.AtLeast(o, file.RowsPerWorld() == 0)
		return f.claimed(o, results.Metadata())
	}
	if r.Audit, err = files.Audit(ctx, sample); err != nil {
		return nil, err
	}
	o = files.Options
	r.Query, r.Precision, r.Reduce = o.Query.String(), o.Precision.String(), o.Reduce.String()
	r.Tolerance, r.Columns = verify.Number(o.Tolerance), columnList(o.Columns)
	if o.HasMaxDistance {
		r.MaxDistance = (*verify.Number)(&o.MaxDistance)
	}
	if unproved := unprovedVectors(o.Columns); unproved != 0 {
		r.Unproved, r.Missing = columnList(unproved), columnList(score.ProofColumns&^o.Columns)
	}
	r.Good = r.verdict() == nil
	return r, nil
}

// claimed returns an error if the results claim to answer another question.
func (f *verifyRolloutFlags) claimed(o *rollout.Options, meta map[string]string) error {
	most := "none"
	if o.HasMaxDistance {
		most = fmt.Sprint(o.MaxDistance)
	}
	for _, c := range []struct{ key, what, want, flag string }{
		{metaQuery, "the query", o.Query.String(), "query"},
		{"reduce", "the reduction", o.Reduce.String(), "reduce"},
		{"max_distance", "the largest distance", most, "max-distance"},
	} {
		if claim, ok := meta[c.key]; ok && claim != c.want {
			return fmt.Errorf("%s claims to have %s %s, the audit asks for %s; see --%s", f.results, c.what,
				strconv.Quote(console.Printable(claim, 60)), c.want, c.flag)
		}
	}
	return nil
}

// verdict returns an error with the exit code if the answers are not good.
func (r *verifyRolloutReport) verdict() error {
	switch a := r.Audit; {
	case a.Wrong() > 0:
		return console.Wrong("%s: %s, the first are listed in the report",
			r.Results, plural(a.Wrong(), "wrong answer"))
	case a.Undecided > 0:
		return console.Wrong("%s: %s undecided", r.Results, plural(a.Undecided, "answer"))
	case a.Unanswered > 0:
		return console.Wrong("%s: %s of rows without an answer", r.Results, plural(a.Unanswered, "world"))
	case a.Worlds == 0 && a.OfWorlds > 0:
		return console.Wrong("%s: not audited: the reference has solved no world; see --sample and --all", r.Results)
	case a.Open > 0:
		return console.Wrong("%s: not audited in full: %s not solved by the reference; see --sample and --all",
			r.Results, plural(a.Open, "world"))
	case a.Unaudited > 0:
		return console.Wrong("%s: %s not audited: without the column gap nothing bounds them; see --all",
			r.Results, plural(a.Unaudited, "distance"))
	case len(r.Unproved) > 0:
		return console.Wrong("%s: %s not audited: the file lacks %s", r.Results, strings.Join(r.Unproved, ", "),
			strings.Join(r.Missing, ", "))
	}
	return nil
}

// print writes the report as text.
func (r *verifyRolloutReport) print(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "\naudit of %s: query %s, precision %s, reduce %s%s\n", r.Results, r.Query, r.Precision, r.Reduce,
		toleranceText(r.Tolerance, r.Query))
	if text := r.Claims.String(); text != "" {
		fmt.Fprintf(&b, "the file claims: %s\n", text)
	}
	fmt.Fprintf(&b, "%s: %s undecided, %s invalid\n", plural(r.Audit.Rows, "row"), thousands(r.Audit.Undecided),
		thousands(r.Audit.Invalid))
	if r.AtLeast {
		b.WriteString("contacts of a Boolean query are audited as lower bounds: a world may end at its first\n")
	}
	printRolloutAudit(&b, r.Audit)
	_, err := io.WriteString(w, b.String())
	return err
}

// printRolloutAudit adds an audit as text.
func printRolloutAudit(b *strings.Builder, r *audit.Rollout) {
	fmt.Fprintf(b, "audit: %s of parts in %s solved by the reference, %s refuted\n", plural(r.PartPairs, "pair"),
		plural(r.Worlds, "world"), plural(r.Refuted, "row"))
	if rest := r.OfWorlds - r.Worlds; rest > 0 {
		fmt.Fprintf(b, "audit: %s not solved; of their rows, the form and the named pairs of parts were checked, "+
			"which leaves %s open\n", plural(rest, "world"), thousands(r.Open))
	}
	fmt.Fprintf(b, "audit: %s checked, %s as answers of the pair of parts that they name, %s refuted\n",
		plural(r.Rows, "row"), thousands(r.Named.Rows), plural(audit.RefutedAs(r.Named), "row"))
	for _, text := range r.First {
		fmt.Fprintf(b, "refuted: %s\n", text)
	}
	for i := range r.Named.Checks {
		for _, w := range r.Named.Checks[i].Worst {
			if name := r.Named.Checks[i].Name; w.Failed && name != audit.GapCheck {
				fmt.Fprintf(b, "refuted: row %d fails check %s: found %.9g, expected %.9g\n", w.Row, name,
					float64(w.Found), float64(w.Expected))
			}
		}
	}
}

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

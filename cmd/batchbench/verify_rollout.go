package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	"clearance/batch"
	"clearance/dataset"
	"clearance/internal/score"
	"clearance/rollout"
	"clearance/verify"

	"github.com/spf13/cobra"
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
	Good        bool           `json:"good"`
	AtLeast     bool           `json:"contacts_at_least,omitempty"` // contacts are audited as lower bounds
	Audit       *rolloutAudit  `json:"audit"`
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
column gap unless --all has the reference solve every world, worlds that state failed
rows, and worlds beyond the sample. Where each pair of bodies has a row and each body one
part, rows prove themselves, and the sample is a second opinion.`,
		Args: noArgs,
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
	f.addWorlds(fs, "worlds of bodies, or of shapes")
	f.auditFlags.add(fs, auditedPairs, "pairs of parts, of whole worlds,")
	f.addAudited(fs)
	f.rolloutFlags.addQuestion(fs)
	return c
}

// verifyRollout audits a file of results of worlds of bodies against the question of the flags.
func verifyRollout(ctx context.Context, e *env, f *verifyRolloutFlags) (*verifyRolloutReport, error) {
	bodies, worlds, err := f.read(&f.inputFlags)
	if err != nil {
		return nil, err
	}
	results, meta, err := dataset.ReadRolloutResults(f.results)
	if err != nil {
		return nil, err
	}
	if !f.anyPrecision && f.options.Precision != results.Precision {
		return nil, fmt.Errorf("%s is of precision %v, the audit asks for %v", f.results, results.Precision,
			f.options.Precision)
	}
	f.options.Columns, f.options.Precision = results.Columns, results.Precision
	o, err := f.rolloutOptions()
	if err != nil {
		return nil, err
	}
	job := &rollout.Job{Bodies: bodies, Worlds: worlds, Options: o, Results: results}
	if err := f.belongs(job, meta); err != nil {
		return nil, err
	}
	bar := e.progress("verify", int64(results.N))
	defer bar.done()
	sample := &rolloutSample{pairs: f.sample, seed: f.seed, workers: f.workers, bar: bar}
	if f.all {
		sample.pairs = math.MaxInt64
	}
	audit, err := auditRollout(ctx, job, sample)
	if err != nil {
		return nil, err
	}
	r := &verifyRolloutReport{Program: "batchbench verify", Version: versionString(), Date: now(), Results: f.results,
		Query: o.Query.String(), Precision: o.Precision.String(), Reduce: o.Reduce.String(),
		Tolerance: verify.Number(o.Tolerance), Claims: claimsOf(meta), Columns: columnList(results.Columns),
		Audit: audit}
	r.AtLeast = results.Pair != nil && (&rowAuditor{job: job}).counted() == 1
	if o.HasMaxDistance {
		r.MaxDistance = (*verify.Number)(&o.MaxDistance)
	}
	r.Good = r.verdict() == nil
	return r, nil
}

// belongs returns an error if the results are not of the form that the question has, or claim to answer another one.
func (f *verifyRolloutFlags) belongs(job *rollout.Job, meta map[string]string) error {
	o, w, r := &job.Options, job.Worlds, job.Results
	other := func(key, claim, want, flag string) error {
		return fmt.Errorf("%s claims to have %s %s, the audit asks for %s; see --%s", f.results, key,
			strconv.Quote(printable(claim, 60)), want, flag)
	}
	most := "none"
	if o.HasMaxDistance {
		most = fmt.Sprint(o.MaxDistance)
	}
	if q, ok := meta[metaQuery]; ok && q != o.Query.String() {
		return other("the query", q, o.Query.String(), "query")
	}
	if reduce, ok := meta["reduce"]; ok && reduce != o.Reduce.String() {
		return other("the reduction", reduce, o.Reduce.String(), "reduce")
	}
	if d, ok := meta["max_distance"]; ok && d != most {
		return other("the largest distance", d, most, "max-distance")
	}
	if r.Columns&score.AuditColumns == 0 {
		return fmt.Errorf("%s: the columns %s are not enough to audit, want status or distance among them", f.results,
			strings.Join(columnList(r.Columns), ", "))
	}
	rows, what := w.Len(), "pairs of bodies"
	reduced, sparse, pairs := r.Pair != nil, r.Offsets != nil, r.BodyA != nil
	switch {
	case o.Reduce == rollout.ReduceWorld && (!reduced || sparse || pairs != w.AllPairs):
		return fmt.Errorf("%s has not the columns of worlds of %s; see --reduce and --all-pairs", f.results, f.worlds)
	case o.Reduce == rollout.ReduceWorld:
		rows, what = w.Count(), "worlds"
	case reduced || sparse != w.AllPairs || pairs != w.AllPairs:
		return fmt.Errorf("%s has not the columns of pairs of bodies of %s; see --reduce and --all-pairs", f.results,
			f.worlds)
	case sparse && len(r.Offsets) != w.Count()+1:
		return fmt.Errorf("%s states %d worlds, %s holds %d; they do not belong together", f.results, len(r.Offsets)-1,
			f.worlds, w.Count())
	case sparse && !o.HasMaxDistance && o.Query.Info().CutOff != batch.CutOffAtTouch && !o.Query.Info().Boolean():
		return fmt.Errorf("all pairs of bodies: want --max-distance, beyond which a pair needs no row")
	case sparse:
		return nil
	}
	if r.N != rows {
		return fmt.Errorf("%s holds %s %s, %s holds %s; they do not belong together", f.worlds, thousands(rows), what,
			f.results, plural(r.N, "row"))
	}
	return nil
}

// verdict returns an error with the exit code if the answers are not good.
func (r *verifyRolloutReport) verdict() error {
	switch a := r.Audit; {
	case a.wrong() > 0:
		return exitf(exitWrong, "%s: %s, the first are listed in the report",
			r.Results, plural(a.wrong(), "wrong answer"))
	case a.Undecided > 0:
		return exitf(exitWrong, "%s: %s undecided", r.Results, plural(a.Undecided, "answer"))
	case a.Unanswered > 0:
		return exitf(exitWrong, "%s: %s of rows without an answer", r.Results, plural(a.Unanswered, "world"))
	case a.Worlds == 0 && a.OfWorlds > 0:
		return exitf(exitWrong, "%s: not audited: the reference has solved no world; see --sample and --all", r.Results)
	case a.Open > 0:
		return exitf(exitWrong, "%s: not audited in full: %s not solved by the reference; see --sample and --all",
			r.Results, plural(a.Open, "world"))
	case a.Unaudited > 0:
		return exitf(exitWrong, "%s: %s not audited: without the column gap nothing bounds them; see --all",
			r.Results, plural(a.Unaudited, "distance"))
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
	r.Audit.print(&b)
	_, err := io.WriteString(w, b.String())
	return err
}

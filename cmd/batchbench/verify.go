package main

import (
	"context"
	"fmt"
	"io"
	"math/bits"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"clearance/batch"
	"clearance/internal/audit"
	"clearance/internal/console"
	"clearance/internal/score"
	"clearance/verify"
)

// auditFlags are the flags of the commands that audit a file of results.
type auditFlags struct {
	inputFlags
	results, json string
	all           bool
	sample        int64
	seed          uint64
	rows          rowsFlag // of worlds and motions
}

// add registers the flags but those of the inputs. rows says what a sample consists of.
func (f *auditFlags) add(fs *pflag.FlagSet, sample int64, rows string) {
	fs.StringVar(&f.results, "results", "", "file of results to audit, .parquet or .npz")
	fs.StringVar(&f.json, "json", "", "write the report as JSON to this file; - is standard output, in place of the "+
		"text")
	fs.BoolVar(&f.all, "all", false, "compare every row with the reference")
	fs.Int64Var(&f.sample, "sample", sample, rows+" that the reference solves again; 0 is none")
	fs.Uint64Var(&f.seed, "seed", 1, "seed of the sample")
}

// addPart registers the flag of results of some rows.
func (f *auditFlags) addPart(fs *pflag.FlagSet) {
	fs.Var(&f.rows, "rows", "audit results of rows lo to hi of the file alone, hi not included, whole worlds")
}

// audited is the sample that the flags ask for. told is called with numbers of rows.
func (f *auditFlags) audited(workers int, told func(rows int)) *audit.Sample {
	s := &audit.Sample{Pairs: f.sample, Seed: f.seed, Workers: workers, Progress: told}
	if f.all {
		s.Pairs = audit.All
	}
	return s
}

// check returns an error for flags that are missing or do not go together.
func (f *auditFlags) check() error {
	if err := needFlags("results", f.results); err != nil {
		return err
	}
	if f.sample < 0 {
		return fmt.Errorf("--sample %d: want 0 (none) or more", f.sample)
	}
	return checkOutputs(append(f.files(f.json), namedFile{"results", f.results}), []namedFile{{"json", f.json}})
}

// checkedReport is a report of an audit, as text; as JSON it is its fields.
type checkedReport interface {
	print(w io.Writer) error
	verdict() error // an error with the exit code if the answers are not good
}

// write prints the report of an audit and returns its verdict.
func (f *auditFlags) write(e *env, report checkedReport) error { return writeAudit(e, f.json, report) }

// writeAudit prints the report of an audit, as text or as JSON to a file or -, and returns its verdict.
func writeAudit(e *env, file string, report checkedReport) error {
	if file != "-" {
		if err := report.print(e.Stdout); err != nil {
			return err
		}
	}
	if file != "" {
		if err := console.WriteJSON(e.Stdout, file, report); err != nil {
			return err
		}
	}
	return report.verdict()
}

// verifyFlags are the flags of `verify`.
type verifyFlags struct {
	auditFlags
	solveFlags
	prove        int64
	anyPrecision bool // of the file is good
}

func newVerify(e *env) *cobra.Command {
	var f verifyFlags
	c := &cobra.Command{
		Use:   "verify --shapes shapes.json --pairs pairs.parquet|.npz --results results.parquet|.npz",
		Short: "audit a results file against its inputs",
		Long: `Checks every answer of a results file from the shapes and poses alone, trusting no
solver, and has the reference solve a sample of the rows again. That proves distances
and the upper bounds of depths. --prove N proves the lower bounds of the depths of N rows.

What a right answer is, the command line says: give the --query, --tolerance and
--cutoff that the answers have to meet if they are not the defaults. What a Parquet
file claims was asked is printed beside them and believed in nothing; a file that
claims to answer another query, or has another --precision, is refused.

What was not audited is said, and is not exit code 0: distances of a file without the
columns that prove them (gap, normal and both witnesses) unless --all has the reference
solve every row, and normals, witnesses and points of such a file. Of the columns method and
iterations only what is impossible is refuted.

'batchbench verify rollout' and 'batchbench verify sweep' audit the results of 'rollout'
and 'sweep', 'batchbench verify contact' the impulses of 'contact' and 'step',
'batchbench verify derivatives' columns of derivatives.`,
		Args: func(c *cobra.Command, args []string) error {
			if len(args) > 0 {
				return fmt.Errorf("unexpected argument %q; see '%s --help'", args[0], c.CommandPath())
			}
			return nil
		},
		RunE: func(c *cobra.Command, _ []string) error {
			f.anyPrecision = !c.Flags().Changed("precision")
			if err := f.check(); err != nil {
				return err
			}
			report, err := verifyFile(c.Context(), e, &f)
			if err != nil {
				return err
			}
			return f.write(e, report)
		},
	}
	pointElsewhere(c, "batchbench verify ")
	fs := c.Flags()
	f.addPairs(fs)
	f.auditFlags.add(fs, defaultSample, "rows")
	fs.Int64Var(&f.prove, "prove", 0, "rows of which the lower bound of the depth is proved, by branch and bound over "+
		"directions; 0 is none")
	f.addAudited(fs)
	c.AddCommand(newVerifyRollout(e), newVerifySweep(e), newVerifyContact(e), newVerifyDerivatives(e))
	return c
}

// addAudited registers the flags that answers have to meet.
func (f *solveFlags) addAudited(fs *pflag.FlagSet) {
	f.addQuestion(fs)
	fs.Var(choice[batch.Precision]{&f.options.Precision, batch.ParsePrecision}, "precision",
		"precision that the file must have, single or double; default: that of its columns")
	f.addWorkers(fs)
}

// check returns an error for flags that are missing or do not go together.
func (f *verifyFlags) check() error {
	if err := f.checkPairs("batchbench verify "); err != nil {
		return err
	}
	if f.prove < 0 {
		return fmt.Errorf("--prove %d: want 0 (none) or more", f.prove)
	}
	if err := f.solveFlags.check(); err != nil {
		return err
	}
	return f.auditFlags.check()
}

// verifyFile audits a results file against the question of the flags, which have been checked.
func verifyFile(ctx context.Context, e *env, f *verifyFlags) (*verifyReport, error) {
	lib, pairs, results, err := f.openAnswered(ctx, e, f.results)
	if err != nil {
		return nil, err
	}
	defer pairs.Close()
	defer results.Close()
	n := results.Len()
	claims := claimsOf(results.Metadata())
	switch {
	case results.Columns()&score.AuditColumns == 0:
		return nil, fmt.Errorf("%s: the columns %s are not enough to audit, want status or distance among them",
			f.results, strings.Join(columnList(results.Columns()), ", "))
	case claims.Query != "" && claims.Query != f.options.Query.String():
		return nil, fmt.Errorf("%s claims to answer the query %s, the audit asks for %v; see --query", f.results,
			strconv.Quote(claims.Query), f.options.Query)
	case !f.anyPrecision && f.options.Precision != results.Precision():
		return nil, fmt.Errorf("%s is of precision %v, the audit asks for %v", f.results, results.Precision(),
			f.options.Precision)
	}
	f.options.Columns, f.options.Precision = results.Columns(), results.Precision()

	bar := e.Progress("verify", n)
	defer bar.Done()
	c := &checker{total: n, sample: min(f.sample, n), prove: min(f.prove, n), seed: f.seed, workers: f.workers,
		bar: bar}
	if f.all {
		c.sample = n
	}
	err = score.Chunks(lib, pairs, results, f.options, chunkRows, func(job *batch.Job, first int64) error {
		return c.chunk(ctx, job, first)
	})
	if err != nil {
		return nil, err
	}
	report := &verifyReport{
		Program: "batchbench verify", Version: console.Version(), Date: console.Now(), Results: f.results,
		Claims: claims, CutOff: cutOffOf(&f.options),
		Query: f.options.Query.String(), Precision: f.options.Precision.String(),
		Tolerance: verify.Number(f.options.Tolerance),
		Columns:   columnList(f.options.Columns), Audit: &c.audit, Compare: &c.compare,
	}
	if f.prove > 0 {
		report.Proof = &c.proof
	}
	if missing := score.ProofColumns &^ results.Columns(); results.Columns()&batch.ColDistance != 0 && missing != 0 {
		report.Unaudited = n - int64(c.compare.Compared)
		report.Missing = columnList(missing)
	}
	if unproved := unprovedVectors(results.Columns()); unproved != 0 {
		report.Unproved, report.Missing = columnList(unproved), columnList(score.ProofColumns&^results.Columns())
	}
	report.Good = report.verdict() == nil
	return report, nil
}

// unprovedVectors are the columns of vectors of a file that its other columns do not prove, and that the reference need
// not share: distance and gap prove a normal, and all columns of a proof all of them.
func unprovedVectors(columns batch.Columns) batch.Columns {
	if score.ProofColumns&^columns == 0 {
		return 0
	}
	vectors := columns & (batch.ColNormal | batch.ColWitnessA | batch.ColWitnessB | batch.ColPoint)
	if bounds := batch.ColDistance | batch.ColGap; bounds&^columns == 0 {
		vectors &^= batch.ColNormal
	}
	return vectors
}

// claims holds what a results file says of itself, as text: nothing of it is believed.
type claims struct {
	Query     string `json:"query,omitempty"`
	Method    string `json:"method,omitempty"`
	Tolerance string `json:"tolerance,omitempty"`
	CutOff    string `json:"cutoff,omitempty"`
}

func claimsOf(meta map[string]string) claims {
	text := func(key string) string { return console.Printable(meta[key], 60) }
	return claims{text(metaQuery), text(metaMethod), text(metaTolerance), text(metaCutOff)}
}

// String lists the claims, "" if there are none.
func (c claims) String() string {
	var list []string
	for _, claim := range [][2]string{{metaQuery, c.Query}, {metaMethod, c.Method}, {metaTolerance, c.Tolerance},
		{metaCutOff, c.CutOff}} {
		if claim[1] != "" {
			list = append(list, claim[0]+" "+claim[1])
		}
	}
	return strings.Join(list, ", ")
}

// cutOffOf is the cut-off that answers have to meet, nil if there is none.
func cutOffOf(o *batch.Options) *verify.Number {
	if !o.HasCutOff {
		return nil
	}
	v := verify.Number(o.CutOff)
	return &v
}

// defaultSample is the number of rows of a set or file that the reference solves again.
const defaultSample = 1000

// checker audits every row of a sequence of chunks and compares a sample with the reference.
type checker struct {
	total   int64  // rows of all chunks
	sample  int64  // rows to solve again, at most total
	prove   int64  // rows whose depths are proved, at most total
	seed    uint64 // draws the sample
	workers int
	bar     *console.Progress

	audit   verify.Report
	compare verify.Comparison
	proof   verify.Proof
}

// chunk checks the answers of a job; first is the number of its first row.
func (c *checker) chunk(ctx context.Context, job *batch.Job, first int64) error {
	audit, err := verify.Audit(ctx, job, verify.Options{
		Workers: c.workers, FirstRow: int(first), Seed: c.seed, Progress: c.bar.Add,
	})
	if err != nil {
		return err
	}
	c.audit.Merge(audit)

	// The sample is spread over the chunks in proportion to their rows.
	last := first + int64(job.Input.Len())
	if prove := c.share(last, c.prove) - c.share(first, c.prove); prove > 0 {
		proof, err := verify.Prove(ctx, job, verify.ProveOptions{
			Sample: int(prove), Seed: c.seed, Workers: c.workers, FirstRow: int(first),
		})
		if err != nil {
			return err
		}
		c.proof.Merge(proof)
	}
	sample := c.share(last, c.sample) - c.share(first, c.sample)
	if sample == 0 {
		return nil
	}
	compare, err := verify.Compare(ctx, job, verify.CompareOptions{
		Sample: int(sample), Seed: c.seed, Workers: c.workers, FirstRow: int(first),
	})
	if err != nil {
		return err
	}
	c.compare.Merge(compare)
	return nil
}

// share is the part of a sample among the rows before the given one,
// ⌊row·sample/total⌋. The product may need more than 64 bits.
func (c *checker) share(row, sample int64) int64 {
	hi, lo := bits.Mul64(uint64(row), uint64(sample))
	share, _ := bits.Div64(hi, lo, uint64(c.total))
	return int64(share)
}

// faults describes the worst rows that failed a check, at most limit of them.
func faults(c *checker, limit int) []string {
	var list []string
	note := func(what string, rows []verify.WorstRow) {
		for _, w := range rows {
			if w.Failed && len(list) < limit {
				list = append(list, fmt.Sprintf("row %d fails %s: found %.9g, expected %.9g, off by %.3g, allowed %.3g",
					w.Row, what, float64(w.Found), float64(w.Expected), float64(w.Residual), float64(w.Allowed)))
			}
		}
	}
	for i := range c.audit.Checks {
		note("check "+c.audit.Checks[i].Name, c.audit.Checks[i].Worst)
	}
	note("the comparison with the reference", c.compare.Worst)
	note("the proof of its depth", c.proof.Worst)
	return list
}

// verifyReport is the report of `verify --json`.
type verifyReport struct {
	Program   string             `json:"program"`
	Version   string             `json:"version"`
	Date      string             `json:"date"`
	Results   string             `json:"results"`
	Query     string             `json:"query"`
	Precision string             `json:"precision"`
	Tolerance verify.Number      `json:"tolerance"`
	CutOff    *verify.Number     `json:"cutoff,omitempty"`
	Claims    claims             `json:"claims"` // of the file, which nothing rests on
	Columns   []string           `json:"columns"`
	Good      bool               `json:"good"`
	Unaudited int64              `json:"unaudited,omitempty"` // distances that neither columns nor the reference bound
	Missing   []string           `json:"missing,omitempty"`   // columns that would bound them
	Unproved  []string           `json:"unproved,omitempty"`  // columns of vectors that nothing in the file proves
	Audit     *verify.Report     `json:"audit"`
	Compare   *verify.Comparison `json:"comparison"`
	Proof     *verify.Proof      `json:"proof,omitempty"` // of --prove
}

func cutOffText(c *verify.Number, query string) string {
	if c == nil {
		return ""
	}
	unit := " m"
	if scaleOf(query) == batch.OfValue {
		unit = ""
	}
	return fmt.Sprintf(", cut-off %g%s", float64(*c), unit)
}

// wrong is the largest of the numbers of rows refuted by the audit, by the reference and by the
// proof of their depths, since a row may be in all counts.
func (r *verifyReport) wrong() int {
	wrong := max(r.Audit.Wrong(), r.Compare.Wrong())
	if r.Proof != nil {
		wrong = max(wrong, r.Proof.Refuted)
	}
	return wrong
}

// verdict returns an error with the exit code if the answers are not good.
func (r *verifyReport) verdict() error {
	switch {
	case r.wrong() > 0:
		return console.Wrong("%s: %s, the worst are listed in the report", r.Results,
			plural(r.wrong(), "wrong answer"))
	case r.Audit.Undecided() > 0:
		return console.Wrong("%s: %s undecided", r.Results, plural(r.Audit.Undecided(), "answer"))
	case r.Proof != nil && r.Proof.Unproved > 0:
		return console.Wrong("%s: %s neither proved nor refuted", r.Results, plural(r.Proof.Unproved, "depth"))
	case r.Unaudited > 0:
		return console.Wrong("%s: %s not audited: the file lacks %s; 'verify --all' compares every row with the "+
			"reference", r.Results, plural(r.Unaudited, "distance"), strings.Join(r.Missing, ", "))
	case len(r.Unproved) > 0:
		return console.Wrong("%s: %s not audited: the file lacks %s", r.Results, strings.Join(r.Unproved, ", "),
			strings.Join(r.Missing, ", "))
	case r.Audit.Unproved > r.Compare.Compared:
		return console.Wrong("%s: %s neither proved nor refuted; 'verify --all' compares every row with the "+
			"reference", r.Results, plural(r.Audit.Unproved, "row"))
	}
	return nil
}

// print writes the report as text.
func (r *verifyReport) print(w io.Writer) error {
	if _, err := fmt.Fprintf(w, "\naudit of %s: query %s, precision %s%s%s\n", r.Results, r.Query, r.Precision,
		toleranceText(r.Tolerance, r.Query), cutOffText(r.CutOff, r.Query)); err != nil {
		return err
	}
	if text := r.Claims.String(); text != "" {
		if _, err := fmt.Fprintf(w, "the file claims: %s\n", text); err != nil {
			return err
		}
	}
	if err := r.Audit.WriteText(w); err != nil {
		return err
	}
	if r.Proof != nil {
		if _, err := fmt.Fprintln(w, "\nproof of depths"); err != nil {
			return err
		}
		if err := r.Proof.WriteText(w); err != nil {
			return err
		}
	}
	if r.Compare.Compared == 0 {
		return nil
	}
	if _, err := fmt.Fprintln(w, "\nreference"); err != nil {
		return err
	}
	return r.Compare.WriteText(w)
}

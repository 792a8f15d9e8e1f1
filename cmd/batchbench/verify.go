package main

import (
	"context"
	"fmt"
	"io"
	"strconv"
	"strings"

	"clearance/batch"
	"clearance/internal/audit"
	"clearance/internal/console"
	"clearance/internal/score"
	"clearance/verify"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
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

// claims is what a results file says of itself, as text: nothing of it is believed.
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

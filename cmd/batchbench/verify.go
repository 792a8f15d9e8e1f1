package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"

	"clearance/batch"
	"clearance/dataset"
	"clearance/verify"

	"github.com/spf13/cobra"
)

// verifyFlags are the flags of `verify`.
type verifyFlags struct {
	solveFlags
	inputFlags
	results, json string
	all           bool
	sample        int64
	seed          uint64
}

func newVerify(e *env) *cobra.Command {
	var f verifyFlags
	c := &cobra.Command{
		Use:   "verify --shapes shapes.json --pairs pairs.parquet|.npz --results results.parquet|.npz",
		Short: "audit a results file against its inputs",
		Long: `Checks every answer of a results file from the shapes and poses alone, trusting no
solver, and has the reference solve a sample of the rows again.

Parquet files contain the query, the tolerance and the cut-off. NPZ files do not: give
--query, --tolerance and --cutoff if the answers were computed with other values than the
defaults.`,
		Args: noArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			asked := func(name string) bool { return c.Flags().Changed(name) }
			report, err := verifyFile(c.Context(), e, &f, asked)
			if err != nil {
				return err
			}
			if f.json != "-" {
				if err := report.print(e.stdout); err != nil {
					return err
				}
			}
			if f.json != "" {
				if err := writeJSON(e.stdout, f.json, report); err != nil {
					return err
				}
			}
			return report.verdict()
		},
	}
	fs := c.Flags()
	f.inputFlags.add(fs)
	fs.StringVar(&f.results, "results", "", "file of results to audit, .parquet or .npz")
	fs.StringVar(&f.json, "json", "", "write the report as JSON to this file; - is standard output, in place of the text")
	fs.BoolVar(&f.all, "all", false, "compare every row with the reference")
	fs.Int64Var(&f.sample, "sample", defaultSample, "rows that the reference solves again; 0 is none")
	fs.Uint64Var(&f.seed, "seed", 1, "seed of the sample")
	f.addQuestion(fs)
	f.addWorkers(fs)
	return c
}

// verifyFile audits a results file. asked reports whether a flag was given; values that were
// not given are read from the metadata of the file, if it has any.
func verifyFile(ctx context.Context, e *env, f *verifyFlags, asked func(string) bool) (*verifyReport, error) {
	if err := f.inputFlags.check(); err != nil {
		return nil, err
	}
	if err := needFlags("results", f.results); err != nil {
		return nil, err
	}
	if f.sample < 0 {
		return nil, fmt.Errorf("--sample %d: want 0 (none) or more", f.sample)
	}
	if err := checkWritable(f.json); err != nil {
		return nil, err
	}
	lib, err := readLibrary(f.shapes)
	if err != nil {
		return nil, err
	}
	pairs, err := f.open()
	if err != nil {
		return nil, err
	}
	defer pairs.Close()
	results, err := dataset.OpenResults(f.results)
	if err != nil {
		return nil, err
	}
	defer results.Close()
	n := int64(pairs.Len())
	if results.Len() != n {
		return nil, fmt.Errorf("%s holds %s, %s holds %s; they do not belong together", f.path(), plural(n, "pair"), f.results, plural(results.Len(), "row"))
	}
	if err := f.fromMetadata(results.Metadata(), asked); err != nil {
		return nil, fmt.Errorf("%s: %w", f.results, err)
	}
	if err := f.solveFlags.check(); err != nil {
		return nil, err
	}
	f.options.Columns, f.options.Precision = results.Columns(), results.Precision()

	bar := newProgress(e.stderr, "verify", n)
	defer bar.done()
	c := &checker{total: n, sample: min(f.sample, n), seed: f.seed, workers: f.workers, bar: bar}
	if f.all {
		c.sample = n
	}
	rows := int(min(n, chunkRows))
	p, r := batch.NewPairs(rows), batch.NewResults(rows, &f.options)
	for first := int64(0); first < n; first += chunkRows {
		rows := int(min(n-first, chunkRows))
		job := &batch.Job{Library: lib, Input: p.Slice(0, rows), Options: f.options, Results: r.Slice(0, rows)}
		if err := fill(rows, func(at int) (int, error) { return pairs.Next(p.Slice(at, rows)) }); err != nil {
			return nil, err
		}
		if err := fill(rows, func(at int) (int, error) { return results.Next(r.Slice(at, rows)) }); err != nil {
			return nil, err
		}
		if err := c.chunk(ctx, job, first); err != nil {
			return nil, err
		}
	}
	report := &verifyReport{
		Program: "batchbench verify", Version: versionString(), Date: now(), Results: f.results,
		Query: f.options.Query.String(), Precision: f.options.Precision.String(), Tolerance: verify.Number(f.options.Tolerance),
		Columns: columnList(f.options.Columns), Audit: &c.audit, Compare: &c.compare,
	}
	report.Good = report.verdict() == nil
	return report, nil
}

// fill calls next until it has yielded the given number of rows.
func fill(rows int, next func(at int) (int, error)) error {
	for at := 0; at < rows; {
		n, err := next(at)
		if errors.Is(err, io.EOF) || (err == nil && n == 0) {
			return io.ErrUnexpectedEOF
		}
		if err != nil {
			return err
		}
		at += n
	}
	return nil
}

// fromMetadata sets each flag that was not given from the metadata of the results file.
func (f *solveFlags) fromMetadata(meta map[string]string, asked func(string) bool) error {
	for key, set := range map[string]func(string) error{
		metaQuery:     func(s string) (err error) { f.options.Query, err = batch.ParseQuery(s); return err },
		metaTolerance: func(s string) (err error) { f.options.Tolerance, err = strconv.ParseFloat(s, 64); return err },
		metaCutOff:    func(s string) (err error) { f.cutoff, err = strconv.ParseFloat(s, 64); return err },
	} {
		text, ok := meta[key]
		if !ok || asked(key) {
			continue
		}
		if err := set(text); err != nil {
			return fmt.Errorf("metadata %s: %w", key, err)
		}
	}
	if f.options.Query != batch.Distance && !asked(metaCutOff) {
		f.cutoff = math.Inf(1) // that of the file belongs to another query
	}
	return nil
}

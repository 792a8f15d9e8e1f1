package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"clearance"
	"clearance/batch"
	"clearance/dataset"
	"clearance/derive"
	"clearance/internal/console"
	"clearance/internal/score"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// deriveFlags are the flags of `derive`.
type deriveFlags struct {
	inputFlags
	solveFlags
	results, out string
	columns      []string
	pass         derive.Pass
	anyQuery     bool // that of the file counts
}

func newDerive(e *env) *cobra.Command {
	var f deriveFlags
	c := &cobra.Command{
		Use: "derive --shapes shapes.json --pairs pairs.parquet|.npz --results results.parquet|.npz " +
			"--out derivatives.parquet|.npz",
		Short: "differentiate the answers of a file with respect to the poses",
		Long: `Writes derivatives of the answers of a results file with respect to the poses of both
shapes: a file with a row per pair. The results need the columns distance, normal, both
witnesses and status; with gap, rows that are bounds alone have no derivative.

Twelve numbers per derivative: the velocity of the position and the angular velocity of A,
then of B, in world axes. d_normal, d_witness_a and d_witness_b have 36: three rows of twelve.
The column smoothness says what the derivatives of each row are, and which rows have none.`,
		Args: console.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			f.anyQuery = !c.Flags().Changed("query")
			return runDerive(c.Context(), e, &f)
		},
	}
	fs := c.Flags()
	f.addPairs(fs)
	f.addQuestion(fs)
	f.addWorkers(fs)
	fs.StringVar(&f.results, "results", "", "file of results to differentiate, .parquet or .npz")
	fs.StringVar(&f.out, "out", "", "file of derivatives to write, .parquet or .npz")
	fs.StringSliceVar(&f.columns, "columns", columnList(batch.DerivedColumns), "columns to write, separated by commas")
	addDerivative(fs, &f.pass.Options)
	return c
}

func runDerive(ctx context.Context, e *env, f *deriveFlags) error {
	if err := f.checkPairs("batchbench "); err != nil {
		return err
	}
	if err := needFlags("results", f.results, "out", f.out); err != nil {
		return err
	}
	if err := f.solveFlags.check(); err != nil {
		return err
	}
	columns, err := derivedColumns(f.columns)
	if err != nil {
		return err
	}
	if err := f.pass.Options.Check(); err != nil {
		return errors.New(strings.TrimPrefix(err.Error(), "derivative: "))
	}
	inputs := append(f.files(""), namedFile{"results", f.results})
	if err := checkOutputs(inputs, []namedFile{{"out", f.out}}); err != nil {
		return err
	}
	counts, err := deriveFile(ctx, e, f, columns)
	if err != nil {
		return err
	}
	return printSmoothness(e, f, counts)
}

// printSmoothness prints the number of rows by their smoothness.
func printSmoothness(e *env, f *deriveFlags, counts []int64) error {
	var list []string
	for s, n := range counts {
		if n > 0 {
			list = append(list, fmt.Sprintf("%v %s", derive.Smoothness(s), thousands(n)))
		}
	}
	_, err := fmt.Fprintf(e.Stdout, "%v derivatives of the query %v in %s: %s\n", f.pass.Mode, f.options.Query, f.out,
		strings.Join(list, ", "))
	return err
}

// question completes the options by what the results file says of itself.
func (f *deriveFlags) question(results *dataset.ResultReader) error {
	meta := results.Metadata()
	if name := meta[metaQuery]; name != "" {
		query, err := batch.ParseQuery(name)
		if err != nil {
			return fmt.Errorf("%s: %w", f.results, err)
		}
		if !f.anyQuery && query != f.options.Query {
			return fmt.Errorf("%s answers the query %v, not %v; see --query", f.results, query, f.options.Query)
		}
		f.options.Query = query
	}
	if text := meta[metaCutOff]; text != "" && !f.options.HasCutOff {
		v, err := strconv.ParseFloat(text, 64)
		if err != nil {
			return fmt.Errorf("%s: metadata: cut-off %s is no number", f.results,
				strconv.Quote(console.Printable(text, 60)))
		}
		f.options.CutOff, f.options.HasCutOff = v, true
	}
	f.options.Columns, f.options.Precision = results.Columns(), results.Precision()
	if missing := derive.Needs &^ results.Columns(); missing != 0 {
		return fmt.Errorf("%s lacks the columns %s, which derivatives need; see 'batchbench score --columns'",
			f.results, strings.Join(columnList(missing), ", "))
	}
	return plainError(f.options.Check())
}

// deriveFile writes the derivatives and returns the number of rows by smoothness.
func deriveFile(ctx context.Context, e *env, f *deriveFlags, columns batch.Columns) ([]int64, error) {
	lib, pairs, results, err := f.openAnswered(ctx, e, f.results)
	if err != nil {
		return nil, err
	}
	defer pairs.Close()
	defer results.Close()
	n := results.Len()
	if err := f.question(results); err != nil {
		return nil, err
	}
	out, err := createDerivatives(f, columns, n)
	if err != nil {
		return nil, err
	}
	defer out.Abort()
	bar := e.Progress("derive", n)
	defer bar.Done()
	f.pass.Workers = f.workers
	if f.pass.Mode == batch.ZerothDerivative {
		h, err := clearance.Open(clearance.WithBackend("cpu"), clearance.WithWorkers(f.workers))
		if err != nil {
			return nil, err
		}
		defer h.Close()
		f.pass.Answers = h.Answers()
	}
	counts := make([]int64, batch.SmoothnessCount)
	err = score.Chunks(lib, pairs, results, f.options, deriveRows, func(job *batch.Job, first int64) error {
		rows := job.Results.N
		d := batch.NewResults(rows, &batch.Options{Columns: columns | batch.ColSmoothness, Precision: batch.Double})
		f.pass.FirstRow = uint64(first)
		if err := f.pass.Run(ctx, job, d); err != nil {
			return err
		}
		for _, s := range d.Column(batch.ColSmoothness).U8 {
			counts[s]++
		}
		d.Drop(^columns)
		if err := out.Write(d); err != nil {
			return err
		}
		bar.Add(rows)
		return nil
	})
	if err != nil {
		return nil, err
	}
	return counts, out.Close()
}

// deriveRows is the number of rows in memory at a time: of all columns, 127 numbers each.
const deriveRows = 1 << 14

func createDerivatives(f *deriveFlags, columns batch.Columns, n int64) (*dataset.ResultWriter, error) {
	out, err := dataset.CreateResults(f.out, columns, batch.Double, n)
	if err != nil {
		return nil, err
	}
	out.Describe(metaQuery, f.options.Query.String())
	score.DescribeDerivative(out, &f.pass.Options)
	return out, nil
}

// derivedColumns is the set of columns of derivatives by their names.
func derivedColumns(names []string) (set batch.Columns, err error) {
	for _, name := range names {
		c, err := batch.ParseColumn(strings.TrimSpace(name))
		if err != nil || c&batch.DerivedColumns == 0 {
			return 0, fmt.Errorf("--columns: unknown column %q of derivatives, want some of %s", name,
				strings.Join(columnList(batch.DerivedColumns), ", "))
		}
		set |= c
	}
	return set, nil
}

// addDerivative registers the flags that say which derivatives are taken.
func addDerivative(fs *pflag.FlagSet, o *batch.Derivative) {
	fs.Var(choice[batch.DerivativeMode]{&o.Mode, batch.ParseDerivativeMode}, "derivative",
		"exact, gumbel, gaussian or zeroth; the last solves --samples pairs for each row")
	fs.Float64Var(&o.Epsilon, "epsilon", 0, "noise: metres for gumbel, radians for gaussian, relative to the "+
		"size of a pair for zeroth; 0 is the default")
	fs.IntVar(&o.Samples, "samples", 0, "samples of gaussian and zeroth; 0 is the default")
	fs.IntVar(&o.Rings, "rings", 0, "for gumbel: neighbours of the supporting feature, in edges; 0 is all vertices "+
		"that count")
	fs.Uint64Var(&o.Seed, "seed", 1, "seed of the noise of gaussian and zeroth")
}

package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"clearance/batch"
	"clearance/dataset"
	"clearance/derive"
	"clearance/geom"
	"clearance/internal/score"
	"clearance/ref"

	"github.com/spf13/cobra"
	"gonum.org/v1/gonum/spatial/r3"
)

// deriveFlags are the flags of `derive`.
type deriveFlags struct {
	inputFlags
	solveFlags
	results, out string
	columns      string
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
		Args: noArgs,
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
	fs.StringVar(&f.columns, "columns", derive.AllColumns.String(), "columns to write, separated by commas")
	fs.Var(choice[derive.Mode]{&f.pass.Mode, derive.ParseMode}, "derivative",
		"exact, gumbel, gaussian or zeroth; the last solves --samples pairs for each row")
	fs.Float64Var(&f.pass.Epsilon, "epsilon", 0, "noise: metres for gumbel, radians for gaussian, relative to the "+
		"size of a pair for zeroth; 0 is the default")
	fs.IntVar(&f.pass.Samples, "samples", 0, "samples of gaussian and zeroth; 0 is the default")
	fs.IntVar(&f.pass.Rings, "rings", 0, "for gumbel: neighbours of the support vertex, in edges; 0 is all vertices "+
		"that count")
	fs.Uint64Var(&f.pass.Seed, "seed", 1, "seed of the noise")
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
	columns, err := derive.ParseColumns(f.columns)
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
	_, err := fmt.Fprintf(e.stdout, "%v derivatives of the query %v in %s: %s\n", f.pass.Mode, f.options.Query, f.out,
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
			return fmt.Errorf("%s: metadata: cut-off %s is no number", f.results, strconv.Quote(printable(text, 60)))
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
func deriveFile(ctx context.Context, e *env, f *deriveFlags, columns derive.Columns) ([]int64, error) {
	lib, pairs, results, err := f.openAnswered(f.results)
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
	bar := e.progress("derive", n)
	defer bar.done()
	f.pass.Workers, f.pass.Solver = f.workers, referenceSolver
	counts := make([]int64, derive.SmoothnessCount)
	err = score.Chunks(lib, pairs, results, f.options, deriveRows, func(job *batch.Job, first int64) error {
		rows := job.Results.N
		d := derive.NewResults(rows, columns|derive.ColSmoothness)
		f.pass.FirstRow = uint64(first)
		if err := f.pass.Run(ctx, job, d); err != nil {
			return err
		}
		for _, s := range d.Smoothness {
			counts[s]++
		}
		if err := out.Write(rows, valuesOf(d, columns)...); err != nil {
			return err
		}
		bar.add(rows)
		return nil
	})
	if err != nil {
		return nil, err
	}
	return counts, out.Close()
}

// deriveRows is the number of rows in memory at a time: of all columns, 127 numbers each.
const deriveRows = 1 << 14

func createDerivatives(f *deriveFlags, columns derive.Columns, n int64) (*dataset.ColumnWriter, error) {
	var specs []dataset.ColumnSpec
	for _, c := range columns.Each() {
		info := c.Info()
		specs = append(specs, dataset.ColumnSpec{Name: info.Name, Width: info.Width, Codes: c == derive.ColSmoothness})
	}
	out, err := dataset.CreateColumns(f.out, specs, n)
	if err != nil {
		return nil, err
	}
	out.Describe(metaQuery, f.options.Query.String())
	out.Describe("derivative", f.pass.Mode.String())
	if f.pass.Mode != derive.Exact {
		out.Describe("epsilon", strconv.FormatFloat(f.pass.Epsilon, 'g', -1, 64))
		out.Describe("samples", strconv.Itoa(f.pass.Samples))
		out.Describe("rings", strconv.Itoa(f.pass.Rings))
		out.Describe("seed", strconv.FormatUint(f.pass.Seed, 10))
	}
	if columns&derive.ColSmoothness != 0 {
		var codes []string
		for s := range derive.SmoothnessCount {
			codes = append(codes, fmt.Sprintf("%d=%v", s, s))
		}
		out.Describe("smoothness", strings.Join(codes, ","))
	}
	return out, nil
}

// valuesOf lists the columns as they are written.
func valuesOf(d *derive.Results, columns derive.Columns) (values []any) {
	for _, c := range columns.Each() {
		if c == derive.ColSmoothness {
			values = append(values, d.Smoothness)
			continue
		}
		values = append(values, d.Reals(c))
	}
	return values
}

// referenceSolver answers a row at other poses by the reference, for estimates of order zero.
func referenceSolver(r *derive.Row) derive.Solver {
	var ws ref.Workspace
	a, b := r.A, r.B
	growth := r.Growth
	c := ref.GrowthCenters{A: r.CenterA, B: r.CenterB}
	if growth {
		c.InradiusA, c.InradiusB = geom.InradiusAt(a, c.A), geom.InradiusAt(b, c.B)
	}
	return func(poseA, poseB geom.Pose) (value float64, normal, witnessA, witnessB r3.Vec, ok bool) {
		p := ref.NewPair(a, b, poseA, poseB)
		var s ref.Result
		if growth {
			s = ref.Growth(&p, c, ref.GrowthOptions{}, &ws)
		} else {
			s = ref.Solve(&p, ref.Options{}, &ws)
		}
		ok = s.Status <= ref.Penetrating && !math.IsNaN(s.Distance)
		return s.Distance, p.DirToWorld(s.Normal), p.ToWorld(s.WitnessA), p.ToWorld(s.WitnessB), ok
	}
}

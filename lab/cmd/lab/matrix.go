package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"clearance"
	"clearance/batch"
	"clearance/dataset/generate"
	"clearance/internal/console"
	"clearance/lab/matrix"
	"clearance/lab/peers"

	"github.com/spf13/cobra"
)

// matrixFlags are the flags of `matrix`.
type matrixFlags struct {
	plan      matrix.Plan
	lab       matrix.Lab
	sizes     []string
	simd, out string
	quick     bool
	printOnly bool
}

func newMatrix(e *env) *cobra.Command {
	var f matrixFlags
	c := &cobra.Command{
		Use:   "matrix",
		Short: "throughput by query, set, separation, precision, batch size, threads and back end",
		Long: `Measures pairs per second for every combination of the flags, checks the answers that
were timed, and writes ` + matrix.ReportFile + `, ` + matrix.ResultsFile + ` (which 'compare' reads) and figures.

Tables: questions (query × set × separation × precision on one thread), threads (of the
CPU), sizes (pairs per call). Cases of an earlier report in the folder that this run does
not measure are kept, so that long plans can be measured in parts.

Sets: ` + strings.Join(setsWithout("mesh", "adversarial"), ", ") + ".",
		Args: console.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			f.quickly(c.Flags().Changed)
			return runMatrix(c.Context(), e, &f)
		},
	}
	fs := c.Flags()
	p := &f.plan
	fs.StringVar(&f.out, "out", "throughput-report", "folder of the report")
	fs.BoolVar(&f.quick, "quick", false, "small batches and short rounds, unless set by other flags: for a trial, or "+
		"for emulated devices")
	fs.BoolVar(&f.printOnly, "print-only", false,
		"write the page and the figures from the "+matrix.ResultsFile+" in --out, without measuring")
	fs.StringSliceVar(&p.Tables, "tables", matrix.Tables(), "tables to measure")
	fs.StringSliceVar(&p.Sets, "sets", setsWithout("mesh", "adversarial"), "sets of the pairs")
	fs.StringSliceVar(&p.Regimes, "separations", matrix.Regimes(), "separations")
	fs.StringSliceVar(&p.Queries, "queries", batch.AnsweredQueries(), "queries, in the table of questions")
	fs.StringSliceVar(&p.Precisions, "precisions", []string{"single", "double"},
		"precisions, in the table of questions")
	fs.StringSliceVar(&p.Backends, "backends", []string{"cpu"},
		"back ends: cpu, ref, vulkan or a Vulkan device as vulkan:1")
	fs.IntVar(&p.Pairs, "pairs", 1<<14, "pairs per call in the table of questions")
	fs.IntVar(&p.ThreadPairs, "thread-pairs", 1<<16, "pairs per call in the table of threads")
	fs.StringSliceVar(&f.sizes, "sizes", []string{"1", "10", "100", "1e3", "1e4", "1e5", "1e6"},
		"pairs per call in the table of sizes")
	fs.IntSliceVar(&p.Threads, "threads", nil, "numbers of threads; default: 1, 2, 4, … and all; the largest is used "+
		"in the table of sizes")
	fs.IntVar(&f.lab.Rounds, "rounds", 7, "rounds; 'compare' needs 5 or more")
	fs.DurationVar(&f.lab.Time, "time", 10*time.Millisecond, "minimum time of a round; short calls are repeated")
	fs.IntVar(&f.lab.Sample, "sample", 200, "answers per case that the reference solves again; 0 is none")
	fs.Uint64Var(&f.lab.Seed, "seed", 1, "seed of the sets")
	fs.StringVar(&f.simd, "simd", "", "kernels of the CPU back end: avx512, avx2, neon, portable or off; default: "+
		"$CLEARANCE_SIMD, else the best")
	return c
}

// quickly applies --quick to the values that no other flag has set.
func (f *matrixFlags) quickly(changed func(string) bool) {
	if !f.quick {
		return
	}
	if !changed("pairs") {
		f.plan.Pairs = 1 << 10
	}
	if !changed("thread-pairs") {
		f.plan.ThreadPairs = 1 << 12
	}
	if !changed("sizes") {
		f.sizes = []string{"1", "100", "1e4"}
	}
	if !changed("time") {
		f.lab.Time = time.Millisecond
	}
	if !changed("sample") {
		f.lab.Sample = 20
	}
}

// threadCounts are 1, 2, 4 and so on up to n, and n.
func threadCounts(n int) (list []int) {
	for k := 1; k < n; k *= 2 {
		list = append(list, k)
	}
	return append(list, n)
}

// parseSizes reads numbers of pairs, as 1000 or 1e3.
func parseSizes(texts []string) (sizes []int, err error) {
	for _, s := range texts {
		v, err := strconv.ParseFloat(strings.TrimSpace(s), 64)
		if err != nil || !(v >= 1 && v <= 1e8) || v != math.Trunc(v) {
			return nil, fmt.Errorf("--sizes: %q is not a number of pairs, want integers from 1 to 1e8, such as 1000 "+
				"or 1e6", s)
		}
		sizes = append(sizes, int(v))
	}
	return sizes, nil
}

// cases checks the flags and expands the plan.
func (f *matrixFlags) cases() ([]matrix.Case, error) {
	p := &f.plan
	if err := checkKernels(f.simd); err != nil {
		return nil, err
	}
	if err := checkSets("--sets", p.Sets, generate.Names()); err != nil {
		return nil, err
	}
	if slices.Contains(p.Sets, "mesh") || slices.Contains(p.Sets, "adversarial") {
		return nil, errors.New("--sets: the sets mesh and adversarial have no separations")
	}
	err := checkBackends("--backends", p.Backends)
	if err != nil {
		return nil, err
	}
	if p.Sizes, err = parseSizes(f.sizes); err != nil {
		return nil, err
	}
	if len(p.Threads) == 0 {
		p.Threads = threadCounts(runtime.GOMAXPROCS(0))
	}
	switch {
	case f.lab.Rounds < 1 || f.lab.Rounds > maxRounds:
		return nil, fmt.Errorf("--rounds %d: want 1 to %d", f.lab.Rounds, maxRounds)
	case max(p.Pairs, p.ThreadPairs) > maxCallRows:
		return nil, fmt.Errorf("--pairs %d, --thread-pairs %d: want at most %d", p.Pairs, p.ThreadPairs, maxCallRows)
	case slices.Min(p.Threads) < 1:
		return nil, fmt.Errorf("--threads %d: want 1 or more", slices.Min(p.Threads))
	case slices.Max(p.Threads) > maxWorkers:
		return nil, fmt.Errorf("--threads %d: want at most %d", slices.Max(p.Threads), maxWorkers)
	case min(p.Pairs, p.ThreadPairs) < 1:
		return nil, fmt.Errorf("--pairs %d, --thread-pairs %d: want 1 or more", p.Pairs, p.ThreadPairs)
	case f.lab.Time <= 0:
		return nil, fmt.Errorf("--time %v: want a time above 0", f.lab.Time)
	case f.lab.Sample < 0 || f.lab.Sample > maxCallRows:
		return nil, fmt.Errorf("--sample %d: want 0 (none) to %d", f.lab.Sample, maxCallRows)
	}
	err = errors.Join(checkCall("--pairs", p.Pairs), checkCall("--thread-pairs", p.ThreadPairs),
		checkCall("--sizes", slices.Max(append(p.Sizes, 0))))
	if err != nil {
		return nil, err
	}
	list, err := p.Cases()
	if err != nil {
		return nil, errors.New(strings.TrimPrefix(err.Error(), "batch: "))
	}
	return list, nil
}

func runMatrix(ctx context.Context, e *env, f *matrixFlags) error {
	path := filepath.Join(f.out, matrix.ResultsFile)
	if f.printOnly {
		r, err := matrix.Load(path)
		if err != nil {
			return err
		}
		return finishMatrix(e, f, r)
	}
	cases, err := f.cases()
	if err != nil {
		return err
	}
	r := matrix.NewReport(matrix.Header{
		Version: console.Version(), Platform: console.Platform(), Processor: peers.Processor(), Cores: runtime.NumCPU(),
		SIMD: f.simd, Seed: f.lab.Seed, Rounds: f.lab.Rounds, Sample: f.lab.Sample,
	})
	earlier, err := matrix.Load(path)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	if earlier != nil { // an error of the Add below, before measuring
		if err := matrix.NewReport(r.Header).Add(earlier); err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
	}
	if err := os.MkdirAll(f.out, 0o755); err != nil {
		return err
	}
	if err := console.CheckWritable(path); err != nil {
		return err
	}
	bar, last := e.Progress("matrix", int64(len(cases))), 0
	f.lab.Progress = func(done, _ int) { bar.Add(done - last); last = done }
	f.lab.Open = func(backend string, workers int) (*clearance.Handle, error) {
		return clearance.Open(clearance.WithBackend(backend), clearance.WithWorkers(workers),
			clearance.WithSIMD(f.simd))
	}
	err = f.lab.Run(ctx, cases, r)
	bar.Done()
	if err != nil {
		return err
	}
	if earlier != nil {
		if err := r.Add(earlier); err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
	}
	r.Date = console.Now()
	return finishMatrix(e, f, r)
}

// finishMatrix writes the report and returns an error for wrong and undecided answers.
func finishMatrix(e *env, f *matrixFlags, r *matrix.Report) error {
	if err := r.Write(f.out); err != nil {
		return err
	}
	if _, err := fmt.Fprintln(e.Stdout, filepath.Join(f.out, matrix.ReportFile)); err != nil {
		return err
	}
	if wrong, undecided := r.Faults(); wrong+undecided > 0 {
		return console.Wrong("not every answer is good: %s, %s undecided or invalid", plural(wrong, "fault"),
			fmt.Sprint(undecided))
	}
	return nil
}

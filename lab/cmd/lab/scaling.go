package main

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"time"

	"clearance/cpu"
	"clearance/dataset/generate"
	"clearance/internal/console"
	"clearance/lab/peers"
	"clearance/lab/scaling"
	"clearance/verify"

	"github.com/spf13/cobra"
)

// scalingFlags are the flags of `scaling`.
type scalingFlags struct {
	scaling.Options
	bandwidth float64 // GB/s
	out, json string
}

func newScaling(e *env) *cobra.Command {
	var f scalingFlags
	c := &cobra.Command{
		Use:   "scaling",
		Short: "CPU time of a row inside and outside the workers, and what it predicts for more cores",
		Long: `Measures the CPU time of a row in the workers of the back end cpu, of readers, writers,
rollouts and audits, by the clocks of their threads, and that of everything else in the
process, divided by samples: own code and system calls of goroutines of which there is
one however many cores there are, and the runtime of Go. With the bytes of a row they
predict the rows per second of machines with more cores. It needs Linux.

Sets: ` + strings.Join(setsWithout("mesh", "adversarial"), ", ") + ".",
		Args: console.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return runScaling(c.Context(), e, &f) },
	}
	fs := c.Flags()
	fs.StringSliceVar(&f.Sets, "set", []string{"boxes", "hull32"}, "sets of the pairs")
	fs.StringSliceVar(&f.Paths, "path", nil, "beginnings of the names of the paths to measure, such as "+
		"distance,score; default: all")
	fs.IntVar(&f.Pairs, "pairs", 1<<20, "pairs per call")
	fs.IntVar(&f.Rounds, "rounds", 3, "calls of each path; the one that uses the least CPU time counts")
	fs.Uint64Var(&f.Seed, "seed", 1, "seed of the sets")
	fs.DurationVar(&f.Samples, "samples", 10*time.Second, "CPU time in which each path is sampled, 100 times per "+
		"second, to divide what is outside the workers into own code, the kernel and the runtime of Go; 0: not "+
		"divided")
	fs.IntSliceVar(&f.Cores, "cores", []int{2, 16, 64, 192}, "cores of the machines that are predicted")
	fs.Float64Var(&f.bandwidth, "bandwidth", 0, "bandwidth of their memory in GB/s, read and written; 0: that of this "+
		"machine, in proportion to the cores")
	fs.StringVar(&f.SIMD, "simd", "", "kernels of the CPU, as in CLEARANCE_SIMD")
	fs.StringVar(&f.out, "out", "", "folder for scaling.md, scaling.json and a figure; default: the table alone is "+
		"printed")
	fs.StringVar(&f.json, "json", "", "write the report as JSON to this file; - is standard output, in place of the "+
		"table")
	return c
}

func runScaling(ctx context.Context, e *env, f *scalingFlags) error {
	f.Bandwidth = 1e9 * f.bandwidth
	if err := checkSets("--set", f.Sets, generate.Names()); err != nil {
		return err
	}
	for _, set := range []string{"mesh", "adversarial"} {
		if slices.Contains(f.Sets, set) {
			return fmt.Errorf("--set: the set %s has no worlds", set)
		}
	}
	if err := f.Check(maxCallRows); err != nil {
		return fmt.Errorf("scaling: %w", err)
	}
	if f.Rounds > maxRounds {
		return fmt.Errorf("--rounds %d: want 1 to %d", f.Rounds, maxRounds)
	}
	if err := checkCall("--pairs", f.Pairs); err != nil {
		return err
	}
	if err := console.CheckWritable(f.json); err != nil {
		return fmt.Errorf("--json: %w", err)
	}
	back, err := cpu.New(cpu.Options{SIMD: f.SIMD})
	if err != nil {
		return err
	}
	r := &scaling.Report{Program: "lab scaling", Version: console.Version(), Date: console.Now(),
		Platform: console.Platform(), Processor: peers.Processor(), SIMD: back.SIMD(), Pairs: f.Pairs,
		Rounds: f.Rounds, Seed: f.Seed,
		Here: runtime.GOMAXPROCS(0), Cores: f.Cores, Bandwidth: verify.Number(f.Bandwidth)}
	bar := e.Progress("scaling", int64(len(f.Sets)*len(scaling.PathNames())))
	f.Progress = func(points int) { bar.Add(points) }
	err = scaling.Measure(ctx, &f.Options, r)
	bar.Done()
	if err != nil {
		return err
	}
	if f.json != "-" {
		if err := r.Table(e.Stdout); err != nil {
			return err
		}
	}
	if f.json != "" {
		if err := console.WriteJSON(e.Stdout, f.json, r); err != nil {
			return err
		}
	}
	if f.out == "" {
		return nil
	}
	return r.Write(f.out)
}

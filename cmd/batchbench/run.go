package main

import (
	"context"
	"fmt"
	"runtime"
	"strings"

	"clearance/dataset/generate"
	"clearance/dispatch"
	"clearance/verify"

	"github.com/spf13/cobra"
)

// clockText describes what the times of `run` include.
const clockText = "end to end, from pairs in host memory to answers in host memory; generating and checking are outside"

// runFlags are the flags of `run`.
type runFlags struct {
	solveFlags
	sets   []string
	meshes []string
	pairs  int64
	seed   uint64
	rounds int
	sample int64
	json   string
	beside string
}

func newRun(e *env) *cobra.Command {
	var f runFlags
	c := &cobra.Command{
		Use:   "run",
		Short: "the main job: run seeded sets, check every answer, print the table",
		Long: `Runs seeded sets of all kinds of pairs, audits every answer from the shapes alone,
has the reference solve a sample again, checks that repeated rounds give the same
bits, and prints speed and accuracy in one table.

` + setsText(),
		Args: noArgs,
		RunE: func(c *cobra.Command, _ []string) error { return runSets(c.Context(), e, &f) },
	}
	fs := c.Flags()
	fs.Int64Var(&f.pairs, "pairs", 1_000_000, "total number of pairs, divided evenly among the sets")
	fs.StringSliceVar(&f.sets, "sets", benchmarkSets(), "sets to run; all: "+strings.Join(generate.Names(), ", "))
	fs.StringSliceVar(&f.meshes, "mesh", nil, "mesh file (OBJ, STL, PLY) or directory for the set mesh; may be "+
		"repeated")
	fs.Uint64Var(&f.seed, "seed", 1, "seed of the sets")
	fs.IntVar(&f.rounds, "rounds", 5, "number of times that every pair is run; the table shows the median")
	fs.Int64Var(&f.sample, "sample", defaultSample, "rows of every set that the reference solves again; 0 is none")
	fs.StringVar(&f.json, "json", "", "write the report as JSON to this file; - is standard output, in place of the "+
		"table")
	fs.StringVar(&f.beside, "beside", "cpu", "second back end, run on the same pairs as a Vulkan device and shown in "+
		"the same table; cpu, ref or none")
	f.solveFlags.add(fs)
	return c
}

// check returns an error for a flag out of range.
func (f *runFlags) check() error {
	if err := checkSets("--sets", f.sets); err != nil {
		return err
	}
	switch {
	case f.pairs < int64(len(f.sets)):
		return fmt.Errorf("--pairs %d: want at least one for each of %s", f.pairs, plural(len(f.sets), "set"))
	case f.rounds < 1 || f.rounds > maxRounds:
		return fmt.Errorf("--rounds %d: want 1 to %d", f.rounds, maxRounds)
	case f.pairs > maxPairs:
		return fmt.Errorf("--pairs %d: want at most %d", f.pairs, int64(maxPairs))
	case f.sample < 0:
		return fmt.Errorf("--sample %d: want 0 (none) or more", f.sample)
	}
	if err := checkBeside(f.beside); err != nil {
		return err
	}
	return f.solveFlags.check()
}

func runSets(ctx context.Context, e *env, f *runFlags) error {
	if err := f.check(); err != nil {
		return err
	}
	if err := checkOutputs(meshInputs(f.meshes), []namedFile{{"json", f.json}}); err != nil {
		return err
	}
	rows := min(f.pairs/int64(len(f.sets)), chunkRows) // per call
	h, chosen, err := f.choose(int(rows))
	if err != nil {
		return err
	}
	defer h.Close()

	report, names := newRunReport(f, chosen), []string{chosen.Name()}
	beside, err := f.besideOf(h.Dispatcher(), chosen, f.beside)
	if err != nil {
		return err
	}
	if beside != nil {
		report.Beside = &besideReport{Backend: beside.Name(), Device: devicesText(beside.Devices())}
		names = append(names, beside.Name())
	}
	sets := int64(len(f.sets))
	for i, name := range f.sets {
		pairs := f.pairs / sets
		if int64(i) < f.pairs%sets {
			pairs++
		}
		bar := e.progress(name, pairs*int64(f.rounds+1)*int64(len(names)))
		m := &measurement{flags: f}
		for _, backend := range names {
			m.subjects = append(m.subjects, &subject{flags: f, dispatcher: h.Dispatcher(), backend: backend, bar: bar})
		}
		err := m.run(ctx, name, pairs)
		bar.done()
		if err != nil {
			return err
		}
		report.Sets = append(report.Sets, m.subjects[0].report)
		if report.Beside != nil {
			report.Beside.Sets = append(report.Beside.Sets, m.subjects[1].report)
		}
	}
	report.summarize()

	if f.json != "-" {
		if err := report.printTable(e.stdout); err != nil {
			return err
		}
	}
	if f.json != "" {
		if err := writeJSON(e.stdout, f.json, report); err != nil {
			return err
		}
	}
	if !report.Good {
		t := report.Total // the worse of the two
		if report.Beside != nil && t.good() {
			t = report.Beside.Total
		}
		return exitf(exitWrong, "not every answer is good: %s, %s undecided, %s invalid", plural(t.wrong(), "fault"),
			thousands(t.Counts.Undecided), thousands(t.bad()))
	}
	return nil
}

func newRunReport(f *runFlags, c *dispatch.Choice) *runReport {
	o := &f.options
	return &runReport{
		Program: "batchbench run", Version: versionString(), Date: now(), Platform: platform(),
		Backend: c.Name(), Device: devicesText(c.Devices()), Cores: runtime.NumCPU(),
		Query: o.Query.String(), Method: o.Method.String(), Precision: o.Precision.String(),
		Tolerance: verify.Number(o.Tolerance), Columns: columnList(o.Columns),
		Seed: f.seed, Rounds: f.rounds, Clock: clockText,
	}
}

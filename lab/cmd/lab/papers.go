package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"clearance"
	"clearance/cpu"
	"clearance/internal/console"
	"clearance/lab/papers"

	"github.com/spf13/cobra"
)

type papersFlags struct {
	quick, printOnly bool
	out, meshes      string
	only             []string
}

func newPapers(e *env) *cobra.Command {
	var f papersFlags
	var list strings.Builder
	for _, x := range papers.Experiments {
		fmt.Fprintf(&list, "  %-14s %s\n", x.Name, x.About)
	}
	c := &cobra.Command{
		Use:   "papers",
		Short: "repeat the experiments of the papers and report them beside the published figures",
		Long: `papers repeats the experiments of the papers behind the solvers, with the reference
solvers, and writes papers.md (tables "paper | ours | ratio", figures, reasons), papers.json
and the figures as SVG. Counts follow from the seed; times are this machine's.

Experiments:
` + list.String(),
		Args: console.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return runPapers(c, e, &f) },
	}
	fl := c.Flags()
	fl.BoolVar(&f.quick, "quick", false, "fewer pairs and lower limits: a few minutes instead of most of an hour")
	fl.StringVar(&f.out, "out", "papers-report", "folder of the report; earlier results in it are kept for "+
		"experiments that --only excludes")
	fl.StringVar(&f.meshes, "meshes", "", "folder of scanned objects (OBJ, STL, PLY, metres) for the experiments on "+
		"meshes; without it, random hulls")
	fl.StringSliceVar(&f.only, "only", nil, "run only these experiments, by name")
	fl.BoolVar(&f.printOnly, "print-only", false, "print the report from the papers.json in --out, without running "+
		"anything")
	return c
}

func runPapers(c *cobra.Command, e *env, f *papersFlags) error {
	r := new(papers.Results)
	if f.printOnly || len(f.only) > 0 {
		old, err := papers.Load(filepath.Join(f.out, papers.ResultsFile))
		switch {
		case err == nil:
			r = old
		case f.printOnly || !os.IsNotExist(err):
			return err
		}
		if !f.printOnly && err == nil && r.Quick != f.quick {
			return fmt.Errorf("%s holds a run with --quick=%t; choose another folder with --out", f.out, r.Quick)
		}
	}
	if !f.printOnly {
		one, err := clearance.Open(clearance.WithBackend("cpu"), clearance.WithWorkers(1))
		if err != nil {
			return err
		}
		defer one.Close()
		lab := &papers.Lab{Quick: f.quick, Answers: one.Answers()}
		if console.IsTerminal(e.Stderr) {
			lab.Log = e.Stderr // one line per experiment
		}
		if f.meshes != "" {
			var err error
			if lab.Meshes, err = papers.LoadMeshes(f.meshes); err != nil {
				return err
			}
		}
		processor, err := cpu.New(cpu.Options{})
		if err != nil {
			return err
		}
		r.Version, r.Machine = console.Version(), processor.Device().Name
		if err := papers.Run(c.Context(), lab, r, f.only...); err != nil {
			return err
		}
	}
	if err := r.Write(f.out); err != nil {
		return err
	}
	_, err := fmt.Fprintln(e.Stdout, filepath.Join(f.out, papers.ReportFile))
	return err
}

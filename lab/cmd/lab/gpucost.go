package main

import (
	"clearance/internal/console"
	"clearance/lab/gpucost"

	"github.com/spf13/cobra"
)

func newGPUCost(e *env) *cobra.Command {
	var o gpucost.Options
	c := &cobra.Command{
		Use:   "gpu-cost",
		Short: "registers, spills and instructions of the shaders on GPUs, by compilers and without a GPU",
		Long: `Compiles the pipelines of the Vulkan back end for AMD's GPUs with Mesa's RADV, or with NVIDIA's
compilers of CUDA, and writes the figures as JSON and as a page. With --check it compares with the
results in the folder instead, and exits with code 1 where something became worse by more than a
tenth. Run it in the root of the repository.`,
		Args: console.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			found, err := gpucost.Run(&o, e.Stdout)
			if err == nil && found > 0 {
				err = console.Wrong("%d differences from the results in %s; where they are meant, run 'make gpu-cost' "+
					"and commit the results", found, o.Out)
			}
			return err
		},
	}
	fs := c.Flags()
	fs.StringVar(&o.Out, "out", "lab/results", "folder of the results and of their page")
	fs.BoolVar(&o.Check, "check", false, "compare with the results in the folder, and write nothing")
	fs.BoolVar(&o.PrintOnly, "print-only", false, "write the page from the results in the folder, without compiling")
	fs.StringVar(&o.NVIDIA, "nvidia", "", "compile with NVIDIA's compilers in this folder, in place of RADV")
	return c
}

// Command lab measures Clearance: the experiments of the papers repeated, other libraries on the same pairs, throughput
// and accuracy, CPU time for predictions, what the shaders cost on GPUs, and two versions compared.
//
// Its exit codes are those of batchbench.
package main

import (
	"context"
	"io"
	"os"

	"clearance/internal/console"
	"clearance/lab/gpucost"

	"github.com/spf13/cobra"
)

func main() {
	if gpucost.InChild() {
		os.Exit(gpucost.Child(os.Stdout, os.Stderr))
	}
	console.Main(program, newRoot, nil)
}

const program = "lab"

// env is the environment of a command.
type env = console.Env

// run runs one command line and returns the exit code.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	e := &env{Program: program, Stdout: stdout, Stderr: stderr}
	return e.Run(ctx, newRoot(e), args)
}

func newRoot(e *env) *cobra.Command {
	root := &cobra.Command{
		Use:   program,
		Short: "measurements of Clearance, beside papers, other libraries and earlier versions",
		Args:  console.NoArgs,
		RunE:  func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	root.AddCommand(newPapers(e), newPeers(e), newMatrix(e), newScaling(e), newGPUCost(e), newCompare(e))
	return root
}

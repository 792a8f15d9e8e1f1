// Command batchbench runs, scores and checks batches of convex pair queries.
//
// Without a subcommand it runs the main job: seeded sets of all kinds of pairs, every answer
// audited and a sample compared with the reference solvers, as a table.
//
// Results and reports go to standard output, everything else to standard error.
// Progress is shown on a terminal only. Exit codes:
//
//	0    everything was done and every answer is good
//	1    wrong or undecided answers were found
//	2    bad input or usage, or a file that cannot be read or written
//	3    no usable back end
//	130  interrupted; no incomplete file is left
package main

import (
	"context"
	"fmt"
	"io"

	"clearance/internal/console"

	"github.com/spf13/cobra"
)

func main() {
	deviceProbe = probeCommand()
	console.Main(program, newRoot, atProgress)
}

const program = "batchbench"

// Exit codes, see the package comment.
const (
	exitGood        = console.ExitGood
	exitWrong       = console.ExitWrong
	exitBadInput    = console.ExitBadInput
	exitNoBackend   = console.ExitNoBackend
	exitInterrupted = console.ExitInterrupted
)

// atProgress is set by tests alone, see [console.Env].
var atProgress func(ctx context.Context, what string, done int)

// run runs one command line and returns the exit code.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	e := &env{Program: program, Stdout: stdout, Stderr: stderr}
	return e.Run(ctx, newRoot(e), args)
}

// env is the environment of a command.
type env = console.Env

// newRoot returns the command tree. Without a subcommand it runs the main job.
func newRoot(e *env) *cobra.Command {
	root := newRun(e)
	root.Use = "batchbench"
	root.Short = "batches of convex pair queries: run, score, check"
	root.Long = `batchbench answers millions of convex pair queries in one call and checks every answer.

Without a subcommand it runs the main job ('batchbench run'): seeded sets of all
kinds of pairs on the best device available, every answer audited from the shapes
alone, a sample solved again by the reference, the measurements in one table.

Exit codes: 0 good, 1 wrong or undecided answers found, 2 bad input or usage,
3 no usable back end, 130 interrupted.`
	root.AddCommand(newRun(e), newScore(e), newRollout(e), newSweep(e), newDerive(e), newContact(e), newStep(e),
		newVerify(e), newGenerate(e), newDevices(e), newTryDevice(e), newFit(e), newThroughput(e), newView(e),
		newDecompose(e), newConvert(e), newVersion(e))
	return root
}

func newVersion(e *env) *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "print the version",
		Args:  console.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			_, err := fmt.Fprintf(e.Stdout, "batchbench %s (%s)\n", console.Version(), console.Platform())
			return err
		},
	}
}

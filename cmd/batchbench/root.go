package main

import (
	"fmt"
	"io"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

// env is the environment of a command.
type env struct {
	stdout, stderr io.Writer
	at             func(what string, done int) // nil, or called as the progress of a command advances
}

// warn writes one line to standard error.
func (e *env) warn(format string, args ...any) {
	fmt.Fprintln(e.stderr, "batchbench: "+printable(oneLine(fmt.Sprintf(format, args...)), maxText))
}

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
	root.SilenceErrors = true
	root.SilenceUsage = true
	root.CompletionOptions.HiddenDefaultCmd = true
	root.SetFlagErrorFunc(func(c *cobra.Command, err error) error {
		return fmt.Errorf("%w; see '%s --help'", err, c.CommandPath())
	})
	root.AddCommand(newRun(e), newScore(e), newRollout(e), newSweep(e), newDerive(e), newContact(e), newStep(e),
		newVerify(e), newGenerate(e), newDevices(e), newTryDevice(e), newFit(e), newThroughput(e), newScaling(e),
		newMatrix(e), newPapers(e), newPeers(e), newCompare(e), newView(e), newDecompose(e), newVersion(e))
	return root
}

// noArgs rejects positional arguments.
func noArgs(c *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	if c.HasSubCommands() {
		return fmt.Errorf("unknown command %q; 'batchbench --help' lists the commands", args[0])
	}
	return fmt.Errorf("unexpected argument %q; see '%s --help'", args[0], c.CommandPath())
}

// version is set by the Makefile, with -ldflags.
var version string

// versionString returns the version of the program.
func versionString() string {
	if version != "" {
		return version
	}
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" && info.Main.Version != "(devel)" {
		return info.Main.Version
	}
	return "devel"
}

// platform names the system and the Go release that built the program.
func platform() string {
	return runtime.GOOS + "/" + runtime.GOARCH + ", " + runtime.Version()
}

func newVersion(e *env) *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "print the version",
		Args:  noArgs,
		RunE: func(*cobra.Command, []string) error {
			_, err := fmt.Fprintf(e.stdout, "batchbench %s (%s)\n", versionString(), platform())
			return err
		},
	}
}

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
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"os/signal"
	"runtime"
	"runtime/debug"
	"strings"
	"syscall"
	"time"

	"clearance/dataset"
	"clearance/dispatch"
	"clearance/internal/memory"

	"github.com/spf13/cobra"
)

// Exit codes, see the package comment.
const (
	exitGood        = 0
	exitWrong       = 1
	exitBadInput    = 2
	exitNoBackend   = 3
	exitInterrupted = 130
)

// exitError is an error with an exit code. The exit code of any other error is
// exitBadInput.
type exitError struct {
	code int
	err  error
}

func (e *exitError) Error() string { return e.err.Error() }
func (e *exitError) Unwrap() error { return e.err }

// exitf returns an exitError.
func exitf(code int, format string, args ...any) error {
	return &exitError{code, fmt.Errorf(format, args...)}
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), endSignals()...)
	// After the first signal the default takes over, so a second one ends at once.
	context.AfterFunc(ctx, stop)
	context.AfterFunc(ctx, func() {
		time.AfterFunc(grace, func() { abandon(os.Stderr, os.Exit) })
	})
	deviceProbe = probeCommand()
	if os.Getenv("GOMEMLIMIT") == "" { // garbage is collected in time where memory is short
		debug.SetMemoryLimit(int64(min(0.9*memory.Available(), math.MaxInt64/2)))
	}
	e := &env{stdout: os.Stdout, stderr: os.Stderr}
	if atProgress != nil {
		e.at = func(what string, done int) { atProgress(ctx, what, done) }
	}
	os.Exit(e.run(ctx, os.Args[1:]))
}

// atProgress is set by tests alone, see env.
var atProgress func(ctx context.Context, what string, done int)

// grace is how long a run may take to end after a signal. Work that looks at no context, such
// as a hull of a million points, is abandoned then.
const grace = 800 * time.Millisecond

// abandon ends the process without waiting for the run, and says what it leaves.
func abandon(stderr io.Writer, exit func(code int)) {
	text := "no output file was written"
	if complete := dataset.AbandonOutputs(); len(complete) > 0 {
		text = "complete: " + strings.Join(complete, ", ")
	}
	fmt.Fprintln(stderr, "batchbench: interrupted; "+printable(text, maxText))
	exit(exitInterrupted)
}

// endSignals are the signals that end a run in order. Under nohup SIGHUP stays ignored.
func endSignals() []os.Signal {
	list := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) {
		list = append(list, syscall.SIGHUP)
	}
	return list
}

// run runs one command line and returns the exit code.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	return (&env{stdout: stdout, stderr: stderr}).run(ctx, args)
}

func (e *env) run(ctx context.Context, args []string) int {
	root := newRoot(e)
	root.SetArgs(args)
	root.SetOut(e.stdout)
	root.SetErr(e.stderr)
	err := root.ExecuteContext(ctx)
	if err == nil {
		return exitGood
	}
	code := exitCode(err)
	if code == exitInterrupted {
		err = errors.New("interrupted; no output file was written")
	}
	fmt.Fprintln(e.stderr, "batchbench: "+printable(oneLine(err.Error()), maxText))
	return code
}

// exitCode returns the exit code for an error.
func exitCode(err error) int {
	var e *exitError
	switch {
	case errors.Is(err, context.Canceled):
		return exitInterrupted
	case errors.As(err, &e):
		return e.code
	case errors.Is(err, dispatch.ErrNoBackend):
		return exitNoBackend
	default:
		return exitBadInput
	}
}

// oneLine joins the lines of a message, so that an error is one line in a log.
func oneLine(s string) string {
	lines := strings.FieldsFunc(s, func(r rune) bool { return r == '\n' || r == '\r' })
	for i := range lines {
		lines[i] = strings.TrimSpace(lines[i])
	}
	return strings.Join(lines, "; ")
}

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
		newMatrix(e), newPapers(e), newPeers(e), newCompare(e), newView(e), newDecompose(e), newConvert(e),
		newVersion(e))
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

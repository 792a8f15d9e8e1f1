// Package console holds what commands share: exit codes, messages, progress, files of reports.
//
// Results and reports go to standard output, everything else to standard error, a line a message that begins with the
// name of the program. Progress is shown on a terminal only.
package console

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
	"sync/atomic"
	"syscall"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/schollz/progressbar/v3"
	"github.com/spf13/cobra"
	"golang.org/x/term"

	"clearance/dataset/output"
	"clearance/dispatch"
	"clearance/internal/memory"
)

// Exit codes of the commands.
const (
	ExitGood        = 0   // everything was done and every answer is good
	ExitWrong       = 1   // wrong or undecided answers were found
	ExitBadInput    = 2   // bad input or usage, or a file that cannot be read or written
	ExitNoBackend   = 3   // no usable back end
	ExitInterrupted = 130 // interrupted; no incomplete file is left
)

// exitError is an error with an exit code. The exit code of any other error is ExitBadInput.
type exitError struct {
	code int
	err  error
}

func (e *exitError) Error() string { return e.err.Error() }
func (e *exitError) Unwrap() error { return e.err }

// Exitf returns an error with an exit code.
func Exitf(code int, format string, args ...any) error {
	return &exitError{code, fmt.Errorf(format, args...)}
}

// Wrong returns an error of wrong or undecided answers.
func Wrong(format string, args ...any) error { return Exitf(ExitWrong, format, args...) }

// ExitCode returns the exit code for an error.
func ExitCode(err error) int {
	var e *exitError
	switch {
	case errors.Is(err, context.Canceled):
		return ExitInterrupted
	case errors.As(err, &e):
		return e.code
	case errors.Is(err, dispatch.ErrNoBackend):
		return ExitNoBackend
	default:
		return ExitBadInput
	}
}

// Env is the environment of a command.
type Env struct {
	Program        string // its name, which messages begin with
	Stdout, Stderr io.Writer
	At             func(what string, done int) // nil, or called as the progress of a command advances
}

// Main runs the command line of the process and ends it. A signal interrupts the run, a second one ends it at once.
// at is nil, or called as the progress of a command advances.
func Main(program string, root func(*Env) *cobra.Command, at func(ctx context.Context, what string, done int)) {
	ctx, stop := signal.NotifyContext(context.Background(), endSignals()...)
	// After the first signal the default takes over, so a second one ends at once.
	context.AfterFunc(ctx, stop)
	e := &Env{Program: program, Stdout: os.Stdout, Stderr: os.Stderr}
	context.AfterFunc(ctx, func() {
		time.AfterFunc(Grace, func() { e.abandon(os.Exit) })
	})
	if os.Getenv("GOMEMLIMIT") == "" { // garbage is collected in time where memory is short
		debug.SetMemoryLimit(int64(min(0.9*memory.Available(), math.MaxInt64/2)))
	}
	if at != nil {
		e.At = func(what string, done int) { at(ctx, what, done) }
	}
	os.Exit(e.Run(ctx, root(e), os.Args[1:]))
}

// Grace is how long a run may take to end after a signal. Work that looks at no context, such
// as a hull of a million points, is abandoned then.
const Grace = 800 * time.Millisecond

// abandon ends the process without waiting for the run, and says what it leaves.
func (e *Env) abandon(exit func(code int)) {
	text := "no output file was written"
	if complete := output.Abandon(); len(complete) > 0 {
		text = "complete: " + strings.Join(complete, ", ")
	}
	e.Warn("interrupted; %s", text)
	exit(ExitInterrupted)
}

// endSignals are the signals that end a run in order. Under nohup SIGHUP stays ignored.
func endSignals() []os.Signal {
	list := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) {
		list = append(list, syscall.SIGHUP)
	}
	return list
}

// Run runs one command line and returns the exit code.
func (e *Env) Run(ctx context.Context, root *cobra.Command, args []string) int {
	root.SilenceErrors = true
	root.SilenceUsage = true
	root.CompletionOptions.HiddenDefaultCmd = true
	root.SetFlagErrorFunc(func(c *cobra.Command, err error) error {
		return fmt.Errorf("%w; see '%s --help'", err, c.CommandPath())
	})
	root.SetArgs(args)
	root.SetOut(e.Stdout)
	root.SetErr(e.Stderr)
	err := root.ExecuteContext(ctx)
	if err == nil {
		return ExitGood
	}
	code := ExitCode(err)
	if code == ExitInterrupted {
		err = errors.New("interrupted; no output file was written")
	}
	e.Warn("%v", err)
	return code
}

// Warn writes one line to standard error.
func (e *Env) Warn(format string, args ...any) {
	fmt.Fprintln(e.Stderr, e.Program+": "+Printable(oneLine(fmt.Sprintf(format, args...)), MaxText))
}

// oneLine joins the lines of a message, so that an error is one line in a log.
func oneLine(s string) string {
	lines := strings.FieldsFunc(s, func(r rune) bool { return r == '\n' || r == '\r' })
	for i := range lines {
		lines[i] = strings.TrimSpace(lines[i])
	}
	return strings.Join(lines, "; ")
}

// NoArgs rejects positional arguments.
func NoArgs(c *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	if c.HasSubCommands() {
		return fmt.Errorf("unknown command %q; '%s --help' lists the commands", args[0], c.CommandPath())
	}
	return fmt.Errorf("unexpected argument %q; see '%s --help'", args[0], c.CommandPath())
}

// version is set by the Makefile, with -ldflags.
var version string

// Version returns the version of the program.
func Version() string {
	if version != "" {
		return version
	}
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" && info.Main.Version != "(devel)" {
		return info.Main.Version
	}
	return "devel"
}

// Platform names the system and the Go release that built the program.
func Platform() string {
	return runtime.GOOS + "/" + runtime.GOARCH + ", " + runtime.Version()
}

// Now is the date of a report.
func Now() string { return time.Now().UTC().Format(time.RFC3339) }

// Progress is a progress bar. A nil Progress, used if the output is not a terminal, draws
// nothing.
type Progress struct {
	bar *progressbar.ProgressBar // nil: not drawn
	at  func(done int)           // nil: nobody listens
	n   atomic.Int64
}

// Progress starts a bar of a command, see newProgress.
func (e *Env) Progress(what string, total int64) *Progress {
	p := newProgress(e.Stderr, what, total)
	if e.At == nil {
		return p
	}
	if p == nil {
		p = new(Progress)
	}
	p.at = func(done int) { e.At(what, done) }
	return p
}

// newProgress starts a bar of total steps on w if w is a terminal. A total of -1 means that
// the number of steps is unknown.
func newProgress(w io.Writer, what string, total int64) *Progress {
	if !IsTerminal(w) {
		return nil
	}
	return &Progress{bar: progressbar.NewOptions64(total,
		progressbar.OptionSetWriter(w),
		progressbar.OptionSetDescription(what),
		progressbar.OptionShowCount(),
		progressbar.OptionThrottle(100*time.Millisecond),
		progressbar.OptionClearOnFinish(),
	)}
}

// IsTerminal reports whether w is a terminal.
func IsTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// Add advances the bar by n steps. Errors of drawing are ignored.
func (p *Progress) Add(n int) {
	if p == nil {
		return
	}
	if p.bar != nil {
		_ = p.bar.Add(n)
	}
	if done := p.n.Add(int64(n)); p.at != nil {
		p.at(int(done))
	}
}

// Done removes the bar.
func (p *Progress) Done() {
	if p != nil && p.bar != nil {
		_ = p.bar.Finish()
	}
}

// MaxText bounds the text of one message or name on a terminal, in characters.
const MaxText = 2000

// Printable is text that may come from a file, as a terminal may get it: control characters,
// characters that change the direction of writing and what is no UTF-8 are escaped, and it is
// cut to a length.
func Printable(s string, limit int) string {
	var b strings.Builder
	n := 0
	for i, r := range s {
		if n++; n > limit {
			b.WriteString("…")
			break
		}
		if r == utf8.RuneError {
			if _, size := utf8.DecodeRuneInString(s[i:]); size == 1 {
				fmt.Fprintf(&b, `\x%02x`, s[i])
				continue
			}
		}
		switch {
		case unicode.IsPrint(r):
			b.WriteRune(r)
		case r < 0x80:
			fmt.Fprintf(&b, `\x%02x`, r)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	return b.String()
}

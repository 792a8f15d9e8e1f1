package main

import (
	"io"
	"os"
	"time"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"
)

// progress draws how far long work has come. A nil progress draws nothing, which
// is what a pipe or a file gets.
type progress struct {
	bar *progressbar.ProgressBar
}

// newProgress starts a bar of total steps on w if w is a terminal. A total of -1
// stands for an unknown number of steps.
func newProgress(w io.Writer, what string, total int64) *progress {
	if !isTerminal(w) {
		return nil
	}
	return &progress{progressbar.NewOptions64(total,
		progressbar.OptionSetWriter(w),
		progressbar.OptionSetDescription(what),
		progressbar.OptionShowCount(),
		progressbar.OptionThrottle(100*time.Millisecond),
		progressbar.OptionClearOnFinish(),
	)}
}

// isTerminal reports whether w is a terminal.
func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// add moves the bar by n steps. A bar that cannot be drawn is no reason to fail.
func (p *progress) add(n int) {
	if p != nil {
		_ = p.bar.Add(n)
	}
}

// done removes the bar.
func (p *progress) done() {
	if p != nil {
		_ = p.bar.Finish()
	}
}

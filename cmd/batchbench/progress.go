package main

import (
	"io"
	"os"
	"time"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"
)

// progress is a progress bar. A nil progress, used if the output is not a terminal, draws
// nothing.
type progress struct {
	bar *progressbar.ProgressBar
}

// newProgress starts a bar of total steps on w if w is a terminal. A total of -1 means that
// the number of steps is unknown.
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

// add advances the bar by n steps. Errors of drawing are ignored.
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

package console

import (
	"fmt"
	"io"
	"os"
	"strings"
	"sync/atomic"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"
)

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

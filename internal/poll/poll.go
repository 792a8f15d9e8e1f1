// Package poll checks a context once in many steps of a loop, so that work that takes long ends soon after it is
// cancelled, and short steps cost no more for it.
package poll

import "context"

// every is the number of steps of which one checks the context.
const every = 256

// Poll counts the steps of work of one goroutine. The zero value is never stopped.
type Poll struct {
	done    <-chan struct{}
	steps   uint32
	stopped bool
}

// Of returns a Poll of a context.
func Of(ctx context.Context) Poll { return Poll{done: ctx.Done()} }

// Stopped counts a step, and reports whether the context had ended when it was last checked.
func (p *Poll) Stopped() bool {
	if p.done == nil || p.stopped {
		return p.stopped
	}
	if p.steps++; p.steps%every == 1 {
		select {
		case <-p.done:
			p.stopped = true
		default:
		}
	}
	return p.stopped
}

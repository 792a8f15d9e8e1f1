package cpu

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"clearance/batch"
)

// Close waits for the calls in progress, and later ones fail as they do on a device.
func TestClose(t *testing.T) {
	for _, b := range []*Backend{newBackend(t, 2), NewReference()} {
		lib, pairs := mixed(t, 100, 1)
		job := &batch.Job{Library: lib, Input: pairs}
		job.Results = batch.NewResults(100, &job.Options)
		running, proceed := make(chan bool), make(chan bool)
		busy := *job
		busy.Input = held{job.Input, running, proceed}
		answered, closed := make(chan error, 1), make(chan error, 1)
		go func() { answered <- b.Run(t.Context(), &busy, 0, 100, busy.Results) }()
		<-running
		go func() { closed <- b.Close() }()
		select {
		case <-closed:
			t.Errorf("%s: closed while a call was in progress", b.Name())
		case <-time.After(20 * time.Millisecond):
		}
		close(proceed)
		if err := errors.Join(<-answered, <-closed); err != nil {
			t.Errorf("%s: %v", b.Name(), err)
		}
		if err := b.Run(t.Context(), job, 0, 100, job.Results); !errors.Is(err, batch.ErrClosed) {
			t.Errorf("%s: after Close: %v", b.Name(), err)
		}
		if err := b.Close(); err != nil {
			t.Errorf("%s: closed twice: %v", b.Name(), err)
		}
	}
}

// held is an input whose first row waits.
type held struct {
	batch.Input
	running, proceed chan bool
}

func (h held) Row(i int, r *batch.Row) {
	if i == 0 {
		h.running <- true
		<-h.proceed
	}
	h.Input.Row(i, r)
}

// A call that the back end does not support, or without rows, ends before any worker begins; the context of a call
// without rows is checked all the same.
func TestCallsWithoutWork(t *testing.T) {
	for _, b := range []*Backend{newBackend(t, 2), NewReference()} {
		lib, pairs := mixed(t, 10, 1)
		job := &batch.Job{Library: lib, Input: pairs}
		out := batch.NewResults(10, &job.Options)
		bad := *job
		bad.Options.Tolerance = -1
		if err := b.Run(t.Context(), &bad, 0, 10, out); err == nil || !strings.Contains(err.Error(), "tolerance") {
			t.Errorf("%s: a negative tolerance: %v", b.Name(), err)
		}
		if err := b.Run(t.Context(), job, 5, 5, out.Slice(5, 5)); err != nil {
			t.Errorf("%s: no rows: %v", b.Name(), err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := b.Run(ctx, job, 5, 5, out.Slice(5, 5)); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: no rows of a context that has ended: %v", b.Name(), err)
		}
		if kernels, reference := b.RowsBy(); kernels+reference != 0 {
			t.Errorf("%s: %d rows answered", b.Name(), kernels+reference)
		}
	}
}

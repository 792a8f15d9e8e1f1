package dispatch

import (
	"context"
	"errors"
	"testing"
	"time"

	"clearance/batch"
)

// Close waits for the calls in progress; a call that begins later fails and writes nothing.
func TestClose(t *testing.T) {
	lib, pairs := testPairs(t, 10)
	running, proceed := make(chan bool), make(chan bool)
	f := &fake{name: "cpu", device: batch.Device{Kind: batch.CPU}, at: func(i int) error {
		if i == 0 {
			running <- true
			<-proceed
		}
		return nil
	}}
	d := New(f)
	b, err := d.Hold(t.Context(), lib, pairs, batch.Options{}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	job := &batch.Job{Library: lib, Input: pairs}
	answered := make(chan error)
	go func() {
		_, err := d.Run(context.Background(), job, Options{})
		answered <- err
	}()
	<-running
	closed := make(chan error)
	go func() { closed <- d.Close() }()
	select {
	case <-closed:
		t.Fatal("closed while a call was in progress")
	case <-time.After(20 * time.Millisecond):
	}
	close(proceed)
	if err := <-answered; err != nil {
		t.Errorf("the call in progress: %v", err)
	}
	if err := <-closed; err != nil || !f.closed {
		t.Errorf("closed %t, %v", f.closed, err)
	}
	checkRows(t, job.Results, pairs, 0, 10)

	if _, err := d.Run(t.Context(), &batch.Job{Library: lib, Input: pairs}, Options{}); !errors.Is(err, ErrClosed) {
		t.Errorf("Run: %v", err)
	}
	if _, err := d.RunStream(t.Context(), lib, &slowSource{pairs: pairs}, batch.Options{}, &sink{},
		Options{}); !errors.Is(err, ErrClosed) {
		t.Errorf("RunStream: %v", err)
	}
	if _, err := d.Hold(t.Context(), lib, pairs, batch.Options{}, Options{}); !errors.Is(err, ErrClosed) {
		t.Errorf("Hold: %v", err)
	}
	if _, _, err := b.Run(t.Context()); !errors.Is(err, ErrClosed) {
		t.Errorf("Run of a held batch: %v", err)
	}
	if err := d.Close(); err != nil {
		t.Errorf("closed twice: %v", err)
	}
}

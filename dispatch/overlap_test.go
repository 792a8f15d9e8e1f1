package dispatch

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"clearance/batch"
)

// patience is how long a test waits for an event that must occur promptly.
const patience = 10 * time.Minute // on a busy machine

// While the declined rows of a chunk are answered, the device computes the next chunk: the
// other back end waits until the device has started it.
func TestFinishingOverlaps(t *testing.T) {
	lib, pairs := testPairs(t, 64*8)
	begun := make(chan struct{}, 8)
	dev := &picky{fake: &fake{name: "gpu", at: func(i int) error {
		if i%64 == 0 {
			begun <- struct{}{}
		}
		return nil
	}}, declines: third, chunk: 64}
	calls := 0
	other := &fake{name: "cpu", at: func(i int) error {
		if i != 0 {
			return nil
		}
		need := 2 // the first chunk and the second
		if calls++; calls > 1 {
			need = 1
		}
		if calls == 8 {
			return nil // there is no ninth
		}
		for range need {
			select {
			case <-begun:
			case <-time.After(patience):
				return errors.New("the device waits for the rows that it declined")
			}
		}
		return nil
	}}
	for _, stream := range []bool{false, true} {
		calls = 0
		for len(begun) > 0 {
			<-begun
		}
		var rep Report
		var err error
		d := New(dev, other)
		o := Options{Backend: "gpu", ChunkRows: 64}
		if stream {
			rep, err = d.RunStream(t.Context(), lib, &slowSource{pairs: pairs}, allColumns, new(sink), o)
		} else {
			job := &batch.Job{Library: lib, Input: pairs, Options: allColumns}
			rep, err = d.Run(t.Context(), job, o)
			checkRows(t, job.Results, pairs, 0, pairs.Len())
		}
		if err != nil || len(rep.Failovers) != 0 || rep.Done != pairs.Len() || rep.Declined() < pairs.Len()/4 {
			t.Errorf("stream %t: report %+v, %v", stream, rep, err)
		}
	}
}

// The queue between a fast device and the back end that answers its declined rows is bounded.
func TestFinishingIsBounded(t *testing.T) {
	lib, pairs := testPairs(t, 64*50)
	var begun, ahead atomic.Int64
	dev := &picky{fake: &fake{name: "gpu", at: func(i int) error {
		if i%64 == 0 {
			begun.Add(1)
		}
		return nil
	}}, declines: third, chunk: 64}
	finished := int64(0)
	other := &fake{name: "cpu", at: func(i int) error {
		if i == 0 {
			for k := 0; k < 100 || finished == 0 && begun.Load() < 2 && k < 1e7; k++ { // the device gets ahead
				time.Sleep(20 * time.Microsecond)
			}
			ahead.Store(max(ahead.Load(), begun.Load()-finished))
			finished++
		}
		return nil
	}}
	rep, err := New(dev, other).Run(t.Context(), &batch.Job{Library: lib, Input: pairs},
		Options{Backend: "gpu", ChunkRows: 64})
	if err != nil || rep.Done != pairs.Len() {
		t.Fatalf("report %+v, %v", rep, err)
	}
	if limit := int64(1 + queuedChunks + 2); ahead.Load() > limit || ahead.Load() < 2 {
		t.Errorf("%d chunks were begun and not finished, want 2 to %d", ahead.Load(), limit)
	}
}

// Cancelled while the declined rows of one chunk are answered and another is computed: the
// report counts exactly the rows answered.
func TestFinishingCancelled(t *testing.T) {
	lib, pairs := testPairs(t, 64*8)
	ctx, cancel := context.WithCancel(t.Context())
	computing := make(chan struct{})
	dev := &picky{fake: &fake{name: "gpu", at: func(i int) error {
		if i == 3*64+10 {
			close(computing)
			<-ctx.Done()
		}
		return nil
	}}, declines: third, chunk: 64}
	other := &fake{name: "cpu", at: func(i int) error {
		if i == 5 {
			select {
			case <-computing:
			case <-time.After(patience):
				return errors.New("the device waits")
			}
			cancel()
		}
		return nil
	}}
	job := &batch.Job{Library: lib, Input: pairs, Options: allColumns, Results: used(pairs.Len(), &allColumns)}
	rep, err := New(dev, other).Run(ctx, job, Options{Backend: "gpu", ChunkRows: 64})
	if !errors.Is(err, context.Canceled) || sum(rep.Counts) != pairs.Len() || len(rep.Failovers) != 0 {
		t.Fatalf("report %+v, %v", rep, err)
	}
	answered := 0
	for i := range pairs.Len() {
		if batch.Status(job.Results.Status()[i]) == batch.Undecided {
			checkUnanswered(t, job.Results, i, i+1)
		} else {
			checkRows(t, job.Results, pairs, i, i+1)
			answered++
		}
	}
	if answered != rep.Done || rep.Declined() != 5 {
		t.Errorf("%d rows look answered, report %+v", answered, rep)
	}
}

// The back end that answers declined rows fails during the call: the next one takes over, and
// the failed one is not used again.
func TestFinisherFails(t *testing.T) {
	lib, pairs := testPairs(t, 64*8)
	bad := &fake{name: "bad", at: failAt(15)}
	good := &fake{name: "good"}
	dev := &picky{fake: &fake{name: "gpu"}, declines: third, chunk: 64}
	job := &batch.Job{Library: lib, Input: pairs, Options: allColumns}
	rep, err := New(dev, bad, good).Run(t.Context(), job, Options{Backend: "gpu", ChunkRows: 64})
	if err != nil || len(rep.Failovers) != 1 || rep.Failovers[0].Backend != "bad" || bad.runs.Load() != 1 ||
		rep.Done != pairs.Len() {
		t.Fatalf("report %+v, %d calls, %v", rep, bad.runs.Load(), err)
	}
	checkRows(t, job.Results, pairs, 0, pairs.Len())
}

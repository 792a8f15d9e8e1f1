package meter

import (
	"runtime"
	"sync"
	"testing"
	"time"
)

// spin uses so much CPU time of the calling thread.
func spin(t *testing.T, d time.Duration) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	begin, err := threadTime()
	for now := begin; err == nil && now-begin < d; now, err = threadTime() {
	}
	if err != nil {
		t.Error(err)
	}
}

// CPU time in spans is that of workers, all other is not, on whatever goroutine.
func TestMeasure(t *testing.T) {
	if _, err := threadTime(); err != nil {
		t.Skip(err)
	}
	const in, out = 20 * time.Millisecond, 30 * time.Millisecond
	inside, outside, err := Measure(func() error {
		spin(t, out)
		var all sync.WaitGroup
		for range 3 {
			all.Go(func() {
				span := Worker()
				defer span.End()
				spin(t, in)
			})
		}
		all.Wait()
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	// The clocks count CPU time alone, but a busy machine may charge the program for more than it used. A span that
	// was counted on the wrong side would show as all of its time.
	if inside < 3*in || inside >= 3*in+out {
		t.Errorf("workers used %v, want about %v", inside, 3*in)
	}
	if outside < out || outside >= out+3*in {
		t.Errorf("others used %v, want about %v", outside, out)
	}
}

// Spans that begin while nothing is measured count nothing.
func TestNothingMeasured(t *testing.T) {
	span := Worker()
	if span.on {
		t.Error("a span is on, and nothing is measured")
	}
	inside, _, err := Measure(func() error { span.End(); return nil })
	if err == nil && inside != 0 {
		t.Errorf("workers used %v, want 0", inside)
	}
	if n := testing.AllocsPerRun(10, func() { Worker().End() }); n != 0 {
		t.Errorf("%v allocations of a span, want none", n)
	}
}

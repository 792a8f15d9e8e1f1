// Package meter measures how much of the CPU time of the process its workers use, the goroutines among which a call
// shares its rows. The rest of the CPU time is that of goroutines of which a call has one however many cores there are,
// and of the runtime.
//
// A worker calls [Worker] when it begins and [Span.End] when it ends, on one goroutine. While nothing is measured that
// costs a load of a flag. Spans of one goroutine must not overlap; those of different goroutines may. The samples of a
// CPU profile that is taken meanwhile have the label [Label] where they are of workers.
package meter

import (
	"context"
	"runtime"
	"runtime/pprof"
	"sync/atomic"
	"time"
)

var (
	running atomic.Bool
	workers atomic.Int64 // nanoseconds of spans that have ended
	failed  atomic.Pointer[error]
)

// Label is the key of the label of samples of workers.
const Label = "worker"

var (
	inWorker  = pprof.WithLabels(context.Background(), pprof.Labels(Label, "1"))
	notWorker = context.Background()
)

// Span is the time of a worker from Worker to End.
type Span struct {
	begin time.Duration // of the clock of the thread
	on    bool
}

// Worker begins a span of the calling goroutine, which stays on its thread until the end of the span.
func Worker() Span {
	if !running.Load() {
		return Span{}
	}
	runtime.LockOSThread()
	pprof.SetGoroutineLabels(inWorker)
	now, err := threadTime()
	if err != nil {
		failed.Store(&err)
	}
	return Span{now, true}
}

// End ends the span.
func (s Span) End() {
	if !s.on {
		return
	}
	now, err := threadTime()
	if err != nil {
		failed.Store(&err)
	}
	pprof.SetGoroutineLabels(notWorker)
	runtime.UnlockOSThread()
	workers.Add(int64(now - s.begin))
}

// Measure calls f and returns the CPU time that workers used during the call, and that of everything else in the
// process. One call is measured at a time.
func Measure(f func() error) (inside, outside time.Duration, err error) {
	workers.Store(0)
	failed.Store(nil)
	before, err := processTime()
	if err != nil {
		return 0, 0, err
	}
	running.Store(true)
	defer running.Store(false)
	if err := f(); err != nil {
		return 0, 0, err
	}
	after, err := processTime()
	if err != nil {
		return 0, 0, err
	}
	if err := failed.Load(); err != nil {
		return 0, 0, *err
	}
	inside = time.Duration(workers.Load())
	return inside, max(after-before-inside, 0), nil
}

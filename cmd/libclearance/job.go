package main

import (
	"context"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"clearance"
	"clearance/batch"
	"clearance/cpu"
	"clearance/dispatch"
	"clearance/rollout"
)

// engineHandle is an open engine.
type engineHandle struct {
	*clearance.Handle
	run    dispatch.Options
	ctx    context.Context // of all jobs
	cancel context.CancelFunc

	mu     sync.Mutex // of closed, and of jobs growing from zero
	closed bool
	jobs   sync.WaitGroup
}

// begin counts a job, unless the engine is closed: a wait for all jobs that has begun must not see another one.
func (e *engineHandle) begin() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		return engines.missing()
	}
	e.jobs.Add(1)
	return nil
}

// end cancels all jobs, waits for them, and closes the back ends.
func (e *engineHandle) end() error {
	e.mu.Lock()
	e.closed = true
	e.mu.Unlock()
	e.cancel()
	e.jobs.Wait()
	return e.Close()
}

var engines = handles[*engineHandle]{what: "engine"}

// job is a call in a goroutine of its own, so that its caller can look after other things, such as signals, while it
// waits.
type job struct {
	cancel context.CancelFunc
	ended  chan struct{} // closed after report and err were written

	report dispatch.Report
	scene  *rollout.Report // of a scene, else nil
	err    error

	done, total      atomic.Int64 // rows, of jobs that report progress
	audited, refuted int64        // rows of files
}

var jobs = handles[*job]{what: "job"}

// inlineRows is the largest number of rows of a job that runs in the thread of its caller: two changes of thread, some
// tens of microseconds, would cost more than such rows. They take a few milliseconds; the slowest kinds in double
// precision 0.1 s. A row of large hulls counts as several, see [cpu.RowWork].
const inlineRows = 2048

// work is the number of rows that n rows of a library may take as long as.
func work(l *batch.Library, n int) int {
	return int(min(float64(n)*float64(cpu.RowWork(l)), math.MaxInt32))
}

// start begins a job of some rows that ends when do returns. Its context ends with the engine and by cancel.
func start(e *engineHandle, rows int, do func(context.Context, *job) (dispatch.Report, error)) (*job, error) {
	if err := e.begin(); err != nil {
		return nil, err
	}
	return launch(e.ctx, e.jobs.Done, rows, do), nil
}

// prepare begins a job without an engine, that makes shapes of so many numbers.
func prepare(numbers int, do func(context.Context) error) *job {
	rows := 0
	if numbers > inlineNumbers {
		rows = math.MaxInt
	}
	return launch(context.Background(), func() {}, rows, func(ctx context.Context, _ *job) (dispatch.Report, error) {
		return dispatch.Report{}, do(ctx)
	})
}

// inlineNumbers is the largest number of numbers of shapes that are made in the thread of the caller. A hull of so many
// takes less than a millisecond.
const inlineNumbers = 4096

// launch begins a job, and calls after when it has ended.
func launch(parent context.Context, after func(), rows int,
	do func(context.Context, *job) (dispatch.Report, error)) *job {
	ctx, cancel := context.WithCancel(parent)
	j := &job{cancel: cancel, ended: make(chan struct{})}
	j.total.Store(-1)
	run := func() {
		defer after()
		defer close(j.ended)
		defer cancel()
		defer recovered(&j.err)
		j.report, j.err = do(ctx, j)
	}
	if rows <= inlineRows {
		run()
	} else {
		go run()
	}
	return j
}

// wait reports whether the job has ended within the given time.
func (j *job) wait(ms int64) bool {
	select {
	case <-j.ended:
		return true
	default:
	}
	if ms <= 0 {
		return false
	}
	timer := time.NewTimer(time.Duration(min(ms, 1<<31)) * time.Millisecond)
	defer timer.Stop()
	select {
	case <-j.ended:
		return true
	case <-timer.C:
		return false
	}
}

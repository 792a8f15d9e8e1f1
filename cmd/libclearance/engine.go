package main

// #include "clearance.h"
import "C"

import (
	"context"
	"math"
	"os"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"

	"clearance"
	"clearance/batch"
	"clearance/cpu"
	"clearance/dispatch"
	"clearance/engine"
	"clearance/rollout"
)

// maxWorkers bounds the threads that a caller may ask for.
const maxWorkers = 1 << 12

// checkWorkers returns an error if a caller asks for more threads than a machine has any use for.
func checkWorkers[T int32 | int64 | C.int32_t](n T) error {
	if n < 0 || n > maxWorkers {
		return argument("%d workers, want 1 to %d, or 0 for one per processor", n, maxWorkers)
	}
	return nil
}

//export clearance_engine_open
func clearance_engine_open(options *C.clearance_options, out *C.clearance_engine, e *C.clearance_error) C.int32_t {
	return fail(e, func() (err error) {
		defer recovered(&err)
		if options == nil || out == nil {
			return argument("no options, or no place for the handle")
		}
		if err := checkWorkers(options.workers); err != nil {
			return err
		}
		list := []clearance.Option{clearance.WithBackend(text(options.backend)),
			clearance.WithDevice(text(options.device)), clearance.WithSIMD(text(options.simd)),
			clearance.WithWorkers(int(options.workers))}
		if n := int(options.probe_count); n > 0 && options.probe != nil {
			var command []string
			for _, word := range unsafe.Slice(options.probe, n) {
				command = append(command, text(word))
			}
			list = append(list, clearance.WithProbe(command...))
		}
		h, err := clearance.Open(list...)
		if err != nil {
			return err
		}
		handle := &engineHandle{Handle: h, run: dispatch.Options{Backend: text(options.backend), MaxRowErrors: 1,
			KeepUnreached: true}}
		handle.ctx, handle.cancel = context.WithCancel(context.Background())
		*out = C.clearance_engine(engines.put(handle))
		return nil
	}())
}

// engineDescription is what clearance_engine_describe writes.
type engineDescription struct {
	Backends []backendDescription `json:"backends"`
	Notes    []string             `json:"notes"`
}

type backendDescription struct {
	Name   string `json:"name"`
	Kind   string `json:"kind"`
	Device string `json:"device"`
	Driver string `json:"driver"`
	Proof  string `json:"proof"` // see batch.Device
	Usable bool   `json:"usable"`
	Reason string `json:"reason"` // why it is not usable
}

//export clearance_engine_describe
func clearance_engine_describe(handle C.clearance_engine, out *C.char, size C.int64_t) C.int64_t {
	return writeJSON(out, size, func() (any, error) { return describeEngine(uint64(handle)) })
}

func describeEngine(handle uint64) (*engineDescription, error) {
	h, err := engines.get(handle)
	if err != nil {
		return nil, err
	}
	d := engineDescription{Backends: []backendDescription{}, Notes: append([]string{}, h.Notes()...)}
	for _, b := range h.Backends() {
		device := b.Device()
		d.Backends = append(d.Backends, backendDescription{b.Name(), device.Kind.String(), device.Name, device.Driver,
			device.Proof, device.Usable(), device.Reason})
	}
	return &d, nil
}

//export clearance_engine_close
func clearance_engine_close(handle C.clearance_engine, e *C.clearance_error) C.int32_t {
	return fail(e, func() (err error) {
		defer recovered(&err)
		h, err := engines.take(uint64(handle))
		if err != nil {
			return err
		}
		return h.end()
	}())
}

//export clearance_try_device
func clearance_try_device(index, name *C.clearance_text, e *C.clearance_error) C.int32_t {
	return fail(e, func() (err error) {
		defer recovered(&err)
		return engine.TryDevice(os.Stdout, []string{text(index), text(name)})
	}())
}

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

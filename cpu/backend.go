package cpu

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"

	"clearance/batch"
)

// Options configure the back end. The zero value is the default.
type Options struct {
	// Workers is the number of goroutines of a call; 0 is one for each processor
	// that the program may use.
	Workers int
}

// Backend is the CPU back end.
type Backend struct {
	name    string
	workers int

	mu   sync.Mutex
	idle []*worker // with grown workspaces, for the next call
}

// New returns the back end "cpu".
func New(o Options) (*Backend, error) {
	if o.Workers < 0 {
		return nil, fmt.Errorf("cpu: %d workers, want a number above 0, or 0 for one a processor", o.Workers)
	}
	if o.Workers == 0 {
		o.Workers = runtime.GOMAXPROCS(0)
	}
	return &Backend{name: "cpu", workers: o.Workers}, nil
}

// NewReference returns the back end "ref": the same solvers on one goroutine, to
// compare others with.
func NewReference() *Backend { return &Backend{name: "ref", workers: 1} }

// Name returns "cpu" or "ref".
func (b *Backend) Name() string { return b.name }

// Device describes the processor.
func (b *Backend) Device() batch.Device {
	return batch.Device{
		Kind:   batch.CPU,
		Name:   fmt.Sprintf("%s, %d of %d processors", runtime.GOARCH, min(b.workers, runtime.NumCPU()), runtime.NumCPU()),
		Driver: "float64 solvers in Go, " + runtime.Version(),
	}
}

// Check reports options that the back end cannot serve: none but those that
// nobody can serve yet.
func (b *Backend) Check(o *batch.Options) error { return o.Check() }

// Close frees the workspaces.
func (b *Backend) Close() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.idle = nil
	return nil
}

// blockRows is the number of rows that a worker takes at a time: enough to make the
// shared counter cheap (a row takes some hundred nanoseconds), and a multiple of 64
// so that, within columns that begin at a cache line, no two workers write to the
// same line, whatever the column.
const blockRows = 256

// Run answers rows [lo, hi) of the job into rows [0, hi-lo) of out. The context is
// asked before every block.
func (b *Backend) Run(ctx context.Context, job *batch.Job, lo, hi int, out *batch.Results) error {
	blocks := (hi - lo + blockRows - 1) / blockRows
	call := &call{ctx: ctx, job: job, lo: lo, hi: hi, out: out, blocks: int64(blocks)}
	workers := b.take(min(b.workers, blocks))
	defer b.give(workers)
	if len(workers) == 1 {
		workers[0].run(call)
	} else {
		var wg sync.WaitGroup
		for _, w := range workers {
			wg.Go(func() { w.run(call) })
		}
		wg.Wait()
	}
	if err := call.err.Load(); err != nil {
		return *err
	}
	return nil
}

// take returns n workers, idle ones first.
func (b *Backend) take(n int) []*worker {
	b.mu.Lock()
	defer b.mu.Unlock()
	keep := max(len(b.idle)-n, 0)
	workers := append([]*worker(nil), b.idle[keep:]...)
	b.idle = b.idle[:keep]
	for len(workers) < n {
		workers = append(workers, new(worker))
	}
	return workers
}

func (b *Backend) give(workers []*worker) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.idle = append(b.idle, workers...)
}

// call is one Run, shared by its workers.
type call struct {
	ctx    context.Context
	job    *batch.Job
	lo, hi int
	out    *batch.Results
	blocks int64

	next atomic.Int64          // block to hand out
	err  atomic.Pointer[error] // the first one; workers stop when it is set
}

func (c *call) fail(err error) { c.err.CompareAndSwap(nil, &err) }

// block hands out the next block of rows, or says that there is none.
func (c *call) block() (lo, hi int, ok bool) {
	if c.err.Load() != nil {
		return 0, 0, false
	}
	k := c.next.Add(1) - 1
	if k >= c.blocks {
		return 0, 0, false
	}
	if err := c.ctx.Err(); err != nil {
		c.fail(err)
		return 0, 0, false
	}
	lo = c.lo + int(k)*blockRows
	return lo, min(lo+blockRows, c.hi), true
}

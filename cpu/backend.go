// Package cpu is the back end that runs on the processor: the SIMD kernels of package
// kernels on a pool of goroutines, and the solvers of package ref for the rows that the
// kernels decline, or for all rows if there are no kernels.
//
// # Layers
//
// A [Backend] satisfies the interface that package dispatch declares; cpu does not import it. ARCHITECTURE.md lists
// what cpu imports.
//
// # Kernels
//
// [Options.SIMD], or else the environment variable CLEARANCE_SIMD, names the variant:
// avx512, avx2, neon, portable or off. A name that is unknown, or that the processor or the
// build does not have, is an error of [New]. [Backend.RowsBy] counts the rows of kernels and of ref.
// With the method Auto, the kernels take the fastest of their methods (see package kernels/pairs); with GJK or
// RTR, that method. A call that names Nesterov or Polyak is answered by ref alone.
//
// # Answers
//
// A row's answer depends on that row alone: it is bit-identical for any number of
// workers, any chunk, and any order of the rows, within one variant of the kernels.
// Variants differ in the last digits, within the gap.
//
// # Threads and errors
//
// A Backend may be used by several goroutines at once. Run starts its workers and
// waits for them; none outlives it. A row with bad input becomes Invalid. A panic in a
// solver becomes the error of Run, and names the row. Nothing is allocated per row.
package cpu

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"

	"gonum.org/v1/gonum/spatial/r3"

	"clearance/batch"
	"clearance/geom"
	"clearance/internal/fault"
	"clearance/internal/memory"
	"clearance/kernels"
)

// EnvSIMD names the environment variable that chooses the kernels where
// Options.SIMD is empty, with the same values.
const EnvSIMD = kernels.EnvSIMD

// Options configure the back end. The zero value is the default.
type Options struct {
	// Workers is the number of goroutines of a call; 0 is one for each processor
	// that the program may use.
	Workers int

	// SIMD chooses the kernels: "avx512", "avx2", "neon", "portable", or "off" for the
	// reference solvers in Go alone. "" takes the environment variable [EnvSIMD], and
	// without it the best that the processor and the build have.
	SIMD string
}

// Backend is the CPU back end.
type Backend struct {
	name    string
	serves  batch.Serves
	workers int
	simd    string // variant of the kernels, "" for none

	life   sync.RWMutex // held for reading during every call and for writing by Close
	closed bool

	mu    sync.Mutex
	idle  []*worker // with grown workspaces, for the next call
	calls []*call   // not in use
	table *kernels.Table
	work  int            // of a row, see RowWork
	of    *batch.Library // that table and work were made of

	bySIMD, byReference atomic.Int64 // rows answered, see RowsBy
}

// New returns the back end "cpu".
func New(o Options) (*Backend, error) {
	if o.Workers < 0 {
		return nil, fmt.Errorf("cpu: %d workers, want a number above 0, or 0 for one per processor", o.Workers)
	}
	if o.Workers == 0 {
		o.Workers = runtime.GOMAXPROCS(0)
	}
	name, err := kernels.Named(o.SIMD, "options")
	if err != nil {
		return nil, fmt.Errorf("cpu: %w", err)
	}
	variant, err := kernels.Choose(name)
	if err != nil {
		return nil, fmt.Errorf("cpu: %w", err)
	}
	return &Backend{name: "cpu", serves: servedByCPU, workers: o.Workers, simd: variant}, nil
}

// NewReference returns the back end "ref": the same solvers on one goroutine, to
// compare others with.
func NewReference() *Backend { return &Backend{name: "ref", serves: servedByRef, workers: 1} }

// Name returns "cpu" or "ref".
func (b *Backend) Name() string { return b.name }

// SIMD returns the variant of the kernels in use, or "off".
func (b *Backend) SIMD() string {
	if b.simd == "" {
		return kernels.Off
	}
	return b.simd
}

// CullWorlds returns the number of worlds that a culler takes at a time, 0 without kernels.
func (b *Backend) CullWorlds() int {
	if b.simd == "" {
		return 0
	}
	return kernels.CullLanes
}

// NewCuller returns a culler for one goroutine, nil without kernels or pairs.
func (b *Backend) NewCuller(c *batch.Culling) batch.Culler {
	if u := kernels.NewCuller(b.simd, c); u != nil {
		return u
	}
	return nil
}

// RowsBy returns how many rows the kernels have answered since New, and how many the
// reference solvers.
func (b *Backend) RowsBy() (kernels, reference int64) {
	return b.bySIMD.Load(), b.byReference.Load()
}

// Device describes the processor.
func (b *Backend) Device() batch.Device {
	driver := "float64 solvers in Go, " + runtime.Version()
	if b.simd != "" {
		driver = b.simd + " kernels" + without(kernels.LeftOut()) + ", and " + driver
	}
	return batch.Device{
		Kind: batch.CPU,
		Name: fmt.Sprintf("%s, %d of %d processors", runtime.GOARCH, min(b.workers, runtime.NumCPU()),
			runtime.NumCPU()),
		Driver: driver,
	}
}

// without says which variants this program was built without.
func without(names []string) string {
	if len(names) == 0 {
		return ""
	}
	return " (built without " + strings.Join(names, ", ") + ")"
}

// Serves is the table of queries, methods and precisions that the back end supports.
func (b *Backend) Serves() batch.Serves { return b.serves }

// plan is what answers the rows of a call.
type plan struct {
	kernel    *kernels.Entry                               // nil for none
	reference func(w *worker, c *call, i int, warm r3.Vec) // answers the rows that the kernel does not
}

// Plan resolves options that have been checked. The error says what the back end does not support.
func (b *Backend) Plan(o *batch.Options) (batch.Plan, error) {
	p, err := b.resolve(o)
	if err != nil {
		return nil, err
	}
	return &p, nil
}

func (b *Backend) resolve(o *batch.Options) (plan, error) {
	if err := b.serves.Check(b.name, o); err != nil {
		return plan{}, err
	}
	p := plan{reference: references[o.Query]}
	if b.simd != "" {
		p.kernel = kernels.For(o)
	}
	return p, nil
}

// planOf returns the plan of a job: that of the dispatcher, or a new one.
func (b *Backend) planOf(job *batch.Job) (plan, error) {
	if p, ok := job.Plan.(*plan); ok {
		return *p, nil
	}
	p, err := b.resolve(&job.Options)
	if err != nil {
		return plan{}, fmt.Errorf("cpu: %w", err)
	}
	return p, job.Options.Check()
}

// Close waits for the calls in progress and frees the workspaces. Later calls return an error that wraps
// [batch.ErrClosed]. It may be called twice.
func (b *Backend) Close() error {
	b.life.Lock()
	defer b.life.Unlock()
	b.closed = true
	b.mu.Lock()
	defer b.mu.Unlock()
	b.idle, b.calls, b.table, b.of = nil, nil, nil, nil
	return nil
}

// Rows that a worker takes at a time: enough that the shared counter costs little and that
// the groups of the kernels are long; few enough that all workers end at about the same time.
// Blocks are multiples of 64, so that in columns that begin at a
// cache line no two workers write to the same line.
const (
	minBlockRows    = 256
	blocksPerWorker = 8
)

func blockRows(n, workers int) int {
	rows := (n/(workers*blocksPerWorker) + 63) / 64 * 64
	return min(max(rows, minBlockRows), kernels.BlockRows)
}

// ChunkRows is the number of rows of a chunk: of many workers each takes some blocks of a thousand rows, since all
// of them end before the next chunk begins.
func (b *Backend) ChunkRows() int { return max(minChunkRows, b.workers*blocksPerWorker*chunkBlockRows) }

const (
	minChunkRows   = 1 << 16
	chunkBlockRows = 1 << 10
)

// Run answers rows [lo, hi) of the job into rows [0, hi-lo) of out. The context is
// checked before every call of the kernels, see kernelRows, and every row of the reference
// solvers, which may take long.
func (b *Backend) Run(ctx context.Context, job *batch.Job, lo, hi int, out *batch.Results) error {
	return b.RunCounted(ctx, job, lo, hi, out, nil)
}

// RunCounted is Run, and adds the rows to count, if that is not nil: every worker counts its own while their
// columns are in the cache. out has the columns of [batch.Options.Counted] then.
func (b *Backend) RunCounted(ctx context.Context, job *batch.Job, lo, hi int, out *batch.Results,
	count *batch.Count) error {
	b.life.RLock()
	defer b.life.RUnlock()
	if b.closed {
		return fmt.Errorf("%s: %w", b.name, batch.ErrClosed)
	}
	p, err := b.planOf(job)
	if err != nil {
		return err
	}
	if lo >= hi {
		return ctx.Err()
	}
	rows := blockRows(hi-lo, b.workers)
	blocks := (hi - lo + rows - 1) / rows
	call := b.begin()
	defer b.end(call)
	call.ctx, call.job, call.lo, call.hi, call.out = ctx, job, lo, hi, out
	call.rows, call.counts = rows, count != nil
	call.reference = p.reference
	if p.kernel != nil {
		table, work, err := b.tableOf(job.Library)
		if err != nil {
			return err
		}
		call.kernelRows = kernelRows(work)
		if call.memory.Prepare(p.kernel, table, job, lo, out) {
			defer call.memory.Close()
			call.kernel, call.variant = &call.memory, b.simd
		}
	}
	b.take(call, min(b.workers, blocks))
	defer b.give(call)
	workers := call.workers
	if count != nil {
		for _, w := range workers {
			w.count.MaxInvalid = count.MaxInvalid
			w.count.Reset()
		}
	}
	call.team.Run(blocks, call.block)
	b.bySIMD.Add(call.bySIMD.Load())
	b.byReference.Add(call.byReference.Load())
	if err := call.err.Load(); err != nil {
		return *err
	}
	if count != nil {
		for _, w := range workers {
			count.Merge(&w.count)
		}
	}
	return nil
}

// tableOf returns the table of a library, which the library keeps, and the work of a row; or an error if there is no
// memory for it.
func (b *Backend) tableOf(l *batch.Library) (t *kernels.Table, work int, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.of == l {
		return b.table, b.work, nil
	}
	t, err = kernels.TableOf(l, b.simd, func() error {
		vertices := 0
		for i := range int32(l.Len()) {
			inner, _ := geom.WithoutMargin(l.Shape(i))
			if c, ok := inner.(*geom.Convex); ok {
				vertices += len(c.Hull().Vertices)
			}
		}
		return memory.Check(fmt.Sprintf("a table of %d vertices", vertices), vertexBytes*float64(vertices))
	})
	if err != nil {
		return nil, 0, fmt.Errorf("cpu: %w", err)
	}
	b.of, b.table, b.work = l, t, RowWork(l)
	return b.table, b.work, nil
}

// vertexBytes is the memory of a vertex of a hull in a table while that grows: its numbers, and its place in the lists
// of direction cells.
const vertexBytes = 600

// begin returns a call that is not in use, and end takes it back.
func (b *Backend) begin() *call {
	b.mu.Lock()
	defer b.mu.Unlock()
	n := len(b.calls)
	if n == 0 {
		return newCall(b.workers)
	}
	c := b.calls[n-1]
	b.calls = b.calls[:n-1]
	return c
}

func (b *Backend) end(c *call) {
	c.reset()
	b.mu.Lock()
	defer b.mu.Unlock()
	b.calls = append(b.calls, c)
}

// take gives a call n workers, idle ones first.
func (b *Backend) take(c *call, n int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	keep := max(len(b.idle)-n, 0)
	c.workers = append(c.workers[:0], b.idle[keep:]...)
	b.idle = b.idle[:keep]
	for len(c.workers) < n {
		c.workers = append(c.workers, new(worker))
	}
}

func (b *Backend) give(c *call) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.idle = append(b.idle, c.workers...)
	c.workers = c.workers[:0]
}

// call is one Run, shared by its workers.
type call struct {
	ctx    context.Context
	job    *batch.Job
	lo, hi int
	out    *batch.Results
	rows   int  // of a block
	counts bool // rows are counted

	reference func(w *worker, c *call, i int, warm r3.Vec) // answers the rows that the kernels do not

	kernel  *kernels.Call // nil if it answers all rows
	variant string

	kernelRows int // between two checks of the context

	memory  kernels.Call // of kernel
	workers []*worker
	team    *fault.Team
	block   func(worker, k int) // that it does, kept so that a call does not allocate

	bySIMD, byReference atomic.Int64

	err atomic.Pointer[error] // the first one; workers stop when it is set
}

// newCall returns a call for as many workers.
func newCall(workers int) *call {
	c := &call{team: fault.NewTeam(workers)}
	c.block = func(worker, k int) {
		lo := c.lo + k*c.rows
		c.workers[worker].block(c, lo, min(lo+c.rows, c.hi))
	}
	return c
}

// reset makes a call one that has not begun, and drops what it refers to.
func (c *call) reset() {
	c.ctx, c.job, c.out, c.kernel, c.reference = nil, nil, nil, nil, nil
	c.bySIMD.Store(0)
	c.byReference.Store(0)
	c.err.Store(nil)
}

func (c *call) fail(err error) { c.err.CompareAndSwap(nil, &err) }

// stopped reports whether the call is over: its context has ended, or a worker failed.
func (c *call) stopped() bool {
	if err := c.ctx.Err(); err != nil {
		c.fail(err)
	}
	return c.err.Load() != nil
}

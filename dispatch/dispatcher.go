package dispatch

import (
	"errors"
	"fmt"
	"sync"

	"clearance/batch"
)

// ErrNoBackend is wrapped by the error of a call that no back end supports.
var ErrNoBackend = errors.New("no usable back end")

// ErrClosed is the error of a call on a closed [Dispatcher].
var ErrClosed = errors.New("dispatch: the dispatcher is closed")

// Auto is the name that selects the back end with the shortest estimated time.
const Auto = "auto"

// DefaultChunkRows is the default number of rows per chunk: some hundred milliseconds on
// one CPU core, a few megabytes of columns.
const DefaultChunkRows = 1 << 16

// Options configure a call. The zero value is the default.
type Options struct {
	// Backend selects back ends by name. "" and [Auto] select the one with the shortest
	// estimated time, and the next one if it fails. Several names joined by "+", or a
	// name common to several devices ("vulkan" for "vulkan:0" and "vulkan:1"), share the
	// rows among them; see [Dispatcher.Choose]. Back ends selected by name are not
	// replaced if they fail.
	Backend string

	// ChunkRows is the number of rows per chunk, rounded up to a multiple of 64. 0 is
	// the size that the back end prefers ([Chunked]), or [DefaultChunkRows]; in streams
	// it is bounded. No answer depends on it.
	ChunkRows int

	// EstimateRows, if not 0, is the number of rows by which [Auto] selects, in place of those of the call:
	// calls that are parts of one get the same back end.
	EstimateRows int

	// FirstRow is the number of the first row of a stream in errors and in the report: not 0 of a [Shard]. Other calls
	// ignore it.
	FirstRow int

	// Progress, if not nil, is called after every chunk with the number of rows
	// answered so far and the total, -1 if that is unknown. Calls do not overlap, and
	// done never decreases.
	Progress func(done, total int)

	// MaxRowErrors is the largest number of row errors in the report; 0 is 16.
	MaxRowErrors int

	// KeepUnreached leaves the columns of rows that a call did not reach as they are, but for the status and the
	// bits. A cancelled call then ends at once, however many rows it has.
	KeepUnreached bool
}

func (o *Options) ensureDefaults() {
	if o.Backend == "" {
		o.Backend = Auto
	}
	if o.MaxRowErrors == 0 {
		o.MaxRowErrors = 16
	}
}

func (o *Options) validate() error {
	if o.ChunkRows < 0 || o.ChunkRows > 1<<30 {
		return fmt.Errorf("dispatch: ChunkRows %d, want 1 to 2^30, or 0 for the default", o.ChunkRows)
	}
	if o.FirstRow < 0 {
		return fmt.Errorf("dispatch: FirstRow %d, want a number of at least 0", o.FirstRow)
	}
	if o.MaxRowErrors < 0 {
		return fmt.Errorf("dispatch: MaxRowErrors %d, want a number above 0, or 0 for the default", o.MaxRowErrors)
	}
	return nil
}

// setChunkRows replaces 0 by the given number and rounds up to complete words of bits.
func (o *Options) setChunkRows(rows int) {
	if o.ChunkRows == 0 {
		o.ChunkRows = rows
	}
	o.ChunkRows = (o.ChunkRows + batch.BitsPerWord - 1) / batch.BitsPerWord * batch.BitsPerWord
}

// A Dispatcher runs jobs on back ends. It may be used by several goroutines at once.
type Dispatcher struct {
	backends []Backend
	derive   Differentiator

	mu     sync.Mutex
	closed bool
	calls  sync.WaitGroup // in progress
}

// New returns a dispatcher for the given back ends, which it owns. Of back ends with equal
// estimates the first is selected.
func New(backends ...Backend) *Dispatcher {
	return &Dispatcher{backends: backends}
}

// Backends returns the back ends passed to New, whether usable or not.
func (d *Dispatcher) Backends() []Backend { return d.backends }

// begin registers a call, which must end with d.calls.Done().
func (d *Dispatcher) begin() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return ErrClosed
	}
	d.calls.Add(1)
	return nil
}

// Close waits for the calls in progress and closes every back end. Later calls fail with
// [ErrClosed]; closing again does nothing. Progress functions must not call Close.
func (d *Dispatcher) Close() error {
	d.mu.Lock()
	closed := d.closed
	d.closed = true
	d.mu.Unlock()
	d.calls.Wait()
	if closed {
		return nil
	}
	var errs []error
	for _, b := range d.backends {
		errs = append(errs, b.Close())
	}
	return errors.Join(errs...)
}

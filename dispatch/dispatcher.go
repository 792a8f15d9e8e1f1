package dispatch

import (
	"errors"
	"fmt"
	"sync"

	"clearance/batch"
)

// ErrNoBackend is wrapped by the error of a call that no back end can serve.
var ErrNoBackend = errors.New("no usable back end")

// ErrClosed is the error of a call on a closed [Dispatcher].
var ErrClosed = errors.New("dispatch: the dispatcher is closed")

// Auto is the name that asks for the back end that is worth most on a call.
const Auto = "auto"

// DefaultChunkRows is the number of rows that a back end is given at a time: some
// hundred milliseconds on one CPU core, a few megabytes of columns.
const DefaultChunkRows = 1 << 16

// Options configure the running of a job. The zero value is the default.
type Options struct {
	// Backend names a back end; "" and [Auto] take the one that should be done first,
	// and the next when it fails. Several names joined by "+", or a name that several
	// devices share ("vulkan" for "vulkan:0" and "vulkan:1"), share the rows among
	// them; see [Dispatcher.Choose]. Back ends asked for by name are not replaced by
	// others.
	Backend string

	// ChunkRows is the number of rows given to a back end at a time, rounded up to
	// a multiple of 64; 0 is what the back end likes best ([Chunked]), else
	// [DefaultChunkRows]; streams bound it. No answer depends on it.
	ChunkRows int

	// Progress, if not nil, is called after every chunk with the number of rows
	// answered and of rows in all, -1 where that is not known. It is never
	// called by two goroutines at once, and done never falls.
	Progress func(done, total int)

	// MaxRowErrors caps the row errors that the report lists; 0 is 16.
	MaxRowErrors int
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
		return fmt.Errorf("dispatch: chunks of %d rows, want 1 to 2^30, or 0 for the default", o.ChunkRows)
	}
	if o.MaxRowErrors < 0 {
		return fmt.Errorf("dispatch: at most %d row errors, want a number above 0, or 0 for the default", o.MaxRowErrors)
	}
	return nil
}

// setChunkRows replaces a zero by the given number and rounds up to whole words of bits.
func (o *Options) setChunkRows(rows int) {
	if o.ChunkRows == 0 {
		o.ChunkRows = rows
	}
	o.ChunkRows = (o.ChunkRows + batch.BitsPerWord - 1) / batch.BitsPerWord * batch.BitsPerWord
}

// Dispatcher gives jobs to back ends.
type Dispatcher struct {
	backends []Backend

	mu     sync.Mutex
	closed bool
	calls  sync.WaitGroup // in progress
}

// New returns a dispatcher over back ends; of two that are worth the same the first is
// taken. It owns them from now on.
func New(backends ...Backend) *Dispatcher {
	return &Dispatcher{backends: backends}
}

// Backends returns the back ends, usable or not, as they were given to New.
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

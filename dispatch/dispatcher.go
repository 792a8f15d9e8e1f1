package dispatch

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"clearance/batch"
)

// ErrNoBackend is wrapped by the error of a call that no back end can serve.
var ErrNoBackend = errors.New("no usable back end")

// Auto is the name that asks for the first back end that can serve a call.
const Auto = "auto"

// DefaultChunkRows is the number of rows that a back end is given at a time: some
// hundred milliseconds on one CPU core, a few megabytes of columns.
const DefaultChunkRows = 1 << 16

// Options configure the running of a job. The zero value is the default.
type Options struct {
	// Backend names a back end; "" and [Auto] take the first that is usable, and
	// the next when one fails. A back end asked for by name is not replaced.
	Backend string

	// ChunkRows is the number of rows given to a back end at a time, rounded up to
	// a multiple of 64; 0 is what the back end likes best ([Chunked]), else
	// [DefaultChunkRows], which streams always take. No answer depends on it.
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
}

// New returns a dispatcher over back ends, best first. It owns them from now on.
// Of two with one name only the first can be asked for by name.
func New(backends ...Backend) *Dispatcher {
	return &Dispatcher{backends: backends}
}

// Backends returns the back ends, best first, usable or not.
func (d *Dispatcher) Backends() []Backend { return d.backends }

// Close closes every back end.
func (d *Dispatcher) Close() error {
	var errs []error
	for _, b := range d.backends {
		errs = append(errs, b.Close())
	}
	return errors.Join(errs...)
}

// Choose returns the back ends that can serve a call with options o, best first:
// one for a name, all usable ones for "" and [Auto]. For these, a Vulkan driver that runs
// on the CPU comes after everything else, wherever it stands. The error wraps
// [ErrNoBackend] and gives the reason of each back end that was turned down.
func (d *Dispatcher) Choose(backend string, o *batch.Options) ([]Backend, error) {
	if backend == "" {
		backend = Auto
	}
	var chosen []Backend
	var reasons, names []string
	for _, b := range d.backends {
		names = append(names, b.Name())
		if backend != Auto && b.Name() != backend {
			continue
		}
		device := b.Device()
		if !device.Usable() {
			reasons = append(reasons, b.Name()+": "+device.Reason)
			continue
		}
		if err := b.Check(o); err != nil {
			reasons = append(reasons, b.Name()+": "+err.Error())
			continue
		}
		chosen = append(chosen, b)
		if backend != Auto {
			return chosen, nil
		}
	}
	slices.SortStableFunc(chosen, func(a, b Backend) int { return software(a) - software(b) })
	switch {
	case len(chosen) > 0:
		return chosen, nil
	case len(reasons) > 0:
		return nil, fmt.Errorf("dispatch: %w (%s)", ErrNoBackend, strings.Join(reasons, "; "))
	case backend != Auto:
		return nil, fmt.Errorf("dispatch: %w is named %q, want one of %v", ErrNoBackend, backend, names)
	}
	return nil, fmt.Errorf("dispatch: %w", ErrNoBackend)
}

// software is 1 for a back end that emulates a GPU on the CPU, which the CPU back end
// always beats.
func software(b Backend) int {
	if b.Device().Kind == batch.SoftwareGPU {
		return 1
	}
	return 0
}

package dispatch

import (
	"context"
	"errors"
	"time"

	"clearance/batch"
)

// Backend computes answers on one device.
type Backend interface {
	// Name is what a caller asks for: "cpu", "vulkan", "ref". Of several devices of a
	// kind the name goes on with a colon and what tells them apart: "vulkan:1".
	Name() string

	// Device describes the device, and why it cannot be used if so.
	Device() batch.Device

	// Check reports options that this back end cannot serve.
	Check(o *batch.Options) error

	// Run answers rows [lo, hi) of the job's input into rows [0, hi-lo) of out. It
	// ignores job.Results. out has at least the columns that were asked for, and its
	// status column; the bits column is not the back end's to write.
	//
	// The job has been checked as a whole; rows have not: the back end reads them
	// with [batch.Job.Read] and stores Invalid for those refused. Every row is
	// written exactly once, whole, whatever goroutine does it, and its answer
	// depends on that row alone.
	//
	// When ctx is done Run stops soon and returns ctx.Err(); rows written until
	// then are good. Any other error means that the device failed: what was
	// written is thrown away. No goroutine outlives Run.
	//
	// Run may be called by several goroutines at once.
	Run(ctx context.Context, job *batch.Job, lo, hi int, out *batch.Results) error

	// Close frees the device. Nothing may be called after it.
	Close() error
}

// Partial is a back end that cannot end every row: Run may leave the status of a row
// as it found it (a value from [batch.StatusCount] up), which declines the row. The
// dispatcher has it answered by another back end, whatever was asked for by name. A
// back end without this method that leaves out a row has failed.
type Partial interface {
	Partial() bool
}

// Measured is a back end that knows how long its device computed.
type Measured interface {
	// RunMeasured is Run; kernel is the time in which the device ran the solvers,
	// without transfers, 0 if it was not measured.
	RunMeasured(ctx context.Context, job *batch.Job, lo, hi int, out *batch.Results) (kernel time.Duration, err error)
}

// Chunked is a back end that works best on chunks of its own size.
type Chunked interface {
	ChunkRows() int // the default in place of [DefaultChunkRows]
}

// Queued is a back end whose device would idle between one chunk and the next: it is
// given so many at a time.
type Queued interface {
	CallsAtOnce() int
}

// Estimator is a back end that says itself what it is worth, in place of what is
// assumed of its kind of device.
type Estimator interface {
	// Estimate returns how long a call of so many rows takes. It depends on its
	// arguments and the device alone, not on a clock, so that the same call goes to the
	// same back end every time.
	Estimate(rows int, o *batch.Options) time.Duration
}

// Holder is a back end on which a batch can stay between calls, see [Dispatcher.Hold].
type Holder interface {
	Hold(ctx context.Context, lib *batch.Library, in batch.Input) (batch.Held, error)
}

// Label returns a back end under another name. It can do what the original can.
func Label(b Backend, name string) Backend { return labelled{b, name} }

type labelled struct {
	Backend
	name string
}

func (l labelled) Name() string   { return l.name }
func (l labelled) inner() Backend { return l.Backend }

// As returns a back end as one with optional methods, if it has them; [Label] hides none.
func As[T any](b Backend) (T, bool) {
	for {
		if t, ok := b.(T); ok {
			return t, true
		}
		w, ok := b.(interface{ inner() Backend })
		if !ok {
			var none T
			return none, false
		}
		b = w.inner()
	}
}

// Absent returns a back end that is not there. It is listed, so that who asks for it by
// name is told why.
func Absent(name string, kind batch.DeviceKind, why string) Backend {
	return absent{name, kind, why}
}

type absent struct {
	name string
	kind batch.DeviceKind
	why  string
}

func (a absent) Name() string               { return a.name }
func (a absent) Device() batch.Device       { return batch.Device{Kind: a.kind, Reason: a.why} }
func (a absent) Check(*batch.Options) error { return errors.New(a.why) }
func (a absent) Close() error               { return nil }
func (a absent) Run(context.Context, *batch.Job, int, int, *batch.Results) error {
	return errors.New(a.why)
}

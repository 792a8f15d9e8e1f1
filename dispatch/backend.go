package dispatch

import (
	"context"
	"time"

	"clearance/batch"
)

// Backend computes answers on one device.
type Backend interface {
	// Name is what a caller asks for: "cpu", "vulkan", "ref". It is unique in a
	// dispatcher.
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

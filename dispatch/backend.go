package dispatch

import (
	"context"
	"errors"
	"time"

	"clearance/batch"
)

// A Backend computes answers on one device.
type Backend interface {
	// Name returns the name by which callers select the back end: "cpu", "vulkan",
	// "ref". If there are several devices of a kind, a colon and the device follow, as in
	// "vulkan:1".
	Name() string

	// Device describes the device and, if it cannot be used, gives the reason.
	Device() batch.Device

	// Serves returns the table of queries, methods and precisions that the back end answers. The
	// dispatcher gives it no others.
	Serves() batch.Serves

	// Plan resolves options that have been checked: it is asked once a call, and its plan is in the jobs of
	// Run. The error says that the back end does not support them: by its table, as [batch.Serves.Check] has
	// it, or for a reason of its own.
	Plan(o *batch.Options) (batch.Plan, error)

	// Run answers rows [lo, hi) of the job's input into rows [0, hi-lo) of out. It
	// ignores job.Results. out has at least the requested columns and the status column.
	// Run does not write the bits column.
	//
	// The job has been checked as a whole; rows have not. The back end reads them with
	// [batch.Job.Read] and stores Invalid for those that it refuses. Every row is written
	// exactly once and completely, and its answer depends on that row alone. It is then marked as
	// answered in out.Marks, if these are not nil, which [batch.Results.Put] does.
	//
	// When ctx is done, Run stops soon and returns ctx.Err(); the rows written until then
	// are valid. Any other error means that the device failed; its rows are discarded.
	// No goroutine outlives Run.
	//
	// Run may be called by several goroutines at once.
	Run(ctx context.Context, job *batch.Job, lo, hi int, out *batch.Results) error

	// Close frees the device. No other method may be called after it.
	Close() error
}

// Partial is implemented by back ends that may decline rows: Run leaves the mark of a
// declined row as it was, [batch.Unanswered]. The dispatcher passes
// declined rows to another back end, even if this one was selected by name. A back end
// without this method that does not mark a row has failed.
type Partial interface {
	Partial() bool
}

// Measured is implemented by back ends that measure the time on their device.
type Measured interface {
	// RunMeasured is Run. kernel is the time that the device spent in the solvers,
	// without transfers, 0 if it was not measured.
	RunMeasured(ctx context.Context, job *batch.Job, lo, hi int, out *batch.Results) (kernel time.Duration, err error)
}

// Reducer is implemented by back ends that can omit rows, see [batch.Reduction].
type Reducer interface {
	// RunReduced is RunMeasured. It may omit rows if the job has a reduction: their mark is then [batch.Omitted], and
	// they are added to the tally, with the bytes read of the device's memory.
	RunReduced(ctx context.Context, job *batch.Job, lo, hi int, out *batch.Results, tally *batch.Tally) (
		kernel time.Duration, err error)
}

// Deriving is implemented by back ends that compute derivatives of rows that they answer.
type Deriving interface {
	// Derives reports whether Run also fills the columns of derivatives among the columns of a call with the options
	// o. out then has them, with a smoothness for each row, batch.NotDerived before Run; rows that keep it are left to
	// the [Differentiator]. The derivatives of a row, and whether they are left, depend on that row alone.
	Derives(o *batch.Options, columns batch.Columns) bool
}

// Counting is implemented by back ends whose workers count the rows that they answer, while their columns are in the
// cache. The dispatcher counts the rows of the others, and those of calls that end early.
type Counting interface {
	// RunCounted is Run, and adds the rows to the count. out has the columns of [batch.Options.Counted].
	RunCounted(ctx context.Context, job *batch.Job, lo, hi int, out *batch.Results, count *batch.Count) error
}

// Chunked is implemented by back ends that prefer a chunk size of their own.
type Chunked interface {
	ChunkRows() int // the default in place of [DefaultChunkRows]
}

// Queued is implemented by back ends whose device would be idle between chunks if it
// were given one at a time.
type Queued interface {
	CallsAtOnce() int // number of chunks in progress at a time
}

// Estimator is implemented by back ends that estimate the time of a call themselves. For
// all others it is estimated from the kind of their device.
type Estimator interface {
	// Estimate returns the estimated time of a call with the given number of rows. It
	// depends on its arguments and the device alone, not on measurements, so that the
	// same call always runs on the same back end.
	Estimate(rows int, o *batch.Options) time.Duration
}

// Holder is implemented by back ends that can keep a batch in device memory between
// calls, see [Dispatcher.Hold].
type Holder interface {
	Hold(ctx context.Context, lib *batch.Library, in batch.Input) (batch.Held, error)
}

// CullingKernels is implemented by back ends whose kernels compare bounds of bodies in many worlds at once, which
// package rollout does before it asks a back end. No answer depends on them.
type CullingKernels interface {
	// CullWorlds returns the number of worlds that a culler takes at a time, 0 if there are no kernels.
	CullWorlds() int

	// NewCuller returns a culler for one goroutine, nil if there are no pairs. It keeps a reference to c.
	NewCuller(c *batch.Culling) batch.Culler

	// SIMD returns the instruction set of the kernels, which the broad phase uses as well, "off" for none.
	SIMD() string
}

// Label returns a back end under another name. Its optional methods are those of b.
func Label(b Backend, name string) Backend { return labelled{b, name} }

type labelled struct {
	Backend
	name string
}

func (l labelled) Name() string   { return l.name }
func (l labelled) inner() Backend { return l.Backend }

// As returns a back end as a T, for example an [Estimator], if it implements T, also
// through [Label].
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

// Absent returns a back end that is not available. In the list of a dispatcher it gives the
// reason to callers that select it by name.
func Absent(name string, kind batch.DeviceKind, why string) Backend {
	return absent{name, kind, why}
}

type absent struct {
	name string
	kind batch.DeviceKind
	why  string
}

func (a absent) Name() string                            { return a.name }
func (a absent) Device() batch.Device                    { return batch.Device{Kind: a.kind, Reason: a.why} }
func (a absent) Serves() batch.Serves                    { return nil }
func (a absent) Plan(*batch.Options) (batch.Plan, error) { return nil, errors.New(a.why) }
func (a absent) Close() error                            { return nil }
func (a absent) Run(context.Context, *batch.Job, int, int, *batch.Results) error {
	return errors.New(a.why)
}

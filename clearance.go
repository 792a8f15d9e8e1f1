// Package clearance answers batches of convex pair queries: are these two shapes in
// contact, how far apart, how deep, along which normal, at which witness points.
// Every answer carries a bound on its own error.
//
// [Open] a [Handle] once, build a [batch.Library] of shapes, and ask as often as you
// like. A batch is a pair list ([batch.Pairs]) or a rollout ([batch.Worlds]).
// Conventions: metres, quaternions (w, x, y, z), normals from A to B in the
// world frame, results at the index of their input row.
//
// # Who answers
//
// Open opens the Vulkan device and the CPU. By default each call goes to the one that
// should be done first: small batches to the CPU, large ones to a GPU where there is one.
// Their answers agree within the stated gaps, but not in every bit; who needs the same
// bits for batches of every size names a back end, see [WithBackend].
//
// # Errors
//
// A query returns results and, if some rows have no answer, a *[dispatch.RowsError]
// that counts them: those rows have status undecided or invalid, and all other rows
// are good. With any other error, too, rows that were not reached read as
// undecided: a failure never looks like "no contact".
//
// # Threads
//
// A Handle may be used by several goroutines at once. No goroutine outlives a call.
package clearance

import (
	"context"
	"errors"
	"slices"

	"clearance/batch"
	"clearance/cpu"
	"clearance/dispatch"
)

// Option changes what [Open] opens.
type Option func(*config)

type config struct {
	cpu    cpu.Options
	device string
	run    dispatch.Options
}

// WithBackend asks for a back end by name: "vulkan", "cpu" or "ref"; "vulkan:1" is the
// Vulkan device of that index, and "vulkan:0+vulkan:1" shares the rows of a call between
// two of them. A back end that is asked for and not there is an error of [Open]. The
// default, "auto", takes for each call the one that should be done first, and the next if
// it fails.
func WithBackend(name string) Option { return func(c *config) { c.run.Backend = name } }

// WithDevice picks the Vulkan device, by index or by part of its name; the default is the
// one that the environment variable CLEARANCE_DEVICE names, else the best. [AllDevices]
// takes all of them, which then share the rows of a call.
func WithDevice(device string) Option { return func(c *config) { c.device = device } }

// WithSIMD forces the kernels of the CPU back end: "avx512", "avx2", "portable", or "off"
// for the solvers in Go alone. The default is what the environment variable
// CLEARANCE_SIMD names, else the best that the processor has.
func WithSIMD(variant string) Option { return func(c *config) { c.cpu.SIMD = variant } }

// WithWorkers sets the number of goroutines of the CPU back end; the default is one a
// processor.
func WithWorkers(n int) Option { return func(c *config) { c.cpu.Workers = n } }

// WithChunkRows sets the number of rows that a back end is given at a time.
func WithChunkRows(n int) Option { return func(c *config) { c.run.ChunkRows = n } }

// WithProgress has f called after every chunk, see [dispatch.Options].
func WithProgress(f func(done, total int)) Option {
	return func(c *config) { c.run.Progress = f }
}

// Handle answers queries on the back ends of this machine.
type Handle struct {
	dispatcher *dispatch.Dispatcher
	run        dispatch.Options
	notes      []string
}

// Open finds the back ends of this machine. It fails if the one asked for by name is
// not there; what else is not there is in [Handle.Notes].
func Open(options ...Option) (*Handle, error) {
	var c config
	for _, o := range options {
		o(&c)
	}
	processor, err := cpu.New(c.cpu)
	if err != nil {
		return nil, err
	}
	list, note := openVulkan(&c)
	h := &Handle{dispatcher: dispatch.New(append(list, processor, cpu.NewReference())...), run: c.run}
	if note != "" {
		h.notes = append(h.notes, note)
	}
	if _, err := h.dispatcher.Choose(c.run.Backend, new(batch.Options), dispatch.UnknownRows); err != nil {
		return nil, errors.Join(err, h.Close())
	}
	return h, nil
}

// Distance answers the signed distance of every pair, in single precision, with all
// columns: positive apart, minus the depth in penetration.
func (h *Handle) Distance(ctx context.Context, lib *batch.Library, in batch.Input) (*batch.Results, error) {
	return h.query(ctx, lib, in, batch.Distance)
}

// Penetration answers the depth of the pairs that overlap, as a negative
// distance; those that do not are only proved to be separated.
func (h *Handle) Penetration(ctx context.Context, lib *batch.Library, in batch.Input) (*batch.Results, error) {
	return h.query(ctx, lib, in, batch.Penetration)
}

// Collide answers whether pairs are in contact: columns status and bits.
func (h *Handle) Collide(ctx context.Context, lib *batch.Library, in batch.Input) (*batch.Results, error) {
	return h.query(ctx, lib, in, batch.Collide)
}

func (h *Handle) query(ctx context.Context, lib *batch.Library, in batch.Input, q batch.Query) (*batch.Results, error) {
	job := &batch.Job{Library: lib, Input: in, Options: batch.Options{Query: q}}
	report, err := h.Run(ctx, job)
	if err == nil {
		err = report.Err()
	}
	return job.Results, err
}

// Run answers a job with options of its own; job.Results is made if it is nil. Rows
// without an answer are no error of Run: the report counts them, see
// [dispatch.Report.Err].
func (h *Handle) Run(ctx context.Context, job *batch.Job) (dispatch.Report, error) {
	return h.dispatcher.Run(ctx, job, h.run)
}

// Hold prepares a batch that is asked the same question again and again while its bodies
// move: where a Vulkan device answers, library and pairs stay there, and only poses and
// answers move. Give it a [batch.Worlds] for a rollout: then the poses of bodies move, not
// those of pairs.
//
//	for each step {
//		move the bodies in the poses of worlds
//		b.Update(ctx, worlds)
//		results, report, err := b.Run(ctx)
//	}
//
// Close the batch before the handle.
func (h *Handle) Hold(ctx context.Context, lib *batch.Library, in batch.Input, o batch.Options) (*dispatch.Batch, error) {
	return h.dispatcher.Hold(ctx, lib, in, o, h.run)
}

// Backends returns the back ends of this machine, Vulkan devices first, usable or not:
// [dispatch.Backend] says which and why.
func (h *Handle) Backends() []dispatch.Backend { return h.dispatcher.Backends() }

// Notes says in a line each what is not as good as it could be, as a Vulkan device that
// cannot be used and why. Answers are right all the same.
func (h *Handle) Notes() []string { return slices.Clone(h.notes) }

// Dispatcher is what runs the calls, for who streams files through it
// ([dispatch.Dispatcher.RunStream]) or chooses back ends call by call. It belongs to the
// handle.
func (h *Handle) Dispatcher() *dispatch.Dispatcher { return h.dispatcher }

// Close frees the back ends.
func (h *Handle) Close() error { return h.dispatcher.Close() }

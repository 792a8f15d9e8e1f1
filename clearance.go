// Package clearance answers batches of convex pair queries: are these two shapes in
// contact, how far apart, how deep, along which normal, at which witness points.
// Every answer carries a bound on its own error.
//
// [Open] a [Handle] once, build a [batch.Library] of shapes, and ask as often as you
// like. A batch is a pair list ([batch.Pairs]) or a rollout ([batch.Worlds]).
// Conventions: metres, quaternions (w, x, y, z), normals from A to B in the
// world frame, results at the index of their input row.
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

	"clearance/batch"
	"clearance/cpu"
	"clearance/dispatch"
)

// Option changes what [Open] opens.
type Option func(*config)

type config struct {
	cpu cpu.Options
	run dispatch.Options
}

// WithBackend asks for a back end by name ("cpu", "ref"); the default, "auto", takes
// the best one there is, and the next if it fails.
func WithBackend(name string) Option { return func(c *config) { c.run.Backend = name } }

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
}

// Open finds the back ends of this machine. It fails if the one asked for by name is
// not there.
func Open(options ...Option) (*Handle, error) {
	var c config
	for _, o := range options {
		o(&c)
	}
	processor, err := cpu.New(c.cpu)
	if err != nil {
		return nil, err
	}
	h := &Handle{dispatcher: dispatch.New(processor, cpu.NewReference()), run: c.run}
	if _, err := h.dispatcher.Choose(c.run.Backend, new(batch.Options)); err != nil {
		return nil, err
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

// Backends returns the back ends of this machine, best first.
func (h *Handle) Backends() []dispatch.Backend { return h.dispatcher.Backends() }

// Close frees the back ends.
func (h *Handle) Close() error { return h.dispatcher.Close() }

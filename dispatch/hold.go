package dispatch

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"clearance/batch"
)

// A Batch is a batch prepared for repeated runs of one query with changing poses, as in a
// rollout. If the back end supports it, the library and the pairs stay in device memory and
// only poses and answers are transferred; otherwise Run works as [Dispatcher.Run]. The
// answers are the same.
//
// The methods may be called by several goroutines; calls are serialized.
type Batch struct {
	d      *Dispatcher
	o      Options
	choice *Choice

	rows int

	mu       sync.Mutex
	job      batch.Job  // its results are nil before the first Run
	held     batch.Held // nil if nothing is in device memory
	resident string     // the reason
	closed   bool
}

// Hold prepares a batch for repeated runs. The back end is selected once, as in
// [Dispatcher.Run]. The batch keeps a reference to the input: the caller may change its
// poses after a Run and before the Update that precedes the next one, and must not change
// its shapes and pairs.
func (d *Dispatcher) Hold(ctx context.Context, lib *batch.Library, in batch.Input, options batch.Options,
	o Options) (*Batch, error) {
	if err := d.begin(); err != nil {
		return nil, err
	}
	defer d.calls.Done()
	o.ensureDefaults()
	if err := o.validate(); err != nil {
		return nil, err
	}
	if err := d.check(&options); err != nil {
		return nil, err
	}
	b := &Batch{d: d, o: o, job: batch.Job{Library: lib, Input: in, Options: options}}
	if err := b.prepare(); err != nil {
		return nil, err
	}
	var err error
	if b.choice, err = d.choose(o.Backend, &options, in.Len()); err != nil {
		return nil, err
	}
	first := b.choice.Share[0]
	holder, ok := As[Holder](first)
	switch {
	case !ok:
		b.resident = "the back end " + first.Name() + " computes in host memory"
	case len(b.choice.Share) > 1:
		b.resident = "several devices share the rows"
	default:
		if b.held, err = hold(ctx, holder, lib, in); err != nil {
			if ended(ctx, err) {
				return nil, err
			}
			b.held, b.resident = nil, fmt.Sprintf("the back end %s cannot hold it: %v", first.Name(), err)
		}
	}
	return b, nil
}

// hold converts a panic of an input or a back end to an error.
func hold(ctx context.Context, h Holder, lib *batch.Library, in batch.Input) (held batch.Held, err error) {
	defer recovered("input or back end", &err)
	return h.Hold(ctx, lib, in)
}

// prepare checks the job, of results without memory.
func (b *Batch) prepare() error {
	if b.job.Input == nil {
		return b.job.CheckForm() // which says so
	}
	b.rows = b.job.Input.Len()
	return b.job.CheckInputForm()
}

var errBatchClosed = errors.New("dispatch: the batch is closed")

// Len returns the number of rows.
func (b *Batch) Len() int { return b.rows }

// Resident reports whether the batch is kept in device memory, and if not, the reason.
func (b *Batch) Resident() (yes bool, why string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.held != nil, b.resident
}

// Update sets the poses for the next Run to those of in: the input of the batch after the
// caller changed its poses, or another input of the same form with the same shapes, pairs
// and number of rows. in must not change until Run has returned.
func (b *Batch) Update(ctx context.Context, in batch.Input) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.update(ctx, in, (*batch.Job).CheckInputForm)
}

// update is Update, after a check of the job.
func (b *Batch) update(ctx context.Context, in batch.Input, check func(*batch.Job) error) error {
	if b.closed {
		return errBatchClosed
	}
	job := b.job
	if job.Input = in; in == nil {
		return errors.New("dispatch: update of a batch without an input")
	}
	if err := check(&job); err != nil {
		return err
	}
	if n := in.Len(); n != b.rows {
		return fmt.Errorf("dispatch: a batch of %d rows for an input of %d", b.rows, n)
	}
	if b.held != nil {
		if err := b.d.begin(); err != nil {
			return err
		}
		defer b.d.calls.Done()
		if err := update(ctx, b.held, in); err != nil {
			if ended(ctx, err) {
				return err
			}
			b.release(err)
		}
	}
	b.job.Input = in
	return nil
}

func update(ctx context.Context, held batch.Held, in batch.Input) (err error) {
	defer recovered("input or back end", &err)
	return held.Update(ctx, in)
}

// release frees the held batch; later calls transfer all rows.
func (b *Batch) release(why error) {
	b.resident = fmt.Sprintf("released after a failure of the back end %s: %v", b.choice.Share[0].Name(), why)
	if err := b.held.Close(); err != nil {
		b.resident += "; " + err.Error()
	}
	b.held = nil
}

// Run answers all rows. The results belong to the batch and are overwritten by the next
// Run. The report and the error are as in [Dispatcher.Run]: rows without an answer are not
// an error.
func (b *Batch) Run(ctx context.Context) (*batch.Results, Report, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.run(ctx)
}

// Step is [Batch.Update] and [Batch.Run] in one call, into results of the caller, which have as many rows as the batch
// and the columns of its options. The batch keeps no reference to in and out, and its own results stay as they are.
func (b *Batch) Step(ctx context.Context, in batch.Input, out *batch.Results) (Report, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	own := b.job
	defer func() { b.job = own }()
	b.job.Results = out
	if err := b.update(ctx, in, (*batch.Job).CheckForm); err != nil {
		return Report{WorstGapRow: -1}, err
	}
	_, rep, err := b.run(ctx)
	return rep, err
}

func (b *Batch) run(ctx context.Context) (*batch.Results, Report, error) {
	if b.closed {
		return nil, Report{WorstGapRow: -1}, errBatchClosed
	}
	if b.job.Results == nil {
		b.job.Results = batch.NewResults(b.rows, &b.job.Options)
	}
	job := b.job
	if err := b.d.begin(); err != nil {
		return job.Results, Report{WorstGapRow: -1}, err
	}
	defer b.d.calls.Done()
	start := time.Now()
	rep := newReport(&b.o)
	rep.describe(b.choice)
	pool := newPool(b.choice)
	m, o := pool.members[0], b.o
	if b.held != nil {
		m.Backend = resident{m.Backend, b.held}
		o.setChunkRows(max(b.Len(), 1)) // one chunk, which the back end divides itself
	} else {
		o.setChunkRows(pool.chunkRows(b.rows))
	}
	err := pool.run(ctx, &job, o, &rep)
	rep.Wall = time.Since(start)
	if b.held != nil && m.failed && len(rep.Failovers) > 0 {
		b.release(rep.Failovers[0].Err)
	}
	return job.Results, rep, err
}

// Close frees the device memory of the batch. Closing again does nothing.
func (b *Batch) Close() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closed = true
	if b.held == nil {
		return nil
	}
	held := b.held
	b.held, b.resident = nil, "closed"
	return held.Close()
}

// resident is a back end that answers a batch in its device memory.
type resident struct {
	Backend
	held batch.Held
}

func (r resident) inner() Backend { return r.Backend }

// RunMeasured answers the held batch. Any other range of rows, which the dispatcher does not
// request, is transferred as in any call.
func (r resident) RunMeasured(ctx context.Context, job *batch.Job, lo, hi int, out *batch.Results) (time.Duration,
	error) {
	if lo != 0 || hi != r.held.Len() {
		return 0, r.Backend.Run(ctx, job, lo, hi, out)
	}
	if m, ok := r.held.(interface {
		RunMeasured(context.Context, *batch.Job, *batch.Results) (time.Duration, error)
	}); ok {
		return m.RunMeasured(ctx, job, out)
	}
	return 0, r.held.Run(ctx, &job.Options, out)
}

// RunReduced omits no row. Without it [As] would find that of the back end, which transfers the rows.
func (r resident) RunReduced(ctx context.Context, job *batch.Job, lo, hi int, out *batch.Results, _ *batch.Tally) (
	time.Duration, error) {
	return r.RunMeasured(ctx, job, lo, hi, out)
}

// A Series runs one job after the other with the same query on a back end that is selected once, in memory that is
// kept: a job of one chunk allocates nothing here. A back end that failed is not used again in the series. A Series
// belongs to one goroutine at a time.
type Series struct {
	d      *Dispatcher
	o      Options
	choice *Choice
	pool   *pool
	runner runner
	chunk  chunk
	report Report
}

// Series selects the back ends for jobs with the given options, as [Dispatcher.Run] does for o.EstimateRows.
func (d *Dispatcher) Series(options *batch.Options, o Options) (*Series, error) {
	o.ensureDefaults()
	if err := o.validate(); err != nil {
		return nil, err
	}
	rows := o.EstimateRows
	if rows == 0 {
		rows = UnknownRows
	}
	choice, err := d.Choose(o.Backend, options, rows)
	if err != nil {
		return nil, err
	}
	s := &Series{d: d, o: o, choice: choice, pool: newPool(choice)}
	s.report.describe(choice)
	return s, nil
}

// Choice returns the back ends that were selected, and why. It must not be changed.
func (s *Series) Choice() *Choice { return s.choice }

// Run answers a job as [Dispatcher.Run] does; job.Results must not be nil, and its options are those of the series but
// for their derivative. The report, without the wall time of single chunks beyond the first, is valid until the next
// Run.
func (s *Series) Run(ctx context.Context, job *batch.Job) (*Report, error) {
	start := time.Now()
	rep := &s.report
	*rep = Report{WorstGapRow: -1, Backend: rep.Backend, Why: rep.Why, Devices: rep.Devices, Spans: rep.Spans[:0],
		Shares: rep.Shares[:0], maxRowErrors: s.o.MaxRowErrors}
	if err := s.d.begin(); err != nil {
		return rep, err
	}
	defer s.d.calls.Done()
	if err := job.CheckForm(); err != nil {
		return rep, err
	}
	if job.Reduction != nil {
		job.Reduction.Tally.Reset()
	}
	n := job.Input.Len()
	o := s.o
	o.setChunkRows(s.pool.chunkRows(n))
	r := &s.runner
	r.o, r.pool, r.report, r.total, r.settled = o, s.pool, rep, n, 0
	m := s.first()
	if m == nil {
		job.Results.Reset()
		return rep, fmt.Errorf("dispatch: %w: all back ends of the series have failed: %w", ErrNoBackend, s.pool.last)
	}
	defer r.failUnreached(job)
	var err error
	switch {
	case n > o.ChunkRows:
		err = r.run(ctx, job)
	case n > 0:
		err = r.runChunk(ctx, s.oneChunk(job, n), m)
	}
	if err != nil && ended(ctx, err) {
		err = fmt.Errorf("dispatch: stopped after %d answers: %w", rep.Done, err)
	}
	rep.Wall = time.Since(start)
	return rep, err
}

// Multiplies reports whether the back end that is asked first takes products of derivatives of jobs of the series, of
// which the options configure the derivative.
func (s *Series) Multiplies(o *batch.Options) bool { return s.multiplier(o) != nil }

// multiplier returns the back end that is asked first, nil if it does not take products.
func (s *Series) multiplier(o *batch.Options) Multiplier {
	m := s.first()
	if m == nil {
		return nil
	}
	if x, ok := As[Multiplier](m.Backend); ok && x.Multiplies(o) {
		return x
	}
	return nil
}

// Multiply has the back end that is asked first take sums of products, see [Multiplier]. It returns the worlds that are
// left: all, if the back end does not take them, or fails; then it is not used again.
func (s *Series) Multiply(ctx context.Context, job *batch.Job, p *batch.Product) (left []int, err error) {
	if err := s.d.begin(); err != nil {
		return nil, err
	}
	defer s.d.calls.Done()
	if err := p.Check(job.Input); err != nil {
		return nil, err
	}
	if x := s.multiplier(&job.Options); x != nil {
		left, err = multiplied(ctx, x, job, p)
		if err == nil || ended(ctx, err) {
			return left, err
		}
		s.pool.drop(s.first(), err)
		left = nil
	}
	for w := range len(p.Sums.Worlds) - 1 {
		left = append(left, w)
	}
	return left, nil
}

// multiplied calls a back end. A panic is an error.
func multiplied(ctx context.Context, x Multiplier, job *batch.Job, p *batch.Product) (left []int, err error) {
	defer recovered("products", &err)
	return x.Multiply(ctx, job, p)
}

// first returns the best member that has not failed, nil if there is none.
func (s *Series) first() *member {
	for _, m := range s.pool.members {
		if s.pool.dropped(m) == nil {
			return m
		}
	}
	return nil
}

// OnDevice reports whether the back end that is asked first works in memory of a device, for which long calls are worth
// what they take of memory here.
func (s *Series) OnDevice() bool {
	m := s.first()
	if m == nil {
		return false
	}
	_, ok := As[Holder](m.Backend)
	return ok
}

// oneChunk returns the whole job as a chunk, in the memory of the series.
func (s *Series) oneChunk(job *batch.Job, n int) *chunk {
	c := &s.chunk
	*c = chunk{job: job, hi: n, tally: c.tally, count: c.count, failovers: c.failovers[:0], handovers: c.handovers[:0]}
	s.runner.view(c)
	c.reset()
	return c
}

// Reduces reports whether the back end that is asked first can omit rows, see [batch.Reduction].
func (s *Series) Reduces() bool {
	m := s.first()
	if m == nil {
		return false
	}
	_, ok := As[Reducer](m.Backend)
	return ok
}

// StepBackend is the back end that is asked for the pairs of time steps unless a caller names another. Contact points
// are made from answers in double precision, and a step asks for few rows at a time.
const StepBackend = "cpu"

// Steps answers the pairs of the time steps of a simulation, all rows of a job at once, by back ends that the first job
// chooses. It is what contact.NewSimulation takes. Later jobs have the same query, columns and precision. Steps belongs
// to one goroutine at a time.
type Steps struct {
	d       *Dispatcher
	backend string
	series  *Series
	job     batch.Job
}

// Steps returns the solver of pairs for a simulation. "" is [StepBackend], and [Auto] if there is no such back end.
func (d *Dispatcher) Steps(backend string) *Steps {
	if backend == "" {
		backend = Auto
		if slices.ContainsFunc(d.backends, func(b Backend) bool { return b.Name() == StepBackend }) {
			backend = StepBackend
		}
	}
	return &Steps{d: d, backend: backend}
}

// Run answers a job. lo and hi must be all of its rows.
func (s *Steps) Run(ctx context.Context, job *batch.Job, lo, hi int, out *batch.Results) error {
	if n := job.Input.Len(); lo != 0 || hi != n {
		return fmt.Errorf("dispatch: rows [%d, %d) of a step's %d pairs; a step asks for all", lo, hi, n)
	}
	s.job = *job
	s.job.Results = out
	if s.series == nil {
		series, err := s.d.Series(&job.Options, Options{Backend: s.backend})
		if err != nil {
			return err
		}
		s.series = series
	}
	if m := s.series.first(); m == nil || m.partial() {
		_, err := s.series.Run(ctx, &s.job)
		return err
	}
	return s.answer(ctx)
}

// answer has the job answered by the first back end that does not fail. It makes no report, which would take longer
// than the answers of some steps. Back ends that may decline rows are left to [Series.Run].
func (s *Steps) answer(ctx context.Context) error {
	if err := s.d.begin(); err != nil {
		return err
	}
	defer s.d.calls.Done()
	n := s.job.Input.Len()
	for {
		m := s.series.first()
		if m == nil || m.partial() {
			_, err := s.series.Run(ctx, &s.job)
			return err
		}
		s.job.Plan = m.plan
		err := s.run(ctx, m, n)
		if err == nil || ended(ctx, err) {
			return err
		}
		s.series.pool.drop(m, fmt.Errorf("dispatch: back end %s failed on rows [0, %d): %w", m.Name(), n, err))
		s.job.Results.Reset()
	}
}

// run calls a back end. A panic is an error.
func (s *Steps) run(ctx context.Context, m *member, n int) (err error) {
	defer recovered("pairs of a step", &err)
	return m.Run(ctx, &s.job, 0, n, s.job.Results)
}

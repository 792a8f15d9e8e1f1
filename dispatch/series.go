package dispatch

import (
	"context"
	"fmt"
	"time"

	"clearance/batch"
)

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

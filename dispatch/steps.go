package dispatch

import (
	"context"
	"fmt"
	"slices"

	"clearance/batch"
)

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

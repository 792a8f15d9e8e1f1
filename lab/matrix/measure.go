package matrix

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"clearance"
	"clearance/batch"
	"clearance/dispatch"
	"clearance/verify"
)

// Lab measures cases.
type Lab struct {
	// Open opens a back end; the lab closes it.
	Open func(backend string, workers int) (*clearance.Handle, error)

	Rounds   int
	Time     time.Duration // least time of a round; short calls are repeated
	Sample   int           // rows of a case that the reference solves again; 0 is none
	Seed     uint64
	Progress func(done, total int) // nil for none
}

// maxCalls bounds the calls of a round: a million of the shortest take a second.
const maxCalls = 1 << 20

// Run measures the cases and adds them to the report.
func (l *Lab) Run(ctx context.Context, cases []Case, r *Report) error {
	if l.Rounds < 1 || l.Time <= 0 || l.Sample < 0 {
		return fmt.Errorf("matrix: %d rounds of %v and a sample of %d, want 1 or more, a time above 0, and 0 or more",
			l.Rounds, l.Time, l.Sample)
	}
	s := session{lab: l, report: r, handles: map[string]*clearance.Handle{}}
	defer s.close()
	for lo := 0; lo < len(cases); {
		hi := lo
		for hi < len(cases) && cases[hi].Set == cases[lo].Set && cases[hi].Regime == cases[lo].Regime {
			hi++
		}
		if err := s.group(ctx, cases[lo:hi]); err != nil {
			return fmt.Errorf("matrix: %s, %s: %w", cases[lo].Set, cases[lo].Regime, err)
		}
		if lo = hi; l.Progress != nil {
			l.Progress(hi, len(cases))
		}
	}
	return nil
}

// session is a run of the lab.
type session struct {
	lab     *Lab
	report  *Report
	source  source
	handles map[string]*clearance.Handle // by back end and workers
}

func (s *session) close() {
	for _, h := range s.handles {
		h.Close()
	}
}

func (s *session) open(c *Case) (*clearance.Handle, error) {
	key := fmt.Sprint(c.Backend, c.Workers)
	if h := s.handles[key]; h != nil {
		return h, nil
	}
	h, err := s.lab.Open(c.Backend, c.Workers)
	if err != nil {
		return nil, err
	}
	s.handles[key] = h
	o, err := c.options()
	if err != nil {
		return nil, err
	}
	choice, err := h.Dispatcher().Choose(c.Backend, &o, c.Pairs)
	if err != nil {
		return nil, err
	}
	s.report.addDevice(c, choice.Share)
	return h, nil
}

// runner is a case on its way.
type runner struct {
	c          *Case
	dispatcher *dispatch.Dispatcher
	job        *batch.Job
	calls      int // of a round
	last       dispatch.Report
	rounds     []verify.Number // ns a pair
	kernels    []verify.Number // ns a pair; shorter than rounds where the back end has no clock
}

// group measures the cases of one set and regime in turn.
func (s *session) group(ctx context.Context, cases []Case) error {
	most := 0
	for i := range cases {
		most = max(most, cases[i].Pairs)
	}
	lib, pairs, err := s.source.pairs(ctx, &cases[0], s.lab.Seed, most)
	if err != nil {
		return err
	}
	s.report.addSet(cases[0].Set, lib)
	runners := make([]*runner, len(cases))
	for i := range cases {
		c := &cases[i]
		h, err := s.open(c)
		if err != nil {
			return err
		}
		o, err := c.options()
		if err != nil {
			return err
		}
		runners[i] = &runner{c: c, dispatcher: h.Dispatcher(),
			job: &batch.Job{Library: lib, Input: pairs.Slice(0, c.Pairs), Options: o}}
		if err := runners[i].warm(ctx, s.lab.Time); err != nil {
			return err
		}
	}
	order := rand.New(rand.NewPCG(s.lab.Seed, 0))
	for range s.lab.Rounds {
		for _, i := range order.Perm(len(runners)) {
			if err := runners[i].round(ctx); err != nil {
				return err
			}
		}
	}
	for _, r := range runners {
		p, err := r.point(ctx, s.lab)
		if err != nil {
			return err
		}
		s.report.put(*p)
	}
	return nil
}

// warm makes the results, and finds how many calls fill a round.
func (r *runner) warm(ctx context.Context, round time.Duration) error {
	if err := r.call(ctx); err != nil {
		return err
	}
	if err := r.call(ctx); err != nil {
		return err
	}
	r.calls = min(maxCalls, 1+int(round/max(r.last.Wall, 1)))
	return nil
}

func (r *runner) call(ctx context.Context) (err error) {
	r.last, err = r.dispatcher.Run(ctx, r.job, dispatch.Options{Backend: r.c.Backend})
	return err
}

func (r *runner) round(ctx context.Context) error {
	var wall, kernel time.Duration
	timed := true
	for range r.calls {
		if err := r.call(ctx); err != nil {
			return err
		}
		wall += r.last.Wall
		kernel += r.last.Kernel
		timed = timed && r.last.KernelRows == r.c.Pairs
	}
	pairs := float64(r.calls) * float64(r.c.Pairs)
	r.rounds = append(r.rounds, verify.Number(float64(wall.Nanoseconds())/pairs))
	if timed && kernel > 0 {
		r.kernels = append(r.kernels, verify.Number(float64(kernel.Nanoseconds())/pairs))
	}
	return nil
}

// point turns the rounds into a line of the report, and checks the answers of the
// last call.
func (r *runner) point(ctx context.Context, l *Lab) (*Point, error) {
	p := &Point{Case: *r.c, Calls: r.calls, Rounds: r.rounds, Declined: r.last.Declined()}
	if len(r.kernels) == len(r.rounds) {
		p.Kernels = r.kernels
	}
	p.summarize()
	if n := r.c.Pairs - r.last.Counts[batch.Invalid]; n > 0 {
		p.Iterations = verify.Number(float64(r.last.Iterations) / float64(n))
	}
	a := &p.Accuracy
	a.WorstGap, a.Undecided, a.Invalid = verify.Number(r.last.WorstGap), r.last.Counts[batch.Undecided],
		r.last.Counts[batch.Invalid]
	// Rows beyond these repeat the same pairs.
	n := min(r.c.Pairs, distinct)
	job := &batch.Job{Library: r.job.Library, Input: r.job.Input.(*batch.Pairs).Slice(0, n), Options: r.job.Options,
		Results: r.job.Results.Slice(0, n)}
	audit, err := verify.Audit(ctx, job, verify.Options{Seed: l.Seed})
	if err != nil {
		return nil, err
	}
	a.Audited, a.Refuted = audit.Rows, audit.Wrong()
	if l.Sample > 0 {
		again, err := verify.Compare(ctx, job, verify.CompareOptions{Sample: l.Sample, Seed: l.Seed})
		if err != nil {
			return nil, err
		}
		a.Compared, a.Mismatches, a.WorstError = again.Compared, again.Wrong(), again.WorstError
	}
	return p, nil
}

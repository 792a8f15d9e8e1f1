package rollout

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"
	"time"

	"clearance/batch"
	"clearance/dispatch"
	"clearance/internal/fault"
	"clearance/internal/memory"
	"clearance/rollout/sweep"
)

// A SweepJob is one call of [Sweep]: bodies, their motions, options, and the results.
type SweepJob struct {
	Bodies  *batch.Bodies
	Motions *batch.Motions
	Options sweep.Options
	Results *SweepResults // nil has Sweep allocate them

	FirstWorld int // number of the first world in errors and in the report
	of         int // worlds, by which the back end is selected; 0: those of the job
}

// SweepReport describes the outcome of a call of [Sweep].
type SweepReport struct {
	Backend     string
	Why         string
	Worlds      int
	Rows        int
	States      [sweep.StateCount]int
	Limited     int         // undecided rows with a pair of parts that reached the largest number of evaluations
	Culled      int64       // pairs of parts of bodies beyond the largest distance, over one leg or over all
	Evaluations int64       // poses of pairs of parts at which the solvers were asked
	RowErrors   []*RowError // the first bodies with bad input
	Wall        time.Duration
}

// merge adds the report of the worlds that follow.
func (r *SweepReport) merge(next *SweepReport, rowErrors int) {
	r.Backend, r.Why = next.Backend, next.Why
	r.Worlds, r.Rows, r.Limited = r.Worlds+next.Worlds, r.Rows+next.Rows, r.Limited+next.Limited
	for s, n := range next.States {
		r.States[s] += n
	}
	r.Culled, r.Evaluations = r.Culled+next.Culled, r.Evaluations+next.Evaluations
	r.RowErrors = append(r.RowErrors, next.RowErrors[:min(len(next.RowErrors), rowErrors-len(r.RowErrors))]...)
	r.Wall += next.Wall
}

// Err returns an error if any row has no answer, and nil otherwise.
func (r *SweepReport) Err() error {
	undecided, bad := r.States[sweep.Undecided], r.States[sweep.Invalid]
	if undecided == 0 && bad == 0 {
		return nil
	}
	if len(r.RowErrors) > 0 {
		return fmt.Errorf("rows without an answer: %d undecided, %d invalid; first: %w", undecided, bad, r.RowErrors[0])
	}
	return fmt.Errorf("rows without an answer: %d undecided, %d invalid", undecided, bad)
}

// sweepPairs is the number of pairs of parts that are in memory at a time, at least those of one row.
const sweepPairs = 1 << 17

// Sweep finds the first contact of every pair of bodies along their motions, and bounds of the least distance of
// those that stay free of contact; package sweep says what is proved. run selects the back end, which answers
// distances at single poses. run.Progress gets rows.
//
// The error concerns the call as a whole. Rows that an unsuccessful call did not reach are Undecided.
func Sweep(ctx context.Context, d *dispatch.Dispatcher, job *SweepJob, run dispatch.Options) (SweepReport, error) {
	rep, _, err := runSweep(ctx, d, job, run)
	return rep, err
}

// sweepRowBytes is the memory of a row of results.
const sweepRowBytes = 56

// runSweep is Sweep, and returns the number of rows by which the back end was selected.
func runSweep(ctx context.Context, d *dispatch.Dispatcher, job *SweepJob, run dispatch.Options) (SweepReport, int,
	error) {
	start := time.Now()
	switch {
	case job.Bodies == nil:
		return SweepReport{}, 0, errors.New("rollout: no bodies")
	case job.Motions == nil:
		return SweepReport{}, 0, errors.New("rollout: no motions")
	}
	if err := job.Options.Check(); err != nil {
		return SweepReport{}, 0, err
	}
	if err := job.Motions.CheckBodies(job.Bodies); err != nil {
		return SweepReport{}, 0, err
	}
	if job.Results != nil {
		if err := job.Results.Check(job.Motions.Len()); err != nil {
			return SweepReport{}, 0, err
		}
	}
	if n := job.Motions.Len(); job.Results == nil {
		if err := memory.Check(fmt.Sprintf("results of %d rows", n), sweepRowBytes*float64(n)); err != nil {
			return SweepReport{}, 0, fmt.Errorf("rollout: %w", err)
		}
	}
	s := newSweeper(job, run)
	defer s.failUnreached() // also where progress panics
	if err := s.checkTimes(); err != nil {
		return SweepReport{}, 0, err
	}
	rows, err := s.open(d, run, job.of)
	if err == nil {
		s.runner = runners.Get().(*sweep.Runner)
		err = s.run(ctx)
		if !errors.As(err, new(*fault.Panic)) { // which leaves a runner half written
			runners.Put(s.runner)
		}
	}
	s.failUnreached()
	batch.CountCodes(job.Results.State, s.report.States[:])
	s.report.Wall = time.Since(start)
	return s.report, rows, err
}

// runners keep the memory of rows that are active, some 15 MB, from one call to the next.
var runners = sync.Pool{New: func() any { return new(sweep.Runner) }}

// sweeper is a call of Sweep.
type sweeper struct {
	series  *dispatch.Series
	bodies  *batch.Bodies
	motions *batch.Motions
	world   int // number of the first
	o       sweep.Options
	out     *SweepResults
	report  SweepReport

	progress func(done, total int)

	team      *fault.Team
	culler    *sweepCuller
	maxErrors int // of the report

	runner *sweep.Runner

	bad     []bool // [W,M]: some way point is invalid
	rows    []int  // of the block, those that go on
	on      []bool // of each of them: it goes on after this leg
	first   []int  // [len(rows)+1]: first of the pairs of parts of each
	leg     int    // from way point leg to leg+1
	settled int    // rows before it are answered
}

func newSweeper(job *SweepJob, run dispatch.Options) *sweeper {
	m := job.Motions
	if job.Results == nil {
		job.Results = batch.UnsetSweepResults(m.Len())
	}
	s := &sweeper{bodies: job.Bodies, motions: m, world: job.FirstWorld, o: job.Options.WithDefaults(),
		out: job.Results, progress: run.Progress}
	s.report.Worlds, s.report.Rows = m.Count(), job.Results.N
	s.maxErrors = rowErrors(run.MaxRowErrors)
	s.bad = make([]bool, m.Count()*m.BodiesPerWorld())
	s.team, s.culler = fault.NewTeam(s.o.Workers), newSweepCuller(s)
	return s
}

// spacing is the distance of the floats about a time between way points leg and leg+1, or more.
func spacing(leg int) float64 {
	t := float64(leg + 1)
	return math.Nextafter(t, math.Inf(1)) - t
}

// timesRounding is what rounding of both ends adds to an interval of times at late way points, in units of the spacing
// of floats: half a unit of each sum, and one that they are moved by.
const timesRounding = 3

// checkTimes returns an error if intervals of the time tolerance cannot be told apart at the last way points.
func (s *sweeper) checkTimes() error {
	last := s.motions.WayPoints() - 1
	if least := 4 * timesRounding * spacing(last-1); last > 1 && s.o.TimeTolerance < least {
		return fmt.Errorf("rollout: time tolerance %g, want at least %.3g for times up to %d, of which float64 has no "+
			"more digits", s.o.TimeTolerance, least, last)
	}
	return nil
}

// maxSweepPairs is the largest number of pairs of parts of a row, all of which are in memory at a time.
const maxSweepPairs = 1 << 26

// sweepPairBytes is about the memory of such a pair.
const sweepPairBytes = 512

// open selects the back end, by the number of pairs of parts that calls of the solvers have at most, and returns that
// number. The motions are some of so many worlds, or all.
func (s *sweeper) open(d *dispatch.Dispatcher, run dispatch.Options, of int) (int, error) {
	pairs, err := s.countParts()
	if err != nil {
		return 0, err
	}
	if run.EstimateRows == 0 {
		rows := int(min(pairs, sweep.ActiveRows))
		run.EstimateRows = rowsOfAll(rows, s.motions.Count(), of, sweep.ActiveRows)
	}
	run.Progress = nil
	options := s.o.OfDistances()
	if s.series, err = d.Series(&options, run); err != nil {
		return 0, err
	}
	choice := s.series.Choice()
	s.report.Backend, s.report.Why = choice.Name(), choice.Why
	return run.EstimateRows, nil
}

// countParts returns the number of pairs of parts, and an error if a row has too many.
func (s *sweeper) countParts() (pairs int64, err error) {
	most := memory.Room(maxSweepPairs, sweepPairBytes)
	rows, times := s.out.N, int64(1)
	if shared := len(s.motions.Bodies) == s.motions.BodiesPerWorld(); shared && s.motions.Count() > 0 {
		rows, times = len(s.motions.TemplateA), int64(s.motions.Count())
	}
	for row := range rows {
		world, a, b := s.of(row)
		x, y := s.motions.Body(world, a), s.motions.Body(world, b)
		if x == batch.Absent || y == batch.Absent {
			continue
		}
		if n := int64(len(s.bodies.Parts(x))) * int64(len(s.bodies.Parts(y))); n > most {
			return 0, fmt.Errorf("rollout: world %d, pair %d: bodies %d and %d have %d pairs of parts, want at most "+
				"%d in a sweep", s.world+world, row%len(s.motions.TemplateA), x, y, n, most)
		} else {
			pairs += n * times
		}
	}
	return pairs, nil
}

// run compares the bodies of some worlds, and answers the rows that this leaves, in blocks.
func (s *sweeper) run(ctx context.Context) (err error) {
	defer fault.Recover(&err)
	step := s.culler.worlds()
	for world := 0; world < s.motions.Count(); world += step {
		end := min(world+step, s.motions.Count())
		if err := s.culler.run(ctx, world, end); err != nil {
			return err
		}
		if err := s.blocks(ctx, world*len(s.motions.TemplateA), end*len(s.motions.TemplateA)); err != nil {
			return err
		}
	}
	return ctx.Err()
}

// blocks answers one block after the other of the rows from first to end that need their parts.
func (s *sweeper) blocks(ctx context.Context, first, end int) error {
	for lo := first; lo < end; {
		hi, pairs := lo, int64(0)
		s.rows = s.rows[:0]
		for ; hi < end && (hi == lo || pairs < sweepPairs); hi++ {
			if n := s.culler.open[hi-first]; n > 0 {
				s.rows = append(s.rows, hi)
				pairs += int64(n)
			}
		}
		for s.leg = 0; s.leg+1 < s.motions.WayPoints() && len(s.rows) > 0; s.leg++ {
			if err := s.advance(ctx); err != nil {
				return err
			}
		}
		lo, s.settled = hi, hi
		if s.progress != nil {
			s.progress(lo, s.out.N)
		}
	}
	return nil
}

// failUnreached makes the rows that are not answered Undecided, without anything proved.
func (s *sweeper) failUnreached() {
	s.out.ResetRows(s.settled, s.out.N)
	s.settled = s.out.N
}

// of returns the world of a row, and the places of its bodies.
func (s *sweeper) of(row int) (world int, a, b int32) {
	world, p := row/len(s.motions.TemplateA), row%len(s.motions.TemplateA)
	return world, s.motions.TemplateA[p], s.motions.TemplateB[p]
}

// begin answers a row without bodies or with an invalid one, and reports whether it is another.
func (s *sweeper) begin(row int) bool {
	world, a, b := s.of(row)
	r, m := s.out, s.motions.BodiesPerWorld()
	inf := math.Inf(1)
	r.ResetRows(row, row+1)
	r.Lower[row] = inf
	switch {
	case s.motions.Body(world, a) == batch.Absent || s.motions.Body(world, b) == batch.Absent:
		r.State[row], r.Upper[row], r.T0[row] = uint8(sweep.Free), inf, float64(s.motions.WayPoints()-1)
		return false
	case s.bad[world*m+int(a)] || s.bad[world*m+int(b)]:
		s.invalid(row)
		return false
	}
	return true
}

func (s *sweeper) invalid(row int) {
	r, nan := s.out, math.NaN()
	r.State[row] = uint8(sweep.Invalid)
	r.Lower[row], r.Upper[row], r.Closest[row], r.T0[row], r.T1[row] = nan, nan, nan, nan, nan
	r.PartA[row], r.PartB[row] = -1, -1
}

// sweepCount is what workers count of some rows.
type sweepCount struct {
	evaluations, culled int64
	limited             int
}

// sweepPiece is the number of rows of a block that a worker takes at a time.
const sweepPiece = 1 << 9

// inPieces runs f for pieces of the rows of the block, and adds what it counts to the report.
func (s *sweeper) inPieces(f func(lo, hi int, count *sweepCount)) {
	var mu sync.Mutex
	n := len(s.rows)
	s.team.Run((n+sweepPiece-1)/sweepPiece, func(_, i int) {
		var c sweepCount
		f(i*sweepPiece, min((i+1)*sweepPiece, n), &c)
		mu.Lock()
		defer mu.Unlock()
		s.report.Evaluations, s.report.Culled = s.report.Evaluations+c.evaluations, s.report.Culled+c.culled
		s.report.Limited += c.limited
	})
}

// advance moves the rows of the block from one way point to the next, and keeps those that are free of contact until
// then.
func (s *sweeper) advance(ctx context.Context) error {
	s.first = resized(s.first, len(s.rows)+1)
	s.inPieces(func(lo, hi int, count *sweepCount) {
		for i, row := range s.rows[lo:hi] {
			world, a, b := s.of(row)
			n := int(s.pairsOf(world, a, b))
			if s.o.HasMaxDistance {
				if lower, ok := s.culler.separation(world, s.leg, a, b); ok {
					s.noteSeparation(row, lower)
					count.culled += int64(n)
					n = 0
				}
			}
			s.first[lo+i+1] = n
		}
	})
	s.first[0] = 0
	for i := range s.rows {
		s.first[i+1] += s.first[i]
	}
	solve := func(ctx context.Context, job *batch.Job) error {
		_, err := s.series.Run(ctx, job)
		return err
	}
	o := s.o
	if s.leg > 0 {
		o.TimeTolerance -= (timesRounding + 1) * spacing(s.leg)
	}
	answers, err := s.runner.Run(ctx, s.bodies.Library(), &partMotions{s}, o, solve)
	if err != nil {
		return err
	}
	s.on = resized(s.on, len(s.rows))
	s.inPieces(func(lo, hi int, count *sweepCount) {
		for i := lo; i < hi; i++ {
			s.on[i] = s.fold(s.rows[i], answers[s.first[i]:s.first[i+1]], count)
		}
	})
	on := s.rows[:0]
	for i, row := range s.rows {
		if s.on[i] {
			on = append(on, row)
		}
	}
	s.rows = on
	return nil
}

// partMotions are the pairs of parts of the rows of a block, from one way point to the next.
type partMotions struct{ s *sweeper }

func (p *partMotions) Len() int { return p.s.first[len(p.s.first)-1] }

// Row reads pair of parts i: part k / parts of B of A, and k mod that of B.
func (p *partMotions) Row(i int, r *sweep.Row) {
	s := p.s
	after, _ := slices.BinarySearch(s.first, i+1) // rows without pairs have the same first one as the next
	at := after - 1
	world, a, b := s.of(s.rows[at])
	partsA, partsB := s.bodies.Parts(s.motions.Body(world, a)), s.bodies.Parts(s.motions.Body(world, b))
	k := i - s.first[at]
	x, y := &partsA[k/len(partsB)], &partsB[k%len(partsB)]
	*r = sweep.Row{
		ShapeA: x.Shape, ShapeB: y.Shape, LocalA: x.Pose, LocalB: y.Pose,
		FromA: s.motions.Pose(world, s.leg, a), ToA: s.motions.Pose(world, s.leg+1, a),
		FromB: s.motions.Pose(world, s.leg, b), ToB: s.motions.Pose(world, s.leg+1, b),
	}
}

// fold combines the answers of the pairs of parts of a row, counts them, and reports whether the row is free of contact
// so far.
//
// The bodies are free of contact as long as all pairs of parts are, and in contact as soon as one is.
func (s *sweeper) fold(row int, parts []sweep.Answer, count *sweepCount) (on bool) {
	r, leg := s.out, float64(s.leg)
	world, _, b := s.of(row)
	n := len(s.bodies.Parts(s.motions.Body(world, b)))
	free, contact, by, open, limited := 1.0, math.Inf(1), -1, false, false
	for k := range parts {
		a := &parts[k]
		r.Evaluations[row] = int32(min(int64(r.Evaluations[row])+int64(a.Evaluations), math.MaxInt32))
		count.evaluations += int64(a.Evaluations)
		if a.State == sweep.Invalid { // half-spaces
			s.invalid(row)
			return false
		}
		r.Lower[row] = min(r.Lower[row], a.Lower)
		if a.Upper < r.Upper[row] {
			r.Upper[row], r.Closest[row] = a.Upper, leg+a.Closest
			r.PartA[row], r.PartB[row] = int32(k/n), int32(k%n)
		}
		if a.State == sweep.Free {
			continue
		}
		open = true
		limited = limited || a.State == sweep.Undecided && a.Evaluations >= s.o.MaxEvaluations
		free = min(free, a.T0)
		if a.T1 < contact {
			contact, by = a.T1, k
		}
	}
	switch last := s.leg+2 == s.motions.WayPoints(); {
	case !open && !last:
		return true
	case !open:
		r.State[row], r.T0[row] = uint8(sweep.Free), leg+1
		return false
	}
	r.Lower[row], r.T0[row], r.T1[row] = 0, leg+free, math.NaN()
	if leg > 0 && free > 0 {
		r.T0[row] = math.Nextafter(leg+free, 0) // the sum is rounded
	}
	if by >= 0 {
		r.T1[row] = leg + contact
		if leg > 0 && contact > 0 {
			r.T1[row] = math.Nextafter(leg+contact, math.Inf(1))
		}
		r.PartA[row], r.PartB[row] = int32(by/n), int32(by%n)
	}
	switch {
	case r.T1[row]-r.T0[row] <= s.o.TimeTolerance:
		r.State[row] = uint8(sweep.Contact)
	default:
		r.State[row] = uint8(sweep.Undecided)
		if limited {
			count.limited++
		}
	}
	return false
}

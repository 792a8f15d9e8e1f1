package verify

import (
	"context"
	"fmt"
	"iter"
	"math"
	"math/bits"
	"runtime"
	"sync"

	"clearance/batch"
	"clearance/geom"
	"clearance/internal/fault"
	"clearance/ref"
)

// Options configure an audit. The zero value is the documented default.
type Options struct {
	// Workers is the number of goroutines; 0 is GOMAXPROCS.
	Workers int

	// FirstRow is added to the row numbers of the report: the index of the first row
	// of this job, if a batch is audited in chunks.
	FirstRow int

	// Numbers, if not nil, are the numbers of the rows of this job in their place, as where a batch is audited in part.
	Numbers []int

	// Worst is the number of worst rows kept for each check; 0 is 8.
	Worst int

	// Directions is the number of random directions tried on every row that
	// claims contact, besides the line of centers, the axes of both bodies and
	// their cross products; 0 is 16, a negative number none.
	Directions int

	// DescentEvery selects one of DescentEvery rows that claim contact for a descent of
	// the support function from the best direction found; 0 is 8, 1 is every row, a
	// negative number none.
	DescentEvery int

	// Seed chooses the random directions and the rows of the descent.
	Seed uint64

	// Progress, if not nil, is called with the number of rows audited since the
	// last call. Calls come from several goroutines, one at a time.
	Progress func(rows int)
}

func (o Options) withDefaults() (Options, error) {
	if o.Workers < 0 || o.FirstRow < 0 || o.Worst < 0 {
		return o, fmt.Errorf("verify: workers %d, first row %d and worst rows %d must not be negative", o.Workers,
			o.FirstRow, o.Worst)
	}
	if o.Workers == 0 {
		o.Workers = runtime.GOMAXPROCS(0)
	}
	if o.Worst == 0 {
		o.Worst = 8
	}
	if o.Directions == 0 {
		o.Directions = 16
	}
	o.Directions = min(o.Directions, tableSize)
	if o.DescentEvery == 0 {
		o.DescentEvery = 8
	}
	return o, nil
}

// number is the number in the report of row i of the job.
func (o *Options) number(i int) int {
	if o.Numbers != nil {
		return o.Numbers[i]
	}
	return o.FirstRow + i
}

// blockOf is the number of rows that a worker takes at a time: at most some milliseconds of work,
// so that cancellation is prompt, at least enough that the shared counter is rarely contended,
// and several blocks for each worker in between.
func blockOf(n, workers int) int { return min(max(n/(4*workers), 64), 1024) }

// Audit checks every answer of job.Results against job.Input. It modifies nothing.
//
// The error is not nil if the audit could not run: columns of wrong lengths, or a cancelled
// context. Wrong answers are not an error; they are in the report.
func Audit(ctx context.Context, job *batch.Job, o Options) (*Report, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	if err := checkJob(job); err != nil {
		return nil, err
	}
	if o.Numbers != nil && len(o.Numbers) != job.Input.Len() {
		return nil, fmt.Errorf("verify: %d numbers of %d rows", len(o.Numbers), job.Input.Len())
	}
	report := newReport(o.Worst)
	report.Scale = job.Options.Query.Info().Tolerance.String()
	report.checkColumns(job)

	n := job.Input.Len()
	dirs := newCompass(o.Seed)
	err = inBlocks(ctx, n, blockOf(n, o.Workers), o.Workers, o.Progress, func() (check func(int), handIn func()) {
		a := newAuditor(job, &o, dirs)
		return a.row, func() { report.Merge(a.report) }
	})
	if err != nil {
		return nil, fmt.Errorf("verify: audit stopped: %w", err)
	}
	return report, nil
}

// checkJob returns an error for an invalid job, or for a query that this package has no audit for.
func checkJob(job *batch.Job) error {
	if err := job.Check(); err != nil {
		return fmt.Errorf("verify: %w", err)
	}
	if q := job.Options.Query; rulesOf[q] == nil {
		return fmt.Errorf("verify: there is no audit of the query %v: %w", q, batch.ErrNotAvailable)
	}
	return nil
}

// checkColumns checks for columns that were not requested. Lengths have been checked.
func (r *Report) checkColumns(job *batch.Job) {
	extra := job.Results.Columns &^ job.Options.EffectiveColumns()
	for c := extra; c != 0; c &= c - 1 {
		r.add(checkColumns, outcome{row: -1, found: float64(bits.TrailingZeros64(uint64(c))), residual: 1})
	}
	if extra == 0 {
		r.add(checkColumns, outcome{row: -1})
	}
}

// rules say how the answers of a query are audited, and how its rows are solved again.
type rules struct {
	// place prepares the data of a row besides its placed shapes. nil: there are none.
	place func(a *auditor)

	// row audits the answer of row i, whose interval has been read.
	row func(a *auditor, i int, c *claim)

	// floor is the least gap that float64 can always prove, in the unit of the value.
	floor func(a *auditor, c *claim) float64

	// exact reports whether [batch.DoubleTolerance] is the default of the row in double precision.
	exact func(a *auditor, c *claim) bool

	// solvedBy reports whether a solver may have ended the row; direct whether it may have done so without iterations.
	solvedBy func(a *auditor, s batch.Solver) bool
	direct   func(a *auditor) bool

	// solve solves a row for the comparison; rounding bounds the rounding error of that result.
	solve    func(c *comparer, p *ref.Pair) ref.Result
	rounding func(p *ref.Pair, truth *ref.Result) float64
}

// rulesOf has one row per query. A query without a row is refused.
var rulesOf = [batch.QueryCount]*rules{
	batch.Distance:    &signedDistance,
	batch.Collide:     &signedDistance,
	batch.Penetration: &signedDistance,
	batch.Growth:      &growthFactor,
}

// signedDistance are the rules of values with [batch.QueryInfo.SignedDistance].
var signedDistance = rules{
	row:   (*auditor).distance,
	floor: func(a *auditor, _ *claim) float64 { return 4 * a.p.rounding },
	exact: func(a *auditor, c *claim) bool {
		return c.distance >= 0 || polytope(a.p.shape[0]) && polytope(a.p.shape[1])
	},
	solvedBy: func(a *auditor, s batch.Solver) bool {
		return plausible(s, a.job.Options.Method, a.p.shape[0], a.p.shape[1])
	},
	direct: func(a *auditor) bool {
		return a.p.half >= 0 || pointOrSegment(a.p.shape[0]) && pointOrSegment(a.p.shape[1])
	},
	solve:    func(c *comparer, p *ref.Pair) ref.Result { return ref.Solve(p, ref.Options{}, &c.ws) },
	rounding: func(p *ref.Pair, _ *ref.Result) float64 { return 4 * p.Roundoff() },
}

// growthFactor are the rules of the query [batch.Growth].
var growthFactor = rules{
	place: func(a *auditor) { a.p.placeGrowth(&a.g, a.job.Library, a.in.ShapeA, a.in.ShapeB) },
	row:   (*auditor).growth,
	floor: func(a *auditor, c *claim) float64 { return a.g.floor(c.distance) },
	exact: func(a *auditor, _ *claim) bool {
		return polytopeBody(a.p.shape[0]) && polytopeBody(a.p.shape[1])
	},
	solvedBy: (*auditor).growthSolver,
	direct: func(a *auditor) bool {
		return a.growthSolver(batch.SolverClosedForm) || a.growthSolver(batch.SolverAxes)
	},
	solve: (*comparer).growth,
	// Rounding is part of the bounds, and of the reference's.
	rounding: func(_ *ref.Pair, truth *ref.Result) float64 { return truth.Upper - truth.Lower },
}

// distance audits the answer of a row whose value is a signed distance.
func (a *auditor) distance(i int, c *claim) {
	a.checkNormal(i, c)
	a.checkInterval(c)
	a.checkIterations(i, c)
	a.checkSolver(i, c)
	a.checkWitnesses(i, c)
	a.checkContact(c)
	a.checkSeparation(c)
}

// orDefault replaces tolerance 0 by the default of double precision.
func (a *auditor) orDefault(tolerance float64, c *claim) float64 {
	switch {
	case tolerance != 0:
		return tolerance
	case a.rules.exact(a, c):
		return batch.DoubleTolerance * a.scale(c)
	}
	return a.query.CurvedTolerance * a.scale(c)
}

// polytope reports whether the core of s has finitely many vertices, so that a
// facet of D can be met exactly. A half-space counts: it has one facet.
func polytope(s geom.Shape) bool { return s.Kind().Traits().Polyhedral }

// growth solves the row that has been read again.
func (c *comparer) growth(p *ref.Pair) ref.Result {
	l, a, b := c.job.Library, c.in.ShapeA, c.in.ShapeB
	centers := ref.GrowthCenters{A: l.GrowthCenter(a), B: l.GrowthCenter(b),
		InradiusA: l.GrowthInradius(a), InradiusB: l.GrowthInradius(b)}
	return ref.Growth(p, centers, ref.GrowthOptions{}, &c.ws)
}

// touching is how far from that of shapes that touch the value of a pair with status Touching may be, in
// results without distance and gap.
func (c *comparer) touching(pair *ref.Pair, truth *ref.Result) float64 {
	return math.Max(c.tolerance(c.scale(pair, truth)), c.rules().rounding(pair, truth))
}

// inBlocks calls check(i) for every i in [0, n), block by block on several goroutines. For
// each goroutine begin returns a check function and a function that reports its results.
// Calls of the latter, and those of progress with the rows of a block, do not overlap. A
// cancelled context ends inBlocks between blocks. A panic ends it with an error in place of
// the process, so that callers can remove what is not complete.
func inBlocks(ctx context.Context, n, block, workers int, progress func(rows int),
	begin func() (check func(i int), handIn func())) error {
	var mu sync.Mutex
	alone := func(f func()) {
		mu.Lock()
		defer mu.Unlock()
		f()
	}
	return fault.Blocks(ctx, workers, n, block, func(_ int, blocks iter.Seq2[int, int]) {
		check, handIn := begin()
		for lo, hi := range blocks {
			for i := lo; i < hi && ctx.Err() == nil; i++ {
				check(i)
			}
			if progress != nil {
				alone(func() { progress(hi - lo) })
			}
		}
		alone(handIn)
	})
}

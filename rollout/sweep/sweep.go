package sweep

import (
	"context"
	"fmt"
	"math"
	"runtime"

	"clearance/batch"
	"clearance/geom"

	"gonum.org/v1/gonum/spatial/r3"
)

// Row is the question of one row: two shapes of a library, their poses in the frames of two bodies, and where these
// bodies are at times 0 and 1.
type Row struct {
	ShapeA, ShapeB int32
	LocalA, LocalB geom.Pose
	FromA, ToA     geom.Pose
	FromB, ToB     geom.Pose
}

// Input is a batch of rows. Row must not allocate and must be safe for several goroutines at once.
type Input interface {
	Len() int
	Row(i int, r *Row)
}

// State says what is known of a row.
type State = batch.SweepState

// States, in [0, 1].
const (
	Free       = batch.SweepFree
	Contact    = batch.SweepContact
	Undecided  = batch.SweepUndecided
	Invalid    = batch.SweepInvalid
	StateCount = batch.SweepStateCount
)

// Answer is the answer of one row.
type Answer struct {
	State State

	// Lower and Upper bound the least distance over [0, 1], in metres. Lower is 0 of rows that are not Free. Upper is
	// attained at the time Closest.
	Lower, Upper float64
	Closest      float64

	// There is no contact before T0: 1 for Free rows. T1 is the earliest known time of a contact, NaN if none is
	// known; of a Contact row T1 − T0 is at most the tolerance.
	T0, T1 float64

	Evaluations int // poses at which the solvers were asked
}

// Options configure a call. The zero value is the default.
type Options struct {
	// TimeTolerance is the largest width of [T0, T1] of a decided contact; 0 is [DefaultTimeTolerance].
	TimeTolerance float64

	// Tolerance, relative to the size of a pair, is the distance below which shapes are in contact; 0 is
	// [DefaultTolerance].
	Tolerance float64

	// Ratio is the least ratio of Lower to Upper of a free row, up to half of the tolerance; 0 is [DefaultRatio]. It
	// is below 1.
	Ratio float64

	// MaxDistance, if HasMaxDistance is set, is a distance in metres beyond which rows are only proved to be.
	MaxDistance    float64
	HasMaxDistance bool

	// MaxEvaluations is the largest number of poses of a row at which the solvers are asked; 0 is
	// [DefaultMaxEvaluations]. A row that reaches it is undecided.
	MaxEvaluations int

	// Workers is the number of goroutines beside the solvers; 0 is one per processor. No answer depends on it.
	Workers int
}

// Defaults of [Options].
const (
	DefaultTimeTolerance  = 1e-6
	DefaultTolerance      = 1e-8
	DefaultRatio          = 0.5
	DefaultMaxEvaluations = 512
)

// Check returns an error for the first invalid option.
func (o *Options) Check() error {
	switch {
	case !(o.TimeTolerance >= 0 && o.TimeTolerance < 1):
		return fmt.Errorf("sweep: time tolerance %g, want a number in (0, 1), or 0 for the default", o.TimeTolerance)
	case !(o.Tolerance >= 0) || math.IsInf(o.Tolerance, 1):
		return fmt.Errorf("sweep: tolerance %g, want a finite number above 0, or 0 for the default", o.Tolerance)
	case !(o.Ratio >= 0 && o.Ratio < 1):
		return fmt.Errorf("sweep: ratio %g of the bounds, want a number in (0, 1), or 0 for the default", o.Ratio)
	case o.HasMaxDistance && !(o.MaxDistance >= 0 && !math.IsInf(o.MaxDistance, 1)):
		return fmt.Errorf("sweep: max_distance %g, want a finite number of at least 0", o.MaxDistance)
	case o.MaxEvaluations < 0:
		return fmt.Errorf("sweep: %d evaluations, want a number above 0, or 0 for the default", o.MaxEvaluations)
	case o.Workers < 0:
		return fmt.Errorf("sweep: %d workers, want a number above 0, or 0 for one per processor", o.Workers)
	}
	return nil
}

// WithDefaults returns the options with the defaults in place of 0.
func (o Options) WithDefaults() Options {
	def := func(x *float64, d float64) {
		if *x == 0 {
			*x = d
		}
	}
	def(&o.TimeTolerance, DefaultTimeTolerance)
	def(&o.Tolerance, DefaultTolerance)
	def(&o.Ratio, DefaultRatio)
	if o.MaxEvaluations == 0 {
		o.MaxEvaluations = DefaultMaxEvaluations
	}
	if o.Workers == 0 {
		o.Workers = runtime.GOMAXPROCS(0)
	}
	return o
}

// gapShare is the tolerance of the gaps of distances, relative to the distance of contacts. A pose that is no contact
// is then proved to be free by more than half of that, see [track.level].
const gapShare = 1. / 8

// OfDistances returns the options of the distances that solvers are asked for.
func (o Options) OfDistances() batch.Options {
	return batch.Options{
		Query: batch.Distance, Precision: batch.Double, Tolerance: gapShare * o.WithDefaults().Tolerance,
		Columns: batch.ColDistance | batch.ColGap | batch.ColNormal | batch.ColStatus,
	}
}

// Solve answers a job of distances, for example by a dispatcher.
type Solve func(ctx context.Context, job *batch.Job) error

// ActiveRows is the number of rows that are solved at a time: a call of the solvers has one pose of each.
const ActiveRows = 1 << 14

// Run answers the rows of the input: answer i is that of row i. It depends on that row alone. After an error of the
// solvers or of the context the answers of rows that were not reached are Undecided.
func Run(ctx context.Context, lib *batch.Library, in Input, o Options, solve Solve) ([]Answer, error) {
	if err := o.Check(); err != nil {
		return nil, err
	}
	r := &runner{lib: lib, in: in, o: o.WithDefaults(), solve: solve, answers: make([]Answer, in.Len())}
	for i := range r.answers {
		r.answers[i] = Answer{State: Undecided, Upper: math.Inf(1), Closest: math.NaN(), T1: math.NaN()}
	}
	err := r.run(ctx)
	return r.answers, err
}

// answer is the answer of the solvers at one pose of a row.
type answer struct {
	status       batch.Status
	lower, upper float64
	normal       r3.Vec
}

// runner is a call of Run.
type runner struct {
	lib     *batch.Library
	in      Input
	o       Options
	solve   Solve
	answers []Answer

	next    int      // row that begins next
	active  []*track // in the order of their rows
	idle    []*track
	times   []float64 // at which active rows are asked
	posesA  []geom.Pose
	posesB  []geom.Pose
	pairs   *batch.Pairs
	results *batch.Results
}

func (r *runner) run(ctx context.Context) error {
	n := min(ActiveRows, r.in.Len())
	options := r.o.OfDistances()
	r.times, r.posesA, r.posesB = make([]float64, n), make([]geom.Pose, n), make([]geom.Pose, n)
	r.pairs, r.results = batch.NewPairs(n), batch.NewResults(n, &options)
	for {
		if err := r.refill(ctx, n); err != nil || len(r.active) == 0 {
			return err
		}
		k := len(r.active)
		job := &batch.Job{Library: r.lib, Input: r.pairs.Slice(0, k), Options: options, Results: r.results.Slice(0, k)}
		r.parallel(k, r.ask)
		if err := r.solve(ctx, job); err != nil {
			return err
		}
		r.parallel(k, r.learn)
		r.settle()
	}
}

// refill begins rows until n are active. It checks the context once in n rows.
func (r *runner) refill(ctx context.Context, n int) error {
	for len(r.active) < n && r.next < len(r.answers) {
		if err := ctx.Err(); err != nil {
			return err
		}
		first := len(r.active)
		for len(r.active) < n && r.next < len(r.answers) {
			var t *track
			if k := len(r.idle); k > 0 {
				t, r.idle = r.idle[k-1], r.idle[:k-1]
			} else {
				t = new(track)
			}
			t.row = r.next
			r.next++
			r.active = append(r.active, t)
		}
		r.parallel(len(r.active)-first, func(i int) { r.begin(r.active[first+i]) })
		r.settle()
	}
	return ctx.Err()
}

// begin reads a row. It ends where the row is invalid or is proved to be beyond the largest distance by balls.
func (r *runner) begin(t *track) {
	var row Row
	r.in.Row(t.row, &row)
	if !r.valid(&row) {
		marks := t.marks
		*t = track{row: t.row, marks: marks, ended: true, state: Invalid,
			lower: math.NaN(), upper: math.NaN(), closest: math.NaN(), t0: math.NaN(), t1: math.NaN()}
		return
	}
	t.start(t.row, r.lib, &row, &r.o)
	if r.o.HasMaxDistance && t.cull(max(r.o.MaxDistance, t.near)) {
		return
	}
	// Both ends are asked first, the later one first: mark 0 is the end.
	t.marks = t.marks[:0]
}

// valid checks a row and normalizes its quaternions.
func (r *runner) valid(row *Row) bool {
	return r.lib.CheckPair(row.ShapeA, row.ShapeB) &&
		batch.CheckPose(&row.LocalA) && batch.CheckPose(&row.LocalB) && batch.CheckPose(&row.FromA) &&
		batch.CheckPose(&row.ToA) && batch.CheckPose(&row.FromB) && batch.CheckPose(&row.ToB)
}

// ask writes the poses at which active row i is asked next.
func (r *runner) ask(i int) {
	t := r.active[i]
	r.times[i] = t.next(&r.o)
	a, b := t.asked(r.times[i])
	r.posesA[i], r.posesB[i] = a, b
	r.pairs.SetRow(i, &batch.Row{ShapeA: t.shapeA, ShapeB: t.shapeB, PoseA: a, PoseB: b})
}

// learn takes the answer of active row i.
func (r *runner) learn(i int) {
	res, t := r.results, r.active[i]
	d, g := res.Distance().F64[i], float64(res.Gap()[i])
	n := res.Normal().F64[3*i : 3*i+3]
	a := answer{status: batch.Status(res.Status()[i]), lower: d - g, upper: d + g,
		normal: r3.Vec{X: n[0], Y: n[1], Z: n[2]}}
	t.learn(r.times[i], &a, &r.posesA[i], &r.posesB[i], &r.o)
}

// settle stores the answers of rows that have ended and removes them.
func (r *runner) settle() {
	kept := r.active[:0]
	for _, t := range r.active {
		if !t.ended {
			kept = append(kept, t)
			continue
		}
		r.answers[t.row] = Answer{State: t.state, Lower: t.lower, Upper: t.upper, Closest: t.closest,
			T0: t.t0, T1: t.t1, Evaluations: t.evaluations}
		r.idle = append(r.idle, t)
	}
	r.active = kept
}

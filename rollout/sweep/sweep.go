// Package sweep finds first contacts of moving convex shapes, and lower bounds of their distance over a motion, by
// conservative advancement [Mirtich1996; Zhang2006] on certified distances.
//
// A row is two shapes of a library, each at a pose in the frame of a moving body. A body moves from one pose to
// another in the time from 0 to 1: its position along a line at constant speed, its rotation by spherical linear
// interpolation, which is a rotation about a fixed axis at constant speed, at most half a revolution.
//
// # What is proved
//
// At a time a the solvers of a back end give a lower bound L of the distance and a normal n. Along n the package
// computes the separation S by itself, with the rounding bound of package verify. In a time s no point of one shape
// comes nearer to the other by more than s·μ, and nearer along n by more than s·σ, where, with the relative velocity
// v of B, the angles θ of rotation, the unit axes w, and the largest distance ρ of points of a shape from its axis of
// rotation
//
//	μ = |v| + θ_A·ρ_A + θ_B·ρ_B
//	σ = max(0, −⟨v, n⟩ + θ_A·ρ_A·|w_A × n| + θ_B·ρ_B·|w_B × n|)
//
// So the distance is at least max(L − s·μ, S − s·σ). Backward in time the same holds with −v. An interval between two
// such times is proved free of contact where both bounds leave no time between them. Others are halved, the earliest
// first, until all are proved, or a contact is known at the end of an interval that is proved up to the tolerance
// before it.
//
// A contact is a pose at which the shapes intersect, or are proved to be nearer than the tolerance, relative to the
// size of the pair, or than what the rounding of their poses leaves if that is more. So vertices, edges and triangles,
// which have no interior and whose distance is never negative, are in contact where they pass through one another.
//
// A row that never meets and whose least distance lies between half of the tolerance (Ratio of it, where that is less)
// and all of it is in contact if a pose nearer than the tolerance is proved, and else free with a lower bound of at
// least that half. Which of them depends on the last digits of the times that solvers are asked at, so that back ends
// may differ there, and nowhere else.
package sweep

import (
	"context"
	"fmt"
	"math"
	"runtime"
	"slices"

	"gonum.org/v1/gonum/num/quat"
	"gonum.org/v1/gonum/spatial/r3"

	"clearance/batch"
	"clearance/geom"
	"clearance/internal/fault"
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

// Run answers the rows of the input, as [Runner.Run] of a new runner does.
func Run(ctx context.Context, lib *batch.Library, in Input, o Options, solve Solve) ([]Answer, error) {
	return new(Runner).Run(ctx, lib, in, o, solve)
}

// answer is the answer of the solvers at one pose of a row.
type answer struct {
	status       batch.Status
	lower, upper float64
	normal       r3.Vec
}

// A Runner answers one batch after the other in memory that it keeps. The zero value is ready. It belongs to one
// goroutine at a time.
type Runner struct {
	lib     *batch.Library
	in      Input
	o       Options
	solve   Solve
	answers []Answer

	team    *fault.Team
	workers int      // of the team
	next    int      // row that begins next
	tracks  []track  // as many as rows can be active
	active  []*track // in the order of their rows but for those that began later in the place of others
	idle    []*track
	kept    []int     // of each block of active rows, how many have not ended
	times   []float64 // at which active rows are asked
	posesA  []geom.Pose
	posesB  []geom.Pose
	pairs   *batch.Pairs
	results *batch.Results
}

// Run answers the rows of the input: answer i is that of row i. It depends on that row alone. After an error of the
// solvers or of the context the answers of rows that were not reached are Undecided. Answers are valid until the next
// call.
func (r *Runner) Run(ctx context.Context, lib *batch.Library, in Input, o Options, solve Solve) ([]Answer, error) {
	if err := o.Check(); err != nil {
		return nil, err
	}
	r.lib, r.in, r.o, r.solve, r.next = lib, in, o.WithDefaults(), solve, 0
	if r.answers = r.answers[:min(in.Len(), cap(r.answers))]; len(r.answers) < in.Len() {
		r.answers = make([]Answer, in.Len())
	}
	r.parallel(in.Len(), func(lo, hi int) {
		for i := lo; i < hi; i++ {
			r.answers[i] = Answer{State: Undecided, Upper: math.Inf(1), Closest: math.NaN(), T1: math.NaN()}
		}
	})
	err := r.run(ctx)
	r.lib, r.in, r.solve = nil, nil, nil // not kept alive by a runner that is
	return r.answers, err
}

// reserve makes room for n active rows, none of which is active.
func (r *Runner) reserve(n int) {
	if len(r.tracks) < n {
		options := r.o.OfDistances()
		r.tracks, r.active, r.idle = make([]track, n), make([]*track, n), make([]*track, n)
		r.times, r.posesA, r.posesB = make([]float64, n), make([]geom.Pose, n), make([]geom.Pose, n)
		r.pairs, r.results = batch.NewPairs(n), batch.UnsetResults(n, &options)
	}
	r.active, r.idle = r.active[:0], r.idle[:n]
	for i := range r.idle {
		r.idle[i] = &r.tracks[n-1-i]
	}
}

func (r *Runner) run(ctx context.Context) error {
	n := min(ActiveRows, r.in.Len())
	r.reserve(n)
	options := r.o.OfDistances()
	for {
		if err := r.refill(ctx, n); err != nil || len(r.active) == 0 {
			return err
		}
		k := len(r.active)
		job := &batch.Job{Library: r.lib, Input: r.pairs.Slice(0, k), Options: options, Results: r.results.Slice(0, k)}
		r.parallel(k, func(lo, hi int) {
			for i := lo; i < hi; i++ {
				r.ask(i)
			}
		})
		if err := r.solve(ctx, job); err != nil {
			return err
		}
		r.each(0, r.learn)
	}
}

// refillShare is the share of the rows of a call that has to have ended before others begin in their place: enough to
// share among workers.
const refillShare = 8

// refill begins rows until n are active, once enough have ended. It checks the context once in n rows.
func (r *Runner) refill(ctx context.Context, n int) error {
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		first, left := len(r.active), len(r.answers)-r.next
		room := min(n-first, left)
		if room == 0 || room < min((n+refillShare-1)/refillShare, left) {
			return nil
		}
		idle := r.idle[len(r.idle)-room:]
		r.active, r.idle = append(r.active, idle...), r.idle[:len(r.idle)-room]
		r.each(first, func(i int) {
			t := r.active[i]
			t.row = r.next + i - first
			r.begin(t)
		})
		r.next += room
	}
}

// each calls f for the active rows from first on, stores the answers of those that end, and removes them. Workers do
// this within their blocks, which are put together here.
func (r *Runner) each(first int, f func(i int)) {
	n := len(r.active) - first
	r.kept = slices.Grow(r.kept[:0], blocksOf(n))[:blocksOf(n)]
	r.parallel(n, func(lo, hi int) {
		var ended [blockRows]*track
		block := r.active[first+lo : first+hi]
		on, off := 0, 0
		for i, t := range block {
			if f(first + lo + i); !t.ended {
				block[on] = t
				on++
				continue
			}
			r.answers[t.row] = Answer{State: t.state, Lower: t.lower, Upper: t.upper, Closest: t.closest,
				T0: t.t0, T1: t.t1, Evaluations: t.evaluations}
			ended[off] = t
			off++
		}
		copy(block[on:], ended[:off])
		r.kept[lo/blockRows] = on
	})
	to := first
	for b, on := range r.kept {
		lo := first + b*blockRows
		hi := min(lo+blockRows, len(r.active))
		r.idle = append(r.idle, r.active[lo+on:hi]...)
		to += copy(r.active[to:], r.active[lo:lo+on])
	}
	r.active = r.active[:to]
}

// begin reads a row. It ends where the row is invalid or is proved to be beyond the largest distance by balls.
func (r *Runner) begin(t *track) {
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
func (r *Runner) valid(row *Row) bool {
	return r.lib.CheckPair(row.ShapeA, row.ShapeB) &&
		batch.CheckPose(&row.LocalA) && batch.CheckPose(&row.LocalB) && batch.CheckPose(&row.FromA) &&
		batch.CheckPose(&row.ToA) && batch.CheckPose(&row.FromB) && batch.CheckPose(&row.ToB)
}

// ask writes the poses at which active row i is asked next.
func (r *Runner) ask(i int) {
	t := r.active[i]
	r.times[i] = t.next(&r.o)
	a, b := t.asked(r.times[i])
	r.posesA[i], r.posesB[i] = a, b
	r.pairs.SetRow(i, &batch.Row{ShapeA: t.shapeA, ShapeB: t.shapeB, PoseA: a, PoseB: b})
}

// learn takes the answer of active row i.
func (r *Runner) learn(i int) {
	res, t := r.results, r.active[i]
	d, g := res.Distance().F64[i], float64(res.Gap()[i])
	n := res.Normal().F64[3*i : 3*i+3]
	a := answer{status: batch.Status(res.Status()[i]), lower: d - g, upper: d + g,
		normal: r3.Vec{X: n[0], Y: n[1], Z: n[2]}}
	t.learn(r.times[i], &a, &r.posesA[i], &r.posesB[i], &r.o)
}

// motion is the motion of a body from time 0 to 1.
type motion struct {
	start, velocity r3.Vec // of the position, world
	first           quat.Number
	axis            r3.Vec  // unit, of the rotation, body frame; zero without rotation
	world           r3.Vec  // the same in the world frame
	angle           float64 // from 0 to 1, in [0, π]
}

// newMotion returns the motion between two poses with unit quaternions, by the shorter arc. Between rotations that
// differ by half a revolution both arcs are as short; the sign of the quaternions decides.
func newMotion(from, to geom.Pose) motion {
	m := motion{start: from.Position, velocity: r3.Sub(to.Position, from.Position), first: from.Rotation}
	d := quat.Mul(quat.Conj(from.Rotation), to.Rotation)
	if d.Real < 0 {
		d = quat.Scale(-1, d)
	}
	v := r3.Vec{X: d.Imag, Y: d.Jmag, Z: d.Kmag}
	sin := r3.Norm(v)
	if sin == 0 {
		return m
	}
	m.axis = r3.Scale(1/sin, v)
	m.angle = 2 * math.Atan2(sin, d.Real)
	r := from.Matrix()
	m.world = r.MulVec(m.axis)
	return m
}

// at returns the pose at time t.
func (m *motion) at(t float64) geom.Pose {
	p := geom.Pose{Position: r3.Add(m.start, r3.Scale(t, m.velocity)), Rotation: m.first}
	if m.angle > 0 {
		sin, cos := math.Sincos(t * m.angle / 2)
		p.Rotation = quat.Mul(m.first, quat.Number{
			Real: cos, Imag: sin * m.axis.X, Jmag: sin * m.axis.Y, Kmag: sin * m.axis.Z})
	}
	return p
}

// radius returns the largest distance of the points of a ball, given in the body frame, from the axis of rotation.
func (m *motion) radius(center r3.Vec, r float64) float64 {
	return r3.Norm(r3.Cross(m.axis, center)) + r
}

// far returns the largest distance of the position from the origin of the world.
func (m *motion) far() float64 {
	return max(r3.Norm(m.start), r3.Norm(r3.Add(m.start, m.velocity)))
}

// Between returns the pose at time t in [0, 1] of a body that moves as in a sweep. The quaternions must be unit.
func Between(from, to geom.Pose, t float64) geom.Pose {
	m := newMotion(from, to)
	return m.at(t)
}

const (
	// blockRows is the number of rows that a worker takes at a time.
	blockRows = 32

	// minParallel is the number of rows from which on goroutines are worth their start.
	minParallel = 4 * blockRows
)

// blocksOf is the number of blocks of n rows.
func blocksOf(n int) int { return (n + blockRows - 1) / blockRows }

// parallel calls f for the blocks of n rows on the workers of the options. A panic of f is raised on this goroutine,
// when no other works on.
func (r *Runner) parallel(n int, f func(lo, hi int)) {
	if r.team == nil || r.workers != r.o.Workers {
		r.team, r.workers = fault.NewTeam(r.o.Workers), r.o.Workers
	}
	block := func(_, i int) { f(i*blockRows, min((i+1)*blockRows, n)) }
	if n >= minParallel {
		r.team.Run(blocksOf(n), block)
		return
	}
	r.team.Run(1, func(int, int) {
		for i := range blocksOf(n) {
			block(0, i)
		}
	})
}

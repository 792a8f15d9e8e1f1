// Package rollout answers queries between bodies of several convex parts in many worlds at once.
//
// A row is a pair of bodies in a world. Its answer is that of the nearest, or deepest, pair of parts of
// both bodies. A call forms the pairs of parts, rules out those whose bounds prove that they cannot matter,
// has the others answered by a back end (see package dispatch), and combines the answers by row or by world.
// Memory is bounded by a block of worlds, whatever the number of worlds.
//
// # The distance of a union
//
// The distance of two separated bodies is the least distance of their parts. Where bodies penetrate, the value
// is minus the depth of the deepest pair of parts. That is not the depth of the unions, which no pair of parts
// determines: a translation that separates the deepest pair may leave, or bring, another one in contact. It
// is a lower bound of the depth of the unions, since every translation that separates the bodies separates each pair
// of parts. The growth distance of a row is the least of its pairs of parts, each part growing about its own center
// ([batch.Library.GrowthCenter]); it is not that of the bodies as wholes.
//
// # Bounds
//
// A value is proved to lie in distance ± gap. The bounds of a row are the least lower and the least upper bound
// of all its pairs of parts, not those of the pair that attains the least. The bounds of a world are the same over
// its rows: a world is never better known than its rows.
//
// # Culling
//
// A pair of parts is culled, that is, not given to a solver, if bounding balls and oriented boxes prove that its
// distance exceeds [Options.MaxDistance], or that it cannot be the least. What is proved of it remains part of the
// answer.
// A row of which all pairs of parts are culled is [batch.Separated] by the solver [batch.SolverBounds], and
// distance − gap is a proved lower bound of its distance.
//
// # All pairs
//
// [batch.Worlds.AllPairs] asks for all pairs of bodies of a world in place of a template. A broad phase (package
// broadphase) finds the pairs whose boxes are within the largest distance; no other pair is nearer. The results are
// sparse: a pair without a row is proved to be separated, and beyond [Options.MaxDistance] if there is one. For
// the least of a world no largest distance is needed. Two half-spaces are an invalid pair here as well, so skip pairs
// of them.
//
// # Sweeps
//
// [Sweep] moves bodies along way points and finds the interval of their first contact, or a lower bound of their
// distance over the whole motion, proved in either case: see package sweep.
package rollout

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"slices"
	"sync"
	"time"

	"clearance/batch"
	"clearance/dispatch"
	"clearance/internal/fault"
	"clearance/internal/memory"
)

// A Job is one call: bodies, worlds, the options of the query, and the results.
type Job struct {
	Bodies  *batch.Bodies // of worlds of shapes, only the library of the table is used
	Worlds  *batch.Worlds
	Options Options
	Results *Results // nil has Run allocate them

	FirstWorld int // number of the first world in errors and in the report
	of         int // worlds, by which the back end is selected; 0: those of the job
}

// Run answers a job. run.Backend selects the back end; run.ChunkRows is the number of pairs of parts that it
// processes at a time; run.Progress gets rows of the results.
//
// The error concerns the call as a whole, as that of [dispatch.Dispatcher.Run]. The report tells which rows have
// no answer. Rows that an unsuccessful call did not reach are Undecided; of all pairs see [Results.Offsets].
func Run(ctx context.Context, d *dispatch.Dispatcher, job *Job, run dispatch.Options) (Report, error) {
	b, err := newBatch(d, job, run)
	if err != nil {
		return Report{}, err
	}
	defer b.Close()
	if err := b.makeResults(); err != nil {
		return Report{}, err
	}
	job.Results = b.results
	_, rep, err := b.Run(ctx)
	return rep, err
}

// Hold prepares a rollout for repeated runs while the poses change. All memory that a run needs is kept between runs.
// So are the results of [Batch.Run], which the first Run allocates: a batch that only answers [Batch.Step] and
// [Batch.Find] has none.
func Hold(d *dispatch.Dispatcher, bodies *batch.Bodies, worlds *batch.Worlds, o Options, run dispatch.Options) (*Batch,
	error) {
	return newBatch(d, &Job{Bodies: bodies, Worlds: worlds, Options: o}, run)
}

// defaultBlockPairs is the default of Options.BlockPairs of back ends that work on a device: results of some 10 MB, and
// long calls even where most pairs are culled. A pair takes 350 bytes: the poses of its parts twice, and answers.
const defaultBlockPairs = 1 << 18

// hostBlockPairs is that of other back ends, which calls of fewer rows cost no time.
const hostBlockPairs = 1 << 16

// blockPairs is the default of Options.BlockPairs.
func (b *Batch) blockPairs() int {
	if b.series.OnDevice() {
		return defaultBlockPairs
	}
	return hostBlockPairs
}

// Batch is a rollout prepared for repeated runs. Its methods may be called by several goroutines; calls are
// serialized.
type Batch struct {
	d   *dispatch.Dispatcher
	run dispatch.Options

	mu     sync.Mutex
	closed bool

	bodies               *batch.Bodies
	worlds               *batch.Worlds
	first                int // number of the first world
	o                    Options
	templateA, templateB []int32
	used                 []int32 // bodies in some pair
	workers              int
	all                  *allPairs // nil for templates

	threshold float64 // distance beyond which no pair is solved
	touch     float64 // value of shapes that touch
	bounded   bool    // bounds apply
	boolean   bool    // statuses are all that is asked for
	valued    bool    // solvers give values
	reduce    bool    // rows of the results are worlds
	stops     bool    // a world ends with a contact that bounds prove

	input   batch.Worlds // candidates of a block: one world whose bodies are instances of parts
	joined  batch.Worlds // memory of input
	answers *batch.Results
	parts   batch.Job
	series  *dispatch.Series
	backend string // of the series
	why     string
	sets    batch.Reduction // of the candidates of a block: rows and what the results are of them
	view    batch.Results   // of answers, those of a block
	marks   batch.Marks     // of answers, where a back end may omit some
	most    int64           // candidates of a block
	larger  int             // blocks are 2^larger times as large as by default

	kernels dispatch.CullingKernels // nil for none
	variant string                  // instruction set of the broad phase, "" for none
	vectors *vectors                // nil if no kernel culls

	team  *fault.Team
	tiles []*tile
	ctx   context.Context // of the block
	pool  []*placement    // one for each worker

	cullTile, joinTile, foldTile, storeTile func(worker, tile int)

	gradients gradients
	product   *products // of a step whose answers stay where they are, else nil

	results  *Results
	statuses []uint8
	unseen   []uint8 // memory of statuses, of results without them
	report   Report
	badPairs []*RowError // of a block
}

func newBatch(d *dispatch.Dispatcher, job *Job, run dispatch.Options) (*Batch, error) {
	switch {
	case job.Bodies == nil:
		return nil, errors.New("rollout: no bodies")
	case job.Worlds == nil:
		return nil, errors.New("rollout: no worlds")
	}
	if err := job.Options.Check(); err != nil {
		return nil, err
	}
	if err := job.Worlds.CheckBodies(job.Bodies); err != nil {
		return nil, err
	}
	bodies := job.Bodies
	if job.Worlds.Shapes != nil {
		bodies = batch.BodiesOfShapes(bodies.Library())
	}
	o := &job.Options
	b := &Batch{d: d, run: run, bodies: bodies, worlds: job.Worlds, o: *o, results: job.Results,
		first: job.FirstWorld, most: memory.Room(maxCandidates, candidateBytes)}
	b.workers = o.Workers
	if b.workers == 0 {
		b.workers = runtime.GOMAXPROCS(0)
	}
	b.run.MaxRowErrors = rowErrors(run.MaxRowErrors)
	b.templateA, b.templateB = job.Worlds.TemplateA, job.Worlds.TemplateB
	b.used = places(b.worlds.BodiesPerWorld(), b.templateA, b.templateB)
	if job.Worlds.AllPairs {
		if err := b.setAllPairs(); err != nil {
			return nil, err
		}
	}
	b.threshold, b.touch = threshold(o), o.Query.Info().Touch
	b.bounded = !o.NoCulling && o.Query.Info().SignedDistance
	b.boolean, b.reduce = o.StatusAlone(), o.Reduce == ReduceWorld
	b.parts = batch.Job{Library: job.Bodies.Library(), Input: &b.input, Options: ofParts(o)}
	b.valued = b.parts.Options.Columns&batch.ColDistance != 0
	b.stops = b.reduce && b.boolean && !b.valued && b.bounded && b.all == nil
	if b.run.EstimateRows == 0 {
		b.run.EstimateRows = rowsOfAll(b.estimateRows(), b.worlds.Count(), job.of, defaultBlockPairs)
	}
	run = b.run
	run.Progress = nil
	var err error
	if b.series, err = d.Series(&b.parts.Options, run); err != nil {
		return nil, err
	}
	b.backend, b.why = b.series.Choice().Name(), b.series.Choice().Why
	b.cullTile = func(worker, i int) {
		b.tiles[i].place = b.pool[worker]
		b.tiles[i].cull()
	}
	b.kernels = cullingKernels(d)
	if b.variant, err = variantOf(d); err != nil {
		return nil, err
	}
	b.setVectors()
	b.joinTile = func(_, i int) { b.tiles[i].copyTo(&b.joined) }
	b.foldTile = func(_, i int) { b.tiles[i].fold(b.answers) }
	b.storeTile = func(_, i int) { b.tiles[i].storeSparse() }
	b.team = fault.NewTeam(b.workers)
	for range b.workers {
		p := newPlacement(b.bodies, b.worlds, b.used)
		p.culler = b.vectors.culler()
		b.pool = append(b.pool, p)
	}
	return b, nil
}

// estimateRows is the number of rows by which a back end is selected: the pairs of parts of a block of the default size
// at most, so that it does not depend on the size of blocks.
func (b *Batch) estimateRows() int {
	n := int64(0)
	for w := 0; w < b.worlds.Count() && n < defaultBlockPairs; w++ {
		n += b.pairsOf(w)
	}
	return int(min(max(n, 1), defaultBlockPairs))
}

// places lists the bodies, of m, that occur in pairs.
func places(m int, columns ...[]int32) (used []int32) {
	occurs := make([]bool, m)
	for _, c := range columns {
		for _, k := range c {
			occurs[k] = true
		}
	}
	for k, yes := range occurs {
		if yes {
			used = append(used, int32(k))
		}
	}
	return used
}

// rows is the number of rows of the results.
func (b *Batch) rows() int {
	switch {
	case b.reduce:
		return b.worlds.Count()
	case b.all != nil:
		return 0 // so far
	}
	return b.worlds.Len()
}

// rowBytes is the memory of a row of results.
func rowBytes(o *Options) float64 {
	bytes := 32.0 // of the columns that all have, and of those of worlds
	for _, c := range o.EffectiveColumns().Each() {
		info := c.Info()
		switch single, double := info.Type.In(batch.Single), info.Type.In(batch.Double); {
		case single == double: // one of those above
		case o.Precision == batch.Double:
			bytes += 8 * float64(info.Width)
		default:
			bytes += 4 * float64(info.Width)
		}
	}
	return bytes
}

func (b *Batch) makeResults() error {
	n := b.rows()
	if b.results == nil {
		bytes := float64(b.worlds.Count()) * float64(n/max(1, b.worlds.Count())) * rowBytes(&b.o)
		if err := memory.Check(fmt.Sprintf("results of %d rows", n), bytes); err != nil {
			return fmt.Errorf("rollout: %w", err)
		}
		b.results = NewResults(n, &b.o)
	} else if err := b.results.Check(n, &b.o); err != nil {
		return err
	}
	b.results.ContactsComplete = b.reduce && !b.stops
	if b.all != nil {
		b.addBodies()
	}
	if b.statuses = b.results.Status(); b.statuses == nil {
		b.unseen = resized(b.unseen, n)
		b.statuses = b.unseen
	}
	return nil
}

// Len returns the number of rows of the results.
func (b *Batch) Len() int {
	if b.results == nil {
		return b.rows()
	}
	return b.results.N
}

var errClosed = errors.New("rollout: the batch is closed")

// Update sets the poses for the next Run: w is the input of the batch after the caller changed its poses, or another
// one with as many worlds, the same bodies and the same pairs. It must not change until Run has returned.
func (b *Batch) Update(w *batch.Worlds) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.update(w)
}

func (b *Batch) update(w *batch.Worlds) error {
	if b.closed {
		return errClosed
	}
	if w == nil {
		return errors.New("rollout: update of a batch without worlds")
	}
	if w != b.worlds {
		if len(w.Poses) != len(b.worlds.Poses) || w.BodiesPerWorld() != b.worlds.BodiesPerWorld() ||
			!slices.Equal(w.Bodies, b.worlds.Bodies) ||
			!slices.Equal(w.Carriers, b.worlds.Carriers) || !slices.Equal(w.Shapes, b.worlds.Shapes) ||
			w.AllPairs != b.worlds.AllPairs || !slices.Equal(w.SkipA, b.worlds.SkipA) ||
			!slices.Equal(w.SkipB, b.worlds.SkipB) || !slices.Equal(w.TemplateA, b.templateA) ||
			!slices.Equal(w.TemplateB, b.templateB) {
			return errors.New("rollout: update with other bodies, other pairs or another number of worlds")
		}
		b.see(w)
	}
	return nil
}

// Close ends the use of the batch. Closing again does nothing.
func (b *Batch) Close() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closed = true
	return nil
}

// Run answers all rows. The results belong to the batch and are overwritten by the next Run.
func (b *Batch) Run(ctx context.Context) (*Results, Report, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.step(ctx)
}

func (b *Batch) step(ctx context.Context) (*Results, Report, error) {
	if b.closed {
		return nil, Report{}, errClosed
	}
	if b.results == nil {
		if err := b.makeResults(); err != nil {
			return nil, Report{}, err
		}
	}
	start := time.Now()
	b.report = Report{Backend: b.backend, Why: b.why, Worlds: b.worlds.Count(),
		Rows: b.worlds.Len()}
	if b.all != nil {
		b.all.rows = 0
	}
	if b.sparse() {
		b.resetSparse()
	}
	err := b.blocks(ctx)
	rep := &b.report
	if b.all != nil {
		rep.Rows = int(b.all.rows)
	}
	batch.CountCodes(b.statuses, rep.Counts[:])
	b.results.PackBits(b.statuses)
	rep.Wall = time.Since(start)
	return b.results, *rep, err
}

// Step is [Batch.Update] and [Batch.Run] in one call, into results of the caller, which have the form of those that
// [NewResults] allocates for the options of the batch. The batch keeps no reference to w and out. Sparse results, of
// all pairs by rows, have a length that is not known before, and are refused: see [Batch.Find].
func (b *Batch) Step(ctx context.Context, w *batch.Worlds, out *Results) (Report, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.sparse() {
		return Report{}, errors.New("rollout: a step of all pairs into results of a length that is not known before")
	}
	_, rep, err := b.stepInto(ctx, w, out)
	return rep, err
}

// Find is a step with results of its own: the caller may keep them.
func (b *Batch) Find(ctx context.Context, w *batch.Worlds) (*Results, Report, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.stepInto(ctx, w, nil)
}

// stepInto is Step and, without results, Find.
func (b *Batch) stepInto(ctx context.Context, w *batch.Worlds, out *Results) (*Results, Report, error) {
	worlds, results, statuses := b.worlds, b.results, b.statuses
	defer func() {
		b.results, b.statuses = results, statuses
		b.see(worlds)
	}()
	if err := b.update(w); err != nil {
		return nil, Report{}, err
	}
	b.results = out
	if err := b.makeResults(); err != nil {
		return nil, Report{}, err
	}
	return b.step(ctx)
}

// see sets the worlds that the next step reads.
func (b *Batch) see(w *batch.Worlds) {
	b.worlds = w
	for _, p := range b.pool {
		p.worlds = w
	}
}

// threshold is the distance beyond which a pair is not solved: +Inf if all are.
func threshold(o *Options) float64 {
	switch q := o.Query.Info(); {
	case !q.SignedDistance:
		return math.Inf(1)
	case q.Boolean() || q.CutOff == batch.CutOffAtTouch:
		return 0
	case o.HasMaxDistance:
		return o.MaxDistance
	}
	return math.Inf(1)
}

// ofParts returns the options of the query that the back end answers: those of the caller, with the
// columns from which rows follow, and the largest distance as a cut-off.
func ofParts(o *Options) batch.Options {
	p := o.Options
	columns := o.EffectiveColumns()
	p.Columns = columns&^batch.ColBits | batch.ColStatus
	if !o.StatusAlone() || columns&(batch.ColDistance|batch.ColGap) != 0 {
		p.Columns |= batch.ColDistance | batch.ColGap
	}
	if o.HasMaxDistance && o.Query.Info().CutOff == batch.CallersCutOff && !(o.HasCutOff && o.CutOff < o.MaxDistance) {
		p.CutOff, p.HasCutOff = o.MaxDistance, true
	}
	return p
}

// Options, and what they and the results consist of, are types of package batch: files of them need no solver.
type (
	Options      = batch.RolloutOptions
	Reduce       = batch.Reduce
	Results      = batch.RolloutResults
	SweepResults = batch.SweepResults
)

// Reductions.
const (
	ReduceNone  = batch.ReduceNone
	ReduceWorld = batch.ReduceWorld
)

// Codes of the column any of a world.
const (
	AnyNone    = batch.AnyNone
	AnyContact = batch.AnyContact
	AnyUnknown = batch.AnyUnknown
)

// NewResults allocates results of n rows.
func NewResults(n int, o *Options) *Results { return batch.NewRolloutResults(n, o) }

// ParseReduce is the inverse of the method String of [Reduce].
func ParseReduce(s string) (Reduce, error) { return batch.ParseReduce(s) }

// A Report describes the outcome of a call.
type Report struct {
	Backend string // name of the back end; several names are joined by "+"
	Why     string // why it was selected, in one line

	Worlds int // worlds of the call
	Rows   int // pairs of bodies in worlds: W·P; of all pairs those that the broad phase does not rule out
	Done   int // rows of the results that were reached; worlds, where the rows are some of all pairs

	// Counts is the number of rows of the results of each status: pairs of bodies, or worlds.
	Counts [batch.StatusCount]int

	// AbsentRows is the number of pairs of bodies with an absent one. CulledRows is the number of the others
	// that no solver was asked about: separated, not the least, or in a world whose contact bounds prove.
	AbsentRows, CulledRows int64

	// PartPairs is the number of pairs of parts of the other rows, Solved the number of those that a back end
	// answered.
	PartPairs, Solved int64

	// Omitted is the number of those that a device answered and did not return, since the results do not depend on
	// them. BytesDown is the number of bytes that it returned, 0 for back ends without a device.
	Omitted, BytesDown int64

	Solvers    [batch.SolverCount]int // pairs of parts solved, by the solver that ended them
	Iterations int64                  // sum over all pairs of parts

	// RowErrors lists the first rows with bad input, in order, at most as many as dispatch.Options says.
	RowErrors []*RowError

	Failovers []dispatch.Failover // back ends that failed, with rows of blocks of pairs of parts
	Declined  int                 // pairs of parts that a back end declined and another answered

	Kernel time.Duration // that devices measured
	Wall   time.Duration // from the call to the last answer
}

// A RowError is the error of a body or of a pair of bodies in one world. All other worlds are answered.
type RowError struct {
	World  int
	Body   int // place in the world, -1 if the error is that of a pair
	Pair   int // index of the pair, -1 if the error is that of a body
	Column string
	Reason string
}

func (e *RowError) Error() string {
	if e.Body >= 0 {
		return fmt.Sprintf("world %d, body %d, column %s: %s", e.World, e.Body, e.Column, e.Reason)
	}
	return fmt.Sprintf("world %d, pair %d, column %s: %s", e.World, e.Pair, e.Column, e.Reason)
}

// Err returns an error if any row of the results has no answer, and nil otherwise.
func (r *Report) Err() error {
	undecided, bad := r.Counts[batch.Undecided], r.Counts[batch.Invalid]
	if undecided == 0 && bad == 0 {
		return nil
	}
	if len(r.RowErrors) > 0 {
		return fmt.Errorf("rows without an answer: %d undecided, %d invalid; first: %w", undecided, bad, r.RowErrors[0])
	}
	return fmt.Errorf("rows without an answer: %d undecided, %d invalid", undecided, bad)
}

// note adds an error to the first ones.
func (r *Report) note(e *RowError, most int) {
	if len(r.RowErrors) < most {
		r.RowErrors = append(r.RowErrors, e)
	}
}

// rowErrors is the number of errors of rows that a report lists.
func rowErrors(most int) int {
	if most == 0 {
		return 16
	}
	return most
}

// merge adds the report of the worlds that follow.
func (r *Report) merge(next *Report, rowErrors int) {
	r.Backend, r.Why = next.Backend, next.Why
	r.Worlds, r.Rows, r.Done = r.Worlds+next.Worlds, r.Rows+next.Rows, r.Done+next.Done
	for s, n := range next.Counts {
		r.Counts[s] += n
	}
	for s, n := range next.Solvers {
		r.Solvers[s] += n
	}
	r.AbsentRows, r.CulledRows = r.AbsentRows+next.AbsentRows, r.CulledRows+next.CulledRows
	r.PartPairs, r.Solved = r.PartPairs+next.PartPairs, r.Solved+next.Solved
	r.Omitted, r.BytesDown = r.Omitted+next.Omitted, r.BytesDown+next.BytesDown
	r.Iterations, r.Declined = r.Iterations+next.Iterations, r.Declined+next.Declined
	for _, e := range next.RowErrors {
		r.note(e, rowErrors)
	}
	r.Failovers = append(r.Failovers, next.Failovers...)
	r.Kernel, r.Wall = r.Kernel+next.Kernel, r.Wall+next.Wall
}

// add adds the report of a block of pairs of parts.
func (r *Report) add(d *dispatch.Report) {
	r.Backend, r.Why = d.Backend, d.Why
	for s, n := range d.Solvers {
		r.Solvers[s] += n
	}
	r.Iterations += d.Iterations
	r.Failovers = append(r.Failovers, d.Failovers...)
	r.Declined += d.Declined()
	r.Kernel += d.Kernel
	r.BytesDown += d.BytesDown
}

// addCounts adds what a tile did.
func (r *Report) addCounts(c *counts) {
	r.AbsentRows += c.absent
	r.CulledRows += c.culledRows
	r.PartPairs += c.pairs
	r.Solved += c.pairs - c.culled
}

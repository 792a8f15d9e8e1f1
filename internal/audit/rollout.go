package audit

import (
	"context"
	"fmt"
	"math"

	"clearance/batch"
	"clearance/cpu"
	"clearance/dispatch"
	"clearance/rollout"
	"clearance/verify"
)

// Rollout is the audit of the results of a rollout. Of each row it checks the form and, from the shapes alone, the
// answer as one of the pair of parts that the row names. The reference solves every pair of parts of a sample of
// worlds, culled or not, and its certified bounds refute answers that exclude them.
type Rollout struct {
	findings
	Rows       int            `json:"rows"`
	Undecided  int            `json:"undecided"`
	Invalid    int            `json:"invalid"`
	Unanswered int            `json:"unanswered"` // worlds that state rows without an answer
	Unaudited  int            `json:"unaudited"`  // rows with a distance that no column and no solver bounds
	Named      *verify.Report `json:"named"`      // rows that name a pair of parts, as answers of that pair
	Worlds     int            `json:"worlds"`     // solved by the reference
	OfWorlds   int            `json:"of_worlds"`
	Pairs      int            `json:"pairs"` // of bodies of these
	Open       int            `json:"open"`  // worlds not solved, with rows that are not proved by themselves
	PartPairs  int            `json:"part_pairs"`
	Refuted    int            `json:"refuted"` // rows, by their form or by the reference

	firstWorld, firstRow int // of those that are audited, in files
}

// note counts a refuted row.
func (r *Rollout) note(world, row int, err error) {
	if err == nil {
		return
	}
	r.Refuted++
	world, row = world+r.firstWorld, row+r.firstRow
	r.keep(row, fmt.Sprintf("world %d, row %d: %v", world, row, err))
}

// merge adds the audit of the worlds that follow.
func (r *Rollout) merge(o *Rollout) {
	r.Rows, r.Undecided, r.Invalid = r.Rows+o.Rows, r.Undecided+o.Undecided, r.Invalid+o.Invalid
	r.Unanswered, r.Unaudited = r.Unanswered+o.Unanswered, r.Unaudited+o.Unaudited
	r.Worlds, r.OfWorlds, r.Open = r.Worlds+o.Worlds, r.OfWorlds+o.OfWorlds, r.Open+o.Open
	r.Pairs += o.Pairs
	r.PartPairs, r.Refuted = r.PartPairs+o.PartPairs, r.Refuted+o.Refuted
	if len(o.Named.Checks) > 0 { // else no row named a pair of parts
		r.Named.Merge(o.Named)
	}
	r.findings.merge(&o.findings)
}

// Good reports whether every answer was audited, each row has one, and none is refuted.
func (r *Rollout) Good() bool {
	return r.Wrong() == 0 && r.Undecided == 0 && r.Unanswered == 0 && r.Open == 0 && r.Unaudited == 0 &&
		(r.Worlds > 0 || r.OfWorlds == 0)
}

// Wrong is the larger of the numbers of rows that both kinds of checks refute, since a row may be in both.
func (r *Rollout) Wrong() int { return max(r.Refuted, RefutedAs(r.Named)) }

// partPairs is the number of pairs of parts of a world; of all pairs with those that are skipped.
func partPairs(job *rollout.Job, world int) (n int64) {
	w := job.Worlds
	parts := func(k int32) int64 {
		if x := w.Body(world, k); x != batch.Absent {
			return int64(len(job.Bodies.Parts(x)))
		}
		return 0
	}
	if !w.AllPairs {
		for p, a := range w.TemplateA {
			n += parts(a) * parts(w.TemplateB[p])
		}
		return n
	}
	before := int64(0)
	for k := range int32(w.BodiesPerWorld()) {
		n += before * parts(k)
		before += parts(k)
	}
	return n
}

// run audits the results of a job, of whose worlds the reference solves those that are chosen.
func (r *Rollout) run(ctx context.Context, job *rollout.Job, s *Sample, solve chosen) error {
	r.Rows = job.Results.N
	c := newRowAuditor(job)
	if err := r.rows(ctx, c, s); err != nil {
		return err
	}
	d := dispatch.New(cpu.NewReference())
	defer d.Close()
	solved := 0 // rows
	for _, open := range c.open {
		if open {
			r.Open++
		}
	}
	for world := range solve.within(0, job.Worlds.Count()) {
		rows, list := c.listOf(world)
		o := batch.Options{Precision: batch.Double, Columns: batch.ColDistance | batch.ColGap | batch.ColStatus}
		if q := job.Options.Query; !q.Info().SignedDistance {
			o.Query = q
		}
		pairs := batch.NewPairs(len(list))
		for i := range list {
			pairs.SetRow(i, &list[i])
		}
		again := &batch.Job{Library: job.Bodies.Library(), Input: pairs, Options: o}
		if _, err := d.Run(ctx, again, dispatch.Options{}); err != nil {
			return err
		}
		r.Worlds++
		if c.open[world] {
			r.Open--
		}
		r.Pairs += len(rows)
		r.PartPairs += len(list)
		solved += c.rowsOf(world)
		r.world(c, world, rows, again.Results)
	}
	if out := job.Results; out.Distance().Len() != 0 && out.Gap() == nil {
		r.Unaudited += out.N - solved
	}
	return nil
}

// interval is proved by the reference of a pair of parts, of a row or of a world.
type interval struct {
	lower, upper float64
	sure, maybe  int // rows that are, and that may pass as, in contact
	invalid      bool
}

var nothing = interval{lower: math.Inf(1), upper: math.Inf(1)}

// rowOf is a pair of bodies of a world with its pairs of parts.
type rowOf struct {
	a, b           int32
	first          int // of its pairs of parts in the list
	partsA, partsB int // numbers of parts, 0 of an absent body
	known          interval
}

// listOf returns the pairs of bodies of a world, and the list of their pairs of parts.
func (c *rowAuditor) listOf(world int) (rows []rowOf, list []batch.Row) {
	w, b := c.job.Worlds, c.job.Bodies
	add := func(ka, kb int32) {
		x, y := w.Body(world, ka), w.Body(world, kb)
		row := rowOf{a: ka, b: kb, first: len(list), known: nothing}
		if x != batch.Absent && y != batch.Absent {
			row.partsA, row.partsB = len(b.Parts(x)), len(b.Parts(y))
			for i, p := range b.Parts(x) {
				for j, q := range b.Parts(y) {
					list = append(list, batch.Row{ShapeA: p.Shape, PoseA: b.PartPose(x, i, w.Pose(world, ka)),
						ShapeB: q.Shape, PoseB: b.PartPose(y, j, w.Pose(world, kb))})
				}
			}
		}
		rows = append(rows, row)
	}
	if !w.AllPairs {
		for p, a := range w.TemplateA {
			add(a, w.TemplateB[p])
		}
		return rows, list
	}
	m := int32(w.BodiesPerWorld())
	for a := range m {
		for b := a + 1; b < m; b++ {
			if !c.skip[[2]int32{a, b}] {
				add(a, b)
			}
		}
	}
	return rows, list
}

// world audits the rows of a world.
func (r *Rollout) world(c *rowAuditor, world int, rows []rowOf, solved *batch.Results) {
	job, whole := c.job, nothing
	touch := job.Options.Query.Info().Touch
	for i := range rows {
		row := &rows[i]
		end := solved.N
		if i+1 < len(rows) {
			end = rows[i+1].first
		}
		for k := row.first; k < end; k++ {
			row.known.add(boundsOf(solved, k))
		}
		if row.known.upper <= touch {
			row.known.sure = 1
		}
		if row.known.lower <= touch+c.tolerance(touch, job.Worlds.Body(world, row.a), job.Worlds.Body(world, row.b)) {
			row.known.maybe = 1
		}
		whole.add(row.known)
		whole.sure, whole.maybe = whole.sure+row.known.sure, whole.maybe+row.known.maybe
	}
	out := job.Results
	note := func(at int, err error) { r.note(world, at, err) }
	switch {
	case out.Pair != nil:
		err := r.check(&whole, c, world, batch.Absent, batch.Absent)
		for i := range rows {
			if row := &rows[i]; err == nil && row.least(out, world, i) {
				err = row.named(out, world, solved)
			}
		}
		note(world, err)
	case out.Offsets == nil:
		for i := range rows {
			at := world*len(rows) + i
			note(at, r.row(&rows[i], c, world, at, solved))
		}
	default:
		at := int(out.Offsets[world])
		for i := range rows {
			row := &rows[i]
			if at < int(out.Offsets[world+1]) && out.BodyA[at] == row.a && out.BodyB[at] == row.b {
				note(at, r.row(row, c, world, at, solved))
				at++
			} else if least := job.Options.MaxDistance; row.known.invalid || row.known.upper < least {
				note(at, fmt.Errorf("bodies %d and %d have no row, and are nearer than %g m", row.a, row.b, least))
			}
		}
		if at != int(out.Offsets[world+1]) {
			note(at, fmt.Errorf("bodies %d and %d are not asked, or out of order", out.BodyA[at], out.BodyB[at]))
		}
	}
}

// boundsOf returns what the reference proves of a pair of parts.
func boundsOf(solved *batch.Results, k int) interval {
	if batch.Status(solved.Status()[k]) == batch.Invalid {
		return interval{lower: math.Inf(1), upper: math.Inf(1), invalid: true}
	}
	d, gap := solved.Distance().F64[k], float64(solved.Gap()[k])
	if math.IsNaN(d) || math.IsInf(gap, 1) {
		return interval{lower: math.Inf(-1), upper: math.Inf(1)}
	}
	return interval{lower: d - gap, upper: d + gap}
}

// add takes the least of both; rows in contact are counted by the caller.
func (x *interval) add(y interval) {
	x.lower, x.upper = min(x.lower, y.lower), min(x.upper, y.upper)
	x.invalid = x.invalid || y.invalid
}

// row returns an error if row i of the results is refuted, also by the pair of parts that it names.
func (r *Rollout) row(row *rowOf, c *rowAuditor, world, i int, solved *batch.Results) error {
	w := c.job.Worlds
	if err := r.check(&row.known, c, i, w.Body(world, row.a), w.Body(world, row.b)); err != nil {
		return err
	}
	return row.named(c.job.Results, i, solved)
}

// least reports whether row i has the result of its world.
func (row *rowOf) least(out *rollout.Results, world, i int) bool {
	if out.BodyA != nil {
		return out.BodyA[world] == row.a && out.BodyB[world] == row.b
	}
	return out.Pair[world] == int32(i)
}

// named returns an error if the pair of parts that row i of the results names is refuted.
func (row *rowOf) named(out *rollout.Results, i int, solved *batch.Results) error {
	a, b := int(out.PartA[i]), int(out.PartB[i])
	if a < 0 || a >= row.partsA || b < 0 || b >= row.partsB { // which form reports
		return nil
	}
	if out.Distance().Len() != 0 && out.Gap() != nil {
		of := boundsOf(solved, row.first+a*row.partsB+b)
		if d, gap := out.Distance().At(i), float64(out.Gap()[i]); of.lower > d+gap {
			return fmt.Errorf("%g ± %g by parts %d and %d, which are beyond %g", d, gap, a, b, of.lower)
		}
	}
	return nil
}

// check returns an error if row i of the results, of bodies x and y, excludes what is known.
func (r *Rollout) check(known *interval, c *rowAuditor, i int, x, y int32) error {
	out, o := c.job.Results, &c.job.Options
	touch := o.Query.Info().Touch
	status := batch.Undecided
	if out.Status() != nil {
		status = batch.Status(out.Status()[i])
	}
	switch near := touch + c.tolerance(touch, x, y); {
	case known.invalid:
		if out.Status() != nil && status != batch.Invalid {
			return fmt.Errorf("%v, with an invalid pose or pair", status)
		}
		return nil
	case status == batch.Invalid:
		return fmt.Errorf("invalid, without an invalid pose or pair")
	case status == batch.Separated && known.upper < touch:
		return fmt.Errorf("separated, with a distance of at most %g", known.upper)
	case status == batch.Penetrating && known.lower > touch:
		return fmt.Errorf("penetrating, with a distance of at least %g", known.lower)
	case status == batch.Touching && (known.lower > near || known.upper < 2*touch-near):
		return fmt.Errorf("touching, with a distance in [%g, %g]", known.lower, known.upper)
	}
	if out.Distance().Len() != 0 && !(status == batch.Undecided && out.Status() != nil) {
		d := out.Distance().At(i)
		gap := c.tolerance(d, x, y)
		if out.Gap() != nil {
			gap = float64(out.Gap()[i])
		}
		switch {
		case !(d-gap > known.upper || d+gap < known.lower):
		case out.Gap() == nil && c.bound(d, status):
			r.Unaudited++
		default:
			return fmt.Errorf("%g ± %g excludes [%g, %g] of the reference", d, gap, known.lower, known.upper)
		}
	}
	if out.Pair == nil {
		return nil
	}
	switch n, failed := int(out.Contacts[i]), int(out.Failed[i]); {
	case out.Any[i] == rollout.AnyNone && known.sure > 0 || out.Any[i] == rollout.AnyContact && known.maybe == 0:
		return fmt.Errorf("any is %d, with %d to %d pairs in contact", out.Any[i], known.sure, known.maybe)
	case n > known.maybe || n+failed < min(known.sure, c.counted()):
		return fmt.Errorf("%d contacts, of %d to %d pairs", n, known.sure, known.maybe)
	}
	return nil
}

// bound reports whether the distance of a row may be a mere bound, of which the gap says how far it is off.
func (c *rowAuditor) bound(d float64, status batch.Status) bool {
	o := &c.job.Options
	switch q := o.Query.Info(); {
	case q.Boolean() || q.CutOff == batch.CutOffAtTouch && status == batch.Separated:
		return true
	case q.CutOff == batch.CallersCutOff && o.HasCutOff && d >= o.CutOff:
		return true
	}
	return o.HasMaxDistance && d >= o.MaxDistance
}

// AtLeast reports whether worlds may end at their first contact, so that the number that they state is a lower bound:
// those of a Boolean query of statuses, not of all pairs. What results say of that is not looked at.
func AtLeast(o *rollout.Options, allPairs bool) bool {
	const values = batch.ColDistance | batch.ColGap
	return o.Query.Info().Boolean() && o.Columns&values == 0 && !allPairs
}

// counted is the number of contacts up to which worlds count theirs.
func (c *rowAuditor) counted() int {
	o := c.job.Options
	if o.Columns = c.job.Results.Columns; AtLeast(&o, c.job.Worlds.AllPairs) {
		return 1
	}
	return math.MaxInt
}

package audit

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"clearance/batch"
	"clearance/geom"
	"clearance/internal/score"
	"clearance/rollout"
	"clearance/verify"
)

// rowPlace is the subject of a row of the results: a world and a pair of places in it, which are -1 if the row does not
// say.
type rowPlace struct {
	world int
	a, b  int32
}

// rowAuditor checks each row of the results of a job from the shapes alone.
type rowAuditor struct {
	job   *rollout.Job
	sizes []float64 // of the largest part of each body
	most  float64   // of them
	bad   []bool    // worlds with a pose that is no pose
	rows  batch.RolloutRows
	open  []bool   // worlds with a row that needs the reference, see alone
	world int      // of the last row of all pairs
	last  [2]int32 // its bodies
	skip  map[[2]int32]bool
	pairs []int // of present bodies in each world that are asked, one number if worlds have one list
}

func newRowAuditor(job *rollout.Job) *rowAuditor {
	c := &rowAuditor{job: job, sizes: make([]float64, job.Bodies.Len()), bad: make([]bool, job.Worlds.Count()),
		open: make([]bool, job.Worlds.Count()),
		rows: batch.RolloutRows{Bodies: job.Bodies, Worlds: job.Worlds, Results: job.Results}}
	lib, w := job.Bodies.Library(), job.Worlds
	for i := range c.sizes {
		for _, p := range job.Bodies.Parts(int32(i)) {
			size := lib.Shape(p.Shape).BoundingRadius()
			if math.IsInf(size, 1) {
				size = lib.Shape(p.Shape).Radius()
			}
			c.sizes[i] = max(c.sizes[i], size)
		}
		c.most = max(c.most, c.sizes[i])
	}
	for world := range c.bad {
		for k := range int32(w.BodiesPerWorld()) {
			body := w.Body(world, k)
			c.bad[world] = c.bad[world] || body >= 0 && job.Bodies.CheckPose(body, w.Pose(world, k)) != nil
		}
	}
	c.skip = make(map[[2]int32]bool, len(w.SkipA))
	for i, a := range w.SkipA {
		c.skip[[2]int32{min(a, w.SkipB[i]), max(a, w.SkipB[i])}] = true
	}
	c.pairs = make([]int, w.Count())
	if w.Shared() {
		c.pairs = c.pairs[:min(1, w.Count())]
	}
	for world := range c.pairs {
		c.pairs[world] = c.countPairs(world)
	}
	return c
}

// countPairs is the number of pairs of a world that are asked and of which no body is absent.
func (c *rowAuditor) countPairs(world int) (n int) {
	w := c.job.Worlds
	present := func(k int32) bool { return w.Body(world, k) != batch.Absent }
	if !w.AllPairs {
		for p, a := range w.TemplateA {
			if present(a) && present(w.TemplateB[p]) {
				n++
			}
		}
		return n
	}
	bodies := 0
	for k := range int32(w.BodiesPerWorld()) {
		if present(k) {
			n += bodies
			bodies++
		}
	}
	for p := range c.skip {
		if p[0] != p[1] && present(p[0]) && present(p[1]) {
			n--
		}
	}
	return n
}

// pairsOf is the number of pairs of a world, see countPairs.
func (c *rowAuditor) pairsOf(world int) int { return c.pairs[min(world, len(c.pairs)-1)] }

// rowsOf is the number of rows of a world.
func (c *rowAuditor) rowsOf(world int) int {
	lo, hi := c.rows.Range(world)
	return hi - lo
}

// place returns what row i is about, and an error if that is no pair of bodies that was asked.
func (c *rowAuditor) place(i int) (p rowPlace, err error) {
	w, r := c.job.Worlds, c.job.Results
	m := int32(w.BodiesPerWorld())
	switch {
	case r.Offsets != nil:
		for i >= int(r.Offsets[c.world+1]) {
			c.world++
			c.last = [2]int32{}
		}
		p = c.places(c.world, i)
		if p.a < 0 || p.a >= p.b || p.b >= m {
			return p, fmt.Errorf("bodies %d and %d, want two in ascending order below %d", p.a, p.b, m)
		}
		before, here := c.last, [2]int32{p.a, p.b}
		c.last = here
		switch {
		case c.skip[here]:
			return p, fmt.Errorf("bodies %d and %d, a pair to skip", p.a, p.b)
		case slices.Compare(before[:], here[:]) >= 0:
			return p, fmt.Errorf("bodies %d and %d after %d and %d", p.a, p.b, before[0], before[1])
		}
	case r.Pair != nil && r.BodyA != nil:
		if p = c.places(i, i); min(p.a, p.b) < -1 || max(p.a, p.b) >= m {
			return rowPlace{i, -1, -1}, fmt.Errorf("bodies %d and %d of %d", p.a, p.b, m)
		}
	case r.Pair != nil:
		if k := r.Pair[i]; k < -1 || int(k) >= len(w.TemplateA) {
			return rowPlace{i, -1, -1}, fmt.Errorf("pair %d of %d", k, len(w.TemplateA))
		}
		p = c.places(i, i)
	default:
		p = c.places(i/len(w.TemplateA), i)
	}
	return p, nil
}

// places is the places of a row of a world, as they are stated.
func (c *rowAuditor) places(world, i int) rowPlace {
	a, b, _ := c.rows.Places(world, i)
	return rowPlace{world, a, b}
}

// form returns an error if row i cannot be an answer, whatever the shapes are; and the pair of parts that it names,
// whose indices are -1 if there is none.
func (c *rowAuditor) form(i int, p rowPlace) (partA, partB int, err error) {
	w, r := c.job.Worlds, c.job.Results
	x, y := int32(batch.Absent), int32(batch.Absent)
	if p.a >= 0 && p.b >= 0 {
		x, y = w.Body(p.world, p.a), w.Body(p.world, p.b)
	}
	absent := x == batch.Absent || y == batch.Absent
	partA, partB = int(r.PartA[i]), int(r.PartB[i])
	switch {
	case partA == -1 && partB == -1:
	case absent:
		return -1, -1, fmt.Errorf("parts %d and %d, where a body is absent or not known", partA, partB)
	case min(partA, partB) < 0 || partA >= len(c.job.Bodies.Parts(x)) || partB >= len(c.job.Bodies.Parts(y)):
		return -1, -1, fmt.Errorf("parts %d and %d of %d and %d", partA, partB, len(c.job.Bodies.Parts(x)),
			len(c.job.Bodies.Parts(y)))
	}
	if partA < 0 && !blankVectors(r.Results, i) {
		return partA, partB, errors.New("a normal or points, of no parts")
	}
	status := batch.Separated
	if r.Status() != nil {
		status = batch.Status(r.Status()[i])
	}
	o := &c.job.Options
	empty := absent
	if r.Pair != nil {
		if empty = c.pairsOf(i) == 0; !empty && p.a >= 0 && absent {
			return partA, partB, fmt.Errorf("bodies %d and %d, one of which is absent", p.a, p.b)
		}
		if err := c.counts(i, status); err != nil {
			return partA, partB, err
		}
	}
	if empty && !c.bad[p.world] {
		return partA, partB, c.nothing(i, status)
	}
	switch {
	case status > batch.Invalid:
		return partA, partB, fmt.Errorf("no status has the code %d", uint8(status))
	case status == batch.Invalid && !c.bad[p.world] && o.Query != batch.Growth && !c.flats():
		return partA, partB, errors.New("invalid, in a world whose poses are in order")
	case status >= batch.Undecided || r.Distance().Len() == 0:
		return partA, partB, nil
	}
	d, gap := r.Distance().At(i), c.tolerance(r.Distance().At(i), x, y)
	if r.Gap() != nil {
		gap = float64(r.Gap()[i])
	}
	touch := o.Query.Info().Touch
	switch {
	case math.IsNaN(d) || math.IsInf(d, 0):
		return partA, partB, fmt.Errorf("%v at a distance of %g", status, d)
	case r.Gap() != nil && (!(gap >= 0) || !c.narrow(d, gap, status, x, y)):
		return partA, partB, fmt.Errorf("%g ± %g is %v, with a gap above the tolerance", d, gap, status)
	case r.Status() == nil || o.Query.Info().Boolean(): // whose distance and status may be those of different parts
	case status == batch.Touching && !(math.Abs(d-touch) <= gap),
		status == batch.Separated && !(d >= touch), status == batch.Penetrating && !(d <= touch):
		return partA, partB, fmt.Errorf("%v at %g ± %g", status, d, gap)
	}
	return partA, partB, nil
}

// vectors are the columns that a row has of the parts that it names.
const vectors = batch.ColNormal | batch.ColWitnessA | batch.ColWitnessB | batch.ColPoint

// blankVectors reports whether the vectors of row i are NaN, as in a row without an answer.
func blankVectors(r *batch.Results, i int) bool {
	for _, c := range (r.Columns & vectors).Each() {
		for k := range 3 {
			if !math.IsNaN(r.Column(c).At(3*i + k)) {
				return false
			}
		}
	}
	return true
}

// counts returns an error if the columns of a world contradict one another.
func (c *rowAuditor) counts(i int, status batch.Status) error {
	r := c.job.Results
	contacts, failed, pairs := int(r.Contacts[i]), int(r.Failed[i]), c.pairsOf(i)
	want := rollout.AnyNone
	switch {
	case contacts > 0:
		want = rollout.AnyContact
	case failed > 0:
		want = rollout.AnyUnknown
	}
	switch {
	case contacts < 0 || failed < 0 || r.Any[i] != want:
		return fmt.Errorf("any %d, %d contacts, %d failed", r.Any[i], contacts, failed)
	case max(contacts, failed) > pairs:
		return fmt.Errorf("%d contacts, %d failed, of %d pairs", contacts, failed, pairs)
	case r.Status() == nil:
	case status == batch.Separated && contacts > 0, (status == batch.Touching || status == batch.Penetrating) &&
		contacts == 0, status == batch.Undecided && failed == 0:
		return fmt.Errorf("%v, with %d contacts, %d failed", status, contacts, failed)
	}
	return nil
}

// nothing returns an error if a row without a pair of bodies is not the distance to an empty set.
func (c *rowAuditor) nothing(i int, status batch.Status) error {
	r := c.job.Results
	far := r.Distance().Len() == 0 || math.IsInf(r.Distance().At(i), 1)
	if status != batch.Separated || !far || r.Gap() != nil && r.Gap()[i] != 0 {
		return fmt.Errorf("%v, where no two bodies are present: want separated, +Inf with a gap of 0", status)
	}
	return nil
}

// narrow reports whether a decided row is known as well as the options ask: to the tolerance of the largest parts of
// its bodies, since any of them may set its bounds, or to be beyond the largest distance.
func (c *rowAuditor) narrow(d, gap float64, status batch.Status, x, y int32) bool {
	o := &c.job.Options
	u := 0x1p-24
	if o.Precision == batch.Double {
		u = 0x1p-53
	}
	beyond := math.Inf(1)
	switch q := o.Query.Info(); {
	case o.StatusAlone() || q.CutOff == batch.CutOffAtTouch && status == batch.Separated:
		return true
	case q.CutOff == batch.CallersCutOff && o.HasCutOff:
		beyond = o.CutOff
	}
	if o.HasMaxDistance {
		beyond = min(beyond, o.MaxDistance)
	}
	if d-gap >= beyond-4*u*math.Abs(d)-0x1p-22*gap { // the gap is a float32, rounded up
		return true
	}
	return gap <= c.tolerance(d, x, y)
}

// tolerance is the widest gap of a decided row that the options allow, see narrow.
func (c *rowAuditor) tolerance(d float64, x, y int32) float64 {
	o := &c.job.Options
	u := 0x1p-24
	if o.Precision == batch.Double {
		u = 0x1p-53
	}
	size := 2 * c.most
	if c.job.Results.Pair == nil && x >= 0 && y >= 0 {
		size = c.sizes[x] + c.sizes[y]
	}
	scale := o.Query.Info().Tolerance.Scale(size, d)
	t := o.EffectiveTolerance(scale)
	if t == 0 { // the widest default of double precision
		t = max(batch.DoubleTolerance, batch.DoubleCurvedDepthTolerance, batch.DoubleCurvedGrowthTolerance) * scale
	}
	// Of bounds in float64, relative to the lengths of the row: far more than their derived rounding.
	const rounding = 0x1p-40
	return t*(1+0x1p-20) + 4*u*math.Abs(d) + rounding*(size+math.Abs(d))
}

// flats reports whether the library has half-spaces, of which two are no valid pair.
func (c *rowAuditor) flats() bool {
	lib := c.job.Bodies.Library()
	for i := range int32(lib.Len()) {
		if lib.Shape(i).Kind() == geom.KindHalfspace {
			return true
		}
	}
	return false
}

// alone reports whether the audit of a row as an answer of the pair of parts that it names proves it, or of none where
// a body is absent: where these are the only parts of its bodies, and the columns prove a distance.
func (c *rowAuditor) alone(p rowPlace, partA int) bool {
	if c.bad[p.world] {
		return true // form checks all of the row
	}
	x, y := c.job.Worlds.Body(p.world, p.a), c.job.Worlds.Body(p.world, p.b)
	if x == batch.Absent || y == batch.Absent {
		return true
	}
	return partA >= 0 && score.ProofColumns&^c.job.Results.Columns == 0 && len(c.job.Bodies.Parts(x)) == 1 &&
		len(c.job.Bodies.Parts(y)) == 1
}

// rows checks the form of every row and audits the answers of those that name a pair of parts.
func (r *Rollout) rows(ctx context.Context, c *rowAuditor, s *Sample) error {
	const most = 1 << 16
	job, out := c.job, c.job.Results
	if out.Pair != nil || out.Offsets != nil { // rows that say nothing of the pairs that they leave out
		for world := range c.open {
			c.open[world] = true
		}
	}
	var list []batch.Row
	var at []int
	for i := range out.N {
		status := batch.Undecided
		if out.Status() != nil {
			status = batch.Status(out.Status()[i])
			if status == batch.Undecided {
				r.Undecided++
			}
			if status == batch.Invalid {
				r.Invalid++
			}
		}
		p, err := c.place(i)
		partA, partB := -1, -1
		if err == nil {
			partA, partB, err = c.form(i, p)
		}
		r.note(p.world, i, err)
		if c.job.Results.Pair == nil && c.job.Results.Offsets == nil && err == nil && !c.alone(p, partA) {
			c.open[p.world] = true
		}
		if out.Failed != nil && out.Failed[i] > 0 && !c.bad[i] {
			r.Unanswered++
		}
		if partA >= 0 && (status <= batch.Penetrating || out.Status() == nil) && !c.bad[p.world] {
			x, y := job.Worlds.Body(p.world, p.a), job.Worlds.Body(p.world, p.b)
			a, b := &job.Bodies.Parts(x)[partA], &job.Bodies.Parts(y)[partB]
			list = append(list, batch.Row{
				ShapeA: a.Shape, PoseA: job.Bodies.PartPose(x, partA, job.Worlds.Pose(p.world, p.a)),
				ShapeB: b.Shape, PoseB: job.Bodies.PartPose(y, partB, job.Worlds.Pose(p.world, p.b))})
			at = append(at, i)
		}
		if len(list) == most || i == out.N-1 && len(list) > 0 {
			if err := r.named(ctx, job, list, at, s); err != nil {
				return err
			}
			list, at = list[:0], at[:0]
		}
		s.told(1)
	}
	return nil
}

// named audits rows at some indices of the results as answers of the pairs of parts that they name. The interval of
// such a row contains that of the pair, as the pair attains the least.
func (r *Rollout) named(ctx context.Context, job *rollout.Job, list []batch.Row, at []int,
	s *Sample) error {
	o := job.Options.Options
	o.Columns = job.Results.Columns &^ batch.ColBits
	if job.Options.HasMaxDistance && !(o.HasCutOff && o.CutOff < job.Options.MaxDistance) &&
		o.Query.Info().CutOff == batch.CallersCutOff {
		o.CutOff, o.HasCutOff = job.Options.MaxDistance, true
	}
	pairs, answers := batch.NewPairs(len(list)), batch.NewResults(len(list), &o)
	for i := range list {
		pairs.SetRow(i, &list[i])
		answers.CopyRow(i, job.Results.Results, at[i], answers.Columns)
	}
	audited := &batch.Job{Library: job.Bodies.Library(), Input: pairs, Options: o, Results: answers}
	numbers := make([]int, len(at))
	for i, row := range at {
		numbers[i] = r.firstRow + row
	}
	report, err := verify.Audit(ctx, audited, verify.Options{Workers: s.Workers, Seed: s.Seed, Numbers: numbers})
	if err != nil {
		return err
	}
	r.Named.Merge(report)
	return nil
}

// GapCheck is a check of rows as answers of pairs of parts that does not apply to rows of bodies: the gap may be above
// the tolerance of the pair of parts that a row names, where larger parts set it. form checks it.
const GapCheck = "gap"

// RefutedAs is the largest number of rows that a check of the pairs that they name refutes.
func RefutedAs(named *verify.Report) int {
	wrong := 0
	for i := range named.Checks {
		if c := &named.Checks[i]; c.Name != GapCheck {
			wrong = max(wrong, c.Failed)
		}
	}
	return wrong
}

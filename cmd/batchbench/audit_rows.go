package main

import (
	"context"
	"errors"
	"fmt"
	"math"

	"clearance/batch"
	"clearance/geom"
	"clearance/rollout"
	"clearance/verify"
)

// rowPlace is what a row of the results is about: a world and a pair of places in it, which are -1 if the row does not
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
	world int       // of the last row of all pairs
}

func newRowAuditor(job *rollout.Job) *rowAuditor {
	c := &rowAuditor{job: job, sizes: make([]float64, job.Bodies.Len()), bad: make([]bool, job.Worlds.Len())}
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
	return c
}

// place returns what row i is about, and an error if that is no pair of bodies that was asked.
func (c *rowAuditor) place(i int) (p rowPlace, err error) {
	w, r := c.job.Worlds, c.job.Results
	m := int32(w.BodiesPerWorld())
	switch {
	case r.Offsets != nil:
		for i >= int(r.Offsets[c.world+1]) {
			c.world++
		}
		p = rowPlace{c.world, r.BodyA[i], r.BodyB[i]}
		if p.a < 0 || p.a >= p.b || p.b >= m {
			return p, fmt.Errorf("bodies %d and %d, want two in ascending order below %d", p.a, p.b, m)
		}
	case r.Pair != nil && r.BodyA != nil:
		if p = (rowPlace{i, r.BodyA[i], r.BodyB[i]}); min(p.a, p.b) < -1 || max(p.a, p.b) >= m {
			return rowPlace{i, -1, -1}, fmt.Errorf("bodies %d and %d of %d", p.a, p.b, m)
		}
	case r.Pair != nil:
		k := r.Pair[i]
		if p = (rowPlace{i, -1, -1}); k < -1 || int(k) >= len(w.TemplateA) {
			return p, fmt.Errorf("pair %d of %d", k, len(w.TemplateA))
		}
		if k >= 0 {
			p.a, p.b = w.TemplateA[k], w.TemplateB[k]
		}
	default:
		n := len(w.TemplateA)
		p = rowPlace{i / n, w.TemplateA[i%n], w.TemplateB[i%n]}
	}
	return p, nil
}

// form returns an error if row i cannot be an answer, whatever the shapes are; and the pair of parts that it names,
// whose indices are -1 if there is none.
func (c *rowAuditor) form(i int, p rowPlace) (partA, partB int, err error) {
	w, r := c.job.Worlds, c.job.Results
	x, y := int32(rollout.Absent), int32(rollout.Absent)
	if p.a >= 0 && p.b >= 0 {
		x, y = w.Body(p.world, p.a), w.Body(p.world, p.b)
	}
	absent := x == rollout.Absent || y == rollout.Absent
	partA, partB = int(r.PartA[i]), int(r.PartB[i])
	switch {
	case partA == -1 && partB == -1:
	case absent:
		return -1, -1, fmt.Errorf("parts %d and %d, where a body is absent or not known", partA, partB)
	case min(partA, partB) < 0 || partA >= len(c.job.Bodies.Parts(x)) || partB >= len(c.job.Bodies.Parts(y)):
		return -1, -1, fmt.Errorf("parts %d and %d of %d and %d", partA, partB, len(c.job.Bodies.Parts(x)),
			len(c.job.Bodies.Parts(y)))
	}
	if r.Pair != nil && (r.Any[i] > rollout.AnyUnknown || r.Contacts[i] < 0 || r.Failed[i] < 0) {
		return partA, partB, fmt.Errorf("any %d, %d contacts, %d failed", r.Any[i], r.Contacts[i], r.Failed[i])
	}
	status := batch.Separated
	if r.Status != nil {
		status = batch.Status(r.Status[i])
	}
	o := &c.job.Options
	switch {
	case status > batch.Invalid:
		return partA, partB, fmt.Errorf("no status has the code %d", uint8(status))
	case status == batch.Invalid && !c.bad[p.world] && o.Query != batch.Growth && !c.flats():
		return partA, partB, errors.New("invalid, in a world whose poses are in order")
	case status >= batch.Undecided || r.Distance.Len() == 0:
		return partA, partB, nil
	}
	d := r.Distance.At(i)
	if math.IsInf(d, 1) && (absent || r.Pair != nil) {
		return partA, partB, nil // of a world the reference says whether it is empty
	}
	if r.Gap == nil {
		return partA, partB, nil
	}
	if gap := float64(r.Gap[i]); !(gap >= 0) || !c.narrow(d, gap, status, x, y) {
		return partA, partB, fmt.Errorf("%g ± %g is %v, with a gap above the tolerance", d, gap, status)
	}
	return partA, partB, nil
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
	return gap <= t*(1+0x1p-20)+4*u*math.Abs(d)+rounding*(size+math.Abs(d))
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

// rows checks the form of every row and audits the answers of those that name a pair of parts.
func (r *rolloutAudit) rows(ctx context.Context, job *rollout.Job, s *rolloutSample) error {
	const most = 1 << 16
	c, out := newRowAuditor(job), job.Results
	var list []batch.Row
	var at []int
	for i := range out.N {
		status := batch.Undecided
		if out.Status != nil {
			status = batch.Status(out.Status[i])
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
		if partA >= 0 && (status <= batch.Penetrating || out.Status == nil) && !c.bad[p.world] {
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
		s.bar.add(1)
	}
	return nil
}

// named audits rows at some indices of the results as answers of the pairs of parts that they name. The interval of
// such a row contains that of the pair, as the pair attains the least.
func (r *rolloutAudit) named(ctx context.Context, job *rollout.Job, list []batch.Row, at []int,
	s *rolloutSample) error {
	o := job.Options.Options
	o.Columns = job.Results.Columns &^ batch.ColBits
	if job.Options.HasMaxDistance && !(o.HasCutOff && o.CutOff < job.Options.MaxDistance) &&
		o.Query.Info().CutOff == batch.CallersCutOff {
		o.CutOff, o.HasCutOff = job.Options.MaxDistance, true
	}
	pairs, answers := batch.NewPairs(len(list)), batch.NewResults(len(list), &o)
	for i := range list {
		pairs.SetRow(i, &list[i])
		copyRow(answers, i, job.Results.Results, at[i])
	}
	audited := &batch.Job{Library: job.Bodies.Library(), Input: pairs, Options: o, Results: answers}
	report, err := verify.Audit(ctx, audited, verify.Options{Workers: s.workers, Seed: s.seed})
	if err != nil {
		return err
	}
	for i := range report.Checks {
		for k := range report.Checks[i].Worst {
			if w := &report.Checks[i].Worst[k]; w.Row >= 0 {
				w.Row = at[w.Row]
			}
		}
	}
	r.Named.Merge(report)
	return nil
}

// gapCheck is a check of the audit that does not apply to rows of bodies: the gap may be above the tolerance of the
// pair of parts that a row names, where larger parts set it. form checks it.
const gapCheck = "gap"

// refutedAs is the largest number of rows that a check of the pairs that they name refutes.
func refutedAs(named *verify.Report) int {
	wrong := 0
	for i := range named.Checks {
		if c := &named.Checks[i]; c.Name != gapCheck {
			wrong = max(wrong, c.Failed)
		}
	}
	return wrong
}

// copyRow copies the columns of a row.
func copyRow(to *batch.Results, i int, from *batch.Results, k int) {
	reals := func(to, from *batch.Floats, width int) {
		if from.F64 != nil {
			copy(to.F64[width*i:width*(i+1)], from.F64[width*k:])
		} else if from.F32 != nil {
			copy(to.F32[width*i:width*(i+1)], from.F32[width*k:])
		}
	}
	reals(&to.Distance, &from.Distance, 1)
	reals(&to.Normal, &from.Normal, 3)
	reals(&to.WitnessA, &from.WitnessA, 3)
	reals(&to.WitnessB, &from.WitnessB, 3)
	reals(&to.Point, &from.Point, 3)
	if from.Gap != nil {
		to.Gap[i] = from.Gap[k]
	}
	if from.Status != nil {
		to.Status[i] = from.Status[k]
	}
	if from.Iterations != nil {
		to.Iterations[i] = from.Iterations[k]
	}
	if from.Method != nil {
		to.Method[i] = from.Method[k]
	}
}

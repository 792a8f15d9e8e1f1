package audit

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math"
	"runtime"
	"sync"

	"gonum.org/v1/gonum/spatial/r3"

	"clearance/batch"
	"clearance/geom"
	"clearance/internal/fault"
	"clearance/ref"
	"clearance/rollout"
	"clearance/rollout/sweep"
)

// Sweep is the audit of results of sweeps. Of each row it checks the form. Of a sample of rows, every contact is
// looked at by the reference, and freedom of contact is proved by its distances and the speed of the bodies.
type Sweep struct {
	findings
	Rows      int `json:"rows"`
	Undecided int `json:"undecided"`
	Invalid   int `json:"invalid"`
	Sample    int `json:"sample"`
	Poses     int `json:"poses"`    // of pairs of bodies, at which the reference was asked
	Unproved  int `json:"unproved"` // rows of the sample that were neither proved nor refuted
	Refuted   int `json:"refuted"`  // rows

	firstRow int // of those that are audited, in a file
}

// Limits of the proof of a row.
const (
	auditedPoses = 4096 // poses at most
	provedShare  = 0.9  // of the lower bound of a free row that is proved; all of it has to withstand the poses
)

var errUnproved = errors.New("not proved")

// sweepAuditor audits rows of a job.
type sweepAuditor struct {
	job    *rollout.SweepJob
	worlds int
	radii  []float64 // of balls about the origins of the bodies that contain them, +Inf with a half-space
	finite []float64 // those of the parts that are no half-spaces
	poses  int
	ws     ref.Workspace
}

func newSweepAuditor(job *rollout.SweepJob) *sweepAuditor {
	c := &sweepAuditor{job: job, worlds: job.Motions.Count(), radii: make([]float64, job.Bodies.Len()),
		finite: make([]float64, job.Bodies.Len())}
	lib := job.Bodies.Library()
	for i := range c.radii {
		for _, p := range job.Bodies.Parts(int32(i)) {
			s := lib.Shape(p.Shape)
			radius := r3.Norm(p.Pose.Position) + r3.Norm(s.Center()) + s.BoundingRadius()
			if c.radii[i] = max(c.radii[i], radius); !math.IsInf(radius, 1) {
				c.finite[i] = max(c.finite[i], radius)
			}
		}
	}
	return c
}

// moving is a pair of bodies of a row.
type moving struct {
	world  int
	a, b   int32 // places
	x, y   int32 // bodies
	absent bool
	bad    bool // an invalid pose
}

func (c *sweepAuditor) pair(row int) moving {
	m := c.job.Motions
	n := len(m.TemplateA)
	p := moving{world: row / n, a: m.TemplateA[row%n], b: m.TemplateB[row%n]}
	p.x, p.y = m.Body(p.world, p.a), m.Body(p.world, p.b)
	p.absent = p.x == batch.Absent || p.y == batch.Absent
	for way := range m.WayPoints() {
		if p.x >= 0 && c.job.Bodies.CheckPose(p.x, m.Pose(p.world, way, p.a)) != nil ||
			p.y >= 0 && c.job.Bodies.CheckPose(p.y, m.Pose(p.world, way, p.b)) != nil {
			p.bad = true
		}
	}
	return p
}

// form returns an error if a row cannot be an answer, whatever the shapes are.
func (c *sweepAuditor) form(row int, p *moving) error {
	r, o := c.job.Results, c.job.Options
	state, end := sweep.State(r.State[row]), float64(c.job.Motions.WayPoints()-1)
	lower, upper, t0, t1 := r.Lower[row], r.Upper[row], r.T0[row], r.T1[row]
	within := func(t float64) bool { return t >= 0 && t <= end }
	parts := r.PartA[row] >= 0 && r.PartB[row] >= 0 && p.x >= 0 && p.y >= 0 &&
		int(r.PartA[row]) < len(c.job.Bodies.Parts(p.x)) && int(r.PartB[row]) < len(c.job.Bodies.Parts(p.y))
	if none := r.PartA[row] == -1 && r.PartB[row] == -1; !parts && !none {
		return fmt.Errorf("parts %d and %d", r.PartA[row], r.PartB[row])
	}
	width := o.TimeTolerance
	if width == 0 {
		width = sweep.DefaultTimeTolerance
	}
	if err := c.counted(row, p, state); err != nil {
		return err
	}
	switch {
	case state >= sweep.StateCount:
		return fmt.Errorf("no state has the code %d", uint8(state))
	case p.bad && !p.absent:
		if state != sweep.Invalid {
			return fmt.Errorf("%v, with an invalid pose", state)
		}
	case state == sweep.Invalid && !c.flats(p):
		return errors.New("invalid, with poses in order")
	case p.absent:
		if state != sweep.Free || !math.IsInf(lower, 1) || !math.IsInf(upper, 1) || t0 != end || parts ||
			!math.IsNaN(r.Closest[row]) || !math.IsNaN(t1) {
			return fmt.Errorf("%v, of a distance from %g to %g, with an absent body", state, lower, upper)
		}
	case state == sweep.Free:
		if !(lower > 0 && upper >= lower && upper <= math.MaxFloat64) || t0 != end || !within(r.Closest[row]) ||
			!math.IsNaN(t1) || !parts {
			return fmt.Errorf("free until %g, of a distance from %g to %g at %g", t0, lower, upper, r.Closest[row])
		}
	case state == sweep.Contact:
		if !within(t0) || !within(t1) || !(t1 >= t0 && t1-t0 <= width*(1+0x1p-20)) || lower != 0 || !parts ||
			!within(r.Closest[row]) {
			return fmt.Errorf("contact in [%g, %g], of a distance from %g, of parts %d and %d", t0, t1, lower,
				r.PartA[row], r.PartB[row])
		}
	}
	if p.absent || p.bad {
		return nil
	}
	return c.bounded(row, p, state)
}

// flats reports whether both bodies have a half-space, which makes the pair invalid.
func (c *sweepAuditor) flats(p *moving) bool {
	return p.x >= 0 && p.y >= 0 && math.IsInf(c.radii[p.x], 1) && math.IsInf(c.radii[p.y], 1)
}

// at returns what the reference proves of the distance of two bodies at a time.
func (c *sweepAuditor) at(p *moving, t float64) (lower, upper float64) {
	c.poses++
	poseA, poseB := c.posesAt(p, t)
	lower, upper = math.Inf(1), math.Inf(1)
	for i := range c.job.Bodies.Parts(p.x) {
		for j := range c.job.Bodies.Parts(p.y) {
			q := c.placed(p, i, j, &poseA, &poseB)
			between := q.centers() - q.a.BoundingRadius() - q.b.BoundingRadius()
			if between*(1-0x1p-40) > upper {
				continue // balls prove this pair to be farther than another one
			}
			lo, hi := q.solve(&c.ws)
			lower, upper = min(lower, lo), min(upper, hi)
		}
	}
	return lower, upper
}

// placedParts are a part of either body at a time.
type placedParts struct {
	a, b         geom.Shape
	poseA, poseB geom.Pose
}

// placed returns parts i and j of the bodies of a row, whose poses are given.
func (c *sweepAuditor) placed(p *moving, i, j int, poseA, poseB *geom.Pose) placedParts {
	bodies, lib := c.job.Bodies, c.job.Bodies.Library()
	return placedParts{lib.Shape(bodies.Parts(p.x)[i].Shape), lib.Shape(bodies.Parts(p.y)[j].Shape),
		bodies.PartPose(p.x, i, *poseA), bodies.PartPose(p.y, j, *poseB)}
}

// named returns the parts that a row names, at a time.
func (c *sweepAuditor) named(row int, p *moving, t float64) *placedParts {
	c.poses++
	poseA, poseB := c.posesAt(p, t)
	q := c.placed(p, int(c.job.Results.PartA[row]), int(c.job.Results.PartB[row]), &poseA, &poseB)
	return &q
}

// centers is the distance of the centers of both parts.
func (q *placedParts) centers() float64 {
	return r3.Norm(r3.Sub(q.poseB.Apply(q.b.Center()), q.poseA.Apply(q.a.Center())))
}

// solve returns what the reference proves of their distance.
func (q *placedParts) solve(ws *ref.Workspace) (lower, upper float64) {
	pair := ref.NewPair(q.a, q.b, q.poseA, q.poseB)
	found := ref.Solve(&pair, ref.Options{}, ws)
	return found.Lower, found.Upper
}

// speed bounds by how much the distance of two bodies changes in a unit of time after the way point leg. The plane of a
// half-space that rotates moves as fast as it does where the other body is: no farther from its origin than at one of
// the way points, since the distance of the origins is a convex function of time.
func (c *sweepAuditor) speed(p *moving, leg int) float64 {
	m := c.job.Motions
	between := 0.0
	for way := leg; way <= leg+1; way++ {
		between = max(between, r3.Norm(r3.Sub(m.Pose(p.world, way, p.b).Position, m.Pose(p.world, way, p.a).Position)))
	}
	turn := func(k, body, other int32) (r3.Vec, float64) {
		reach := c.radii[body]
		if math.IsInf(reach, 1) {
			reach = max(c.finite[body], between+c.finite[other])
		}
		from, _ := m.Pose(p.world, leg, k).Normalized()
		to, _ := m.Pose(p.world, leg+1, k).Normalized()
		f, g := from.Rotation, to.Rotation
		cos := math.Abs(f.Real*g.Real + f.Imag*g.Imag + f.Jmag*g.Jmag + f.Kmag*g.Kmag)
		angle := 2 * math.Acos(min(cos, 1))
		if cos > 0.999 { // where the arc cosine loses digits: the chord is at least 2/π of the arc
			angle = math.Pi * math.Sqrt(max(0, 2-2*cos)+0x1p-50)
		}
		if f == g {
			return r3.Sub(to.Position, from.Position), 0
		}
		return r3.Sub(to.Position, from.Position), angle * reach
	}
	va, a := turn(p.a, p.x, p.y)
	vb, b := turn(p.b, p.y, p.x)
	return (r3.Norm(r3.Sub(vb, va)) + a + b) * (1 + 0x1p-40)
}

// slack is the tolerance of contacts, and what the rounding of poses may change a distance by.
func (c *sweepAuditor) slack(p *moving) float64 {
	m, far, size := c.job.Motions, 0.0, 0.0
	for way := range m.WayPoints() {
		far = max(far, r3.Norm(m.Pose(p.world, way, p.a).Position), r3.Norm(m.Pose(p.world, way, p.b).Position))
	}
	for _, x := range [2]int32{p.x, p.y} {
		if !math.IsInf(c.radii[x], 1) {
			size += c.radii[x]
		}
	}
	t := c.job.Options.Tolerance
	if t == 0 {
		t = sweep.DefaultTolerance
	}
	return t*size*(1+0x1p-20) + 0x1p-40*(size+far)
}

// row returns an error if the reference refutes a row, errUnproved if it neither does that nor proves the row.
func (c *sweepAuditor) row(row int, p *moving) error {
	r := c.job.Results
	switch sweep.State(r.State[row]) {
	case sweep.Free:
		lower := r.Lower[row]
		if err := c.attained(row, p); err != nil {
			return err
		}
		return c.free(p, float64(c.job.Motions.WayPoints()-1), lower, provedShare*lower)
	case sweep.Contact:
		if known, _ := c.named(row, p, r.T1[row]).solve(&c.ws); known > c.slack(p) {
			return fmt.Errorf("in contact at %g, where the distance of parts %d and %d is at least %g", r.T1[row],
				r.PartA[row], r.PartB[row], known)
		}
		if known, _ := c.at(p, r.Closest[row]); known > c.slack(p) {
			return fmt.Errorf("a distance of at most %g at the time %g, where it is at least %g", r.Upper[row],
				r.Closest[row], known)
		}
		return c.free(p, r.T0[row], 0, 0)
	}
	return nil
}

// free proves that two bodies are farther apart than a distance until a time: from a pose at which they are, they stay
// so for the time in which they could not come nearer. A pose at which they are nearer than claimed is an error.
func (c *sweepAuditor) free(p *moving, end, claimed, proved float64) error {
	width := c.job.Options.TimeTolerance
	if width == 0 {
		width = sweep.DefaultTimeTolerance
	}
	slack := c.slack(p)
	for t, n := 0.0, 0; t < end; n++ {
		lower, upper := c.at(p, t)
		if upper < claimed-slack {
			return fmt.Errorf("farther than %g, with a distance of at most %g at the time %g", claimed, upper, t)
		}
		leg := min(int(t), c.job.Motions.WayPoints()-2)
		step := (lower - proved) / c.speed(p, leg)
		if !(step > 0x1p-3*width) && end-t <= width && claimed == 0 {
			return nil // to the tolerance of the first contact
		}
		if n == auditedPoses || !(step > 0x1p-10*width) {
			return errUnproved
		}
		t = min(t+step, float64(leg+1))
	}
	return nil
}

// run audits the results of a job, of which the reference looks at some rows.
func (a *Sweep) run(ctx context.Context, job *rollout.SweepJob, s *Sample, solve chosen) error {
	a.Rows = job.Results.N
	c := newSweepAuditor(job)
	refuted := make([]bool, a.Rows)
	for row := range a.Rows {
		if row&1023 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		switch sweep.State(job.Results.State[row]) {
		case sweep.Undecided:
			a.Undecided++
		case sweep.Invalid:
			a.Invalid++
		}
		p := c.pair(row)
		if err := c.form(row, &p); err != nil {
			refuted[row] = true
			a.note(row, err)
		}
		refuted[row] = refuted[row] || p.absent || p.bad // nothing else to find
		s.told(1)
	}
	workers := s.Workers
	if workers == 0 {
		workers = runtime.GOMAXPROCS(0)
	}
	var rows []int // that nothing has refuted yet
	for row := range solve.within(0, a.Rows) {
		if a.Sample++; !refuted[row] {
			rows = append(rows, row)
		}
	}
	var mu sync.Mutex
	return fault.Blocks(ctx, workers, len(rows), 1, func(_ int, blocks iter.Seq2[int, int]) {
		c := newSweepAuditor(job)
		for i := range blocks {
			p := c.pair(rows[i])
			err := c.row(rows[i], &p)
			mu.Lock()
			switch {
			case errors.Is(err, errUnproved):
				a.Unproved++
			case err != nil:
				a.note(rows[i], err)
			}
			a.Poses += c.poses
			c.poses = 0
			mu.Unlock()
		}
	})
}

// note counts a refuted row.
func (a *Sweep) note(row int, err error) {
	a.Refuted++
	a.keep(row+a.firstRow, fmt.Sprintf("row %d: %v", row+a.firstRow, err))
}

// merge adds the audit of the worlds that follow.
func (a *Sweep) merge(o *Sweep) {
	a.Rows, a.Undecided, a.Invalid = a.Rows+o.Rows, a.Undecided+o.Undecided, a.Invalid+o.Invalid
	a.Sample, a.Poses, a.Unproved = a.Sample+o.Sample, a.Poses+o.Poses, a.Unproved+o.Unproved
	a.Refuted += o.Refuted
	a.findings.merge(&o.findings)
}

// ratio is the least lower bound of a free row of an upper bound: half of it, or another share that the options say,
// or less by half of the tolerance, or the largest distance. The slack is at least the tolerance, and far more than the
// rounding of bounds.
func (c *sweepAuditor) ratio(upper, slack float64) float64 {
	o := c.job.Options.WithDefaults()
	least := min(o.Ratio*upper, upper-slack/2)
	if o.HasMaxDistance {
		least = min(least, o.MaxDistance)
	}
	return least*(1-0x1p-20) - 0x1p-10*slack
}

// bounded returns an error if the bounds of a row, of a state, contradict one another or the options.
func (c *sweepAuditor) bounded(row int, p *moving, state sweep.State) error {
	r, slack := c.job.Results, c.slack(p)
	lower, upper := r.Lower[row], r.Upper[row]
	switch state {
	case sweep.Free:
		if least := c.ratio(upper, slack); !(lower >= least) {
			return fmt.Errorf("free of a distance from %g to %g, which the options bound from %g on", lower, upper,
				least)
		}
	case sweep.Contact:
		if !(upper >= 0 && upper <= slack) {
			return fmt.Errorf("contact, at a distance of at most %g, want one within the tolerance %g", upper, slack)
		}
	}
	return nil
}

// counted returns an error if the number of evaluations of a row is impossible. Nothing else depends on it, and back
// ends differ: it is not audited.
func (c *sweepAuditor) counted(row int, p *moving, state sweep.State) error {
	n, none := c.job.Results.Evaluations[row], p.absent || p.bad
	required := !none && (state == sweep.Contact || state == sweep.Free && !c.job.Options.HasMaxDistance)
	if n < 0 || n == 0 && required || n > 0 && none {
		return fmt.Errorf("%v, by %d evaluations", state, n)
	}
	return nil
}

// posesAt are the poses of both bodies at a time.
func (c *sweepAuditor) posesAt(p *moving, t float64) (poseA, poseB geom.Pose) {
	m := c.job.Motions
	leg := min(int(t), m.WayPoints()-2)
	between := func(k int32) geom.Pose {
		from, _ := m.Pose(p.world, leg, k).Normalized()
		to, _ := m.Pose(p.world, leg+1, k).Normalized()
		return sweep.Between(from, to, t-float64(leg))
	}
	return between(p.a), between(p.b)
}

// attained returns an error if the parts of a free row are not at the distance, at a time, that is its upper bound. Of
// rows that balls prove to be farther than the largest distance it is the distance of the centers of the parts.
func (c *sweepAuditor) attained(row int, p *moving) error {
	r := c.job.Results
	upper := r.Upper[row]
	q := c.named(row, p, r.Closest[row])
	lower, known := q.solve(&c.ws)
	slack := c.slack(p) + 0x1p-40*upper
	if lower > upper+slack || known < upper-slack && !(math.Abs(q.centers()-upper) <= slack) {
		return fmt.Errorf("a distance of at most %g at the time %g, where that of parts %d and %d lies in [%g, %g]",
			upper, r.Closest[row], r.PartA[row], r.PartB[row], lower, known)
	}
	return nil
}

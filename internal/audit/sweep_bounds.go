package audit

import (
	"fmt"
	"math"

	"clearance/geom"
	"clearance/ref"
	"clearance/rollout/sweep"

	"gonum.org/v1/gonum/spatial/r3"
)

// What a row of a sweep says of its upper bound, of the parts that it names, and of the number of evaluations.

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
	asked := !none && (state == sweep.Contact || state == sweep.Free && !c.job.Options.HasMaxDistance)
	if n < 0 || n == 0 && asked || n > 0 && none {
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

// named returns what the reference proves of the distance of the parts of a row at a time, and the distance of the
// centers of both parts.
func (c *sweepAuditor) named(row int, p *moving, t float64) (lower, upper, centers float64) {
	c.poses++
	bodies, lib := c.job.Bodies, c.job.Bodies.Library()
	poseA, poseB := c.posesAt(p, t)
	i, j := int(c.job.Results.PartA[row]), int(c.job.Results.PartB[row])
	sa, sb := lib.Shape(bodies.Parts(p.x)[i].Shape), lib.Shape(bodies.Parts(p.y)[j].Shape)
	x, y := bodies.PartPose(p.x, i, poseA), bodies.PartPose(p.y, j, poseB)
	pair := ref.NewPair(sa, sb, x, y)
	found := ref.Solve(&pair, ref.Options{}, &c.ws)
	return found.Lower, found.Upper, r3.Norm(r3.Sub(y.Apply(sb.Center()), x.Apply(sa.Center())))
}

// attained returns an error if the parts of a free row are not at the distance, at a time, that is its upper bound. Of
// rows that balls prove to be farther than the largest distance it is the distance of the centers of the parts.
func (c *sweepAuditor) attained(row int, p *moving) error {
	r := c.job.Results
	upper := r.Upper[row]
	lower, known, centers := c.named(row, p, r.Closest[row])
	slack := c.slack(p) + 0x1p-40*upper
	if lower > upper+slack || known < upper-slack && !(math.Abs(centers-upper) <= slack) {
		return fmt.Errorf("a distance of at most %g at the time %g, where that of parts %d and %d lies in [%g, %g]",
			upper, r.Closest[row], r.PartA[row], r.PartB[row], lower, known)
	}
	return nil
}

package conformance

import (
	"context"
	"math"

	"clearance/batch"
	"clearance/dispatch"
	"clearance/geom"
	"clearance/ref"

	"gonum.org/v1/gonum/spatial/r3"
)

// growthTruth solves every row with package ref once.
func (r *Rows) growthTruth() []ref.Result {
	r.once.Do(func() {
		r.growth = make([]ref.Result, r.Len())
		var ws ref.Workspace
		var row batch.Row
		for i := range r.growth {
			if r.Refused(i, batch.Growth) {
				continue
			}
			r.Pairs.Row(i, &row)
			l, a, b := r.Library, row.ShapeA, row.ShapeB
			p := ref.NewPair(l.Shape(a), l.Shape(b), row.PoseA, row.PoseB)
			r.growth[i] = ref.Growth(&p, ref.GrowthCenters{A: l.GrowthCenter(a), B: l.GrowthCenter(b),
				InradiusA: l.GrowthInradius(a), InradiusB: l.GrowthInradius(b)}, ref.GrowthOptions{}, &ws)
		}
	})
	return r.growth
}

// growthOf bounds the growth distance of a row by what is known of its signed distance σ. With D about the
// centers between the balls of radius r and ρ about the origin,
//
//	σ ≥ 0: 1 + σ/ρ ≤ α ≤ 1 + σ/r,    σ < 0: 1 + σ/r ≤ α ≤ 1 + σ/ρ.
//
// The sides with r follow from the convex combination of a point of D with a point of the ball, the others from
// scaling by 1 + t, which moves no point of D by more than t·ρ. Next to a half-space, D is the other shape alone.
func (r *Rows) growthOf(i int) (lower, upper float64) {
	var inner, outer float64
	for _, s := range [2]int32{r.Pairs.ShapeA[i], r.Pairs.ShapeB[i]} {
		shape := r.Library.Shape(s)
		if shape.Kind() == geom.KindHalfspace {
			continue
		}
		inner += r.Library.GrowthInradius(s)
		outer += r3.Norm(r3.Sub(shape.Center(), r.Library.GrowthCenter(s))) + shape.BoundingRadius()
	}
	least, greatest := r.Expect[i].interval()
	if lower = 1 + least/outer; least < 0 {
		lower = math.Max(0, 1+least/inner)
	}
	if upper = 1 + greatest/inner; greatest < 0 {
		upper = math.Max(0, 1+greatest/outer)
	}
	return lower, upper
}

// checkStatusAlone asks for statuses without any column of the value, which end rows early, and has them
// audited. They may differ from those of the whole query where shapes touch, to the tolerance.
func (r *Rows) checkStatusAlone(ctx context.Context, backend dispatch.Backend, o batch.Options, whole *batch.Results,
	v *Verdict) {
	o.Columns = batch.ColStatus | batch.ColBits
	job := &batch.Job{Library: r.Library, Input: r.Pairs, Options: o}
	if _, err := dispatch.New(backend).Run(ctx, job, dispatch.Options{}); err != nil {
		v.fault(-1, "run of statuses alone: %v", err)
		return
	}
	r.checkAudit(ctx, job, v)
	for i, s := range job.Results.Status() {
		alone, want := batch.Status(s), batch.Status(whole.Status()[i])
		if alone != want && alone != batch.Touching && want != batch.Touching {
			v.fault(i, "%s: %v without columns of the value, %v with them", r.Describe(i), alone, want)
		}
	}
}

package cpu

import (
	"clearance/batch"
	"clearance/ref"
)

// growthOptions translates the options of a growth query, which all rows share. The tolerance is relative to
// max(1, α), as that of [ref.GrowthOptions].
func growthOptions(o *batch.Options) ref.GrowthOptions {
	cutOff, has := o.EffectiveCutOff()
	return ref.GrowthOptions{
		Tolerance:     o.SolverTolerance(1),
		MaxIterations: o.MaxIterations,
		CutOff:        cutOff,
		HasCutOff:     has,
		Boolean:       o.StatusAlone(),
	}
}

// grow answers row i of a growth query, which has been read.
func (w *worker) grow(c *call, i int) {
	l, a, b := c.job.Library, w.row.ShapeA, w.row.ShapeB
	centers := ref.GrowthCenters{A: l.GrowthCenter(a), B: l.GrowthCenter(b),
		InradiusA: l.GrowthInradius(a), InradiusB: l.GrowthInradius(b)}
	w.pair = ref.NewPair(l.Shape(a), l.Shape(b), w.row.PoseA, w.row.PoseB)
	w.result = ref.Growth(&w.pair, centers, c.growth, &w.ws)
	if c.out.Columns&batch.ColPoint != 0 {
		w.answer.Point = w.pair.ToWorld(w.pair.GrowthPoint(centers, &w.result))
	}
	w.put(c.out, i-c.lo, growthSolver(&w.result))
}

// growthSolver returns the code of the solver that ended a row of a growth query in ref.
func growthSolver(r *ref.Result) batch.Solver {
	switch r.Ended {
	case ref.EndedByFormula:
		return batch.SolverClosedForm
	case ref.EndedByAxes:
		return batch.SolverAxes
	case ref.EndedByNewton:
		return batch.SolverNewton
	}
	return batch.SolverGrowth
}

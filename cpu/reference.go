package cpu

import (
	"clearance/batch"
	"clearance/geom"
	"clearance/ref"

	"gonum.org/v1/gonum/spatial/r3"
)

var (
	methods    = []batch.Method{batch.Auto, batch.GJK, batch.Nesterov, batch.Polyak, batch.RTR}
	precisions = []batch.Precision{batch.Single, batch.Double}

	// servedByCPU is what the back end cpu supports. The reference solvers answer the calls that the kernels, with a
	// table of their own ([kernels.Serves]), do not support.
	servedByCPU = batch.Serves{
		{Query: batch.Distance, Methods: methods, Precisions: precisions},
		{Query: batch.Collide, Methods: methods, Precisions: precisions},
		{Query: batch.Penetration, Methods: methods, Precisions: precisions},
		{Query: batch.Growth, Methods: []batch.Method{batch.Auto}, Precisions: precisions},
	}

	// servedByRef is what the back end ref supports: all that cpu does, and the queries that it alone answers.
	servedByRef = append(servedByCPU[:len(servedByCPU):len(servedByCPU)], batch.Serves{}...)
)

// references have, for every query of servedByRef, the function that answers row i, which has been read, by package
// ref.
var references = [batch.QueryCount]func(w *worker, c *call, i int, warm r3.Vec){
	batch.Distance:    (*worker).distance,
	batch.Collide:     (*worker).distance,
	batch.Penetration: (*worker).distance,
	batch.Growth:      (*worker).growth,
}

// distance answers row i of a query of signed distances.
func (w *worker) distance(c *call, i int, warm r3.Vec) {
	l, o := c.job.Library, &c.job.Options
	a, b := l.Shape(w.row.ShapeA), l.Shape(w.row.ShapeB)
	w.pair = ref.NewPair(a, b, w.row.PoseA, w.row.PoseB)
	solve := ref.Options{
		Method:        method(o.Method, a.Kind(), b.Kind()),
		Tolerance:     o.SolverTolerance(w.pair.Size()),
		MaxIterations: o.MaxIterations,
		Boolean:       o.StatusAlone(),
	}
	solve.CutOff, solve.HasCutOff = o.EffectiveCutOff()
	if warm != (r3.Vec{}) {
		solve.WarmStart = w.pair.FromWorld(warm)
	}
	w.result = ref.Solve(&w.pair, solve, &w.ws)
	w.put(c.out, i-c.lo, solver(&w.result))
}

// method chooses the solver of a pair. Momentum uses normalized directions for shapes that are not
// strictly convex [Montaut2022, Alg. 8].
func method(m batch.Method, a, b geom.Kind) ref.Method {
	curved := a.Traits().StrictlyConvex && b.Traits().StrictlyConvex
	switch {
	case m == batch.Nesterov && curved:
		return ref.MethodNesterov
	case m == batch.Nesterov:
		return ref.MethodNesterovNormalized
	case m == batch.Polyak && curved:
		return ref.MethodPolyak
	case m == batch.Polyak:
		return ref.MethodPolyakNormalized
	case m == batch.RTR:
		return ref.MethodRTR
	case m == batch.Auto:
		return ref.MethodAuto
	}
	return ref.MethodGJK
}

// solver returns the code of the solver that ended a row in ref.
func solver(r *ref.Result) batch.Solver {
	switch r.Ended {
	case ref.EndedByFormula:
		return batch.SolverClosedForm
	case ref.EndedByEPA:
		return batch.SolverEPA
	case ref.EndedByGJK:
		return batch.SolverGJK
	}
	switch r.Method {
	case ref.MethodNesterov, ref.MethodNesterovNormalized:
		return batch.SolverNesterov
	case ref.MethodPolyak, ref.MethodPolyakNormalized:
		return batch.SolverPolyak
	case ref.MethodRTR:
		return batch.SolverRTR
	}
	return batch.SolverGJK
}

// growth answers row i of a growth query. The tolerance is relative to max(1, α), as that of [ref.GrowthOptions].
func (w *worker) growth(c *call, i int, _ r3.Vec) {
	l, o, a, b := c.job.Library, &c.job.Options, w.row.ShapeA, w.row.ShapeB
	centers := ref.GrowthCenters{A: l.GrowthCenter(a), B: l.GrowthCenter(b),
		InradiusA: l.GrowthInradius(a), InradiusB: l.GrowthInradius(b)}
	solve := ref.GrowthOptions{
		Tolerance:     o.SolverTolerance(1),
		MaxIterations: o.MaxIterations,
		Boolean:       o.StatusAlone(),
	}
	solve.CutOff, solve.HasCutOff = o.EffectiveCutOff()
	w.pair = ref.NewPair(l.Shape(a), l.Shape(b), w.row.PoseA, w.row.PoseB)
	w.result = ref.Growth(&w.pair, centers, solve, &w.ws)
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

package cpu

import (
	"fmt"

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

	// servedByRef is what the back end ref supports: what cpu does. A query that ref alone answers is appended here.
	servedByRef = servedByCPU
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
	w.pair = ref.NewPair(l.Shape(w.row.ShapeA), l.Shape(w.row.ShapeB), w.row.PoseA, w.row.PoseB)
	w.result = ref.Solve(&w.pair, solverOptions(o, &w.pair, &w.row, l, warm), &w.ws)
	w.put(c.out, i-c.lo, solver(&w.result))
}

// solverOptions are those of a pair, posed from a row, for options of a batch. warm is in the world.
func solverOptions(o *batch.Options, p *ref.Pair, row *batch.Row, l *batch.Library, warm r3.Vec) ref.Options {
	solve := ref.Options{
		Method:        method(o.Method, l.Shape(row.ShapeA).Kind(), l.Shape(row.ShapeB).Kind()),
		Tolerance:     o.SolverTolerance(p.Size()),
		MaxIterations: o.MaxIterations,
		Boolean:       o.StatusAlone(),
	}
	solve.CutOff, solve.HasCutOff = o.EffectiveCutOff()
	if warm != (r3.Vec{}) {
		solve.WarmStart = p.FromWorld(warm)
	}
	return solve
}

// Trace answers row i of a job as the back end ref does, and records the steps of the solver, in the frame of the pair
// that it returns.
func Trace(job *batch.Job, i int, trace *ref.Trace) (ref.Pair, ref.Result, error) {
	o, l := &job.Options, job.Library
	if n := job.Input.Len(); i < 0 || i >= n {
		return ref.Pair{}, ref.Result{}, fmt.Errorf("row %d of %d", i, n)
	}
	var row batch.Row
	warm, err := job.Read(i, &row)
	if err != nil {
		return ref.Pair{}, ref.Result{}, err
	}
	p := ref.NewPair(l.Shape(row.ShapeA), l.Shape(row.ShapeB), row.PoseA, row.PoseB)
	var ws ref.Workspace
	if o.Query == batch.Growth {
		if o.Method != batch.Auto {
			return ref.Pair{}, ref.Result{}, fmt.Errorf("query %v: method %v, want %v", o.Query, o.Method, batch.Auto)
		}
		centers, solve := growthQuestion(o, l, row.ShapeA, row.ShapeB)
		solve.Trace = trace
		return p, ref.Growth(&p, centers, solve, &ws), nil
	}
	solve := solverOptions(o, &p, &row, l, warm)
	solve.Trace = trace
	return p, ref.Solve(&p, solve, &ws), nil
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
	l, a, b := c.job.Library, w.row.ShapeA, w.row.ShapeB
	centers, solve := growthQuestion(&c.job.Options, l, a, b)
	w.pair = ref.NewPair(l.Shape(a), l.Shape(b), w.row.PoseA, w.row.PoseB)
	w.result = ref.Growth(&w.pair, centers, solve, &w.ws)
	if c.out.Columns&batch.ColPoint != 0 {
		w.answer.Point = w.pair.ToWorld(w.pair.GrowthPoint(centers, &w.result))
	}
	w.put(c.out, i-c.lo, growthSolver(&w.result))
}

// growthQuestion returns what ref is asked of the growth distance of two shapes.
func growthQuestion(o *batch.Options, l *batch.Library, a, b int32) (ref.GrowthCenters, ref.GrowthOptions) {
	solve := ref.GrowthOptions{
		Tolerance:     o.SolverTolerance(1),
		MaxIterations: o.MaxIterations,
		Boolean:       o.StatusAlone(),
	}
	solve.CutOff, solve.HasCutOff = o.EffectiveCutOff()
	return ref.GrowthCenters{A: l.GrowthCenter(a), B: l.GrowthCenter(b),
		InradiusA: l.GrowthInradius(a), InradiusB: l.GrowthInradius(b)}, solve
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

package cpu

import (
	"fmt"
	"runtime/debug"

	"clearance/batch"
	"clearance/cpu/simd"
	"clearance/geom"
	"clearance/ref"

	"gonum.org/v1/gonum/spatial/r3"
)

// worker solves rows one after the other. It owns the memory that a row needs, so that
// no row allocates. It belongs to one goroutine at a time.
type worker struct {
	at     int // row being solved, for the error of a panic
	row    batch.Row
	pair   ref.Pair
	result ref.Result
	answer batch.Answer
	ws     ref.Workspace
	solver *simd.Solver // made when a call first has a kernel

	start func() // runs the call on a goroutine; kept, so that starting it does not allocate
	call  *call
}

func newWorker() *worker {
	w := new(worker)
	w.start = func() {
		c := w.call
		defer c.started.Done()
		w.call = nil
		w.run(c)
	}
	return w
}

// run takes blocks until there are none.
func (w *worker) run(c *call) {
	defer func() {
		if p := recover(); p != nil {
			*w = worker{at: w.at, start: w.start} // the workspace may be half written
			c.fail(&PanicError{Row: w.at, Value: p, Stack: debug.Stack()})
		}
	}()
	for {
		lo, hi, ok := c.block()
		if !ok {
			return
		}
		if c.kernel == nil {
			for i := lo; i < hi && !c.stopped(); i++ {
				w.at = i
				w.solve(c, i)
			}
			c.byReference.Add(int64(hi - lo))
			continue
		}
		if w.solver == nil {
			w.solver = simd.NewSolver(c.variant)
		}
		w.at = lo
		left := w.solver.Run(c.kernel, lo, hi)
		for _, i := range left {
			if c.stopped() {
				break
			}
			w.at = lo + int(i)
			w.solve(c, w.at)
		}
		c.byReference.Add(int64(len(left)))
		c.bySIMD.Add(int64(hi - lo - len(left)))
	}
}

// PanicError is the error of a solver that panicked.
type PanicError struct {
	Row   int // of the job's input
	Value any
	Stack []byte
}

func (e *PanicError) Error() string { return fmt.Sprintf("cpu: panic in row %d: %v", e.Row, e.Value) }

// solve answers row i.
func (w *worker) solve(c *call, i int) {
	job, at := c.job, i-c.lo
	warm, err := job.Read(i, &w.row)
	if err != nil {
		c.out.PutFailure(at, batch.Invalid)
		return
	}
	if c.grows {
		w.grow(c, i)
		return
	}
	a, b := job.Library.Shape(w.row.ShapeA), job.Library.Shape(w.row.ShapeB)
	w.pair = ref.NewPair(a, b, w.row.PoseA, w.row.PoseB)
	o := c.distance
	o.Tolerance = job.Options.SolverTolerance(w.pair.Size())
	o.Method = method(job.Options.Method, a.Kind(), b.Kind())
	if warm != (r3.Vec{}) {
		o.WarmStart = w.pair.FromWorld(warm)
	}
	w.result = ref.Solve(&w.pair, o, &w.ws)
	w.put(c.out, at, solver(&w.result))
}

// put maps the result into the world and stores it.
func (w *worker) put(out *batch.Results, at int, by batch.Solver) {
	r, a := &w.result, &w.answer
	a.Status = batch.Status(r.Status) // the codes are the same
	if a.Status >= batch.Invalid {
		out.PutFailure(at, batch.Invalid)
		return
	}
	a.Distance, a.Lower, a.Upper = r.Distance, r.Lower, r.Upper
	a.Iterations = r.Iterations
	a.Solver = by
	if out.Columns&batch.ColNormal != 0 {
		a.Normal = w.pair.DirToWorld(r.Normal)
	}
	if out.Columns&batch.ColWitnessA != 0 {
		a.WitnessA = w.pair.ToWorld(r.WitnessA)
	}
	if out.Columns&batch.ColWitnessB != 0 {
		a.WitnessB = w.pair.ToWorld(r.WitnessB)
	}
	out.Put(at, a)
}

// distanceOptions translates the options of a query of signed distances, which all rows share.
func distanceOptions(o *batch.Options) ref.Options {
	cutOff, has := o.EffectiveCutOff()
	return ref.Options{
		MaxIterations: o.MaxIterations,
		CutOff:        cutOff,
		HasCutOff:     has,
		Boolean:       o.StatusAlone(),
	}
}

// solvers sets the options of the reference solvers. For a query whose value they do not compute it returns
// an error.
func (c *call) solvers() error {
	o := &c.job.Options
	switch o.Query.Info().Audit {
	case batch.AuditSignedDistance:
		c.distance = distanceOptions(o)
	case batch.AuditGrowth:
		c.grows, c.growth = true, growthOptions(o)
	default:
		return fmt.Errorf("cpu: no reference solver for the query %v: %w", o.Query, batch.ErrNotAvailable)
	}
	return nil
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

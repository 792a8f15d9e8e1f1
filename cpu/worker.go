package cpu

import (
	"fmt"
	"runtime/debug"

	"clearance/batch"
	"clearance/geom"
	"clearance/kernels"
	"clearance/ref"
)

// worker solves rows one after the other. It owns the memory that a row needs, so that
// no row allocates. It belongs to one goroutine at a time.
type worker struct {
	at     int // row being solved, for the error of a panic
	row    batch.Row
	pair   ref.Pair
	result ref.Result
	answer batch.Answer
	count  batch.Count // of the rows of a call that counts them
	ws     ref.Workspace
	solver *kernels.Solver // made when a call first has a kernel
}

// block answers the rows of a block, unless the call is over.
func (w *worker) block(c *call, lo, hi int) {
	defer func() {
		if p := recover(); p != nil {
			*w = worker{at: w.at} // the workspace may be half written
			c.fail(&PanicError{Row: w.at, Value: p, Stack: debug.Stack()})
		}
	}()
	if c.stopped() {
		return
	}
	if c.kernel == nil {
		i := lo
		for ; i < hi && !c.stopped(); i++ {
			w.at = i
			w.solve(c, i)
		}
		c.byReference.Add(int64(hi - lo))
		w.add(c, lo, i)
		return
	}
	if w.solver == nil {
		w.solver = kernels.NewSolver(c.variant)
	}
	for ; lo < hi && !c.stopped(); lo += c.kernelRows {
		w.kernels(c, lo, min(lo+c.kernelRows, hi))
	}
}

// kernels answers rows lo to hi of a block by the kernels, and those that these decline by the reference solvers.
func (w *worker) kernels(c *call, lo, hi int) {
	w.at = lo
	declined := w.solver.Run(c.kernel, lo, hi)
	marks := c.out.Marks
	marks.Set(lo-c.lo, hi-c.lo, batch.Answered)
	for _, i := range declined {
		marks.Set(lo-c.lo+int(i), lo-c.lo+int(i)+1, batch.Unanswered)
	}
	for _, i := range declined {
		if c.stopped() {
			return
		}
		w.at = lo + int(i)
		w.solve(c, w.at)
	}
	c.byReference.Add(int64(len(declined)))
	c.bySIMD.Add(int64(hi - lo - len(declined)))
	w.add(c, lo, hi)
}

// add counts rows lo to hi of the job, which are answered.
func (w *worker) add(c *call, lo, hi int) {
	if c.counts && lo < hi {
		w.count.Add(c.job, c.lo, c.out, lo-c.lo, hi-c.lo)
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
	warm, err := c.job.Read(i, &w.row)
	if err != nil {
		c.out.PutFailure(i-c.lo, batch.Invalid)
		return
	}
	c.reference(w, c, i, warm)
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

// rowVertices is the number of vertices of a pair of hulls up to which a row costs about as much as one of other
// shapes.
const rowVertices = 128

// RowWork bounds the work of a row with shapes of a library, in units of a row of hulls of 64 vertices; it is 1 for
// other shapes. What checks a context after a number of rows, or answers few of them at once, counts it.
func RowWork(l *batch.Library) int {
	vertices := 0
	for i := range l.Len() {
		vertices = max(vertices, vertexCount(l.Shape(int32(i))))
	}
	return max(1, 2*vertices/rowVertices)
}

// vertexCount is the number of vertices of a hull, 0 of other shapes.
func vertexCount(s geom.Shape) int {
	for {
		switch t := s.(type) {
		case geom.Rounded:
			s = t.Shape
			continue
		case *geom.Convex:
			return len(t.Hull().Vertices)
		case *geom.SmoothHull:
			return len(t.Vertices())
		}
		return 0
	}
}

// minKernelRows fill the vectors of the kernels.
const minKernelRows = 16

// kernelRows is the number of rows of a block that the kernels answer between two checks of the context: all of them,
// or fewer of hulls with many vertices, of which a row may take 50 ms.
func kernelRows(work int) int { return max(kernels.BlockRows/work/minKernelRows, 1) * minKernelRows }

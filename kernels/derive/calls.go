// Package derive runs the kernels of derivatives, exact ones and those with Gumbel or Gaussian smoothing, in C: one row
// per lane in float64, in the dialect of package kernels/isa, compiled for AVX-512, AVX2, NEON and any processor
// (portable). They support signed distances and growth distances of all kinds of shapes, smooth hulls and smooth solids
// of revolution of at most 256 points. include/kernel.h lists the headers; the formulas are those of clearance/derive.
//
// A kernel declines rows without an answer, invalid ones, those whose derivatives are not all those of the answer, and
// those that it cannot decide; clearance/derive takes these one by one. Other rows agree with it to rounding, and have
// the same smoothness.
//
// [Choose] chooses the variant, as package kernels does for the kernels of pairs.
//
// # Layers and threads
//
// derive imports batch and kernels. A [Solver] may be used by one goroutine at a time. The results do not depend on how
// rows are cut into blocks. Without cgo there is no kernel: [Variants] returns none.
package derive

import (
	"context"
	"sync/atomic"

	"clearance/batch"
	"clearance/kernels"
)

// Choose returns the variant of an option, which the environment replaces if it is empty: one of [Variants], the best
// without any name, or [kernels.Off].
func Choose(option string) (string, error) {
	name, err := kernels.Named(option, "options")
	if err != nil {
		return kernels.Off, err
	}
	return kernels.Best(name, Variants()), nil
}

// Block is the largest number of rows of a [Solver.Run].
const Block = 256

// Call is a batch of answers to differentiate.
type Call struct {
	Job     *batch.Job
	First   int            // row 0 of the answers is this row of the job
	Answers *batch.Results // with distance, normal, witnesses and status
	Valid   bool           // rows with an answer are valid: a back end has checked them

	// Reported asks for the column d_distance of Out alone, in closed form by normals and witnesses as they are.
	Reported bool

	// Derivative says which derivatives other calls take. Row 0 of the answers has the number FirstNumber, which the
	// noise is keyed by.
	Derivative  batch.Derivative
	FirstNumber uint64

	// Variant is one that [Choose] returned, but [kernels.Off].
	Variant string

	// The derivatives to compute; each may be nil.
	Out                   *batch.Results // columns of derivatives
	Cotangents, Gradients []float64      // [N,10], [N,12]: cotangents times the Jacobians
	Twists, Tangents      []float64      // [N,12], [N,10]: the Jacobians times twists

	// OfBlock says that Gradients are those of the rows of a [Solver.Run] alone, [Block,12], each Run from row 0 on.
	OfBlock bool

	stop *int32 // not 0: the samples of a row end, whose derivatives then hold anything
}

// StopWith has the samples of rows end with a context. What it returns releases it.
func (c *Call) StopWith(ctx context.Context) (release func()) {
	stop := new(int32)
	c.stop = stop
	if ctx.Err() != nil {
		*stop = 1
	}
	end := context.AfterFunc(ctx, func() { atomic.StoreInt32(stop, 1) })
	return func() { end() }
}

// Serves reports whether the kernel supports a call: it has signed distances and growth distances, and no derivatives
// of order zero. It does not check the warm starts of rows that are not Valid.
func (c *Call) Serves() bool {
	o, d := &c.Job.Options, &c.Derivative
	q := o.Query.Info()
	if !c.Reported && d.Mode == batch.ZerothDerivative {
		return false
	}
	return (q.SignedDistance || o.Query == batch.Growth) && !q.Boolean() && (c.Valid || o.WarmStart == nil)
}

// Samples are estimates of order zero of rows: the samples from First on, Count of each row, at other poses of B. Pair
// r·Count + s, and its answer, are those of sample s of row r.
type Samples struct {
	First, Count int
	Seed         uint64
	Epsilon      float64

	// Of rows: their numbers in the noise, sizes, poses of B, [3] and [4], and answers, [10].
	Number                       []uint64
	Size, Position, Rotation, At []float64

	Noise   []float64 // [rows,6,Stride]
	Pairs   *batch.Pairs
	Answers *batch.Results // in double precision
	Sums    []float64      // [rows,10,6]
}

// Stride is Count rounded up to full vectors.
func (s *Samples) Stride() int { return padded(s.Count) }

// align is DERIVE_ALIGN of api.h, the lanes of the longest vectors.
const align = 8

// padded is n rounded up to full vectors.
func padded(n int) int { return (n + align - 1) / align * align }

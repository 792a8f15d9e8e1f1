package lanes

import "clearance/batch"

// Block is the largest number of rows of a [Solver.Run].
const Block = 256

// Call is a batch of answers to differentiate.
type Call struct {
	Job     *batch.Job
	First   int            // row 0 of the answers is this row of the job
	Answers *batch.Results // with distance, normal, witnesses and status

	// Gumbel asks for derivatives smoothed by Gumbel noise of the length Epsilon, 0 for the default, over all
	// vertices; else they are exact.
	Gumbel  bool
	Epsilon float64

	// Variant is one of [Variants], or "" for the one that the environment or the processor chooses.
	Variant string

	// The derivatives to compute; each may be nil.
	Out                   *batch.Results // columns of derivatives
	Cotangents, Gradients []float64      // [N,10], [N,12]: cotangents times the Jacobians
	Twists, Tangents      []float64      // [N,12], [N,10]: the Jacobians times twists

	// OfBlock says that Gradients are those of the rows of a [Solver.Run] alone, [Block,12], each Run from row 0 on.
	OfBlock bool
}

// Serves reports whether the kernel supports a job: it has signed distances alone.
func Serves(job *batch.Job) bool {
	q := job.Options.Query.Info()
	return q.SignedDistance && !q.Boolean() && job.Options.WarmStart == nil
}

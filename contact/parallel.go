package contact

import (
	"context"
	"fmt"
	"iter"

	"clearance/internal/fault"
)

// worldChunk is the number of worlds that a worker takes at a time, so that few wait for a slow one.
const worldChunk = 16

// inParallel calls f for 0 to n-1 by so many workers, 0 to workers-1, each of which takes a chunk at a time. A context
// that ends stops it between chunks. A panic of f ends the call with an error in place of the process.
func inParallel(ctx context.Context, workers, n, chunk int, f func(worker, i int)) error {
	return inChunks(ctx, workers, n, chunk, func(worker, lo, hi int) {
		for i := lo; i < hi; i++ {
			f(worker, i)
		}
	})
}

// inChunks is inParallel with a call for each chunk, lo to hi-1.
func inChunks(ctx context.Context, workers, n, chunk int, f func(worker, lo, hi int)) error {
	return fault.Blocks(ctx, workers, n, chunk, func(worker int, chunks iter.Seq2[int, int]) {
		for lo, hi := range chunks {
			f(worker, lo, hi)
		}
	})
}

// recovered makes an error of a panic. It must be deferred by itself.
func recovered(err *error) {
	if p := recover(); p != nil {
		*err = fmt.Errorf("contact: panic: %v", p)
	}
}

package verify

import (
	"context"
	"iter"
	"sync"

	"clearance/internal/fault"
)

// inBlocks calls check(i) for every i in [0, n), block by block on several goroutines. For
// each goroutine begin returns a check function and a function that reports its results.
// Calls of the latter, and those of progress with the rows of a block, do not overlap. A
// cancelled context ends inBlocks between blocks. A panic ends it with an error in place of
// the process, so that callers can remove what is not complete.
func inBlocks(ctx context.Context, n, block, workers int, progress func(rows int),
	begin func() (check func(i int), handIn func())) error {
	var mu sync.Mutex
	alone := func(f func()) {
		mu.Lock()
		defer mu.Unlock()
		f()
	}
	return fault.Blocks(ctx, workers, n, block, func(_ int, blocks iter.Seq2[int, int]) {
		check, handIn := begin()
		for lo, hi := range blocks {
			for i := lo; i < hi && ctx.Err() == nil; i++ {
				check(i)
			}
			if progress != nil {
				alone(func() { progress(hi - lo) })
			}
		}
		alone(handIn)
	})
}

package verify

import (
	"context"
	"sync"
	"sync/atomic"

	"clearance/internal/meter"
)

// inBlocks calls check(i) for every i in [0, n), block by block on several goroutines. For
// each goroutine begin returns a check function and a function that reports its results.
// Calls of the latter, and those of progress with the rows of a block, do not overlap. A
// cancelled context ends inBlocks between blocks.
func inBlocks(ctx context.Context, n, block, workers int, progress func(rows int),
	begin func() (check func(i int), handIn func())) error {
	var next atomic.Int64
	var mu sync.Mutex
	var group sync.WaitGroup
	for range min(workers, (n+block-1)/block) {
		group.Go(func() {
			defer meter.Worker().End()
			check, handIn := begin()
			for ctx.Err() == nil {
				hi := int(next.Add(int64(block)))
				lo := hi - block
				if lo >= n {
					break
				}
				hi = min(hi, n)
				for i := lo; i < hi && ctx.Err() == nil; i++ {
					check(i)
				}
				if progress != nil {
					mu.Lock()
					progress(hi - lo)
					mu.Unlock()
				}
			}
			mu.Lock()
			defer mu.Unlock()
			handIn()
		})
	}
	group.Wait()
	return ctx.Err()
}

package verify

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"

	"clearance/internal/meter"
)

// inBlocks calls check(i) for every i in [0, n), block by block on several goroutines. For
// each goroutine begin returns a check function and a function that reports its results.
// Calls of the latter, and those of progress with the rows of a block, do not overlap. A
// cancelled context ends inBlocks between blocks. A panic ends it with an error in place of
// the process, so that callers can remove what is not complete.
func inBlocks(ctx context.Context, n, block, workers int, progress func(rows int),
	begin func() (check func(i int), handIn func())) error {
	var next atomic.Int64
	var mu sync.Mutex
	var group sync.WaitGroup
	var failed atomic.Pointer[error]
	alone := func(f func()) {
		mu.Lock()
		defer mu.Unlock()
		f()
	}
	for range min(workers, (n+block-1)/block) {
		group.Go(func() {
			defer meter.Worker().End()
			defer func() {
				if p := recover(); p != nil {
					err := fmt.Errorf("verify: panic: %v", p)
					failed.CompareAndSwap(nil, &err)
				}
			}()
			check, handIn := begin()
			for ctx.Err() == nil && failed.Load() == nil {
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
					alone(func() { progress(hi - lo) })
				}
			}
			alone(handIn)
		})
	}
	group.Wait()
	if err := failed.Load(); err != nil {
		return *err
	}
	return ctx.Err()
}

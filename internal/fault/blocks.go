package fault

import (
	"context"
	"iter"
	"sync"
	"sync/atomic"

	"clearance/internal/meter"
)

// Blocks has workers, numbered from 0, share the rows 0 to n-1. work is called for each worker, on a goroutine of its
// own unless there is only one, and ranges over the blocks of rows lo to hi-1 that the worker takes, one at a time.
// There are no more of them once the context has ended or a worker has panicked. Blocks returns the panic or the error
// of the context.
func Blocks(ctx context.Context, workers, n, block int, work func(worker int, blocks iter.Seq2[int, int])) error {
	var next atomic.Int64
	var panics Keeper
	blocks := func(yield func(lo, hi int) bool) {
		for ctx.Err() == nil && !panics.Kept() {
			lo := int(next.Add(int64(block))) - block
			if lo >= n || !yield(lo, min(lo+block, n)) {
				return
			}
		}
	}
	one := func(worker int) {
		defer meter.Worker().End()
		defer panics.Keep()
		work(worker, blocks)
	}
	if workers = min(workers, (n+block-1)/block); workers == 1 {
		one(0)
	} else {
		var group sync.WaitGroup
		for worker := range workers {
			group.Go(func() { one(worker) })
		}
		group.Wait()
	}
	if p := panics.first.Load(); p != nil {
		return p
	}
	return ctx.Err()
}

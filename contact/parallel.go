package contact

import (
	"context"
	"sync"
	"sync/atomic"
)

// worldChunk is the number of worlds that a worker takes at a time, so that few wait for a slow one.
const worldChunk = 16

// inParallel calls f for worlds 0 to n-1 by so many workers, 0 to workers-1, each of which has one world at a time. A
// context that ends stops it between chunks.
func inParallel(ctx context.Context, workers, n int, f func(worker, world int)) {
	var next atomic.Int64
	var wait sync.WaitGroup
	for k := range workers {
		wait.Go(func() {
			for ctx.Err() == nil {
				lo := int(next.Add(worldChunk)) - worldChunk
				if lo >= n {
					return
				}
				for w := lo; w < min(lo+worldChunk, n); w++ {
					f(k, w)
				}
			}
		})
	}
	wait.Wait()
}

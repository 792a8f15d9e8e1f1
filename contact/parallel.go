package contact

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
)

// worldChunk is the number of worlds that a worker takes at a time, so that few wait for a slow one.
const worldChunk = 16

// inParallel calls f for 0 to n-1 by so many workers, 0 to workers-1, each of which takes a chunk at a time. A context
// that ends stops it between chunks. A panic of f ends the call with an error in place of the process.
func inParallel(ctx context.Context, workers, n, chunk int, f func(worker, i int)) error {
	var next atomic.Int64
	var wait sync.WaitGroup
	var failed atomic.Pointer[error]
	for k := range workers {
		wait.Go(func() {
			var err error
			defer func() {
				if err != nil {
					failed.CompareAndSwap(nil, &err)
				}
			}()
			defer recovered(&err)
			for ctx.Err() == nil && failed.Load() == nil {
				lo := int(next.Add(int64(chunk))) - chunk
				if lo >= n {
					return
				}
				for i := lo; i < min(lo+chunk, n); i++ {
					f(k, i)
				}
			}
		})
	}
	wait.Wait()
	if err := failed.Load(); err != nil {
		return *err
	}
	return ctx.Err()
}

// recovered makes an error of a panic. It must be deferred by itself.
func recovered(err *error) {
	if p := recover(); p != nil {
		*err = fmt.Errorf("contact: panic: %v", p)
	}
}

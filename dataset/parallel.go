package dataset

import (
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"

	"clearance/internal/meter"
)

// partBytes is about what a worker reads, writes or encodes at a time: small beside a chunk of rows, so that all
// workers end together, and large beside a system call.
const partBytes = 1 << 18

// workersOr is the number of workers to use where n are asked for, and 0 stands for one per processor.
func workersOr(n int) int {
	if n > 0 {
		return n
	}
	return runtime.GOMAXPROCS(0)
}

// parallel calls f(0) to f(n-1) by at most so many workers and waits for them. Calls begin in order; after an error no
// further one begins. It returns the error of the lowest index, which does not depend on the number of workers. A panic
// is an error.
func parallel(workers, n int, f func(i int) error) error {
	call := func(i int) (err error) {
		defer caught(&err)
		return f(i)
	}
	if workers = min(workers, n); workers <= 1 {
		if n > 1 {
			defer meter.Worker().End()
		}
		for i := range n {
			if err := call(i); err != nil {
				return err
			}
		}
		return nil
	}
	var next, failed atomic.Int64
	failed.Store(int64(n))
	errs := make([]error, workers)
	lowest := make([]int, workers)
	var all sync.WaitGroup
	for w := range workers {
		all.Go(func() {
			defer meter.Worker().End()
			for failed.Load() == int64(n) {
				i := int(next.Add(1) - 1)
				if i >= n {
					return
				}
				if err := call(i); err != nil {
					errs[w], lowest[w] = err, i
					failed.Store(int64(i))
					return
				}
			}
		})
	}
	all.Wait()
	first := n
	var err error
	for w, e := range errs {
		if e != nil && lowest[w] < first {
			first, err = lowest[w], e
		}
	}
	return err
}

// caught converts a panic, which the Parquet library raises on some failed writes, to an error.
func caught(err *error) {
	if v := recover(); v != nil {
		if e, ok := v.(error); ok {
			*err = e
		} else {
			*err = fmt.Errorf("%v", v)
		}
	}
}

package sweep

import (
	"sync"
	"sync/atomic"

	"clearance/internal/meter"
)

// minParallel is the number of rows from which on goroutines are worth their start.
const minParallel = 256

// parallel calls f for 0 to n−1 on the goroutines of the options.
func (r *runner) parallel(n int, f func(i int)) {
	if r.o.Workers <= 1 || n < minParallel {
		if n >= minParallel {
			defer meter.Worker().End()
		}
		for i := range n {
			f(i)
		}
		return
	}
	var next atomic.Int64
	var wg sync.WaitGroup
	for range r.o.Workers {
		wg.Go(func() {
			defer meter.Worker().End()
			const block = minParallel / 4
			for {
				lo := int(next.Add(block)) - block
				if lo >= n {
					return
				}
				for i := lo; i < min(lo+block, n); i++ {
					f(i)
				}
			}
		})
	}
	wg.Wait()
}

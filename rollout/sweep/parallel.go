package sweep

import (
	"sync"
	"sync/atomic"

	"clearance/internal/meter"
)

const (
	// blockRows is the number of rows that a worker takes at a time.
	blockRows = 32

	// minParallel is the number of rows from which on goroutines are worth their start.
	minParallel = 4 * blockRows
)

// blocksOf is the number of blocks of n rows.
func blocksOf(n int) int { return (n + blockRows - 1) / blockRows }

// parallel calls f for the blocks of n rows on the goroutines of the options.
func (r *Runner) parallel(n int, f func(lo, hi int)) {
	var next atomic.Int64
	work := func() {
		for lo := int(next.Add(blockRows)) - blockRows; lo < n; lo = int(next.Add(blockRows)) - blockRows {
			f(lo, min(lo+blockRows, n))
		}
	}
	if n < minParallel {
		work()
		return
	}
	measured := func() {
		defer meter.Worker().End()
		work()
	}
	var others sync.WaitGroup
	for range min(r.o.Workers, blocksOf(n)) - 1 {
		others.Go(measured)
	}
	measured()
	others.Wait()
}

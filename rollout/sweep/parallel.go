package sweep

import (
	"sync"
	"sync/atomic"

	"clearance/internal/fault"
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

// parallel calls f for the blocks of n rows on the goroutines of the options. A panic of f is raised on this goroutine,
// when no other works on.
func (r *Runner) parallel(n int, f func(lo, hi int)) {
	var next atomic.Int64
	var panics fault.Keeper
	work := func() {
		defer panics.Keep()
		for !panics.Kept() {
			lo := int(next.Add(blockRows)) - blockRows
			if lo >= n {
				return
			}
			f(lo, min(lo+blockRows, n))
		}
	}
	if n < minParallel {
		work()
		panics.Raise()
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
	panics.Raise()
}

package engine

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"sync"
)

// blockRows is the number of rows that one goroutine of the host takes at a time.
const blockRows = 4096

// blockwise is work on rows that can be done block by block. A block begins at a multiple
// of blockRows.
type blockwise interface {
	block(lo, hi int) error
}

// parallel does work on [0, n), on all processors if there is enough of it. It returns the
// first error; a panic is one. It does not allocate for one block.
func parallel(n int, w blockwise) error {
	blocks := (n + blockRows - 1) / blockRows
	workers := min(runtime.GOMAXPROCS(0), blocks)
	if workers > 1 {
		return spread(n, blocks, workers, w)
	}
	for lo := 0; lo < n; lo += blockRows {
		if err := guarded(w, lo, min(lo+blockRows, n)); err != nil {
			return err
		}
	}
	return nil
}

// spread is parallel with several workers.
func spread(n, blocks, workers int, w blockwise) error {
	var mu sync.Mutex
	var first error
	next := 0
	take := func() (int, bool) {
		mu.Lock()
		defer mu.Unlock()
		if next == blocks || first != nil {
			return 0, false
		}
		next++
		return next - 1, true
	}
	var wg sync.WaitGroup
	for range workers {
		wg.Go(func() {
			for k, ok := take(); ok; k, ok = take() {
				if err := guarded(w, k*blockRows, min((k+1)*blockRows, n)); err != nil {
					mu.Lock()
					if first == nil {
						first = err
					}
					mu.Unlock()
				}
			}
		})
	}
	wg.Wait()
	return first
}

func guarded(w blockwise, lo, hi int) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("engine: panic: %v\n%s", p, debug.Stack())
		}
	}()
	return w.block(lo, hi)
}

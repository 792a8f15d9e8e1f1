package engine

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"sync"
)

// blockRows is the number of rows that one goroutine of the host takes at a time.
const blockRows = 4096

// parallel calls f for blocks of [0, n), on all processors if there is work for them. It
// returns the first error; a panic is one.
func parallel(n int, f func(lo, hi int) error) error {
	blocks := (n + blockRows - 1) / blockRows
	workers := min(runtime.GOMAXPROCS(0), blocks)
	if workers <= 1 {
		return guarded(f, 0, n)
	}
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
				if err := guarded(f, k*blockRows, min((k+1)*blockRows, n)); err != nil {
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

func guarded(f func(lo, hi int) error, lo, hi int) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("engine: panic: %v\n%s", p, debug.Stack())
		}
	}()
	return f(lo, hi)
}

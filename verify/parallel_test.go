package verify

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
)

// A panic of a worker, or of what is told of its progress, is an error, and nobody waits for it.
func TestPanicOfAWorker(t *testing.T) {
	const n = 10_000
	for _, workers := range []int{1, 2, 7} {
		var checked atomic.Int64
		begin := func() (func(int), func()) {
			return func(i int) {
				if i == 700 {
					panic("deliberate")
				}
				checked.Add(1)
			}, func() {}
		}
		err := inBlocks(context.Background(), n, 64, workers, nil, begin)
		if err == nil || !strings.Contains(err.Error(), "deliberate") {
			t.Errorf("%d workers: %v", workers, err)
		}
		if checked.Load() == n {
			t.Errorf("%d workers: every row was checked", workers)
		}
		quiet := func() (func(int), func()) { return func(int) {}, func() {} }
		err = inBlocks(context.Background(), n, 64, workers, func(int) { panic("deliberate") }, quiet)
		if err == nil || !strings.Contains(err.Error(), "deliberate") {
			t.Errorf("%d workers, progress: %v", workers, err)
		}
	}
}

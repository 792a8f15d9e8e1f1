package fault_test

import (
	"context"
	"errors"
	"iter"
	"sync/atomic"
	"testing"

	"clearance/internal/fault"
)

// TestBlocks: every row is in one block, whatever the workers, and workers have numbers below theirs.
func TestBlocks(t *testing.T) {
	for _, workers := range []int{1, 3, 64} {
		for _, n := range []int{0, 1, 15, 16, 17, 1000} {
			seen := make([]atomic.Int32, n)
			err := fault.Blocks(t.Context(), workers, n, 16, func(worker int, blocks iter.Seq2[int, int]) {
				for lo, hi := range blocks {
					if worker < 0 || worker >= workers || hi-lo > 16 || hi-lo < 1 {
						t.Errorf("worker %d of %d has rows %d to %d", worker, workers, lo, hi)
					}
					for i := lo; i < hi; i++ {
						seen[i].Add(1)
					}
				}
			})
			if err != nil {
				t.Fatal(err)
			}
			for i := range seen {
				if k := seen[i].Load(); k != 1 {
					t.Fatalf("%d workers: row %d of %d was taken %d times", workers, i, n, k)
				}
			}
		}
	}
}

// TestBlocksEnd: a panic and a context that ends are the error, and a worker takes no block after either.
func TestBlocksEnd(t *testing.T) {
	for _, workers := range []int{1, 3} {
		for _, panics := range []bool{true, false} {
			ctx, cancel := context.WithCancel(t.Context())
			var after atomic.Int32 // blocks of the worker that ended the call
			err := fault.Blocks(ctx, workers, 100, 1, func(_ int, blocks iter.Seq2[int, int]) {
				ended := false
				for lo := range blocks {
					if ended {
						after.Add(1)
					}
					if ended = lo == 20; ended && panics {
						panic("lost")
					} else if ended {
						cancel()
					}
				}
			})
			var p *fault.Panic
			if panics && (!errors.As(err, &p) || p.Value != "lost") || !panics && !errors.Is(err, context.Canceled) {
				t.Errorf("%d workers, panic %t: error %v", workers, panics, err)
			}
			if after.Load() != 0 {
				t.Errorf("%d workers, panic %t: %d blocks were taken after the end", workers, panics, after.Load())
			}
			cancel()
		}
	}
}

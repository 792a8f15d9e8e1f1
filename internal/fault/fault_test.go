package fault_test

import (
	"context"
	"errors"
	"iter"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"clearance/internal/fault"
)

// call runs f on workers, and its own on the goroutine of the caller.
func call(k *fault.Keeper, f func(worker int), own func()) (err error) {
	defer fault.Recover(&err)
	var wg sync.WaitGroup
	for i := range 3 {
		wg.Go(func() {
			defer k.Keep()
			f(i)
		})
	}
	wg.Wait()
	own()
	k.Raise()
	return nil
}

func TestWorkers(t *testing.T) {
	var k fault.Keeper
	nothing := func() {}
	err := call(&k, func(worker int) {
		if worker == 1 {
			panic("lost")
		}
	}, nothing)
	var p *fault.Panic
	if !errors.As(err, &p) || p.Value != "lost" || !strings.Contains(string(p.Stack), "TestWorkers") {
		t.Fatalf("error %v, want the panic with its stack", err)
	}
	if err := call(&k, func(int) {}, nothing); err != nil {
		t.Errorf("the next call has the error %v", err)
	}
	err = call(&k, func(worker int) { // workers of workers
		if err := call(new(fault.Keeper), func(int) { panic("deeper") }, nothing); worker == 0 && err != nil {
			panic(err)
		}
	}, func() {
		if !k.Kept() {
			t.Error("the panic is not kept")
		}
	})
	if !errors.As(err, &p) || !strings.Contains(err.Error(), "panic: deeper") {
		t.Errorf("error %v, want the panic of the inner worker", err)
	}
}

// TestCaller: a panic that is not of a worker goes on.
func TestCaller(t *testing.T) {
	defer func() {
		if p := recover(); p != "mine" {
			t.Errorf("recovered %v", p)
		}
	}()
	err := call(new(fault.Keeper), func(int) {}, func() { panic("mine") })
	t.Errorf("error %v, want a panic", err)
}

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

// TestTeamHandsOutPieces: while a worker is held up in a piece, the other one does all of the rest.
func TestTeamHandsOutPieces(t *testing.T) {
	const pieces = 40
	began, rest := make(chan struct{}), make(chan struct{})
	var done [2]int
	fault.NewTeam(2).Run(pieces, func(worker, _ int) {
		done[worker]++
		switch {
		case worker == 1:
			close(began)
			<-rest
		case done[0] == 1:
			<-began
		case done[0] == pieces-1:
			close(rest)
		}
	})
	if done != [2]int{pieces - 1, 1} {
		t.Errorf("pieces by worker: %v", done)
	}
}

// TestTeamWaitsAfterPanic: a panic on the caller's goroutine leaves run only when the other goroutines have ended.
func TestTeamWaitsAfterPanic(t *testing.T) {
	started, ended := make(chan struct{}), false
	defer func() {
		if recover() == nil || !ended {
			t.Errorf("the panic left, and the other goroutine had ended: %t", ended)
		}
	}()
	fault.NewTeam(2).Run(2, func(worker, i int) {
		if worker == 0 {
			<-started
			panic("a fault")
		}
		close(started)
		time.Sleep(20 * time.Millisecond)
		ended = true
	})
}

// TestEach: every index is called, an error or a panic ends the call, and the error is that of the lowest index.
func TestEach(t *testing.T) {
	bad, worse := errors.New("bad"), errors.New("worse")
	for _, workers := range []int{0, 1, 3, 50} {
		for _, n := range []int{0, 1, 40} {
			var calls atomic.Int32
			err := fault.Each(t.Context(), workers, n, func(int) error { calls.Add(1); return nil })
			if err != nil || int(calls.Load()) != n {
				t.Errorf("%d workers: %d calls of %d, error %v", workers, calls.Load(), n, err)
			}
		}
		err := fault.Each(t.Context(), workers, 40, func(i int) error {
			switch {
			case i == 7:
				time.Sleep(5 * time.Millisecond)
				return bad
			case i > 7:
				return worse
			}
			return nil
		})
		if err != bad {
			t.Errorf("%d workers: error %v, want that of the lowest index", workers, err)
		}
		var p *fault.Panic
		if err := fault.Each(t.Context(), workers, 40, func(i int) error { panic(i) }); !errors.As(err, &p) {
			t.Errorf("%d workers: error %v, want the panic", workers, err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		if err := fault.Each(ctx, workers, 1<<20, func(int) error { cancel(); return nil }); err != ctx.Err() {
			t.Errorf("%d workers: error %v, want that of the context", workers, err)
		}
	}
}

// Package fault has workers share the pieces of a call: the one loop over workers of the module. Their CPU time counts
// as that of workers, and no piece begins once the context has ended or a worker has panicked. A panic becomes the
// error of the call; one that nobody recovers on a goroutine of its own would end the process.
//
// [Each] calls a function for every piece and returns the first error, [Blocks] hands blocks of rows to workers with
// memory of their own, and a [Team] is kept between calls, so that they allocate nothing. A pipeline starts the
// goroutines of its stages itself: each defers [Keeper.Keep], the goroutine that waits for them calls [Keeper.Raise],
// and a function whose error stands for the call defers [Recover]. Panics of the caller's own functions, such as a
// function that takes the progress, go on.
package fault

import (
	"context"
	"fmt"
	"iter"
	"runtime/debug"
	"sync"
	"sync/atomic"

	"clearance/internal/meter"
)

// A Team is workers, numbered from 0, that share the pieces of one call at a time. The caller is the first of them.
type Team struct {
	starts []func() // of each worker but the first
	group  sync.WaitGroup

	ctx     context.Context // that ends the call, nil for none
	n, size int             // n rows, of which a piece has so many
	next    atomic.Int64    // row to hand out
	stopped atomic.Bool     // no further piece begins
	panics  Keeper

	do   func(worker, i int)                          // with each piece of one row, or
	work func(worker int, blocks iter.Seq2[int, int]) // with all pieces of a worker
}

// NewTeam returns a team of so many workers.
func NewTeam(workers int) *Team {
	t := &Team{size: 1}
	for worker := 1; worker < workers; worker++ {
		t.starts = append(t.starts, func() {
			defer t.group.Done()
			t.loop(worker)
		})
	}
	return t
}

// Run calls do(worker, i) for i from 0 to n-1, in rising order on each worker. A panic of do is raised on this
// goroutine, when no other works on. It does not allocate.
func (t *Team) Run(n int, do func(worker, i int)) {
	t.n, t.do = n, do
	t.next.Store(0)
	for _, start := range t.starts[:max(0, min(n-1, len(t.starts)))] {
		t.group.Add(1)
		go start()
	}
	t.loop(0)
	t.group.Wait()
	t.do = nil
	t.panics.Raise()
}

// loop is the loop of a worker.
func (t *Team) loop(worker int) {
	defer meter.Worker().End()
	defer t.panics.Keep()
	if t.work != nil {
		t.work(worker, t.blocks)
		return
	}
	for lo, _, ok := t.take(); ok; lo, _, ok = t.take() {
		t.do(worker, lo)
	}
}

// take hands out the next piece, or says that there is none.
func (t *Team) take() (lo, hi int, ok bool) {
	if t.panics.Kept() || t.stopped.Load() || t.ctx != nil && t.ctx.Err() != nil {
		return 0, 0, false
	}
	lo = int(t.next.Add(int64(t.size))) - t.size
	return lo, min(lo+t.size, t.n), lo < t.n
}

// blocks are the pieces that a worker takes.
func (t *Team) blocks(yield func(lo, hi int) bool) {
	for lo, hi, ok := t.take(); ok && yield(lo, hi); lo, hi, ok = t.take() {
	}
}

// all has workers share the rows, each on a goroutine of its own unless there is only one: a worker of another team may
// call it. It returns the panic of a worker or the error of the context.
func (t *Team) all(workers int) error {
	if workers = min(max(workers, 1), (t.n+t.size-1)/t.size); workers == 1 {
		t.loop(0)
	} else {
		for worker := range workers {
			t.group.Go(func() { t.loop(worker) })
		}
		t.group.Wait()
	}
	if p := t.panics.first.Load(); p != nil {
		return p
	}
	if t.ctx != nil {
		return t.ctx.Err()
	}
	return nil
}

// Blocks has workers share the rows 0 to n-1. work is called for each worker, and ranges over the blocks of rows lo to
// hi-1 that the worker takes, one at a time. It returns the panic of a worker or the error of the context.
func Blocks(ctx context.Context, workers, n, block int, work func(worker int, blocks iter.Seq2[int, int])) error {
	return (&Team{ctx: ctx, n: n, size: block, work: work}).all(workers)
}

// Each calls do(0) to do(n-1) by at most so many workers. Calls begin in order, and no further one begins after an
// error. It returns the error of the lowest index, which does not depend on the number of workers; else the panic of a
// worker or the error of the context.
func Each(ctx context.Context, workers, n int, do func(i int) error) error {
	t := &Team{ctx: ctx, n: n, size: 1}
	var mu sync.Mutex
	var first error
	lowest := n
	t.do = func(_, i int) {
		if err := do(i); err != nil {
			t.stopped.Store(true)
			mu.Lock()
			defer mu.Unlock()
			if i < lowest {
				first, lowest = err, i
			}
		}
	}
	if err := t.all(workers); first == nil {
		return err
	}
	return first
}

// Panic is a panic of a worker.
type Panic struct {
	Value any
	Stack []byte // of the worker
}

func (p *Panic) Error() string { return fmt.Sprintf("panic: %v", p.Value) }

// Keeper keeps the first panic of the workers of a call. The zero value is ready; it may be used again after Raise.
type Keeper struct{ first atomic.Pointer[Panic] }

// Keep ends a panic of the worker that defers it, and keeps it if it is the first.
func (k *Keeper) Keep() {
	switch v := recover().(type) {
	case nil:
	case *Panic: // of workers of this worker
		k.first.CompareAndSwap(nil, v)
	default:
		k.first.CompareAndSwap(nil, &Panic{v, debug.Stack()})
	}
}

// Kept reports whether a worker has panicked, so that others stop.
func (k *Keeper) Kept() bool { return k.first.Load() != nil }

// Raise panics with the panic that was kept, if there is one.
func (k *Keeper) Raise() {
	if p := k.first.Swap(nil); p != nil {
		panic(p)
	}
}

// Recover makes the panic of a worker the error of the function that defers it.
func Recover(err *error) {
	switch v := recover().(type) {
	case nil:
	case *Panic:
		*err = v
	default:
		panic(v)
	}
}

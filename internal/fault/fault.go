// Package fault carries panics of workers to the goroutine that waits for them, where they become the error of the
// call. A panic that nobody recovers on a goroutine of its own would end the process.
//
// [Blocks] has workers share rows, and returns their panic as its error. Where workers are run otherwise, each of them
// defers [Keeper.Keep], the goroutine that waits for them calls [Keeper.Raise] afterwards, and a function whose error
// stands for the call defers [Recover]. Panics of the caller's own functions, such as a function that takes the
// progress, go on.
package fault

import (
	"fmt"
	"runtime/debug"
	"sync/atomic"
)

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

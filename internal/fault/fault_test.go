package fault_test

import (
	"errors"
	"strings"
	"sync"
	"testing"

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

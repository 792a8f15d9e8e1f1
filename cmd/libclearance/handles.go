package main

import (
	"fmt"
	"sync"
	"sync/atomic"
)

// lastHandle is the last number given out. Numbers are never used again, in any table, so that a handle that was
// given back, or is of another type, is not open.
var lastHandle atomic.Uint64

// handles are the open objects of a type, by number.
type handles[T any] struct {
	what string // in messages
	mu   sync.RWMutex
	open map[uint64]T
}

// put returns the number of a new object.
func (h *handles[T]) put(v T) uint64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.open == nil {
		h.open = map[uint64]T{}
	}
	n := lastHandle.Add(1)
	h.open[n] = v
	return n
}

// get returns an open object.
func (h *handles[T]) get(n uint64) (T, error) {
	h.mu.RLock()
	defer h.mu.RUnlock()
	v, ok := h.open[n]
	if !ok {
		return v, h.missing()
	}
	return v, nil
}

// take returns an open object and gives its number back.
func (h *handles[T]) take(n uint64) (T, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	v, ok := h.open[n]
	if !ok {
		return v, h.missing()
	}
	delete(h.open, n)
	return v, nil
}

func (h *handles[T]) missing() error {
	return failure{codeClosed, fmt.Errorf("the %s is not open", h.what)}
}

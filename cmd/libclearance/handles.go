package main

import (
	"crypto/rand"
	"encoding/binary"
	"fmt"
	"sync"
	"sync/atomic"
)

// lastHandle counts the numbers given out, from a random one on.
var lastHandle = func() *atomic.Uint64 {
	n := new(atomic.Uint64)
	var seed [8]byte
	rand.Read(seed[:]) // never fails
	n.Store(binary.NativeEndian.Uint64(seed[:]))
	return n
}()

// newHandle returns a number that no table has used, and that is not 0. Numbers are never used again, so that a handle
// that was given back, or is of another type, is not open. They are scattered by a bijection, the finalizer of
// SplitMix64, from a start that differs between processes: a number of another process, or any other one, opens
// nothing.
func newHandle() uint64 {
	for {
		n := lastHandle.Add(1)
		n = (n ^ n>>30) * 0xbf58476d1ce4e5b9
		n = (n ^ n>>27) * 0x94d049bb133111eb
		if n ^= n >> 31; n != 0 {
			return n
		}
	}
}

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
	n := newHandle()
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

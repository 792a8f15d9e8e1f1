// Libclearance is the C interface of package clearance, for other languages: a shared library whose functions, structs
// and rules of ownership clearance.h states. The Python package calls it.
//
//	go build -buildmode=c-shared -ldflags "-extldflags -Wl,--version-script=cmd/libclearance/exports.map" \
//		-o libclearance.so ./cmd/libclearance
//
// Every exported function checks its arguments, and a panic inside is an error of the call. Handles are numbers, so
// that one that was given back is an error and not a crash.
package main

//go:generate go run ../genlayout -header clearance.h -native ../../python/src/clearance/_abi.py

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"sync/atomic"

	"clearance/batch"
	"clearance/dispatch"
)

func main() {
	fmt.Fprintln(os.Stderr, "libclearance is a library: build it with -buildmode=c-shared")
	os.Exit(2)
}

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

// code is a clearance_code; TestCodes compares both lists.
type code int32

const (
	codeOK code = iota
	codeRunning
	codeArgument
	codeFailed
	codeCancelled
	codeClosed
	codeNoBackend
	codeRefused
	codeFile
	codeStill
)

// failure is an error with its code.
type failure struct {
	code code
	err  error
}

func (f failure) Error() string { return f.err.Error() }
func (f failure) Unwrap() error { return f.err }

// argument returns the error of an invalid argument.
func argument(format string, args ...any) error {
	return failure{codeArgument, fmt.Errorf(format, args...)}
}

// codeOf returns the code of an error.
func codeOf(err error) code {
	var f failure
	switch {
	case err == nil:
		return codeOK
	case errors.As(err, &f):
		return f.code
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return codeCancelled
	case errors.Is(err, dispatch.ErrClosed), errors.Is(err, batch.ErrClosed):
		return codeClosed
	case errors.Is(err, batch.ErrNotAvailable), errors.Is(err, dispatch.ErrNoBackend) &&
		strings.Contains(err.Error(), batch.ErrNotAvailable.Error()): // the reason of each back end is text
		return codeRefused
	case errors.Is(err, dispatch.ErrNoBackend):
		return codeNoBackend
	}
	return codeFailed
}

// message is the text of an error, without the name of the package that made it.
func message(err error) string {
	text := err.Error()
	for _, name := range []string{"batch: ", "dispatch: ", "dataset: ", "engine: ", "geom: "} {
		text = strings.TrimPrefix(text, name)
	}
	return text
}

// recovered makes an error of a panic.
func recovered(err *error) {
	if p := recover(); p != nil {
		*err = failure{codeFailed, fmt.Errorf("panic: %v", p)}
	}
}

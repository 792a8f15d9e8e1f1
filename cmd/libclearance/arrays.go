package main

// #include "clearance.h"
import "C"

import (
	"math"
	"slices"
	"unsafe"

	"clearance/batch"
	"clearance/internal/memory"
)

// Types of the elements of named arrays that columns of results do not have.
const (
	elementInt32  = 6
	elementInt64  = 7
	elementUint64 = 8
)

// element is the type of an array of T.
func element[T any]() uint32 {
	switch any(*new(T)).(type) {
	case float64:
		return uint32(batch.Float64)
	case uint8:
		return uint32(batch.Uint8)
	case int32:
		return elementInt32
	case int64:
		return elementInt64
	}
	return elementUint64
}

// arrays are the named arrays of a call, in memory of the caller. The first fault is kept.
type arrays struct {
	of    map[string]*C.clearance_array
	taken map[string]bool
	spans []span
	err   error
}

// maxArrays is the largest number of arrays of a call.
const maxArrays = 64

func arraysOf(list *C.clearance_array, count C.int64_t) (*arrays, error) {
	if count < 0 || count > maxArrays || count > 0 && list == nil {
		return nil, argument("%d arrays, want 0 to %d", int64(count), maxArrays)
	}
	a := &arrays{of: map[string]*C.clearance_array{}, taken: map[string]bool{}}
	given := unsafe.Slice(list, int(count))
	for i := range given {
		name := text(given[i].name)
		if a.of[name] != nil {
			return nil, argument("the array %s is given twice", name)
		}
		a.of[name] = &given[i]
	}
	return a, nil
}

func (a *arrays) fail(format string, args ...any) {
	if a.err == nil {
		a.err = argument(format, args...)
	}
}

// numbers returns the array of a name, which has n elements of type T; nil if it is absent.
func numbers[T any](a *arrays, name string, n int, written bool) []T {
	c := a.of[name]
	a.taken[name] = true
	switch {
	case c == nil:
		return nil
	case uint32(c._type) != element[T]():
		a.fail("array %s: elements of the type %d, want %d", name, uint32(c._type), element[T]())
		return nil
	case n < 0 || int64(c.count) != int64(n) || n > 0 && c.data == nil:
		a.fail("array %s: %d numbers, want %d", name, int64(c.count), n)
		return nil
	}
	v := array[T]((*byte)(c.data), n)
	if v == nil {
		v = []T{}
	}
	a.spans = append(a.spans, spanOf(name, v, written))
	return v
}

// length is the number of elements of an array, or 0 if it is absent.
func (a *arrays) length(name string) int {
	c := a.of[name]
	if c == nil {
		return 0
	}
	if c.count < 0 || c.count > 1<<31-1 {
		a.fail("array %s: %d numbers, want 0 to %d", name, int64(c.count), 1<<31-1)
		return 0
	}
	return int(c.count)
}

// needed is numbers of an array that must be there.
func needed[T any](a *arrays, name string, n int, written bool) []T {
	if a.of[name] == nil {
		a.fail("array %s is missing", name)
	}
	return numbers[T](a, name, n, written)
}

// whole and number are arrays of one element, or the default.
func (a *arrays) whole(name string, standard int64) int64 {
	if v := numbers[int64](a, name, 1, false); len(v) == 1 {
		return v[0]
	}
	return standard
}

func (a *arrays) number(name string, standard float64) float64 {
	if v := numbers[float64](a, name, 1, false); len(v) == 1 {
		return v[0]
	}
	return standard
}

// workers is the option of that name.
func (a *arrays) workers() int {
	n := a.whole("workers", 0)
	if err := checkWorkers(n); err != nil && a.err == nil {
		a.err = err
	}
	return int(n)
}

// text is the text of an array of characters, "" if it is absent.
func (a *arrays) text(name string) string {
	return string(numbers[uint8](a, name, a.length(name), false))
}

// size is whole of a count that array lengths are products of.
func (a *arrays) size(name string) int {
	n := a.whole(name, -1)
	if n < 0 || n > 1<<31-1 {
		a.fail("%s: %d, want 0 to %d", name, n, 1<<31-1)
		return -1
	}
	return int(n)
}

// check returns the first fault: also an array that no one has asked for, or that overlaps one that is written.
func (a *arrays) check() error {
	if a.err != nil {
		return a.err
	}
	var unknown []string
	for name := range a.of {
		if !a.taken[name] {
			unknown = append(unknown, name)
		}
	}
	if len(unknown) > 0 {
		slices.Sort(unknown)
		return argument("the call has no arrays %v", unknown)
	}
	return checkOverlap(a.spans)
}

// enumOf is whole of a code of an enumeration.
func enumOf[T ~uint8](a *arrays, name string, names batch.Names[T]) T {
	n := a.whole(name, 0)
	if n < 0 || n >= int64(len(names.List)) {
		a.fail("%s %d, want a code below %d: %s", name, n, len(names.List), names.Table())
		return 0
	}
	return T(n)
}

// maxRows bounds the rows of a call. No array of so many rows fits into an address space, and products with the width
// of a column do not overflow.
const maxRows = 1 << 40

// checkMemory returns an error if a call would take more memory than there is: Go ends the process where memory runs
// out. bytes may be any product of sizes of the caller; within the limit such products are below 2^53.
func checkMemory(what string, bytes float64) error {
	if err := memory.Check(what, bytes); err != nil {
		return failure{codeArgument, err}
	}
	return nil
}

// rowBytes is the memory of a row of the columns of a query.
func rowBytes(o *batch.Options) float64 {
	r := batch.NewResults(batch.BitsPerWord, o)
	total := 0
	for _, s := range spansOf(nil, r) {
		total += int(s.bytes)
	}
	return float64(total) / batch.BitsPerWord
}

// span is the memory of an array of a call.
type span struct {
	name    string
	at      uintptr
	bytes   uintptr
	written bool
}

// spanOf is the memory of an array.
func spanOf[T any](name string, a []T, written bool) span {
	return span{name, uintptr(unsafe.Pointer(unsafe.SliceData(a))), uintptr(len(a)) * unsafe.Sizeof(*new(T)), written}
}

// spansOf appends the memory of the columns of results.
func spansOf(list []span, r *batch.Results) []span {
	for m := r.Columns; m != 0; m &= m - 1 {
		c := m & -m
		v := r.Column(c)
		list = append(list, span{c.Info().Name, uintptr(v.Data()), v.Bytes(), true})
	}
	return list
}

// checkOverlap returns an error if an array that is written shares memory with another one: rows are answered out of
// order, so that inputs would change before they are read.
func checkOverlap(list []span) error {
	for i, a := range list {
		if !a.written || a.bytes == 0 {
			continue
		}
		for j, b := range list {
			if i != j && b.bytes > 0 && b.at < a.at+a.bytes && a.at < b.at+b.bytes {
				return argument("the arrays %s and %s overlap in memory", a.name, b.name)
			}
		}
	}
	return nil
}

// product multiplies sizes of the caller. It returns -1 if one is negative or the product is not an int.
func product(sizes ...int) int {
	n := 1
	for _, s := range sizes {
		if s < 0 || s > 0 && n > math.MaxInt/s {
			return -1
		}
		n *= s
	}
	return n
}

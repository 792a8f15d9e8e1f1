package main

import (
	"math"
	"unsafe"

	"clearance/batch"
	"clearance/internal/memory"
)

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

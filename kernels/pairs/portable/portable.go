//go:build cgo && (race || !noportable)

// Package portable compiles the kernel of distances, intersections and depths with the vector extensions of the
// compiler, for every processor.
package portable

// #cgo CFLAGS: -g1 -std=c11 -Wall
// #cgo !race,!quickkernels CFLAGS: -O3
// #cgo race quickkernels CFLAGS: -O1 -DCLR_GENERIC
// #cgo !amd64,!arm64 LDFLAGS: -lm
// #include "../../shape/api.h"
import "C"

import (
	"unsafe"

	_ "clearance/kernels/isa"
	_ "clearance/kernels/pairs"
	_ "clearance/kernels/shape"
)

// Entry is the kernel, a clr_kernel.
var Entry = unsafe.Pointer(C.clr_run_portable)

//export clr_built_pairs_portable
func clr_built_pairs_portable() {} // see package isa

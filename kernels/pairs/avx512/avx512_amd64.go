//go:build cgo && !race && !noavx512

// Package avx512 compiles the kernel of distances, intersections and depths for AVX-512.
package avx512

// #cgo CFLAGS: -g1 -std=c11 -Wall
// #cgo !race,!quickkernels CFLAGS: -O3
// #cgo race quickkernels CFLAGS: -O1 -DCLR_GENERIC
// #include "../../shape/api.h"
import "C"

import (
	"unsafe"

	_ "clearance/kernels/isa"
	_ "clearance/kernels/pairs"
	_ "clearance/kernels/shape"
)

// Entry is the kernel, a clr_kernel.
var Entry = unsafe.Pointer(C.clr_run_avx512)

//export clr_built_pairs_avx512
func clr_built_pairs_avx512() {} // see package isa

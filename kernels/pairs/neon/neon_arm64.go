//go:build cgo && !race && !noneon

// Package neon compiles the kernel of distances, intersections and depths for NEON.
package neon

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
var Entry = unsafe.Pointer(C.clr_run_neon)

//export clr_built_pairs_neon
func clr_built_pairs_neon() {} // see package isa

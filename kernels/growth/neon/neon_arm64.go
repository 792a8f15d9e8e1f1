//go:build cgo && !race && !noneon

// Package neon compiles the kernel of growth distances for NEON.
package neon

// #cgo CFLAGS: -g1 -std=c11 -Wall
// #cgo !race,!quickkernels CFLAGS: -O3
// #cgo race quickkernels CFLAGS: -O1 -DCLR_GENERIC
// #include "../../shape/api.h"
import "C"

import (
	"unsafe"

	_ "clearance/kernels/growth"
	_ "clearance/kernels/isa"
	_ "clearance/kernels/pairs"
	_ "clearance/kernels/shape"
)

// Entry is the kernel, a clr_kernel.
var Entry = unsafe.Pointer(C.clr_growth_neon)

//export clr_built_growth_neon
func clr_built_growth_neon() {} // see package isa

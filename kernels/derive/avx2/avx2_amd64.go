//go:build cgo && !race && !noavx2

// Package avx2 compiles the kernels of derivatives for AVX2.
package avx2

// #cgo CFLAGS: -g1 -std=c11 -Wall
// #cgo !quickkernels CFLAGS: -O3
// #cgo quickkernels CFLAGS: -O1
// #include "../include/api.h"
// extern const derive_unit clr_derive_avx2;
import "C"

import (
	"unsafe"

	_ "clearance/kernels/derive/include"
	_ "clearance/kernels/isa"
	_ "clearance/kernels/shape"
)

// Unit is the derive_unit of the variant.
var Unit = unsafe.Pointer(&C.clr_derive_avx2)

//export clr_built_derive_avx2
func clr_built_derive_avx2() {} // see package isa

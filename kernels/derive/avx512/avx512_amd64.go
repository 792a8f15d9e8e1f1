//go:build cgo && !race && !noavx512

// Package avx512 compiles the kernels of derivatives for AVX-512.
package avx512

// #cgo CFLAGS: -g1 -std=c11 -Wall
// #cgo !quickkernels CFLAGS: -O3
// #cgo quickkernels CFLAGS: -O1
// #include "../include/api.h"
// extern const derive_unit clr_derive_avx512;
import "C"

import (
	"unsafe"

	_ "clearance/kernels/derive/include"
	_ "clearance/kernels/isa"
	_ "clearance/kernels/shape"
)

// Unit is the derive_unit of the variant.
var Unit = unsafe.Pointer(&C.clr_derive_avx512)

//export clr_built_derive_avx512
func clr_built_derive_avx512() {} // see package isa

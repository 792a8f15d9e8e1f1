//go:build cgo && !race && !noavx512

// Package avx512 compiles the kernels of contacts for AVX-512.
package avx512

// #cgo CFLAGS: -O3 -g1 -std=c11 -Wall
// #cgo LDFLAGS: -lm
// #include "../include/api.h"
// extern const contact_kernels contact_kernels_avx512;
import "C"

import (
	"unsafe"

	_ "clearance/kernels/contact/include"
	_ "clearance/kernels/isa"
	_ "clearance/kernels/shape"
)

// Kernels is the contact_kernels of the variant.
var Kernels = unsafe.Pointer(&C.contact_kernels_avx512)

//export clr_built_contact_avx512
func clr_built_contact_avx512() {} // see package isa

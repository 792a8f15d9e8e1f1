//go:build cgo && !race && !noavx2

// Package avx2 compiles the kernels of contacts for AVX2.
package avx2

// #cgo CFLAGS: -O3 -g1 -std=c11 -Wall
// #cgo LDFLAGS: -lm
// #include "../include/api.h"
// extern const contact_kernels contact_kernels_avx2;
import "C"

import (
	"unsafe"

	_ "clearance/kernels/contact/include"
	_ "clearance/kernels/isa"
	_ "clearance/kernels/shape"
)

// Kernels is the contact_kernels of the variant.
var Kernels = unsafe.Pointer(&C.contact_kernels_avx2)

//export clr_built_contact_avx2
func clr_built_contact_avx2() {} // see package isa

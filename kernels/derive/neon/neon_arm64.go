//go:build cgo && !race && !noneon

// Package neon compiles the kernels of derivatives for NEON.
package neon

// #cgo CFLAGS: -g1 -std=c11 -Wall
// #cgo !quickkernels CFLAGS: -O3
// #cgo quickkernels CFLAGS: -O1
// #include "../include/api.h"
// extern const derive_unit clr_derive_neon;
import "C"

import (
	"unsafe"

	_ "clearance/kernels/derive/include"
	_ "clearance/kernels/isa"
	_ "clearance/kernels/shape"
)

// Unit is the derive_unit of the variant.
var Unit = unsafe.Pointer(&C.clr_derive_neon)

//export clr_built_derive_neon
func clr_built_derive_neon() {} // see package isa

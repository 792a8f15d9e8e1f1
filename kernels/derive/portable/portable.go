//go:build cgo && (race || !noportable)

// Package portable compiles the kernels of derivatives with the vector extensions of the compiler, for every processor.
package portable

// #cgo CFLAGS: -g1 -std=c11 -Wall
// #cgo !race,!quickkernels CFLAGS: -O3
// #cgo race quickkernels CFLAGS: -O1
// #cgo !amd64,!arm64 LDFLAGS: -lm
// #include "../include/api.h"
// extern const derive_unit clr_derive_portable;
import "C"

import (
	"unsafe"

	_ "clearance/kernels/derive/include"
	_ "clearance/kernels/isa"
	_ "clearance/kernels/shape"
)

// Unit is the derive_unit of the variant.
var Unit = unsafe.Pointer(&C.clr_derive_portable)

//export clr_built_derive_portable
func clr_built_derive_portable() {} // see package isa

//go:build cgo && (race || !noportable)

// Package portable compiles the kernels of contacts for every processor.
package portable

// #cgo CFLAGS: -O3 -g1 -std=c11 -Wall
// #cgo LDFLAGS: -lm
// #include "../include/api.h"
// extern const contact_kernels contact_kernels_portable;
import "C"

import (
	"unsafe"

	_ "clearance/kernels/contact/include"
	_ "clearance/kernels/isa"
	_ "clearance/kernels/shape"
)

// Kernels is the contact_kernels of the variant.
var Kernels = unsafe.Pointer(&C.contact_kernels_portable)

//export clr_built_contact_portable
func clr_built_contact_portable() {} // see package isa

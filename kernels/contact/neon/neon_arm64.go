//go:build cgo && !race && !noneon

// Package neon compiles the kernels of contacts for NEON.
package neon

// #cgo CFLAGS: -O3 -g1 -std=c11 -Wall
// #cgo LDFLAGS: -lm
// #include "../include/api.h"
// extern const contact_kernels contact_kernels_neon;
import "C"

import (
	"unsafe"

	_ "clearance/kernels/contact/include"
	_ "clearance/kernels/isa"
	_ "clearance/kernels/shape"
)

// Kernels is the contact_kernels of the variant.
var Kernels = unsafe.Pointer(&C.contact_kernels_neon)

//export clr_built_contact_neon
func clr_built_contact_neon() {} // see package isa

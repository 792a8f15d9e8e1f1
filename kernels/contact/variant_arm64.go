//go:build cgo

package contact

import (
	"clearance/kernels/contact/neon"
	"clearance/kernels/contact/portable"
)

// variants are those of this processor architecture, best first. Every processor of 64-bit ARM has NEON.
var variants = []variant{{"neon", true, neon.Kernels}, {Portable, true, portable.Kernels}}

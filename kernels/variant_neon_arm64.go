//go:build cgo && !race && !noneon

package kernels

import (
	"unsafe"

	growth "clearance/kernels/growth/neon"
	pairs "clearance/kernels/pairs/neon"
)

func init() {
	compiled["neon"] = variant{
		supported: true, // every processor of 64-bit ARM has NEON
		rows:      [kernelCount]unsafe.Pointer{pairs.Entry, growth.Entry},
	}
}

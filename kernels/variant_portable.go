//go:build cgo && (race || !noportable)

package kernels

import (
	"unsafe"

	growth "clearance/kernels/growth/portable"
	pairs "clearance/kernels/pairs/portable"
)

func init() {
	compiled["portable"] = variant{
		supported: true,
		rows:      [kernelCount]unsafe.Pointer{pairs.Entry, growth.Entry},
	}
}

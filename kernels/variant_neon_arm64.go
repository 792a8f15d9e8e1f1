//go:build cgo && !race && !noneon

package kernels

import (
	"unsafe"

	contact "clearance/kernels/contact/neon"
	derive "clearance/kernels/derive/neon"
	growth "clearance/kernels/growth/neon"
	pairs "clearance/kernels/pairs/neon"
)

func init() {
	compiled["neon"] = variant{
		supported: true, // every processor of 64-bit ARM has NEON
		kernels: [kernelCount]unsafe.Pointer{Pairs: pairs.Entry, Growth: growth.Entry, Derivatives: derive.Unit,
			Contacts: contact.Kernels},
	}
}

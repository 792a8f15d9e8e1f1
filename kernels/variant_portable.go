//go:build cgo && (race || !noportable)

package kernels

import (
	"unsafe"

	contact "clearance/kernels/contact/portable"
	derive "clearance/kernels/derive/portable"
	growth "clearance/kernels/growth/portable"
	pairs "clearance/kernels/pairs/portable"
)

func init() {
	compiled["portable"] = variant{
		supported: true,
		kernels: [kernelCount]unsafe.Pointer{Pairs: pairs.Entry, Growth: growth.Entry, Derivatives: derive.Unit,
			Contacts: contact.Kernels},
	}
}

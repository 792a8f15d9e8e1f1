//go:build cgo && !race && !noavx2

package kernels

import (
	"unsafe"

	contact "clearance/kernels/contact/avx2"
	derive "clearance/kernels/derive/avx2"
	growth "clearance/kernels/growth/avx2"
	pairs "clearance/kernels/pairs/avx2"

	"github.com/klauspost/cpuid/v2"
)

func init() {
	compiled["avx2"] = variant{
		supported: cpuid.CPU.Supports(cpuid.AVX2, cpuid.FMA3, cpuid.BMI1, cpuid.POPCNT),
		kernels: [kernelCount]unsafe.Pointer{Pairs: pairs.Entry, Growth: growth.Entry, Derivatives: derive.Unit,
			Contacts: contact.Kernels},
	}
}

//go:build cgo && !race && !noavx512

package kernels

import (
	"unsafe"

	contact "clearance/kernels/contact/avx512"
	derive "clearance/kernels/derive/avx512"
	growth "clearance/kernels/growth/avx512"
	pairs "clearance/kernels/pairs/avx512"

	"github.com/klauspost/cpuid/v2"
)

func init() {
	compiled["avx512"] = variant{
		supported: cpuid.CPU.Supports(cpuid.AVX512F, cpuid.AVX512DQ, cpuid.AVX512VL, cpuid.AVX512BW, cpuid.AVX2,
			cpuid.FMA3, cpuid.BMI1, cpuid.POPCNT),
		kernels: [kernelCount]unsafe.Pointer{Pairs: pairs.Entry, Growth: growth.Entry, Derivatives: derive.Unit,
			Contacts: contact.Kernels},
	}
}

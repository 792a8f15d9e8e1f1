//go:build cgo && !race && !noavx2

package kernels

import (
	"unsafe"

	growth "clearance/kernels/growth/avx2"
	pairs "clearance/kernels/pairs/avx2"

	"github.com/klauspost/cpuid/v2"
)

func init() {
	compiled["avx2"] = variant{
		supported: cpuid.CPU.Supports(cpuid.AVX2, cpuid.FMA3, cpuid.BMI1, cpuid.POPCNT),
		rows:      [kernelCount]unsafe.Pointer{pairs.Entry, growth.Entry},
	}
}

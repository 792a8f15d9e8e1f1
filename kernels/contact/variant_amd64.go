//go:build cgo

package contact

import (
	"github.com/klauspost/cpuid/v2"

	"clearance/kernels/contact/avx2"
	"clearance/kernels/contact/avx512"
	"clearance/kernels/contact/portable"
)

// variants are those of this processor architecture, best first.
var variants = []variant{
	{"avx512", cpuid.CPU.Supports(cpuid.AVX512F, cpuid.AVX512DQ, cpuid.AVX512VL, cpuid.AVX512BW, cpuid.AVX2, cpuid.FMA3,
		cpuid.BMI1, cpuid.POPCNT), avx512.Kernels},
	{"avx2", cpuid.CPU.Supports(cpuid.AVX2, cpuid.FMA3, cpuid.BMI1, cpuid.POPCNT), avx2.Kernels},
	{Portable, true, portable.Kernels},
}

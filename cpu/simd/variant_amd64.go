//go:build cgo && !race

package simd

// #include "api.h"
// #include "cull_api.h"
import "C"

import "github.com/klauspost/cpuid/v2"

// variants are those of this processor architecture, best first.
var variants = []variant{
	{
		name: "avx512",
		supported: cpuid.CPU.Supports(cpuid.AVX512F, cpuid.AVX512DQ, cpuid.AVX512VL, cpuid.AVX512BW, cpuid.AVX2,
			cpuid.FMA3, cpuid.BMI1, cpuid.POPCNT),
		entries: entries{
			rows: [kernelCount]C.clr_kernel{C.clr_kernel(C.clr_run_avx512), C.clr_kernel(C.clr_growth_avx512)},
			cull: C.clr_cull_kernel(C.clr_cull_avx512),
		},
	},
	{
		name:      "avx2",
		supported: cpuid.CPU.Supports(cpuid.AVX2, cpuid.FMA3, cpuid.BMI1, cpuid.POPCNT),
		entries: entries{
			rows: [kernelCount]C.clr_kernel{C.clr_kernel(C.clr_run_avx2), C.clr_kernel(C.clr_growth_avx2)},
			cull: C.clr_cull_kernel(C.clr_cull_avx2),
		},
	},
	portable,
}

//go:build cgo

package simd

// #include "api.h"
// #include "cull_api.h"
import "C"

import "github.com/klauspost/cpuid/v2"

// Supported returns the variants that this machine can run, best first.
func Supported() (names []string) {
	if cpuid.CPU.Supports(cpuid.AVX512F, cpuid.AVX512DQ, cpuid.AVX512VL, cpuid.AVX512BW, cpuid.AVX2, cpuid.FMA3,
		cpuid.BMI1, cpuid.POPCNT) {
		names = append(names, "avx512")
	}
	if cpuid.CPU.Supports(cpuid.AVX2, cpuid.FMA3, cpuid.BMI1, cpuid.POPCNT) {
		names = append(names, "avx2")
	}
	return append(names, "portable")
}

func run(variant string, c *C.clr_call, s *C.clr_scratch, lo, hi int) int {
	switch variant {
	case "avx512":
		return int(C.clr_run_avx512(c, s, C.int64_t(lo), C.int64_t(hi)))
	case "avx2":
		return int(C.clr_run_avx2(c, s, C.int64_t(lo), C.int64_t(hi)))
	}
	return int(C.clr_run_portable(c, s, C.int64_t(lo), C.int64_t(hi)))
}

func runGrowth(variant string, c *C.clr_call, s *C.clr_scratch, lo, hi int) int {
	switch variant {
	case "avx512":
		return int(C.clr_growth_avx512(c, s, C.int64_t(lo), C.int64_t(hi)))
	case "avx2":
		return int(C.clr_growth_avx2(c, s, C.int64_t(lo), C.int64_t(hi)))
	}
	return int(C.clr_growth_portable(c, s, C.int64_t(lo), C.int64_t(hi)))
}

// cullKernel returns the kernel of a variant.
func cullKernel(variant string) C.clr_cull_kernel {
	switch variant {
	case "avx512":
		return C.clr_cull_kernel(C.clr_cull_avx512)
	case "avx2":
		return C.clr_cull_kernel(C.clr_cull_avx2)
	}
	return C.clr_cull_kernel(C.clr_cull_portable)
}

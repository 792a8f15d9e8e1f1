//go:build cgo

package simd

// #include "api.h"
// #include "cull_api.h"
import "C"

// Supported returns the variants that this machine can run, best first. Every
// processor of 64-bit ARM has NEON.
func Supported() []string { return []string{"neon", "portable"} }

func run(variant string, c *C.clr_call, s *C.clr_scratch, lo, hi int) int {
	if variant == "neon" {
		return int(C.clr_run_neon(c, s, C.int64_t(lo), C.int64_t(hi)))
	}
	return int(C.clr_run_portable(c, s, C.int64_t(lo), C.int64_t(hi)))
}

func runGrowth(variant string, c *C.clr_call, s *C.clr_scratch, lo, hi int) int {
	if variant == "neon" {
		return int(C.clr_growth_neon(c, s, C.int64_t(lo), C.int64_t(hi)))
	}
	return int(C.clr_growth_portable(c, s, C.int64_t(lo), C.int64_t(hi)))
}

// cullKernel returns the kernel of a variant.
func cullKernel(variant string) C.clr_cull_kernel {
	if variant == "neon" {
		return C.clr_cull_kernel(C.clr_cull_neon)
	}
	return C.clr_cull_kernel(C.clr_cull_portable)
}

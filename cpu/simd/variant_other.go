//go:build cgo && !amd64 && !arm64

package simd

// #include "api.h"
// #include "cull_api.h"
import "C"

// Supported returns the variants that this machine can run, best first.
func Supported() []string { return []string{"portable"} }

func run(_ string, c *C.clr_call, s *C.clr_scratch, lo, hi int) int {
	return int(C.clr_run_portable(c, s, C.int64_t(lo), C.int64_t(hi)))
}

func runGrowth(_ string, c *C.clr_call, s *C.clr_scratch, lo, hi int) int {
	return int(C.clr_growth_portable(c, s, C.int64_t(lo), C.int64_t(hi)))
}

// cullKernel returns the kernel of a variant.
func cullKernel(string) C.clr_cull_kernel { return C.clr_cull_kernel(C.clr_cull_portable) }

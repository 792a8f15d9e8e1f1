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

func cull(variant string, c *C.clr_cull, poses *C.double, place, a, b *C.int32_t, bodies, balls, lowers *C.double,
	open *C.int32_t, out *C.clr_culled) C.int32_t {
	if variant == "neon" {
		return C.clr_cull_neon(c, poses, place, a, b, bodies, balls, lowers, open, out)
	}
	return C.clr_cull_portable(c, poses, place, a, b, bodies, balls, lowers, open, out)
}

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

func cull(_ string, c *C.clr_cull, poses *C.double, place, a, b *C.int32_t, bodies, balls, lowers *C.double,
	open *C.int32_t, out *C.clr_culled) C.int32_t {
	return C.clr_cull_portable(c, poses, place, a, b, bodies, balls, lowers, open, out)
}

//go:build cgo && !race

package simd

// #include "api.h"
// #include "cull_api.h"
import "C"

// variants are those of this processor architecture, best first. Every processor of 64-bit ARM has NEON.
var variants = []variant{
	{
		name:      "neon",
		supported: true,
		entries: entries{
			rows: [kernelCount]C.clr_kernel{C.clr_kernel(C.clr_run_neon), C.clr_kernel(C.clr_growth_neon)},
			cull: C.clr_cull_kernel(C.clr_cull_neon),
		},
	},
	portable,
}

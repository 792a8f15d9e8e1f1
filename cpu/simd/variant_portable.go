//go:build cgo

package simd

// #include "api.h"
// #include "cull_api.h"
import "C"

// portable is the variant of every processor.
var portable = variant{
	name:      "portable",
	supported: true,
	entries: entries{
		rows: [kernelCount]C.clr_kernel{C.clr_kernel(C.clr_run_portable), C.clr_kernel(C.clr_growth_portable)},
		cull: C.clr_cull_kernel(C.clr_cull_portable),
	},
}

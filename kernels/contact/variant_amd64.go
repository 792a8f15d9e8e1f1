//go:build cgo

package contact

// #include "api.h"
import "C"

import "github.com/klauspost/cpuid/v2"

// variants are those of this processor architecture, best first.
var variants = []variant{
	{"avx2", cpuid.CPU.Supports(cpuid.AVX2, cpuid.FMA3), C.lanes_sweep_function(C.lanes_sweep_avx2),
		C.lanes_newton_function(C.lanes_newton_avx2), C.lanes_manifold_function(C.lanes_manifold_avx2),
		C.lanes_prepare_function(C.lanes_prepare_avx2), C.lanes_move_function(C.lanes_move_avx2),
		C.lanes_assemble_function(C.lanes_assemble_avx2)},
	portable,
}

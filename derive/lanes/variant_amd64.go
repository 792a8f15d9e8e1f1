//go:build cgo

package lanes

// #include "lanes.h"
import "C"

import "github.com/klauspost/cpuid/v2"

// variants are those of this machine, best first.
var variants = func() []variant {
	if cpuid.CPU.Supports(cpuid.AVX2, cpuid.FMA3, cpuid.BMI1) {
		return []variant{{"avx2", C.ln_kernel(C.ln_run_avx2), C.ln_kernel(C.ln_values_avx2),
			C.ln_sampler(C.ln_displace_avx2), C.ln_sampler(C.ln_add_avx2)}, portable}
	}
	return []variant{portable}
}()

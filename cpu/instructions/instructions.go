// Package instructions chooses the instruction set of all kernels in C: those of package cpu, of derivatives and of
// contacts. The option of a call names it, else the environment variable CLEARANCE_SIMD, else the processor decides. It
// may be called from any goroutine.
package instructions

import (
	"fmt"
	"os"
	"slices"

	"clearance/cpu/simd"
)

// Named returns the name that an option gives or, if that is empty, the environment: a variant of package simd that
// this machine can run, or [simd.Off]. It is "" where neither names one, which stands for the best. what is how the
// error of another name calls the option.
func Named(option, what string) (string, error) {
	name := option
	if name == "" {
		name, what = os.Getenv(simd.EnvSIMD), "environment variable "+simd.EnvSIMD
	}
	if name == "" {
		return "", nil
	}
	if _, err := simd.Choose(name); err != nil {
		return "", fmt.Errorf("%s: %w", what, err)
	}
	return name, nil
}

// Best returns the best of the variants that kernels are compiled for, best first, that is not above the named one: of
// AVX2 and portable kernels the former for avx512. It is [simd.Off] for that name, and where there are no kernels.
func Best(name string, have []string) string {
	names := simd.Names()
	at := slices.Index(names, name) // -1 of ""
	for _, variant := range have {
		if name != simd.Off && slices.Index(names, variant) >= at {
			return variant
		}
	}
	return simd.Off
}

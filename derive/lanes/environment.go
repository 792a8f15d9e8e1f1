package lanes

import (
	"fmt"
	"os"

	"clearance/cpu/simd"
)

// environment is what CLEARANCE_SIMD names, "" without it: off, or a variant of the CPU kernels that this machine has.
var environment, errEnvironment = choice(os.Getenv(simd.EnvSIMD))

// choice returns a name that the CPU kernels accept. The error of another one leaves no kernel.
func choice(name string) (string, error) {
	if _, err := simd.Choose(name); err != nil {
		return simd.Off, fmt.Errorf("environment variable %s: %w", simd.EnvSIMD, err)
	}
	return name, nil
}

// Check returns the error of a choice by the environment that the CPU kernels refuse.
func Check() error { return errEnvironment }

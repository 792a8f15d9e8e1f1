package lanes

import (
	"clearance/kernels"
)

// environment is what CLEARANCE_SIMD names, "" without it: off, or a variant of the CPU kernels that this machine has.
var environment, errEnvironment = choice()

// choice returns the name of the environment. The error of one that is none leaves no kernel.
func choice() (string, error) {
	name, err := kernels.Named("", "")
	if err != nil {
		return kernels.Off, err
	}
	return name, nil
}

// Check returns the error of a choice by the environment that the CPU kernels refuse.
func Check() error { return errEnvironment }

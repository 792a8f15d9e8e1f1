package simd

import (
	"fmt"
	"slices"
	"strings"
)

// EnvSIMD names the environment variable that chooses the variant where a caller does not.
const EnvSIMD = "CLEARANCE_SIMD"

// Off is the name of the choice of no kernels.
const Off = "off"

// Names are all variants there are on any machine, best first.
func Names() []string { return []string{"avx512", "avx2", "neon", "portable"} }

// Width is the number of float32 lanes of a variant.
func Width(variant string) int {
	return map[string]int{"avx512": 16, "avx2": 8, "neon": 4, "portable": 4}[variant]
}

// A Kernel is an entry point of a variant.
type Kernel int

// The kernels. Package kernels says which query each answers.
const (
	Pairs       Kernel = iota // kernel.h: distances, intersections and depths
	Growth                    // growth.h
	kernelCount = iota
)

// BlockRows is the largest number of rows of one [Run].
const BlockRows = 2048

// Choose returns the variant to use: the best that this machine supports for "", none
// ("") for "off". The error says which names there are, or why this machine cannot
// run the named one.
func Choose(name string) (string, error) {
	have := Supported()
	switch {
	case name == Off:
		return "", nil
	case name == "" && len(have) == 0:
		return "", nil
	case name == "":
		return have[0], nil
	case !slices.Contains(Names(), name):
		return "", fmt.Errorf("unknown SIMD variant %q, want one of %s, or %s", name, strings.Join(Names(), ", "), Off)
	case slices.Contains(have, name):
		return name, nil
	case len(have) == 0:
		return "", fmt.Errorf("SIMD variant %s: this program was built without cgo, which the kernels need; build it "+
			"with CGO_ENABLED=1, or ask for %s", name, Off)
	}
	return "", fmt.Errorf("SIMD variant %s: this processor lacks it; it has %s", name, strings.Join(have, ", "))
}

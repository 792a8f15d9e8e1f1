package kernels

import (
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"unsafe"
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

// variant is one way in which the kernels are compiled.
type variant struct {
	supported bool                        // by this machine
	kernels   [kernelCount]unsafe.Pointer // by Kernel: a clr_kernel, or what its package says
}

// compiled are the variants in this program. Each variant_*.go adds one.
var compiled = map[string]variant{}

// Compiled returns the variants in this program, best first.
func Compiled() (names []string) {
	for _, name := range Names() {
		if _, ok := compiled[name]; ok {
			names = append(names, name)
		}
	}
	return names
}

// Supported returns those that this machine can run, best first.
func Supported() (names []string) {
	for _, name := range Compiled() {
		if compiled[name].supported {
			names = append(names, name)
		}
	}
	return names
}

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
	case slices.Contains(LeftOut(), name):
		return "", fmt.Errorf("SIMD variant %s: this program was built without it, by build tags; it has %s", name,
			strings.Join(have, ", "))
	}
	return "", fmt.Errorf("SIMD variant %s: this processor lacks it; it has %s", name, strings.Join(have, ", "))
}

// Runs reports whether a variant is in this program and this machine can run it.
func Runs(variant string) bool { return compiled[variant].supported }

// EntryOf returns the entry of a kernel that has a package of its own, what that package says; nil in a program without
// the variant.
func EntryOf(kernel Kernel, variant string) unsafe.Pointer { return compiled[variant].kernels[kernel] }

// LeftOut returns the variants of this processor architecture that the program lacks by build tags, best first; none if
// it has no kernels.
func LeftOut() (names []string) {
	if len(compiled) == 0 {
		return nil
	}
	native := map[string]string{"avx512": "amd64", "avx2": "amd64", "neon": "arm64", "portable": runtime.GOARCH}
	for _, name := range Names() {
		if _, ok := compiled[name]; !ok && native[name] == runtime.GOARCH {
			names = append(names, name)
		}
	}
	return names
}

// Named returns the name that an option gives or, if that is empty, the environment: a variant that this machine can
// run, or [Off]. It is "" where neither names one, which stands for the best. what is how the error of another name
// calls the option.
func Named(option, what string) (string, error) {
	name := option
	if name == "" {
		name, what = os.Getenv(EnvSIMD), "environment variable "+EnvSIMD
	}
	if name == "" {
		return "", nil
	}
	if _, err := Choose(name); err != nil {
		return "", fmt.Errorf("%s: %w", what, err)
	}
	return name, nil
}

// Best returns the best of the variants that kernels are compiled for, best first, that is not above the named one: of
// AVX2 and portable kernels the former for avx512. It is [Off] for that name, and where there are no kernels.
func Best(name string, have []string) string {
	names := Names()
	at := slices.Index(names, name) // -1 of ""
	for _, variant := range have {
		if name != Off && slices.Index(names, variant) >= at {
			return variant
		}
	}
	return Off
}

// observer is told of the calls of kernels.
var observer atomic.Pointer[func(kernel Kernel, variant string)]

// Observe has f called before each call of a kernel in C, from any goroutine; nil ends it. It is for tests of the
// choice.
func Observe(f func(kernel Kernel, variant string)) {
	if f == nil {
		observer.Store(nil)
		return
	}
	observer.Store(&f)
}

// Enter tells the observer that a kernel is about to be called. Packages with kernels of their own call it as well.
func Enter(kernel Kernel, variant string) {
	if f := observer.Load(); f != nil {
		(*f)(kernel, variant)
	}
}

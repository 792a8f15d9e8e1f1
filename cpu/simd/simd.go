//go:build cgo

package simd

/*
// The race detector does not see C: builds with it compile the portable variant alone, in a third of its time.
#cgo CFLAGS: -g1 -std=c11 -Wall
// So do those with the tag quickkernels, for tests of what calls them. The answers have the same bits.
#cgo !race,!quickkernels CFLAGS: -O3
#cgo race quickkernels CFLAGS: -O1 -DCLR_GENERIC
#cgo !amd64,!arm64 LDFLAGS: -lm
#include "api.h"
#include "cull_api.h"

static int clr_call_kernel(clr_kernel kernel, const clr_call *c, clr_scratch *s, int64_t lo, int64_t hi) {
    return kernel(c, s, lo, hi);
}

static int32_t clr_call_cull(clr_cull_kernel kernel, const clr_cull *c, const double *poses, const int32_t *place,
                             const int32_t *a, const int32_t *b, const double *bodies, const int32_t *first,
                             const double *parts, const int32_t *boxed, double *scratch, int32_t *open,
                             clr_culled *out) {
    return kernel(c, poses, place, a, b, bodies, first, parts, boxed, scratch, open, out);
}
*/
import "C"

import "unsafe"

// entries are the kernels of a variant.
type entries struct {
	rows [kernelCount]C.clr_kernel // by Kernel
	cull C.clr_cull_kernel
}

// variant is one way in which the kernels are compiled.
type variant struct {
	name      string
	supported bool // by this machine
	entries   entries
}

// Supported returns the variants that this machine can run, best first.
func Supported() (names []string) {
	for i := range variants {
		if variants[i].supported {
			names = append(names, variants[i].name)
		}
	}
	return names
}

// kernelsOf returns the kernels of a variant that [Choose] returned.
func kernelsOf(name string) *entries {
	for i := range variants {
		if variants[i].name == name {
			return &variants[i].entries
		}
	}
	panic("simd: no variant " + name)
}

// Run runs a kernel of a variant that [Choose] returned on rows [lo, hi) of a call, at most [BlockRows]. It returns the
// number of rows that it declined and listed in the scratch memory. The pointers are those of a clr_call and of
// CLR_SCRATCHES structures clr_scratch (api.h); what a call refers to is pinned.
func Run(variant string, k Kernel, call, scratch unsafe.Pointer, lo, hi int) (declined int) {
	return int(C.clr_call_kernel(kernelsOf(variant).rows[k], (*C.clr_call)(call), (*C.clr_scratch)(scratch),
		C.int64_t(lo), C.int64_t(hi)))
}

// Cull culls CLR_CULL_LANES worlds and returns the set of those whose poses are valid. The pointers are those of a
// clr_cull and a clr_culled; cull_api.h describes the arrays, none of which is empty.
func Cull(variant string, cull unsafe.Pointer, poses []float64, place, a, b []int32, bodies []float64, first []int32,
	parts []float64, boxed []int32, scratch []float64, open []int32, culled unsafe.Pointer) (valid uint) {
	return uint(C.clr_call_cull(kernelsOf(variant).cull, (*C.clr_cull)(cull), (*C.double)(&poses[0]),
		(*C.int32_t)(&place[0]), (*C.int32_t)(&a[0]), (*C.int32_t)(&b[0]), (*C.double)(&bodies[0]),
		(*C.int32_t)(&first[0]), (*C.double)(&parts[0]), (*C.int32_t)(&boxed[0]), (*C.double)(&scratch[0]),
		(*C.int32_t)(&open[0]), (*C.clr_culled)(culled)))
}

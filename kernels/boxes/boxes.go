//go:build cgo

// Package boxes compiles the kernels that cull pairs of bodies by balls and boxes about them (cull.h) and that find the
// boxes which meet (rows.h), those of all variants, which are short.
package boxes

/*
#cgo CFLAGS: -g1 -std=c11 -Wall
#cgo !race,!quickkernels CFLAGS: -O3
#cgo race quickkernels CFLAGS: -O1 -DCLR_GENERIC
#cgo !race,!noavx512,amd64 CFLAGS: -DCLR_AVX512
#cgo !race,!noavx2,amd64 CFLAGS: -DCLR_AVX2
#cgo !race,!noneon,arm64 CFLAGS: -DCLR_NEON
#cgo race !noportable CFLAGS: -DCLR_PORTABLE
#cgo !amd64,!arm64 LDFLAGS: -lm
#include "api.h"

enum { AVX512, AVX2, NEON, PORTABLE };

// box_kernels are the kernels of a variant, null in a program without it.
typedef struct {
    clr_cull_kernel cull;
    clr_rows_kernel rows;
} box_kernels;

static inline box_kernels kernels_of(int variant) {
#ifdef CLR_AVX512
    if (variant == AVX512) return (box_kernels){clr_cull_avx512, clr_rows_avx512};
#endif
#ifdef CLR_AVX2
    if (variant == AVX2) return (box_kernels){clr_cull_avx2, clr_rows_avx2};
#endif
#ifdef CLR_NEON
    if (variant == NEON) return (box_kernels){clr_cull_neon, clr_rows_neon};
#endif
#ifdef CLR_PORTABLE
    if (variant == PORTABLE) return (box_kernels){clr_cull_portable, clr_rows_portable};
#endif
    return (box_kernels){0, 0};
}

static inline int32_t clr_call_cull(int variant, const clr_cull *c, const double *poses, const int32_t *place,
                                    const int32_t *a, const int32_t *b, const double *bodies, const int32_t *first,
                                    const double *parts, const int32_t *boxed, double *scratch, int32_t *open,
                                    clr_culled *out) {
    return kernels_of(variant).cull(c, poses, place, a, b, bodies, first, parts, boxed, scratch, open, out);
}

static inline void clr_call_rows(int variant, clr_rows *c, const double *blocks, const int32_t *ids,
                                 const int32_t *last, int32_t *near, int32_t *next, int32_t *lanes, int32_t *rows,
                                 int64_t *length) {
    kernels_of(variant).rows(c, blocks, ids, last, near, next, lanes, rows, length);
}
*/
import "C"

import (
	"unsafe"

	_ "clearance/kernels/isa"
)

var variants = map[string]C.int{"avx512": C.AVX512, "avx2": C.AVX2, "neon": C.NEON, "portable": C.PORTABLE}

// Cull culls CLR_CULL_LANES worlds by a variant that this machine can run, and returns the set of those whose poses
// are valid. The pointers are those of a clr_cull and a clr_culled; api.h describes the arrays, none of which is
// empty.
func Cull(variant string, cull unsafe.Pointer, poses []float64, place, a, b []int32, bodies []float64, first []int32,
	parts []float64, boxed []int32, scratch []float64, open []int32, culled unsafe.Pointer) (valid uint) {
	return uint(C.clr_call_cull(variants[variant], (*C.clr_cull)(cull), (*C.double)(&poses[0]),
		(*C.int32_t)(&place[0]), (*C.int32_t)(&a[0]), (*C.int32_t)(&b[0]), (*C.double)(&bodies[0]),
		(*C.int32_t)(&first[0]), (*C.double)(&parts[0]), (*C.int32_t)(&boxed[0]), (*C.double)(&scratch[0]),
		(*C.int32_t)(&open[0]), (*C.clr_culled)(culled)))
}

// Rows finds rows by a variant that this machine can run. The pointer is that of a clr_rows; api.h describes the
// arrays, none of which is empty.
func Rows(variant string, rows unsafe.Pointer, blocks *float64, ids, last, near, next, lanes, found []int32,
	length []int64) {
	C.clr_call_rows(variants[variant], (*C.clr_rows)(rows), (*C.double)(blocks), (*C.int32_t)(&ids[0]),
		(*C.int32_t)(&last[0]), (*C.int32_t)(&near[0]), (*C.int32_t)(&next[0]), (*C.int32_t)(&lanes[0]),
		(*C.int32_t)(&found[0]), (*C.int64_t)(&length[0]))
}

//export clr_built_boxes
func clr_built_boxes() {} // see package isa

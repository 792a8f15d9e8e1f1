//go:build cgo && amd64

// Package avx512 compiles the kernels of contacts for AVX-512.
package avx512

/*
#cgo CFLAGS: -O3 -std=c11 -Wall -Wno-psabi -I${SRCDIR}/../include
#cgo LDFLAGS: -lm
#include "api.h"

CONTACT_SWEEP(contact_sweep_avx512);
int64_t contact_sweep_scratch_avx512(int32_t, int64_t);
CONTACT_NEWTON(contact_newton_avx512);
int64_t contact_newton_scratch_avx512(int32_t, int32_t, int64_t);
int64_t contact_newton_blocks_avx512(int32_t, int32_t);
CONTACT_MANIFOLD(contact_manifold_avx512);
CONTACT_PREPARE(contact_prepare_avx512);
CONTACT_MOVE(contact_move_avx512);
CONTACT_ASSEMBLE(contact_assemble_avx512);

static const contact_kernels kernels = {
    .worlds = 16,
    .sweep = contact_sweep_avx512,
    .sweep_scratch = contact_sweep_scratch_avx512,
    .newton = contact_newton_avx512,
    .newton_scratch = contact_newton_scratch_avx512,
    .newton_blocks = contact_newton_blocks_avx512,
    .manifold = contact_manifold_avx512,
    .prepare = contact_prepare_avx512,
    .move = contact_move_avx512,
    .assemble = contact_assemble_avx512,
};

static const void *table(void) { return &kernels; }
*/
import "C"

import (
	"unsafe"

	_ "clearance/kernels/contact/include"
	_ "clearance/kernels/isa" // a change of a header compiles the kernels anew
)

// Kernels is the contact_kernels of the variant.
func Kernels() unsafe.Pointer { return unsafe.Pointer(C.table()) }

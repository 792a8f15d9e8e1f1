//go:build cgo && amd64

// Package avx2 compiles the kernels of contacts for AVX2.
package avx2

/*
#cgo CFLAGS: -O3 -std=c11 -Wall -Wno-psabi -I${SRCDIR}/../include
#cgo LDFLAGS: -lm
#include "api.h"

CONTACT_SWEEP(contact_sweep_avx2);
int64_t contact_sweep_scratch_avx2(int32_t, int64_t);
CONTACT_NEWTON(contact_newton_avx2);
int64_t contact_newton_scratch_avx2(int32_t, int32_t, int64_t);
int64_t contact_newton_blocks_avx2(int32_t, int32_t);
CONTACT_MANIFOLD(contact_manifold_avx2);
CONTACT_PREPARE(contact_prepare_avx2);
CONTACT_MOVE(contact_move_avx2);
CONTACT_ASSEMBLE(contact_assemble_avx2);

static const contact_kernels kernels = {
    .worlds = 8,
    .sweep = contact_sweep_avx2,
    .sweep_scratch = contact_sweep_scratch_avx2,
    .newton = contact_newton_avx2,
    .newton_scratch = contact_newton_scratch_avx2,
    .newton_blocks = contact_newton_blocks_avx2,
    .manifold = contact_manifold_avx2,
    .prepare = contact_prepare_avx2,
    .move = contact_move_avx2,
    .assemble = contact_assemble_avx2,
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

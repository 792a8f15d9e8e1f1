//go:build cgo && arm64

// Package neon compiles the kernels of contacts for NEON.
package neon

/*
#cgo CFLAGS: -O3 -std=c11 -Wall -Wno-psabi -I${SRCDIR}/../include
#cgo LDFLAGS: -lm
#include "api.h"

CONTACT_SWEEP(contact_sweep_neon);
int64_t contact_sweep_scratch_neon(int32_t, int64_t);
CONTACT_NEWTON(contact_newton_neon);
int64_t contact_newton_scratch_neon(int32_t, int32_t, int64_t);
int64_t contact_newton_blocks_neon(int32_t, int32_t);
CONTACT_MANIFOLD(contact_manifold_neon);
CONTACT_PREPARE(contact_prepare_neon);
CONTACT_MOVE(contact_move_neon);
CONTACT_ASSEMBLE(contact_assemble_neon);

static const contact_kernels kernels = {
    .worlds = 4,
    .sweep = contact_sweep_neon,
    .sweep_scratch = contact_sweep_scratch_neon,
    .newton = contact_newton_neon,
    .newton_scratch = contact_newton_scratch_neon,
    .newton_blocks = contact_newton_blocks_neon,
    .manifold = contact_manifold_neon,
    .prepare = contact_prepare_neon,
    .move = contact_move_neon,
    .assemble = contact_assemble_neon,
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

//go:build cgo

// Package portable compiles the kernels of contacts for every processor.
package portable

/*
#cgo CFLAGS: -O3 -std=c11 -Wall -Wno-psabi -I${SRCDIR}/../include
#cgo LDFLAGS: -lm
#include "api.h"

CONTACT_SWEEP(contact_sweep_portable);
int64_t contact_sweep_scratch_portable(int32_t, int64_t);
CONTACT_NEWTON(contact_newton_portable);
int64_t contact_newton_scratch_portable(int32_t, int32_t, int64_t);
int64_t contact_newton_blocks_portable(int32_t, int32_t);
CONTACT_MANIFOLD(contact_manifold_portable);
CONTACT_PREPARE(contact_prepare_portable);
CONTACT_MOVE(contact_move_portable);
CONTACT_ASSEMBLE(contact_assemble_portable);

static const contact_kernels kernels = {
    .worlds = 4,
    .sweep = contact_sweep_portable,
    .sweep_scratch = contact_sweep_scratch_portable,
    .newton = contact_newton_portable,
    .newton_scratch = contact_newton_scratch_portable,
    .newton_blocks = contact_newton_blocks_portable,
    .manifold = contact_manifold_portable,
    .prepare = contact_prepare_portable,
    .move = contact_move_portable,
    .assemble = contact_assemble_portable,
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

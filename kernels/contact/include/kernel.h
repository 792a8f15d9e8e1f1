// The kernels of contacts of one instruction set: UNIT, the table of their functions. A unit begins and ends with
// kernels/isa/target.h, and defines FUSED where FMA fuses.

// GCC 12 fuses products with alternating sums and differences where it vectorizes straight code, also where contraction
// is off.
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("no-tree-slp-vectorize")
#endif

#include "manifold.h"
#include "contacts.h"
#include "sweeps.h"
#include "newton.h"
#include "bodies.h"

extern const contact_kernels UNIT;
const contact_kernels UNIT = {
    .worlds = WORLDS,
    .sweep = sweep_worlds,
    .sweep_scratch = sweep_scratch,
    .newton = newton_world,
    .newton_scratch = newton_scratch,
    .newton_blocks = newton_blocks,
    .manifold = find_points,
    .manifold_scratch = manifold_scratch,
    .prepare = prepare_bodies,
    .move = move_bodies,
    .assemble = assemble_contacts,
};

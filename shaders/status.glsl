// The status word of a row. The including file declares the query and the columns.

#ifndef CLEARANCE_STATUS_GLSL
#define CLEARANCE_STATUS_GLSL

#include "columns.glsl"

bool answeredByDepth = false;   // the row was answered by depth.glsl, and is not separated
bool provedFromFloat32 = false; // and its depth was found by epa_float32.comp
bool refined;                   // double precision continued the search, rather than only prove its result

// writePacked stores a packed status. All bits of a row without a status are set.
void writePacked(uint row, uint code) {
    uint at = columnAt(COLUMN_STATUS) + row / (32u / PACKED_BITS), shift = row % (32u / PACKED_BITS) * PACKED_BITS;
    uint mask = (1u << PACKED_BITS) - 1u;
    atomicAnd(words[at], (code << shift) | ~(mask << shift));
}

// writeStatus stores the status, the solver that proved it and the number of evaluations.
void writeStatus(uint row, uint status, uint solver, uint iterations) {
    if ((query.flags & FLAG_PACKED) != 0u) {
        uint mark = answeredByDepth ? PACKED_BY_DEPTH : refined ? PACKED_REFINED : 0u;
        writePacked(row, status == STATUS_INVALID ? PACKED_INVALID : status | mark);
        return;
    }
    uint marks = (refined ? REFINED << 8 : 0u) | (answeredByDepth ? BY_DEPTH << 8 : 0u) |
                 (provedFromFloat32 ? FROM_FLOAT32 << 8 : 0u);
    words[columnAt(COLUMN_STATUS) + row] =
        status | marks | (solver << SOLVER_SHIFT) | (min(iterations, MAX_ITERATIONS) << 16);
}

// decline leaves the row to another back end, with the reason.
void decline(uint row, uint why) {
    if ((query.flags & FLAG_PACKED) != 0u) writePacked(row, PACKED_DECLINED | why);
    else words[columnAt(COLUMN_STATUS) + row] = DECLINED | (why << 8);
}

// declineForPrecision leaves the row to another back end, as it needs double precision.
void declineForPrecision(uint row) {
    if ((query.flags & FLAG_PACKED) != 0u) writePacked(row, PACKED_DECLINED);
    else words[columnAt(COLUMN_STATUS) + row] = DECLINED | (DECLINED_PRECISION << 8);
}

#endif

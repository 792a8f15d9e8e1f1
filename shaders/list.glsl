// Lists of rows that one stage makes for a later one, which an indirect dispatch runs on as many work groups as the
// list fills: the rows that need more work are compacted into full subgroups. The places in a list depend on the timing
// of the device, so no answer may depend on them. Every list has room for all rows.
//
// The including file declares the query and the buffer counts, with LIST_WORDS words of each list, and of each dispatch
// that takes depths, see package layout.

#ifndef CLEARANCE_LIST_GLSL
#define CLEARANCE_LIST_GLSL

#include "layout.glsl"

// addTo adds a row to a list and returns its place.
uint addTo(uint list) {
    uint at = atomicAdd(counts[LIST_WORDS * list + LIST_ROWS], 1u);
    uint dispatch = list == LIST_DEPTHS ? at / query.depth_rows : 0u;
    if (at % GROUP_SIZE == 0u) atomicAdd(counts[LIST_WORDS * (list + dispatch)], 1u); // the first row of a work group
    return at;
}

uint rowsIn(uint list) { return counts[LIST_WORDS * list + LIST_ROWS]; }

#endif

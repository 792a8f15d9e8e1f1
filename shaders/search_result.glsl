// The simplex that gjk.comp hands on: of up to three vertices with its weights, of each vertex its direction, or the
// numbers of its corners where both cores are polytopes. Corners need no support function, and double precision has the
// very vertices of which single precision computed the weights. Nothing rests on any of it: a corner is a point of its
// core whatever its number, and a support point one whatever the direction.
//
// The including file declares the buffer searches.

#ifndef CLEARANCE_SEARCH_RESULT_GLSL
#define CLEARANCE_SEARCH_RESULT_GLSL

vec3 sourceOf(uint slot, uint k) {
    return vec3(searches[slot].directions[3u * k], searches[slot].directions[3u * k + 1u],
                searches[slot].directions[3u * k + 2u]);
}

bool cornersGiven(uint slot) { return (searches[slot].count & CORNERS_GIVEN) != 0u; }
uint vertexCountOf(uint slot) { return searches[slot].count & ~CORNERS_GIVEN; }

#endif

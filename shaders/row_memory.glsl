// The state of a row in its scratch memory besides the polytope: its pair, and variables that its search reads in few
// places. In registers they would be alive in every loop. A compiler cannot keep what it loaded from memory that the
// shader writes to, so each use loads it again, and its registers are free between uses.

#ifndef CLEARANCE_ROW_MEMORY_GLSL
#define CLEARANCE_ROW_MEMORY_GLSL

#include "pair_float64.glsl"
#include "polytope.glsl"

// Vectors of four numbers: ROW_QUADS, see polytope.glsl.
const uint PAIR_QUADS = 0u;   // columns of the rotation with the translation; of each shape its params and erosion
const uint RADIUS_QUAD = 5u;  // radii of the shapes, their sum with the erosion, the tolerance
const uint SEARCH_QUADS = 6u; // of the search

uint rowQuadAt(uint k) { return wordOf(QUADS, FACES + VERTEX_QUADS * VERTICES + k); }
dvec4 rowQuad(uint k) { return quads[rowQuadAt(k)]; }
dvec3 rowVector(uint k) { return quads[rowQuadAt(k)].xyz; }
double rowNumber(uint k) { return quads[rowQuadAt(k)].w; }
void setRowQuad(uint k, dvec3 v, double w) { quads[rowQuadAt(k)] = dvec4(v, w); }

// Words of shape k = 0, 1: class, record, first, count, cells.
uint shapeWordAt(uint k, uint word) { return wordOf(LINKS, FACES + VERTEX_LINKS * VERTICES + 5u * k + word); }

void storeShape(uint k, Shape s) {
    setRowQuad(PAIR_QUADS + 3u + k, s.params, s.erode);
    links[shapeWordAt(k, 0u)] = s.coreClass;
    links[shapeWordAt(k, 1u)] = s.record;
    links[shapeWordAt(k, 2u)] = s.first;
    links[shapeWordAt(k, 3u)] = s.count;
    links[shapeWordAt(k, 4u)] = s.cells;
}

// storePair keeps the pair that loadShape and loadPose have set.
void storePair() {
    storeShape(0u, shapeA);
    storeShape(1u, shapeB);
    for (uint k = 0u; k < 3u; k++) setRowQuad(PAIR_QUADS + k, rotation[k], translation[k]);
    setRowQuad(RADIUS_QUAD, dvec3(shapeA.radius, shapeB.radius, radius), tolerance);
}

Shape shapeOf(uint k) {
    Shape s;
    dvec4 quad = rowQuad(PAIR_QUADS + 3u + k);
    s.params = quad.xyz;
    s.erode = quad.w;
    s.coreClass = links[shapeWordAt(k, 0u)];
    s.record = links[shapeWordAt(k, 1u)];
    s.first = links[shapeWordAt(k, 2u)];
    s.count = links[shapeWordAt(k, 3u)];
    s.cells = links[shapeWordAt(k, 4u)];
    s.radius = rowVector(RADIUS_QUAD)[k];
    return s;
}

// recallPair sets the pair. A compiler removes loads whose values the caller does not use.
void recallPair() {
    shapeA = shapeOf(0u);
    shapeB = shapeOf(1u);
    dvec4 x = rowQuad(PAIR_QUADS), y = rowQuad(PAIR_QUADS + 1u), z = rowQuad(PAIR_QUADS + 2u);
    rotation = dmat3(x.xyz, y.xyz, z.xyz);
    translation = dvec3(x.w, y.w, z.w);
}

// erosion returns the sum of the erosions of both cores.
double erosion() { return rowNumber(PAIR_QUADS + 3u) + rowNumber(PAIR_QUADS + 4u); }

// recallAnswer sets the variables that the answer of the row needs besides the pair.
void recallAnswer() {
    radius = rowVector(RADIUS_QUAD).z;
    tolerance = rowNumber(RADIUS_QUAD);
}

#endif

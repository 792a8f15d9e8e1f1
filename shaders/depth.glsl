// What the two shaders of penetration depths in double precision have in common: depth_certificate.comp takes the rows
// of DepthRecords for which trust_region.comp left a local minimum of the support function, depth.comp all others, and
// those that the certificate does not prove.
//
// One invocation answers one row at a time, in its own scratch memory; a dispatch takes as many rows of the list as
// there is memory for. The order of the list depends on the timing of the device, so no computation depends on it.
//
// Bounds: with the bounds l ≤ depth ≤ h of the cores that an algorithm proves, the sum R of the radii and the rounding
// bound ρ, the signed distance lies in [-h - R - ρ, -l - R + ρ].

#ifndef CLEARANCE_DEPTH_GLSL
#define CLEARANCE_DEPTH_GLSL

#define DOUBLE
#define PAIR_IN_MEMORY
#include "layout.glsl"
#include "real.glsl"

layout(local_size_x_id = 0) in;

layout(std430, binding = 0) readonly buffer Shapes64 { ShapeRecord64 shapes[]; };
layout(std430, binding = 1) readonly buffer Vertices64 { VertexRecord64 vertices[]; };
layout(std430, binding = 2) readonly buffer Poses { PoseRecord poses[]; };
layout(std430, binding = 3) readonly buffer Indices { IndexRecord indices[]; };
layout(std430, binding = 4) buffer Columns { uint words[]; };
layout(std430, binding = 5) readonly buffer Cells { uint cells[]; };
layout(std430, binding = 6) buffer Depths { DepthRecord depths[]; };
layout(std430, binding = 7) buffer Counts { uint counts[]; };
layout(std430, binding = 8) buffer Quads { dvec4 quads[]; };
layout(std430, binding = 9) buffer Faces { uvec4 faces[]; };
layout(std430, binding = 10) buffer Links { uint links[]; };
layout(push_constant) uniform Query { QueryRecord query; };

#include "core_depth.glsl"
#include "list.glsl"
#include "pair.glsl"
#include "polytope.glsl"

// The state of a row in its scratch memory besides the polytope: its pair, and variables that its search reads in few
// places. In registers they would be alive in every loop. A compiler cannot keep what it loaded from memory that the
// shader writes to, so each use loads it again, and its registers are free between uses.

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

uint item; // index of the record
dvec3 simplexVertex(uint k) {
    return dvec3(depths[item].vertices[3u * k], depths[item].vertices[3u * k + 1u], depths[item].vertices[3u * k + 2u]);
}
dvec3 simplexPointA(uint k) {
    return dvec3(depths[item].points[3u * k], depths[item].points[3u * k + 1u], depths[item].points[3u * k + 2u]);
}

// The limit on faces that EPA cannot expand because of rounding; more indicate a flat D.
const uint MAX_SET_ASIDE = 16u;

// The limits on evaluations of the support function by EPA, and on the steps of a row in both shaders. A step is an
// evaluation, a cap, or as many loop passes as an evaluation takes.
const uint EPA_STEPS = VERTICES + MAX_SET_ASIDE + 16u;
const uint ROW_STEPS = 2u * EPA_STEPS;

uint evaluations;
double depthGap; // gap of computed bounds that a depth may have, as distanceGap for distances

// The result, in memory.
const uint RESULT = SEARCH_QUADS;
void setResult(CoreDepth r) {
    setRowQuad(RESULT, r.axis, r.upper);
    setRowQuad(RESULT + 1u, r.point, r.lower);
    setRowQuad(RESULT + 2u, r.pointA, r.witnessGap);
}
CoreDepth result() {
    return CoreDepth(rowNumber(RESULT), rowNumber(RESULT + 1u), rowNumber(RESULT + 2u), rowVector(RESULT),
                     rowVector(RESULT + 1u), rowVector(RESULT + 2u));
}

// differenceVertex returns the vertex of D of two points of the cores that are support points along d and -d, and its
// point of A.
dvec3 differenceVertex(dvec3 coreA, dvec3 coreB, dvec3 d, out dvec3 pointA) {
    precise dvec3 a = coreA - shapeA.erode * d;
    precise dvec3 b = rotation * coreB + translation + shapeB.erode * d;
    precise dvec3 w = a - b;
    pointA = a;
    return w;
}

// supportOfDifference returns the support point of D along the unit vector d, and its point of A.
dvec3 supportOfDifference(dvec3 d, out dvec3 pointA) {
    recallPair();
    precise dvec3 rotated = d * rotation;
    dvec3 coreA, coreB = dvec3(0);
    for (uint k = 0u; k < 2u; k++) { // both shapes by one text of the support functions: half the code
        coreA = coreB;
        coreB = coreSupport(shapeOf(k), k == 1u ? -rotated : d);
    }
    recallPair();
    evaluations++;
    return differenceVertex(coreA, coreB, d, pointA);
}

// passesPerStep bounds the loop passes of a step.
uint passesPerStep() { return 3u + supportPasses(shapeA) + supportPasses(shapeB); }

// stepLimit returns the largest number of steps, up to limit, that the limits of the query permit: on loop passes, of
// which the polytope itself takes sweeps and support functions have the rest, and on evaluations. It is 0 if these are
// too small.
uint stepLimit(uint limit, uint sweeps) {
    if (query.loop_limit <= sweeps) return 0u;
    limit = min(limit, (query.loop_limit - sweeps) / passesPerStep());
    return query.max_iterations == 0u ? limit : min(limit, max(query.max_iterations, evaluations) - evaluations);
}

double depthLimit() {
    return isPolytope(shapeA) && isPolytope(shapeB) ? tolerance : joined(query.exact[4], query.exact[5]) * size;
}

// takeItem sets the record of the invocation, and returns false if there is none.
bool takeItem() {
    invocation = gl_GlobalInvocationID.x;
    item = query.first_depth + invocation;
    return invocation < INVOCATIONS && item < rowsIn(LIST_DEPTHS);
}

// loadRow sets the pair and the query of the record.
void loadRow(IndexRecord index) {
    refined = true;
    shapeA = loadShape(index.shape_a);
    shapeB = loadShape(index.shape_b);
    radius = shapeA.radius + shapeB.radius + shapeA.erode + shapeB.erode;
    loadPose(index);
    loadQuery();
    depthGap = computedGapFor(depthLimit());
    storePair();
    evaluations = depths[item].iterations;
}

// writeAnswer writes the answer that the result proves, and returns false if it proves none.
bool writeAnswer(IndexRecord index, uint solver) {
    recallPair();
    recallAnswer();
    Answer a = answerOf(result());
    if (a.distance < 0.0lf) tolerance = depthLimit();
    uint status = classify(a);
    if (status == DECLINED) return false;
    answeredByDepth = status != STATUS_SEPARATED;
    writeStatus(index.row, status, solver, evaluations);
    writeColumns(index.row, index.pose_a, a);
    return true;
}

#endif

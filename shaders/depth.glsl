// Penetration depths in double precision, for the rows of the list of DepthRecords: by EPA (epa.glsl) from the simplex
// with which certify.comp ended, or from the nearest faces that epa_float32.comp found. Where DEPTH_CERTIFICATE is
// defined, it also takes the rows for which trust_region.comp left a local minimum of the support function
// (depth_certificate.glsl).
//
// One invocation answers one row at a time, in its own scratch memory; a dispatch takes as many rows of the list as
// there is memory for. The order of the list depends on the timing of the device, so no computation depends on it.
//
// Bounds: those of these algorithms, for the cores; the radii of both shapes and all roundings are added.
//
// Output: columns. A row is declined with the reason in its record if a polytope fills its memory or rounding stops its
// expansion, with DECLINED_LOOPS if a driver ended a loop early.

#define DOUBLE
#include "layout.glsl"
#include "real.glsl"

layout(local_size_x_id = 0) in;
#ifdef DEPTH_CERTIFICATE
layout(constant_id = 1) const uint METHOD = METHOD_RTR;
#endif

layout(std430, binding = 0) readonly buffer Shapes { ShapeRecord64 shapes[]; };
layout(std430, binding = 1) readonly buffer Vertices { VertexRecord64 vertices[]; };
layout(std430, binding = 2) readonly buffer Poses { PoseRecord poses[]; };
layout(std430, binding = 3) readonly buffer Indices { IndexRecord indices[]; };
layout(std430, binding = 4) buffer Columns { uint words[]; };
layout(std430, binding = 5) readonly buffer Cells { uint cells[]; };
layout(std430, binding = 6) readonly buffer Depths { DepthRecord depths[]; };
layout(std430, binding = 7) buffer Counts { uint counts[]; };
layout(std430, binding = 8) buffer Quads { dvec4 quads[]; };
layout(std430, binding = 9) buffer Faces { uvec4 faces[]; };
layout(std430, binding = 10) buffer Links { uint links[]; };
layout(push_constant) uniform Query { QueryRecord query; };

#include "pair_float64.glsl"
#include "list.glsl"

uint item; // index of the record
dvec3 simplexVertex(uint k) {
    return dvec3(depths[item].vertices[3u * k], depths[item].vertices[3u * k + 1u], depths[item].vertices[3u * k + 2u]);
}
dvec3 simplexPointA(uint k) {
    return dvec3(depths[item].points[3u * k], depths[item].points[3u * k + 1u], depths[item].points[3u * k + 2u]);
}

bool minimumGiven() { return depths[item].faces == DEPTH_STATIONARY; }
dvec3 minimumDirection() { return simplexVertex(1u); }
double simplexWeight(uint k) { return depths[item].weights[k]; }
uint float32Faces() { return minimumGiven() ? 0u : min(depths[item].faces, FLOAT32_FACES); }
uint float32Corner(uint k) { return depths[item].corners[k]; }
bool float32Fits(double value) {
    return abs(value - double(depths[item].least_offset)) <= double(depths[item].rounding);
}
double float32Others() { return double(depths[item].other_offsets); }

#include "epa.glsl"

void main() {
    invocation = gl_GlobalInvocationID.x;
    item = query.first_depth + invocation;
    if (invocation >= INVOCATIONS || item >= rowsIn(LIST_DEPTHS)) return;
    refined = true;
    IndexRecord index = indices[depths[item].slot];
    shapeA = loadShape(index.shape_a);
    shapeB = loadShape(index.shape_b);
    radius = shapeA.radius + shapeB.radius + shapeA.erode + shapeB.erode;
    loadPose(index);
    loadQuery();
    double depthLimit =
        isPolytope(shapeA) && isPolytope(shapeB) ? tolerance : joined(query.exact[4], query.exact[5]) * size;
    depthGap = computedGapFor(depthLimit);

    evaluations = depths[item].iterations;
    if (query.max_iterations != 0u && evaluations > query.max_iterations) {
        decline(index.row, depths[item].declined);
        return;
    }
    uint steps = stepLimit(query.loop_limit);
    if (query.max_iterations != 0u) steps = min(steps, max(query.max_iterations, evaluations) - evaluations);
    CoreDepth r;
    bool found = searchDepth(depths[item].count, steps, r);
    if (!loopsCompleted()) {
        decline(index.row, DECLINED_LOOPS);
        return;
    }
    uint status = DECLINED;
    Answer a;
    if (found) {
        a = answerOf(r);
        if (a.distance < 0.0lf) tolerance = depthLimit;
        status = classify(a);
    }
    if (status == DECLINED) {
        decline(index.row, depths[item].declined);
        return;
    }
    answeredByDepth = status != STATUS_SEPARATED;
    writeStatus(index.row, status, fromMinimum ? SOLVER_RTR : SOLVER_EPA, evaluations);
    writeColumns(index.row, index.pose_a, a);
}

// Depths, in double precision: takes the rows whose cores certify.comp could not tell
// apart, with the simplex that it ended with, and answers them by the separating axes of
// boxes or by the expanding polytope algorithm. One invocation works on one row at a
// time, in scratch memory of its own; a dispatch takes as many rows of the list as there is
// memory for. Which place of the list a row has depends on the device's mood, so
// nothing that is computed does.
//
// A polytope that fills its memory or is flat leaves its row declined: another back end
// answers it.
//
// Where SURROUND is defined it takes as well the rows of which rtr.comp left a local minimum of the
// support function, see surround.glsl. That is for the methods that have such rows.

#define DOUBLE
#include "layout.glsl"
#include "real.glsl"

layout(local_size_x_id = 0) in;
#ifdef SURROUND
layout(constant_id = 1) const uint METHOD = METHOD_RTR;
#endif

layout(std430, binding = 0) readonly buffer Shapes { ShapeRecord64 shapes[]; };
layout(std430, binding = 1) readonly buffer Vertices { VertexRecord64 vertices[]; };
layout(std430, binding = 2) readonly buffer Poses { PoseRecord poses[]; };
layout(std430, binding = 3) readonly buffer Indices { IndexRecord indices[]; };
layout(std430, binding = 4) buffer Columns { uint words[]; };
layout(std430, binding = 5) readonly buffer Cells { uint cells[]; };
layout(std430, binding = 6) readonly buffer Seeds { SeedRecord seeds[]; };
layout(std430, binding = 7) readonly buffer Counts { uint counts[]; };
layout(std430, binding = 8) buffer Quads { dvec4 quads[]; };
layout(std430, binding = 9) buffer Faces { uvec4 faces[]; };
layout(std430, binding = 10) buffer Links { uint links[]; };
layout(push_constant) uniform Query { QueryRecord query; };

#include "pair.glsl"

dvec3 intoB(dvec3 v) {
    precise dvec3 u = v * rotation;
    return u;
}

dvec3 difference(dvec3 a, dvec3 b) {
    precise dvec3 w = a - (rotation * b + translation);
    return w;
}

double lengthUnit() { return 1.0lf; }

uint item; // of the list
dvec3 seedVertex(uint k) {
    return dvec3(seeds[item].vertices[3u * k], seeds[item].vertices[3u * k + 1u], seeds[item].vertices[3u * k + 2u]);
}
dvec3 seedPoint(uint k) {
    return dvec3(seeds[item].points[3u * k], seeds[item].points[3u * k + 1u], seeds[item].points[3u * k + 2u]);
}

bool stationary() { return seeds[item].faces == SEED_STATIONARY; }
dvec3 stationaryDirection() { return seedVertex(1u); }
double seedWeight(uint k) { return seeds[item].weights[k]; }
uint sketchFaces() { return stationary() ? 0u : min(seeds[item].faces, SKETCH_FACES); }
uint sketchCorner(uint k) { return seeds[item].corners[k]; }
bool sketchFits(double height) { return abs(height - double(seeds[item].height)) <= double(seeds[item].doubt); }
double sketchBeyond() { return double(seeds[item].beyond); }

#include "boxes.glsl"

// answer moves the answer for the cores to the shapes. As ref has it, the distance is
// minus the depth that is surely enough.
Answer answer(Core r) {
    double ra = shapeA.radius + shapeA.erode, rb = shapeB.radius + shapeB.erode;
    Answer out_;
    precise double d = -r.high - radius;
    precise double below = d - roundoff;
    precise double above = max(-r.low, r.off - r.high) - radius + roundoff;
    out_.distance = d;
    out_.lower = below;
    out_.upper = above;
    out_.normal = r.axis;
    precise dvec3 wa = r.made + ra * r.axis;
    precise dvec3 wb = (r.made - r.near) - rb * r.axis;
    out_.witnessA = wa;
    out_.witnessB = wb;
    return out_;
}

void main() {
    lane = gl_GlobalInvocationID.x;
    item = query.first_seed + lane;
    if (lane >= LANES || item >= counts[0]) return;
    refined = true;
    IndexRecord index = indices[seeds[item].slot];
    shapeA = load(index.shape_a);
    shapeB = load(index.shape_b);
    radius = shapeA.radius + shapeB.radius + shapeA.erode + shapeB.erode;
    pose(index);
    ask();
    double wanted = polytope(shapeA) && polytope(shapeB) ? tolerance : exactly(query.exact[4], query.exact[5]) * size;
    deepEnough = gapWithin(wanted);

    evaluations = seeds[item].iterations;
    Core r;
    bool found = false;
    uint solver = SOLVER_AXES;
    if (query.max_iterations != 0u && evaluations > query.max_iterations) {
        decline(index.row, seeds[item].declined);
        return;
    }
    if (have(KIND_BOX) && shapeA.family == FAMILY_BOX && shapeB.family == FAMILY_BOX) found = boxDepth(r);
    if (!found) {
        uint cap = steps(query.scan_budget);
        if (query.max_iterations != 0u) cap = min(cap, max(query.max_iterations, evaluations) - evaluations);
        found = expandFrom(seeds[item].count, cap, r);
        solver = around ? SOLVER_RTR : SOLVER_EPA;
    }
    if (!whole()) {
        decline(index.row, DECLINED_BUDGET);
        return;
    }
    uint status = DECLINED;
    Answer a;
    if (found) {
        a = answer(r);
        if (a.distance < 0.0lf) tolerance = wanted;
        status = classify(a);
    }
    if (status == DECLINED) {
        decline(index.row, seeds[item].declined);
        return;
    }
    deepened = status != STATUS_SEPARATED;
    writeStatus(index.row, status, solver, evaluations);
    writeColumns(index.row, index.pose_a, a);
}

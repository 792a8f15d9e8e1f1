// Ends the rows for which single precision found a stationary direction of the support
// function: polishes it in double precision, and proves the answer. Apart, any direction
// proves the distance. In penetration the direction proves how deep the shapes are at most
// as it is, and that they are not less deep where the cores less the balls that roll in
// them are apart along it (paper 002, Theorem 1), or by an inscribed ellipsoid. A row that
// is not proved goes on in certify.comp from this direction.
#version 450
#extension GL_GOOGLE_include_directive : require

#define DOUBLE
#include "layout.glsl"
#include "real.glsl"

layout(local_size_x_id = 0) in;
layout(constant_id = 1) const uint METHOD = METHOD_RTR;

layout(std430, binding = 0) readonly buffer Shapes { ShapeRecord64 shapes[]; };
layout(std430, binding = 1) readonly buffer Vertices { VertexRecord64 vertices[]; };
layout(std430, binding = 2) readonly buffer Poses { PoseRecord poses[]; };
layout(std430, binding = 3) readonly buffer Indices { IndexRecord indices[]; };
layout(std430, binding = 4) buffer Guesses { GuessRecord guesses[]; };
layout(std430, binding = 5) buffer Columns { uint words[]; };
layout(std430, binding = 6) readonly buffer Cells { uint cells[]; };
layout(push_constant) uniform Query { QueryRecord query; };

#include "pair.glsl"
#include "columns.glsl"

dvec3 intoB(dvec3 v) {
    precise dvec3 u = v * rotation;
    return u;
}

dvec3 difference(dvec3 a, dvec3 b) {
    precise dvec3 w = a - (rotation * b + translation);
    return w;
}

double lengthUnit() { return 1.0lf; }

#include "trust.glsl"
#include "ellipsoids.glsl"

// Looks beyond which a row is left: from what single precision found two or three do.
const uint MAX_LOOKS = 24u;

// answer is what a direction proves.
Answer answer(Stationary p) {
    Answer r;
    double ra = shapeA.radius, rb = shapeB.radius, erode = shapeA.erode + shapeB.erode;
    precise double d = -p.h - (ra + rb);
    precise double below = d - roundoff;
    precise double above = scale; // no signed distance exceeds that of the two centres
    precise double slack = -p.h + p.slope;
    if (p.h < erode) {
        precise dvec3 w = p.w - erode * p.x;
        above = max(norm(w), slack + erode) - radius + roundoff;
    } else if (ellipsoid(shapeA) && ellipsoid(shapeB)) {
        tolerance = exactly(query.exact[4], query.exact[5]) * size; // of depths of curved shapes
        double depth;
        if (provedDepth(p, gapWithin(tolerance), depth)) above = max(-depth, slack) - (ra + rb) + roundoff;
    }
    r.distance = d;
    r.lower = below;
    r.upper = above;
    r.normal = p.x;
    precise dvec3 wa = p.a + ra * p.x;
    precise dvec3 wb = (p.a - p.w) - rb * p.x;
    r.witnessA = wa;
    r.witnessB = wb;
    return r;
}

void main() {
    uint slot = gl_GlobalInvocationID.x;
    if (slot >= query.rows || guesses[slot].state != GUESS_STATIONARY) return;
    IndexRecord index = indices[slot];
    shapeA = load(index.shape_a);
    shapeB = load(index.shape_b);
    radius = shapeA.radius + shapeB.radius + shapeA.erode + shapeB.erode;
    pose(index);
    ask();
    uint looks = guesses[slot].iterations;
    uint cap = min(MAX_LOOKS, query.scan_budget / (1u + passes(shapeA) + passes(shapeB)));
    if (query.max_iterations != 0u) cap = min(cap, max(query.max_iterations, looks) - looks);
    if (cap == 0u) return;
    precise double enough = cut ? -(cutOff + shapeA.radius + shapeB.radius + roundoff) : -4.0lf * scale;
    dvec3 u = dvec3(guesses[slot].directions[0], guesses[slot].directions[1], guesses[slot].directions[2]);
    uint before = looks;
    Stationary p = trust(-unitOf(u), stop, roundoff, enough, cap, looks);
    refined = looks - before > 1u;
    Answer r = answer(p);
    uint status = classify(r);
    if (status == DECLINED || !whole()) {
        guesses[slot].iterations = looks;
        for (int k = 0; k < 3; k++) guesses[slot].directions[k] = float(-p.x[k]);
        return;
    }
    guesses[slot].state = GUESS_ENDED;
    writeStatus(index.row, status, SOLVER_RTR, looks);
    writeColumns(index.row, index.pose_a, r);
}

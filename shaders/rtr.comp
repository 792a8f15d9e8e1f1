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
layout(std430, binding = 7) writeonly buffer Seeds { SeedRecord seeds[]; };
layout(std430, binding = 8) buffer Counts { uint counts[]; }; // of seeds
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

// Looks that are left to rows of which single precision took all that it might.
const uint LAST_LOOKS = 8u;

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

// handOn leaves the row to depth.comp: the vertex along p of the eroded cores, and its direction.
void handOn(uint slot, Stationary p, uint looks) {
    uint at = atomicAdd(counts[0], 1u);
    seeds[at].slot = slot;
    seeds[at].count = 1u;
    seeds[at].iterations = looks;
    seeds[at].declined = DECLINED_OVERLAP;
    seeds[at].faces = SEED_STATIONARY;
    seeds[at].weights[0] = 1.0lf;
    precise dvec3 a = p.a - shapeA.erode * p.x, w = p.w - (shapeA.erode + shapeB.erode) * p.x;
    for (uint k = 0u; k < 3u; k++) {
        seeds[at].vertices[k] = w[k];
        seeds[at].vertices[3u + k] = p.x[k];
        seeds[at].points[k] = a[k];
    }
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
    uint cap = min(MAX_LOOKS + LAST_LOOKS - min(looks, MAX_LOOKS), query.scan_budget / (1u + passes(shapeA) + passes(shapeB)));
    if (query.max_iterations != 0u) cap = min(cap, max(query.max_iterations, looks) - looks);
    if (cap == 0u) return;
    precise double enough = cut ? -(cutOff + shapeA.radius + shapeB.radius + roundoff) : -4.0lf * scale;
    dvec3 u = dvec3(guesses[slot].directions[0], guesses[slot].directions[1], guesses[slot].directions[2]);
    uint before = looks;
    Stationary p = trust(-unitOf(u), stop, roundoff, enough, cap, looks);
    refined = looks - before > 1u;
    Answer r = answer(p);
    uint status = classify(r);
    double deep = gapWithin(exactly(query.exact[4], query.exact[5]) * size);
    if (status == DECLINED && p.h > shapeA.erode + shapeB.erode + roundoff && p.slope <= 0.5lf * deep && whole()) {
        handOn(slot, p, looks);
        guesses[slot].state = GUESS_ENDED;
        return;
    }
    if (status == DECLINED || !whole()) {
        guesses[slot].iterations = looks;
        for (int k = 0; k < 3; k++) guesses[slot].directions[k] = float(-p.x[k]);
        return;
    }
    guesses[slot].state = GUESS_ENDED;
    writeStatus(index.row, status, SOLVER_RTR, looks);
    writeColumns(index.row, index.pose_a, r);
}

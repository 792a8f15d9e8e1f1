// Ends every row in double precision: forms the vertices of the guess anew from their
// directions, goes on with GJK as far as it takes, and writes the answer with bounds
// that include the rounding errors. A row whose bounds stay too wide goes to depth.comp; one
// that cannot be worked on is declined: its status says so, and another back end answers it.
#version 450
#extension GL_GOOGLE_include_directive : require

#define DOUBLE
#include "layout.glsl"
#include "real.glsl"

layout(local_size_x_id = 0) in;

layout(std430, binding = 0) readonly buffer Shapes { ShapeRecord64 shapes[]; };
layout(std430, binding = 1) readonly buffer Vertices { VertexRecord64 vertices[]; };
layout(std430, binding = 2) readonly buffer Poses { PoseRecord poses[]; };
layout(std430, binding = 3) readonly buffer Indices { IndexRecord indices[]; };
layout(std430, binding = 4) readonly buffer Guesses { GuessRecord guesses[]; };
layout(std430, binding = 5) buffer Columns { uint words[]; };
layout(std430, binding = 6) readonly buffer Cells { uint cells[]; };
layout(std430, binding = 7) writeonly buffer Seeds { SeedRecord seeds[]; };
layout(std430, binding = 8) buffer Counts { uint counts[]; }; // of seeds
layout(push_constant) uniform Query { QueryRecord query; };

#include "pair.glsl"
#include "columns.glsl"

uint slot;
dvec3 guess(uint k) {
    return dvec3(guesses[slot].directions[3u * k], guesses[slot].directions[3u * k + 1u], guesses[slot].directions[3u * k + 2u]);
}

#include "descent.glsl"

// Steps in double precision beyond which a row is declined.
const uint MAX_STEPS = 128u;

// begin sets the state before the first vertex.
void begin() {
    simplex = emptySimplex();
    level = 0u;
    best = -2.0lf * scale;
    lower = best;
    axis = dvec3(1, 0, 0);
    x = axis;
    len = 1.0lf;
}

// plane answers for a half-space in closed form: the lowest point of the other shape.
Answer plane(bool first) {
    Answer r;
    dvec3 n = first ? dvec3(0, 0, 1) : rotation * dvec3(0, 0, 1); // of the half-space
    Shape other = shapeA;
    dvec3 down = -n;
    if (first) {
        other = shapeB;
        precise dvec3 turned = n * rotation;
        down = -turned;
    }
    dvec3 p = coreSupport(other, down);
    precise dvec3 q = first ? rotation * p + translation : p - translation;
    double core = product(n, q);
    precise double d = core - radius;
    r.distance = d;
    r.lower = d - roundoff;
    r.upper = d + roundoff;
    precise dvec3 low = (first ? q : p) - other.radius * n;
    precise dvec3 foot = low - d * n; // d is against n seen from A
    r.normal = first ? n : -n;
    r.witnessA = first ? foot : low;
    r.witnessB = first ? low : foot;
    tolerance = max(tolerance, 4.0lf * grain);
    return r;
}

// finish turns the state into an answer.
Answer finish(bool inside) {
    Answer r;
    straighten();
    double up = len, down = boolean ? best : lower;
    // The witnesses are -x apart, and distance times normal is -len·axis: that these are
    // the same is promised up to the gap as well.
    precise dvec3 apart = x - len * axis;
    if (!boolean) down = min(down, up - norm(apart));
    if (inside) {
        // No depth exceeds the width of A - B along the line of the centres.
        down = -scale;
        if (simplex.n == 4u) up = -depthInside();
    }
    precise double d = up - radius;
    precise double above = d + roundoff;
    precise double below = down - radius - roundoff;
    r.distance = d;
    r.upper = above;
    r.lower = below;
    r.normal = -axis;
    // The witnesses of the cores move to the surfaces along the normal.
    dvec3 a = payload(simplex);
    precise dvec3 wa = a - (shapeA.radius + shapeA.erode) * axis;
    precise dvec3 wb = (a - x) + (shapeB.radius + shapeB.erode) * axis;
    r.witnessA = wa;
    r.witnessB = wb;
    return r;
}

// handOn leaves the row to depth.comp, which writes its status, too.
void handOn(uint why) {
    uint at = atomicAdd(counts[0], 1u);
    seeds[at].slot = slot;
    seeds[at].count = simplex.n;
    seeds[at].iterations = evaluations;
    seeds[at].declined = why;
    seeds[at].faces = 0u;
    for (uint k = 0u; k < 4u; k++) seeds[at].weights[k] = simplex.weight[k];
    for (uint k = 0u; k < 3u; k++) {
        seeds[at].vertices[k] = simplex.w0[k];
        seeds[at].vertices[3u + k] = simplex.w1[k];
        seeds[at].vertices[6u + k] = simplex.w2[k];
        seeds[at].vertices[9u + k] = simplex.w3[k];
        seeds[at].points[k] = simplex.p0[k];
        seeds[at].points[3u + k] = simplex.p1[k];
        seeds[at].points[6u + k] = simplex.p2[k];
        seeds[at].points[9u + k] = simplex.p3[k];
    }
}

void main() {
    slot = gl_GlobalInvocationID.x;
    if (slot >= query.rows) return;
    refined = false;
    if (guesses[slot].state == GUESS_ENDED) return;
    IndexRecord index = indices[slot];
    uint row = index.row;
    if (index.shape_a == NO_SHAPE) {
        writeStatus(row, STATUS_INVALID, SOLVER_NONE, 0u);
        return;
    }
    shapeA = load(index.shape_a);
    shapeB = load(index.shape_b);
    bool halfA = have(KIND_HALFSPACE) && shapes[index.shape_a].kind == KIND_HALFSPACE;
    bool halfB = have(KIND_HALFSPACE) && shapes[index.shape_b].kind == KIND_HALFSPACE;
    if ((shapeA.family == FAMILY_NONE && !halfA) || (shapeB.family == FAMILY_NONE && !halfB)) {
        decline(row, DECLINED_KIND);
        return;
    }
    if (halfA || halfB) { shapeA.erode = 0.0lf; shapeB.erode = 0.0lf; }
    radius = shapeA.radius + shapeB.radius + shapeA.erode + shapeB.erode;
    pose(index);
    ask();

    evaluations = guesses[slot].iterations;
    bool inside = false;
    Answer r;
    if (halfA || halfB) {
        evaluations = 1u;
        r = plane(halfA);
    } else {
        uint cost = 1u + passes(shapeA) + passes(shapeB);
        uint budget = query.scan_budget / cost;
        if (budget < 6u) { // four vertices of the guess and two steps
            decline(row, DECLINED_BUDGET);
            return;
        }
        uint cap = min(MAX_STEPS, budget - 4u);
        if (query.max_iterations != 0u) {
            uint spent = evaluations + min(guesses[slot].count, 4u);
            cap = min(cap, max(query.max_iterations, spent) - spent);
        }
        begin();
        inside = descend(clamp(guesses[slot].count, 1u, 4u), cap);
        r = finish(inside);
    }
    uint status = classify(r);
    if (!whole()) {
        decline(row, DECLINED_BUDGET);
        return;
    }
    if (status == DECLINED) {
        if (halfA || halfB) decline(row, DECLINED_GAP);
        else handOn(inside ? DECLINED_OVERLAP : DECLINED_GAP);
        return;
    }
    if (boolean && !halfA && !halfB) {
        // The question is answered, and witnesses and normal come from different steps.
        // The bound that the answer does not rest on says how far apart they are, and what
        // the normal proves may be less than what another direction did.
        precise dvec3 apart = x - len * axis;
        double off = norm(apart);
        if (status == STATUS_SEPARATED) r.upper = max(r.upper, r.distance + off);
        else r.lower = min(min(r.lower, r.distance - off), lower - radius - roundoff);
    }
    uint solver = halfA || halfB ? SOLVER_CLOSED_FORM : refined ? SOLVER_GJK : guesses[slot].solver;
    writeStatus(row, status, solver, evaluations);
    writeColumns(row, index.pose_a, r);
}

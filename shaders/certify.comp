// Proves the rows that prove.comp leaves, in double precision: forms the vertices of the initial simplex anew,
// continues with GJK as far as the gap requires (gjk_float64.glsl), and stores the answer with bounds that include all
// rounding errors. Half-spaces are answered in closed form.
//
// Bounds, with the point x of the simplex nearest to the origin, the sum R of the radii and the rounding bound ρ:
//
//     disjoint cores      |x| - R + ρ from above, min <x/|x|, D> - R - ρ from below: separated iff this is positive
//     intersecting cores  -(depth of the origin in the simplex) - R from above, -(diameter of the pair) from below
//
// Input: the simplices of gjk.comp, or the directions of rows that trust_region.comp did not prove, by the list of
// prove.comp.
//
// Output: columns. A row whose bounds stay too wide, most often because its cores intersect, goes to the list of
// DepthRecords, which depth.glsl answers. A row is declined, and left to another back end, if its kind has no shader
// (DECLINED_KIND), if its support functions exceed the limit on loop passes (DECLINED_LOOPS), or (DECLINED_GAP) if a
// half-space's bounds stay too wide or the pair is two points closer than SHORTEST_LENGTH.
#version 450
#extension GL_GOOGLE_include_directive : require

#define DOUBLE
#include "layout.glsl"
#include "real.glsl"

layout(local_size_x_id = 0) in;
layout(constant_id = 5) const uint BOOLEAN = 0u; // not 0: the query is for a status alone
layout(constant_id = 6) const uint FINE = 1u;    // not 0: the tolerance requires directions to their last digits
#define BOOLEAN_QUERY (BOOLEAN != 0u)

layout(std430, binding = 0) readonly buffer Shapes64 { ShapeRecord64 shapes[]; };
layout(std430, binding = 1) readonly buffer Vertices64 { VertexRecord64 vertices[]; };
layout(std430, binding = 2) readonly buffer Poses { PoseRecord poses[]; };
layout(std430, binding = 3) volatile buffer Indices { IndexRecord indices[]; }; // see row.glsl
layout(std430, binding = 4) readonly buffer Searches { SearchRecord searches[]; };
layout(std430, binding = 5) buffer Columns { uint words[]; };
layout(std430, binding = 6) readonly buffer Cells { uint cells[]; };
layout(std430, binding = 7) writeonly buffer Depths { DepthRecord depths[]; };
layout(std430, binding = 8) buffer Counts { uint counts[]; };
layout(std430, binding = 9) readonly buffer Continued { uint continued[]; }; // slots of LIST_CONTINUE
layout(push_constant) uniform Query { QueryRecord query; };

#include "pair_float64.glsl"
#include "store.glsl"
#include "search_result.glsl"
#include "list.glsl"
#include "row.glsl"

bool withHalfSpace() { return isHalfSpace(0) || isHalfSpace(1); }
bool initialCorners() { return cornersGiven(slot); }
dvec3 initialDirection(uint k) {
    dvec3 d = dvec3(sourceOf(slot, k));
    if (isHalfSpace(0)) d = dvec3(0, 0, -1);
    else if (isHalfSpace(1)) d = rotation[2];
    return d;
}

#include "gjk_float64.glsl"

// The limit on steps in double precision.
const uint MAX_STEPS = 128u;

// The squares of shorter lengths underflow. From here on their error, 2^-1074 in a square and so 1e-161 in a length, is
// far below lengthRounding, which is 2.7e-155 at least.
const double SHORTEST_LENGTH = 1e-140lf;

// initializeSearch sets the state before the first vertex.
void initializeSearch() {
    simplex = emptySimplex();
    stepsWithoutDecrease = 0u;
    best = -2.0lf * largestLength;
    lower = best;
    axis = dvec3(1, 0, 0);
    x = axis;
    len = 1.0lf;
}

// certify returns the answer that the state of the search proves. The core of a half-space is its plane: there is one
// evaluation, along its normal, and the bound along that is the distance.
Answer certify(bool inside) {
    Answer r;
    bool halfSpace = withHalfSpace();
    projectOnLongestEdge();
    double upper = halfSpace ? lower : len, bound = booleanQuery ? best : lower;
    // The witnesses differ by -x, and distance times normal is -len·axis. The gap includes the difference of the two.
    precise dvec3 offset = x - len * axis;
    double offsetLength = norm(offset);
    if (!booleanQuery && !halfSpace) bound = min(bound, upper - offsetLength);
    if (inside) {
        // No depth exceeds the width of A - B along the line of the centers.
        bound = -largestLength;
        // For a value the bounds are too wide, unless the tolerance exceeds half of `size`: the tetrahedron lies in a
        // ball of radius `size`, so its inscribed ball has at most a third of that.
        if (BOOLEAN_QUERY && simplex.n == 4u) upper = -depthInTetrahedron();
    }
    precise double d = upper - radius;
    precise double above = d + supportRounding;
    precise double below = bound - radius - supportRounding;
    r.distance = d;
    r.upper = above;
    r.lower = below;
    r.normal = -axis;
    // The witnesses of the cores move to the surfaces along the normal.
    shapeA = loadShape(recordOf(0));
    shapeB = loadShape(recordOf(1));
    dvec3 a = payloadOf(simplex);
    precise dvec3 wa = a - (shapeA.radius + shapeA.erode) * axis;
    precise dvec3 wb = (a - x) + (shapeB.radius + shapeB.erode) * axis;
    precise dvec3 across = d * axis; // to the projection on the half-space
    r.witnessA = isHalfSpace(0) ? wb + across : wa;
    r.witnessB = isHalfSpace(1) ? wa - across : wb;
    return r;
}

// leaveToDepth adds the row to the list that depth.glsl answers, with the reason if that declines it.
void leaveToDepth(uint why) {
    uint at = addTo(LIST_DEPTHS);
    depths[at].slot = slot;
    depths[at].count = simplex.n;
    depths[at].iterations = evaluations;
    depths[at].declined = why;
    depths[at].faces = 0u;
    for (uint k = 0u; k < 4u; k++) depths[at].weights[k] = simplex.weight[k];
    for (uint k = 0u; k < 3u; k++) {
        depths[at].vertices[k] = simplex.w0[k];
        depths[at].vertices[3u + k] = simplex.w1[k];
        depths[at].vertices[6u + k] = simplex.w2[k];
        depths[at].vertices[9u + k] = simplex.w3[k];
        depths[at].points[k] = simplex.p0[k];
        depths[at].points[3u + k] = simplex.p1[k];
        depths[at].points[6u + k] = simplex.p2[k];
        depths[at].points[9u + k] = simplex.p3[k];
    }
}

// begin loads the row and returns the limit on its steps. It answers rows without a pair, declines those that cannot be
// answered, and reports whether the row is neither.
bool begin(IndexRecord index, out uint stepLimit) {
    stepLimit = 0u;
    if (index.shape_a == NO_SHAPE) {
        writeStatus(index.row, STATUS_INVALID, SOLVER_NONE, 0u);
        return false;
    }
    shapeA = loadShape(index.shape_a);
    shapeB = loadShape(index.shape_b);
    bool halfA = isHalfSpace(0), halfB = isHalfSpace(1);
    radius = shapeA.radius + shapeB.radius + shapeA.erode + shapeB.erode;
    loadPose(index);
    loadQuery();
    evaluations = 0u;
    uint declined = 0u;
    if ((shapeA.coreClass == CLASS_NONE && !halfA) || (shapeB.coreClass == CLASS_NONE && !halfB))
        declined = DECLINED_KIND;
    else if (!(largestLength >= SHORTEST_LENGTH)) declined = DECLINED_GAP;
    else if (!halfA && !halfB) {
        evaluations = searches[slot].iterations;
        uint cost = 1u + supportPasses(shapeA) + supportPasses(shapeB);
        uint passLimit = query.loop_limit / cost;
        if (passLimit < 6u) declined = DECLINED_LOOPS; // four vertices of the initial simplex and two steps
        stepLimit = min(MAX_STEPS, passLimit - 4u);
        if (query.max_iterations != 0u) {
            uint made = evaluations + (cornersGiven(slot) ? 0u : min(vertexCountOf(slot), 4u));
            stepLimit = min(stepLimit, max(query.max_iterations, made) - made);
        }
    }
    if (declined != 0u) decline(index.row, declined);
    return declined == 0u;
}

// storeAnswer stores the answer, or leaves the row to another shader or back end.
void storeAnswer(uint row, Answer r, bool inside) {
    bool halfSpace = withHalfSpace();
    uint status = classify(r);
    if (!loopsCompleted()) {
        decline(row, DECLINED_LOOPS);
        return;
    }
    if (status == DECLINED) {
        if (halfSpace) decline(row, DECLINED_GAP);
        else leaveToDepth(inside ? DECLINED_INTERSECTING : DECLINED_GAP);
        return;
    }
    if (booleanQuery && !halfSpace) {
        // The status is proved, and witnesses and normal come from different steps. The bound that the status does not
        // rest on includes their difference, and the bound along the normal, which may be weaker than the best one.
        precise dvec3 offset = x - len * axis;
        double offsetLength = norm(offset);
        if (status == STATUS_SEPARATED) r.upper = max(r.upper, r.distance + offsetLength);
        else r.lower = min(min(r.lower, r.distance - offsetLength), lower - radius - supportRounding);
    }
    uint solver = halfSpace ? SOLVER_CLOSED_FORM : refined ? SOLVER_GJK : searches[slot].solver;
    writeStatus(row, status, solver, evaluations);
    writeColumns(row, indices[slot].pose_a, r);
}

void main() {
    if (gl_GlobalInvocationID.x >= rowsIn(LIST_CONTINUE)) return;
    slot = continued[gl_GlobalInvocationID.x];
    refined = false;
    uint stepLimit;
    if (!begin(indices[slot], stepLimit)) return;
    initializeSearch();
    bool inside = runGJK(withHalfSpace() ? 1u : clamp(vertexCountOf(slot), 1u, 4u), stepLimit) && !withHalfSpace();
    storeAnswer(indices[slot].row, certify(inside), inside);
}

// Proves the rows that prove.comp leaves, in double precision: forms the vertices of the initial simplex anew,
// continues with GJK as far as the gap requires, and stores the answer with bounds that include all rounding errors.
// Half-spaces are answered in closed form.
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

#include "pair.glsl"
#include "store.glsl"
#include "search_result.glsl"
#include "list.glsl"
#include "row.glsl"

bool withHalfSpace() { return isHalfSpace(0) || isHalfSpace(1); }
// Whether the vertices of the initial simplex are given by their corners; their directions, or the numbers of the
// corners of A and of B.
bool initialCorners() { return cornersGiven(slot); }
dvec3 initialDirection(uint k) {
    dvec3 d = dvec3(sourceOf(slot, k));
    if (isHalfSpace(0)) d = dvec3(0, 0, -1);
    else if (isHalfSpace(1)) d = rotation[2];
    return d;
}

// GJK in double precision [Montanari2017, Alg. 1] from the directions that single precision found, with the bounds
// that it proves, as in package ref.
//
// Bounds. For any unit direction u the minimum of <u, w> over D, the difference of the eroded cores, is a lower bound
// of their distance (the dual bound); the norm of any point x of the simplex is an upper bound.
//
// Invariant: the simplex consists of points of D, x is its point nearest to the origin and len its norm, best is the
// greatest lower bound so far, and axis and lower are the latest direction along x with its bound.
//
// Registers. A compiler keeps two copies of a state where a loop has several exits, or where an `inout` parameter is
// written in one branch alone. So runGJK ends at the condition of its loop, and the simplex is a global variable.
// Shapes are loaded for each evaluation instead of kept.

#include "exact.glsl"
#include "simplex.glsl"

// The state of the search.
Simplex simplex; // payload: the point of A
dvec3 x;         // point of the simplex nearest to the origin
double len;      // |x|
double best;     // best lower bound of the distance of the cores along any direction
double lower;    // lower bound along axis
dvec3 axis;      // unit direction of the latest support along x: from B to A
dvec3 latestVertex, latestPointA;
uint evaluations;
uint stepsWithoutDecrease; // steps that did not decrease the norm

// Two or three steps at constant norm complete a triangle around the projection of the origin. The others are reserve.
const uint MAX_STEPS_WITHOUT_DECREASE = 12u;

// evaluateSupport finds the vertex that minimises <dir, w>, and updates the lower bounds. along says that dir is the
// direction of x, so that witnesses and normal belong together. With corner, dir holds the numbers of the corners of a
// vertex instead, and there is no bound.
void evaluateSupport(dvec3 dir, bool along, bool corner) {
    double l = norm(dir);
    precise dvec3 u = l > 0.0lf ? dir / l : dvec3(1, 0, 0); // any direction proves a bound
    precise dvec3 rotated = u * rotation;
    dvec3 a = dvec3(0), b = dvec3(0);
    for (int k = 0; k < 2; k++) { // both shapes by one text of the support functions: half the code
        Shape s = loadShape(recordOf(k));
        dvec3 core;
        if (corner) core = cornerPosition(s, uint(k == 0 ? dir.x : dir.y));
        else core = coreSupport(s, k == 0 ? -u : rotated);
        if (k == 0) {
            precise dvec3 point = core + s.erode * u;
            a = point;
        } else {
            precise dvec3 point = rotation * core + translation - s.erode * u;
            b = point;
        }
    }
    precise dvec3 w = a - b;
    latestPointA = a;
    latestVertex = w;
    if (!corner) {
        evaluations++;
        double h = dotProduct(u, w);
        if (along || (booleanQuery && h > best)) {
            lower = h;
            axis = u;
        }
        if (h > best) best = h;
    }
}

// boundsSuffice reports whether the bounds answer the query.
bool boundsSuffice() {
    if (booleanQuery) return best - supportRounding > radius || (simplex.n > 0u && len + supportRounding < radius);
    if (simplex.n == 0u) return false;
    if (hasCutOff && lower - supportRounding - radius > cutOff) return true;
    return len - lower <= distanceGap;
}

bool separated() { return best > supportRounding; }

bool inSimplex(dvec3 w) {
    return (simplex.n > 0u && simplex.w0 == w) || (simplex.n > 1u && simplex.w1 == w) ||
           (simplex.n > 2u && simplex.w2 == w) || (simplex.n > 3u && simplex.w3 == w);
}

// addVertex adds the latest vertex, unless the simplex contains it.
bool addVertex() {
    if (inSimplex(latestVertex)) return false;
    setSlot(simplex, simplex.n, latestVertex, latestPointA);
    simplex.n++;
    return true;
}

// project moves x to the nearest point of the simplex, to which a vertex was added when it had n vertices; n is 0 for
// a new simplex. It returns whether that was progress; if not, simplex and x are restored. A decrease of the norm is
// progress. But a rotation of x by an angle d changes the norm by d² only, and the bound of a flat face by d, so a few
// steps without decrease of the norm are accepted as well.
bool project(uint n, out bool inside) {
    real4 previous = simplex.weight;
    signedVolumes(simplex, separated(), inside);
    dvec3 projection = pointOf(simplex);
    double l = norm(projection);
    bool progress = true;
    if (!inside && n > 0u && !(l < len)) {
        stepsWithoutDecrease++;
        progress = stepsWithoutDecrease <= MAX_STEPS_WITHOUT_DECREASE && l <= len * (1.0lf + 8.0lf * UNIT_ROUNDOFF);
    }
    if (progress) {
        reduce(simplex);
        x = projection;
        len = l;
    } else {
        simplex.n = n;
        simplex.weight = previous;
    }
    return progress;
}

// orderLongestEdgeFirst permutes the simplex, if it is a triangle, so that its longest edge is w0w1.
void orderLongestEdgeFirst() {
    double e01 = squaredNorm(simplex.w1 - simplex.w0), e02 = squaredNorm(simplex.w2 - simplex.w0),
           e12 = squaredNorm(simplex.w2 - simplex.w1);
    bool swap12 = simplex.n == 3u && e02 > e01 && e02 >= e12;
    bool swap02 = simplex.n == 3u && !swap12 && e12 > e01;
    dvec3 w = simplex.w2, p = simplex.p2;
    if (swap12) {
        setSlot(simplex, 2u, simplex.w1, simplex.p1);
        setSlot(simplex, 1u, w, p);
        simplex.weight = simplex.weight.xzyw;
    }
    if (swap02) {
        setSlot(simplex, 2u, simplex.w0, simplex.p0);
        setSlot(simplex, 0u, w, p);
        simplex.weight = simplex.weight.zyxw;
    }
}

// searchDirection returns a vector in the direction of x that is orthogonal to the edges of the simplex to the last
// digits. x itself is a sum that cancels: its direction is off by rounding divided by |x|, and for polytopes the gap
// grows by as much. With FINE 0 it is x: the tolerance is at least 1e-7 of the size of the pair, and largestLength
// exceeds a hundred sizes only where |x| is as large, so that x is off by a few roundings, or where centers of shapes
// are as far from the origins of their frames.
dvec3 searchDirection() {
    if (FINE == 0u || distanceGap > 1e-9lf * largestLength || simplex.n < 2u || simplex.n > 3u) return x;
    orderLongestEdgeFirst();
    precise dvec3 e = simplex.w1 - simplex.w0;
    double ee = squaredNorm(e);
    if (!(ee > 0.0lf)) return x;
    if (simplex.n == 3u) {
        // The normal of the face is off by rounding divided by the altitude of the triangle. It is used where that
        // altitude exceeds |x|, and where it agrees with x.
        dvec3 n = exactCross(e, simplex.w2 - simplex.w0);
        double nn = squaredNorm(n), k = dotProduct(n, x);
        if (nn > len * len * ee && k * k >= 0.25lf * nn * len * len) {
            return n * ((k < 0.0lf ? -1.0lf : 1.0lf) / norm(n));
        }
    }
    precise dvec3 y = x - (dotProduct(e, x) / ee) * e;
    if (simplex.n == 2u) {
        precise dvec3 z = y - (dotProduct(e, y) / ee) * e;
        return z;
    }
    return y;
}

// runGJK forms the initial simplex from its corners or directions and runs GJK until the query is answered, a step
// makes no progress, or stepLimit steps are made. It returns whether the cores intersect or cannot be distinguished
// from touching. Both kinds of vertices use one text of the support functions.
bool runGJK(uint directionCount, uint stepLimit) {
    bool inside = false, ended = false;
    for (uint k = 0u; !ended && k < directionCount + stepLimit; k++) {
        bool initial = k < directionCount;
        uint n = initial ? 0u : simplex.n;
        evaluateSupport(initial ? initialDirection(k) : searchDirection(), directionCount == 1u || !initial,
                        initial && initialCorners());
        ended = !initial && boundsSuffice();
        if (ended) continue;
        if (!initial) refined = true;
        bool added = addVertex();
        if (k + 1u < directionCount) continue; // the initial simplex is not complete
        ended = !initial && !added;
        if (ended) continue;
        bool progress = project(n, inside);
        if (len <= supportRounding && !separated()) inside = true;
        ended = inside || !progress || (initial && booleanQuery && boundsSuffice());
    }
    return inside;
}

// projectOnLongestEdge moves x along the longest edge of its simplex to where it is orthogonal to that edge. The
// weights of a triangle of length L and altitude h are off by rounding divided by h, which moves x by L²/h roundings
// along the edge. That hardly changes the norm, but the witnesses would no longer differ by distance·normal.
void projectOnLongestEdge() {
    if (simplex.n != 2u && simplex.n != 3u) return;
    orderLongestEdgeFirst();
    precise dvec3 e = simplex.w1 - simplex.w0;
    double ee = squaredNorm(e);
    if (!(ee > 0.0lf)) return;
    for (int k = 0; k < 2; k++) {
        double t = -dotProduct(e, pointOf(simplex)) / ee;
        t = min(max(t, -simplex.weight.y), simplex.weight.x);
        simplex.weight.xy += dvec2(-t, t);
    }
    x = pointOf(simplex);
    len = norm(x);
}

// depthOfFace returns a lower bound of the distance of the origin from the face pqr of a tetrahedron, on the side of
// its fourth vertex o, and 0 where the side is not certain.
//
// An edge is off by UNIT_ROUNDOFF times its length. So the normal n of the face is off by 2·UNIT_ROUNDOFF·|e|·|f| and
// its own last digits, and offsets along it by that times the length from which they are formed, divided by |n|. The
// error is twice the sum of these. It is not negligible: a face of length 1e4 m and altitude 1e-4 m determines its
// plane to 1e-4 m only.
double depthOfFace(dvec3 p, dvec3 q, dvec3 r, dvec3 o) {
    precise dvec3 e = q - p;
    precise dvec3 f = r - p;
    precise dvec3 g = o - p;
    dvec3 n = exactCross(e, f);
    double l = norm(n);
    if (!(l > 0.0lf)) return 0.0lf;
    double origin = -dotProduct(p, n) / l, other = dotProduct(g, n) / l;
    double error = 16.0lf * UNIT_ROUNDOFF * norm(e) * norm(f) * max(norm(p), norm(g)) / l;
    if (other < 0.0lf) {
        other = -other;
        origin = -origin;
    }
    return other > error && origin > error ? origin - error : 0.0lf;
}

// depthInTetrahedron returns a lower bound of the depth of the origin in a tetrahedron that contains it: its distance
// to the nearest face. Rounding errors of the vertices change it by no more than these errors.
double depthInTetrahedron() {
    dvec3 p = simplex.w0, q = simplex.w1, r = simplex.w2, s = simplex.w3;
    return min(min(depthOfFace(p, q, r, s), depthOfFace(p, q, s, r)),
               min(depthOfFace(p, r, s, q), depthOfFace(q, r, s, p)));
}

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

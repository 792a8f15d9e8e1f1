// GJK in single precision: finds, for every pair, the simplex of D = A - B nearest to the origin, and hands its support
// directions on. Nothing rests on the result: certify.comp forms the vertices anew in double precision and proves the
// answer.
//
// Algorithms: plain GJK [Montanari2017, Alg. 1] with the distance sub-algorithm of simplex.glsl, and its acceleration
// by Nesterov momentum [Montaut2022, Alg. 7 and 8] and by the heavy ball of Polyak [AGIMUS2023, GJK++, Alg. 6 and 7].
// Both end as plain GJK once the momentum no longer helps. With the methods rtr and auto, pairs of curved cores get a
// direction along which the support function is stationary instead, see trust_region.glsl.
//
// Invariant: the simplex consists of points of D of the eroded cores, each the support point along its direction, and x
// is its point nearest to the origin. The search ends as converged (the gap is below the tolerance), inside (the
// simplex contains the origin), stalled (rounding prevents progress) or at the limit of its steps.
//
// Output: the directions of the simplex or its corners, its weights, the evaluations, the state and the solver of every
// slot with two shapes. Half-spaces are left to certify.comp.
#version 450
#extension GL_GOOGLE_include_directive : require

#include "layout.glsl"
#include "real.glsl"

layout(local_size_x_id = 0) in;
layout(constant_id = 1) const uint METHOD = METHOD_GJK;

// A warp takes as long as its slowest row. So the search has two phases where METHOD has no momentum: the second takes
// a list of the rows that have made PHASE_STEPS steps, and their state, and continues with the same bits.
layout(constant_id = 9) const uint PHASE = 0u; // 0: the whole search, 1: its first steps, 2: the others
const uint PHASE_STEPS = 5u;

// Whether steps begin with momentum. The search sets a variable to false where it no longer helps; without this
// constant compilers keep its code for methods that have none.
const bool MOMENTUM = METHOD == METHOD_NESTEROV || METHOD == METHOD_POLYAK;

layout(std430, binding = 0) readonly buffer Shapes { ShapeRecord shapes[]; };
layout(std430, binding = 1) readonly buffer Vertices { vec4 vertices[]; };
layout(std430, binding = 2) readonly buffer Pairs { PairRecord pairs[]; };
layout(std430, binding = 3) buffer Searches { SearchRecord searches[]; };
layout(std430, binding = 4) readonly buffer Cells { uint cells[]; };
layout(std430, binding = 5) buffer Counts { uint counts[]; };
layout(std430, binding = 6) buffer States { SearchStateRecord states[]; }; // of LIST_SEARCH
layout(push_constant) uniform Query { QueryRecord query; };

#include "list.glsl"
#include "pair.glsl"
#include "simplex.glsl"

// SUPPORT_ROUNDING times the largest length in the computation bounds the rounding of a difference of two support
// values: four units of roundoff. A gap below it has no significance.
const float SUPPORT_ROUNDING = 4.0 * UNIT_ROUNDOFF;

// The limit on steps. Double precision needs fewer from there.
const uint MAX_STEPS = 64u;

// Shorter lengths count as this, so that their inverse is finite.
const float SHORTEST_SQUARED = 1e-36;

// difference returns a point of A minus a point of B, each given in the frame of its shape, scaled.
vec3 difference(vec3 a, vec3 b) {
    precise vec3 w = scaleToUnit * differenceOf(a, toFrameA(b));
    return w;
}

#include "trust_region.glsl"

bool corners; // the vertices of the simplex are handed on by the numbers of corners, see search_result.glsl

// evaluateSupport returns the point of the difference of the eroded cores that minimises <u, w>, scaled, and its
// source: the numbers of its corners, or the direction u.
vec3 evaluateSupport(vec3 u, out vec3 source) {
    uint a, b;
    vec3 coreA = coreSupport(shapeA, -u, a), coreB = toFrameA(coreSupport(shapeB, toFrameB(u), b));
    source = corners ? vec3(a, b, 0) : u;
    precise vec3 w = scaleToUnit * (differenceOf(coreA, coreB) + (shapeA.erode + shapeB.erode) * u);
    return w;
}

// interpolate returns p for k = 0 and q for k = 1.
vec3 interpolate(vec3 p, vec3 q, float k) {
    precise vec3 x = p * (1.0 - k) + q * k;
    return x;
}

vec3 normalizedSafely(vec3 v) {
    precise vec3 u = v * (1.0 / max(norm(v), 1e-30));
    return u;
}

void main() {
    uint row = gl_GlobalInvocationID.x, at = row; // at: in the list
    if (PHASE == 2u) {
        if (at >= rowsIn(LIST_SEARCH)) return;
        row = states[at].slot;
    }
    if (row >= query.rows) return;
    PairRecord pair = pairs[row];
    if (pair.shape_a == NO_SHAPE) return;
    shapeA = loadShape(pair.shape_a);
    shapeB = loadShape(pair.shape_b);
    if (shapeA.coreClass == CLASS_NONE || shapeB.coreClass == CLASS_NONE) return;

    loadPose(pair);

    precise float radius = scaleToUnit * (shapeA.radius + shapeB.radius + shapeA.erode + shapeB.erode);
    precise float rounding = SUPPORT_ROUNDING * scaleToUnit * largestLength;
    precise float tolerance = 0.5 * scaleToUnit * query.tolerance * size;
    bool booleanQuery = query.query == QUERY_COLLIDE;
    bool hasCutOff = (query.flags & FLAG_CUT_OFF) != 0u;
    float cutOff = scaleToUnit * query.cut_off;

    uint evaluationLimit = query.max_iterations == 0u ? MAX_STEPS : min(MAX_STEPS, query.max_iterations);
    evaluationLimit = min(evaluationLimit, query.loop_limit / (1u + supportPasses(shapeA) + supportPasses(shapeB)));

    if (trustRegionApplies(shapeA, shapeB)) {
        vec3 start = -vec3(searches[row].directions[0], searches[row].directions[1], searches[row].directions[2]);
        precise float valueLimit = hasCutOff ? -(cutOff + radius + 2.0 * rounding) : -4.0 * scaleToUnit * largestLength;
        uint evaluationCount = 0u;
        if (query.max_iterations != 0u) evaluationLimit--; // one evaluation is left for double precision
        evaluationLimit = min(evaluationLimit, MAX_EVALUATIONS);
        float region = START_REGION;
        uint limit = PHASE == 1u ? min(evaluationLimit, PHASE_STEPS) : evaluationLimit;
        if (PHASE == 2u) {
            evaluationCount = searches[row].iterations - 1u; // the direction is evaluated again
            limit -= evaluationCount;
            region = states[at].region;
        } else {
            start = normalized(start);
        }
        bool ended;
        Iterate p = searchRegion(start, region, max(tolerance, 2.0 * rounding), rounding, valueLimit, limit,
                                 evaluationCount, ended);
        for (int k = 0; k < 3; k++) searches[row].directions[k] = -p.x[k];
        searches[row].count = 1u;
        searches[row].iterations = evaluationCount;
        searches[row].state = SEARCH_STATIONARY;
        if (PHASE == 1u && !ended && limit < evaluationLimit) {
            at = addTo(LIST_SEARCH);
            states[at].slot = row;
            states[at].region = region;
        }
        searches[row].solver = SOLVER_GJK; // which finishes the rows that trust_region.comp does not
        return;
    }

    bool momentum = MOMENTUM;
    // [Montaut2022, Alg. 8]: shapes that are not strictly convex need unit vectors.
    bool normalizeTerms = shapeA.coreClass != CLASS_ELLIPSOID || shapeB.coreClass != CLASS_ELLIPSOID;

    corners = handsOnCorners(shapeA, shapeB, booleanQuery);
    Simplex s = emptySimplex();
    vec3 x = vec3(searches[row].directions[0], searches[row].directions[1], searches[row].directions[2]);
    float len = 1.0, lenSquared = 1.0, inverseLen = 1.0; // x is a unit vector
    vec3 dir = x, previous = x, u = x;
    bool separated = false; // a separating plane is known: the origin cannot be inside from here on
    uint state = SEARCH_LIMITED, step = 0u;
    if (PHASE == 2u) {
        step = searches[row].iterations;
        s.n = searches[row].count & ~CORNERS_GIVEN;
        s.w0 = vec3(states[at].vertices[0], states[at].vertices[1], states[at].vertices[2]);
        s.w1 = vec3(states[at].vertices[3], states[at].vertices[4], states[at].vertices[5]);
        s.w2 = vec3(states[at].vertices[6], states[at].vertices[7], states[at].vertices[8]);
        s.p0 = x;
        s.p1 = vec3(searches[row].directions[3], searches[row].directions[4], searches[row].directions[5]);
        s.p2 = vec3(searches[row].directions[6], searches[row].directions[7], searches[row].directions[8]);
        s.weight = vec4(searches[row].directions[9], searches[row].directions[10], searches[row].directions[11], 0);
        separated = states[at].separated != 0u;
        x = vec3(states[at].point[0], states[at].point[1], states[at].point[2]);
        lenSquared = max(squaredNorm(x), SHORTEST_SQUARED);
        inverseLen = inverseRoot(lenSquared);
        precise float l = lenSquared * inverseLen;
        len = l;
    }
    for (uint k = 0u; step < evaluationLimit; k++) {
        if (MOMENTUM && momentum) {
            precise float delta = float(k + 1u) / float(k + 3u);
            vec3 y = METHOD == METHOD_NESTEROV ? interpolate(previous, x, delta) : x;
            dir = normalizeTerms ? interpolate(normalizedSafely(y), normalizedSafely(dir), delta)
                                 : interpolate(y, dir, delta);
            u = normalizedSafely(dir);
        } else {
            precise vec3 unit = x * inverseLen;
            u = unit;
        }
        vec3 source;
        vec3 w = evaluateSupport(u, source);
        step++;
        float plane = dotProduct(u, w);
        separated = separated || plane > rounding;
        if (booleanQuery && plane > radius + 2.0 * rounding) { // one direction proves the status
            s.n = 1u;
            s.p0 = u;
            s.weight = vec4(1, 0, 0, 0);
            state = SEARCH_CONVERGED;
            break;
        }
        precise float gap = len - (MOMENTUM ? dotProduct(x, w) * inverseLen : plane);
        if (s.n > 0u) {
            bool done = gap <= max(tolerance, rounding) || (hasCutOff && plane - radius > cutOff + 2.0 * rounding) ||
                        (booleanQuery && len < radius - 2.0 * rounding);
            if (MOMENTUM && done && momentum) { // the gap is to hold along x as well
                momentum = false;
                continue;
            }
            if (done) {
                state = SEARCH_CONVERGED;
                break;
            }
        }
        Simplex t = s;
        setSlot(t, t.n, w, source);
        t.n++;
        bool inside;
        signedVolumes(t, separated, inside);
        vec3 projection = pointOf(t);
        float squared = max(squaredNorm(projection), SHORTEST_SQUARED);
        float inverse = inverseRoot(squared);
        precise float l = squared * inverse;
        if (inside || (!separated && l <= 0.5 * rounding)) {
            s = t;
            state = SEARCH_INSIDE;
            break;
        }
        if (s.n > 0u && !(squared < lenSquared)) {
            if (MOMENTUM && momentum) {
                momentum = false;
                continue;
            }
            state = SEARCH_STALLED;
            break;
        }
        s = t;
        reduce(s);
        // The point lies on a face. That the fourth vertex is none keeps it out of registers.
        s.n = min(s.n, 3u);
        s.w3 = vec3(0);
        s.p3 = vec3(0);
        s.weight.w = 0.0;
        x = projection;
        lenSquared = squared;
        inverseLen = inverse;
        len = l;
        previous = w;
        if (PHASE == 1u && step == PHASE_STEPS && step < evaluationLimit) {
            at = addTo(LIST_SEARCH);
            states[at].slot = row;
            states[at].separated = separated ? 1u : 0u;
            for (int i = 0; i < 3; i++) {
                states[at].vertices[i] = s.w0[i];
                states[at].vertices[3 + i] = s.w1[i];
                states[at].vertices[6 + i] = s.w2[i];
                states[at].point[i] = x[i];
            }
            break;
        }
    }
    if (s.n == 0u) { // no evaluation was allowed
        corners = false;
        s.n = 1u;
        s.p0 = u;
        s.weight = vec4(1, 0, 0, 0);
    }
    for (int k = 0; k < 3; k++) {
        searches[row].directions[k] = s.p0[k];
        searches[row].directions[3 + k] = s.p1[k];
        searches[row].directions[6 + k] = s.p2[k];
        searches[row].directions[9 + k] = s.n < 4u ? s.weight[k] : s.p3[k];
    }
    searches[row].count = s.n | (corners ? CORNERS_GIVEN : 0u);
    searches[row].iterations = step;
    searches[row].state = state;
    searches[row].solver = METHOD == METHOD_NESTEROV ? SOLVER_NESTEROV
                           : METHOD == METHOD_POLYAK ? SOLVER_POLYAK
                                                     : SOLVER_GJK;
}

// The search for growth distances in single precision: the simplex method of growth.glsl. It hands the directions of
// the final triangle on, and the normal that bounds the ray best. Nothing rests on the result: growth_certify.comp
// forms the points anew in double precision and proves the answer.
//
// The search ends as converged (the bounds meet the tolerance, or the query is decided), stalled (rounding prevents
// progress) or capped. Where the status alone is wanted and a plane proves a separation, it hands on that plane alone.
//
// Output: the directions of every slot with two shapes, see SearchRecord. Half-spaces are left to growth_certify.comp.
#version 450
#extension GL_GOOGLE_include_directive : require

#include "layout.glsl"
#include "real.glsl"

layout(local_size_x_id = 0) in;

layout(std430, binding = 0) readonly buffer Shapes { ShapeRecord shapes[]; };
layout(std430, binding = 1) readonly buffer Vertices { vec4 vertices[]; };
layout(std430, binding = 2) readonly buffer Pairs { PairRecord pairs[]; };
layout(std430, binding = 3) buffer Searches { SearchRecord searches[]; };
layout(std430, binding = 4) readonly buffer Cells { uint cells[]; };
layout(push_constant) uniform Query { QueryRecord query; };

#include "pair.glsl"
#include "growth.glsl"

// The limit on evaluations. Double precision goes on from there.
const uint MAX_STEPS = 64u;

// SUPPORT_ROUNDING times the lengths in a support point bounds its rounding: four units of roundoff.
const float SUPPORT_ROUNDING = 4.0 * UNIT_ROUNDOFF;

// The share of the tolerance at which the search ends; rounding takes the rest.
const float TOLERANCE_SHARE = 0.7;

vec3 centerOffset; // of the centers of growth in their shapes: c_A - R c_B

// evaluateSupport returns the support point of D along the unit vector u of the frame of A, scaled, in that frame.
vec3 evaluateSupport(vec3 u) {
    vec3 a = coreSupport(shapeA, u), b = toFrameA(coreSupport(shapeB, -toFrameB(u)));
    precise vec3 w = scaleToUnit * (((a - b) - centerOffset) + (shapeA.radius + shapeB.radius) * u);
    return w;
}

void main() {
    uint row = gl_GlobalInvocationID.x;
    if (row >= query.rows) return;
    PairRecord pair = pairs[row];
    if (pair.shape_a == NO_SHAPE) return;
    shapeA = loadShape(pair.shape_a);
    shapeB = loadShape(pair.shape_b);
    if (shapeA.coreClass == CLASS_NONE || shapeB.coreClass == CLASS_NONE) return;
    rotation = rotationMatrix(pair.rotation);

    vec4 growthA = shapes[pair.shape_a].growth, growthB = shapes[pair.shape_b].growth;
    vec4 ballA = shapes[pair.shape_a].ball, ballB = shapes[pair.shape_b].ball;
    precise vec3 offset = growthA.xyz - toFrameA(growthB.xyz);
    centerOffset = offset;
    precise float lengths = ballA.w + ballB.w + norm(ballA.xyz - growthA.xyz) + norm(ballB.xyz - growthB.xyz);
    scaleToUnit = unitScale(lengths);
    precise float offsetRounding = SUPPORT_ROUNDING * scaleToUnit * (norm(growthA.xyz) + norm(growthB.xyz));
    precise float inradius = scaleToUnit * (growthA.w + growthB.w);
    precise float distance_ = scaleToUnit * searches[row].directions[6];
    setRayFrame(vec3(searches[row].directions[0], searches[row].directions[1], searches[row].directions[2]));
    vec3 direction = vec3(searches[row].directions[3], searches[row].directions[4], searches[row].directions[5]);

    bool statusAlone = (query.flags & FLAG_STATUS_ALONE) != 0u, hasCutOff = (query.flags & FLAG_CUT_OFF) != 0u;
    uint evaluationLimit = query.max_iterations == 0u ? MAX_STEPS : min(MAX_STEPS, query.max_iterations);
    evaluationLimit = min(evaluationLimit, query.loop_limit / (1u + supportPasses(shapeA) + supportPasses(shapeB)));

    Triangle t;
    for (uint k = 0u; k < 3u; k++) {
        precise vec3 v = inradius * ballDirection(k);
        setVertex(t, k, v, vec2(0));
    }
    uint ballVertices = 7u, count = 3u, state = SEARCH_LIMITED, step = 0u;
    vec3 n = direction == rayZ ? vec3(0, 0, 1) : toRayFrame(direction), best = direction;
    bool ofTriangle = direction == rayZ; // n is the normal of the triangle
    bool smooth_ = hasSmoothSupport(shapeA) && hasSmoothSupport(shapeB);
    float crossing = 0.0, limit = 3.0e38, previousGap = 3.0e38; // bounds of the ray
    while (step < evaluationLimit) {
        vec3 s = toRayFrame(evaluateSupport(direction));
        step++;
        precise float rounding = SUPPORT_ROUNDING * (abs(s.x) + abs(s.y) + abs(s.z)) + offsetRounding;
        float value = dotProduct(n, s);
        precise float bound = value / n.z;
        if (n.z > 0.0 && bound < limit) {
            limit = bound;
            best = direction;
        }
        precise float excess = distance_ * n.z - (value + 4.0 * rounding); // of the growth distance over 1
        precise float beyond = distance_ * n.z - query.cut_off * (value + 4.0 * rounding);
        if (statusAlone && excess > 0.0) {
            count = 1u;
            state = SEARCH_CONVERGED;
            break;
        }
        if (hasCutOff && beyond > 0.0 && excess > 0.0) {
            state = SEARCH_CONVERGED;
            break;
        }
        vec3 facet = ofTriangle ? n : unitVector(normalOf(t));
        bool progress = dotProduct(facet, s - t.v0) > rounding, secant = false;
        if (progress) {
            uint outgoing = outgoingVertex(t, s);
            if (outgoing == NO_VERTEX) {
                state = SEARCH_STALLED;
                break;
            }
            setVertex(t, outgoing, s, n.xy / n.z);
            ballVertices &= ~(1u << outgoing);
            crossing = crossingOf(t);
            precise float gap = distance_ * (limit - crossing),
                          allowed = TOLERANCE_SHARE * query.tolerance * crossing * max(limit, distance_);
            if (gap <= allowed || (statusAlone && crossing > distance_ + 4.0 * rounding)) {
                state = SEARCH_CONVERGED;
                break;
            }
            secant = smooth_ && ballVertices == 0u && (ofTriangle || gap < SECANT_PROGRESS * previousGap);
            previousGap = gap;
        }
        if (!progress && ofTriangle) {
            state = SEARCH_STALLED;
            break;
        }
        ofTriangle = !secant;
        n = unitVector(secant ? secantDirection(t) : normalOf(t));
        if (!(n.z > 0.0)) {
            state = SEARCH_STALLED;
            break;
        }
        direction = fromRayFrame(n);
    }
    vec3 d0 = fromRayFrame((ballVertices & 1u) != 0u ? ballDirection(0u) : vec3(t.l0, 1));
    vec3 d1 = fromRayFrame((ballVertices & 2u) != 0u ? ballDirection(1u) : vec3(t.l1, 1));
    vec3 d2 = fromRayFrame((ballVertices & 4u) != 0u ? ballDirection(2u) : vec3(t.l2, 1));
    for (int k = 0; k < 3; k++) {
        searches[row].directions[k] = d0[k];
        searches[row].directions[3 + k] = d1[k];
        searches[row].directions[6 + k] = d2[k];
        searches[row].directions[9 + k] = best[k];
    }
    searches[row].count = count | ballVertices << BALL_VERTEX;
    searches[row].iterations = step;
    searches[row].state = state;
}

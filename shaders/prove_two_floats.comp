// Proves the answers of rows in sums of two floats (two_floats.glsl), for a tolerance of single precision on devices
// whose double precision is slow or absent: it forms the point of D nearest to the origin anew from the simplex that
// gjk.comp found, and one support plane. It does not search.
//
// Bounds of the cores. From above: the norm of the point. From below: the support plane along it. Where gjk.comp left
// a stationary direction, or one that proves a status alone, that direction gives the plane, and its support point the
// bound from above, with its distance from the line of the direction, as the witnesses lie there.
//
// Rounding, in ε² of the sum L of all lengths, as derived in the included files. A vertex of D: cores 90, erosion 9 and
// 60 of a unit vector, the rotation of B 512 + 49, its translation 150 (below), three sums 18: less than 900. The
// weights are floats, of which the largest is 1 minus the others: off by 12, products 9, sums 12, the norm of the
// point 60. A unit vector is off by 60, a support plane has the vertex, the choice of the vertex 87, the rotation of
// the direction to B 2·49, a scalar product 28. Either is less than 1,300, with the sums of the radii: PROOF_ERROR has
// room for half as much again. input_two_floats.comp bounds what positions far from the origin of the world add.
//
// Output: columns of the rows that are proved. All others go to LIST_UNPROVED, for prove.comp, or where the device has
// no double precision (FINAL), are declined, with DECLINED_PRECISION.
#version 450
#extension GL_GOOGLE_include_directive : require

#define DOUBLES_AS_WORDS
#include "layout.glsl"
#include "real.glsl"

layout(local_size_x_id = 0) in;
layout(constant_id = 5) const uint BOOLEAN = 0u; // not 0: the query is for a status alone
layout(constant_id = 7) const uint FUSED = 0u;   // not 0: fma() rounds once
layout(constant_id = 8) const uint FINAL = 0u;   // not 0: no stage follows that answers rows

layout(std430, binding = 0) readonly buffer Shapes { ShapeRecord shapes[]; };
layout(std430, binding = 1) readonly buffer Vertices { vec4 vertices[]; };
layout(std430, binding = 2) readonly buffer Shapes64 { ShapeRecord64 shapes64[]; };
layout(std430, binding = 3) readonly buffer Vertices64 { VertexRecord64 vertices64[]; };
layout(std430, binding = 4) readonly buffer Cells { uint cells[]; };
layout(std430, binding = 5) readonly buffer Poses { PoseRecord poses[]; };
// Not read-only: shapes would stay in registers from where they are first loaded.
layout(std430, binding = 6) volatile buffer Indices { IndexRecord indices[]; };
layout(std430, binding = 7) readonly buffer Pairs { PairRecord pairs[]; };
layout(std430, binding = 8) readonly buffer Remainders { RemainderRecord remainders[]; };
layout(std430, binding = 9) readonly buffer Searches { SearchRecord searches[]; };
layout(std430, binding = 10) buffer Columns { uint words[]; };
layout(std430, binding = 11) buffer Counts { uint counts[]; };
layout(std430, binding = 12) writeonly buffer Unproved { uint unproved[]; }; // slots of LIST_UNPROVED
layout(push_constant) uniform Query { QueryRecord query; };

#include "pair.glsl"
#include "loop_limit.glsl"
#include "status.glsl"
#include "list.glsl"
#include "support_two_floats.glsl"

const float PROOF_ERROR = 2048.0; // in ε² of the sum of all lengths, see above

// Shorter lengths lose digits where they are decoded.
const float SHORTEST_LENGTH = 1e-9;

// UP makes a float that was computed with a few roundings an upper bound.
const float UP = 1.0 + 32.0 * UNIT_ROUNDOFF;

uint slot;

TwoFloats3 directionOf(uint k) {
    return TwoFloats3(vec3(searches[slot].directions[3u * k], searches[slot].directions[3u * k + 1u],
                           searches[slot].directions[3u * k + 2u]),
                      vec3(0));
}

float absolute(TwoFloats a) { return (abs(a.high) + abs(a.low)) * UP; }

// isBelow and isAbove report whether a number is certainly on that side of another that is off by `rounding`.
bool isBelow(TwoFloats a, float rounding) { return -a.high > (rounding + abs(a.low)) * UP; }
bool isAbove(TwoFloats a, float rounding) { return a.high > (rounding + abs(a.low)) * UP; }

bool finite(float v) { return (floatBitsToUint(v) & 0x7f800000u) != 0x7f800000u; }

// The pair, scaled.
RotationMatrix relative; // rotation of B
TwoFloats3 origin;       // of B in the frame of A
TwoFloats erodeA, erodeB;

float largestNorm(uint shape) {
    vec4 ball = shapes[shape].ball;
    return (ball.w + norm(ball.xyz)) * UP;
}

// differenceOf returns the vertex of D of a point a of A and one b of B, in the frame of its shape, with the erosion
// along a unit vector u from B to A, which moves both.
TwoFloats3 differenceOf(inout TwoFloats3 a, TwoFloats3 b, TwoFloats3 u) {
    a = add(a, multiply(u, erodeA));
    return subtract(subtract(a, rotate(relative, b)), subtract(origin, multiply(u, erodeB)));
}

// supportOfDifference returns a point a of A and one of D for a unit vector u from B to A: support points, or with
// `any_` some that single precision takes for them. A point of an eroded core is a support point less the erosion along
// its very direction, so directions are not rounded to floats.
void supportOfDifference(TwoFloats3 u, bool any_, out TwoFloats3 a, out TwoFloats3 w) {
    TwoFloats3 b = TwoFloats3(vec3(0), vec3(0));
    for (int k = 0; k < 2; k++) { // both shapes by one text of the support functions: half the code
        uint shape = k == 0 ? indices[slot].shape_a : indices[slot].shape_b;
        TwoFloats3 v = negate(u);
        if (k == 1) v = rotate(transposed(relative), u);
        a = b;
        b = coreSupport(loadShape(shape), v, largestNorm(shape), any_);
    }
    w = differenceOf(a, b, u);
}

void writeVector(uint column, uint row, vec3 v) {
    if (!hasColumn(column)) return;
    uint at = columnAt(column) + 3u * row;
    for (uint k = 0u; k < 3u; k++) words[at + k] = floatBitsToUint(v[k]);
}

// writePoint stores a point of the frame of A.
void writePoint(uint column, uint row, RotationMatrix ra, TwoFloats3 p, TwoFloats3 position) {
    if (!hasColumn(column)) return;
    float unit = inversePower(scaleToUnit);
    writeVector(column, row, add(rotate(ra, TwoFloats3(unit * p.high, unit * p.low)), position).high);
}

// Proof is the result for the cores, scaled.
struct Proof {
    TwoFloats3 near, x; // point of A, and of D
    TwoFloats3 axis;    // unit vector from B to A
    TwoFloats above;    // distance that the witnesses realise
    TwoFloats below;    // bound by the support plane
    float width;        // how far the distance of the cores may exceed `above`
};

void addWeighted(inout Proof p, TwoFloats3 w, TwoFloats3 a, TwoFloats share) {
    p.x = add(p.x, multiply(w, share));
    p.near = add(p.near, multiply(a, share));
}

// proved computes the proof of a row. It returns false where the search has no simplex of three points at most.
bool proved(uint count, bool corners, uint state, out Proof p) {
    bool single = state == SEARCH_STATIONARY || (BOOLEAN != 0u && count == 1u && !corners);
    p.x = p.near = TwoFloats3(vec3(0), vec3(0));
    p.width = 0.0;
    vec3 weight = vec3(searches[slot].directions[9], searches[slot].directions[10], searches[slot].directions[11]);
    if (count < 3u) weight.z = 0.0;
    if (count < 2u) weight.y = 0.0;
    float largest = max(weight.x, max(weight.y, weight.z));
    if (!single && (!(min(weight.x, min(weight.y, weight.z)) >= 0.0) || !(largest <= 1.0))) return false;
    // The vertices, then the plane: both by one text of the support functions.
    bool given = false;
    for (uint k = single ? count : 0u; k <= count; k++) {
        bool plane = k == count;
        TwoFloats share = TwoFloats(weight[min(k, 2u)], 0.0);
        if (!plane && !given && share.high == largest) { // what is left to 1
            TwoFloats sum = add(twoSum(weight.x, weight.y), TwoFloats(weight.z, 0.0));
            share = add(share, add(TwoFloats(1.0, 0.0), negate(sum)));
            given = true;
            if (!(share.high >= 0.0)) return false;
        }
        TwoFloats3 d = single ? directionOf(0u) : plane ? p.x : directionOf(k), a, w;
        if (corners && !plane) { // of polytopes, which are not eroded
            a = cornerOf(loadShape(indices[slot].shape_a), uint(d.high.x));
            TwoFloats3 b = cornerOf(loadShape(indices[slot].shape_b), uint(d.high.y));
            w = differenceOf(a, b, TwoFloats3(vec3(0), vec3(0)));
        } else {
            UnitVector v = unitVector(d);
            if (plane) {
                p.axis = v.unit;
                p.above = v.norm_;
            }
            supportOfDifference(v.unit, !plane, a, w);
        }
        if (plane) {
            p.below = dotProduct(p.axis, w);
            if (single) {
                p.x = w;
                p.near = a;
            }
        } else {
            addWeighted(p, w, a, share);
        }
    }
    if (single) {
        p.above = p.below;
        TwoFloats3 offset = subtract(p.x, multiply(p.axis, p.below));
        p.width = norm(abs(offset.high) + abs(offset.low)) * UP;
        // The origin may lie in D: only the norm of its point bounds the distance.
        if (p.below.high < 0.0) p.width += 2.0 * absolute(p.below);
    }
    return true;
}

// answer stores the answer that a proof gives, or returns false if that proves nothing.
bool answer(IndexRecord index, Proof p, float rounding) {
    TwoFloats reachA = add(scaled(shapes64[index.shape_a].radius), erodeA);
    TwoFloats reachB = add(scaled(shapes64[index.shape_b].radius), erodeB);
    TwoFloats radii = negate(add(reachA, reachB));
    TwoFloats distance_ = add(p.above, radii), lower = add(p.below, radii), upper = distance_;
    float gap = (max(absolute(add(p.above, negate(p.below))), p.width) + rounding) * UP;
    if (!finite(gap) || !finite(distance_.high) || !finite(lower.high)) return false;
    bool hasCutOff = (query.flags & FLAG_CUT_OFF) != 0u;
    bool beyond = hasCutOff && isAbove(add(lower, negate(scaled(uvec2(query.exact[2], query.exact[3])))), rounding);
    bool isSeparated = isAbove(lower, rounding), isPenetrating = isBelow(upper, (rounding + p.width) * UP);
    bool statusProved = BOOLEAN != 0u && (isSeparated || isPenetrating);
    // The tolerance is a float that was rounded, as is its product with the size.
    float limit = query.tolerance * scaleToUnit * size * (1.0 - 16.0 * UNIT_ROUNDOFF);
    if (!(gap <= limit) && !beyond && !statusProved) return false;
    uint status = isSeparated ? STATUS_SEPARATED : isPenetrating ? STATUS_PENETRATING : STATUS_TOUCHING;

    float unit = inversePower(scaleToUnit);
    writeStatus(index.row, status, searches[slot].state == SEARCH_STATIONARY ? SOLVER_RTR : searches[slot].solver,
                searches[slot].iterations);
    if (hasColumn(COLUMN_DISTANCE))
        words[columnAt(COLUMN_DISTANCE) + index.row] = floatBitsToUint(unit * distance_.high);
    if (hasColumn(COLUMN_GAP))
        words[columnAt(COLUMN_GAP) + index.row] = floatBitsToUint(unit * (gap + abs(distance_.low)) * UP);
    if (!hasColumn(COLUMN_NORMAL) && !hasColumn(COLUMN_WITNESS_A) && !hasColumn(COLUMN_WITNESS_B)) return true;
    PoseRecord pose = poses[index.pose_a];
    RotationMatrix ra = rotationMatrix(rotationOf(pose));
    TwoFloats3 position = decode3(pose.position[0], pose.position[1], pose.position[2]);
    if (hasColumn(COLUMN_NORMAL)) writeVector(COLUMN_NORMAL, index.row, rotate(ra, negate(p.axis)).high);
    writePoint(COLUMN_WITNESS_A, index.row, ra, subtract(p.near, multiply(p.axis, reachA)), position);
    writePoint(COLUMN_WITNESS_B, index.row, ra, add(subtract(p.near, p.x), multiply(p.axis, reachB)), position);
    return true;
}

// prove answers the row, or returns false.
bool prove(IndexRecord index) {
    shapeA = loadShape(index.shape_a);
    shapeB = loadShape(index.shape_b);
    uint state = searches[slot].state, given = searches[slot].count;
    uint count = given & ~CORNERS_GIVEN;
    if (!isProvable(shapeA) || !isProvable(shapeB) || state == SEARCH_INSIDE || state == SEARCH_START ||
        query.max_iterations != 0u || count == 0u || count > 3u)
        return false;
    if (query.loop_limit / (1u + supportSteps(shapeA) + supportSteps(shapeB)) < 8u) return false;
    PairRecord pair = pairs[slot];
    loadPose(pair);
    if (!(largestLength > SHORTEST_LENGTH)) return false;
    RotationPair q;
    q.w = TwoFloats(pair.rotation.x, remainders[slot].rotation[0]);
    q.v = TwoFloats3(pair.rotation.yzw,
                     vec3(remainders[slot].rotation[1], remainders[slot].rotation[2], remainders[slot].rotation[3]));
    relative = rotationMatrix(q);
    origin = TwoFloats3(scaleToUnit * translationHigh, scaleToUnit * translationLow);
    erodeA = scaled(shapes64[index.shape_a].erode);
    erodeB = scaled(shapes64[index.shape_b].erode);
    float lengths = PROOF_ERROR * SQUARED_ROUNDOFF * largestLength;
    float rounding = (lengths + remainders[slot].position_rounding) * scaleToUnit * UP;
    rootFailed = false;
    Proof p;
    return proved(count, count != given, state, p) && !rootFailed && loopsCompleted() && answer(index, p, rounding);
}

void main() {
    slot = gl_GlobalInvocationID.x;
    if (slot >= query.rows) return;
    refined = false;
    IndexRecord index = indices[slot];
    if (index.shape_a == NO_SHAPE) writeStatus(index.row, STATUS_INVALID, SOLVER_NONE, 0u);
    else if (prove(index)) return;
    else if (FINAL != 0u) declineForPrecision(index.row);
    else unproved[addTo(LIST_UNPROVED)] = slot;
}

// GJK in single precision: finds, for every pair, the simplex of A - B nearest to the
// origin and hands its support directions on. What it finds is a guess: certify.comp
// forms the vertices anew in double precision and proves the answer.
//
// Methods: plain GJK (paper 001, Alg. 1), and its acceleration by Nesterov momentum
// (paper 000, Alg. 7 and 8) and by the heavy ball (paper 003, Alg. 6 and 7), which end
// as plain GJK once the momentum no longer helps. By the methods rtr and auto, some pairs
// of curved cores get a direction where the support function is stationary instead, see
// trust.glsl.
#version 450
#extension GL_GOOGLE_include_directive : require

#include "layout.glsl"
#include "real.glsl"

layout(local_size_x_id = 0) in;
layout(constant_id = 1) const uint METHOD = METHOD_GJK;

layout(std430, binding = 0) readonly buffer Shapes { ShapeRecord shapes[]; };
layout(std430, binding = 1) readonly buffer Vertices { vec4 vertices[]; };
layout(std430, binding = 2) readonly buffer Pairs { PairRecord pairs[]; };
layout(std430, binding = 3) buffer Guesses { GuessRecord guesses[]; };
layout(std430, binding = 4) readonly buffer Cells { uint cells[]; };
layout(push_constant) uniform Query { QueryRecord query; };

#include "pair32.glsl"
#include "simplex.glsl"

// NOISE times the largest length in play is what rounding makes of a difference of
// two support values: four units of roundoff. A gap below it means nothing.
const float NOISE = 4.0 * UNIT_ROUNDOFF;

// A stalled sliver is abandoned for a new simplex this often.
const uint MAX_RESTARTS = 2u;

// Steps beyond this are left to double precision, which needs fewer from there.
const uint MAX_STEPS = 64u;

// Everything from here to the directions is precise, see pair32.glsl.

float reach; // largest length seen, scaled

// difference is scaled.
vec3 difference(vec3 a, vec3 b) {
    precise vec3 turned = b.x * rotation[0] + b.y * rotation[1] + b.z * rotation[2];
    precise float l = unitLength * (norm(a) + norm(turned + high));
    reach = max(reach, l);
    precise vec3 w = unitLength * (((a - turned) - high) - low);
    return w;
}

float lengthUnit() { return unitLength; }

#include "trust.glsl"

// support returns the point of the eroded A - B that minimises <u, w>, scaled.
vec3 support(vec3 u) {
    vec3 coreA = coreSupport(shapeA, -u), coreB = coreSupport(shapeB, intoB(u));
    precise vec3 b = coreB.x * rotation[0] + coreB.y * rotation[1] + coreB.z * rotation[2];
    precise vec3 far = b + high;
    precise float l = unitLength * (norm(coreA) + norm(far));
    reach = max(reach, l);
    precise vec3 w = unitLength * (((coreA - b) - high) - low + (shapeA.erode + shapeB.erode) * u);
    return w;
}

// between is p for k = 0 and q for k = 1.
vec3 between(vec3 p, vec3 q, float k) {
    precise vec3 x = p * (1.0 - k) + q * k;
    return x;
}

vec3 unit(vec3 v) {
    precise vec3 u = v * (1.0 / max(norm(v), 1e-30));
    return u;
}

void main() {
    uint row = gl_GlobalInvocationID.x;
    if (row >= query.rows) return;
    PairRecord pair = pairs[row];
    if (pair.shape_a == NO_SHAPE) return;
    shapeA = load(pair.shape_a);
    shapeB = load(pair.shape_b);
    if (shapeA.family == FAMILY_NONE || shapeB.family == FAMILY_NONE) return;

    pose(pair);
    reach = 0.0;

    precise float radius = unitLength * (shapeA.radius + shapeB.radius + shapeA.erode + shapeB.erode);
    precise float tolerance = 0.5 * unitLength * query.tolerance * size;
    bool boolean = query.query == QUERY_COLLIDE;
    bool cut = (query.flags & FLAG_CUT_OFF) != 0u;
    float cutOff = unitLength * query.cut_off;

    uint cap = query.max_iterations == 0u ? MAX_STEPS : min(MAX_STEPS, query.max_iterations);
    cap = min(cap, query.scan_budget / (1u + passes(shapeA) + passes(shapeB)));

    if (trusted(shapeA, shapeB)) {
        vec3 start = vec3(guesses[row].directions[0], guesses[row].directions[1], guesses[row].directions[2]);
        precise float spread = unitLength * lengths;
        precise float enough = cut ? -(cutOff + radius + 2.0 * NOISE * spread) : -4.0 * spread;
        uint looks = 0u;
        if (query.max_iterations != 0u) cap--; // double precision needs a look
        cap = min(cap, MAX_LOOKS);
        Stationary p = trust(-unitOf(start), max(tolerance, 2.0 * NOISE * spread), NOISE * spread, enough, cap, looks);
        for (int k = 0; k < 3; k++) guesses[row].directions[k] = -p.x[k];
        guesses[row].count = 1u;
        guesses[row].iterations = looks;
        guesses[row].state = GUESS_STATIONARY;
        guesses[row].solver = SOLVER_GJK; // which ends what rtr.comp leaves
        return;
    }

    bool momentum = METHOD == METHOD_NESTEROV || METHOD == METHOD_POLYAK;
    // Paper 000, Alg. 8: shapes that are not strictly convex need unit vectors.
    bool normalize_ = shapeA.family != FAMILY_ELLIPSOID || shapeB.family != FAMILY_ELLIPSOID;

    Simplex s = emptySimplex();
    vec3 x = vec3(guesses[row].directions[0], guesses[row].directions[1], guesses[row].directions[2]);
    float len = 1.0;
    vec3 dir = x, last = x, u = x;
    bool apart = false; // a separating plane is certain: never inside from here on
    uint state = GUESS_CAPPED, restarts = 0u, step = 0u;
    for (uint k = 0u; step < cap; k++) {
        if (momentum) {
            precise float delta = float(k + 1u) / float(k + 3u);
            vec3 y = METHOD == METHOD_NESTEROV ? between(last, x, delta) : x;
            dir = normalize_ ? between(unit(y), unit(dir), delta) : between(y, dir, delta);
            u = unit(dir);
        } else {
            u = unit(x);
        }
        vec3 w = support(u);
        step++;
        float noise = NOISE * reach;
        float plane = product(u, w);
        apart = apart || plane > noise;
        if (boolean && plane > radius + 2.0 * noise) { // one direction says it all
            s.n = 1u; s.p0 = u;
            state = GUESS_CONVERGED;
            break;
        }
        precise float gap = len - product(x, w) / len;
        if (s.n > 0u) {
            bool done = gap <= max(tolerance, noise) || (cut && plane - radius > cutOff + 2.0 * noise)
                || (boolean && len < radius - 2.0 * noise);
            if (done && momentum) { momentum = false; continue; } // to be proved along x
            if (done) { state = GUESS_CONVERGED; break; }
        }
        Simplex t = s;
        put(t, t.n, w, u);
        t.n++;
        bool inside;
        nearest(t, apart, inside);
        vec3 foot = point(t);
        float l = norm(foot);
        if (inside || (!apart && l <= 0.5 * noise)) {
            s = t;
            state = GUESS_INSIDE;
            break;
        }
        if (s.n > 0u && !(l < len)) {
            if (momentum) { momentum = false; continue; }
            if (restarts >= MAX_RESTARTS || !(gap > 4.0 * noise)) { state = GUESS_STALLED; break; }
            restarts++;
            s.n = 1u; s.w0 = w; s.p0 = u; s.weight = vec4(1, 0, 0, 0);
            x = w;
            len = max(norm(w), 1e-30);
            continue;
        }
        s = t;
        reduce(s);
        x = foot;
        len = max(l, 1e-30);
        last = w;
    }
    if (s.n == 0u) { s.n = 1u; s.p0 = u; }
    for (int k = 0; k < 3; k++) {
        guesses[row].directions[k] = s.p0[k];
        guesses[row].directions[3 + k] = s.p1[k];
        guesses[row].directions[6 + k] = s.p2[k];
        guesses[row].directions[9 + k] = s.p3[k];
    }
    guesses[row].count = s.n;
    guesses[row].iterations = step;
    guesses[row].state = state;
    guesses[row].solver = METHOD == METHOD_NESTEROV ? SOLVER_NESTEROV : METHOD == METHOD_POLYAK ? SOLVER_POLYAK : SOLVER_GJK;
}

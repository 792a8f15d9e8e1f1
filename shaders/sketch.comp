// Depths of polytopes, in single precision: expands a polytope in D = A - B for the rows that
// certify.comp could not tell apart and neither of whose cores is curved, and leaves the faces
// that may be nearest in the seed record, their vertices as numbers of corners of the cores.
// depth.comp forms these anew in double precision and proves the depth (epa.glsl), as
// cpu/simd/epa_sketch.h and epa_prove.h do; rows that this leaves it expands itself.
//
// The proof. Lengths are those of the frame in which the sum of all lengths in play is 1 at most.
// Sums and products are rounded by u = 2^-23 at most, for Vulkan lets a device round
// towards zero; quotients are off by 2.5 u and square roots by 4.5 u.
//
// A vertex w computed here differs from the point v of D that it stands for by less than 37 u. Corners
// in single precision are off by u. The quaternion is off by u, hence B is turned by 2 u. The
// matrix is I + sM with s = 2/|q|²: s is off by 7 u, which moves points by 14 u, as sM = R - I is
// no longer than 2. The sums and products of its entries are off by 3 u of what they add, a matrix
// of norm 1 + √5 at most, and 1 - x by u: 11 u. Its use takes 3 u of |R|, of norm √3 at most: 6 u. The
// three differences take 3 u, and what the second part of the translation leaves is far
// below. Vertices of the simplex are rounded once.
//
// A normal n has length 1 to 9 u (1.5 u for the square, a root and a quotient), or less if the
// face is thin; heights <n, w> are computed to 3 u. So <n, v> along the unit vector n differs from
// what is computed by less than 49 u, and second orders: ERROR = 56 u.
//
// The surface winds around the origin an odd number of times. It starts as the four faces of
// a tetrahedron that holds the origin: for each face a, b, c, <a, b × c> is positive, by more than
// vertices that are off by e = ERROR make of it, e(|a × b| + |b × c| + |c × a|) + 4 e², and rounding,
// 8 u|a||b||c|. A step takes faces f out that the new vertex w sees and puts a fan around w to
// their border; as chains modulo 2, both surfaces differ by the border of the tetrahedra (f, w). All
// heights of f and w along the normal of f are above ERROR, so the origin is in none of them. To the
// end no face may be lower than ERROR. Then the ball around the origin whose radius is the
// least of the heights touches no face, hence is wound around as a whole an odd number of
// times, and is part of the convex hull of the vertices, and of D. Neither thin nor wrongly turned
// faces matter.
#version 450
#extension GL_GOOGLE_include_directive : require

#include "layout.glsl"
#include "real.glsl"

layout(local_size_x_id = 0) in;

layout(std430, binding = 0) readonly buffer Shapes { ShapeRecord shapes[]; };
layout(std430, binding = 1) readonly buffer Vertices { vec4 vertices[]; };
layout(std430, binding = 2) readonly buffer Pairs { PairRecord pairs[]; };
layout(std430, binding = 3) readonly buffer Cells { uint cells[]; };
layout(std430, binding = 4) buffer Seeds { SeedRecord seeds[]; };
layout(std430, binding = 5) readonly buffer Counts { uint counts[]; };
layout(std430, binding = 6) buffer Quads { vec4 quads[]; };
layout(std430, binding = 7) buffer Faces { uvec4 faces[]; };
layout(std430, binding = 8) buffer Links { uint links[]; };
layout(push_constant) uniform Query { QueryRecord query; };

const float ERROR = 56.0 * 2.0 * UNIT_ROUNDOFF;
const float END = 8.0 * 2.0 * UNIT_ROUNDOFF; // a support plane no higher is that of the face: hulls have few vertices so near, and double precision sees them

const float roundoff = 2.0 * 2.0 * UNIT_ROUNDOFF; // of a height, most often: what is higher by less is no progress

#include "pair32.glsl"
#include "budget.glsl"
#include "polytope.glsl"

float unit; // power of two that scales all lengths to the frame

// highest is the vertex of D highest along d, and the corners that make it.
vec3 highest(vec3 d, out uint corners) {
    uint a = 0u, b = 0u;
    for (int k = 0; k < 2; k++) { // B after A, in one text: half the code
        Shape s = shapeA;
        vec3 v = d;
        if (k == 1) {
            s = shapeB;
            v = -intoB(d);
        }
        a = b;
        b = cornerAlong(s, v);
    }
    corners = b << 16 | a;
    vec3 p = cornerAt(shapeA, a), q = cornerAt(shapeB, b);
    precise vec3 turned = q.x * rotation[0] + q.y * rotation[1] + q.z * rotation[2];
    precise vec3 w = unit * (((p - turned) - high) - low);
    return w;
}

// holds reports whether the origin surely lies above the face a, b, c, of a tetrahedron.
bool holds(vec3 a, vec3 b, vec3 c) {
    precise vec3 ab = cross(a, b), bc = cross(b, c), ca = cross(c, a);
    precise float doubt = ERROR * (norm(ab) + norm(bc) + norm(ca) + 4.0 * ERROR) + 16.0 * UNIT_ROUNDOFF * norm(a) * norm(b) * norm(c);
    return product(a, bc) > doubt;
}

// start makes the tetrahedron of the simplex. It returns false if that may not hold the origin.
bool start(uint item) {
    for (uint v = 0u; v < 4u; v++) {
        dvec3 w = dvec3(seeds[item].vertices[3u * v], seeds[item].vertices[3u * v + 1u], seeds[item].vertices[3u * v + 2u]);
        precise vec3 scaled = unit * vec3(w);
        putVertex(v, scaled, SEED_CORNERS | v);
    }
    if (!tetrahedron(false)) return false;
    bool sure = true;
    for (uint f = 0u; f < 4u; f++) {
        uint corners = cornersOf(f);
        sure = sure && holds(vertexOf(cornerOf(corners, 0u)), vertexOf(cornerOf(corners, 1u)), vertexOf(cornerOf(corners, 2u)));
    }
    return sure;
}

// search expands the polytope until its nearest face is supported to within `enough`.
bool search(float enough, uint cap, out uint steps) {
    steps = 0u;
    while (steps < cap && least > ERROR) {
        vec3 n = normalOf(nearest);
        uint corners;
        vec3 w = highest(n, corners);
        float h = product(n, w);
        steps++;
        if (h - least <= enough) return true;
        if (vertexCount == VERTICES || !(h > topOf(nearest))) return false;
        putVertex(vertexCount++, w, corners);
        if (!expand(w)) return false;
    }
    return false;
}

// keep hands on the faces that may be nearest, and how low the others may be.
void keep(uint item) {
    float limit = least + ERROR + roundoff, beyond = FAR;
    uint kept = 0u;
    for (uint f = 0u; f < faceCount; f++) {
        float key = keyOf(f);
        if (!(key <= limit)) {
            beyond = min(beyond, key);
            continue;
        }
        if (kept < SKETCH_FACES) {
            uint corners = cornersOf(f);
            for (uint k = 0u; k < 3u; k++) seeds[item].corners[3u * kept + k] = madeOf(cornerOf(corners, k));
        }
        kept++;
    }
    precise float span = 1.0 / unit;
    precise float rest = (beyond - ERROR) * span;
    precise float height = least * span;
    precise float doubt = ERROR * span;
    seeds[item].height = height;
    seeds[item].doubt = doubt;
    seeds[item].beyond = beyond < FAR ? rest : FAR;
    if (kept <= SKETCH_FACES && whole()) seeds[item].faces = kept;
}

// Passes of loops that the polytope itself may take, as in epa.glsl.
const uint SWEEP_PASSES = VERTICES * VERTICES / 4u + 66u * VERTICES;

void main() {
    lane = gl_GlobalInvocationID.x;
    uint item = query.first_seed + lane;
    if (lane >= LANES || item >= counts[0]) return;
    // A flat simplex is for double precision, and so is a cap on the steps.
    if (seeds[item].count != 4u || query.max_iterations != 0u) return;
    PairRecord pair = pairs[seeds[item].slot];
    shapeA = load(pair.shape_a);
    shapeB = load(pair.shape_b);
    if (!polytope(shapeA) || !polytope(shapeB)) return;
    if (shapeA.family == FAMILY_BOX && shapeB.family == FAMILY_BOX) return; // they have their axes
    pose(pair);
    if (!(lengths > 1e-25)) return; // where floats become denormal
    unit = 0.5 * unitLength;
    uint cost = 3u + passes(shapeA) + passes(shapeB);
    uint cap = query.scan_budget > SWEEP_PASSES ? min(VERTICES, (query.scan_budget - SWEEP_PASSES) / cost) : 0u;
    precise float enough = 0.5 * unit * query.tolerance * size;
    uint steps = 0u;
    if (start(item) && search(max(enough, END), cap, steps)) keep(item);
    seeds[item].iterations += steps;
}

// EPA in single precision [VanDenBergen2001] for pairs without a curved core, as package kernels does it: finds the
// nearest faces of a polytope in D = A - B. Nothing rests on the values; double precision measures the faces anew
// (depth.comp).
//
// Input: the list of DepthRecords, of which those with a tetrahedron are taken. Output: the faces that may be nearest,
// their vertices as corners of both cores, and a lower bound of the offsets of all others. A row is left to double
// precision if its simplex is flat, iterations are limited, the polytope fills its memory, or the origin cannot be
// shown to be inside.
//
// The proof. Lengths are in a frame in which the sum of all lengths is 1 at most. Sums and products are rounded by
// u = 2^-23 at most, since Vulkan permits rounding towards zero; quotients are off by 2.5 u and square roots by 4.5 u.
//
// A vertex w computed here differs from the point v of D that it stands for by less than 37 u. Corners in single
// precision are off by u. The quaternion is off by u, hence B is rotated by 2 u. The matrix is I + sM with s = 2/|q|²:
// s is off by 7 u, which moves points by 14 u, as sM = R - I has norm 2 at most. The sums and products of its entries
// are off by 3 u of their terms, a matrix of norm 1 + √5 at most, and 1 - x by u: 11 u. Its application has an error of
// 3 u of |R|, of norm √3 at most: 6 u. The three differences add 3 u, and the rounding of the second part of the
// translation is negligible. Vertices of the initial simplex are rounded once.
//
// A normal n has length 1 to within 9 u (1.5 u for the square, a square root and a quotient), or less if the face is
// thin; support values <n, w> are computed to 3 u. So <n, v> along the unit vector n differs from its computed value by
// less than 49 u, and terms of second order: ERROR = 56 u.
//
// Invariant: the surface winds around the origin an odd number of times. It starts as the four faces of a tetrahedron
// that contains the origin: for each face a, b, c the determinant <a, b × c> exceeds the effect of errors e = ERROR of
// the vertices, e(|a × b| + |b × c| + |c × a|) + 4 e², and its rounding, 8 u|a||b||c|. A step removes the faces f that
// the new vertex w sees and adds a fan around w over their horizon. As chains modulo 2, both surfaces differ by the
// boundaries of the tetrahedra (f, w). All support values of f and w along the normal of f exceed ERROR, so none of
// these tetrahedra contains the origin. At the end no offset may be below ERROR. Then the ball around the origin with
// the least offset as its radius meets no face, so the surface winds around all of it an odd number of times, and it is
// part of the convex hull of the vertices, and of D. Thin faces and faces with a wrong orientation do no harm.
#version 450
#extension GL_GOOGLE_include_directive : require

#include "layout.glsl"
#include "real.glsl"

layout(local_size_x_id = 0) in;

layout(std430, binding = 0) readonly buffer Shapes { ShapeRecord shapes[]; };
layout(std430, binding = 1) readonly buffer Vertices { vec4 vertices[]; };
layout(std430, binding = 2) readonly buffer Pairs { PairRecord pairs[]; };
layout(std430, binding = 3) readonly buffer Cells { uint cells[]; };
layout(std430, binding = 4) buffer Depths { DepthRecord depths[]; };
layout(std430, binding = 5) buffer Counts { uint counts[]; };
layout(std430, binding = 6) buffer Quads { vec4 quads[]; };
layout(std430, binding = 7) buffer Faces { uvec4 faces[]; };
layout(std430, binding = 8) buffer Links { uint links[]; };
layout(push_constant) uniform Query { QueryRecord query; };

const float ERROR = 56.0 * 2.0 * UNIT_ROUNDOFF; // of an offset, see above

// The smallest gap at which the search ends. Hulls have few vertices within it, and double precision finds them.
const float SUPPORT_GAP = 8.0 * 2.0 * UNIT_ROUNDOFF;

// The typical rounding of a support value: an increase by less is no progress.
const float supportRounding = 2.0 * 2.0 * UNIT_ROUNDOFF;

#include "pair.glsl"
#include "loop_limit.glsl"
#include "polytope.glsl"
#include "list.glsl"

float frameScale; // power of two from metres to the frame of the proof

// supportOfDifference returns the vertex of D with the greatest support value along d, and its corners of both cores.
vec3 supportOfDifference(vec3 d, out uint corners) {
    uint a = 0u, b = 0u;
    for (int k = 0; k < 2; k++) { // both shapes by one text of the support functions: half the code
        Shape s = shapeA;
        vec3 v = d;
        if (k == 1) {
            s = shapeB;
            v = -toFrameB(d);
        }
        a = b;
        b = supportCorner(s, v);
    }
    corners = b << 16 | a;
    precise vec3 w = frameScale * differenceOf(cornerPosition(shapeA, a), toFrameA(cornerPosition(shapeB, b)));
    return w;
}

// originIsInside reports whether the origin is certainly above the face a, b, c of a tetrahedron.
bool originIsInside(vec3 a, vec3 b, vec3 c) {
    precise vec3 ab = cross(a, b), bc = cross(b, c), ca = cross(c, a);
    precise float rounding =
        ERROR * (norm(ab) + norm(bc) + norm(ca) + 4.0 * ERROR) + 16.0 * UNIT_ROUNDOFF * norm(a) * norm(b) * norm(c);
    return dotProduct(a, bc) > rounding;
}

// startPolytope forms the tetrahedron of the simplex. It returns false if it may not contain the origin.
bool startPolytope(uint item) {
    for (uint v = 0u; v < 4u; v++) {
        dvec3 w = dvec3(depths[item].vertices[3u * v], depths[item].vertices[3u * v + 1u],
                        depths[item].vertices[3u * v + 2u]);
        precise vec3 scaled = frameScale * vec3(w);
        setVertex(v, scaled, SIMPLEX_CORNERS | v);
    }
    if (!startTetrahedron(false)) return false;
    bool inside = true;
    for (uint f = 0u; f < 4u; f++) {
        uint corners = cornersOf(f);
        inside = inside && originIsInside(vertexOf(cornerOf(corners, 0u)), vertexOf(cornerOf(corners, 1u)),
                                          vertexOf(cornerOf(corners, 2u)));
    }
    return inside;
}

// expandPolytope expands the polytope until the support plane along its nearest face is within `gap` of that face.
bool expandPolytope(float gap, uint stepLimit, out uint steps) {
    steps = 0u;
    while (steps < stepLimit && leastOffset > ERROR) {
        vec3 n = normalOf(nearestFace);
        uint corners;
        vec3 w = supportOfDifference(n, corners);
        float h = dotProduct(n, w);
        steps++;
        if (h - leastOffset <= gap) return true;
        if (vertexCount == VERTICES || !(h > maxOffsetOf(nearestFace))) return false;
        setVertex(vertexCount++, w, corners);
        if (!expand(w)) return false;
    }
    return false;
}

// storeFaces stores the faces that may be nearest, and the least offset of the others.
void storeFaces(uint item) {
    float limit = leastOffset + ERROR + supportRounding, leastOther = FAR;
    uint count = 0u;
    for (uint f = 0u; f < faceCount; f++) {
        float offset = offsetOf(f);
        if (!(offset <= limit)) {
            leastOther = min(leastOther, offset);
            continue;
        }
        if (count < FLOAT32_FACES) {
            uint corners = cornersOf(f);
            for (uint k = 0u; k < 3u; k++) depths[item].corners[3u * count + k] = sourceOf(cornerOf(corners, k));
        }
        count++;
    }
    precise float lengthInMetres = 1.0 / frameScale;
    precise float others = (leastOther - ERROR) * lengthInMetres;
    precise float value = leastOffset * lengthInMetres;
    precise float rounding = ERROR * lengthInMetres;
    depths[item].least_offset = value;
    depths[item].rounding = rounding;
    depths[item].other_offsets = leastOther < FAR ? others : FAR;
    if (count <= FLOAT32_FACES && loopsCompleted()) depths[item].faces = count;
}

// The loop passes of the polytope itself, as in depth.comp.
const uint SWEEP_PASSES = VERTICES * VERTICES / 4u + 66u * VERTICES;

void main() {
    invocation = gl_GlobalInvocationID.x;
    uint item = query.first_depth + invocation;
    if (invocation >= INVOCATIONS || item >= rowsIn(LIST_DEPTHS)) return;
    // Flat simplices and limits on iterations are left to double precision.
    if (depths[item].count != 4u || query.max_iterations != 0u) return;
    PairRecord pair = pairs[depths[item].slot];
    shapeA = loadShape(pair.shape_a);
    shapeB = loadShape(pair.shape_b);
    if (!isPolytope(shapeA) || !isPolytope(shapeB)) return;
    loadPose(pair);
    if (!(largestLength > 1e-25)) return; // the computation would reach denormal numbers
    frameScale = 0.5 * scaleToUnit;
    uint cost = 3u + supportPasses(shapeA) + supportPasses(shapeB);
    uint stepLimit = query.loop_limit > SWEEP_PASSES ? min(VERTICES, (query.loop_limit - SWEEP_PASSES) / cost) : 0u;
    precise float gap = 0.5 * frameScale * query.tolerance * size;
    uint steps = 0u;
    if (startPolytope(item) && expandPolytope(max(gap, SUPPORT_GAP), stepLimit, steps)) storeFaces(item);
    depths[item].iterations += steps;
}

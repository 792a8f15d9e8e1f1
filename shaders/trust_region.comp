// Finishes the rows of LIST_STATIONARY, for which one support plane along the direction of gjk.comp was no proof:
// refines the direction in double precision by the trust region method [RTR, Alg. 2], and proves the answer.
//
// Bounds. The support plane along any direction bounds the signed distance from below. From above: for separated
// cores the witnesses; for penetrating ones the direction is a global minimum if the eroded cores are separated along
// it [RTR, Theorem 1], or the depth is bounded by an inscribed ellipsoid.
//
// Output: columns of the rows that are proved. A stationary direction of a penetrating pair without such a proof goes
// to the list of DepthRecords, with DEPTH_STATIONARY, for depth_certificate.comp. All other rows go to LIST_CONTINUE,
// with the refined direction.
#version 450
#extension GL_GOOGLE_include_directive : require

#define DOUBLE
#define PAIR_IN_MEMORY // the shapes alone, in the library
#include "layout.glsl"
#include "real.glsl"

layout(local_size_x_id = 0) in;
layout(constant_id = 1) const uint METHOD = METHOD_RTR;

layout(std430, binding = 0) readonly buffer Shapes64 { ShapeRecord64 shapes[]; };
layout(std430, binding = 1) readonly buffer Vertices64 { VertexRecord64 vertices[]; };
layout(std430, binding = 2) readonly buffer Poses { PoseRecord poses[]; };
// Not read-only, as in prove.comp: shapes and poses that are loaded again need no registers in between.
layout(std430, binding = 3) volatile buffer Indices { IndexRecord indices[]; };
layout(std430, binding = 4) buffer Searches { SearchRecord searches[]; };
layout(std430, binding = 5) buffer Columns { uint words[]; };
layout(std430, binding = 6) readonly buffer Cells { uint cells[]; };
layout(std430, binding = 7) writeonly buffer Depths { DepthRecord depths[]; };
layout(std430, binding = 8) buffer Counts { uint counts[]; };
layout(std430, binding = 9) writeonly buffer Continued { uint continued[]; };   // slots of LIST_CONTINUE
layout(std430, binding = 10) readonly buffer Stationary { uint stationary[]; }; // slots of LIST_STATIONARY
layout(push_constant) uniform Query { QueryRecord query; };

#include "pair.glsl"
#include "store.glsl"
#include "list.glsl"

uint slot;

Shape shapeOf(uint k) { return loadShape(k == 0u ? indices[slot].shape_a : indices[slot].shape_b); }
void recallPair() {}

#include "trust_region.glsl"

void keepIterate(Iterate p) {}
void recallIterate(inout Iterate p) {}

// A lower bound in closed form of the depth of two ellipsoids or spheres along the direction of the trust region
// method. The derivation and the rounding bound are those of ref (inscribed ellipsoids; see [Kurzhanski1997]).
//
// D = A - B contains the ellipsoid {c + Mᵀu : |u| ≤ 1} with M = F1 + S·F2, F1 = diag(a), F2 = diag(b)·Rᵀ, for any
// orthogonal S. The Lagrangian dual of the distance to its boundary bounds the depth of the origin in it. It is exact
// where S aligns the two maps, as alignedMaps does.

// alignedMaps returns the S that rotates F2x onto F1x, and of those the one that brings the maps of the plane
// orthogonal to x nearest to each other: it maximises the trace of G1ᵀSG2 over rotations and reflections of the planes
// orthogonal to F1x and F2x.
dmat3 alignedMaps(Iterate p, dvec3 a, dvec3 b, dvec3 f1, dvec3 f2) {
    double n1 = norm(f1), n2 = norm(f2);
    if (!(n1 > 0.0lf) || !(n2 > 0.0lf)) return dmat3(1); // a point: any S is valid
    precise dvec3 u1 = f1 / n1, u2 = f2 / n2;
    dvec3 a0, a1, b0, b1;
    tangentBasis(u1, a0, a1);
    tangentBasis(u2, b0, b1);
    precise dvec3 v0 = a * p.e, v1 = a * p.f, w0 = b * toFrameB(p.e), w1 = b * toFrameB(p.f);
    // C = G1·G2ᵀ
    precise double c00 = dotProduct(a0, v0) * dotProduct(b0, w0) + dotProduct(a0, v1) * dotProduct(b0, w1);
    precise double c01 = dotProduct(a0, v0) * dotProduct(b1, w0) + dotProduct(a0, v1) * dotProduct(b1, w1);
    precise double c10 = dotProduct(a1, v0) * dotProduct(b0, w0) + dotProduct(a1, v1) * dotProduct(b0, w1);
    precise double c11 = dotProduct(a1, v0) * dotProduct(b1, w0) + dotProduct(a1, v1) * dotProduct(b1, w1);
    precise dvec2 planeMap = dvec2(c00 + c11, c10 - c01), reflection = dvec2(c00 - c11, c01 + c10);
    double handedness = 1.0lf;
    if (dotProduct2(reflection, reflection) > dotProduct2(planeMap, planeMap)) {
        planeMap = reflection;
        handedness = -1.0lf;
    }
    double n = squareRoot(dotProduct2(planeMap, planeMap));
    planeMap = n > 0.0lf ? planeMap / n : dvec2(1, 0);
    precise dvec3 s0 = planeMap.x * a0 + planeMap.y * a1;
    precise dvec3 s1 = handedness * (planeMap.x * a1 - planeMap.y * a0);
    // S = u1 u2ᵀ + s0 b0ᵀ + s1 b1ᵀ
    precise dmat3 s = outerProduct(u1, u2) + outerProduct(s0, b0) + outerProduct(s1, b1);
    return s;
}

// inscribedEllipsoidDepth sets a lower bound of the depth of the cores, and returns false if there is none. gap is the
// gap that the bound may leave.
bool inscribedEllipsoidDepth(Iterate p, double gap, out double depth) {
    depth = 0.0lf;
    dvec3 a = shapeA.params, b = shapeB.params;
    precise dvec3 f1 = a * p.x, f2 = b * toFrameB(p.x);
    dmat3 s = alignedMaps(p, a, b, f1, f2);
    dmat3 r = transpose(rotation); // its columns are the axes of A in the frame of B
    precise dvec3 m0 = s * (b * r[0]) + dvec3(a.x, 0, 0);
    precise dvec3 m1 = s * (b * r[1]) + dvec3(0, a.y, 0);
    precise dvec3 m2 = s * (b * r[2]) + dvec3(0, 0, a.z);
    // Slightly less than the best multiplier, which is an eigenvalue where the centers coincide.
    precise double t = -p.h * (norm(f1) + norm(f2)) * (1.0lf - min(0.5lf, gap / (4.0lf * p.h)));
    dvec3 c = -translation; // both centers are the origins of the shapes
    // The Cholesky factor of MᵀM + tI, and z = L⁻¹c.
    precise double d0 = squaredNorm(m0) + t;
    if (!(d0 > 0.0lf)) return false;
    double l00 = squareRoot(d0);
    precise double l10 = dotProduct(m1, m0) / l00, l20 = dotProduct(m2, m0) / l00;
    precise double d1 = squaredNorm(m1) + t - l10 * l10;
    if (!(d1 > 0.0lf)) return false;
    double l11 = squareRoot(d1);
    precise double l21 = (dotProduct(m2, m1) - l20 * l10) / l11;
    precise double d2 = squaredNorm(m2) + t - l20 * l20 - l21 * l21;
    if (!(d2 > 0.0lf)) return false;
    double l22 = squareRoot(d2);
    precise double z0 = c.x / l00;
    precise double z1 = (c.y - l10 * z0) / l11;
    precise double z2 = (c.z - l20 * z0 - l21 * z1) / l22;
    precise double q = -t * (1.0lf - z0 * z0 - z1 * z1 - z2 * z2);
    if (!(q > 0.0lf)) return false;
    precise double proved = squareRoot(q) - 128.0lf * UNIT_ROUNDOFF * largestLength * largestLength / squareRoot(-t);
    depth = proved;
    return true;
}

// Evaluations reserved for rows for which single precision reached its limit.
const uint EXTRA_EVALUATIONS = 8u;

// answer returns the answer that a direction proves.
Answer answer(Iterate p) {
    Answer r;
    double ra = shapeA.radius, rb = shapeB.radius, erode = shapeA.erode + shapeB.erode;
    precise double d = -p.h - (ra + rb);
    precise double lower = d - supportRounding;
    precise double upper = largestLength; // no signed distance exceeds the distance of the centers
    precise double gradientBound = -p.h + p.gradientNorm;
    if (p.h < erode) {
        precise dvec3 w = p.w - erode * p.x;
        upper = max(norm(w), gradientBound + erode) - radius + supportRounding;
    } else if (isEllipsoid(shapeA) && isEllipsoid(shapeB)) {
        tolerance = joined(query.exact[4], query.exact[5]) * size; // that of depths of curved shapes
        double depth;
        if (inscribedEllipsoidDepth(p, computedGapFor(tolerance), depth))
            upper = max(-depth, gradientBound) - (ra + rb) + supportRounding;
    }
    r.distance = d;
    r.lower = lower;
    r.upper = upper;
    r.normal = p.x;
    precise dvec3 wa = p.a + ra * p.x;
    precise dvec3 wb = (p.a - p.w) - rb * p.x;
    r.witnessA = wa;
    r.witnessB = wb;
    return r;
}

// leaveToDepth adds the row to the list of depth_certificate.comp: the support point of the eroded cores along p, and
// its direction.
void leaveToDepth(Iterate p, uint evaluationCount) {
    uint at = addTo(LIST_DEPTHS);
    depths[at].slot = slot;
    depths[at].count = 1u;
    depths[at].iterations = evaluationCount;
    depths[at].declined = DECLINED_INTERSECTING;
    depths[at].faces = DEPTH_STATIONARY;
    depths[at].weights[0] = 1.0lf;
    precise dvec3 a = p.a - shapeA.erode * p.x, w = p.w - (shapeA.erode + shapeB.erode) * p.x;
    for (uint k = 0u; k < 3u; k++) {
        depths[at].vertices[k] = w[k];
        depths[at].vertices[3u + k] = p.x[k];
        depths[at].points[k] = a[k];
    }
}

// prove refines the direction, and reports whether it answered the row or left it to depth_certificate.comp.
bool prove(IndexRecord index) {
    shapeA = loadShape(index.shape_a);
    shapeB = loadShape(index.shape_b);
    loadPose(index);
    loadQuery();
    uint evaluationCount = searches[slot].iterations;
    uint evaluationLimit = min(MAX_EVALUATIONS + EXTRA_EVALUATIONS - min(evaluationCount, MAX_EVALUATIONS),
                               query.loop_limit / (1u + supportPasses(shapeA) + supportPasses(shapeB)));
    if (query.max_iterations != 0u)
        evaluationLimit = min(evaluationLimit, max(query.max_iterations, evaluationCount) - evaluationCount);
    if (evaluationLimit == 0u) return false;
    precise double valueLimit =
        hasCutOff ? -(cutOff + shapeA.radius + shapeB.radius + supportRounding) : -4.0lf * largestLength;
    dvec3 u = dvec3(searches[slot].directions[0], searches[slot].directions[1], searches[slot].directions[2]);
    uint previous = evaluationCount;
    Iterate p = trustRegion(-normalized(u), distanceGap, supportRounding, valueLimit, evaluationLimit, evaluationCount);
    refined = evaluationCount - previous > 1u;
    shapeA = shapeOf(0u);
    shapeB = shapeOf(1u);
    radius = shapeA.radius + shapeB.radius + shapeA.erode + shapeB.erode;
    Answer r = answer(p);
    uint status = classify(r);
    double depthGap = computedGapFor(joined(query.exact[4], query.exact[5]) * size);
    if (status == DECLINED && p.h > shapeA.erode + shapeB.erode + supportRounding &&
        p.gradientNorm <= 0.5lf * depthGap && loopsCompleted()) {
        leaveToDepth(p, evaluationCount);
        return true;
    }
    if (status == DECLINED || !loopsCompleted()) {
        searches[slot].iterations = evaluationCount;
        for (int k = 0; k < 3; k++) searches[slot].directions[k] = float(-p.x[k]);
        return false;
    }
    writeStatus(indices[slot].row, status, SOLVER_RTR, evaluationCount);
    writeColumns(indices[slot].row, indices[slot].pose_a, r);
    return true;
}

void main() {
    if (gl_GlobalInvocationID.x >= rowsIn(LIST_STATIONARY)) return;
    slot = stationary[gl_GlobalInvocationID.x];
    if (!prove(indices[slot])) continued[addTo(LIST_CONTINUE)] = slot;
}

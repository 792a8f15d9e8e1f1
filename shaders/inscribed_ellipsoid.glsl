// A lower bound in closed form of the depth of two ellipsoids or spheres along the direction of the trust region
// method. The derivation and the rounding bound are those of ref (inscribed ellipsoids; see [Kurzhanski1997]).
//
// D = A - B contains the ellipsoid {c + Mᵀu : |u| ≤ 1} with M = F1 + S·F2, F1 = diag(a), F2 = diag(b)·Rᵀ, for any
// orthogonal S. The Lagrangian dual of the distance to its boundary bounds the depth of the origin in it. It is exact
// where S aligns the two maps, as alignedMaps does.

#ifndef CLEARANCE_INSCRIBED_ELLIPSOID_GLSL
#define CLEARANCE_INSCRIBED_ELLIPSOID_GLSL

#include "trust_region.glsl"

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

#endif

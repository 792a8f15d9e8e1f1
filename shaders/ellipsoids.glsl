// A proof in closed form of the depth of two ellipsoids or spheres along the direction that
// the trust region method ended with: ref's innerEllipsoid (rtr_proof.go), where its
// derivation and its rounding bound stand. A - B holds the ellipsoid {c + Mᵀu : |u| ≤ 1}
// with M = F1 + S·F2, F1 = diag(a), F2 = diag(b)·Rᵀ, for any orthogonal S; a dual bounds the
// depth of the origin in it.

#ifndef CLEARANCE_ELLIPSOIDS_GLSL
#define CLEARANCE_ELLIPSOIDS_GLSL

#include "trust.glsl"

// aligned is the S that turns F2x onto F1x, and of those the one that brings the maps of the
// plane across x nearest to each other: it maximises the trace of G1ᵀSG2, over rotations
// and reflections of the planes across F1x and F2x.
dmat3 aligned(Stationary p, dvec3 a, dvec3 b, dvec3 f1, dvec3 f2) {
    double n1 = norm(f1), n2 = norm(f2);
    if (!(n1 > 0.0lf) || !(n2 > 0.0lf)) return dmat3(1); // a point: any S will do
    precise dvec3 u1 = f1 / n1, u2 = f2 / n2;
    dvec3 a0, a1, b0, b1;
    basis(u1, a0, a1);
    basis(u2, b0, b1);
    precise dvec3 v0 = a * p.e, v1 = a * p.f, w0 = b * intoB(p.e), w1 = b * intoB(p.f);
    // C = G1·G2ᵀ
    precise double c00 = product(a0, v0) * product(b0, w0) + product(a0, v1) * product(b0, w1);
    precise double c01 = product(a0, v0) * product(b1, w0) + product(a0, v1) * product(b1, w1);
    precise double c10 = product(a1, v0) * product(b0, w0) + product(a1, v1) * product(b0, w1);
    precise double c11 = product(a1, v0) * product(b1, w0) + product(a1, v1) * product(b1, w1);
    precise dvec2 turn = dvec2(c00 + c11, c10 - c01), mirror = dvec2(c00 - c11, c01 + c10);
    double flip = 1.0lf;
    if (product2(mirror, mirror) > product2(turn, turn)) {
        turn = mirror;
        flip = -1.0lf;
    }
    double n = root(product2(turn, turn));
    turn = n > 0.0lf ? turn / n : dvec2(1, 0);
    precise dvec3 s0 = turn.x * a0 + turn.y * a1;
    precise dvec3 s1 = flip * (turn.x * a1 - turn.y * a0);
    // S = u1 u2ᵀ + s0 b0ᵀ + s1 b1ᵀ
    precise dmat3 s = outerProduct(u1, u2) + outerProduct(s0, b0) + outerProduct(s1, b1);
    return s;
}

// provedDepth bounds the depth of the cores from below; false if it cannot. spare is the gap
// that it may leave.
bool provedDepth(Stationary p, double spare, out double depth) {
    depth = 0.0lf;
    dvec3 a = shapeA.params, b = shapeB.params;
    precise dvec3 f1 = a * p.x, f2 = b * intoB(p.x);
    dmat3 s = aligned(p, a, b, f1, f2);
    dmat3 r = transpose(rotation); // its columns are those of the axes of A seen from B
    precise dvec3 m0 = s * (b * r[0]) + dvec3(a.x, 0, 0);
    precise dvec3 m1 = s * (b * r[1]) + dvec3(0, a.y, 0);
    precise dvec3 m2 = s * (b * r[2]) + dvec3(0, 0, a.z);
    // Of the best multiplier a little less: for coinciding centres it is an eigenvalue.
    precise double t = -p.h * (norm(f1) + norm(f2)) * (1.0lf - min(0.5lf, spare / (4.0lf * p.h)));
    dvec3 c = -translation; // both centres are the origins of the shapes
    // The lower factor of MᵀM + tI, and z = L⁻¹c.
    precise double d0 = square(m0) + t;
    if (!(d0 > 0.0lf)) return false;
    double l00 = root(d0);
    precise double l10 = product(m1, m0) / l00, l20 = product(m2, m0) / l00;
    precise double d1 = square(m1) + t - l10 * l10;
    if (!(d1 > 0.0lf)) return false;
    double l11 = root(d1);
    precise double l21 = (product(m2, m1) - l20 * l10) / l11;
    precise double d2 = square(m2) + t - l20 * l20 - l21 * l21;
    if (!(d2 > 0.0lf)) return false;
    double l22 = root(d2);
    precise double z0 = c.x / l00;
    precise double z1 = (c.y - l10 * z0) / l11;
    precise double z2 = (c.z - l20 * z0 - l21 * z1) / l22;
    precise double q = -t * (1.0lf - z0 * z0 - z1 * z1 - z2 * z2);
    if (!(q > 0.0lf)) return false;
    precise double proved = root(q) - 128.0lf * UNIT_ROUNDOFF * scale * scale / root(-t);
    depth = proved;
    return true;
}

#endif

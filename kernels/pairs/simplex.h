// The distance sub-algorithm of GJK, without branches. A template, see vec3.h.
//
// Input: a simplex w, b, c, d, with w the newest vertex. A simplex with fewer vertices repeats w:
// edges of length zero gain nothing. Output: the point of the simplex that is closest to the origin,
// its feature, and whether the tetrahedron contains the origin.
//
// Like Signed Volumes [Montanari2017, sec. 3.3], it projects the origin on features of the simplex.
// The newest vertex w lies beyond the plane through the last closest point, so the closest feature
// contains w: w itself, one of three edges, or one of three faces. All seven are computed, and the one
// with the greatest gain |w|² − |x|² is chosen.

#if (REAL_BITS == 32 && !defined(CLR_SIMPLEX_32)) || (REAL_BITS == 64 && !defined(CLR_SIMPLEX_64))
#if REAL_BITS == 32
#define CLR_SIMPLEX_32
#else
#define CLR_SIMPLEX_64
#endif

#include "../shape/cores.h"

typedef struct {
    V3 x;                             // closest point
    VM keep_b, keep_c, keep_d;        // the older vertices of its feature
    VM inside;                        // the tetrahedron contains the origin
    VF least_volume, longest_squared; // least of the four volumes of a face with the origin; longest edge squared
    VF weight[3];                     // of the older vertices in x, if `weights` is set
} T(nearest);

// FLAT_FACE is the least squared sine of the angle between two edges of a face that is considered;
// FLAT_TETRAHEDRON the least squared volume, relative to the edges, of a tetrahedron that may contain
// the origin. Below them rounding decides.
#if REAL_BITS == 32
#define FLAT_FACE 1e-10f
#define FLAT_TETRAHEDRON 1e-12f
#define TINY_LENGTH2 1e-20f
#define TINY_AREA2 1e-30f
#else
#define FLAT_FACE 1e-26
#define FLAT_TETRAHEDRON 1e-28
#define TINY_LENGTH2 1e-100
#define TINY_AREA2 1e-200
#endif

ALWAYS T(nearest) T(project)(V3 w, V3 b, V3 c, V3 d, int weights) {
    const VF zero = SET1(0), one = SET1(1), tiny = SET1(TINY_LENGTH2);
    T(nearest) out;
    V3 e1 = T(sub)(b, w), e2 = T(sub)(c, w), e3 = T(sub)(d, w);
    VF h1 = -T(dot)(w, e1), h2 = -T(dot)(w, e2), h3 = -T(dot)(w, e3);
    VF g11 = T(dot)(e1, e1), g22 = T(dot)(e2, e2), g33 = T(dot)(e3, e3);
    VF ww = T(dot)(w, w), g12 = T(dot)(e1, e2), g23 = T(dot)(e2, e3), g31 = T(dot)(e3, e1);

    // Edges: the projection on edge i is w + t·eᵢ, t = hᵢ/gᵢᵢ, with the gain hᵢ·t.
    VF t1 = MIN(h1 * RCP(MAX(g11, tiny)), one), t2 = MIN(h2 * RCP(MAX(g22, tiny)), one),
       t3 = MIN(h3 * RCP(MAX(g33, tiny)), one);
    VM kb = LT(zero, h1);
    VF gain = SEL(kb, h1 * t1, zero), t = SEL(kb, t1, zero);
    V3 e = e1;
    VF q2 = h2 * t2, q3 = h3 * t3;
    VM kc = MAND(LT(zero, h2), LT(gain, q2));
    gain = SEL(kc, q2, gain);
    t = SEL(kc, t2, t);
    e = T(sel)(kc, e2, e);
    kb = MANDN(kb, kc);
    VM kd = MAND(LT(zero, h3), LT(gain, q3));
    gain = SEL(kd, q3, gain);
    t = SEL(kd, t3, t);
    e = T(sel)(kd, e3, e);
    kb = MANDN(kb, kd);
    kc = MANDN(kc, kd);
    if (weights) {
        out.weight[0] = SEL(kb, t, zero);
        out.weight[1] = SEL(kc, t, zero);
        out.weight[2] = SEL(kd, t, zero);
    }

    // Faces: with n = eᵢ × eⱼ the projection is n·⟨n, w⟩/|n|², and its weights times |n|² are gⱼⱼ·hᵢ −
    // gᵢⱼ·hⱼ and the like. On a needle of length L and width l the weights have an error of rounding
    // times (L/l)², but ⟨n, w⟩/|n| only of rounding times L/l. So the gain is computed from the
    // latter.
    V3 n3 = T(cross)(e1, e2), n1 = T(cross)(e2, e3), n2 = T(cross)(e3, e1);
    VF l1 = -T(dot)(w, n1), l2 = -T(dot)(w, n2), l3 = -T(dot)(w, n3);
    V3 n = n3;
    VF offset = l3, area = one;
    VM face = LT(one, zero);
#define FACE(gi, gj, gij, hi, hj, normal, l, keep_i, keep_j, drop, i, j, k)     \
    {                                                                           \
        VF det = T(dot)(normal, normal), inv = RCP(MAX(det, SET1(TINY_AREA2))); \
        VF ui = FNMA(gij, hj, gj * hi), uj = FNMA(gij, hi, gi * hj);            \
        VF q = FNMA(l * l, inv, ww);                                            \
        VM m = MAND(MAND(MAND(LT(zero, ui), LT(zero, uj)), LE(ui + uj, det)),   \
                    MAND(LT(SET1(FLAT_FACE) * gi * gj, det), LT(gain, q)));     \
        gain = SEL(m, q, gain);                                                 \
        n = T(sel)(m, normal, n);                                               \
        offset = SEL(m, l, offset);                                             \
        area = SEL(m, det, area);                                               \
        face = MOR(face, m);                                                    \
        keep_i = MOR(keep_i, m);                                                \
        keep_j = MOR(keep_j, m);                                                \
        drop = MANDN(drop, m);                                                  \
        if (weights) {                                                          \
            out.weight[i] = SEL(m, ui * inv, out.weight[i]);                    \
            out.weight[j] = SEL(m, uj * inv, out.weight[j]);                    \
            out.weight[k] = SEL(m, zero, out.weight[k]);                        \
        }                                                                       \
    }
    FACE(g11, g22, g12, h1, h2, n3, l3, kb, kc, kd, 0, 1, 2)
    FACE(g22, g33, g23, h2, h3, n1, l1, kc, kd, kb, 1, 2, 0)
    FACE(g33, g11, g31, h3, h1, n2, l2, kd, kb, kc, 2, 0, 1)
#undef FACE

    VF volume = T(dot)(e1, n1), sign = COPYSIGN(one, volume);
    out.least_volume = MIN(MIN(l1 * sign, l2 * sign), MIN(l3 * sign, (volume - (l1 + l2 + l3)) * sign));
    out.longest_squared = MAX(g11, MAX(g22, g33));
    out.inside = MAND(LE(zero, out.least_volume), LT(SET1(FLAT_TETRAHEDRON) * g11 * g22 * g33, volume * volume));
    VF k = -offset * RCP(MAX(area, SET1(TINY_AREA2)));
    out.x = T(sel)(face, T(scale)(k, n), T(axpy)(t, e, w));
    out.keep_b = kb;
    out.keep_c = kc;
    out.keep_d = kd;
    return out;
}

// project_after is project for a simplex of `taken` older vertices: 0, 1 or 2, or ANY_STEPS if that is not known. The
// simplex repeats vertices then (see above): with one older vertex b = c = d, with two c = d. The repeated vertices
// make flat faces and tetrahedra, which project excludes, and edges of no greater gain. So leaving them out changes no
// bit. The triangle w, b, c has two normals, e1 × e2 and e3 × e1, which differ by rounding: both count, as in project.
#define ANY_STEPS 3
ALWAYS T(nearest) T(project_after)(V3 w, V3 b, V3 c, V3 d, int weights, int taken) {
    const VF zero = SET1(0), one = SET1(1), tiny = SET1(TINY_LENGTH2);
    const VM none = MFROM(0);
    if (taken == ANY_STEPS || weights) return T(project)(w, b, c, d, weights);
    T(nearest) out = {.x = w, .keep_b = none, .keep_c = none, .keep_d = none, .inside = none};
    if (taken == 0) return out;
    V3 e1 = T(sub)(b, w), e2 = T(sub)(c, w);
    VF h1 = -T(dot)(w, e1), h2 = -T(dot)(w, e2);
    VF g11 = T(dot)(e1, e1), g22 = T(dot)(e2, e2), g12 = T(dot)(e1, e2);
    VF t1 = MIN(h1 * RCP(MAX(g11, tiny)), one), t2 = MIN(h2 * RCP(MAX(g22, tiny)), one);
    VM kb = LT(zero, h1), kc = none, kd = none, face = none;
    VF gain = SEL(kb, h1 * t1, zero), t = SEL(kb, t1, zero), offset = zero, area = one;
    V3 e = e1, n = e1;
    if (taken == 2) {
        VF ww = T(dot)(w, w), q2 = h2 * t2;
        kc = MAND(LT(zero, h2), LT(gain, q2));
        gain = SEL(kc, q2, gain);
        t = SEL(kc, t2, t);
        e = T(sel)(kc, e2, e);
        kb = MANDN(kb, kc);
        V3 n3 = T(cross)(e1, e2), n2 = T(cross)(e2, e1);
        VF l3 = -T(dot)(w, n3), l2 = -T(dot)(w, n2);
        VF u1 = FNMA(g12, h2, g22 * h1), u2 = FNMA(g12, h1, g11 * h2), least = SET1(FLAT_FACE) * g11 * g22;
        VF least2 = SET1(FLAT_FACE) * g22 * g11;
        const VM within = MAND(LT(zero, u1), LT(zero, u2));
        VF det = T(dot)(n3, n3), q = FNMA(l3 * l3, RCP(MAX(det, SET1(TINY_AREA2))), ww);
        VM m = MAND(MAND(within, LE(u1 + u2, det)), MAND(LT(least, det), LT(gain, q)));
        gain = SEL(m, q, gain), n = n3, offset = l3, area = SEL(m, det, area), face = m;
        kb = MOR(kb, m), kc = MOR(kc, m);
        det = T(dot)(n2, n2), q = FNMA(l2 * l2, RCP(MAX(det, SET1(TINY_AREA2))), ww);
        m = MAND(MAND(within, LE(u2 + u1, det)), MAND(LT(least2, det), LT(gain, q)));
        n = T(sel)(m, n2, n), offset = SEL(m, l2, offset), area = SEL(m, det, area), face = MOR(face, m);
        kb = MOR(kb, m), kd = m, kc = MANDN(kc, m);
    }
    VF k = -offset * RCP(MAX(area, SET1(TINY_AREA2)));
    out.x = T(sel)(face, T(scale)(k, n), T(axpy)(t, e, w));
    out.keep_b = kb;
    out.keep_c = kc;
    out.keep_d = kd;
    return out;
}

#undef FLAT_FACE
#undef FLAT_TETRAHEDRON
#undef TINY_LENGTH2
#undef TINY_AREA2

#if REAL_BITS == 32
// The proof that a tetrahedron contains the origin, whatever the errors of its vertices. Float32.
//
// If the tetrahedron contains the ball of radius δ, it contains the origin however each vertex is
// moved by at most δ: otherwise a plane through the origin would have all moved vertices on one side,
// and all vertices less than δ beyond it. So all four faces must be farther than δ from the origin:
// six times the volume of a face with the origin must exceed δ·|n|, where n is the product of two
// edges of the face.
//
// Rounding. Let G be the squared length of the longest edge at w, and u = 2⁻²⁴. The product of two
// such edges has an error of 6 u·G: edges, products and differences are rounded by u each. No vertex
// is farther than 1 from the origin, so the volumes of the faces at w have errors of 9 u·G; that of
// the tetrahedron has 18 u·G, as |e| ≤ 2; and the difference, the volume of the fourth face, less than
// 80 u·G.
#define VOLUME_UNITS 80

// LOOSE_VOLUME is a sufficient least volume, as a multiple of G, without knowledge of n: |n| is at
// most G for the faces at w, and 3√3/2·G for the fourth, a triangle in a ball of radius √G.
#define LOOSE_FACE_TENTHS 26
#define LOOSE_VOLUME(vertex_error) FMA(SET1(LOOSE_FACE_TENTHS / 10.0f), vertex_error, SET1(VOLUME_UNITS * 0x1p-24f))
_Static_assert(VOLUME_UNITS == 3 * 9 + 18 + 35, "the derivation above, and 35 to spare for the sums");
_Static_assert(4 * LOOSE_FACE_TENTHS * LOOSE_FACE_TENTHS >= 27 * 100, "(3√3/2)² is 27/4");

// contains is the proof with the exact |n| of each face.
ALWAYS VM contains(V3 w, V3 b, V3 c, V3 d, VF vertex_error) {
    const V3 e1 = T(sub)(b, w), e2 = T(sub)(c, w), e3 = T(sub)(d, w);
    const V3 n[3] = {T(cross)(e2, e3), T(cross)(e3, e1), T(cross)(e1, e2)}, last = T(add)(T(add)(n[0], n[1]), n[2]);
    const VF longest = MAX(T(dot)(e1, e1), MAX(T(dot)(e2, e2), T(dot)(e3, e3))),
             rounding = SET1(VOLUME_UNITS * 0x1p-24f) * longest;
    VF rest = T(dot)(e1, n[0]);
    const VF sign = COPYSIGN(SET1(1), rest);
    VM all = MFROM(LANES);
    for (int i = 0; i < 4; i++) {
        const VF volume = i < 3 ? -T(dot)(w, n[i]) : rest, area2 = i < 3 ? T(dot)(n[i], n[i]) : T(dot)(last, last);
        all = MAND(all, LT(FMA(vertex_error, SQRT(area2), rounding), volume * sign));
        rest = rest - volume;
    }
    return all;
}
#endif

#if REAL_BITS == 64
// Directions orthogonal to the edges of a simplex, to full precision. A template, float64, for
// tolerances near the rounding error; see ref/descent.go.
//
// The closest point x of a simplex is a sum that cancels. Its direction has an error of rounding over
// |x|. On a triangle of length L and width l it has an error along L of rounding times L²/l, as the
// weights have errors of rounding over l. Simplices on the rims of cylinders and cones are such
// triangles, with widths of 1e-4 to 1e-6. The tilt does not change the norm, but lowers the dual bound
// along x by a multiple of the tolerance.

#define FINE_TOLERANCE 1e-9 // above it the loss is negligible

// has_flats reports whether D may have edges or faces, or, like sharp superquadrics, surfaces that are
// flat up to rounding.
ALWAYS int has_flats(int ka, int kb) { return ka != CLR_ELLIPSOID || kb != CLR_ELLIPSOID; }

// orthogonal_part is the part of x orthogonal to e, in two passes: the second removes the rounding
// error of the first.
ALWAYS V3 orthogonal_part(V3 x, V3 e) {
    VF inv = SET1(1) / MAX(T(dot)(e, e), SET1(1e-200));
    x = T(axpy)(-T(dot)(e, x) * inv, e, x);
    return T(axpy)(-T(dot)(e, x) * inv, e, x);
}

// longest_of is the longest of three edges. It tells whether that is the second or the third.
ALWAYS V3 longest_of(V3 e1, V3 e2, V3 e3, VM *second, VM *third) {
    VF g1 = T(dot)(e1, e1), g2 = T(dot)(e2, e2), g3 = T(dot)(e3, e3);
    *third = MAND(LT(g1, g3), LT(g2, g3));
    *second = MANDN(LT(g1, g2), *third);
    return T(sel)(*third, e3, T(sel)(*second, e2, e1));
}

// orthogonal_direction is the direction of the point `sum` of the simplex w, p, q, whose vertices may
// be equal. `face` is the projection of the origin on the face by its normal. The normal has an error
// of rounding over the width, the sum one of rounding over its norm: the longer of both is used.
ALWAYS V3 orthogonal_direction(V3 w, V3 p, V3 q, V3 sum, V3 face) {
    VM second, third;
    V3 e1 = T(sub)(p, w), e2 = T(sub)(q, w), e = longest_of(e1, e2, T(sub)(q, p), &second, &third),
       n = T(cross)(e1, e2);
    VM by_normal = LT(T(dot)(sum, sum) * T(dot)(e, e), T(dot)(n, n));
    return T(sel)(by_normal, face, orthogonal_part(sum, e));
}

// project_along_longest_edge moves the point v + l1·e1 + l2·e2 of a triangle, where it lies on the
// face, along the longest edge to the projection of the origin, as far as the weights stay
// nonnegative. It returns the edge that the direction of the point should be orthogonal to.
ALWAYS V3 project_along_longest_edge(V3 v, V3 e1, V3 e2, VF *l1, VF *l2, V3 *x, VM face) {
    const VF zero = SET1(0), one = SET1(1);
    VM second, third;
    V3 e = longest_of(e1, e2, T(sub)(e2, e1), &second, &third);
    VM last = MOR(second, third);
    VF inv = SEL(face, one / MAX(T(dot)(e, e), SET1(1e-200)), zero);
    for (int pass = 0; pass < 2; pass++) {
        // The edge leads from the first vertex to the second or the third, or from the second to the
        // third.
        VF from = SEL(third, *l1, MAX(one - *l1 - *l2, zero)), to = SEL(last, *l2, *l1);
        VF t = MIN(MAX(-T(dot)(e, *x) * inv, -to), from);
        *l1 = *l1 + SEL(third, -t, SEL(second, zero, t));
        *l2 = *l2 + SEL(last, t, zero);
        *x = T(axpy)(*l2, e2, T(axpy)(*l1, e1, v));
    }
    V3 edge = T(sel)(LT(zero, *l1), e1, T(scale)(SEL(LT(zero, *l2), one, zero), e2));
    return T(sel)(face, e, edge);
}
#endif

#endif

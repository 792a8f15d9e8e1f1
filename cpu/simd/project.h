// The distance sub-algorithm of GJK, without branches. A template, see vec3.h.
//
// As Signed Volumes does (Montanari, Petrinic, Barbieri: Improving the GJK algorithm
// for faster and more reliable distance queries, sec. 3.3), it finds the point of a
// simplex nearest to the origin by projections on its features; since the newest
// vertex w lies beyond the plane through the last nearest point, only the features
// that hold w can be nearest: w itself, three edges, three faces. All are measured
// and the one with the largest gain |w|² − |x|² wins. A simplex with fewer vertices
// has w in the free slots: edges of length zero gain nothing.

typedef struct {
    V3 x;                      // nearest point
    VM keep_b, keep_c, keep_d; // old vertices of its feature
    VM inside;                 // the origin lies in the tetrahedron
    VF least, longest;         // the least of the tetrahedron's four volumes with the origin, and its longest edge squared
    VF weight[3];              // of the old vertices in x, if asked for
} T(nearest);

// The least squared sine of the angle between two edges whose face is looked at, and
// the least volume of a tetrahedron that may hold the origin, squared and relative
// to its edges: where they act, rounding decides.
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

    // Edges: the foot on edge i is w + t·eᵢ, t = hᵢ/gᵢᵢ, and gains hᵢ·t.
    VF t1 = MIN(h1 * RCP(MAX(g11, tiny)), one), t2 = MIN(h2 * RCP(MAX(g22, tiny)), one), t3 = MIN(h3 * RCP(MAX(g33, tiny)), one);
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

    // Faces: with n = eᵢ × eⱼ the foot is n·<n, w>/|n|², and its weights times |n|² are
    // gⱼⱼ·hᵢ − gᵢⱼ·hⱼ and the like. On a needle of length L and height h these are off
    // by rounding times (L/h)², the height of the foot only by rounding times L/h:
    // the gain is taken from it.
    V3 n3 = T(cross)(e1, e2), n1 = T(cross)(e2, e3), n2 = T(cross)(e3, e1);
    VF l1 = -T(dot)(w, n1), l2 = -T(dot)(w, n2), l3 = -T(dot)(w, n3);
    V3 n = n3;
    VF height = l3, area = one;
    VM face = LT(one, zero);
#define FACE(gi, gj, gij, hi, hj, normal, l, keep_i, keep_j, drop, i, j, k)                 \
    {                                                                                       \
        VF det = T(dot)(normal, normal), inv = RCP(MAX(det, SET1(TINY_AREA2)));             \
        VF ui = FNMA(gij, hj, gj * hi), uj = FNMA(gij, hi, gi * hj);                        \
        VF q = FNMA(l * l, inv, ww);                                                        \
        VM m = MAND(MAND(MAND(LT(zero, ui), LT(zero, uj)), LE(ui + uj, det)),               \
                    MAND(LT(SET1(FLAT_FACE) * gi * gj, det), LT(gain, q)));                 \
        gain = SEL(m, q, gain);                                                             \
        n = T(sel)(m, normal, n);                                                           \
        height = SEL(m, l, height);                                                         \
        area = SEL(m, det, area);                                                           \
        face = MOR(face, m);                                                                \
        keep_i = MOR(keep_i, m);                                                            \
        keep_j = MOR(keep_j, m);                                                            \
        drop = MANDN(drop, m);                                                              \
        if (weights) {                                                                      \
            out.weight[i] = SEL(m, ui * inv, out.weight[i]);                                \
            out.weight[j] = SEL(m, uj * inv, out.weight[j]);                                \
            out.weight[k] = SEL(m, zero, out.weight[k]);                                    \
        }                                                                                   \
    }
    FACE(g11, g22, g12, h1, h2, n3, l3, kb, kc, kd, 0, 1, 2)
    FACE(g22, g33, g23, h2, h3, n1, l1, kc, kd, kb, 1, 2, 0)
    FACE(g33, g11, g31, h3, h1, n2, l2, kd, kb, kc, 2, 0, 1)
#undef FACE

    VF volume = T(dot)(e1, n1), sign = COPYSIGN(one, volume);
    out.least = MIN(MIN(l1 * sign, l2 * sign), MIN(l3 * sign, (volume - (l1 + l2 + l3)) * sign));
    out.longest = MAX(g11, MAX(g22, g33));
    out.inside = MAND(LE(zero, out.least), LT(SET1(FLAT_TETRAHEDRON) * g11 * g22 * g33, volume * volume));
    VF k = -height * RCP(MAX(area, SET1(TINY_AREA2)));
    out.x = T(sel)(face, T(scale)(k, n), T(axpy)(t, e, w));
    out.keep_b = kb;
    out.keep_c = kc;
    out.keep_d = kd;
    return out;
}

// Initial directions of GJK and of Newton's method. A template, see vec3.h.
//
// The line of the centers is a poor start for long or flat cores. Here both cores are replaced by ellipsoids
// with their half extents as semi-axes, and the sum of these by one ellipsoid [Kurzhanski1997]. Let E and F be
// their matrices (squared semi-axes) in one frame and d the vector between the centers.
//
// Status: the ellipsoid of M = E + F is inscribed in the sum, and its support value is at least 1/√2 times the support
// value of the sum. n = M⁻¹d is the normal of the tangent plane at d of the ellipsoid scaled to pass through d, the
// best candidate for a separating direction.
//
// Distance: the ellipsoid of N = (1 + 1/β) E + (1 + β) F, β² = <n, En>/<n, Fn>, contains the sum and touches it in
// direction n. The direction from its closest point to d is (N + t)⁻¹d, for the t ≥ 0 that puts N(N + t)⁻¹d on
// its surface. t is estimated by |d|²(ρ − 1)/ρ², ρ² = <d, N⁻¹d>, which is exact for a multiple of the identity.
//
// Depth: if d lies inside (ρ < 1), the cores probably intersect. GJK from N⁻³d, close to the thinnest direction of
// the sum, ends with an initial simplex from which EPA takes fewest steps (lab/notebook/kernels-hulls.md).
//
// The output is a direction of any length. No bound rests on it.

#if (REAL_BITS == 32 && !defined(CLR_INITIAL_DIRECTION_32)) || (REAL_BITS == 64 && !defined(CLR_INITIAL_DIRECTION_64))
#if REAL_BITS == 32
#define CLR_INITIAL_DIRECTION_32
#else
#define CLR_INITIAL_DIRECTION_64
#endif

#include "../shape/cores.h"
#include <string.h>

// This share of the largest extent is added to all extents, which keeps M regular.
#define EXTENT_SHARE (REAL)0.01

// extents are the half extents of a core of class k with parameters p, or 0 if p does not hold them: the
// ellipsoid is then a ball.
ALWAYS V3 T(extents)(int k, V3 p) {
    const VF zero = SET1(0);
    if (k == CLR_SMOOTH_HULL || k == CLR_SMOOTH_REVOLUTION) return (V3){zero, zero, zero};
    if (k == CLR_FRUSTUM) p.x = p.y = MAX(p.x, p.y);
    return p;
}

// symmetric is a symmetric matrix.
typedef struct {
    VF xx, yy, zz, xy, yz, zx;
} T(symmetric);

ALWAYS V3 T(times)(const T(symmetric) *m, V3 v) {
    return (V3){FMA(m->zx, v.z, FMA(m->xy, v.y, m->xx * v.x)), FMA(m->yz, v.z, FMA(m->yy, v.y, m->xy * v.x)),
                FMA(m->zz, v.z, FMA(m->yz, v.y, m->zx * v.x))};
}

// adjugate is det(M)·M⁻¹.
ALWAYS T(symmetric) T(adjugate)(const T(symmetric) *m) {
    return (T(symmetric)){FNMA(m->yz, m->yz, m->yy * m->zz), FNMA(m->zx, m->zx, m->zz * m->xx),
                          FNMA(m->xy, m->xy, m->xx * m->yy), FNMA(m->xy, m->zz, m->yz * m->zx),
                          FNMA(m->yz, m->xx, m->zx * m->xy), FNMA(m->zx, m->yy, m->xy * m->yz)};
}

// weighted is k·E + l·F, e the diagonal of E.
ALWAYS T(symmetric) T(weighted)(VF k, V3 e, VF l, const T(symmetric) *f) {
    return (T(symmetric)){
        FMA(k, e.x, l * f->xx), FMA(k, e.y, l * f->yy), FMA(k, e.z, l * f->zz), l * f->xy, l * f->yz, l * f->zx};
}

// The purpose of an initial direction: the status alone, the distance, or depths by EPA as well.
#ifndef CLR_FIRST
#define CLR_FIRST
enum { FIRST_STATUS, FIRST_DISTANCE, FIRST_DEPTH };
#endif

// first_direction is the initial direction, of any length. e and f are the extents, m is the rotation of B, and
// d is the vector between the centers.
ALWAYS V3 T(first_direction)(V3 e, V3 f, const VF m[9], V3 d, int purpose) {
    const VF zero = SET1(0), one = SET1(1), tiny = SET1(TINY);
    const VF largest = MAX(MAX(MAX(e.x, e.y), e.z), MAX(MAX(f.x, f.y), f.z));
#if REAL_BITS == 32 // products of six lengths would overflow or underflow
    const VF least = SET1(EXTENT_SHARE), unit = RCP(MAX(largest, tiny));
    e = T(scale)(unit, e), f = T(scale)(unit, f), d = T(scale)(unit, d);
#else
    const VF least = SET1(EXTENT_SHARE) * largest;
#endif
    e = (V3){e.x + least, e.y + least, e.z + least};
    f = (V3){f.x + least, f.y + least, f.z + least};
    e = (V3){e.x * e.x, e.y * e.y, e.z * e.z};
    const VF square[3] = {f.x * f.x, f.y * f.y, f.z * f.z};
    T(symmetric) b = {zero, zero, zero, zero, zero, zero};
    for (int j = 0; j < 3; j++) {
        V3 r = {m[j], m[3 + j], m[6 + j]}, s = T(scale)(square[j], r);
        b.xx = FMA(s.x, r.x, b.xx), b.yy = FMA(s.y, r.y, b.yy), b.zz = FMA(s.z, r.z, b.zz);
        b.xy = FMA(s.x, r.y, b.xy), b.yz = FMA(s.y, r.z, b.yz), b.zx = FMA(s.z, r.x, b.zx);
    }
    T(symmetric) sum = {e.x + b.xx, e.y + b.yy, e.z + b.zz, b.xy, b.yz, b.zx};
    T(symmetric) inverse = T(adjugate)(&sum);
    V3 n = T(times)(&inverse, d);
    if (purpose == FIRST_STATUS) return n;
    VF ha = FMA(e.z * n.z, n.z, FMA(e.y * n.y, n.y, e.x * n.x * n.x)), hb = T(dot)(n, T(times)(&b, n));
    VF beta = ha * RSQRT(MAX(ha * hb, tiny));
    sum = T(weighted)(one + RCP(MAX(beta, tiny)), e, one + beta, &b);
    inverse = T(adjugate)(&sum);
    n = T(times)(&inverse, d);
    VF det = FMA(sum.zx, inverse.zx, FMA(sum.xy, inverse.xy, sum.xx * inverse.xx));
    VF rho2 = T(dot)(d, n) * RCP(MAX(det, tiny)), inv = RSQRT(MAX(rho2, one));
    VF t = T(dot)(d, d) * FNMA(inv, inv, inv); // (ρ − 1)/ρ² = 1/ρ − 1/ρ², or 0
    V3 thin = T(times)(&inverse, T(times)(&inverse, n));
    sum.xx = sum.xx + t, sum.yy = sum.yy + t, sum.zz = sum.zz + t;
    inverse = T(adjugate)(&sum);
    n = T(times)(&inverse, d);
    return purpose == FIRST_DEPTH ? T(sel)(LT(one, rho2), n, thin) : n;
}

// sounder is n, or d where the square of n overflows or underflows.
ALWAYS V3 T(sounder)(V3 n, V3 d) {
    VF nn = T(dot)(n, n);
    return T(sel)(MAND(LT(SET1(TINY), nn), LT(nn, SET1(1 / TINY))), n, d); // d as well if n is NaN
}

#if REAL_BITS == 32
// initial_directions writes the initial directions of rows 0 to n−1 of the group. It keeps warm starts, which
// prepare has written, with zero for rows without one.
static __attribute__((noinline)) void initial_directions(const clr_call *c, clr_scratch *s, int n, int ka, int kb) {
    const int smooth = ka == CLR_ELLIPSOID && kb == CLR_ELLIPSOID, purpose = c->collide ? FIRST_STATUS
                                                                             : smooth   ? FIRST_DISTANCE
                                                                                        : FIRST_DEPTH;
    for (int k = 0; k < n; k += W) {
        float *in = &s->in32[0][k], out[3][W] __attribute__((aligned(64)));
        VF m[9];
        for (int j = 0; j < 9; j++) m[j] = LOADU(in + (CLR_ROT + j) * CLR_STRIDE32);
        V3 d = T(ld3)(in + CLR_TRANS * CLR_STRIDE32, CLR_STRIDE32), x;
        V3 e = T(extents)(ka, T(ld3)(in + CLR_PA * CLR_STRIDE32, CLR_STRIDE32)),
           f = T(extents)(kb, T(ld3)(in + CLR_PB * CLR_STRIDE32, CLR_STRIDE32));
        VF dd = T(dot)(d, d), zero = SET1(0);
        x = T(sounder)(T(first_direction)(e, f, m, d, purpose), d);
        x = T(scale)(-RSQRT(MAX(T(dot)(x, x), SET1(TINY))), x);
        x = T(sel)(LE(dd, SET1(1e-18f)), (V3){SET1(1), zero, zero}, x);
        if (c->warm) {
            V3 warm = T(ld3)(in + CLR_X * CLR_STRIDE32, CLR_STRIDE32);
            x = T(sel)(LT(zero, T(dot)(warm, warm)), warm, x);
        }
        T(st3)(in + CLR_X * CLR_STRIDE32, CLR_STRIDE32, x);
        if (!smooth && !takes_rtr(c, ka, kb)) continue;
        T(st3)(out[0], W, x); // for smooth_pairs.h and trust_region.h
        for (int j = 0; j < 3; j++)
            for (int l = 0; l < W; l++) s->in64[CLR_X + j][k + l] = (double)out[j][l];
    }
}
#endif
#undef EXTENT_SHARE

// initial_support_value is an upper bound of the support value of a core of class k, relative to its center,
// along the unit vector d of its own frame: p are its parameters and erode. Small hulls have functions of
// their own (small_support_values).
ALWAYS VF T(initial_support_value)(int k, const VF p[4], V3 d) {
    V3 u = {MAX(d.x, -d.x), MAX(d.y, -d.y), MAX(d.z, -d.z)};
    if (k == CLR_BOX) return FMA(p[2], u.z, FMA(p[1], u.y, p[0] * u.x));
    if (k == CLR_ELLIPSOID ||
        k == CLR_HULL) { // the ellipsoid around a hull: the hull itself costs as much as a step of GJK
        V3 e = {p[0] * u.x, p[1] * u.y, p[2] * u.z};
        VF h = SQRT(T(dot)(e, e));
        return k == CLR_HULL ? p[3] * h : h - p[3];
    }
    if (k == CLR_FRUSTUM) {
        VF lateral = SQRT(FMA(u.y, u.y, u.x * u.x)), rise = p[2] * d.z;
        return MAX(FMA(p[0], lateral, -rise), FMA(p[1], lateral, rise));
    }
    return SET1(INFINITY);
}

#endif

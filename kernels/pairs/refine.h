// Newton's method for the final digits of pairs with a curved core [Nocedal2006, sec. 18.1]. A
// template, float64.
//
// GJK converges linearly there, as the vertices of its simplex move along the same rim. So points of D
// that differ only in their place on a rim, or on an ellipsoid, form one piece, whose point is a
// smooth function v of the direction n; a vertex is a constant piece. At the closest point x = f·n all
// pieces have the same support value along n, and x = Σ λ v. Newton's method for both, in the tangent
// plane of n (sequential quadratic programming), solves
//
//	(Σ λ H + f·I) t = P Σ λ v,   ⟨vⱼ − v₀, n + t⟩ = 0
//
// with the Hessians H of the support functions. Rim points far from each other mean that n is the axis
// of a flat end, where the support function has no Hessian: such rows stay as they are. The result is
// an estimate that certify.h bounds.

#ifndef CLR_REFINE_H
#define CLR_REFINE_H

#include "../isa/real64.h"
#include "../shape/hessian.h"
#include "../shape/support.h"

typedef struct {
    V3 x, n;
    VF l1, l2;
    VM face;
} clr_projection;

// triangle_projection is the point closest to the origin on the features of the triangle p, q, r that
// contain p, as p + l1·e1 + l2·e2, with e1 = q − p and e2 = r − p. n is the normal of the face, of any
// length.
ALWAYS clr_projection triangle_projection(V3 p, V3 e1, V3 e2) {
    const VF zero = SET1(0), one = SET1(1), tiny = SET1(1e-100);
    clr_projection f;
    VF h1 = -T(dot)(p, e1), h2 = -T(dot)(p, e2);
    VF g11 = T(dot)(e1, e1), g22 = T(dot)(e2, e2), g12 = T(dot)(e1, e2);
    VF t1 = MAX(MIN(h1 / MAX(g11, tiny), one), zero), t2 = MAX(MIN(h2 / MAX(g22, tiny), one), zero);
    VF q1 = h1 * t1, q2 = h2 * t2;
    VM second = LT(q1, q2);
    f.l1 = SEL(second, zero, t1);
    f.l2 = SEL(second, t2, zero);
    f.n = T(cross)(e1, e2);
    VF det = T(dot)(f.n, f.n), u1 = FNMA(g12, h2, g22 * h1), u2 = FNMA(g12, h1, g11 * h2);
    f.face = MAND(MAND(MAND(LT(zero, u1), LT(zero, u2)), LE(u1 + u2, det)), LT(SET1(1e-26) * g11 * g22, det));
    VF inv = one / MAX(det, SET1(1e-200));
    f.l1 = SEL(f.face, u1 * inv, f.l1);
    f.l2 = SEL(f.face, u2 * inv, f.l2);
    f.x = T(axpy)(f.l2, e2, T(axpy)(f.l1, e1, p));
    return f;
}

#define POLISH_STEPS 4

// pieces are the products of three points of a core with d, p and q, and the weighted Hessian of their
// support functions.
typedef struct {
    VF d[3], p[3], q[3], pp, pq, qq;
} pieces;

// rim_point is the support point along d of the upper rim (above) or the lower one; inv is the
// reciprocal of the length of d's lateral part.
ALWAYS V3 rim_point(V3 e, VM above, V3 d, VF inv) {
    VF k = SEL(above, e.y, e.x) * inv;
    return (V3){k * d.x, k * d.y, SEL(above, e.z, -e.z)};
}

ALWAYS VF inverse_lateral(V3 d) { return RSQRT(MAX(FMA(d.x, d.x, d.y * d.y), SET1(TINY))); }

// pieces_of are the pieces of a core of class k along d, from its last points and the weights.
ALWAYS pieces pieces_of(int k, const double *params, V3 d, V3 p, V3 q, const V3 point[3], const VF weight[3]) {
    const VF zero = SET1(0);
    pieces out;
    if (k == CLR_ELLIPSOID) {
        V3 s;
        T(curvature) b = T(ellipsoid_hessian)(params, CLR_STRIDE64, d, p, q, &s);
        for (int j = 0; j < 3; j++) out.d[j] = b.h, out.p[j] = b.p, out.q[j] = b.q;
        out.pp = b.pp, out.pq = b.pq, out.qq = b.qq;
        return out;
    }
    VF curvature = zero, inv = zero;
    V3 e = T(ld3)(params, CLR_STRIDE64);
    if (k == CLR_FRUSTUM) inv = inverse_lateral(d);
    for (int j = 0; j < 3; j++) {
        V3 s = point[j];
        if (k == CLR_FRUSTUM) {
            VM above = LT(zero, s.z);
            s = rim_point(e, above, d, inv);
            curvature = FMA(weight[j], SEL(above, e.y, e.x) * inv, curvature);
        }
        out.d[j] = T(dot)(s, d), out.p[j] = T(dot)(s, p), out.q[j] = T(dot)(s, q);
    }
    VF up = FMA(d.x, p.y, -(d.y * p.x)) * inv, uq = FMA(d.x, q.y, -(d.y * q.x)) * inv; // along the rim
    out.pp = curvature * up * up, out.pq = curvature * up * uq, out.qq = curvature * uq * uq;
    return out;
}

// move_points replaces the points of a core by the support points of their pieces along d.
ALWAYS void move_points(int k, const double *params, V3 d, VM which, V3 point[3]) {
    if (k != CLR_ELLIPSOID && k != CLR_FRUSTUM) return;
    V3 e = T(ld3)(params, CLR_STRIDE64);
    VF inv = k == CLR_FRUSTUM ? inverse_lateral(d) : SET1(0);
    for (int j = 0; j < 3; j++) {
        V3 s = k == CLR_FRUSTUM ? rim_point(e, LT(SET1(0), point[j].z), d, inv)
                                : T(core_support)(k, params, CLR_STRIDE64, d, SET1(1));
        point[j] = T(sel)(which, s, point[j]);
    }
}

// same_piece reports whether two points of a core of class k belong to one piece.
ALWAYS VM same_piece(int k, V3 s, V3 t) {
    if (k == CLR_ELLIPSOID) return LE(SET1(0), SET1(1));
    return k == CLR_FRUSTUM ? MAND(LE(s.z, t.z), LE(t.z, s.z)) : T(same)(s, t);
}

// ends_flat reports whether two points of one rim are so far from each other that its flat end is the
// closest feature.
ALWAYS VM ends_flat(int k, V3 s, V3 t) {
    if (k != CLR_FRUSTUM) return LT(SET1(1), SET1(0));
    V3 e = T(sub)(s, t);
    return LT(SET1(0.0625) * FMA(s.x, s.x, s.y * s.y), T(dot)(e, e));
}

// refine_simplex improves the unit direction x, the points a and b of three vertices and their weights
// in the closest point, in the lanes where the iteration converges.
static __attribute__((noinline)) void refine_simplex(const double *in, int ka, int kb, V3 a[3], V3 b[3],
                                                     clr_projection *f0, V3 *x) {
    const VF zero = SET1(0), one = SET1(1), stop = LOADU(in + CLR_STOP * CLR_STRIDE64),
             small = SET1(0.0625) * stop * stop;
    const double *pa = in + CLR_PA * CLR_STRIDE64, *pb = in + CLR_PB * CLR_STRIDE64, *m = in + CLR_ROT * CLR_STRIDE64;
    const V3 t = T(ld3)(in + CLR_TRANS * CLR_STRIDE64, CLR_STRIDE64);
    V3 n = *x;
    VF w1 = f0->l1, w2 = f0->l2;
    VM use1 = LT(zero, w1), use2 = LT(zero, w2), wide = LT(one, zero);
    VM s1 = MAND(use1, MAND(same_piece(ka, a[0], a[1]), same_piece(kb, b[0], b[1])));
    VM s2 = MAND(use2, MAND(same_piece(ka, a[0], a[2]), same_piece(kb, b[0], b[2])));
    VM s12 = MANDN(MAND(MAND(use1, use2), MAND(same_piece(ka, a[1], a[2]), same_piece(kb, b[1], b[2]))), s1);
    for (int j = 0; j < 3; j++) {
        VM s = j == 0 ? s1 : j == 1 ? s2 : s12;
        int u = j == 2, v = j == 0 ? 1 : 2;
        wide = MOR(wide, MAND(s, MOR(ends_flat(ka, a[u], a[v]), ends_flat(kb, b[u], b[v]))));
    }
    w1 = SEL(s12, w1 + w2, SEL(s1, zero, w1));
    w2 = SEL(MOR(s12, s2), zero, w2);
    use1 = MANDN(use1, s1);
    use2 = MANDN(use2, MOR(s2, s12));
    VM active = MANDN(LE(zero, stop), wide), done = wide;
    done = MANDN(done, done);
    for (int step = 0; MBITS(active); step++) {
        V3 p, q;
        T(across)(n, &p, &q);
        const VF weight[3] = {one - w1 - w2, w1, w2};
        pieces A = pieces_of(ka, pa, T(neg)(n), p, q, a, weight);
        pieces B = pieces_of(kb, pb, T(rotate_back)(m, CLR_STRIDE64, n), T(rotate_back)(m, CLR_STRIDE64, p),
                             T(rotate_back)(m, CLR_STRIDE64, q), b, weight);
        VF f = -(A.d[0] + B.d[0] + T(dot)(t, n)), gp = A.p[0] - B.p[0] - T(dot)(t, p),
           gq = A.q[0] - B.q[0] - T(dot)(t, q);
        VF d1 = SEL(use1, A.d[0] + B.d[0] - A.d[1] - B.d[1], zero),
           d2 = SEL(use2, A.d[0] + B.d[0] - A.d[2] - B.d[2], zero);
        VF p1 = A.p[1] - A.p[0] - B.p[1] + B.p[0], q1 = A.q[1] - A.q[0] - B.q[1] + B.q[0];
        VF p2 = A.p[2] - A.p[0] - B.p[2] + B.p[0], q2 = A.q[2] - A.q[0] - B.q[2] + B.q[0];
        VF sp = FMA(w2, p2, FMA(w1, p1, gp)), sq = FMA(w2, q2, FMA(w1, q1, gq));
        VM close = LE(MAX(FMA(sp, sp, sq * sq), MAX(d1 * d1, d2 * d2)), small);
        done = MOR(done, MAND(active, close));
        active = MANDN(active, close);
        if (step == POLISH_STEPS || !MBITS(active)) break;

        VF pp = A.pp + B.pp + f, pq = A.pq + B.pq, qq = A.qq + B.qq + f, inv = RCP(FNMA(pq, pq, pp * qq));
        VF tp = FNMA(pq, gq, qq * gp) * inv, tq = FNMA(pq, gp, pp * gq) * inv, n1 = zero, n2 = zero;
        VM both = MAND(use1, use2), some = MANDN(MOR(use1, use2), both);
        if (MBITS(some)) {
            VF ep = SEL(use1, p1, p2), eq = SEL(use1, q1, q2);
            VF zp = FNMA(pq, eq, qq * ep) * inv, zq = FNMA(pq, ep, pp * eq) * inv;
            VF l = -(SEL(use1, d1, d2) + FMA(ep, tp, eq * tq)) * RCP(FMA(ep, zp, eq * zq));
            tp = SEL(some, FMA(l, zp, tp), tp);
            tq = SEL(some, FMA(l, zq, tq), tq);
            n1 = SEL(MAND(some, use1), l, zero);
            n2 = SEL(MAND(some, use2), l, zero);
        }
        if (MBITS(both)) {
            VF r = RCP(FNMA(q1, p2, p1 * q2));
            VF up = FNMA(d1, q2, d2 * q1) * r, uq = FNMA(d2, p1, d1 * p2) * r;
            VF rp = FMA(pp, up, pq * uq) - gp, rq = FMA(pq, up, qq * uq) - gq;
            tp = SEL(both, up, tp);
            tq = SEL(both, uq, tq);
            n1 = SEL(both, FNMA(rq, p2, rp * q2) * r, n1);
            n2 = SEL(both, FNMA(q1, rp, p1 * rq) * r, n2);
        }
        w1 = SEL(active, n1, w1);
        w2 = SEL(active, n2, w2);
        V3 next = T(axpy)(tq, q, T(axpy)(tp, p, n));
        n = T(sel)(active, T(scale)(inverse_length(next), next), n);
    }
    done = MAND(done, MAND(MAND(LE(zero, w1), LE(zero, w2)), LE(w1 + w2, one)));
    move_points(ka, pa, T(neg)(n), done, a);
    move_points(kb, pb, T(rotate_back)(m, CLR_STRIDE64, n), done, b);
    f0->l1 = SEL(done, w1, f0->l1);
    f0->l2 = SEL(done, w2, f0->l2);
    V3 v[3];
    for (int j = 0; j < 3; j++) v[j] = T(sub)(a[j], T(add)(T(rotate)(m, CLR_STRIDE64, b[j]), t));
    f0->x = T(sel)(done, T(axpy)(w2, T(sub)(v[2], v[0]), T(axpy)(w1, T(sub)(v[1], v[0]), v[0])), f0->x);
    *x = T(sel)(done, n, *x);
}

#endif

// From directions to certified answers of smooth pairs. A template, float64.
//
// Input: the directions of trust_region.h. Output: answers. If the cores, eroded by their rolling
// balls, are separated along the direction, the support plane and the support points bound the
// distance, or the depth [RTR, Theorem 1]: the minimum is global. Otherwise an ellipsoid inscribed in
// D [Kurzhanski1997] bounds the depth of ellipsoids (ref/rtr_proof.go). With the unit direction x, the support point w
// of D along it, h = ⟨x, w⟩, e = |w − h·x|, the radii R and the rounding bound ρ:
//
//	distance = −h − R
//	lower    = −h − R − ρ
//	upper    = max(|w|, e − h) − R + ρ      separated cores, h < 0
//	upper    = max(−l, e − H) + b − R + ρ   intersecting ellipsoids; H = h + b and the proved lower bound
//	                                        l of the depth (rtr_depth) are those before erosion by b
//
// Rows that neither proves go on to GJK and EPA.

#ifndef CLR_SMOOTH_PAIRS_H
#define CLR_SMOOTH_PAIRS_H

#include "../isa/real64.h"
#include "trust_region.h"
#include "newton.h"
#include "input.h"
#include "store.h"
#include "../isa/real32.h"
#include "initial_direction.h"
#include "../isa/real64.h"

// rtr_stretched is the map from the tangent plane at x, with basis e and f, to the tangent plane at the image s of x,
// with basis a and b.
ALWAYS void rtr_stretched(V3 p, V3 s, V3 e, V3 f, V3 *unit, V3 *a, V3 *b, VF g[2][2]) {
    *unit = T(scale)(SET1(1) / SQRT(MAX(T(dot)(s, s), SET1(TINY))), s);
    T(across)(*unit, a, b);
    V3 u = {p.x * e.x, p.y * e.y, p.z * e.z}, v = {p.x * f.x, p.y * f.y, p.z * f.z};
    g[0][0] = T(dot)(*a, u), g[0][1] = T(dot)(*a, v), g[1][0] = T(dot)(*b, u), g[1][1] = T(dot)(*b, v);
}

// rtr_depth is a lower bound of the depth of the cores, from the inscribed ellipsoid of ref.Pair.innerEllipsoid, whose
// notation this is. x is a unit direction, h > 0 the support value along it. Without a proof the result is at most 0.
// Products and sums are as many as there; the basis of a tangent plane is orthonormal to 16 units of roundoff instead
// of 10, hence twice the rounding bound.
static __attribute__((noinline)) VF rtr_depth(const double *cols, VF x0, VF x1, VF x2, VF h, VF stop, VF scale) {
    const VF one = SET1(1), zero = SET1(0), tiny = SET1(1e-200);
    const double *r = cols + CLR_ROT * CLR_STRIDE64;
    const V3 x = {x0, x1, x2}, p = T(ld3)(cols + CLR_PA * CLR_STRIDE64, CLR_STRIDE64),
             q = T(ld3)(cols + CLR_PB * CLR_STRIDE64, CLR_STRIDE64);
    V3 e, f, u1, u2, a0, a1, b0, b1;
    VF g1[2][2], g2[2][2];
    T(across)(x, &e, &f);
    V3 y = T(rotate_back)(r, CLR_STRIDE64, x);
    V3 f1 = {p.x * x.x, p.y * x.y, p.z * x.z}, f2 = {q.x * y.x, q.y * y.y, q.z * y.z};
    rtr_stretched(p, f1, e, f, &u1, &a0, &a1, g1);
    rtr_stretched(q, f2, T(rotate_back)(r, CLR_STRIDE64, e), T(rotate_back)(r, CLR_STRIDE64, f), &u2, &b0, &b1, g2);
    VF c[2][2];
    for (int i = 0; i < 2; i++)
        for (int j = 0; j < 2; j++) c[i][j] = FMA(g1[i][0], g2[j][0], g1[i][1] * g2[j][1]);
    // Rotations [cos -sin; sin cos] and reflections [cos sin; sin -cos].
    VF cosine = c[0][0] + c[1][1], sine = c[1][0] - c[0][1], rc = c[0][0] - c[1][1], rs = c[0][1] + c[1][0];
    VM mirror = LT(FMA(cosine, cosine, sine * sine), FMA(rc, rc, rs * rs));
    VF flip = SEL(mirror, -one, one);
    cosine = SEL(mirror, rc, cosine);
    sine = SEL(mirror, rs, sine);
    VF n = FMA(cosine, cosine, sine * sine);
    VM any = LT(tiny, n);
    n = one / SQRT(MAX(n, tiny));
    cosine = SEL(any, cosine * n, one);
    sine = SEL(any, sine * n, zero);
    V3 w0 = T(axpy)(sine, a1, T(scale)(cosine, a0)), w1 = T(scale)(flip, T(axpy)(cosine, a1, T(scale)(-sine, a0)));
    // Columns of M = F₁ + S·F₂: S rotates u₂, b₀, b₁ onto u₁, w₀, w₁.
    V3 m[3] = {{p.x, zero, zero}, {zero, p.y, zero}, {zero, zero, p.z}};
    for (int k = 0; k < 3; k++) {
        // F₂ of the axis k of A, then S.
        V3 v = {LOADU(r + 3 * k * CLR_STRIDE64) * q.x, LOADU(r + (3 * k + 1) * CLR_STRIDE64) * q.y,
                LOADU(r + (3 * k + 2) * CLR_STRIDE64) * q.z};
        m[k] = T(axpy)(T(dot)(u2, v), u1, T(axpy)(T(dot)(b0, v), w0, T(axpy)(T(dot)(b1, v), w1, m[k])));
    }
    VF t = -h * (SQRT(T(dot)(f1, f1)) + SQRT(T(dot)(f2, f2))) * (one - MIN(SET1(0.5), stop / (SET1(4) * h)));
    V3 o = T(neg)(T(ld3)(cols + CLR_TRANS * CLR_STRIDE64, CLR_STRIDE64));
    // The lower factor of Q + tI, and z = L⁻¹c.
    VF d0 = T(dot)(m[0], m[0]) + t, l00 = SQRT(MAX(d0, tiny));
    VF l10 = T(dot)(m[1], m[0]) / l00, l20 = T(dot)(m[2], m[0]) / l00;
    VF d1 = T(dot)(m[1], m[1]) + t - l10 * l10, l11 = SQRT(MAX(d1, tiny));
    VF l21 = (T(dot)(m[2], m[1]) - l20 * l10) / l11;
    VF d2 = T(dot)(m[2], m[2]) + t - l20 * l20 - l21 * l21, l22 = SQRT(MAX(d2, tiny));
    VM ok = MAND(MAND(LT(tiny, d0), LT(tiny, d1)), MAND(LT(tiny, d2), LT(zero, h)));
    VF z0 = o.x / l00, z1 = (o.y - l10 * z0) / l11, z2 = (o.z - l20 * z0 - l21 * z1) / l22;
    VF depth = -t * (one - z0 * z0 - z1 * z1 - z2 * z2);
    ok = MAND(ok, MAND(LT(zero, depth), LT(tiny, -t)));
    depth = SQRT(MAX(depth, zero)) - SET1(256 * 0x1p-53) * scale * scale / SQRT(MAX(-t, tiny));
    return SEL(ok, depth, -one);
}

// rtr_prove answers the open rows of the group whose bounds suffice.
static __attribute__((noinline)) void rtr_prove(const clr_call *c, clr_scratch *s, int64_t at0, int n, int ka, int kb) {
    const int ellipsoids = ka == CLR_ELLIPSOID && kb == CLR_ELLIPSOID;
    const VF zero = SET1(0), one = SET1(1);
    const VF curved = SET1(c->curved_depth / c->tolerance);
    for (int k = 0; k < n; k += W) {
        unsigned open = 0;
        for (int l = 0; l < W && k + l < n; l++) open |= (unsigned)(s->state[k + l] == CLR_OPEN) << l;
        if (!open) continue;
        const double *cols = &s->in64[0][k], *more = &s->more[0][k];
        V3 x = T(neg)(T(ld3)(cols + CLR_X * CLR_STRIDE64, CLR_STRIDE64));
        x = T(scale)(one / SQRT(MAX(T(dot)(x, x), SET1(TINY))), x);
        const VF rounding = LOADU(more + CLR_ROUNDING * CLR_STRIDE64), tol = LOADU(more + CLR_TOL * CLR_STRIDE64);
        const VF ra = LOADU(more + CLR_RA * CLR_STRIDE64), rb = LOADU(more + CLR_RB * CLR_STRIDE64), radius = ra + rb;
        T(hulls) hull[2];
        const T(places) at = {
            .call = c, .in = cols, .stride = CLR_STRIDE64, .hull = {&hull[0], &hull[1]}, .lanes = open};
        put_hulls(c, s, k, ka, kb, hull);
        V3 a, w = T(support)(&at, ka, kb, T(neg)(x), one, &a, 0);
        VF h = T(dot)(x, w), length = SQRT(T(dot)(w, w));
        V3 side = T(axpy)(-h, x, w);
        VF off = SQRT(T(dot)(side, side)), distance = -h - radius, lower = distance - rounding,
           upper = MAX(length, off - h) - radius + rounding;
        VM unit = is_unit(x), away = LT(h, zero), close = LE(off, tol), ok;
        VF wanted = most_gap(c, ka, kb, tol, rounding);
        unsigned penetrating = ellipsoids ? open & MBITS(MANDN(MAND(unit, close), away)) : 0;
        if (penetrating) {
            VF balls = LOADU(cols + (CLR_PA + 3) * CLR_STRIDE64) + LOADU(cols + (CLR_PB + 3) * CLR_STRIDE64),
               whole = h + balls;
            VF tolerance = curved * tol, stop = MAX(tolerance - SET1(2) * rounding, rounding);
            VF depth = rtr_depth(cols, x.x, x.y, x.z, whole, stop, rounding * SET1(0x1p53 / 24));
            VM some = MANDN(LT(zero, depth), away);
            upper = SEL(some, MAX(-depth, off - whole) - radius + balls + rounding, SEL(away, upper, SET1(1e300)));
            wanted = SEL(some, MAX(tolerance, SET1(4) * rounding), wanted);
        } else {
            upper = SEL(away, upper, SET1(1e300));
        }
        VF gap = MAX(upper - distance, distance - lower);
        VM apart = LT(zero, lower), inside = LT(upper, zero);
        ok = LE(gap, wanted);
        if (c->has_cut_off) ok = MOR(ok, LT(SET1(c->cut_off), lower));
        if (c->collide) ok = MOR(ok, MOR(apart, inside));
        ok = MAND(MAND(ok, unit), LE(lower, upper));
        unsigned yes = open & MBITS(ok);
        store_lanes(c, s, at0, k, yes, CLR_SOLVER_RTR, distance, lower, upper, apart, inside, x, T(axpy)(ra, x, a),
                    T(axpy)(-rb, x, T(sub)(a, w)));
    }
}

// faster_by_rtr_first moves rows of two soft cores (trust_region.h) to the front of order, and returns their number.
static int faster_by_rtr_first(const clr_call *c, int64_t lo, int32_t *order, int rows) {
    int32_t other[CLR_BLOCK];
    int n = 0, others = 0;
    for (int k = 0; k < rows; k++) {
        const clr_row r = row_at(c, lo + order[k]);
        if (faster_by_rtr(c->shapes + r.shape_a, 0) && faster_by_rtr(c->shapes + r.shape_b, 0)) order[n++] = order[k];
        else other[others++] = order[k];
    }
    memcpy(order + n, other, (size_t)others * sizeof *other);
    return n;
}

// answer_smooth answers rows order[0..n), relative to lo, of pairs of smooth cores and points. If the caller named RTR,
// it runs on all of them. Otherwise separated ellipsoids are answered by Newton's method and soft cores by RTR. The
// rows that remain are moved to the front of order; their number is returned.
static __attribute__((noinline)) int answer_smooth(const clr_call *c, clr_scratch *s, int64_t lo, int32_t *order,
                                                   int rows, int ka, int kb) {
    if (!takes_rtr(c, ka, kb)) return rows;
    const int powers = HAS_POWERS(ka) || HAS_POWERS(kb), all = rows;
    if (powers && c->automatic) rows = faster_by_rtr_first(c, lo, order, rows);
    const int others = all - rows;
    for (int by_rtr = powers || !c->automatic; by_rtr < 2; by_rtr++) {
        int32_t *rest = order;
        for (int k = 0; k < rows; k += CLR_GROUP_ROWS) {
            int n = rows - k < CLR_GROUP_ROWS ? rows - k : CLR_GROUP_ROWS;
            prepare(c, s, lo, order + k, n, ka, kb, 0);
            initial_directions(c, s, n, ka, kb);
            if (by_rtr) {
                rtr_loop(c, s, 0, n, ka, kb);
                rtr_prove(c, s, lo - c->first, n, ka, kb);
                s->rows_rtr += n;
            } else {
                newton(c, s, lo - c->first, n, ka, kb);
            }
            for (int i = 0; i < n; i++) {
                if (s->state[i] != CLR_DONE) *rest++ = s->row[i];
                else if (by_rtr) s->done_rtr++, s->steps_rtr += s->steps[i];
            }
        }
        rows = (int)(rest - order);
    }
    memmove(order + rows, order + all - others, (size_t)others * sizeof *order);
    return rows + others;
}

#endif

// The Riemannian trust region method [RTR, Alg. 2] on smooth cores and points: it minimizes the
// support function h of D over the unit sphere. A template, float64; one pair per lane, lanes refilled
// as they finish.
//
// The tangent plane has two dimensions, so the model [RTR, eq. 9] is minimized exactly instead of by
// conjugate gradients: by Newton's step if the Hessian is positive definite, else with the Hessian
// shifted by twice its lowest eigenvalue; both are cut to the trust region. A point is accepted if h
// decreases by at least RTR_ACCEPT of the model's decrease.
//
// Input: initial directions. Output: the final directions, without a claim: smooth_pairs.h, or
// depth_certificate.h if the cores intersect, certifies them. A lane ends where the gradient and the
// negative curvature are within the tolerance.

#ifndef CLR_TRUST_REGION_H
#define CLR_TRUST_REGION_H

#include "../isa/real64.h"
#include "../shape/hessian.h"
#include "../shape/support.h"

// rtr_model is h around a direction: value, and gradient and Hessian (eq. 11 and 12) in the
// basis e, f of the tangent plane.
typedef struct {
    VF h, g0, g1, xx, xy, yy;
    V3 e, f;
} rtr_model;

// rtr_evaluate is the model of h along x.
ALWAYS rtr_model rtr_evaluate(const T(places) *at, int ka, int kb, V3 x) {
    rtr_model m;
    V3 s, v;
    T(across)(x, &m.e, &m.f);
    T(curvature) b = T(pair_hessian)(at, ka, kb, T(neg)(x), m.e, m.f, &s, &v);
    m.h = -b.h;
    m.g0 = b.p;
    m.g1 = b.q;
    m.xx = b.pp + b.h;
    m.xy = b.pq;
    m.yy = b.qq + b.h;
    return m;
}

// rtr_step is a step in the tangent plane and the decrease of the model along it.
typedef struct {
    VF v0, v1, length, decrease, low;
} rtr_step;

ALWAYS rtr_step rtr_newton(const rtr_model *m, VF radius) {
    const VF half = SET1(0.5), zero = SET1(0), one = SET1(1);
    rtr_step s;
    VF mean = half * (m->xx + m->yy), d = half * (m->xx - m->yy), q = SQRT(FMA(d, d, m->xy * m->xy));
    s.low = mean - q;
    VF floor = SET1(1e-14) * (MAX(mean, -mean) + q);
    VF shift = SEL(LT(floor, s.low), zero, FNMA(SET1(2), MIN(s.low, zero), floor));
    VF xx = m->xx + shift, yy = m->yy + shift;
    VF inv = -RCP(MAX(FNMA(m->xy, m->xy, xx * yy), SET1(TINY)));
    s.v0 = inv * FNMA(m->xy, m->g1, yy * m->g0);
    s.v1 = inv * FNMA(m->xy, m->g0, xx * m->g1);
    VF ll = FMA(s.v0, s.v0, s.v1 * s.v1), r = RSQRT(MAX(ll, SET1(TINY))), cut = MIN(one, radius * r);
    s.v0 = s.v0 * cut;
    s.v1 = s.v1 * cut;
    s.length = ll * r * cut;
    // Along a ridge, or on top of it, the step follows the lowest curvature.
    VM flat = MAND(LT(s.low, zero), LT(FMA(m->g0, m->g0, m->g1 * m->g1), SET1(1e-8) * s.low * s.low * radius * radius));
    if (MBITS(flat)) {
        VM other = LT(m->yy, m->xx);
        VF w0 = SEL(other, m->xy, s.low - m->yy), w1 = SEL(other, s.low - m->xx, m->xy);
        VF ww = FMA(w0, w0, w1 * w1), k = radius * RSQRT(MAX(ww, SET1(TINY)));
        VM isotropic = LE(ww, SET1(TINY)); // a multiple of the identity: any direction will do
        k = COPYSIGN(k, -FMA(w0, m->g0, w1 * m->g1));
        s.v0 = SEL(flat, SEL(isotropic, radius, k * w0), s.v0);
        s.v1 = SEL(flat, SEL(isotropic, zero, k * w1), s.v1);
        s.length = SEL(flat, radius, s.length);
    }
    VF h0 = FMA(m->xy, s.v1, m->xx * s.v0), h1 = FMA(m->xy, s.v0, m->yy * s.v1);
    s.decrease = -FMA(s.v0, FMA(half, h0, m->g0), s.v1 * FMA(half, h1, m->g1));
    return s;
}

// rtr_move is the retraction of a step (x + v)/|x + v|.
ALWAYS V3 rtr_move(const rtr_model *m, V3 x, VF v0, VF v1) {
    V3 y = T(axpy)(v1, m->f, T(axpy)(v0, m->e, x));
    return T(scale)(SET1(1) / SQRT(T(dot)(y, y)), y);
}

// Trust regions are lengths of the tangent step: a step of 1 rotates by 45°.
#define RTR_START (0.5)
#define RTR_MOST (1)
#define RTR_ACCEPT (0.1) // ρ′ of Alg. 2
#define RTR_STEPS 60
#define REFILL (W / 4 > 0 ? W / 4 : 1)

typedef struct {
    double in[CLR_IN][W];
    double x[3][W], model[6][W]; // the last accepted point
    double radius[W], step[W];
    int32_t at[W];    // row of the group
    T(hulls) hull[2]; // of cores that take powers
    unsigned active, idle, fresh;
} __attribute__((aligned(64))) rtr_lanes;

// rtr_rows are the rows that take the next lanes: n of a list, or 0 to n−1.
typedef struct {
    const int32_t *list;
    int next, n;
} rtr_rows;

// rtr_fill gives idle lanes the next rows.
ALWAYS void rtr_fill(rtr_lanes *L, const clr_call *c, const clr_scratch *s, rtr_rows *rows, int ka, int kb) {
    unsigned put = 0;
    const int from = rows->next;
    for (unsigned m = L->idle; m && rows->next < rows->n; m &= m - 1) {
        const int l = __builtin_ctz(m), i = rows->list ? rows->list[rows->next] : rows->next;
        rows->next++;
        put |= m & -m;
        T(put_hull)(&L->hull[0], l, c->shapes + s->shape_a[i], ka);
        T(put_hull)(&L->hull[1], l, c->shapes + s->shape_b[i], kb);
        L->at[l] = i;
    }
    if (!put) return;
    VM m = MFROM(put);
#ifdef EXPAND
    if (!rows->list) {
        for (int k = 0; k < CLR_IN; k++) STOREU(L->in[k], EXPAND(LOADU(L->in[k]), m, LOADU(&s->in64[k][from])));
    } else
#endif
    {
        (void)from;
        for (unsigned p = put; p; p &= p - 1) {
            const int l = __builtin_ctz(p);
            for (int k = 0; k < CLR_IN; k++) L->in[k][l] = s->in64[k][L->at[l]];
        }
    }
    V3 x = T(ld3)(L->in[CLR_X], W); // from B to A: the normal is the other way
    T(mst3)(L->x[0], W, m, T(scale)(-SET1(1) / SQRT(MAX(T(dot)(x, x), SET1(TINY))), x));
    MSTORE(L->radius, m, SET1(RTR_START));
    MSTORE(L->step, m, SET1(0));
    for (int k = 0; k < 6; k++) MSTORE(L->model[k], m, SET1(0));
    L->idle &= ~put;
    L->active |= put;
    L->fresh |= put;
}

// rtr_flush stores the last directions of finished lanes, from which another loop can continue.
ALWAYS void rtr_flush(rtr_lanes *L, clr_scratch *s) {
    unsigned finished = LANES & ~(L->active | L->idle);
    for (unsigned m = finished; m; m &= m - 1) {
        int l = __builtin_ctz(m), i = L->at[l];
        for (int j = 0; j < 3; j++) s->in64[CLR_X + j][i] = -(double)L->x[j][l];
        s->steps[i] += (uint16_t)L->step[l];
    }
    L->idle |= finished;
}

// rtr_iterate takes one step in all lanes: it evaluates h at the minimum of the model within the trust region, and
// accepts or rejects the point. A lane ends if the gradient is within the tolerance and no direction has negative
// curvature (eq. 13), or if the decrease is lost to rounding.
ALWAYS void rtr_iterate(rtr_lanes *L, const clr_call *c, VF most, int penetrating, int ka, int kb) {
    const VF one = SET1(1), zero = SET1(0), quarter = SET1(0.25);
    const double *in = &L->in[0][0];
    const T(places) at = {.call = c, .in = in, .stride = W, .hull = {&L->hull[0], &L->hull[1]}, .lanes = L->active};
    VM active = MFROM(L->active), fresh = MFROM(L->fresh);
    VF radius = LOADU(L->radius), step = LOADU(L->step);
    V3 x = T(ld3)(L->x[0], W);
    rtr_model m = {LOADU(L->model[0]), LOADU(L->model[1]), LOADU(L->model[2]),
                   LOADU(L->model[3]), LOADU(L->model[4]), LOADU(L->model[5])};
    T(across)(x, &m.e, &m.f);
    rtr_step s = rtr_newton(&m, radius);
    V3 y = rtr_move(&m, x, SEL(fresh, zero, s.v0), SEL(fresh, zero, s.v1));
    rtr_model to = rtr_evaluate(&at, ka, kb, y);
    VF rounding = LOADU(in + CLR_SUPPORT_ROUNDING * W), stop = SET1(0.5) * LOADU(in + CLR_STOP * W);
    rounding = rounding + rounding;
    VF gg = FMA(to.g0, to.g0, to.g1 * to.g1), old = FMA(m.g0, m.g0, m.g1 * m.g1);
    VF gain = m.h - to.h;
    VM small = LE(s.decrease, rounding); // the decrease is lost to rounding, the gradient decides
    VM good = MOR(fresh, MOR(MAND(small, LT(gg, old)), MANDN(LT(SET1(RTR_ACCEPT) * s.decrease, gain), small)));
    VM poor = MANDN(LT(gain, quarter * s.decrease), MOR(small, fresh)),
       fine = MANDN(LT(SET1(0.75) * s.decrease, gain), fresh);
    radius = SEL(poor, quarter * MIN(radius, s.length), SEL(fine, MIN(radius + radius, SET1(RTR_MOST)), radius));
    good = MAND(good, active);
    step = SEL(active, step + one, step);
    // The curvature at the new point decides with its gradient.
    VF mean = SET1(0.5) * (to.xx + to.yy), d = SET1(0.5) * (to.xx - to.yy);
    VM bowl = MAND(LE(-stop, mean), LE(FMA(d, d, to.xy * to.xy), (mean + stop) * (mean + stop)));
    VM far = LT(LOADU(in + CLR_FAR * W), -to.h);
    VM done = MOR(MAND(good, MOR(MAND(LE(gg, stop * stop), bowl), far)), MANDN(MANDN(small, good), fresh));
    // Intersecting cores are continued once GJK has a simplex that contains the origin (depth_certificate.h).
    if (c->automatic && !penetrating && (HAS_POWERS(ka) || HAS_POWERS(kb)))
        done = MOR(done, MANDN(LT(SET1(0), to.h), fresh));
    T(mst3)(L->x[0], W, good, y);
    const VF next[6] = {to.h, to.g0, to.g1, to.xx, to.xy, to.yy};
    for (int k = 0; k < 6; k++) MSTORE(L->model[k], good, next[k]);
    STOREU(L->radius, radius);
    STOREU(L->step, step);
    L->active &= ~MBITS(done) & MBITS(LT(step, most));
    L->fresh = 0;
}

// rtr_pairs runs rows, each up to the iteration limit; rows of a list are known to penetrate.
ALWAYS void rtr_pairs(const clr_call *c, clr_scratch *s, const int32_t *list, int n, int ka, int kb) {
    const VF most =
        SET1((c->max_steps && c->max_steps <= RTR_STEPS ? c->max_steps - 1 : RTR_STEPS) - 0.5); // the proof takes one
    rtr_lanes lanes[2];
    rtr_rows rows = {list, 0, n};
    memset(lanes, 0, sizeof lanes);
    lanes[0].idle = lanes[1].idle = LANES;
    FLUSH_BEGIN;
    for (unsigned any = 1; any;) {
        any = 0;
        for (int k = 0; k < 2; k++) {
            rtr_lanes *L = &lanes[k];
            if (__builtin_popcount(L->active) <= (rows.next < n ? W - REFILL : 0)) {
                rtr_flush(L, s);
                rtr_fill(L, c, s, &rows, ka, kb);
            }
            if (!L->active) continue;
            any = 1;
            rtr_iterate(L, c, most, list != 0, ka, kb);
        }
    }
    FLUSH_END;
}

// rtr_loop is rtr_pairs with the Hessian of ellipsoids inlined.
static __attribute__((noinline)) void rtr_loop(const clr_call *c, clr_scratch *s, const int32_t *list, int n, int ka,
                                               int kb) {
    if (ka == CLR_ELLIPSOID && kb == CLR_ELLIPSOID) rtr_pairs(c, s, list, n, CLR_ELLIPSOID, CLR_ELLIPSOID);
    else rtr_pairs(c, s, list, n, ka, kb);
}

// faster_by_rtr reports whether the trust region method is faster on a core than GJK or, with `for_depth`, than EPA. It
// is not near the flat sides and the edges of superquadrics with exponents close to 0 or 2, where the curvature varies
// strongly (lab/notebook/kernels-curved.md).
ALWAYS int faster_by_rtr(const clr_shape *s, int for_depth) {
    const double least = for_depth ? 0.1 : 0.2, most = 0.95; // halves of exponents
    return s->class != CLR_SUPERQUADRIC ||
           (s->extent[0] >= least && s->extent[0] <= most && s->extent[1] >= least && s->extent[1] <= most);
}

#undef RTR_START
#undef RTR_MOST
#undef RTR_ACCEPT
#undef RTR_STEPS
#undef REFILL

#endif

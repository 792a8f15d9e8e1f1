// Newton's method on the convex dual of the growth distance, for pairs of smooth cores; and spheres. Float64.
//
// In the frame of the ray let F(x, y) = h_D(x, y, 1). The distance t at which the ray leaves D is the minimum of F,
// which is convex [Growth, eq. 13]: the support plane of the minimum touches D on the axis. The gradient of F is the
// part across the axis of the support point, its Hessian that of the support functions (hessian.h).
//
// F grows like a norm, so that Newton's method on F itself diverges from afar. It is applied to F²/2, which for one
// ellipsoid is quadratic, and then takes one step from anywhere. With g and H of F, the step is that of F,
// d = −H⁻¹g, times 1/(1 + <g, H⁻¹g>/F) (Sherman and Morrison). A step that does not lower F is quartered.
// The iteration starts, for ellipsoids, with the minimum of the quadratic majorant Σ(h²/w + w)/2, w = h(0, 0, 1).
//
// It ends if the part across the axis is small relative to the inradius and to t; then the support point
// proves both bounds (growth_emit.h), or does not. All other rows are left to growth_simplex.h, so Newton's method may
// fail.
//
// Two spheres: D is a ball of radius R about q in the frame of the ray, which the axis leaves at the distance
// t = q.z + √(R² − q.x² − q.y²), with the normal ((0, 0, t) − q)/R.

#ifndef CLR_GROWTH_NEWTON_H
#define CLR_GROWTH_NEWTON_H

#include "real64.h"
#include "growth_emit.h"
#include "hessian.h"

#define NEWTON_STEPS 24
#define NEARLY 0.1 // times the root of the tolerance: the gap before the last step

// dual is F with its gradient and its Hessian.
typedef struct {
    VF f, x, y, xx, xy, yy;
} growth_dual;

// stretched is an ellipsoid in the frame of the ray: h(n) = |Mn|, with the first entries of MᵀM.
typedef struct {
    V3 m[3]; // columns
    VF xx, xy, yy;
} stretched;

// load_stretched loads the ellipsoid of one side.
ALWAYS stretched load_stretched(const double *in, int side) {
    const double *ray = in + (side ? CLR_RAY_B : CLR_RAY_A) * CLR_STRIDE64;
    const V3 e = T(ld3)(in + (side ? CLR_PB : CLR_PA) * CLR_STRIDE64, CLR_STRIDE64);
    stretched s;
    for (int j = 0; j < 3; j++)
        s.m[j] = (V3){e.x * LOADU(ray + j * CLR_STRIDE64), e.y * LOADU(ray + (3 + j) * CLR_STRIDE64),
                      e.z * LOADU(ray + (6 + j) * CLR_STRIDE64)};
    s.xx = T(dot)(s.m[0], s.m[0]);
    s.xy = T(dot)(s.m[0], s.m[1]);
    s.yy = T(dot)(s.m[1], s.m[1]);
    return s;
}

// add_stretched adds the support function of an ellipsoid.
ALWAYS void add_stretched(growth_dual *d, const stretched *s, VF x, VF y) {
    const V3 u = T(axpy)(x, s->m[0], T(axpy)(y, s->m[1], s->m[2]));
    const VF hh = MAX(T(dot)(u, u), SET1(TINY)), r = RSQRT(hh), p = T(dot)(u, s->m[0]) * r, q = T(dot)(u, s->m[1]) * r;
    d->f = FMA(hh, r, d->f);
    d->x = d->x + p;
    d->y = d->y + q;
    d->xx = FMA(FNMA(p, p, s->xx), r, d->xx);
    d->xy = FMA(FNMA(p, q, s->xy), r, d->xy);
    d->yy = FMA(FNMA(q, q, s->yy), r, d->yy);
}

// add_ball adds that of the balls, and the shift.
ALWAYS void add_ball(growth_dual *d, const double *in, VF x, VF y) {
    const VF ball = LOADU(in + CLR_BALL * CLR_STRIDE64);
    if (!MBITS(LT(SET1(0), ball))) {
        const V3 shift = T(ld3)(in + CLR_SHIFT * CLR_STRIDE64, CLR_STRIDE64);
        d->f = d->f + FMA(shift.x, x, FMA(shift.y, y, shift.z));
        d->x = d->x + shift.x;
        d->y = d->y + shift.y;
        return;
    }
    const VF ll = FMA(x, x, FMA(y, y, SET1(1))), r = RSQRT(ll), p = x * r, q = y * r, br = ball * r;
    const V3 shift = T(ld3)(in + CLR_SHIFT * CLR_STRIDE64, CLR_STRIDE64);
    d->f = d->f + FMA(br, ll, FMA(shift.x, x, FMA(shift.y, y, shift.z)));
    d->x = d->x + FMA(ball, p, shift.x);
    d->y = d->y + FMA(ball, q, shift.y);
    d->xx = FMA(FNMA(p, p, SET1(1)), br, d->xx);
    d->xy = FNMA(p * q, br, d->xy);
    d->yy = FMA(FNMA(q, q, SET1(1)), br, d->yy);
}

// dual_at is F at (x, y). The Hessian of a support function at the unit vector n is that at (x, y, 1) times its
// length.
ALWAYS growth_dual dual_at(const T(places) *at, int ka, int kb, const stretched *a, const stretched *b, VF x, VF y) {
    const double *in = at->in;
    const VF zero = SET1(0);
    growth_dual d = {zero, zero, zero, zero, zero, zero};
    add_ball(&d, in, x, y);
    const VF ll = FMA(x, x, FMA(y, y, SET1(1))), r = RSQRT(ll);
    const V3 n = {x * r, y * r, r};
    for (int side = 0; side < 2; side++) {
        const int k = side ? kb : ka;
        if (k == CLR_ELLIPSOID) {
            add_stretched(&d, side ? b : a, x, y);
            continue;
        }
        const double *ray = in + (side ? CLR_RAY_B : CLR_RAY_A) * CLR_STRIDE64;
        V3 e = T(rotate)(ray, CLR_STRIDE64, n), p = T(ld3)(ray, 3 * CLR_STRIDE64),
           q = T(ld3)(ray + CLR_STRIDE64, 3 * CLR_STRIDE64), s;
        if (side) e = T(neg)(e), p = T(neg)(p), q = T(neg)(q);
        const T(curvature) c = T(add_curvature)(at, k, side, e, p, q, &s);
        d.f = FMA(c.h * ll, r, d.f);
        d.x = d.x + c.p;
        d.y = d.y + c.q;
        d.xx = FMA(c.pp, r, d.xx);
        d.xy = FMA(c.pq, r, d.xy);
        d.yy = FMA(c.qq, r, d.yy);
    }
    return d;
}

// newton_loop answers rows 0 to n−1 of the group that are open and that Newton's method solves.
ALWAYS void newton_loop(const clr_call *c, clr_scratch *s, int64_t at0, int n, int ka, int kb) {
    const VF zero = SET1(0), one = SET1(1);
    for (int k = 0; k < n; k += W) {
        const unsigned open = all_open(s, k, n) ? LANES : lanes_in(s, k, n, CLR_OPEN);
        const double *in = &s->growth.in64[0][k];
        T(hulls) hull[2];
        T(places) at = {.call = c, .in = in, .stride = CLR_STRIDE64, .hull = {&hull[0], &hull[1]}, .lanes = open};
        if (!open) continue;
        put_hulls(c, s, k, ka, kb, hull);
        stretched a, b;
        if (ka == CLR_ELLIPSOID) a = load_stretched(in, 0);
        if (kb == CLR_ELLIPSOID) b = load_stretched(in, 1);
        VF x = zero, y = zero;
        if (ka == CLR_ELLIPSOID && kb == CLR_ELLIPSOID) {
            const VF tiny = SET1(TINY), wa = RSQRT(MAX(T(dot)(a.m[2], a.m[2]), tiny)),
                     wb = RSQRT(MAX(T(dot)(b.m[2], b.m[2]), tiny)), ball = LOADU(in + CLR_BALL * CLR_STRIDE64);
            const VF xx = FMA(wa, a.xx, FMA(wb, b.xx, ball)), xy = FMA(wa, a.xy, wb * b.xy),
                     yy = FMA(wa, a.yy, FMA(wb, b.yy, ball));
            const VF gx = FMA(wa, T(dot)(a.m[0], a.m[2]), wb * T(dot)(b.m[0], b.m[2])),
                     gy = FMA(wa, T(dot)(a.m[1], a.m[2]), wb * T(dot)(b.m[1], b.m[2]));
            const VF r = one / MAX(FNMA(xy, xy, xx * yy), tiny);
            x = FNMA(yy, gx, xy * gy) * r;
            y = FNMA(xx, gy, xy * gx) * r;
        }
        // Near the minimum a step squares the error, so that the last one needs no further evaluation.
        const VF tolerance = LOADU(&s->more[CLR_TOL][k]), inradius = LOADU(in + CLR_INRADIUS * CLR_STRIDE64);
        const VF stop = SET1(NEARLY) * SQRT(tolerance) * inradius;
        VF last = SET1(INFINITY), px = x, py = y, steps = zero;
        VM active = MFROM(open);
        for (int step = 0; step < NEWTON_STEPS && MBITS(active); step++) {
            at.lanes = MBITS(active);
            const growth_dual d = dual_at(&at, ka, kb, &a, &b, x, y);
            const VF side = magnitude(d.x) + magnitude(d.y), tilt = magnitude(x) + magnitude(y);
            steps = SEL(active, steps + one, steps);
            const VF r = RCP(MAX(FNMA(d.xy, d.xy, d.xx * d.yy), SET1(TINY)));
            const VF dx = FNMA(d.yy, d.x, d.xy * d.y) * r, dy = FNMA(d.xx, d.y, d.xy * d.x) * r;
            const VF slope = -FMA(d.x, dx, d.y * dy), length = d.f * RCP(d.f + MAX(slope, zero));
            const VF quarter = SET1(0.25), qx = x - px, qy = y - py;
            const VM move = MAND(active, LT(d.f, last));
            px = SEL(move, x, px);
            py = SEL(move, y, py);
            x = SEL(move, FMA(length, dx, x), SEL(active, FMA(quarter, qx, px), x));
            y = SEL(move, FMA(length, dy, y), SEL(active, FMA(quarter, qy, py), y));
            last = SEL(move, d.f, last);
            // The gap of the bounds, relative to t, is at most this over the inradius and F.
            active = MANDN(active, LE(side * FMA(inradius, tilt, d.f), stop * d.f));
        }
        double taken[W] __attribute__((aligned(64)));
        STOREU(taken, steps);
        for (int l = 0; l < W; l++) s->steps[k + l] += (uint16_t)taken[l];
        const VF r = RSQRT(FMA(x, x, FMA(y, y, one)));
        answer_by_point(c, s, at0, k, open & ~MBITS(active), &at, ka, kb, (V3){x * r, y * r, r}, CLR_SOLVER_NEWTON);
    }
}

// growth_newton is newton_loop with the support function of ellipsoids inlined.
static __attribute__((noinline)) void growth_newton(const clr_call *c, clr_scratch *s, int64_t at0, int n, int ka,
                                                    int kb) {
    if (SPECIAL(ka, kb, CLR_ELLIPSOID)) newton_loop(c, s, at0, n, CLR_ELLIPSOID, CLR_ELLIPSOID);
    else newton_loop(c, s, at0, n, ka, kb);
}

// growth_spheres answers rows 0 to n−1 of two points.
static __attribute__((noinline)) void growth_spheres(const clr_call *c, clr_scratch *s, int64_t at0, int n) {
    for (int k = 0; k < n; k += W) {
        const double *in = &s->growth.in64[0][k];
        T(places) at = {.call = c, .in = in, .stride = CLR_STRIDE64};
        const VF radius = LOADU(in + CLR_BALL * CLR_STRIDE64);
        const V3 q = T(ld3)(in + CLR_SHIFT * CLR_STRIDE64, CLR_STRIDE64);
        const VF rest = MAX(FNMA(q.x, q.x, FNMA(q.y, q.y, radius * radius)), SET1(0));
        answer_by_point(c, s, at0, k, lanes_in(s, k, n, CLR_OPEN), &at, CLR_BOX, CLR_BOX,
                        unit((V3){-q.x, -q.y, SQRT(rest)}), CLR_SOLVER_CLOSED_FORM);
    }
}

#undef NEWTON_STEPS
#undef NEARLY

#endif

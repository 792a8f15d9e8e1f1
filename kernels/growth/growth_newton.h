// Newton's method on the convex dual of the growth distance, for pairs of smooth cores; and spheres. Float64.
//
// In the frame of the ray let F(x, y) = h_D(x, y, 1). The distance t at which the ray leaves D is the minimum of F,
// which is convex [Growth, eq. 13]: the support plane of the minimum touches D on the axis. The gradient of F is the
// part of the support point across the axis; its Hessian is the Hessian of the support functions (hessian.h).
//
// F grows like a norm, so Newton's method on F itself diverges from distant points. It is applied to F²/2, which is
// quadratic for one ellipsoid: one step suffices there. With the gradient g and the Hessian H of F, the step is
//
//	d = −H⁻¹g / (1 + <g, H⁻¹g>/F)          (Sherman and Morrison)
//
// A step that does not lower F is quartered.
// The iteration starts, for ellipsoids, with the minimum of the quadratic majorant Σ(h²/w + w)/2, w = h(0, 0, 1).
// For them float32, with twice the lanes, takes all steps but the last ones (growth_dual.h has both precisions).
//
// It ends if the part across the axis is small relative to the inradius and to t. Rows whose bounds the support point
// proves are answered (growth_emit.h), all others by growth_simplex.h, so Newton's method may fail.
//
// Two spheres: D is a ball of radius R about q in the frame of the ray, which the axis leaves at the distance
// t = q.z + √(R² − q.x² − q.y²), with the normal ((0, 0, t) − q)/R.

#ifndef CLR_GROWTH_NEWTON_H
#define CLR_GROWTH_NEWTON_H

#include "../isa/real64.h"
#include "growth_dual.h"
#include "growth_emit.h"
#include "../shape/hessian.h"
#include "../isa/real32.h"
#include "growth_dual.h"

#define GROWTH_STEPS32 8 // in float32
#define GROWTH_STEPS 24  // in float64
#define NEARLY 0.1       // times the root of the tolerance: the gap before the last step
#define FAR 1e6          // slopes beyond it are no start

// newton_search32 writes points near the minimum for rows 0 to n−1 of two ellipsoids, and the evaluations that they
// took, to columns that growth_simplex.h writes later. As a step squares the gap, it ends at the root of the gap at
// which float64 takes its last step, which then is the first one in most rows.
static __attribute__((noinline)) void newton_search32(const clr_call *c, clr_scratch *s, int n) {
    const VF zero = SET1(0), stop = SQRT(SET1((float)NEARLY) * SQRT(SET1((float)c->curved_depth)));
    for (int k = 0; k < n; k += W) {
        const float *in = &s->growth.in32[0][k];
        const T(stretched) a = T(load_stretched)(in, CLR_STRIDE32, 0), b = T(load_stretched)(in, CLR_STRIDE32, 1);
        const VF inradius = LOADU(in + CLR_INRADIUS * CLR_STRIDE32);
        T(newton_iterate) p = T(majorant_start)(&a, &b, LOADU(in + CLR_BALL * CLR_STRIDE32));
        VM active = MFROM(n - k < W ? (1u << (n - k)) - 1 : LANES);
        for (int step = 0; step < GROWTH_STEPS32 && MBITS(active); step++) {
            T(growth_dual) d = {zero, zero, zero, zero, zero, zero};
            T(add_ball)(&d, in, CLR_STRIDE32, p.x, p.y);
            T(add_stretched)(&d, &a, p.x, p.y);
            T(add_stretched)(&d, &b, p.x, p.y);
            const VF gap = T(newton_advance)(&p, &d, inradius, active);
            active = MANDN(active, LE(gap, stop * inradius * d.f));
        }
        STOREU(&s->growth.facing[0][k], p.x);
        STOREU(&s->growth.facing[1][k], p.y);
        STOREU(&s->growth.facing[2][k], p.taken);
    }
}

#include "../isa/real64.h"

// dual_at is F at (x, y). The Hessian of a support function at the unit vector n is that at (x, y, 1) times its
// length.
ALWAYS T(growth_dual) dual_at(const T(places) *at, int ka, int kb, const T(stretched) *a, const T(stretched) *b, VF x,
                              VF y) {
    const double *in = at->in;
    const VF zero = SET1(0);
    T(growth_dual) d = {zero, zero, zero, zero, zero, zero};
    T(add_ball)(&d, in, CLR_STRIDE64, x, y);
    const VF ll = FMA(x, x, FMA(y, y, SET1(1))), r = RSQRT(ll);
    const V3 n = {x * r, y * r, r};
    for (int side = 0; side < 2; side++) {
        const int k = side ? kb : ka;
        if (k == CLR_ELLIPSOID) {
            T(add_stretched)(&d, side ? b : a, x, y);
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
        T(stretched) a, b;
        if (ka == CLR_ELLIPSOID) a = T(load_stretched)(in, CLR_STRIDE64, 0);
        if (kb == CLR_ELLIPSOID) b = T(load_stretched)(in, CLR_STRIDE64, 1);
        VM active = MFROM(open);
        T(newton_iterate) p = T(newton_from)(zero, zero);
        if (ka == CLR_ELLIPSOID && kb == CLR_ELLIPSOID) {
            const VF x = WIDEN(&s->growth.facing[0][k]), y = WIDEN(&s->growth.facing[1][k]);
            const VM sound = LT(magnitude(x) + magnitude(y), SET1(FAR));
            p = T(newton_from)(SEL(sound, x, zero), SEL(sound, y, zero));
            p.taken = SEL(active, WIDEN(&s->growth.facing[2][k]), zero);
        }
        // Near the minimum a step squares the error, so that the last one needs no further evaluation.
        const VF tolerance = LOADU(&s->more[CLR_TOL][k]), inradius = LOADU(in + CLR_INRADIUS * CLR_STRIDE64);
        const VF stop = SET1(NEARLY) * SQRT(tolerance) * inradius;
        for (int step = 0; step < GROWTH_STEPS && MBITS(active); step++) {
            at.lanes = MBITS(active);
            const T(growth_dual) d = dual_at(&at, ka, kb, &a, &b, p.x, p.y);
            const VF gap = T(newton_advance)(&p, &d, inradius, active);
            active = MANDN(active, LE(gap, stop * d.f));
        }
        double taken[W] __attribute__((aligned(64)));
        STOREU(taken, p.taken);
        for (int l = 0; l < W; l++)
            if (open >> l & 1) s->steps[k + l] += (uint16_t)taken[l];
        const VF r = RSQRT(FMA(p.x, p.x, FMA(p.y, p.y, one)));
        answer_by_point(c, s, at0, k, open & ~MBITS(active), &at, ka, kb, (V3){p.x * r, p.y * r, r}, CLR_SOLVER_NEWTON);
    }
}

// growth_newton is newton_loop with the support function of ellipsoids inlined.
static __attribute__((noinline)) void growth_newton(const clr_call *c, clr_scratch *s, int64_t at0, int n, int ka,
                                                    int kb) {
    if (ka == CLR_ELLIPSOID && kb == CLR_ELLIPSOID) newton_search32(c, s, n);
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

#undef GROWTH_STEPS
#undef NEARLY
#undef GROWTH_STEPS32
#undef FAR

#endif

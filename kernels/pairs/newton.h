// Distances of smooth pairs by Newton's method on the sphere. A template, float64.
//
// The distance of the cores is the maximum over unit vectors n of f(n) = min ⟨n, D⟩. The gradient of f
// is the support point v of D, and its Hessian is minus the Hessian H of the support functions; both
// are smooth almost everywhere on smooth cores. The step solves (H + f·I) t = Pv in the tangent plane
// of n and moves to (n + t)/|n + t|, as the Riemannian trust region method does for depths [RTR, Alg.
// 2]. H is positive semidefinite, so it is an ascent direction; a step that lowers f is undone and
// shortened.
//
// With the radii R, v and n as above, s = |v − f·n| and the rounding bound ρ:
//
//	distance = f − R
//	lower    = f − R − ρ
//	upper    = f − R + max(s, min(s, s²/2f) + ρ)     as |v| ≤ f + s²/2f (primal_excess)
//
// Input: prepared rows, from the line of centers for ellipsoids, else from the end of float32 GJK: on
// superquadrics whose support points follow a small power of the direction (exponents below 2/3) long
// steps go much too far. Output: answers. Rows whose bounds do not meet the tolerance go on to GJK.

#ifndef CLR_NEWTON_H
#define CLR_NEWTON_H

#include "../isa/real64.h"
#include "../shape/hessian.h"
#include "simplex.h"
#include "input.h"
#include "store.h"

#define NEWTON_STEPS 12     // most ellipsoids need 4 to 7; rows that need more go on to GJK
#define NEWTON_LAST_STEPS 5 // from where GJK ends; most need 3

typedef struct {
    V3 n, base, step; // direction of the next evaluation; the best so far; the step from it
    V3 at, a, v;      // direction of the last evaluation; points of A and of D there
    VF f;             // at base
    unsigned active;
    int taken[W];
    T(hulls) hull[2];
} newton_lanes;

// newton_step takes one step of the active lanes of rows k, k+1, ….
ALWAYS void newton_step(newton_lanes *L, const clr_call *c, const clr_scratch *s, int k, int ka, int kb) {
    const double *in = &s->in64[0][k];
    const T(places) at = {
        .call = c, .in = in, .stride = CLR_STRIDE64, .hull = {&L->hull[0], &L->hull[1]}, .lanes = L->active};
    const VF stop = LOADU(in + CLR_STOP * CLR_STRIDE64);
    VM active = MFROM(L->active);
    V3 n = L->n, p, q, a, v;
    T(across)(n, &p, &q);
    T(curvature) b = T(pair_hessian)(&at, ka, kb, n, p, q, &a, &v);
    L->at = T(sel)(active, n, L->at);
    L->a = T(sel)(active, a, L->a);
    L->v = T(sel)(active, v, L->v);
    VM lower = MAND(active, LT(b.h + LOADU(in + CLR_SUPPORT_ROUNDING * CLR_STRIDE64), L->f)),
       far = LT(LOADU(in + CLR_FAR * CLR_STRIDE64), b.h);
    VM close = LE(FMA(b.p, b.p, b.q * b.q), SET1(0.25) * stop * stop);
    active = MANDN(active, MANDN(MOR(close, far), lower));
    for (unsigned w = L->active; w; w &= w - 1) L->taken[__builtin_ctz(w)]++;
    L->active = MBITS(active);
    if (!L->active) return;
    VF push = MAX(b.h, stop); // f·I, as far as it helps
    VF pp = b.pp + push, qq = b.qq + push, inv = RCP(FNMA(b.pq, b.pq, pp * qq));
    VF tp = FNMA(b.pq, b.q, qq * b.p) * inv, tq = FNMA(b.pq, b.p, pp * b.q) * inv;
    L->base = T(sel)(lower, L->base, n);
    L->f = SEL(lower, L->f, b.h);
    L->step = T(sel)(lower, T(scale)(SET1(0.25), L->step), T(axpy)(tq, q, T(scale)(tp, p)));
    V3 next = T(add)(L->base, L->step);
    L->n = T(sel)(active, T(scale)(inverse_length(next), next), n);
}

// primal_excess bounds how much the distance of the cores may exceed low = ⟨n, v⟩: |v| is at most low +
// min(tilt, tilt²/(2·low)), where tilt is how far v lies off the normal, and `rounding` covers the rounding
// errors. The witnesses lie off the normal by tilt, so the gap is at least that.
ALWAYS VF primal_excess(VF low, VF tilt, VF rounding) {
    const VF beyond = MIN(tilt, SET1(0.5) * tilt * (tilt / MAX(low, rounding)));
    return MAX(tilt, beyond + rounding);
}

// newton_pairs answers rows 0 to n−1 of the group, of two smooth cores each.
ALWAYS void newton_pairs(const clr_call *c, clr_scratch *s, int64_t at0, int n, int ka, int kb) {
    const int from_centers = !HAS_POWERS(ka) && !HAS_POWERS(kb);
    const int most = !from_centers                                  ? NEWTON_LAST_STEPS
                     : c->max_steps && c->max_steps <= NEWTON_STEPS ? c->max_steps - 1
                                                                    : NEWTON_STEPS; // store_lanes counts one more
    for (int k0 = 0; k0 < n; k0 += 2 * W) {
        newton_lanes lanes[2];
        unsigned open[2] = {0};
        for (int j = 0; j < 2; j++) {
            newton_lanes *L = lanes + j;
            const int k = k0 + j * W;
            memset(L, 0, sizeof *L);
            for (int l = 0; l < W && k + l < n; l++) open[j] |= (unsigned)(s->state[k + l] == CLR_OPEN) << l;
            if (!open[j]) continue;
            if (!from_centers)
                for (int l = 0; l < W; l++) {
                    T(put_hull)(&L->hull[0], l, c->shapes + s->shape_a[k + l], ka);
                    T(put_hull)(&L->hull[1], l, c->shapes + s->shape_b[k + l], kb);
                }
            V3 x = T(ld3)(from_centers ? &s->in64[CLR_X][k] : &s->more[CLR_LAST][k], CLR_STRIDE64);
            L->n = T(scale)(inverse_length(x), x);
            L->f = SET1(-1e300);
            L->active = open[j];
        }
        for (int i = 0; i < most && (lanes[0].active | lanes[1].active); i++)
            for (int j = 0; j < 2; j++)
                if (lanes[j].active) newton_step(lanes + j, c, s, k0 + j * W, ka, kb);
        for (int j = 0; j < 2; j++) {
            const int k = k0 + j * W;
            if (!open[j]) continue;
            const double *more = &s->more[0][k];
            const VF rounding = LOADU(more + CLR_ROUNDING * CLR_STRIDE64), tol = LOADU(more + CLR_TOL * CLR_STRIDE64);
            const VF ra = LOADU(more + CLR_RA * CLR_STRIDE64), rb = LOADU(more + CLR_RB * CLR_STRIDE64),
                     radius = ra + rb, zero = SET1(0);
            V3 x = lanes[j].at, a = lanes[j].a, v = lanes[j].v;
            VF low = T(dot)(x, v), distance = low - radius;
            V3 side = T(axpy)(-low, x, v);
            VF excess = primal_excess(low, SQRT(T(dot)(side, side)), rounding), lower = distance - rounding,
               upper = distance + excess;
            VM ok = LE(excess, most_gap(c, ka, kb, tol, rounding));
            if (c->has_cut_off) ok = MOR(ok, LT(SET1(c->cut_off), lower));
            VM certain = MAND(LT(rounding, low), is_unit(x));
            unsigned yes = open[j] & MBITS(MAND(ok, certain));
            V3 normal = T(neg)(x);
            for (unsigned w = open[j]; w; w &= w - 1)
                s->steps[k + __builtin_ctz(w)] += (uint16_t)lanes[j].taken[__builtin_ctz(w)];
            store_lanes(c, s, at0, k, yes, CLR_SOLVER_NEWTON, distance, lower, upper, LT(zero, lower), LT(upper, zero),
                        normal, T(axpy)(ra, normal, a), T(axpy)(-rb, normal, T(sub)(a, v)));
        }
    }
}

// last_by_newton reports whether Newton's method continues from the end of float32 GJK: where the
// tolerance would cost many steps of GJK in float64, and no iteration limit is set.
ALWAYS int last_by_newton(const clr_call *c, int ka, int kb) {
    return c->automatic && !c->collide && !c->max_steps && c->tolerance < FINE_TOLERANCE && HAS_HESSIAN(ka) &&
           HAS_HESSIAN(kb);
}

// newton is newton_pairs with the Hessian of ellipsoids inlined.
static __attribute__((noinline)) void newton(const clr_call *c, clr_scratch *s, int64_t at0, int n, int ka, int kb) {
    if (ka == CLR_ELLIPSOID && kb == CLR_ELLIPSOID) newton_pairs(c, s, at0, n, CLR_ELLIPSOID, CLR_ELLIPSOID);
    else newton_pairs(c, s, at0, n, ka, kb);
}

#endif

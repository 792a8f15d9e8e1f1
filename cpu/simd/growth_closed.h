// Growth of a shape about its center until it meets a half-space, which does not grow. A template, float64.
//
// With the outward normal m, the plane through the origin, the center c of the shape and its support function h about
// c, the factor is α = max(0, <m, c>/h(−m)). The normal is ±m, from A to B. The witness of the shape is its support
// point along −m, that of the half-space the point in which the grown shape meets it. Rounding moves <m, c> by δ and h
// by η (growth_input.h).
//
// Rows with flat shapes go to the reference solvers, which refuse them.

#ifndef CLR_GROWTH_CLOSED_H
#define CLR_GROWTH_CLOSED_H

#include "real64.h"
#include "closed_rows.h"
#include "growth_bounds.h"
#include "growth_input.h"

// growth_to_plane answers rows order[0..n), at most W, relative to lo, of a half-space, body `side`, and a shape of
// class k. It declines those without sufficient bounds.
ALWAYS void growth_to_plane(const clr_call *c, clr_scratch *s, int64_t lo, const int32_t *order, int n, int side, int k,
                            int *left) {
    const closed_in in = closed_load(c, lo, order, n);
    const int other = 1 - side;
    const VF zero = SET1(0), unit_round = SET1(24 * 0x1p-53);
    const double *middle[W], *core[W];
    VF center[4], offset[4], m[9];
    closed_out o;
    for (int l = 0; l < W; l++) {
        middle[l] = c->centers + CLR_CENTER_VALUES * (in.shape[other][l] - c->shapes);
        core[l] = in.shape[other][l]->center;
    }
    ROWS(center, middle, 15)
    ROWS(offset, core, 15) // the fourth is the distance from the origin
    const V3 up = axis(in.w[side], in.v[side]), own = {center[0], center[1], center[2]};
    matrix(in.w[other], in.v[other], m);
    const V3 t = side ? T(neg)(in.t) : in.t, from = T(apply)(m, own); // from the origin of the half-space to the shape
    const V3 down = T(neg)(T(apply_transposed)(m, up));
    const V3 reach = T(axpy)(-in.radius[other], up, T(apply)(m, T(sub)(half_support(c, &in, other, k, down), own)));
    const VF off = SQRT(T(dot)(own, own)), length = SQRT(T(dot)(in.t, in.t)),
             size = in.size - in.radius[side]; // a half-space has the size of its margin
    const VF above = T(dot)(up, T(add)(t, from)) - in.radius[side], value = -T(dot)(up, reach);
    const VF round_p = unit_round * (in.radius[side] + length + off),
             round_s = FMA(SET1(power_units(k) * 0x1p-53), size,
                           unit_round * (size + size + off + off + offset[3] + offset[3]));
    o.distance = MAX(above, zero) / value;
    o.lower = MAX((above - round_p) / (value + round_s), zero);
    o.upper = SEL(LE(above + round_p, zero), zero, (above + round_p) / (value - round_s));
    const growth_scales scales = {above, round_p, round_s, value};
    const VF tolerance = growth_tolerance(c, k, k, in.radius[other]);
    o.ok = MAND(MAND(LT(round_s, value), LT(zero, center[3])),
                growth_suffices(c, &scales, tolerance, o.lower, o.upper, 1));
    // In the frame at the origin of A.
    const V3 origin = side ? (V3){zero, zero, zero} : in.t, at = T(add)(origin, from);
    const V3 meets = T(axpy)(o.distance, reach, at), touches = T(add)(at, reach);
    o.n = side ? T(neg)(up) : up;
    o.a = side ? touches : meets;
    o.b = side ? meets : touches;
    int32_t rest[W];
    const int32_t *end = closed_put(c, s, lo - c->first, order, n, &in, &o, 1, CLR_SOLVER_CLOSED_FORM, rest, left);
    double v[3][W] __attribute__((aligned(64)));
    T(st3)(v[0], W, T(add)(meets, in.pos));
    const unsigned ok = MBITS(MAND(in.good, o.ok)) & (n < W ? (1u << n) - 1 : LANES);
    store_vectors(c, CLR_COLUMN_POINT, lo - c->first, order, -1, ok, (const double (*)[W])v);
    for (const int32_t *i = rest; i < end; i++) s->left[(*left)++] = *i;
}

// growth_half_space answers or declines the rows order[0..n), relative to lo, of group g.
static __attribute__((noinline)) void growth_half_space(const clr_call *c, clr_scratch *s, int64_t lo,
                                                        const int32_t *order, int n, int g, int *left) {
    const int side = g >= CLR_HALF_B, k = g - (side ? CLR_HALF_B : CLR_HALF_A);
    for (int i = 0; i < n; i += W) growth_to_plane(c, s, lo, order + i, n - i < W ? n - i : W, side, k, left);
}

#endif

// Local minima of h_D over the unit sphere, and caps around them, for depth_certificate.h. Float64; W rows
// of a list at a time.
//
// Cores of revolution with two rims: sequential quadratic programming and cap certificates of depth_rims.h. Smooth
// cores: the Riemannian trust region method [RTR] (trust_region.h), and cap certificates from Hessian bounds
// (hessian_bounds.h).
//
// With h = h_D(n), the remaining gradient g of h_D at n and the rounding bound ρ, over a cap of size t:
//
//	smooth cores  low = h − (|g| + rounding of g)·t − 4ρ
//	rims          low = h − |g|·t − (deficit of the multipliers) − 4ρ        (depth_rims.h)
//	accepted iff h − low ≤ stop, |witnesses − h·n| ≤ stop, low > ρ and t > 0
//
// Input: the listed rows; the first search starts from directions of its own (rims) or from the direction that GJK
// began with (smooth cores), a later one from the direction in s->minima in which D has a smaller support value.
// Output in s->minima, if a local minimum n with a cap of size t was found: its bounds, normal and witnesses; a number
// low with h_D ≥ low over the cap; and the apex n·low·√(1 + t²), both rounded to float32 in units of the span. The row
// is declined to epa.h (CLR_MINIMUM_NONE) if its bounds or its witnesses do not meet the tolerance, or no cap is
// proved. If the search did not end in a local minimum, it goes on from where it stopped (CLR_MINIMUM_AGAIN).

#ifndef CLR_DEPTH_MINIMUM_H
#define CLR_DEPTH_MINIMUM_H

#include "../isa/real64.h"
#include "depth_rims.h"
#include "../shape/hessian_bounds.h"
#include "trust_region.h"
#include "store.h"
#include "epa.h"
#include "../shape/support.h"
#include <string.h>

// The apex belongs to a cap with t² smaller by this factor. Its rounding to float32 tilts it by 2⁻²³ and widens its cap
// by 2⁻²³/t; caps have sizes of at least 0.01.
#define APEX_SHARE 0.98

// depth_rows are W rows of a list, one per lane.
typedef struct {
    double in[CLR_STOP][W] __attribute__((aligned(64)));
    double rounding[W] __attribute__((aligned(64))), tol[W] __attribute__((aligned(64))),
        span[W] __attribute__((aligned(64)));
    T(hulls) hull[2];
    int32_t row[W]; // lanes beyond the end of the list have its last row
    unsigned lanes;
} depth_rows;

ALWAYS void pick_rows(const clr_call *c, const clr_scratch *s, const int32_t *list, int n, int ka, int kb,
                      depth_rows *r) {
    int32_t *row = r->row;
    r->lanes = n < W ? (1u << n) - 1 : LANES;
    for (int l = 0; l < W; l++) row[l] = list[l < n ? l : n - 1];
    memset(r->hull, 0, sizeof r->hull);
    for (int j = 0; j < CLR_STOP; j++)
        for (int l = 0; l < W; l++) r->in[j][l] = s->in64[j][row[l]];
    for (int l = 0; l < W; l++) {
        r->rounding[l] = s->more[CLR_ROUNDING][row[l]];
        r->tol[l] = s->more[CLR_TOL][row[l]];
        r->span[l] = s->more[CLR_SPAN][row[l]];
        T(put_hull)(&r->hull[0], l, c->shapes + s->shape_a[row[l]], ka);
        T(put_hull)(&r->hull[1], l, c->shapes + s->shape_b[row[l]], kb);
    }
}

// places_of returns the columns of the rows for the support functions.
ALWAYS T(places) places_of(const clr_call *c, const depth_rows *r) {
    return (T(places)){.call = c, .in = r->in[0], .stride = W, .hull = {&r->hull[0], &r->hull[1]}, .lanes = r->lanes};
}

// store_minima stores the results of a vector of rows in s->minima. Rows in `minimal` are at a local minimum, with
// h_D ≥ d.low over a cap of size t. tied has the lanes with an active kink of either core, from which another search
// would start.
ALWAYS void store_minima(clr_scratch *s, const depth_rows *r, unsigned minimal, lane_depths d, VF t, VF stop,
                         const unsigned tied[2], const int steps[W]) {
    clr_minima *out = &s->minima;
    const VF one = SET1(1), unit = one / LOADU(r->span), support_value = unit * d.low;
    double v[12][W] __attribute__((aligned(64))), w[5][W] __attribute__((aligned(64)));
    const VM good = MAND(MAND(LE(d.high - d.low, stop), LE(d.off, stop)),
                         MAND(MAND(LT(SET1(0), t), d.ok), MAND(LT(LOADU(r->rounding), d.low), is_unit(d.n))));
    const unsigned local = minimal & MBITS(good);
    store_depths(v, d);
    T(st3)(w[0], W, T(scale)(support_value * SQRT(FMA(SET1(APEX_SHARE) * t, t, one)), d.n));
    STOREU(w[3], support_value);
    STOREU(w[4], unit * (d.high - stop));
    for (unsigned m = r->lanes; m; m &= m - 1) {
        const int l = __builtin_ctz(m), i = r->row[l];
        s->steps[i] += (uint16_t)steps[l];
        out->state[i] = local >> l & 1 ? CLR_MINIMUM_LOCAL : minimal >> l & 1 ? CLR_MINIMUM_NONE : CLR_MINIMUM_AGAIN;
        out->tied[i] = (uint8_t)((tied[0] >> l & 1) | (tied[1] >> l & 1) << 1);
        for (int j = 0; j < 12; j++) out->answer[j][i] = v[j][l];
        for (int j = 0; j < 3; j++) out->apex[j][i] = (float)w[j][l];
        out->low[i] = (float)w[3][l], out->refuted_below[i] = (float)w[4][l];
    }
}

// search_rim_minima searches local minima and caps of n listed rows of cores with two rims: with `first` from
// rim_starts, otherwise from the directions in s->minima.
static __attribute__((noinline)) void search_rim_minima(const clr_call *c, clr_scratch *s, const int32_t *list, int n,
                                                        int first) {
    const clr_minima *from = &s->minima;
    const VF one = SET1(1), zero = SET1(0);
    for (int k = 0; k < n; k += W) {
        depth_rows rows;
        rim_place q;
        VM tied[2];
        int steps[W] = {0};
        pick_rows(c, s, list + k, n - k, CLR_FRUSTUM, CLR_FRUSTUM, &rows);
        const T(places) at = places_of(c, &rows);
        const rim_pair r = rims_at(&at);
        const VF rounding = LOADU(rows.rounding), stop = depth_stop(c, 1, LOADU(rows.tol), rounding);
        if (first) q.n = rim_starts(&r, q.face, tied);
        else {
            unsigned both[2] = {0, 0};
            double normal[3][W] __attribute__((aligned(64)));
            for (int l = 0; l < W; l++) {
                for (int i = 0; i < 2; i++) both[i] |= (unsigned)(from->tied[rows.row[l]] >> i & 1) << l;
                for (int j = 0; j < 3; j++) normal[j][l] = from->answer[3 + j][rows.row[l]];
            }
            q.n = T(ld3)(normal[0], W);
            for (int i = 0; i < 2; i++) q.face[i] = LT(one, zero), tied[i] = MFROM(both[i]);
        }
        const unsigned minimal = find_rims(&r, &q, rows.lanes, tied, SET1(0.125) * stop, steps);
        VF off = SQRT(flat_dot(q.gradient, q.gradient)), inside[2] = {q.r[0] - off, q.r[1] - off};
        VF times, t = cap_size(&r, &q, inside, &times), curvature = SEL(MOR(q.face[0], q.face[1]), zero, off);
        VF high = T(dot)(q.n, pair_vertices(&at, CLR_FRUSTUM, CLR_FRUSTUM, q.n, rows.lanes).w);
        VF low = FNMA(curvature, t, FNMA(times, q.deficit, q.h)) - SET1(4) * rounding;
        // The witnesses: on circles between the rims, or on an end opposite the point of the other core.
        V3 part[2], across = T(axpy)(q.gradient.x, q.e, T(scale)(q.gradient.y, q.f));
        for (int i = 0; i < 2; i++) {
            const V3 axis = r.core[i].axis,
                     lateral = T(axpy)(-T(dot)(q.lateral[i], axis), axis, q.lateral[i]); // its error is rounding over q
            V3 point = T(axpy)(q.sigma[i] * r.core[i].half, axis, T(scale)(q.r[i], lateral));
            part[i] = T(sel)(q.face[i], T(sub)(point, across), point);
        }
        V3 near = T(sub)(T(add)(part[0], part[1]), r.origin), side = T(axpy)(-high, q.n, near);
        const lane_depths d = {high, low, SQRT(T(dot)(side, side)), q.n, part[0], near, LT(zero, high)};
        store_minima(s, &rows, minimal, d, t, stop, (const unsigned[2]){MBITS(tied[0]), MBITS(tied[1])}, steps);
    }
}

// search_smooth_minima searches local minima and caps of n listed rows of smooth cores: with `first` from the direction
// that GJK began with, otherwise from the directions in s->minima.
static __attribute__((noinline)) void search_smooth_minima(const clr_call *c, clr_scratch *s, const int32_t *list,
                                                           int n, int first, int ka, int kb) {
    const VF zero = SET1(0), one = SET1(1);
    for (int k = 0; k < n; k++) {
        const int i = list[k];
        const double rounding = s->more[CLR_ROUNDING][i],
                     gap = c->curved_depth / c->tolerance * s->more[CLR_TOL][i] - 2 * rounding;
        for (int j = 0; j < 3; j++)
            s->in64[CLR_X + j][i] = first ? (double)s->in32[CLR_X + j][i] : -s->minima.answer[3 + j][i];
        s->in64[CLR_STOP][i] = 0.25 * (gap > rounding ? gap : rounding);
        s->in64[CLR_SUPPORT_ROUNDING][i] = rounding;
        s->in64[CLR_FAR][i] = INFINITY;
    }
    rtr_loop(c, s, list, n, ka, kb);
    for (int k = 0; k < n; k += W) {
        depth_rows rows;
        double from[3][W] __attribute__((aligned(64)));
        const int steps[W] = {0}; // rtr_flush has counted them
        pick_rows(c, s, list + k, n - k, ka, kb, &rows);
        const T(places) at = places_of(c, &rows);
        const VF rounding = LOADU(rows.rounding), stop = depth_stop(c, 1, LOADU(rows.tol), rounding);
        for (int j = 0; j < 3; j++)
            for (int l = 0; l < W; l++) from[j][l] = -s->in64[CLR_X + j][rows.row[l]];
        V3 x = T(ld3)(from[0], W), e, f, a;
        x = T(scale)(one / SQRT(MAX(T(dot)(x, x), SET1(TINY))), x);
        T(across)(x, &e, &f);
        const V3 w = T(support)(&at, ka, kb, T(neg)(x), one, &a, 0);
        VF h = T(dot)(x, w);
        const V3 side = T(axpy)(-h, x, w);
        const double *m = at.in + CLR_ROT * W;
        const curvature_data b[2] = {curvature_at(&at, ka, 0, x, e, f),
                                     curvature_at(&at, kb, 1, T(neg)(T(rotate_back)(m, W, x)), T(rotate_back)(m, W, e),
                                                  T(rotate_back)(m, W, f))};
        const VF off = SQRT(T(dot)(side, side)), t = widest_cap(&at, ka, kb, b, MAX(h, rounding));
        const VF gradient_rounding = SET1(16 * 0x1p-53) * (b[0].sharp + b[1].sharp) * LOADU(rows.span);
        const lane_depths d = {h, FNMA(off + gradient_rounding, t, h) - SET1(4) * rounding, off, x, a, w, LT(zero, h)};
        store_minima(s, &rows, rows.lanes, d, t, stop, (const unsigned[2]){0, 0}, steps);
    }
}

#endif

// Answers of the growth query that need no triangle: rows proved by one support point, rows whose centers coincide,
// and the columns. A template, float64.

#ifndef CLR_GROWTH_EMIT_H
#define CLR_GROWTH_EMIT_H

#include "../isa/real64.h"
#include "growth_bounds.h"
#include "growth_support.h"
#include "../pairs/store.h"

// growth_answer is the answer of W rows: bounds, the normal in the frame of the ray, and the witnesses in the frames
// of their shapes.
typedef struct {
    VF value, lower, upper;
    V3 n, a, b;
} growth_answer;

// emit_growth stores the answers of the lanes in `ok` of rows k, k+1, … of the group.
ALWAYS void emit_growth(const clr_call *c, clr_scratch *s, int64_t at0, int k, unsigned ok, int solver,
                        const growth_answer *g) {
    const double *in = &s->in64[0][k], *ray = &s->growth.in64[0][k];
    const VF one = SET1(1);
    const unsigned rows = ok;
    const V3 t = T(ld3)(in + CLR_TRANS * CLR_STRIDE64, CLR_STRIDE64);
    if (!ok) return;
    store_lanes(c, s, at0, k, ok, solver, g->value, g->lower, g->upper, LT(one, g->lower), LT(g->upper, one),
                T(rotate)(ray + CLR_RAY_A * CLR_STRIDE64, CLR_STRIDE64, g->n), g->a,
                T(add)(T(rotate)(in, CLR_STRIDE64, g->b), t));
    if (!c->columns[CLR_COLUMN_POINT]) return;
    const V3 center = T(ld3)(ray + CLR_CENTER_A * CLR_STRIDE64, CLR_STRIDE64);
    double v[3][W] __attribute__((aligned(64)));
    const V3 x = T(axpy)(g->value, T(sub)(g->a, center), center);
    T(st3)(v[0], W,
           T(add)(T(rotate)(&s->more[CLR_ROTA][k], CLR_STRIDE64, x), T(ld3)(&s->more[CLR_POSA][k], CLR_STRIDE64)));
    store_vectors(c, CLR_COLUMN_POINT, at0, s->row + k, -1, rows, (const double (*)[W])v);
}

// answer_coincident answers rows whose centers coincide up to rounding: the factor is 0, the normal is none, and the
// witnesses are the centers. By the ball of the inradii, α ≤ |p|/r.
ALWAYS unsigned answer_coincident(const clr_call *c, clr_scratch *s, int64_t at0, int k, unsigned rows, VF tolerance) {
    const double *ray = &s->growth.in64[0][k];
    const growth_scales scales = load_growth_scales(ray);
    const VF zero = SET1(0), most = (scales.length + scales.rounding_p) / scales.inradius;
    const V3 none = {zero, zero, zero};
    const growth_answer g = {zero,
                             zero,
                             FMA(SET1(0x1p-51), most, most),
                             none,
                             T(ld3)(ray + CLR_CENTER_A * CLR_STRIDE64, CLR_STRIDE64),
                             T(ld3)(ray + CLR_CENTER_B * CLR_STRIDE64, CLR_STRIDE64)};
    const unsigned ok = rows & MBITS(growth_suffices(c, &scales, tolerance, g.lower, g.upper, 1));
    emit_growth(c, s, at0, k, ok, CLR_SOLVER_CLOSED_FORM, &g);
    return ok;
}

// answer_by_point tries to answer the lanes `open` of rows k, k+1, … of the group by one support point of D, along the
// unit vectors n: the point bounds t from below, its support plane from above. It returns the lanes that it answered.
// at->in are the columns of growth.
ALWAYS unsigned answer_by_point(const clr_call *c, clr_scratch *s, int64_t at0, int k, unsigned open, T(places) *at,
                                int ka, int kb, V3 n, int solver) {
    const growth_scales scales = load_growth_scales(at->in);
    growth_answer g = {.n = n};
    VF found[2];
    V3 da, db;
    at->lanes = open;
    const V3 v = T(ray_support)(at, ka, kb, n, &g.a, &g.b, &da, &db, found);
    g.lower = growth_lower(&scales, n, T(dot)(n, v));
    g.value = g.upper = growth_upper(&scales, v);
    const VF tolerance = LOADU(&s->more[CLR_TOL][k]);
    const unsigned ok = open & MBITS(growth_suffices(c, &scales, tolerance, g.lower, g.upper, 1));
    const VF ra = LOADU(&s->more[CLR_RA][k]), rb = LOADU(&s->more[CLR_RB][k]);
    g.a = T(axpy)(ra, da, g.a);
    g.b = T(axpy)(rb, db, g.b);
    emit_growth(c, s, at0, k, ok, solver, &g);
    return ok;
}

// lanes_in are the lanes of rows k, k+1, … of the n rows of the group that are in a state.
ALWAYS unsigned lanes_in(const clr_scratch *s, int k, int n, int state) {
    unsigned lanes = 0;
    for (int l = 0; l < W && k + l < n; l++) lanes |= (unsigned)(s->state[k + l] == state) << l;
    return lanes;
}

// all_open tells whether W rows from k on are rows of the group and open.
ALWAYS int all_open(const clr_scratch *s, int k, int n) {
    static const uint8_t open[W]; // CLR_OPEN is 0
    return k + W <= n && memcmp(s->state + k, open, W) == 0;
}

#endif

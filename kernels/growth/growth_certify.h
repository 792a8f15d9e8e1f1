// From the triangles of growth_simplex.h to certified answers of the growth query. A template, float64.
//
// Input: directions of support points, and vertices of hulls by number. The triangle is evaluated again in float64, so
// nothing that float32 computed is trusted. The float64 loop hands over points instead. The point s of the
// triangle on the axis gives the upper bound, and its normal the lower bound (growth_bounds.h). Where these do not
// suffice, the direction of the least upper bound of t that the search has met gives another lower bound. Rows without
// sufficient bounds are listed for the float64 loop with their triangles; after it they are declined (s->left).
//
// The witnesses a and b are the convex combination of the points of A and of B that make up s.

#ifndef CLR_GROWTH_CERTIFY_H
#define CLR_GROWTH_CERTIFY_H

#include "../isa/real32.h"
#include "growth_support.h"
#include "../isa/real64.h"
#include "growth_bounds.h"
#include "growth_emit.h"
#include "growth_input.h"

// ray_value is the support value of D along the unit vector n; known are vertices of hulls.
ALWAYS VF ray_value(const T(places) *at, int ka, int kb, V3 n, const T(known) *known) {
    const double *in = at->in;
    const V3 d[2] = {T(rotate)(in + CLR_RAY_A * CLR_STRIDE64, CLR_STRIDE64, n),
                     T(neg)(T(rotate)(in + CLR_RAY_B * CLR_STRIDE64, CLR_STRIDE64, n))};
    VF sum = T(dot)(n, T(ld3)(in + CLR_SHIFT * CLR_STRIDE64, CLR_STRIDE64)) + LOADU(in + CLR_BALL * CLR_STRIDE64);
    for (int side = 0; side < 2; side++) {
        const int k = side ? kb : ka;
        if (!IS_HULL(k)) {
            sum = sum + T(dot)(d[side], T(side_support)(at, k, side, d[side], SET1(1), 0));
            continue;
        }
        const V3 *v = side ? known->b : known->a;
        const VF high = MAX(MAX(T(dot)(d[side], v[0]), T(dot)(d[side], v[1])), T(dot)(d[side], v[2]));
        sum = sum + T(hull_support_value)(at, k, side, d[side], high, (const int32_t **)known->number[side]);
    }
    return sum;
}

// growth_triangle is the triangle of a row, and the points of A and B that make up its vertices, in their frames, balls
// included; known are their vertices of hulls.
typedef struct {
    V3 v[3], a[3], b[3];
    T(known) known;
} growth_triangle;

// evaluate_triangle computes the triangles of rows k, k+1, …: from the directions of float32, or if `found` is set from
// the points that the float64 loop has found.
ALWAYS void evaluate_triangle(const T(places) *at, const clr_scratch *s, int k, int ka, int kb, int found,
                              growth_triangle *f) {
    const double *in = at->in;
    const VF one = SET1(1), zero = SET1(0), radius_a = LOADU(&s->more[CLR_RA][k]),
             radius_b = LOADU(&s->more[CLR_RB][k]), inradius_a = LOADU(in + CLR_INRADIUS_A * CLR_STRIDE64),
             inradius_b = LOADU(in + CLR_INRADIUS * CLR_STRIDE64) - inradius_a;
    const V3 center_a = T(ld3)(in + CLR_CENTER_A * CLR_STRIDE64, CLR_STRIDE64),
             center_b = T(ld3)(in + CLR_CENTER_B * CLR_STRIDE64, CLR_STRIDE64);
    float own[2][9][W32];
    if (!found) own_directions(s, k, ka, kb, own);
    for (int j = 0; j < 3; j++) {
        f->known.number[0][j] = s->seed_a[j] + k;
        f->known.number[1][j] = s->seed_b[j] + k;
        if (IS_HULL(ka)) f->known.a[j] = T(pick)(at, 0, f->known.number[0][j]);
        if (IS_HULL(kb)) f->known.b[j] = T(pick)(at, 1, f->known.number[1][j]);
        if (found) {
            f->a[j] = T(ld3)(in + (CLR_POINTS_A + 3 * j) * CLR_STRIDE64, CLR_STRIDE64);
            f->b[j] = T(ld3)(in + (CLR_POINTS_B + 3 * j) * CLR_STRIDE64, CLR_STRIDE64);
        } else {
            const V3 da = {WIDEN(own[0][3 * j]), WIDEN(own[0][3 * j + 1]), WIDEN(own[0][3 * j + 2])},
                     db = {WIDEN(own[1][3 * j]), WIDEN(own[1][3 * j + 1]), WIDEN(own[1][3 * j + 2])},
                     d = {WIDEN(&s->growth.facing[3 * j][k]), WIDEN(&s->growth.facing[3 * j + 1][k]),
                          WIDEN(&s->growth.facing[3 * j + 2][k])};
            f->a[j] = IS_HULL(ka) ? f->known.a[j] : T(side_support)(at, ka, 0, da, one, 0);
            f->b[j] = IS_HULL(kb) ? f->known.b[j] : T(side_support)(at, kb, 1, db, one, 0);
            const VM ball = LE(d.z, zero);
            if (MBITS(ball) | MBITS(LT(zero, radius_a + radius_b))) {
                const V3 n = unit(d), na = T(rotate)(in + CLR_RAY_A * CLR_STRIDE64, CLR_STRIDE64, n),
                         nb = T(neg)(T(rotate)(in + CLR_RAY_B * CLR_STRIDE64, CLR_STRIDE64, n));
                f->a[j] = T(sel)(ball, T(axpy)(inradius_a, na, center_a), T(axpy)(radius_a, na, f->a[j]));
                f->b[j] = T(sel)(ball, T(axpy)(inradius_b, nb, center_b), T(axpy)(radius_b, nb, f->b[j]));
            }
        }
        f->v[j] = T(ray_difference)(at, f->a[j], f->b[j]);
    }
}

// start_again replaces the triangles of the lanes in m, which the axis does not meet, by the triangle in the ball of
// the inradii [Growth, eq. 17].
ALWAYS void start_again(const double *in, VM m, growth_triangle *f) {
    static const double corner[3][2] = {{1, 0}, {-0.5, 0x1.bb67ae8584caap-1}, {-0.5, -0x1.bb67ae8584caap-1}};
    const VF inradius_a = LOADU(in + CLR_INRADIUS_A * CLR_STRIDE64),
             inradius_b = LOADU(in + CLR_INRADIUS * CLR_STRIDE64) - inradius_a;
    for (int j = 0; j < 3; j++) {
        const V3 d = {SET1(corner[j][0]), SET1(corner[j][1]), SET1(0)};
        f->a[j] = T(sel)(m,
                         T(axpy)(inradius_a, T(rotate)(in + CLR_RAY_A * CLR_STRIDE64, CLR_STRIDE64, d),
                                 T(ld3)(in + CLR_CENTER_A * CLR_STRIDE64, CLR_STRIDE64)),
                         f->a[j]);
        f->b[j] = T(sel)(m,
                         T(axpy)(-inradius_b, T(rotate)(in + CLR_RAY_B * CLR_STRIDE64, CLR_STRIDE64, d),
                                 T(ld3)(in + CLR_CENTER_B * CLR_STRIDE64, CLR_STRIDE64)),
                         f->b[j]);
    }
}

// meet_axis corrects the weights of the points of the lanes in m, of which the areas of a thin triangle leave the point
// off the axis by more than rounding: the weights are corrected by that distance, as areas. sum is the inverse of
// the doubled area of the triangle, seen from above.
ALWAYS void meet_axis(VM m, const growth_triangle *f, VF sum, VF weight[3], growth_answer *g) {
    const VF zero = SET1(0);
    for (int step = 0; step < 2; step++) {
        V3 off = {zero, zero, zero};
        for (int j = 0; j < 3; j++) off = T(axpy)(weight[j], f->v[j], off);
        VF total = zero;
        for (int j = 0; j < 3; j++) {
            const V3 edge = T(sub)(f->v[(j + 2) % 3], f->v[(j + 1) % 3]);
            weight[j] = MAX(FMA(FNMA(off.y, edge.x, off.x * edge.y), sum, weight[j]), zero);
            total = total + weight[j];
        }
        total = RCP(total);
        for (int j = 0; j < 3; j++) weight[j] = weight[j] * total;
    }
    V3 a = {zero, zero, zero}, b = a;
    for (int j = 0; j < 3; j++) {
        a = T(axpy)(weight[j], f->a[j], a);
        b = T(axpy)(weight[j], f->b[j], b);
    }
    g->a = T(sel)(m, a, g->a);
    g->b = T(sel)(m, b, g->b);
}

// certify_pair answers rows 0 to n−1 of the group that are open. It lists those without sufficient bounds for the
// float64 loop, if `again` is set, or declines them; it returns the length of the list.
ALWAYS int certify_pair(const clr_call *c, clr_scratch *s, int64_t at0, int n, int ka, int kb, int again, int *left) {
    const VF zero = SET1(0);
    int listed = 0;
    for (int k = 0; k < n; k += W) {
        unsigned open = LANES, same = 0, bad = 0;
        if (!all_open(s, k, n)) {
            open = lanes_in(s, k, n, CLR_OPEN);
            same = lanes_in(s, k, n, CLR_INSIDE);
            bad = lanes_in(s, k, n, CLR_BAD);
        }
        const VF tolerance = LOADU(&s->more[CLR_TOL][k]);
        unsigned ok = same ? answer_coincident(c, s, at0, k, same, tolerance) : 0;
        if (open) {
            double *in = &s->growth.in64[0][k];
            T(hulls) hull[2];
            T(places) at = {.call = c, .in = in, .stride = CLR_STRIDE64, .hull = {&hull[0], &hull[1]}, .lanes = open};
            for (int l = 0; l < W && (IN_LANES(ka) || IN_LANES(kb)); l++) {
                T(set_hull)(&hull[0], l, c->shapes + s->shape_a[k + l], ka);
                T(set_hull)(&hull[1], l, c->shapes + s->shape_b[k + l], kb);
            }
            const growth_scales scales = load_growth_scales(in);
            growth_triangle f;
            growth_answer g;
            evaluate_triangle(&at, s, k, ka, kb, !again, &f);
            VF twice[3], weight[3], sum = zero;
            for (int j = 0; j < 3; j++) {
                const V3 p = f.v[(j + 1) % 3], q = f.v[(j + 2) % 3];
                twice[j] = FNMA(p.y, q.x, p.x * q.y);
                weight[j] = MAX(twice[j], zero);
                sum = sum + weight[j];
            }
            const VM has = LT(SET1(TINY), sum);
            sum = RCP(MAX(sum, SET1(TINY)));
            V3 on = {zero, zero, zero};
            g.a = g.b = on;
            for (int j = 0; j < 3; j++) {
                weight[j] = weight[j] * sum;
                on = T(axpy)(weight[j], f.v[j], on);
                g.a = T(axpy)(weight[j], f.a[j], g.a);
                g.b = T(axpy)(weight[j], f.b[j], g.b);
            }
            const V3 facing = T(triangle_normal)(f.v);
            g.n = facing;
            g.lower = growth_lower(&scales, g.n, ray_value(&at, ka, kb, g.n, &f.known));
            g.upper = SEL(has, growth_upper(&scales, on), SET1(INFINITY));
            unsigned yes = open & MBITS(growth_suffices(c, &scales, tolerance, g.lower, g.upper, 0));
            if (open & ~yes) {
                const VM rest = MFROM(open & ~yes); // the others keep their bounds, whatever their neighbours need
                const VF inside = growth_upper_inside(&scales, f.v, g.n, on, twice);
                const VM by_triangle = MAND(MAND(has, rest), LT(inside, g.upper));
                g.upper = SEL(by_triangle, inside, g.upper);
                if (MBITS(by_triangle)) meet_axis(by_triangle, &f, sum, weight, &g);
                const V3 other = unit(T(ld3)(in + CLR_LOWEST * CLR_STRIDE64, CLR_STRIDE64));
                at.lanes = open & ~yes;
                const VF lower = growth_lower(&scales, other, ray_value(&at, ka, kb, other, &f.known));
                const VM more = MAND(LT(g.lower, lower), rest);
                g.lower = SEL(more, lower, g.lower);
                g.n = T(sel)(more, other, g.n);
                yes |= open & MBITS(growth_suffices(c, &scales, tolerance, g.lower, g.upper, !again));
            }
            g.value = g.upper;
            emit_growth(c, s, at0, k, yes, CLR_SOLVER_GROWTH, &g);
            if (again && (open & ~yes)) {
                const VM around = MAND(MAND(LE(zero, twice[0]), LE(zero, twice[1])),
                                       MAND(LE(zero, twice[2]), LT(SET1(TINY), facing.z)));
                start_again(in, MANDN(LE(zero, zero), around), &f);
                for (int j = 0; j < 3; j++) {
                    T(st3)(in + (CLR_POINTS_A + 3 * j) * CLR_STRIDE64, CLR_STRIDE64, f.a[j]);
                    T(st3)(in + (CLR_POINTS_B + 3 * j) * CLR_STRIDE64, CLR_STRIDE64, f.b[j]);
                }
                for (unsigned m = open & ~yes; m; m &= m - 1) s->list[listed++] = k + __builtin_ctz(m);
                yes = open;
            }
            ok |= yes;
        }
        for (unsigned m = (open | same | bad) & ~ok; m; m &= m - 1) {
            const int l = __builtin_ctz(m);
            s->left[(*left)++] = s->row[k + l];
            s->state[k + l] = CLR_DONE;
        }
    }
    return listed;
}

// certify_growth is certify_pair with the support functions of the commonest pairs of classes inlined.
static __attribute__((noinline)) int certify_growth(const clr_call *c, clr_scratch *s, int64_t at0, int n, int ka,
                                                    int kb, int again, int *left) {
    if (SPECIAL(ka, kb, CLR_BOX)) return certify_pair(c, s, at0, n, CLR_BOX, CLR_BOX, again, left);
    if (SPECIAL(ka, kb, CLR_SMALL)) return certify_pair(c, s, at0, n, CLR_SMALL, CLR_SMALL, again, left);
    if (SPECIAL(ka, kb, CLR_HULL)) return certify_pair(c, s, at0, n, CLR_HULL, CLR_HULL, again, left);
    if (SPECIAL(ka, kb, CLR_FRUSTUM)) return certify_pair(c, s, at0, n, CLR_FRUSTUM, CLR_FRUSTUM, again, left);
    return certify_pair(c, s, at0, n, ka, kb, again, left);
}

#endif

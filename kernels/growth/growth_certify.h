// From the triangles of growth_simplex.h to certified answers of the growth query. A template, float64.
//
// Input: directions of support points, and vertices of hulls by number. The triangle is evaluated again in float64, so
// nothing that float32 computed is trusted. The float64 loop hands over points instead. The point s of the
// triangle on the axis gives the upper bound, and its normal the lower bound. Where these do not
// suffice, the direction of the least upper bound of t that the search has met gives another lower bound. Rows without
// sufficient bounds are listed for the float64 loop with their triangles; after it they are declined (s->left).
//
// The witnesses a and b are the convex combination of the points of A and of B that make up s.

#ifndef CLR_GROWTH_CERTIFY_H
#define CLR_GROWTH_CERTIFY_H

#include "../isa/real32.h"
#include "growth_input.h"
#include "../isa/real64.h"
#include "growth_input.h"
#include "../pairs/store.h"

// Bounds of the growth factor α = |p|/t, and when they suffice. A template, float64.
//
// Everything is in the frame of the ray (growth_input.h): t is the distance at which the z axis leaves D, r a proved
// inradius of D about the origin. Let δ bound the rounding error of p, and η the rounding error of points and of
// support values of D.
//
// With a unit vector n, n.z > 0, the support function h of D, a point s of D at the distance |e| from the axis, and
// η' and g as below:
//
//	α ≥ lower = (n.z·|p| − δ)/(h(n) + η)
//	α ≤ upper = (|p| + δ)·(r + |e| + η')/((s.z − η)·r)
//	α ≤ upper = (|p| + δ)/(s.z − 3·(1 + g)·(|e| + η'))     s well inside a triangle of points of D
//	answered iff upper − lower ≤ tolerance·max(1, upper)   (growth_suffices)
//
// Lower bound [Growth, eq. 13]. A unit vector n with n.z > 0 gives t ≤ h(n)/n.z, hence α ≥ (n.z·|p| − δ)/(h(n) + η).
//
// Upper bound. Let s be a convex combination of points of D, e its part orthogonal to the axis. The hull of s and of
// the ball with radius r meets the axis at the distance s.z·r/(r + |e|) or above. So t ≥ (s.z − η)·r/(r + |e| + η'),
// where η' = η + s.z·δ/|p| counts the rounding of s and of the direction of the axis; and |p| is off by δ.
//
// Where s is inside a triangle of points of D, a second bound does not divide by r, which may be small. Suppose that
// the axis keeps a distance of at least m = CLEARANCE·(|e| + η') from each edge, seen from above. Exact vertices are
// within η' of the computed ones, so their triangle meets the axis too. The point of the computed triangle with the
// same weights as the exact one on the axis is at most η' from the axis, and 2·(|e| + η') from s, in the plane of the
// triangle. With the slope g of that plane, t ≥ s.z − 2·(1 + g)·(|e| + η'). The slope is the length of n across the
// axis over n.z for the computed normal n: since the triangle contains a disk of radius m as seen from above, its
// error is at most a few u·L/m < 0.1·(1 + g) for the edges L ≤ η/(24 u); 3 in place of 2 includes it.

#define CLEARANCE 64

// growth_scales are the numbers of a row that its bounds depend on.
typedef struct {
    VF length, rounding_p, rounding_s, inradius; // |p|, δ, η, r
} growth_scales;

ALWAYS growth_scales load_growth_scales(const double *in) {
    return (growth_scales){LOADU(in + CLR_BETWEEN_CENTERS * CLR_STRIDE64), LOADU(in + CLR_ROUNDING_P * CLR_STRIDE64),
                           LOADU(in + CLR_ROUNDING_S * CLR_STRIDE64), LOADU(in + CLR_INRADIUS * CLR_STRIDE64)};
}

// growth_lower_along is the lower bound from the support value `value` along a unit vector with the coordinate z along
// the ray, or 0 where that proves nothing. proper is false where the vector is not a unit vector. growth_lower takes
// the vector n.
ALWAYS VF growth_lower_along(const growth_scales *g, VF z, VF value, VM proper) {
    const VF zero = SET1(0), low = FMA(z, g->length, -g->rounding_p) * RCP(value + g->rounding_s);
    return SEL(MAND(proper, MAND(LT(zero, value), LT(zero, low))), FNMA(SET1(0x1p-50), low, low), zero);
}
ALWAYS VF growth_lower(const growth_scales *g, V3 n, VF value) { return growth_lower_along(g, n.z, value, is_unit(n)); }

// lateral_rounding is η', at the distance t.
ALWAYS VF lateral_rounding(const growth_scales *g, VF t) {
    return FMA(t * RCP(MAX(g->length, SET1(TINY))), g->rounding_p, g->rounding_s);
}

// growth_upper_beside is the upper bound from a point of D at the distance `side` from the ray, with the coordinate z
// along it, or infinity. growth_upper takes the point s.
ALWAYS VF growth_upper_beside(const growth_scales *g, VF z, VF side) {
    const VF off = side + lateral_rounding(g, z);
    const VF low = z - g->rounding_s, high = (g->length + g->rounding_p) * (g->inradius + off) * RCP(low * g->inradius);
    return SEL(LT(SET1(0), low), FMA(SET1(0x1p-50), high, high), SET1(INFINITY));
}
ALWAYS VF growth_upper(const growth_scales *g, V3 s) {
    return growth_upper_beside(g, s.z, SQRT(FMA(s.x, s.x, s.y * s.y)));
}

// growth_upper_inside is the upper bound from the triangle v with normal n and its point s, or infinity. twice holds
// the doubled areas of the triangles that the axis forms with each edge, seen from above.
ALWAYS VF growth_upper_inside(const growth_scales *g, const V3 v[3], V3 n, V3 s, const VF twice[3]) {
    const VF zero = SET1(0), side = SQRT(FMA(s.x, s.x, s.y * s.y)), off = side + lateral_rounding(g, s.z);
    const VF slope = SQRT(FMA(n.x, n.x, n.y * n.y)) / MAX(n.z, SET1(TINY));
    const VF low = FNMA(SET1(3) * off, SET1(1) + slope, s.z), high = (g->length + g->rounding_p) / low;
    VM clear = MAND(LT(zero, low), LT(zero, n.z));
    for (int j = 0; j < 3; j++) {
        const V3 edge = T(sub)(v[(j + 2) % 3], v[(j + 1) % 3]);
        const VF far = SET1(CLEARANCE) * off * SQRT(FMA(edge.x, edge.x, edge.y * edge.y));
        clear = MAND(clear, LE(far, twice[j]));
    }
    return SEL(clear, FMA(SET1(0x1p-50), high, high), SET1(INFINITY));
}

// growth_suffices tells where bounds answer the query. The gap has to be at most the tolerance, relative to
// max(1, α). If `last` is set, a larger gap is accepted that rounding explains: four times the rounding errors of both
// bounds (growth.floor of ref). For needles and plates it exceeds the gap of the best bounds.
ALWAYS VM growth_suffices(const clr_call *c, const growth_scales *g, VF tolerance, VF lower, VF upper, int last) {
    const VF one = SET1(1), gap = upper - lower;
    const VM decided = MOR(LT(one, lower), LT(upper, one));
    VM ok = LE(gap, tolerance * MAX(one, upper));
    if (last) ok = MOR(ok, LE(gap * g->inradius, SET1(4) * FMA(upper, g->rounding_s, g->rounding_p)));
    if (c->has_cut_off) ok = MOR(ok, MAND(decided, LT(SET1(c->cut_off), lower)));
    if (c->boolean) ok = MOR(ok, decided);
    return MAND(ok, MAND(LE(lower, upper), LT(upper, SET1(INFINITY))));
}

#undef CLEARANCE

// Answers of the growth query that need no triangle: rows proved by one support point, rows whose centers coincide,
// and the columns. A template, float64.

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

// The bounds of rows, from the simplices of the search.

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

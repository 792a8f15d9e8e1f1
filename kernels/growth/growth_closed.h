// Growth distances without a simplex: by formulas, and by Newton's method. A template, float64.
//
//	two boxes     α = max over the fifteen axes n of |⟨n, p⟩|/h_D(n)              [Growth, eq. 13]
//	half-space    α = max(0, ⟨m, c⟩/h(−m)) for the normal m of the plane, which is through the origin,
//	              and the center c of the shape with its support function h about c;
//	              the half-space does not grow
//	smooth cores  α = |p|/min F for the convex dual F of t, by Newton's method
//	two spheres   the same, by the intersection of a ball and the ray

#ifndef CLR_GROWTH_CLOSED_H
#define CLR_GROWTH_CLOSED_H

#include "../isa/real64.h"
#include "../pairs/box_axes.h"
#include "../pairs/closed_rows.h"
#include "growth_certify.h"
#include "../shape/hessian.h"

// Boxes, one pair per lane, from poses to answers without columns between.
//
// D = A − B of two boxes about their middles is the sum of six segments, and the normals of its facets are among the
// fifteen axes of the separating axis test [Gottschalk1996, sec. 5]. So the growth factor is the largest of the dual
// bounds |<n, p>|/h(n) of these axes [Growth, eq. 13]. The bound does not depend on the length of n, so only the chosen
// axis is normalized.
// The ray leaves D in the facet of that axis, at q = p·h(n)/<n, p>. The facet is a face of one box and a vertex of the
// other, or two edges, which gives the witnesses (box_contact). Where more edges are orthogonal to the axis, the facet
// is larger: projections of the witnesses on both boxes, q apart, find the point if the boxes are parallel, and in most
// rows of others. Further projections answered 1 to 4 % more of the rows whose boxes have one
// axis in common.
//
// The choice may be wrong, or the point beside the facet: both bounds are computed again, from the axis and from the
// witnesses, by growth_certify.h. The frame is the frame of A, not of the ray, with fewer roundings. The
// centers are the origins of the boxes, so the rounding bounds of growth_input.h reduce to the lengths of p and of the
// boxes.
//
// Ties. The products of nearly parallel edges are lost to rounding, and in other pairs, such as boxes on one plane, an
// edge has the axis of a face, whose facet is larger. An edge has to exceed the ratio before by TIE of the lengths,
// more than the rounding of the products below.
//
// Rows with margins, with centers off the middle, whose centers coincide or whose bounds do not suffice go on to
// growth_simplex.h.

// 512 units of 2⁻⁵³. A support value has a rounding error of 75 of the size, <n, p> one of 31 of |p| (closed_forms.h),
// so the difference of two products one of 2·(75 + 31).
#define TIE 0x1p-44

// best_axis is the axis with the largest dual bound so far, by number: 0 to 2 are the axes of A, 3 to 5 those of B, and
// 6 + 3i + j is the product of axes i of A and j of B. Any multiple of an axis will do: <n, p> and h(n) go with it.
typedef struct {
    VF number, along, value;
} best_axis;

// prefer_axis replaces the axis if the bound of another one exceeds its own by the margin `slack` of the products.
ALWAYS void prefer_axis(best_axis *best, int number, VF along, VF value, VF slack) {
    const VM more = LT(FMA(best->along, value, slack), along * best->value);
    best->number = SEL(more, SET1(number), best->number);
    best->along = SEL(more, along, best->along);
    best->value = SEL(more, value, best->value);
}

// growth_axis returns the number of the axis of a pair. size is the sum of the sizes of the boxes, length is |p|.
ALWAYS VF growth_axis(const box_pair *p, VF size, VF length) {
    const VF a[3] = {p->a.x, p->a.y, p->a.z}, b[3] = {p->b.x, p->b.y, p->b.z}, t[3] = {p->t.x, p->t.y, p->t.z};
    const VF *m = p->m, zero = SET1(0), slack = SET1(TIE) * size * length;
    VF q[9];
    for (int i = 0; i < 9; i++) q[i] = magnitude(m[i]);
    best_axis best = {zero, magnitude(t[0]), T(widths_a)(a, b, q, 0)};
    for (int i = 1; i < 3; i++) prefer_axis(&best, i, magnitude(t[i]), T(widths_a)(a, b, q, i), zero);
    for (int j = 0; j < 3; j++) {
        const VF along = magnitude(FMA(m[6 + j], t[2], FMA(m[3 + j], t[1], m[j] * t[0])));
        prefer_axis(&best, 3 + j, along, T(widths_b)(a, b, q, j), zero);
    }
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++)
            prefer_axis(&best, 6 + 3 * i + j, magnitude(T(along_edges)(t, m, i, j)), T(widths_edges)(a, b, q, i, j),
                        slack);
    return best.number;
}

// basis is the unit vector along axis k, a whole number.
ALWAYS V3 basis(VF k) {
    const VF zero = SET1(0), one = SET1(1);
    const VM low = LT(k, SET1(0.5)), high = LT(SET1(1.5), k);
    return (V3){SEL(low, one, zero), SEL(MOR(low, high), zero, one), SEL(high, one, zero)};
}

// growth_of_boxes answers rows order[0..n), at most W, of boxes, and returns the lanes that it does not answer.
// From n on, order repeats a row.
static __attribute__((noinline)) unsigned growth_of_boxes(const clr_call *c, int64_t lo, const int32_t *order, int n) {
    const VF zero = SET1(0), one = SET1(1), unit_rounding = SET1(24 * 0x1p-53);
    clr_rows r;
    box_place at;
    VF center_a[4], center_b[4];
    const double *row_a[W], *row_b[W];
    read_rows(c, lo, order, n, &r);
    const box_pair p = box_load_rows(c, &r, &at);
    for (int l = 0; l < W; l++) {
        row_a[l] = c->centers + CLR_CENTER_VALUES * (size_t)r.shape_a[l];
        row_b[l] = c->centers + CLR_CENTER_VALUES * (size_t)r.shape_b[l];
    }
    ROWS(center_a, row_a, 15)
    ROWS(center_b, row_b, 15)
    const V3 ca = {center_a[0], center_a[1], center_a[2]}, cb = {center_b[0], center_b[1], center_b[2]};
    const VF length = SQRT(T(dot)(p.t, p.t));
    const growth_scales scales = {length, unit_rounding * length, unit_rounding * at.size, center_a[3] + center_b[3]};
    const VM fits = MAND(MAND(LE(T(dot)(ca, ca) + T(dot)(cb, cb), zero), LE(at.ra + at.rb, zero)),
                         MAND(LT(scales.rounding_p, length), LT(zero, scales.inradius)));

    // The axis: axis i of A, axis j of B, or both.
    const VF number = growth_axis(&p, at.size, length);
    const VM by_a = LT(number, SET1(2.5)), by_edge = LT(SET1(5.5), number);
    const VF i = SEL(LT(number, SET1(8.5)), zero, SEL(LT(number, SET1(11.5)), one, SET1(2)));
    const V3 e = basis(SEL(by_a, number, i)), f = basis(number - SEL(by_edge, FMA(SET1(3), i, SET1(6)), SET1(3)));
    const V3 edge_b = T(apply)(p.m, f);
    V3 normal = T(sel)(by_edge, T(cross)(e, edge_b), T(sel)(by_a, e, edge_b));
    normal = T(scale)(COPYSIGN(inverse_length(normal), T(dot)(normal, p.t)), normal);
    const V3 d = T(apply_transposed)(p.m, normal);
    const VF value = FMA(p.a.z, magnitude(normal.z), FMA(p.a.y, magnitude(normal.y), p.a.x * magnitude(normal.x))) +
                     FMA(p.b.z, magnitude(d.z), FMA(p.b.y, magnitude(d.y), p.b.x * magnitude(d.x)));
    const VF inverse = RCP(MAX(length, SET1(TINY))), along = T(dot)(normal, p.t);

    // The point of D on the ray. p.t leads from the origin of A to the origin of B; box_contact would add it to
    // points of B.
    const V3 q = T(scale)(value * RCP(MAX(along, SET1(TINY))), p.t), ray = T(scale)(inverse, p.t);
    V3 a, b;
    box_pair about = p;
    about.t = (V3){zero, zero, zero};
    box_contact(&about, normal, d, q, e, f, by_a, by_edge, &a, &b);
    VF z, side;
    for (int last = 0;; last = 1) {
        const V3 s = T(sub)(a, T(apply)(p.m, b));
        z = T(dot)(s, ray);
        const V3 beside = T(axpy)(-z, ray, s);
        side = SQRT(T(dot)(beside, beside));
        const VM off = MAND(fits, LT(SET1(16) * scales.rounding_s, side));
        if (last || !MBITS(off)) break;
        const V3 on_b = T(apply_transposed)(p.m, T(sub)(a, q));
        b = T(sel)(off, (V3){clamped(on_b.x, p.b.x), clamped(on_b.y, p.b.y), clamped(on_b.z, p.b.z)}, b);
        const V3 on_a = T(add)(T(apply)(p.m, b), q);
        a = T(sel)(off, (V3){clamped(on_a.x, p.a.x), clamped(on_a.y, p.a.y), clamped(on_a.z, p.a.z)}, a);
    }
    closed_out o = {.n = normal, .a = a, .b = T(add)(T(apply)(p.m, b), p.t)};
    o.lower = growth_lower_along(&scales, along * inverse, value, is_unit(normal));
    o.distance = o.upper = growth_upper_beside(&scales, z, side);
    o.ok = MAND(fits, growth_suffices(c, &scales, SET1(c->tolerance), o.lower, o.upper, 0));
    const unsigned yes = box_put(c, lo - c->first, order, n, &at, &o, zero, 1, CLR_SOLVER_AXES);
    if (yes && c->columns[CLR_COLUMN_POINT]) {
        double v[3][W] __attribute__((aligned(64)));
        T(st3)(v[0], W, T(add)(T(apply)(at.rot, T(scale)(o.distance, a)), at.pos));
        store_vectors(c, CLR_COLUMN_POINT, lo - c->first, order, -1, yes, (const double (*)[W])v);
    }
    return (n < W ? (1u << n) - 1 : LANES) & ~yes;
}

// growth_boxes answers rows order[0..n), relative to lo, of boxes. It moves those that the axes do not prove to the
// front of order, and returns their number.
static int growth_boxes(const clr_call *c, int64_t lo, int32_t *order, int rows) {
    int32_t *rest = order, row[W];
    for (int k = 0; k < rows; k += W) {
        const int n = rows - k < W ? rows - k : W;
        for (int l = 0; l < W; l++) row[l] = order[k + (l < n ? l : n - 1)];
        for (unsigned m = growth_of_boxes(c, lo, row, n); m; m &= m - 1) *rest++ = row[__builtin_ctz(m)];
    }
    return (int)(rest - order);
}

#undef TIE

// A half-space and a shape. The normal of the answer is ±m, from A to B. The witness on the shape is its support
// point along −m, the witness on the half-space the point where the grown shape meets it. Rounding moves <m, c> by δ
// and h by η (growth_input.h).
//
// Rows with flat shapes go to the reference solvers, which refuse them.

// growth_to_plane answers rows order[0..n), at most W, relative to lo, of a half-space, body `side`, and a shape of
// class k. It declines those without sufficient bounds.
ALWAYS void growth_to_plane(const clr_call *c, clr_scratch *s, int64_t lo, const int32_t *order, int n, int side, int k,
                            int *left) {
    const closed_in in = closed_load(c, lo, order, n);
    const int other = 1 - side;
    const VF zero = SET1(0), unit_rounding = SET1(24 * 0x1p-53);
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
    const VF rounding_p = unit_rounding * (in.radius[side] + length + off),
             rounding_s = FMA(SET1(power_units(k) * 0x1p-53), size,
                              unit_rounding * (size + size + off + off + offset[3] + offset[3]));
    o.distance = MAX(above, zero) / value;
    o.lower = MAX((above - rounding_p) / (value + rounding_s), zero);
    o.upper = SEL(LE(above + rounding_p, zero), zero, (above + rounding_p) / (value - rounding_s));
    const growth_scales scales = {above, rounding_p, rounding_s, value};
    const VF tolerance = growth_tolerance(c, k, k, in.radius[other]);
    o.ok = MAND(MAND(LT(rounding_s, value), LT(zero, center[3])),
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

// Newton's method on the convex dual of the growth distance, for pairs of smooth cores; and spheres.
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
// For them float32, with twice the lanes, takes all steps but the last ones (growth_input.h has both precisions).
//
// It ends if the part across the axis is small relative to the inradius and to t. Rows whose bounds the support point
// proves are answered (growth_certify.h), all others by growth_simplex.h, so Newton's method may fail.
//
// Two spheres: D is a ball of radius R about q in the frame of the ray, which the axis leaves at the distance
// t = q.z + √(R² − q.x² − q.y²), with the normal ((0, 0, t) − q)/R.

#include "../isa/real32.h"
#include "growth_input.h"

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

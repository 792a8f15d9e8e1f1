// Distances of boxes by Newton's method, from pose to answer without intermediate columns. A template,
// float64.
//
// Let e lead to the point t + Rv of B from its projection on A. Then |e|²/2, half the squared distance
// from the point to A, is a convex function of v with gradient g = Rᵀe and Hessian H = RᵀDR, where D
// is 1 for the coordinates in which the point is outside A. At the minimum, v is the projection of v −
// g on B. A step solves this equation for the D and the active bounds of B at v, and projects once: a
// semismooth Newton method, or primal-dual active sets [Hintermueller2003, Algorithm 2.1]. The
// function is piecewise quadratic, so the step that finds the right pieces reaches the minimum.
//
// The closest points are a vertex and a point of a face, where a projection suffices, or lie on two
// edges, where one coordinate of v is free and a Newton step along it suffices. So rows begin with
// projections and coordinate-wise Newton steps, two of each in turn, after which 93 of 100 are
// answered. The others are compacted into full vectors and take full steps.
//
// With n = e/|e|, the radii R and the rounding bound ρ:
//
//	distance = |e| − R
//	upper    = |e| − R + ρ
//	lower    = min ⟨n, D⟩ − R − ρ
//
// A row is answered where both bounds meet the tolerance.
// The pieces may cycle, in 1 row of 100: after BOX_STEPS the row goes on to GJK. Intersecting boxes go
// on to box_axes.h.

#ifndef CLR_BOX_DISTANCE_H
#define CLR_BOX_DISTANCE_H

#include "../isa/real64.h"
#include "../isa/real32.h"
#include "box_axes.h"
#include "../isa/real64.h"
#include "box_axes.h"
#include "closed_rows.h"
#include "closed_forms.h"
#include "input.h"
#include "store.h"

#define BOX_STEPS 4
// Added to the diagonal of H, which may be singular. Its entries are at most 1.
#define BOX_PROXIMAL 1e-10

ALWAYS V3 clamped3(V3 x, V3 most) { return (V3){clamped(x.x, most.x), clamped(x.y, most.y), clamped(x.z, most.z)}; }
ALWAYS V3 magnitude3(V3 x) { return (V3){magnitude(x.x), magnitude(x.y), magnitude(x.z)}; }

// box_gap is e at the point u of B, in the frame of A. It writes the gradient g.
ALWAYS V3 box_gap(const box_pair *p, V3 u, V3 *g) {
    V3 e = T(sub)(u, clamped3(u, p->a));
    *g = T(apply_transposed)(p->m, e);
    return e;
}

// box_support_value is the least ⟨e, b − a⟩ over both boxes.
ALWAYS VF box_support_value(const box_pair *p, V3 e, V3 g) {
    return T(dot)(e, p->t) - (T(dot)(p->a, magnitude3(e)) + T(dot)(p->b, magnitude3(g)));
}

// box_newton is the Newton step from v, projected on B.
ALWAYS V3 box_newton(const box_pair *p, V3 v, V3 e, V3 g) {
    const VF zero = SET1(0), one = SET1(1), proximal = SET1(BOX_PROXIMAL), *m = p->m;
    const VM out[3] = {LT(zero, magnitude(e.x)), LT(zero, magnitude(e.y)), LT(zero, magnitude(e.z))};
    VF h[3][3], r[9];
    for (int i = 0; i < 9; i++) r[i] = SEL(out[i / 3], m[i], zero);
    for (int j = 0; j < 3; j++)
        for (int k = 0; k <= j; k++) h[j][k] = FMA(r[6 + j], m[6 + k], FMA(r[3 + j], m[3 + k], r[j] * m[k]));
    // A coordinate of v with an active bound moves to that bound, by d.
    V3 w = T(sub)(v, g), size = magnitude3(w);
    const VM fx = LT(size.x, p->b.x), fy = LT(size.y, p->b.y), fz = LT(size.z, p->b.z);
    V3 d = {SEL(fx, zero, COPYSIGN(p->b.x, w.x) - v.x), SEL(fy, zero, COPYSIGN(p->b.y, w.y) - v.y),
            SEL(fz, zero, COPYSIGN(p->b.z, w.z) - v.z)};
    VF x = SEL(fx, -FMA(h[2][0], d.z, FMA(h[1][0], d.y, g.x)), d.x);
    VF y = SEL(fy, -FMA(h[2][1], d.z, FMA(h[1][0], d.x, g.y)), d.y);
    VF z = SEL(fz, -FMA(h[2][1], d.y, FMA(h[2][0], d.x, g.z)), d.z);
    // The rows and columns of the free coordinates, as L·diag·Lᵀ.
    VF h10 = SEL(MAND(fx, fy), h[1][0], zero), h20 = SEL(MAND(fx, fz), h[2][0], zero),
       h21 = SEL(MAND(fy, fz), h[2][1], zero);
    VF i0 = RCP(SEL(fx, h[0][0] + proximal, one)), l10 = h10 * i0, l20 = h20 * i0;
    VF i1 = RCP(FNMA(l10, h10, SEL(fy, h[1][1] + proximal, one))), c21 = FNMA(l20, h10, h21), l21 = c21 * i1;
    VF i2 = RCP(FNMA(l21, c21, FNMA(l20, h20, SEL(fz, h[2][2] + proximal, one))));
    y = FNMA(l10, x, y);
    z = FNMA(l21, y, FNMA(l20, x, z)) * i2;
    y = FNMA(l21, z, y * i1);
    x = FNMA(l20, z, FNMA(l10, y, x * i0));
    return clamped3(T(add)(v, (V3){x, y, z}), p->b);
}

// box_search is an iterate: the point v of B, in the frame of A u, with e and g.
typedef struct {
    V3 v, u, e, g;
    VF taken; // number of steps
} box_search;

ALWAYS void evaluate_box(const box_pair *p, box_search *x) {
    x->u = T(add)(p->t, T(apply)(p->m, x->v));
    x->e = box_gap(p, x->u, &x->g);
}

ALWAYS void box_project(const box_pair *p, box_search *x) {
    x->v = clamped3(T(sub)(x->v, x->g), p->b);
    evaluate_box(p, x);
}

// box_start is the iterate after two alternating projections from the center of B.
ALWAYS box_search box_start(const box_pair *p) {
    box_search x;
    box_gap(p, p->t, &x.g);
    x.v = clamped3(T(neg)(x.g), p->b);
    evaluate_box(p, &x);
    box_project(p, &x);
    x.taken = SET1(1);
    return x;
}

// box_coordinate_steps takes a Newton step of each coordinate of v by itself, with the D of v.
ALWAYS void box_coordinate_steps(const box_pair *p, box_search *x) {
    const VF zero = SET1(0), *m = p->m;
    const VM out[3] = {LT(zero, magnitude(x->e.x)), LT(zero, magnitude(x->e.y)), LT(zero, magnitude(x->e.z))};
    VF h[3] = {SET1(BOX_PROXIMAL), SET1(BOX_PROXIMAL), SET1(BOX_PROXIMAL)};
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) h[j] = SEL(out[i], FMA(m[3 * i + j], m[3 * i + j], h[j]), h[j]);
    x->v = clamped3(
        (V3){FNMA(x->g.x, RCP(h[0]), x->v.x), FNMA(x->g.y, RCP(h[1]), x->v.y), FNMA(x->g.z, RCP(h[2]), x->v.z)}, p->b);
    evaluate_box(p, x);
}

// box_step takes a Newton step and a projection in the active lanes. The others stay bit for bit.
ALWAYS void box_step(const box_pair *p, box_search *x, VM active) {
    V3 g, next = box_newton(p, x->v, x->e, x->g);
    box_gap(p, T(add)(p->t, T(apply)(p->m, next)), &g);
    x->v = T(sel)(active, clamped3(T(sub)(next, g), p->b), x->v);
    x->taken = SEL(active, x->taken + SET1(1), x->taken);
    evaluate_box(p, x);
}

// box_contact2 is the squared distance below which the boxes count as in contact.
ALWAYS VF box_contact2(const box_place *at) { return SET1(16) * at->rounding * at->rounding; }

// box_answer answers the rows of order[0..n), at most W, whose distance x proves. It returns the other
// lanes, and writes to `intersecting` those among them that seem to intersect: `inside`, and those with |e|
// within rounding.
ALWAYS unsigned box_answer(const clr_call *c, int64_t lo, const int32_t *order, int n, const box_pair *p,
                           const box_place *at, const box_search *x, unsigned inside, unsigned *intersecting) {
    const VF radius = at->ra + at->rb, ee = T(dot)(x->e, x->e), inv = RSQRT(MAX(ee, SET1(TINY)));
    closed_out o;
    o.n = T(scale)(inv, x->e);
    o.a = T(sub)(x->u, x->e);
    o.b = x->u;
    o.distance = FMA(ee, inv, -radius);
    o.lower = box_support_value(p, o.n, T(scale)(inv, x->g)) - radius - at->rounding;
    o.upper = o.distance + at->rounding;
    VF gap = MAX(o.upper - o.distance, o.distance - o.lower);
    o.ok = LE(gap, MAX(at->tol, SET1(4) * at->rounding));
    if (c->has_cut_off) o.ok = MOR(o.ok, LT(SET1(c->cut_off), o.lower));
    o.ok = MAND(o.ok, MAND(is_unit(o.n), LE(o.lower, o.upper)));
    inside |= MBITS(LE(ee, box_contact2(at)));
    unsigned left =
        (n < W ? (1u << n) - 1 : LANES) & ~box_put(c, lo - c->first, order, n, at, &o, x->taken, 0, CLR_SOLVER_NEWTON);
    *intersecting = left & inside & MBITS(at->good);
    return left;
}

// box_starts answers the separated rows of order[0..n), at most 2·W, that need no full Newton step. It
// returns the other lanes, and writes to `intersecting` those among them that seem to intersect. Two vectors
// are interleaved to hide latency.
static __attribute__((noinline)) unsigned box_starts(const clr_call *c, int64_t lo, const int32_t *order, int n,
                                                     unsigned *intersecting) {
    const int vectors = n > W ? 2 : 1;
    box_place at[2];
    box_pair p[2];
    box_search x[2];
    for (int j = 0; j < vectors; j++) p[j] = box_load(c, lo, order + j * W, n - j * W, at + j);
    for (int j = 0; j < vectors; j++) x[j] = box_start(p + j);
    for (int j = 0; j < vectors; j++) box_coordinate_steps(p + j, x + j);
    for (int j = 0; j < vectors; j++) box_project(p + j, x + j);
    for (int j = 0; j < vectors; j++) box_coordinate_steps(p + j, x + j);
    unsigned left = 0;
    *intersecting = 0;
    for (int j = 0; j < vectors; j++) {
        unsigned inside;
        left |= box_answer(c, lo, order + j * W, n - j * W, p + j, at + j, x + j, 0, &inside) << j * W;
        *intersecting |= inside << j * W;
    }
    return left;
}

// box_steps is box_starts with full Newton steps in place of projections, for at most W rows.
static __attribute__((noinline)) unsigned box_steps(const clr_call *c, int64_t lo, const int32_t *order, int n,
                                                    unsigned *intersecting) {
    const VF zero = SET1(0), one = SET1(1);
    box_place at;
    const box_pair p = box_load(c, lo, order, n, &at);
    const VF rounding = at.rounding, stop = MAX(at.tol - SET1(2) * rounding, rounding), stop2 = stop * stop,
             radius = at.ra + at.rb;
    const VF most = MAX((c->has_cut_off ? SET1(c->cut_off) : SET1(1e100)) + radius + rounding, zero),
             far2 = most * most;
    const int steps = c->max_steps && c->max_steps < BOX_STEPS + 2 ? c->max_steps - 2
                                                                   : BOX_STEPS; // start and certificate count one each
    box_search x = box_start(&p);
    VM active = at.good, inside = LT(one, zero);
    for (int step = 0;; step++) {
        VF ee = T(dot)(x.e, x.e), low = box_support_value(&p, x.e, x.g), off = ee - low;
        VM close = LE(off * magnitude(off), stop2 * ee), beyond = MAND(LT(zero, low), LT(far2 * ee, low * low));
        inside = MOR(inside, MAND(active, LE(ee, box_contact2(&at))));
        active = MANDN(active, MOR(MOR(close, beyond), inside));
        if (MBITS(active) == 0 || step == steps) break;
        box_step(&p, &x, active);
        box_search y = x;
        box_coordinate_steps(&p, &y);
        x.v = T(sel)(active, clamped3(T(sub)(y.v, y.g), p.b), x.v);
        evaluate_box(&p, &x);
    }
    return box_answer(c, lo, order, n, &p, &at, &x, MBITS(inside), intersecting);
}

// box_penetrating answers the penetrating rows of order[0..n), at most W, by box_axes.h. It returns
// the lanes of the others.
static __attribute__((noinline)) unsigned box_penetrating(const clr_call *c, int64_t lo, const int32_t *order, int n) {
    box_place at;
    const box_pair p = box_load(c, lo, order, n, &at);
    const VF rounding = at.rounding, radius = at.ra + at.rb;
    const lane_depths d = box_depths(&p, rounding, MAX(at.tol - SET1(2) * rounding, rounding));
    closed_out o = {
        .n = d.n, .a = d.a, .b = T(sub)(d.a, d.near), .ok = d.ok}; // the bounds as in answer_penetrating (certify.h)
    o.distance = -d.high - radius;
    o.lower = o.distance - rounding;
    o.upper = MAX(-d.low, d.off - d.high) - radius + rounding;
    return (n < W ? (1u << n) - 1 : LANES) & ~box_put(c, lo - c->first, order, n, &at, &o, SET1(0), 0, CLR_SOLVER_AXES);
}

// box_statuses answers the Boolean query for rows order[0..n), at most W, and returns the lanes that
// it does not decide. The separation along an axis has an error of at most 4·rounding, whatever the axis'
// length (closed_forms.h), so parallel edges, whose product is zero up to rounding, prove nothing.
// Rows that the axes do not decide, and rounded boxes close to contact, are searched by Newton's
// method. There A is shrunk by more than the rounding bound, so that iterates on its surface are
// inside the true A.
static __attribute__((noinline)) unsigned box_statuses(const clr_call *c, int64_t lo, const int32_t *order, int n) {
    const VF zero = SET1(0);
    box_place at;
    const box_pair p = box_load(c, lo, order, n, &at);
    const unsigned lanes = n < W ? (1u << n) - 1 : LANES;
    const VF inner = SET1(4) * at.rounding, radius = at.ra + at.rb, most = T(box_axes)(p.a, p.b, p.t, p.m);
    unsigned open = MBITS(at.good) & lanes, separated = open & MBITS(LT(radius + inner, most)),
             penetrating = open & MBITS(LT(most, -inner));
    open &= ~(separated | penetrating);
    if (open) {
        const VF half = SET1(-2) * at.rounding, reach = radius + at.rounding, least = MAX(radius + half, zero);
        const VF reach2 = reach * reach, least2 = least * least;
        box_pair shrunk = p;
        shrunk.a = (V3){MAX(p.a.x - inner, zero), MAX(p.a.y - inner, zero), MAX(p.a.z - inner, zero)};
        box_search x = box_start(&shrunk);
        for (int step = 0;; step++) {
            VF ee = T(dot)(x.e, x.e), low = box_support_value(&p, x.e, x.g);
            V3 out = T(sub)(magnitude3(x.u), p.a);
            separated |= open & MBITS(MAND(LT(zero, low), LT(reach2 * ee, low * low)));
            penetrating |=
                open & MBITS(MOR(LT(ee, least2), MAND(MAND(LT(out.x, half), LT(out.y, half)), LT(out.z, half))));
            open &= ~(separated | penetrating);
            if (open == 0 || step == BOX_STEPS) break;
            box_step(&shrunk, &x, MFROM(open));
        }
    }
    uint8_t *status = bytes_of(c, CLR_COLUMN_STATUS, lo), *method = bytes_of(c, CLR_COLUMN_METHOD, lo);
    for (unsigned m = separated | penetrating; m; m &= m - 1) {
        const int l = __builtin_ctz(m);
        status[order[l]] = separated >> l & 1 ? CLR_STATUS_SEPARATED : CLR_STATUS_PENETRATING;
        if (method) method[order[l]] = CLR_SOLVER_AXES;
    }
    return lanes & ~(separated | penetrating);
}

// answer_box_pairs answers the rows of order[0..n), relative to lo, that these methods prove. It moves
// the others to the front of order, and returns their number.
static int answer_box_pairs(const clr_call *c, int64_t lo, int32_t *order, int rows) {
    if (!c->automatic || (c->collide && !c->boolean)) return rows; // the caller named a method
    if (c->boolean) rows = boolean_boxes(c, lo, order, rows);
    for (int pass = 0; pass < (c->boolean ? 1 : 2); pass++) {
        int32_t *rest = order, intersecting[3 * W];
        int count = 0; // length of intersecting
        const int together = c->boolean || pass ? W : 2 * W;
        for (int k = 0; k < rows; k += together) {
            int32_t row[2 * W];
            unsigned left, inside = 0;
            const int n = rows - k < together ? rows - k : together;
            for (int l = 0; l < together; l++) row[l] = order[k + (l < n ? l : n - 1)];
            if (c->boolean) left = box_statuses(c, lo, row, n);
            else if (pass == 0) left = box_starts(c, lo, row, n, &inside);
            else left = box_steps(c, lo, row, n, &inside);
            for (unsigned m = left & ~inside; m; m &= m - 1) *rest++ = row[__builtin_ctz(m)];
            for (; inside; inside &= inside - 1) intersecting[count++] = row[__builtin_ctz(inside)];
            const int last = k + together >= rows;
            int done = 0;
            for (; done + W <= count || (last && done < count); done += W) {
                const int some = count - done < W ? count - done : W;
                for (int l = 0; l < W; l++) row[l] = intersecting[done + (l < some ? l : some - 1)];
                for (unsigned m = box_penetrating(c, lo, row, some); m; m &= m - 1) *rest++ = row[__builtin_ctz(m)];
            }
            for (int d = done; d < count; d++) intersecting[d - done] = intersecting[d];
            count = count > done ? count - done : 0;
        }
        rows = (int)(rest - order);
    }
    return rows;
}

#endif

// Rows of closed forms, W at a time: loading, storing, and the loop around a form. A template, float64.
//
// The frame has the axes of the world and the origin of A. Positions are subtracted once, with
// one rounding, and only the axes that a form needs are rotated. Rounding bounds are those of
// ref.Pair.Roundoff.

#ifndef CLR_CLOSED_ROWS_H
#define CLR_CLOSED_ROWS_H

#include "../isa/real64.h"
#include "input.h"
#include "store.h"
#include "../shape/support.h"
#include <string.h>

// closed_in is the input of W pairs.
typedef struct {
    VM good;   // valid poses
    V3 pos, t; // origin of A in the world; origin of B relative to it
    VF w[2];   // quaternions, of any length
    V3 v[2];
    V3 p[2];                           // parameters
    VF radius[2], size, tol, rounding; // rounding: rounding bound, see ref.Pair.Roundoff
    const clr_shape *shape[2][W];
} closed_in;

// closed_out holds the answers of W pairs, in the frame above.
typedef struct {
    VF distance, lower, upper;
    V3 n, a, b; // normal and witnesses
    VM ok;      // the bounds are proved
} closed_out;

// closed_load reads rows order[0..n), relative to lo. Lanes beyond n repeat the last row.
ALWAYS closed_in closed_load(const clr_call *c, int64_t lo, const int32_t *order, int n) {
    closed_in in;
    double tmp[27][W] __attribute__((aligned(64)));
    for (int l = 0; l < W; l++) {
        int64_t at = lo + order[l < n ? l : n - 1];
        clr_row r = row_at(c, at);
        const clr_shape *a = c->shapes + r.shape_a, *b = c->shapes + r.shape_b;
        in.shape[0][l] = a;
        in.shape[1][l] = b;
        for (int j = 0; j < 3; j++) {
            tmp[j][l] = r.pa[j];
            tmp[3 + j][l] = r.pb[j];
            tmp[6 + j][l] = a->p[j];
            tmp[9 + j][l] = b->p[j];
            tmp[12 + j][l] = c->warm ? c->warm[3 * at + j] : 0;
        }
        for (int j = 0; j < 4; j++) {
            tmp[15 + j][l] = r.qa[j];
            tmp[19 + j][l] = r.qb[j];
        }
        tmp[23][l] = a->radius;
        tmp[24][l] = b->radius;
        tmp[25][l] = a->size + b->size;
        tmp[26][l] = a->off + b->off;
    }
    V3 pb = T(ld3)(tmp[3], W), warm = T(ld3)(tmp[12], W);
    in.pos = T(ld3)(tmp[0], W);
    in.t = T(sub)(pb, in.pos);
    for (int side = 0; side < 2; side++) {
        in.p[side] = T(ld3)(tmp[6 + 3 * side], W);
        in.w[side] = LOADU(tmp[15 + 4 * side]);
        in.v[side] = T(ld3)(tmp[16 + 4 * side], W);
        in.radius[side] = LOADU(tmp[23 + side]);
    }
    in.good = MAND(good_pose(in.pos, in.w[0], in.v[0]), good_pose(pb, in.w[1], in.v[1]));
    in.good = MAND(in.good, LE(T(dot)(warm, warm), SET1(1e200))); // false for NaN and infinity
    VF size = in.size = LOADU(tmp[25]);
    in.tol = SET1(c->tolerance) * size;
    in.rounding = SET1(24 * 0x1p-53) * (SQRT(T(dot)(in.t, in.t)) + size + LOADU(tmp[26])) + SET1(UNDERFLOW_ERROR);
    return in;
}

// closed_put stores the answers in o->ok of rows order[0..n), with the given solver; shapes of the value `touch`
// touch. Other rows with a valid pose are written to *rest, which may be order itself; the others are declined
// (s->left). It returns the new end of *rest.
ALWAYS int32_t *closed_put(const clr_call *c, clr_scratch *s, int64_t at0, const int32_t *order, int n,
                           const closed_in *in, const closed_out *o, double touch, int solver, int32_t *rest,
                           int *left) {
    double v[12][W] __attribute__((aligned(64)));
    int32_t row[W];
    for (int l = 0; l < W; l++) row[l] = order[l < n ? l : n - 1];
    STOREU(v[0], o->distance);
    STOREU(v[1], o->lower);
    STOREU(v[2], o->upper);
    T(st3)(v[3], W, o->n);
    T(st3)(v[6], W, T(add)(o->a, in->pos));
    T(st3)(v[9], W, T(add)(o->b, in->pos));
    unsigned good = MBITS(in->good), ok = good & MBITS(o->ok);
    const unsigned separated = MBITS(LT(SET1(touch), o->lower)), penetrating = MBITS(LT(o->upper, SET1(touch)));
    ok &= n < W ? (1u << n) - 1 : LANES;
    store_answers(c, at0, row, ok, (const double (*)[W])v, separated, penetrating, 0, solver);
    for (int l = 0; l < n; l++) {
        if (ok >> l & 1) continue;
        if (good >> l & 1) *rest++ = row[l];
        else s->left[(*left)++] = row[l];
    }
    return rest;
}

// half_support is the support point of the core of body `side`, of class k, along d.
ALWAYS V3 half_support(const clr_call *c, const closed_in *in, int side, int k, V3 d) {
    double columns[CLR_PA + 4][W] __attribute__((aligned(64)));
    T(hulls) hulls;
    T(places) at = {.call = c, .in = columns[0], .stride = W, .hull = {&hulls, &hulls}, .lanes = MBITS(in->good)};
    VF found;
    T(st3)(columns[CLR_PA], W, in->p[side]);
    for (int l = 0; l < W; l++) {
        columns[CLR_PA + 3][l] = in->shape[side][l]->erode;
        if (IN_LANES(k)) T(set_hull)(&hulls, l, in->shape[side][l], k);
    }
    return T(side_support)(&at, k, 0, d, inverse_length(d), &found);
}

// CLOSED_LOOP defines a function that answers rows order[0..n), relative to lo, by the formula FORM;
// SOLVER is recorded as their solver. Rows without a sufficient bound are moved to the front of order;
// their number is returned.
#define CLOSED_LOOP(name, FORM, SOLVER)                                                                             \
    static __attribute__((noinline)) int name(const clr_call *c, clr_scratch *s, int64_t lo, int32_t *order, int n, \
                                              int *left) {                                                          \
        int32_t *rest = order;                                                                                      \
        for (int k = 0; k < n; k += W) {                                                                            \
            int m = n - k < W ? n - k : W;                                                                          \
            closed_in in = closed_load(c, lo, order + k, m);                                                        \
            closed_out o = FORM;                                                                                    \
            rest = closed_put(c, s, lo - c->first, order + k, m, &in, &o, 0, SOLVER, rest, left);                   \
        }                                                                                                           \
        return (int)(rest - order);                                                                                 \
    }

// Input and output of the methods for two boxes, W rows at a time: from the poses to registers, and from there to the
// columns of the answer. A template, float64.

// box_pair is two boxes in the frame of A.
typedef struct {
    VF m[9];    // rotation of B
    V3 t, a, b; // origin of B, half extents
} box_pair;

// box_place holds the numbers of a pair that its answer needs besides box_pair.
typedef struct {
    V3 pos;                         // origin of A in the world
    VF rot[9];                      // rotation of A
    VF ra, rb, size, rounding, tol; // radii, size, rounding bound, tolerance: see prepare
    VM good;                        // see good_pose
} box_place;

// box_load_rows reads W rows of the input. It moves the pointers of r to parameters.
ALWAYS box_pair box_load_rows(const clr_call *c, clr_rows *r, box_place *at) {
    box_pair out;
    VF p[4], q[4], u[4], v[4];
    V3 pos = {r->pa[0], r->pa[1], r->pa[2]}, far = {r->pb[0], r->pb[1], r->pb[2]}, ua = {r->qa[1], r->qa[2], r->qa[3]},
       ub = {r->qb[1], r->qb[2], r->qb[3]};
    at->good = MAND(good_pose(pos, r->qa[0], ua), good_pose(far, r->qb[0], ub));
    at->pos = pos;
    rotations(r->qa[0], ua, r->qb[0], ub, at->rot, out.m);
    out.t = T(apply_transposed)(at->rot, T(sub)(far, pos));
    if (c->warm) { // unused here, but invalid wherever another solver declines it
        const double *warm[W];
        for (int l = 0; l < W; l++) warm[l] = c->warm + 3 * r->at[l];
        ROWS(p, warm, 7)
        at->good = MAND(at->good, LE(FMA(p[2], p[2], FMA(p[1], p[1], p[0] * p[0])), SET1(1e200)));
    }
    ROWS(p, r->sa, 7)
    ROWS(q, r->sb, 7)
    out.a = (V3){p[0], p[1], p[2]};
    out.b = (V3){q[0], q[1], q[2]};
    for (int l = 0; l < W; l++) r->sa[l] += 4, r->sb[l] += 4;
    ROWS(u, r->sa, 7)
    ROWS(v, r->sb, 7)
    at->ra = u[0];
    at->rb = v[0];
    at->size = u[1] + v[1];
    at->rounding = SET1(24 * 0x1p-53) * (SQRT(T(dot)(out.t, out.t)) + at->size);
    at->tol = SET1(c->tolerance) * at->size;
    return out;
}

// box_load reads rows order[0..n) of the input, relative to lo. Lanes beyond n repeat the last row.
ALWAYS box_pair box_load(const clr_call *c, int64_t lo, const int32_t *order, int n, box_place *at) {
    clr_rows r;
    read_rows(c, lo, order, n, &r);
    return box_load_rows(c, &r, at);
}

// box_put stores the answers in o->ok, in the frame of A, of rows order[0..n), and returns their lanes; shapes of the
// value `touch` touch. From n on, order repeats a row.
ALWAYS unsigned box_put(const clr_call *c, int64_t at0, const int32_t *order, int n, const box_place *at,
                        const closed_out *o, VF taken, double touch, int solver) {
    double v[12][W] __attribute__((aligned(64))), steps[W] __attribute__((aligned(64)));
    uint16_t count[W];
    unsigned yes = MBITS(MAND(o->ok, at->good)) & (n < W ? (1u << n) - 1 : LANES);
    STOREU(v[0], o->distance);
    STOREU(v[1], o->lower);
    STOREU(v[2], o->upper);
    T(st3)(v[3], W, T(apply)(at->rot, o->n));
    T(st3)(v[6], W, T(add)(T(apply)(at->rot, T(axpy)(at->ra, o->n, o->a)), at->pos));
    T(st3)(v[9], W, T(add)(T(apply)(at->rot, T(axpy)(-at->rb, o->n, o->b)), at->pos));
    STOREU(steps, taken);
    for (int l = 0; l < W; l++) count[l] = (uint16_t)steps[l];
    store_answers(c, at0, order, yes, (const double (*)[W])v, MBITS(LT(SET1(touch), o->lower)),
                  MBITS(LT(o->upper, SET1(touch))), count, solver);
    return yes;
}

#endif

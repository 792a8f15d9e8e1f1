// Rows of closed forms, W at a time: loading, storing, and the loop around a form. A template, float64.
//
// The frame has the axes of the world and the origin of A. Positions are subtracted once, with
// one rounding, and only the axes that a form needs are rotated. Rounding bounds are those of
// ref.Pair.Roundoff.

#ifndef CLR_CLOSED_ROWS_H
#define CLR_CLOSED_ROWS_H

#include "../isa/real64.h"
#include "groups.h"
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

#endif

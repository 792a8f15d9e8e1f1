// Input and output of the methods for two boxes, W rows at a time: from the poses to registers, and from there to the
// columns of the answer. A template, float64.

#ifndef CLR_BOX_ROWS_H
#define CLR_BOX_ROWS_H

#include "../isa/real64.h"
#include "closed_rows.h"
#include "input.h"
#include "store.h"

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

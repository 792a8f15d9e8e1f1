// Rows that share both shapes: rollouts, grasps, sorted lists. Float32.
//
// sort_by_shapes makes runs of such rows. Lanes keep nothing of a shape: its vertices are broadcast
// (support_hull.h). The lanes read the columns of their group in place, start together and end with the last of them:
// none is refilled, and the simplices of the first three steps are known to have no, one and two vertices (simplex.h).
// They take more steps than lanes that are refilled, but each costs less.
//
// The arithmetic of a lane is that of gjk.h, operation for operation, and the certificate that of certify.h. So a row
// has the same bits whether or not its neighbours share its shapes, and runs may be formed in any way.

#ifndef CLR_SHARED_SHAPES_H
#define CLR_SHARED_SHAPES_H

#include "../isa/real32.h"
#include "gjk.h"
#include "input.h"
#include "../isa/real32.h" // again after a header of float64
#include <string.h>

// As many rows of a group that share both shapes are worth solving together.
#define LEAST_SHARED 32
enum { MOST_SHARED_PAIRS = CLR_BLOCK / LEAST_SHARED };

// sort_by_shapes sorts rows order[0..n), relative to lo, so that those with the same two shapes follow one another, and
// writes where each run of at least LEAST_SHARED rows ends; the other rows come last. It returns the number of runs; it
// gives up, with 0, once there are more pairs of shapes than n rows can make runs of. The order within a run stays.
static __attribute__((noinline)) int sort_by_shapes(const clr_call *c, clr_scratch *s, int64_t lo, int32_t *order,
                                                    int n, int32_t end[MOST_SHARED_PAIRS]) {
    enum { SLOTS = 4 * MOST_SHARED_PAIRS };
    const int most = n / LEAST_SHARED;
    const uint32_t templates = (uint32_t)c->templates, offset = c->poses ? (uint32_t)(lo % c->templates) : 0;
    int32_t shape_a[MOST_SHARED_PAIRS], shape_b[MOST_SHARED_PAIRS], count[MOST_SHARED_PAIRS], to[MOST_SHARED_PAIRS],
        sorted[CLR_BLOCK];
    int8_t pair_of[SLOTS]; // a hash table
    int pairs = 0, runs = 0, sum = 0, last = -1, same = 0;
    if (c->templates > INT32_MAX / 2) return 0;
    memset(pair_of, -1, sizeof pair_of);
    for (int i = 0; i < n; i++) {
        int32_t a, b;
        if (c->poses) { // row_at with a division of 32 bits
            const uint32_t pair = (offset + (uint32_t)order[i]) % templates;
            a = c->body_shape[c->template_a[pair]], b = c->body_shape[c->template_b[pair]];
        } else {
            a = c->shape_a[lo + order[i]], b = c->shape_b[lo + order[i]];
        }
        if (last < 0 || a != shape_a[last] || b != shape_b[last]) {
            uint32_t at = ((uint32_t)a * 0x9e3779b1u ^ (uint32_t)b * 0x85ebca77u) >> 16 & (SLOTS - 1);
            for (; pair_of[at] >= 0; at = (at + 1) & (SLOTS - 1))
                if (shape_a[pair_of[at]] == a && shape_b[pair_of[at]] == b) break;
            if (pair_of[at] < 0) {
                if (pairs == most) return 0;
                shape_a[pairs] = a, shape_b[pairs] = b, count[pairs] = 0;
                pair_of[at] = (int8_t)pairs++;
            }
            if (last >= 0) count[last] += same;
            last = pair_of[at], same = 0;
        }
        s->key[i] = (uint8_t)last;
        same++;
    }
    if (last >= 0) count[last] += same;
    for (int few = 0; few < 2; few++)
        for (int p = 0; p < pairs; p++) {
            if ((count[p] < LEAST_SHARED) != few) continue;
            to[p] = sum;
            sum += count[p];
            if (!few) end[runs++] = sum;
        }
    if (pairs == 1) return runs;
    for (int i = 0; i < n; i++) sorted[to[s->key[i]]++] = order[i];
    memcpy(order, sorted, (size_t)n * sizeof *order);
    return runs;
}

#define SHARED_BLOCKS 2 // vectors in turn, see gjk.h

// Rows of a group, so few that its columns stay in the first level of the cache.
enum { SHARED_ROWS = 2 * SHARED_BLOCKS * W };

// The pairs of classes that gjk_shared is compiled for.
#define SHARED_PAIRS(X)     \
    X(CLR_SMALL, CLR_SMALL) \
    X(CLR_HULL, CLR_HULL)   \
    X(CLR_BOX, CLR_SMALL)   \
    X(CLR_SMALL, CLR_BOX)   \
    X(CLR_BOX, CLR_HULL)    \
    X(CLR_HULL, CLR_BOX)

// solves_shared tells whether gjk_shared solves the rows of a pair of classes that share their shapes: distances of
// polytopes without a limit of the iterations.
static int solves_shared(const clr_call *c, int ka, int kb) {
    if (c->collide || c->penetration || c->max_steps) return 0;
#define X(a, b) \
    if (ka == a && kb == b) return 1;
    SHARED_PAIRS(X)
#undef X
    return 0;
}

// share_cells puts the direction cells of a hull into all lanes.
ALWAYS void share_cells(hulls32 *h, const float *cell_values) {
    for (int j = 0; j < 3; j++) STOREU(h->extent[j], SET1(cell_values[j]));
    memcpy(&h->cells[0], cell_values + 3, sizeof h->cells[0]);
    for (int l = 1; l < W; l++) h->cells[l] = h->cells[0];
}

// scaled_copies writes the vertices of a small hull as copy_hulls does.
ALWAYS void scaled_copies(float (*copy)[3][W], const clr_call *c, const clr_shape *s, VF scale) {
    const float *x = c->fx + s->first, *y = c->fy + s->first, *z = c->fz + s->first;
    for (int j = 0; j < s->count; j++) {
        STOREU(copy[j][0], scale * SET1(x[j]));
        STOREU(copy[j][1], scale * SET1(y[j]));
        STOREU(copy[j][2], scale * SET1(z[j]));
    }
}

// start_together gives the lanes rows `first`, first + 1, … of the n rows of a group.
ALWAYS void start_together(lanes32 *L, places32 *at, const clr_call *c, const clr_scratch *s, int first, int n, int ka,
                           int kb) {
    const int rows = n - first;
    const unsigned all = rows >= W ? LANES : rows > 0 ? (1u << rows) - 1 : 0;
    L->active = all, L->idle = LANES & ~all;
    if (!all) return;
    const float *in = &s->in32[0][first];
    at->in = in;
    L->inside = L->away = L->certain = 0;
    L->newest[0] = LANES, L->newest[1] = L->newest[2] = 0;
    for (int l = 0; l < W; l++) L->at[l] = first + l;
    if (ka == CLR_SMALL)
        scaled_copies(L->copy[0], c, c->shapes + s->shape_a[0], LOADU(in + (CLR_PA + 3) * CLR_STRIDE32));
    if (kb == CLR_SMALL)
        scaled_copies(L->copy[1], c, c->shapes + s->shape_b[0], LOADU(in + (CLR_PB + 3) * CLR_STRIDE32));
    const V3 x = T(ld3)(in + CLR_X * CLR_STRIDE32, CLR_STRIDE32);
    T(st3)(L->x[0], W, x);
    STOREU(L->xx, T(dot)(x, x));
    STOREU(L->step, SET1(0));
}

// gjk_together runs rows 0 to n−1 of the group, which share their shapes.
ALWAYS void gjk_together(const clr_call *c, clr_scratch *s, int n, int ka, int kb) {
    lanes32 lanes[SHARED_BLOCKS];
    places32 at[SHARED_BLOCKS];
    const work32 w = {c, s, 0, 0, n, ka, kb, {0, 0}, 0};
    shared_hulls32 hulls = T(shared_by)(c, s, c->points);
    int64_t steps = 0, busy = 0;
    for (int b = 0; b < SHARED_BLOCKS; b++) {
        lanes32 *L = &lanes[b];
        if (n % W) memset(L->found, 0, sizeof L->found); // lanes without a row name vertices as well
        if (ka == CLR_HULL) share_cells(&L->hull[0], c->cell_values + CLR_CELL_VALUES * (size_t)s->shape_a[0]);
        if (kb == CLR_HULL) share_cells(&L->hull[1], c->cell_values + CLR_CELL_VALUES * (size_t)s->shape_b[0]);
        at[b] = (places32){.call = c, .stride = CLR_STRIDE32, .shared = &hulls, .hull = {&L->hull[0], &L->hull[1]}};
        for (int side = 0; side < 2; side++) {
            at[b].copy[side] = (const float (*)[3][W])L->copy[side];
            at[b].copied[side] = hulls.count[side];
        }
    }
    if (ka == CLR_HULL && !list_members(c, c->shapes + s->shape_a[0], hulls.listed[0])) hulls.count[0] = 0;
    if (kb == CLR_HULL && !list_members(c, c->shapes + s->shape_b[0], hulls.listed[1])) hulls.count[1] = 0;
    FLUSH_BEGIN;
    for (int k = 0; k < n; k += SHARED_BLOCKS * W) {
        unsigned more = 0;
        for (int b = 0; b < SHARED_BLOCKS; b++) start_together(&lanes[b], &at[b], c, s, k + b * W, n, ka, kb);
#define STEP(taken)                                               \
    more = 0;                                                     \
    for (int b = 0; b < SHARED_BLOCKS; b++) {                     \
        if (!lanes[b].active) continue;                           \
        steps++;                                                  \
        busy += __builtin_popcount(lanes[b].active);              \
        T(step)(&lanes[b], &w, &at[b], ka, kb, 0, SHARED, taken); \
        more |= lanes[b].active;                                  \
    }
        STEP(0)
        STEP(1)
        STEP(2)
        while (more) { STEP(ANY_STEPS) }
#undef STEP
        for (int b = 0; b < SHARED_BLOCKS; b++) T(flush)(&lanes[b], &w, 1);
    }
    FLUSH_END;
    s->rows_shared += n;
    s->rows32 += n;
    s->steps32 += steps;
    s->lanes32 += busy;
}

// gjk_shared is gjk for the rows of a group, which share their shapes, where solves_shared says so.
static __attribute__((noinline)) void gjk_shared(const clr_call *c, clr_scratch *s, int n, int ka, int kb) {
#ifdef CLR_GENERIC
    gjk_together(c, s, n, ka, kb);
#else
#define X(a, b) \
    if (ka == a && kb == b) gjk_together(c, s, n, a, b);
    SHARED_PAIRS(X)
#undef X
#endif
}

#endif

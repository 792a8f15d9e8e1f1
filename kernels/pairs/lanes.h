// State of the lanes of the GJK loop. A template, see vec3.h.
//
// A lane keeps one row from refill to flush. refill copies the row's columns to an idle lane; step
// (gjk.h) iterates; flush stores the result: in s->state whether the row is open, separated (CLR_AWAY)
// or contains the origin (CLR_INSIDE), and the simplex as directions (or vertex numbers of hulls),
// which certify.h evaluates again in float64. A lane's arithmetic depends on its own row only.

#if (REAL_BITS == 32 && !defined(CLR_LANES_32)) || (REAL_BITS == 64 && !defined(CLR_LANES_64))
#if REAL_BITS == 32
#define CLR_LANES_32
#else
#define CLR_LANES_64
#endif

#include "../shape/support.h"
#include <string.h>

#if REAL_BITS == 32
#define FIELDS CLR_IN
#define INPUT(s) (s)->in32
#else
#define FIELDS CLR_IN64
#define INPUT(s) (s)->in64
#endif

typedef struct {
    REAL in[FIELDS][W];
    REAL vert[9][W];     // slots b, c, d of the simplex
    REAL dir[12][W];     // directions of the vertices; the fourth is that of the last evaluation
    REAL found[2][4][W]; // vertex numbers, of hulls A and B
    REAL x[3][W], xx[W];
    REAL step[W];
    REAL limit[W]; // steps left to the row, if the call limits them
#if REAL_BITS == 64
    REAL stationary_steps[W]; // stationary steps
#endif
    int32_t at[W]; // row of the group
    T(hulls) hull[2];
    unsigned active, idle; // lanes with an unfinished row; lanes without a row
    unsigned inside, away; // finished lanes: D contains the origin; separated
    unsigned certain;      // lanes where a candidate vertex brought no progress
    unsigned newest[3];    // lanes with the newest vertex in that slot
#if REAL_BITS == 32
    REAL copy[2][CLR_SMALL_VERTICES][3][W] __attribute__((aligned(64))); // vertices of small hulls
#endif
} __attribute__((aligned(64))) T(lanes);

// work is the rows of one loop.
typedef struct {
    const clr_call *call;
    clr_scratch *s;
    const int32_t *list; // rows of the group, or null for all
    int next, n;
    int ka, kb;
    int most[2]; // vertices of the largest small hull
    int boolean; // Boolean query, see boolean.h
} T(work);

// KEEPS_SIMPLEX tells whether the float32 loop stores tetrahedra as vertices for a pair of classes: to
// read vertices of large hulls again would miss the cache.
#define KEEPS_SIMPLEX(ka, kb) (IS_HULL(ka) && IS_HULL(kb) && ((ka) != CLR_SMALL || (kb) != CLR_SMALL))

// Refill and flush of lanes.

#if REAL_BITS == 32
#ifdef SPREAD
// next_eight removes up to eight lanes from put, and returns them as a mask. If there are fewer, it
// repeats one.
ALWAYS unsigned next_eight(unsigned *put, int lane[8]) {
    unsigned some = 0;
    for (int i = 0; i < 8; i++) {
        lane[i] = __builtin_ctz(*put ? *put : some);
        some |= *put & -*put;
        *put &= *put - 1;
    }
    return some;
}
#endif

// load_cell_values loads the extents and the first cells of the hulls of one side for the lanes in put, which
// have the rows `at`; the candidate cells only with `candidates`.
ALWAYS void load_cell_values(T(hulls) *h, const float *cell_values, const int32_t *shape, const int32_t at[W],
                             unsigned put, int candidates) {
#ifdef SPREAD
    while (put) {
        int lane[8];
        const float *row[8];
        VF v[4];
        const VM m = MFROM(next_eight(&put, lane));
        const __m512i index = SPREAD_INDEX(m);
        for (int i = 0; i < 8; i++) row[i] = cell_values + CLR_CELL_VALUES * (size_t)shape[at[lane[i]]];
        SPREAD(v, row, index)
        T(mst3)(h->extent[0], W, m, (V3){v[0], v[1], v[2]});
        MSTORE(h->cells, m, v[3]);
        if (!candidates) continue;
        for (int i = 0; i < 8; i++) row[i] += 4;
        SPREAD(v, row, index)
        T(mst3)(h->candidate_extent[0], W, m, (V3){v[0], v[1], v[2]});
        MSTORE(h->candidates, m, v[3]);
    }
#else
    for (; put; put &= put - 1) {
        const int l = __builtin_ctz(put);
        const float *row = cell_values + CLR_CELL_VALUES * (size_t)shape[at[l]];
        for (int j = 0; j < 3; j++) h->extent[j][l] = row[j], h->candidate_extent[j][l] = row[4 + j];
        memcpy(&h->cells[l], row + 3, sizeof h->cells[l]);
        memcpy(&h->candidates[l], row + 7, sizeof h->candidates[l]);
    }
#endif
}

// copy_hulls copies the vertices of the small hulls h, scaled, to the lanes in put; `most` is the number of
// vertices of the largest. The rest of the list repeats the last vertex.
ALWAYS void T(copy_hulls)(REAL (*copy)[3][W], const T(hulls) *h, const clr_call *c, VF scale, int most, unsigned put) {
    const float *from[3] = {c->fx, c->fy, c->fz};
#ifdef SPREAD
    // Eight lanes at a time: seldom more than half of a vector is refilled.
    while (put) {
        int lane[8];
        const VM m = MFROM(next_eight(&put, lane));
        const __m512i index = SPREAD_INDEX(m);
        for (int axis = 0; axis < 3; axis++)
            for (int j = 0; j < most; j += 4) {
                const float *row[8];
                VF v[4];
                for (int i = 0; i < 8; i++) row[i] = from[axis] + h->first[lane[i]] + j;
                SPREAD(v, row, index)
                for (int i = 0; i < 4; i++) MSTORE(copy[j + i][axis], m, scale * v[i]);
            }
    }
#else
    const VM m = MFROM(put);
    for (int axis = 0; axis < 3; axis++) {
        const float *row[W];
        for (int l = 0; l < W; l++) row[l] = from[axis] + h->first[l];
        for (int j = 0; j < most; j += 4) {
            VF v[4];
            ROWS(v, row, 15)
            for (int i = 0; i < 4; i++) MSTORE(copy[j + i][axis], m, scale * v[i]);
            for (int l = 0; l < W; l++) row[l] += 4;
        }
    }
#endif
}
#endif

ALWAYS void T(load_hulls)(T(lanes) *L, const T(work) *w, int l, int i) {
    const clr_scratch *s = w->s;
    const clr_shape *a = w->call->shapes + s->shape_a[i], *b = w->call->shapes + s->shape_b[i];
#if REAL_BITS == 32
    if (w->ka != CLR_HULL) T(put_hull)(&L->hull[0], l, a, w->ka);
    if (w->kb != CLR_HULL) T(put_hull)(&L->hull[1], l, b, w->kb);
#else
    if (IN_LANES(w->ka)) T(set_hull)(&L->hull[0], l, a, w->ka);
    if (IN_LANES(w->kb)) T(set_hull)(&L->hull[1], l, b, w->kb);
    for (int k = 0; k < 3; k++) {
        L->found[0][k][l] = s->seed_a[k][i];
        L->found[1][k][l] = s->seed_b[k][i];
    }
#endif
}

// refill gives idle lanes the next rows.
ALWAYS void T(refill)(T(lanes) *L, T(work) *w) {
    const clr_scratch *s = w->s;
    unsigned put = 0;
    const int from = w->list && w->next < w->n ? w->list[w->next] : w->next;
    int next = from; // grows while the rows are consecutive
    for (unsigned m = L->idle; m && w->next < w->n; m &= m - 1) {
        int l = __builtin_ctz(m), i = w->list ? w->list[w->next] : w->next;
        w->next++;
        next += i == next;
        put |= m & -m;
        L->at[l] = i;
        if (w->call->max_steps)
            L->limit[l] = (REAL)(w->call->max_steps - 1 - s->steps[i]); // the certificate counts as one
        if (IN_LANES(w->ka) || IN_LANES(w->kb)) T(load_hulls)(L, w, l, i);
    }
    if (!put) return;
    L->idle &= ~put;
    L->active |= put;
    L->certain &= ~put;
    L->newest[0] |= put;
    L->newest[1] &= ~put;
    L->newest[2] &= ~put;
    VM m = MFROM(put);
#ifdef EXPAND
    if (next - from == __builtin_popcount(put)) {
        for (int k = 0; k < FIELDS; k++) STOREU(L->in[k], EXPAND(LOADU(L->in[k]), m, LOADU(&INPUT(s)[k][from])));
    } else
#endif
    {
        (void)next;
        for (unsigned p = put; p; p &= p - 1) {
            int l = __builtin_ctz(p), i = L->at[l];
            for (int k = 0; k < FIELDS; k++) L->in[k][l] = INPUT(s)[k][i];
        }
    }
#if REAL_BITS == 32
    for (int side = 0; side < 2; side++) {
        const int kind = side ? w->kb : w->ka;
        if (kind == CLR_SMALL)
            T(copy_hulls)(L->copy[side], &L->hull[side], w->call, LOADU(L->in[(side ? CLR_PB : CLR_PA) + 3]),
                          w->most[side], put);
        if (kind == CLR_HULL)
            load_cell_values(&L->hull[side], w->call->cell_values, side ? s->shape_b : s->shape_a, L->at, put,
                             w->boolean || w->call->penetration);
    }
#endif
    V3 x = T(ld3)(L->in[CLR_X], W);
    T(mst3)(L->x[0], W, m, x);
    MSTORE(L->xx, m, T(dot)(x, x));
    MSTORE(L->step, m, SET1(0));
#if REAL_BITS == 32
    if (w->boolean) { // any points of D prove a status
        // The initial simplex is the difference of the centers, which lie in their cores; unless the
        // origin is so close to it that no tetrahedron with that vertex contains a ball around the
        // origin.
        const V3 t = T(ld3)(L->in[CLR_TRANS], W);
        const VM from = MAND(m, LT(SET1(1e-4f), T(dot)(t, t)));
        for (int k = 0; k < 3; k++) T(mst3)(L->vert[3 * k], W, from, T(neg)(t));
        MSTORE(L->step, from, SET1(1));
    }
#endif
#if REAL_BITS == 64
    MSTORE(L->stationary_steps, m, SET1(0));
    for (int k = 0; k < 9; k++) {
        MSTORE(L->vert[k], m, LOADU(L->in[CLR_VERT + k]));
        MSTORE(L->dir[k], m, LOADU(L->in[CLR_DIR + k]));
    }
#endif
}

#if REAL_BITS == 32
// flush_simplex stores, for two hulls, the tetrahedra of the lanes in `inside`: initial polytopes of
// EPA. slot tells which slot has the newest, the second and the third vertex.
ALWAYS void flush_simplex(const T(lanes) *L, const T(work) *w, unsigned inside, const VM slot[3],
                          const REAL found[2][3][W]) {
    REAL vert[9][W] __attribute__((aligned(64)));
    if (!inside) return;
    for (int j = 0; j < 3; j++) {
        VF a = LOADU(L->vert[j]), b = LOADU(L->vert[3 + j]), c = LOADU(L->vert[6 + j]);
        STOREU(vert[j], SEL(slot[0], a, SEL(slot[1], b, c)));
        STOREU(vert[3 + j], SEL(slot[1], a, b));
        STOREU(vert[6 + j], SEL(slot[2], a, c));
    }
    for (unsigned m = inside; m; m &= m - 1) {
        const int l = __builtin_ctz(m);
        float *out = w->s->simplex[L->at[l]];
        for (int j = 0; j < 3; j++) {
            for (int k = 0; k < 3; k++) out[4 * j + k] = vert[3 * k + j][l];
            out[4 * j + 3] = L->dir[9 + j][l];
        }
        for (int side = 0; side < 2; side++) {
            for (int k = 0; k < 3; k++) out[12 + 4 * side + k] = found[side][k][l];
            out[15 + 4 * side] = L->found[side][3][l];
        }
    }
}
#endif

// flush stores the simplex of finished lanes, the newest vertex first, then the two others: their
// directions, and the vertex numbers of hulls. Directions are not stored if both cores are hulls. The
// last evaluation is stored for rows that are not open, where the certificate needs it. With `together`, the lanes hold
// rows that follow one another, and all are finished.
ALWAYS void T(flush)(T(lanes) *L, const T(work) *w, int together) {
    clr_scratch *s = w->s;
    const unsigned finished = LANES & ~(L->active | L->idle);
    const int hull[2] = {IS_HULL(w->ka), IS_HULL(w->kb)}, directions = !hull[0] || !hull[1];
    REAL dir[9][W] __attribute__((aligned(64))), found[2][3][W] __attribute__((aligned(64)));
    if (!finished) return;
    if (!w->boolean) {
        const VM first = MFROM(L->newest[0]), second = MFROM(L->newest[1]),
                 third = MANDN(MFROM(LANES), MOR(first, second));
        for (int j = 0; j < 3 && directions; j++) {
            VF a = LOADU(L->dir[j]), b = LOADU(L->dir[3 + j]), c = LOADU(L->dir[6 + j]);
            STOREU(dir[j], SEL(first, a, SEL(second, b, c)));
            STOREU(dir[3 + j], SEL(second, a, b));
            STOREU(dir[6 + j], SEL(third, a, c));
        }
        for (int side = 0; side < 2; side++) {
            if (!hull[side]) continue;
            VF a = LOADU(L->found[side][0]), b = LOADU(L->found[side][1]), c = LOADU(L->found[side][2]);
            STOREU(found[side][0], SEL(first, a, SEL(second, b, c)));
            STOREU(found[side][1], SEL(second, a, b));
            STOREU(found[side][2], SEL(third, a, c));
        }
#if REAL_BITS == 32
        if (KEEPS_SIMPLEX(w->ka, w->kb) && !w->call->collide)
            flush_simplex(L, w, L->inside & finished, (const VM[3]){first, second, third}, (const REAL(*)[3][W])found);
#endif
    }
    if (together) { // whole columns: loops that the compiler turns into vectors
        const int from = L->at[0];
        for (int j = 0; j < 9 && directions; j++)
            for (int l = 0; l < W; l++) s->more[CLR_SEED + j][from + l] = (double)dir[j][l];
        for (int k = 0; k < 3; k++) {
            for (int l = 0; l < W && hull[0]; l++) s->seed_a[k][from + l] = (int32_t)found[0][k][l];
            for (int l = 0; l < W && hull[1]; l++) s->seed_b[k][from + l] = (int32_t)found[1][k][l];
        }
        for (int l = 0; l < W; l++) s->steps[from + l] = (uint16_t)(int32_t)L->step[l];
    }
    for (unsigned m = together ? finished & (L->inside | L->away) : finished; m; m &= m - 1) {
        const int l = __builtin_ctz(m), i = L->at[l];
        const int state = L->inside >> l & 1 ? CLR_INSIDE : L->away >> l & 1 ? CLR_AWAY : CLR_OPEN;
        if (!w->boolean && s->state[i] == CLR_BAD) continue; // invalid: the row is declined
        s->state[i] = (uint8_t)state;
        if (w->boolean) continue;
        if (!together) s->steps[i] += (uint16_t)L->step[l];
        for (int j = 0; j < 9 && directions && !together; j++) s->more[CLR_SEED + j][i] = (double)dir[j][l];
        for (int k = 0; k < 3 && !together; k++) {
            if (hull[0]) s->seed_a[k][i] = (int32_t)found[0][k][l];
            if (hull[1]) s->seed_b[k][i] = (int32_t)found[1][k][l];
        }
        if (state == CLR_OPEN) {
            if (HAS_HESSIAN(w->ka) && HAS_HESSIAN(w->kb)) // for smooth_pairs.h
                for (int j = 0; j < 3; j++) s->more[CLR_LAST + j][i] = (double)L->x[j][l];
            continue;
        }
        for (int j = 0; j < 3; j++) s->more[CLR_LAST + j][i] = (double)L->dir[9 + j][l];
        if (hull[0]) s->seed_a[3][i] = (int32_t)L->found[0][3][l];
        if (hull[1]) s->seed_b[3][i] = (int32_t)L->found[1][3][l];
    }
    L->idle |= finished;
    L->inside &= ~finished;
    L->away &= ~finished;
}

#undef FIELDS
#undef INPUT

#endif

// Lanes of the GJK loop: what they hold, and how they are filled with rows and emptied. A template, see vec3.h.

#if (REAL_BITS == 32 && !defined(CLR_LANES_32)) || (REAL_BITS == 64 && !defined(CLR_LANES_64))
#if REAL_BITS == 32
#define CLR_LANES_32
#else
#define CLR_LANES_64
#endif

#include "support.h"
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
    REAL dir[12][W];     // directions that they support; the fourth of the last vertex, in the end
    REAL found[2][4][W]; // and, of hulls A and B, which vertices they are
    REAL x[3][W], xx[W];
    REAL step[W];
    REAL limit[W]; // steps that the row may take, of a call that caps them
#if REAL_BITS == 64
    REAL stationary_steps[W]; // steps that did not lower the norm
#endif
    int32_t at[W]; // row of the group
    T(hulls) hull[2];
    unsigned active, idle; // lanes at work, and without a pair
    unsigned inside, away; // lanes that ended so
    unsigned certain;      // lanes where a likely vertex was no progress
    unsigned newest[3];    // slots that hold the newest vertex
#if REAL_BITS == 32
    REAL copy[2][CLR_SMALL_VERTICES][3][W] __attribute__((aligned(64))); // of small hulls
#endif
} __attribute__((aligned(64))) T(lanes);

// What the lanes work on.
typedef struct {
    const clr_call *call;
    clr_scratch *s;
    const int32_t *list; // rows of the group, or null for all
    int next, n;
    int ka, kb;
    int most[2]; // vertices of the largest small hull
    int boolean; // only the proof of a status is wanted, see boolean.h
} T(work);

// KEEPS_SIMPLEX tells whether the float32 loop keeps the tetrahedra of pairs of classes as they are: looking
// up the vertices of large hulls once more would wait for memory.
#define KEEPS_SIMPLEX(ka, kb) (IS_HULL(ka) && IS_HULL(kb) && ((ka) != CLR_SMALL || (kb) != CLR_SMALL))

// Rows in and out of the lanes of the GJK loop: new pairs for lanes that are idle, and what finished
// lanes ended with. A template, see vec3.h.

#if REAL_BITS == 32
#ifdef SPREAD
// next_eight takes up to eight lanes out of put, or the last of them several times, and returns which.
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

// load_cell_values gives the lanes in put the extents and the first cells of their hulls of side `side`; the
// likely cells only where they are used.
ALWAYS void load_cell_values(T(lanes) *L, const T(work) *w, int side, unsigned put) {
    T(hulls) *h = &L->hull[side];
    const float *cell_values = w->call->cell_values;
    const int32_t *shape = side ? w->s->shape_b : w->s->shape_a;
#ifdef SPREAD
    while (put) {
        int lane[8];
        const float *row[8];
        VF v[4];
        const VM m = MFROM(next_eight(&put, lane));
        const __m512i index = SPREAD_INDEX(m);
        for (int i = 0; i < 8; i++) row[i] = cell_values + CLR_CELL_VALUES * (size_t)shape[L->at[lane[i]]];
        SPREAD(v, row, index)
        T(mst3)(h->extent[0], W, m, (V3){v[0], v[1], v[2]});
        MSTORE(h->cells, m, v[3]);
        if (!w->boolean && !w->call->deep) continue;
        for (int i = 0; i < 8; i++) row[i] += 4;
        SPREAD(v, row, index)
        T(mst3)(h->candidate_extent[0], W, m, (V3){v[0], v[1], v[2]});
        MSTORE(h->candidates, m, v[3]);
    }
#else
    for (; put; put &= put - 1) {
        const int l = __builtin_ctz(put);
        const float *row = cell_values + CLR_CELL_VALUES * (size_t)shape[L->at[l]];
        for (int j = 0; j < 3; j++) h->extent[j][l] = row[j], h->candidate_extent[j][l] = row[4 + j];
        memcpy(&h->cells[l], row + 3, sizeof h->cells[l]);
        memcpy(&h->candidates[l], row + 7, sizeof h->candidates[l]);
    }
#endif
}

// copy_hulls copies the vertices of the small hulls of side `side` to the lanes in put. Beyond
// its last vertex there are copies of that.
ALWAYS void T(copy_hulls)(T(lanes) *L, const T(work) *w, int side, unsigned put) {
    const clr_call *c = w->call;
    const float *from[3] = {c->fx, c->fy, c->fz};
    const VF scale = LOADU(L->in[(side ? CLR_PB : CLR_PA) + 3]);
#ifdef SPREAD
    // Eight lanes at a time, as half of a vector is seldom new.
    while (put) {
        int lane[8];
        const VM m = MFROM(next_eight(&put, lane));
        const __m512i index = SPREAD_INDEX(m);
        for (int axis = 0; axis < 3; axis++)
            for (int j = 0; j < w->most[side]; j += 4) {
                const float *row[8];
                VF v[4];
                for (int i = 0; i < 8; i++) row[i] = from[axis] + L->hull[side].first[lane[i]] + j;
                SPREAD(v, row, index)
                for (int i = 0; i < 4; i++) MSTORE(L->copy[side][j + i][axis], m, scale * v[i]);
            }
    }
#else
    const VM m = MFROM(put);
    for (int axis = 0; axis < 3; axis++) {
        const float *row[W];
        for (int l = 0; l < W; l++) row[l] = from[axis] + L->hull[side].first[l];
        for (int j = 0; j < w->most[side]; j += 4) {
            VF v[4];
            ROWS(v, row, 15)
            for (int i = 0; i < 4; i++) MSTORE(L->copy[side][j + i][axis], m, scale * v[i]);
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

// refill gives idle lanes the next pairs.
ALWAYS void T(refill)(T(lanes) *L, T(work) *w) {
    const clr_scratch *s = w->s;
    unsigned put = 0;
    const int from = w->list && w->next < w->n ? w->list[w->next] : w->next;
    int next = from; // as long as the rows follow one another
    for (unsigned m = L->idle; m && w->next < w->n; m &= m - 1) {
        int l = __builtin_ctz(m), i = w->list ? w->list[w->next] : w->next;
        w->next++;
        next += i == next;
        put |= m & -m;
        L->at[l] = i;
        if (w->call->max_steps) L->limit[l] = (REAL)(w->call->max_steps - 1 - s->steps[i]); // the proof takes one
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
    if (w->ka == CLR_SMALL) T(copy_hulls)(L, w, 0, put);
    if (w->kb == CLR_SMALL) T(copy_hulls)(L, w, 1, put);
    if (w->ka == CLR_HULL) load_cell_values(L, w, 0, put);
    if (w->kb == CLR_HULL) load_cell_values(L, w, 1, put);
#endif
    V3 x = T(ld3)(L->in[CLR_X], W);
    T(mst3)(L->x[0], W, m, x);
    MSTORE(L->xx, m, T(dot)(x, x));
    MSTORE(L->step, m, SET1(0));
#if REAL_BITS == 32
    if (w->boolean) { // where any points of D will do
        // The simplex begins with the difference of the centers, which lie in their cores; unless the
        // origin is so near to it that no tetrahedron with that vertex holds a ball.
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
// flush_simplex stores, of two hulls, the tetrahedra of the lanes in `inside` as they are, for depths to
// begin with. slot tells which slots hold the newest, the second and the third vertex.
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

// flush stores what finished lanes ended with: the simplex, the newest vertex first, then the
// two others, by their directions, and of hulls by their numbers. Where these are all that
// is read (both are hulls), directions are not stored. The last vertex is, where a proof needs it.
ALWAYS void T(flush)(T(lanes) *L, const T(work) *w) {
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
    for (unsigned m = finished; m; m &= m - 1) {
        const int l = __builtin_ctz(m), i = L->at[l];
        const int state = L->inside >> l & 1 ? CLR_INSIDE : L->away >> l & 1 ? CLR_AWAY : CLR_OPEN;
        if (!w->boolean && s->state[i] == CLR_BAD) continue; // for the caller to refuse
        s->state[i] = (uint8_t)state;
        if (w->boolean) continue;
        s->steps[i] += (uint16_t)L->step[l];
        for (int j = 0; j < 9 && directions; j++) s->more[CLR_SEED + j][i] = (double)dir[j][l];
        for (int k = 0; k < 3; k++) {
            if (hull[0]) s->seed_a[k][i] = (int32_t)found[0][k][l];
            if (hull[1]) s->seed_b[k][i] = (int32_t)found[1][k][l];
        }
        if (state == CLR_OPEN) {
            if (HAS_HESSIAN(w->ka) && HAS_HESSIAN(w->kb)) // for newton.h
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

// Lanes of the simplex method of the growth query (growth_simplex.h): a lane keeps one row from refill to flush. A
// template, see vec3.h.

#if (REAL_BITS == 32 && !defined(CLR_GROWTH_LANES_32)) || (REAL_BITS == 64 && !defined(CLR_GROWTH_LANES_64))
#if REAL_BITS == 32
#define CLR_GROWTH_LANES_32
#else
#define CLR_GROWTH_LANES_64
#endif

#include "growth_support.h"
#include "lanes.h"
#include <string.h>

typedef struct {
    REAL in[CLR_GROWTH_IN][W];
    REAL vert[9][W]; // the triangle
#if REAL_BITS == 32
    REAL dir[9][W];   // directions of its vertices
    REAL start[3][W]; // of hulls: see growth_starts
#else
    REAL point[2][9][W]; // the points of A and B that make up its vertices, in their frames, balls included
#endif
    REAL found[2][3][W]; // numbers of its vertices, of hulls A and B
    REAL n[3][W];        // unit normal of the triangle, and its support value
    REAL height[W];
    REAL upper[W]; // least upper bound of t, and its direction
    REAL lowest[3][W];
    REAL step[W];
    int32_t at[W]; // row of the group
    T(hulls) hull[2];
    unsigned active, idle; // lanes with an unfinished row; lanes without a row
#if REAL_BITS == 64
    REAL ball[2][W]; // radii
#else
    REAL copy[2][CLR_SMALL_VERTICES][3][W] __attribute__((aligned(64))); // vertices of small hulls
#endif
} __attribute__((aligned(64))) T(growth_lanes);

// growth_rows is the rows of one loop.
typedef struct {
    const clr_call *call;
    clr_scratch *s;
    const int32_t *list; // rows of the group, or null for all
    int next, n;
    int ka, kb;
    int most[2]; // vertices of the largest small hull
} T(growth_rows);

#if REAL_BITS == 32
#define INPUT(s) (s)->growth.in32
#else
#define INPUT(s) (s)->growth.in64
#endif

// load_growth_hulls loads what lanes keep of hulls and of shapes with powers, of one side.
ALWAYS void T(load_growth_hulls)(T(growth_lanes) *L, const T(growth_rows) *w, int side, unsigned put) {
    const int k = side ? w->kb : w->ka;
    const int32_t *shape = side ? w->s->shape_b : w->s->shape_a;
    T(hulls) *h = &L->hull[side];
    if (!IN_LANES(k)) return;
#if REAL_BITS == 32
    if (k == CLR_HULL) {
        load_cell_values(h, w->call->cell_values, shape, L->at, put, 0);
        return;
    }
    for (unsigned m = put; m; m &= m - 1) {
        const int l = __builtin_ctz(m);
        T(put_hull)(h, l, w->call->shapes + shape[L->at[l]], k);
    }
    if (k == CLR_SMALL)
        T(copy_hulls)(L->copy[side], h, w->call, LOADU(L->in[(side ? CLR_PB : CLR_PA) + 3]), w->most[side], put);
#else
    for (unsigned m = put; m; m &= m - 1) {
        const int l = __builtin_ctz(m);
        T(set_hull)(h, l, w->call->shapes + shape[L->at[l]], k);
    }
#endif
}

#if REAL_BITS == 32
// start_direction is number j, 0 to 2, of three unit vectors about (x, y, 1): each is the third value of `start` off
// it, in units of the z axis.
ALWAYS V3 start_direction(const float start[3][W], VF j) {
    const VF one = SET1(1), zero = SET1(0), high = SET1(0.8660254f), tilt = LOADU(start[2]);
    const VM first = LT(j, SET1(0.5f)), second = LT(j, SET1(1.5f));
    const VF x = FMA(tilt, SEL(first, one, SET1(-0.5f)), LOADU(start[0]));
    const VF y = FMA(tilt, SEL(first, zero, SEL(second, high, -high)), LOADU(start[1]));
    const VF r = RSQRT(FMA(x, x, FMA(y, y, one)));
    return (V3){x * r, y * r, r};
}

// greatest is the greatest coordinate of three points along n.
ALWAYS VF greatest(V3 n, const V3 v[3]) { return MAX(MAX(T(dot)(n, v[0]), T(dot)(n, v[1])), T(dot)(n, v[2])); }
#endif

// refill_growth gives idle lanes the next rows: in float32 with a triangle in the ball of the inradii, in float64
// with that of growth_certify.h.
ALWAYS void T(refill_growth)(T(growth_lanes) *L, T(growth_rows) *w) {
    const clr_scratch *s = w->s;
    unsigned put = 0;
    const int from = w->list && w->next < w->n ? w->list[w->next] : w->next;
    int next = from; // grows while the rows are consecutive
    for (unsigned m = L->idle; m && w->next < w->n; m &= m - 1) {
        const int l = __builtin_ctz(m), i = w->list ? w->list[w->next] : w->next;
        w->next++;
        next += i == next;
        put |= m & -m;
        L->at[l] = i;
    }
    if (!put) return;
    L->idle &= ~put;
    L->active |= put;
    const VM m = MFROM(put);
#ifdef EXPAND
    if (next - from == __builtin_popcount(put)) {
        for (int k = 0; k < CLR_GROWTH_IN; k++) STOREU(L->in[k], EXPAND(LOADU(L->in[k]), m, LOADU(&INPUT(s)[k][from])));
    } else
#endif
    {
        (void)next;
        for (unsigned p = put; p; p &= p - 1) {
            const int l = __builtin_ctz(p), i = L->at[l];
            for (int k = 0; k < CLR_GROWTH_IN; k++) L->in[k][l] = INPUT(s)[k][i];
        }
    }
    T(load_growth_hulls)(L, w, 0, put);
    T(load_growth_hulls)(L, w, 1, put);
    const VF zero = SET1(0), one = SET1(1);
    MSTORE(L->step, m, zero);
    MSTORE(L->upper, m, SET1((REAL)1e30));
#if REAL_BITS == 32
    const VF r = LOADU(L->in[CLR_INRADIUS]), half = SET1(-0.5f), high = SET1(0.8660254f);
    const V3 corner[3] = {{one, zero, zero}, {half, high, zero}, {half, -high, zero}}, up = {zero, zero, one};
    for (int j = 0; j < 3; j++) {
        T(mst3)(L->vert[3 * j], W, m, T(scale)(r, corner[j]));
        T(mst3)(L->dir[3 * j], W, m, corner[j]);
        MSTORE(L->found[0][j], m, zero);
        MSTORE(L->found[1][j], m, zero);
    }
    T(mst3)(L->n[0], W, m, up);
    MSTORE(L->height, m, zero);
    if (w->ka == CLR_HULL && w->kb == CLR_HULL) {
        for (unsigned p = put; p; p &= p - 1) {
            const int l = __builtin_ctz(p), i = L->at[l];
            for (int j = 0; j < 3; j++) L->start[j][l] = s->growth.facing[j][i];
        }
        const V3 n = start_direction(L->start, zero);
        T(mst3)(L->n[0], W, m, n);
        MSTORE(L->height, m, r * greatest(n, corner));
    }
#else
    (void)zero, (void)one;
    for (unsigned p = put; p; p &= p - 1) {
        const int l = __builtin_ctz(p), i = L->at[l];
        for (int j = 0; j < 9; j++) {
            L->point[0][j][l] = s->growth.in64[CLR_POINTS_A + j][i];
            L->point[1][j][l] = s->growth.in64[CLR_POINTS_B + j][i];
        }
        for (int j = 0; j < 3; j++) L->found[0][j][l] = s->seed_a[j][i], L->found[1][j][l] = s->seed_b[j][i];
        L->ball[0][l] = s->more[CLR_RA][i];
        L->ball[1][l] = s->more[CLR_RB][i];
    }
    const T(places) at = {.in = L->in[0], .stride = W};
    V3 v[3];
    for (int j = 0; j < 3; j++) {
        v[j] = T(ray_difference)(&at, T(ld3)(L->point[0][3 * j], W), T(ld3)(L->point[1][3 * j], W));
        T(mst3)(L->vert[3 * j], W, m, v[j]);
    }
    const V3 n = T(triangle_normal)(v);
    T(mst3)(L->n[0], W, m, n);
    MSTORE(L->height, m, T(dot)(n, v[0]));
    L->active &= ~put | MBITS(LT(SET1(TINY), n.z));
#endif
}

// flush_growth stores, of finished lanes, the directions of the vertices in float32, their points in float64, and the
// numbers of those of hulls.
ALWAYS void T(flush_growth)(T(growth_lanes) *L, const T(growth_rows) *w) {
    clr_scratch *s = w->s;
    const unsigned finished = LANES & ~(L->active | L->idle);
    for (unsigned m = finished; m; m &= m - 1) {
        const int l = __builtin_ctz(m), i = L->at[l];
        s->steps[i] += (uint16_t)L->step[l];
#if REAL_BITS == 32
        for (int j = 0; j < 9; j++) s->growth.facing[j][i] = L->dir[j][l];
#else
        for (int j = 0; j < 9; j++) {
            s->growth.in64[CLR_POINTS_A + j][i] = L->point[0][j][l];
            s->growth.in64[CLR_POINTS_B + j][i] = L->point[1][j][l];
        }
#endif
        for (int j = 0; j < 3; j++) {
            s->growth.in64[CLR_LOWEST + j][i] = (double)L->lowest[j][l];
            if (IS_HULL(w->ka)) s->seed_a[j][i] = (int32_t)L->found[0][j][l];
            if (IS_HULL(w->kb)) s->seed_b[j][i] = (int32_t)L->found[1][j][l];
        }
    }
    L->idle |= finished;
}

#undef INPUT

#endif

// The simplex method of [Growth, Alg. 1–3] for the growth query: one pair per lane, lanes refilled as they finish. A
// template, see vec3.h.
//
// The frame is the frame of the ray (growth_input.h). Invariant: the three vertices are points of D, and the z axis
// meets their triangle, which is seen from above counterclockwise. So the axis meets it at a lower bound of the
// distance t at which the ray leaves D, and every support plane with n.z > 0 cuts the axis at an upper bound [Growth,
// eq. 13, 14]. The first triangle lies in the ball of the inradii [Growth, eq. 17].
//
// A step evaluates the support point s of D along the normal n of the triangle. It lies above the triangle and
// replaces a vertex: the axis meets the triangle of s and two vertices j, k if and only if −s lies between them, seen
// from above. That is the ratio test [Growth, eq. 26], from signs of 2×2 determinants alone, and so without the
// ill-conditioned inverse of the basis.
//
// Two hulls start with three directions around the normal of the sum of two ellipsoids with their extents, at the point
// where the ray leaves that sum (growth_starts). The support points along them are vertices near the ray, in most rows
// on different sides of it. The normals of the first triangles, which still have vertices of the small initial one,
// would point elsewhere. During these three steps s is compared with the vertices instead of the plane of the triangle.
//
// With the support value v = ⟨n, s⟩, the support value h = ⟨n, v₀⟩ of the triangle with a vertex v₀, and z = n.z:
//
//	t ≤ upper = min over all steps of v/z,  t ≥ lower = h/z
//
// A lane ends if lower ≥ upper·(1 − CLR_GROWTH_GAP), if v − h ≤ CLR_RISE, if a bound passes a
// threshold (CLR_BELOW, CLR_ABOVE), or if the triangle is too thin to have a normal. In float32 it stores the
// directions of which the vertices are support points, the vertices of hulls by number, and the direction of the least
// upper bound; growth_certify.h evaluates these in float64. A direction with z = 0 is a point of the ball of the
// inradii. In float64 it stores the points of A and B that make up the vertices.
//
// A lane's arithmetic depends on its own row only.

#if (REAL_BITS == 32 && !defined(CLR_GROWTH_SIMPLEX_32)) || (REAL_BITS == 64 && !defined(CLR_GROWTH_SIMPLEX_64))
#if REAL_BITS == 32
#define CLR_GROWTH_SIMPLEX_32
#else
#define CLR_GROWTH_SIMPLEX_64
#endif

#include "growth_input.h"
#include "../pairs/lanes.h"
#include <stddef.h>
#include <string.h>

// The lanes: a lane keeps one row from refill to flush.

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

// load_growth_hulls loads the hulls of one side, or the exponents of shapes with powers, into the lanes.
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
// with the triangle that growth_certify.h stored.
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

// flush_growth stores the triangles of finished lanes: in float32 the directions of its vertices, in float64 their
// points of A and B, and the numbers of vertices of hulls.
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

// The steps.

#define BLOCKS 2
#define REFILL (W / 4 > 0 ? W / 4 : 1)

#if REAL_BITS == 32
#define STARTS 3
#define STEEPEST 1e3f // directions closer to the plane across the ray are no start
#define MAX_STEPS 64  // a float32 loop that needs more has stalled: float64 continues
#else
#define MAX_STEPS 200
#endif

#if REAL_BITS == 32
// growth_starts writes the input of start_direction for rows 0 to n−1 of two hulls, in columns that are written again
// when the lanes of these rows end. The tilt is about the distance of neighbouring vertices of a hull of a vertices,
// some 2/√a of its width.
static __attribute__((noinline)) void growth_starts(const clr_call *c, clr_scratch *s, int n) {
    for (int k = 0; k < n; k += W) {
        const float *in = &s->growth.in32[0][k];
        const T(stretched) a = T(load_stretched)(in, CLR_STRIDE32, 0), b = T(load_stretched)(in, CLR_STRIDE32, 1);
        const T(newton_iterate) p = T(majorant_start)(&a, &b, LOADU(in + CLR_BALL * CLR_STRIDE32));
        const VM sound = LT(MAX(p.x, -p.x) + MAX(p.y, -p.y), SET1(STEEPEST));
        float vertices[W] = {0};
        for (int l = 0; l < W && k + l < n; l++)
            vertices[l] = (float)(c->shapes[s->shape_a[k + l]].count + c->shapes[s->shape_b[k + l]].count);
        STOREU(&s->growth.facing[0][k], SEL(sound, p.x, SET1(0)));
        STOREU(&s->growth.facing[1][k], SEL(sound, p.y, SET1(0)));
        STOREU(&s->growth.facing[2][k], SQRT(SET1(8) / MAX(LOADU(vertices), SET1(1))));
    }
}
#endif

// growth_step takes one step in all lanes.
ALWAYS void T(growth_step)(T(growth_lanes) *L, T(places) *at, int ka, int kb) {
    const VF zero = SET1(0), one = SET1(1);
    const REAL *in = &L->in[0][0];
    const VM active = MFROM(L->active);
    const V3 n = T(ld3)(L->n[0], W);
    VF found[2] = {zero, zero};
    V3 a, b, da, db;
    at->lanes = L->active;
    const V3 s = T(ray_support)(at, ka, kb, n, &a, &b, &da, &db, found);
#if REAL_BITS == 64
    a = T(axpy)(LOADU(L->ball[0]), da, a);
    b = T(axpy)(LOADU(L->ball[1]), db, b);
#endif
    const VF value = T(dot)(n, s), cut = value * RCP(n.z);
    VF upper = LOADU(L->upper);
    const VM less = MAND(active, LT(cut, upper));
    upper = SEL(less, cut, upper);
    MSTORE(L->upper, less, cut);
    T(mst3)(L->lowest[0], W, less, n);

    // The vertex that s replaces.
    V3 v[3] = {T(ld3)(L->vert[0], W), T(ld3)(L->vert[3], W), T(ld3)(L->vert[6], W)};
    VF c[3];
    for (int j = 0; j < 3; j++) c[j] = FNMA(s.y, v[j].x, s.x * v[j].y);
    VM put[3], none = MAND(active, LT(LOADU(in + CLR_RISE * W), value - LOADU(L->height)));
    for (int j = 0; j < 3; j++) {
        put[j] = MAND(none, MAND(LE(zero, c[(j + 1) % 3]), LE(c[(j + 2) % 3], zero)));
        none = MANDN(none, put[j]);
        v[j] = T(sel)(put[j], s, v[j]);
        T(mst3)(L->vert[3 * j], W, put[j], s);
#if REAL_BITS == 32
        T(mst3)(L->dir[3 * j], W, put[j], n);
#else
        T(mst3)(L->point[0][3 * j], W, put[j], a);
        T(mst3)(L->point[1][3 * j], W, put[j], b);
#endif
        if (IS_HULL(ka)) MSTORE(L->found[0][j], put[j], found[0]);
        if (IS_HULL(kb)) MSTORE(L->found[1][j], put[j], found[1]);
    }
    VM moved = MOR(put[0], MOR(put[1], put[2]));

    const V3 normal = T(triangle_normal)(v);
    const VF height = T(dot)(normal, v[0]), lower = height * RCP(normal.z);
    const VF step = SEL(active, LOADU(L->step) + one, LOADU(L->step));
#if REAL_BITS == 32
    const int starts = ka == CLR_HULL && kb == CLR_HULL ? STARTS : 0;
    if (starts) moved = MOR(moved, MAND(active, LT(step, SET1(STARTS + 0.5f))));
#endif
    T(mst3)(L->n[0], W, moved, normal);
    MSTORE(L->height, moved, height);
#if REAL_BITS == 32
    if (starts) {
        const VM more = MAND(active, LT(step, SET1(STARTS - 0.5f)));
        const V3 other = start_direction(L->start, step);
        T(mst3)(L->n[0], W, more, other);
        MSTORE(L->height, more, greatest(other, v));
    }
#endif
    const VF gap = LOADU(in + CLR_GROWTH_GAP * W);
    const VM more = MAND(LT(lower, FNMA(gap, upper, upper)),
                         MAND(LT(LOADU(in + CLR_BELOW * W), upper), LT(lower, LOADU(in + CLR_ABOVE * W))));
    STOREU(L->step, step);
    L->active = MBITS(MAND(MAND(moved, LT(SET1(TINY), normal.z)), MAND(more, LT(step, SET1(MAX_STEPS - (REAL)0.5)))));
}

// growth_loop runs rows list[0..n) of the group, or 0..n−1 if list is null.
ALWAYS void T(growth_loop)(const clr_call *call, clr_scratch *s, const int32_t *list, int n, int ka, int kb) {
    T(growth_lanes) lanes[BLOCKS];
    T(places) at[BLOCKS];
    T(growth_rows) rows = {call, s, list, 0, n, ka, kb, {0, 0}};
#if REAL_BITS == 32 // copies are written before they are read
    for (int k = 0; k < BLOCKS; k++) memset(&lanes[k], 0, offsetof(T(growth_lanes), copy));
#else
    memset(lanes, 0, sizeof lanes);
#endif
    if (ka == CLR_SMALL || kb == CLR_SMALL)
        for (int k = 0; k < n; k++) {
            const int i = list ? list[k] : k;
            const int32_t a = call->shapes[s->shape_a[i]].count, b = call->shapes[s->shape_b[i]].count;
            if (a > rows.most[0]) rows.most[0] = a;
            if (b > rows.most[1]) rows.most[1] = b;
        }
    for (int k = 0; k < BLOCKS; k++) {
        T(growth_lanes) *L = &lanes[k];
        L->idle = LANES;
        at[k] = (T(places)){.call = call, .in = &L->in[0][0], .stride = W, .hull = {&L->hull[0], &L->hull[1]}};
#if REAL_BITS == 32
        for (int side = 0; side < 2; side++) {
            at[k].copy[side] = (const REAL(*)[3][W])L->copy[side];
            at[k].copied[side] = rows.most[side];
        }
#endif
    }
    int64_t steps = 0, busy = 0;
    FLUSH_BEGIN;
    for (unsigned more = 1; more;) {
        more = 0;
        for (int k = 0; k < BLOCKS; k++) {
            T(growth_lanes) *L = &lanes[k];
            if (__builtin_popcount(L->active) <= (rows.next < n ? W - REFILL : 0)) {
                T(flush_growth)(L, &rows);
                T(refill_growth)(L, &rows);
            }
            if (!L->active) continue;
            more = 1;
            steps++;
            busy += __builtin_popcount(L->active);
            T(growth_step)(L, &at[k], ka, kb);
        }
    }
    FLUSH_END;
#if REAL_BITS == 32
    s->rows32 += n;
    s->steps32 += steps;
    s->lanes32 += busy;
#else
    s->rows64 += n;
    s->steps64 += steps;
    s->lanes64 += busy;
#endif
}

// growth_search is growth_loop with the support functions of the commonest pairs of classes inlined.
static __attribute__((noinline)) void T(growth_search)(const clr_call *call, clr_scratch *s, const int32_t *list, int n,
                                                       int ka, int kb) {
#if REAL_BITS == 32
    if (SPECIAL(ka, kb, CLR_BOX)) T(growth_loop)(call, s, list, n, CLR_BOX, CLR_BOX);
    else if (SPECIAL(ka, kb, CLR_SMALL)) T(growth_loop)(call, s, list, n, CLR_SMALL, CLR_SMALL);
    else if (SPECIAL(ka, kb, CLR_HULL)) T(growth_loop)(call, s, list, n, CLR_HULL, CLR_HULL);
    else if (SPECIAL(ka, kb, CLR_FRUSTUM)) T(growth_loop)(call, s, list, n, CLR_FRUSTUM, CLR_FRUSTUM);
    else T(growth_loop)(call, s, list, n, ka, kb);
#else
    if (SPECIAL(ka, kb, CLR_FRUSTUM)) T(growth_loop)(call, s, list, n, CLR_FRUSTUM, CLR_FRUSTUM);
    else T(growth_loop)(call, s, list, n, ka, kb);
#endif
}

#undef MAX_STEPS
#undef STARTS
#undef STEEPEST
#undef REFILL
#undef BLOCKS

#endif

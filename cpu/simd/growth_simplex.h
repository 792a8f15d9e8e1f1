// The simplex method of [Growth, Alg. 1–3] for the growth query: one pair per lane, lanes refilled as they finish. A
// template, see vec3.h.
//
// The frame is that of the ray (growth_input.h). Invariant: the three vertices are points of D, and the z axis meets
// their triangle, which is seen from above counterclockwise. So the axis meets it at a lower bound of
// the distance t at which the ray leaves D, and every support plane with n.z > 0 cuts the axis at an upper bound
// [Growth, eq. 13, 14]. The first triangle lies in the ball of the inradii [Growth, eq. 17].
//
// A step evaluates the support point s of D along the normal n of the triangle. It lies above the triangle and
// replaces a vertex: the axis meets the triangle of s and two vertices j, k if and only if −s lies between them, seen
// from above. That is the ratio test [Growth, eq. 26], from signs of 2×2 determinants alone, and so without the
// ill-conditioned inverse of the basis.
//
// Two hulls start with three directions about that in which the ray leaves the sum of two ellipsoids with their extents
// (growth_starts). The support points are vertices near the ray, on different sides of it in most rows, where the
// normal of a triangle with vertices of the first one, which is small, points elsewhere. Until then s is compared with
// the vertices instead of the plane of the triangle.
//
// A lane ends if the bounds are close, if s lies no higher than rounding above the triangle, if a bound passes a
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

#include "growth_lanes.h"
#include <stddef.h>
#include <string.h>

#define BLOCKS 2
#define REFILL (W / 4 > 0 ? W / 4 : 1)

#if REAL_BITS == 32
#include "growth_dual.h"
#define STARTS 3
#define STEEPEST 1e3f // directions closer to the plane across the ray are no start
#define MAX_STEPS 64  // a float32 loop that needs more has stalled: float64 continues
#else
#define MAX_STEPS 200
#endif

#if REAL_BITS == 32
// growth_starts writes what start_direction needs for rows 0 to n−1 of two hulls, in columns that are written again
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
    else if (SPECIAL(ka, kb, CLR_ROUND)) T(growth_loop)(call, s, list, n, CLR_ROUND, CLR_ROUND);
    else T(growth_loop)(call, s, list, n, ka, kb);
#else
    if (SPECIAL(ka, kb, CLR_ROUND)) T(growth_loop)(call, s, list, n, CLR_ROUND, CLR_ROUND);
    else T(growth_loop)(call, s, list, n, ka, kb);
#endif
}

#undef MAX_STEPS
#undef STARTS
#undef STEEPEST
#undef REFILL
#undef BLOCKS

#endif

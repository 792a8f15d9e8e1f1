// The GJK loop [Gilbert1988; Montaut2022, Alg. 1–4]: one pair per lane, lanes refilled as they finish.
// A template, see vec3.h.
//
// Invariant: the vertices of the simplex are support points of D, and x is its point closest to the origin. A step
// evaluates the support point w of D along −x:
//
//	⟨x, w⟩/|x| ≤ distance of the cores ≤ |x|
//
// and projects the origin onto the simplex with w, which gives the next x. A lane ends if
//
//	close       |x| − ⟨x, w⟩/|x| ≤ CLR_STOP
//	far         ⟨x, w⟩/|x| > CLR_FAR
//	near        |x| < CLR_NEAR
//	inside      the simplex contains the origin
//	stationary  the next x is not shorter
//
// In float32 the frame is that of A, scaled to the pair (input.h), and the start an initial direction; in float64 the
// loop continues from a simplex. certify.h evaluates the last simplex again and proves the bounds: nothing here is
// trusted. Only the status of Boolean rows is proved here, see boolean.h.
//
// A lane's arithmetic depends on its own row only: not on the other lanes, nor on when it was filled.
//
// The operations of a step depend on one another. So BLOCKS vectors are interleaved, with their state in memory, and
// the processor executes their steps in parallel.

#if (REAL_BITS == 32 && !defined(CLR_GJK_32)) || (REAL_BITS == 64 && !defined(CLR_GJK_64))
#if REAL_BITS == 32
#define CLR_GJK_32
#else
#define CLR_GJK_64
#endif

#include "lanes.h"
#include "simplex.h"
#include "../shape/support.h"
#include <stddef.h>
#include <string.h>

#define BLOCKS 2

// Refill a vector once a quarter of its lanes is finished: the cost hardly depends on how many lanes
// are refilled.
#define REFILL (W / 4 > 0 ? W / 4 : 1)

#if REAL_BITS == 32
#define MAX_STEPS 64 // a float32 loop that needs more has stalled: float64 continues
#else
#define MAX_STEPS 200
#define MAX_STATIONARY_STEPS 12
#endif

// sum_of is the closest point as a convex combination of the vertices.
ALWAYS V3 T(sum_of)(const T(nearest) *p, V3 w, V3 b, V3 c, V3 d) {
    return T(axpy)(p->weight[2], T(sub)(d, w),
                   T(axpy)(p->weight[1], T(sub)(c, w), T(axpy)(p->weight[0], T(sub)(b, w), w)));
}

// combined is the same where the weights are not known.
static __attribute__((noinline)) V3 T(combined)(V3 w, V3 b, V3 c, V3 d) {
    const T(nearest) p = T(project)(w, b, c, d, 1);
    return T(sum_of)(&p, w, b, c, d);
}

#if REAL_BITS == 32
// A Boolean query separates along no x that is shorter than 20 u. The cores are then at most 20 + 108 u apart, as x is
// a convex combination of points of D (boolean.h), which is at most ρ. Along a longer x, TINY takes at most a quarter
// of its root, 2.5e-16, from the support value of a core along x, which is less than 0.01 u along x/|x|. Along an x
// that is a difference of nearly equal numbers, it moves support points deep into their cores, whose planes separate
// nothing.
#define SHORTEST_SEPARATING_SQUARED ((20 * 0x1p-24f) * (20 * 0x1p-24f))

// status_rounding is the rounding bound of a Boolean query that ends at the duality gap stop.
ALWAYS VF status_rounding(VF stop) { return SET1((REAL)(1 / STATUS_STOP)) * stop; }
#endif

// step takes one step of GJK in all lanes. `taken` are the steps that all of them have taken, ANY_STEPS where that is
// not known.
ALWAYS void T(step)(T(lanes) *L, const T(work) *w0, T(places) *at, int ka, int kb, int boolean, int how, int taken) {
    const VF one = SET1(1);
    const int hulls = IS_HULL(ka) && IS_HULL(kb); // mostly without radii; only these need weights
    // Any points of D can prove an intersection. So of large hulls candidate vertices are used, and
    // support vertices only where they end the row, or, for depths, after a candidate that brought no
    // progress. Distances need support vertices too often.
    const int use_candidate = REAL_BITS == 32 && how == CANDIDATES && (ka == CLR_HULL || kb == CLR_HULL);
    const REAL *in = at->in;
    const int stride = at->stride;
    VM active = MFROM(L->active);
    V3 x = T(ld3)(L->x[0], W);
    VF xx = LOADU(L->xx), step = LOADU(L->step);
    VF r = RSQRT(MAX(xx, SET1(TINY))), length = xx * r;
    V3 a;
    VF found[2] = {one, one};
    at->lanes = L->active;
    V3 w = T(support_or_candidate)(at, ka, kb, x, r, &a, boolean ? 0 : found, how);
#if REAL_BITS == 32
    const VM empty = taken == 0 ? MFROM(LANES)
                     : taken != ANY_STEPS
                         ? MFROM(0)
                         : LT(step, SET1((REAL)0.5)); // x is an initial direction, the simplex is empty
#else
    VM empty = LT(one, SET1(0));
#endif
    VF bound = T(dot)(x, w) * r;
    if (use_candidate) {
        const VM last = MAND(active, MOR(MFROM(boolean ? 0 : L->certain),
                                         MOR(MANDN(LE(length - bound, LOADU(in + CLR_STOP * stride)), empty),
                                             LT(LOADU(in + CLR_FAR * stride), bound))));
        if (MBITS(last)) {
            at->lanes = MBITS(last);
            VF other[2] = {one, one};
            w = T(sel)(last, T(support)(at, ka, kb, x, r, &a, boolean ? 0 : other), w);
            for (int side = 0; side < 2 && !boolean; side++) found[side] = SEL(last, other[side], found[side]);
            bound = T(dot)(x, w) * r;
        }
    }
    step = SEL(active, step + one, step);
    // The lane is done if the dual bound is close enough to |x|, or far enough, or x proves an
    // intersection.
    VM close = MANDN(LE(length - bound, LOADU(in + CLR_STOP * stride)), empty);
    VM far = LT(LOADU(in + CLR_FAR * stride), bound);
#if REAL_BITS == 32
    if (boolean) far = MAND(far, LE(SET1(SHORTEST_SEPARATING_SQUARED), xx));
#endif
    if (!boolean && !w0->call->collide) far = MANDN(far, empty);
    VM done = MAND(active, MOR(close, far));
    if (!boolean) done = MOR(done, MANDN(MAND(active, LT(length, LOADU(in + CLR_NEAR * stride))), empty));
    L->away |= MBITS(MAND(active, far));
    active = MANDN(active, done);
    // A separating plane excludes that the origin is inside, whatever rounding says of the simplex.
    VM disjoint = LT(LOADU(in + CLR_SUPPORT_ROUNDING * stride), bound);

    V3 b = T(ld3)(L->vert[0], W), c = T(ld3)(L->vert[3], W), d = T(ld3)(L->vert[6], W);
    const int weighted = REAL_BITS == 64 || (boolean && !hulls);
    const T(nearest) p = T(project_after)(w, b, c, d, weighted, taken);
    V3 nx = T(sel)(empty, w, p.x);
#if REAL_BITS == 64
    if (w0->call->tolerance < FINE_TOLERANCE && has_flats(ka, kb)) {
        V3 sum = T(sum_of)(&p, w, b, c, d);
        V3 first = T(sel)(p.keep_b, b, T(sel)(p.keep_c, c, T(sel)(p.keep_d, d, w)));
        V3 second = T(sel)(p.keep_d, d, T(sel)(p.keep_c, c, first));
        nx = orthogonal_direction(w, first, second, sum, p.x);
    }
#endif
    VF nxx = T(dot)(nx, nx);
    VM inside = MANDN(MAND(p.inside, active), MOR(disjoint, empty));
    if (boolean) {
        const VF near = LOADU(in + CLR_NEAR * stride);
        VM penetrating = MAND(LT(SET1(0), near), active);
        if (hulls) penetrating = MAND(penetrating, LT(nxx, near * near));
        if (!hulls || MBITS(penetrating)) {
            // x as a convex combination of vertices: a point of D, whatever the errors of the weights.
            V3 sum = hulls ? T(combined)(w, b, c, d) : T(sum_of)(&p, w, b, c, d);
            sum = T(sel)(empty, w, sum);
            penetrating = MAND(penetrating, LT(T(dot)(sum, sum), near * near));
        }
#if REAL_BITS == 32
        const VF rounding = status_rounding(LOADU(in + CLR_STOP * stride));
        penetrating = MOR(penetrating, MAND(inside, LT(LOOSE_VOLUME(rounding) * p.longest_squared, p.least_volume)));
        const VM uncertain = MANDN(inside, penetrating);
        if (MBITS(uncertain)) penetrating = MOR(penetrating, MAND(uncertain, contains(w, b, c, d, rounding)));
#endif
        L->inside |= MBITS(penetrating);
        inside = MOR(inside, penetrating);
    } else {
        L->inside |= MBITS(inside);
    }
    // A step that does not lower the norm is not taken, and ends the lane.
    VM lower = MOR(empty, LT(nxx, xx));
#if REAL_BITS == 64
    // A tilt of x by δ changes the norm by δ², which vanishes below 1e-8, and the dual bound along a
    // flat face by δ. So a few stationary steps are taken as well, unless the vertex is an old one:
    // see ref/descent.go.
    VF stationary_steps = LOADU(L->stationary_steps);
    VM old = MOR(MOR(T(same)(w, b), T(same)(w, c)), T(same)(w, d));
    VM stationary = MANDN(MAND(LE(nxx, xx * SET1(1 + 16 * 0x1p-52)), LT(stationary_steps, SET1(MAX_STATIONARY_STEPS))),
                          MOR(lower, old));
    STOREU(L->stationary_steps, SEL(stationary, stationary_steps + one, stationary_steps));
    lower = MOR(lower, stationary);
#endif
    VM better = MANDN(MAND(active, lower), inside), again = MANDN(active, MOR(better, inside));
    again = MANDN(again, MFROM(use_candidate && !boolean ? L->certain : LANES));
    L->certain = MBITS(again);
    VM put[3] = {MANDN(better, MANDN(p.keep_b, empty)), MANDN(better, MANDN(p.keep_c, empty)),
                 MANDN(better, MANDN(p.keep_d, empty))};
    VM last = MOR(done, inside);
    unsigned moved = MBITS(better);
    for (int k = 0; k < 3; k++) {
        T(mst3)(L->vert[3 * k], W, put[k], w);
        if (boolean) continue;
        if (!hulls) T(st3)(L->dir[3 * k], W, T(sel)(put[k], x, T(ld3)(L->dir[3 * k], W)));
        L->newest[k] = (L->newest[k] & ~moved) | MBITS(put[k]);
    }
    if (!boolean)
        T(mst3)(L->dir[9], W, last,
                KEEPS_SIMPLEX(ka, kb) && REAL_BITS == 32 && !w0->call->collide ? w : x); // see flush
    for (int side = 0; side < 2; side++) {
        if (boolean || !IS_HULL(side ? kb : ka)) continue;
        for (int k = 0; k < 3; k++) MSTORE(L->found[side][k], put[k], found[side]);
        MSTORE(L->found[side][3], last, found[side]);
    }
    T(mst3)(L->x[0], W, better, nx);
    MSTORE(L->xx, better, nxx);
    STOREU(L->step, step);
    VF limit = SET1(MAX_STEPS);
    if (w0->call->max_steps) limit = MIN(limit, LOADU(L->limit));
    L->active = MBITS(MAND(MOR(better, again), LT(step, limit - SET1((REAL)0.5))));
}

// gjk_loop runs rows list[0..n) of the group, or 0..n−1 if list is null. If `any` is set, candidate
// vertices of large hulls are used until they end a row.
ALWAYS void T(gjk_loop)(const clr_call *call, clr_scratch *s, const int32_t *list, int n, int ka, int kb, int boolean,
                        int any) {
    T(lanes) lanes[BLOCKS];
    T(places) at[BLOCKS];
    T(work) w = {call, s, list, 0, n, ka, kb, {0, 0}, boolean};
#if REAL_BITS == 32 // copies are written before they are read
    for (int k = 0; k < BLOCKS; k++) memset(&lanes[k], 0, offsetof(T(lanes), copy));
#else
    memset(lanes, 0, sizeof lanes);
#endif
    if (ka == CLR_SMALL || kb == CLR_SMALL)
        for (int k = 0; k < n; k++) {
            int i = list ? list[k] : k;
            int32_t a = call->shapes[s->shape_a[i]].count, b = call->shapes[s->shape_b[i]].count;
            if (a > w.most[0]) w.most[0] = a;
            if (b > w.most[1]) w.most[1] = b;
        }
    for (int k = 0; k < BLOCKS; k++) {
        T(lanes) *L = &lanes[k];
        L->idle = LANES;
        at[k] = (T(places)){.call = call, .in = &L->in[0][0], .stride = W, .hull = {&L->hull[0], &L->hull[1]}};
#if REAL_BITS == 32
        for (int side = 0; side < 2; side++) {
            at[k].copy[side] = (const REAL(*)[3][W])L->copy[side];
            at[k].copied[side] = w.most[side];
        }
#endif
    }
    int64_t steps = 0, busy = 0;
    FLUSH_BEGIN;
    for (unsigned more = 1; more;) {
        more = 0;
        for (int k = 0; k < BLOCKS; k++) {
            T(lanes) *L = &lanes[k];
            if (__builtin_popcount(L->active) <= (w.next < n ? W - REFILL : 0)) {
                T(flush)(L, &w, 0);
                T(refill)(L, &w);
            }
            if (!L->active) continue;
            more = 1;
            steps++;
            busy += __builtin_popcount(L->active);
            T(step)(L, &w, &at[k], ka, kb, boolean, any, ANY_STEPS);
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

// gjk is gjk_loop with the support functions of the commonest pairs of classes inlined, which saves a
// tenth of the time.
#define GJK_PAIRS(boolean)                                                                                            \
    if (SPECIAL(ka, kb, CLR_BOX)) T(gjk_loop)(call, s, list, n, CLR_BOX, CLR_BOX, boolean, 0);                        \
    else if (SPECIAL(ka, kb, CLR_ELLIPSOID)) T(gjk_loop)(call, s, list, n, CLR_ELLIPSOID, CLR_ELLIPSOID, boolean, 0); \
    else if (SPECIAL(ka, kb, CLR_SMALL)) T(gjk_loop)(call, s, list, n, CLR_SMALL, CLR_SMALL, boolean, 0);             \
    else if (SPECIAL(ka, kb, CLR_HULL) && (boolean || call->penetration))                                             \
        T(gjk_loop)(call, s, list, n, CLR_HULL, CLR_HULL, boolean, 1);                                                \
    else if (SPECIAL(ka, kb, CLR_HULL)) T(gjk_loop)(call, s, list, n, CLR_HULL, CLR_HULL, 0, 0);                      \
    else if (SPECIAL(ka, kb, CLR_FRUSTUM)) T(gjk_loop)(call, s, list, n, CLR_FRUSTUM, CLR_FRUSTUM, boolean, 0);       \
    else T(gjk_loop)(call, s, list, n, ka, kb, boolean, boolean || call->penetration);

static __attribute__((noinline)) void T(gjk)(const clr_call *call, clr_scratch *s, const int32_t *list, int n, int ka,
                                             int kb) {
#if REAL_BITS == 32
    GJK_PAIRS(0)
#else
    if (SPECIAL(ka, kb, CLR_ELLIPSOID)) T(gjk_loop)(call, s, list, n, CLR_ELLIPSOID, CLR_ELLIPSOID, 0, 0);
    else if (SPECIAL(ka, kb, CLR_FRUSTUM)) T(gjk_loop)(call, s, list, n, CLR_FRUSTUM, CLR_FRUSTUM, 0, 0);
    else T(gjk_loop)(call, s, list, n, ka, kb, 0, 0);
#endif
}

#if REAL_BITS == 32
// gjk_boolean is the same for the Boolean query, see boolean.h.
static __attribute__((noinline)) void gjk_boolean(const clr_call *call, clr_scratch *s, int n, int ka, int kb) {
    const int32_t *list = 0;
    GJK_PAIRS(1)
}
#endif
#undef GJK_PAIRS

#undef MAX_STEPS
#undef MAX_STATIONARY_STEPS
#undef REFILL
#undef BLOCKS

#endif

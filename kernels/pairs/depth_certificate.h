// The depth certificate: proves that a local minimum of h_D (depth_minimum.h) is the penetration depth. For pairs of
// cores with rims and for smooth cores.
//
//	cap      h_D ≥ L for all directions within atan(t) of the minimum n
//	cover    min key(f) ≥ L + e over the faces f of a float32 polytope with vertices on D and, as one more
//	         vertex, the apex n·L√(1 + t²); epa_float32.h has key and e
//	lower = L,  upper = h_D(n)
//
//  1. Around the minimum n, a cap certificate proves h_D ≥ L over a cap of size t.
//  2. A polytope in float32 covers all other directions. It has one vertex that is no point of D, the apex
//     a = n·L√(1 + t²). Once the ball of radius L lies inside the polytope, every direction has a vertex with a support
//     value of at least L. If that vertex is the apex, the direction is within acos(L/|a|) = atan(t) of n, that is, in
//     the cap; otherwise it is a point of D. So h_D ≥ L in all directions. EPA takes about 21 steps for a pair of
//     cylinders or cones, most of them near the closest point of D, two for every digit. That point is under the apex
//     here, and about four steps remain.
//  3. A direction with a smaller support value starts the search again, up to MAX_MINIMA times.
//
// Float32 is sufficient by the proof in epa_float32.h: no face of an enclosing surface is closer to the origin than the
// least key, less VERTEX32_ERROR. The apex is at a distance of less than 2.7 from the origin, where ⟨n, a⟩ is computed
// to 22 u; its own rounding error is none, since the apex is defined as the rounded point. The minimum, its bounds and
// its witnesses are in float64.
//
// Input: the penetrating rows of a group. Output: s->minima, with the state CLR_MINIMUM_GLOBAL for a proved minimum and
// CLR_MINIMUM_EXPANDED for a row that epa.h answered. Rows without a cap, whose polytope is full or flat to rounding,
// or that need more than MAX_MINIMA searches go to epa.h here (expand_rest); those that it declines are the caller's.

#ifndef CLR_DEPTH_CERTIFICATE_H
#define CLR_DEPTH_CERTIFICATE_H

#include "../isa/real32.h"
#include "epa_float32.h"

// known_minima are the minima of s->minima for the rows in the lanes.
typedef struct {
    float apex[3][W], low[W], refuted_below[W], error[W];
} known_minima;

#define ROOT3 1.7320508f

// start_cover starts the polytopes with the support points of the minimum and of three directions tilted from it. It is
// used where GJK ended with the origin on the boundary of its simplex, as for shapes on one axis.
static __attribute__((noinline)) unsigned start_cover(T(lanes) *L, polytope32 *q, T(places) *at, const known_minima *to,
                                                      unsigned lanes, int ka, int kb) {
    static const float tilt[3][2] = {{0.8f, 0.6f},
                                     {-0.4f - 0.3f * ROOT3, 0.4f * ROOT3 - 0.3f},
                                     {-0.4f + 0.3f * ROOT3, -0.4f * ROOT3 - 0.3f}}; // 120° apart
    vertices32 v[4];
    V3 n = T(ld3)(to->apex[0], W), e, f, a;
    const V3 none = {SET1(0), SET1(0), SET1(0)};
    const VF one = SET1(1);
    n = T(scale)(RSQRT(MAX(T(dot)(n, n), SET1(POLYTOPE32_TINY))), n);
    T(across)(n, &e, &f);
    at->lanes = lanes;
    for (int j = 0; j < 4; j++) {
        V3 d = n;
        if (j < 3) d = T(axpy)(SET1(tilt[j][0]), e, T(axpy)(SET1(tilt[j][1]), f, T(scale)(SET1(-0.35f), n)));
        d = T(scale)(RSQRT(T(dot)(d, d)), d);
        v[j] = (vertices32){T(support)(at, ka, kb, T(neg)(d), one, &a, 0), {none, none}, {one, one}};
    }
    STOREU(L->step, LOADU(L->step) + SEL(MFROM(lanes), SET1(4), SET1(0)));
    return start_tetrahedra(q, at, v, lanes, ka, kb);
}

// add_apices adds the apex to each polytope of `lanes` that does not contain it. It returns the lanes in which the keys
// of the tetrahedron exceed the rounding bound.
static __attribute__((noinline)) unsigned add_apices(polytope32 *q, unsigned lanes, const known_minima *to) {
    unsigned taken = 0;
    for (unsigned m = lanes; m; m &= m - 1) {
        const int l = __builtin_ctz(m);
        const float x = to->apex[0][l], y = to->apex[1][l], z = to->apex[2][l];
        polytope32 *p = q + l;
        float most = to->error[l] / 16;
        p->nearest = -1; // the face that the apex is farthest beyond
        for (int f = 0; f < 4; f++) {
            if (!(p->key[f] > to->error[l])) lanes &= ~(m & -m);
            const float above = p->nx[f] * x + p->ny[f] * y + p->nz[f] * z - p->key[f];
            p->nearest = above > most ? f : p->nearest;
            most = above > most ? above : most;
        }
        if (!(lanes & m & -m) || p->nearest < 0) continue;
        put_point(p, x, y, z);
        taken |= m & -m;
    }
    return taken ? (lanes & ~taken) | expand_polytopes32(q, taken) : lanes;
}

// step_cover takes a step in all active lanes. Lanes that end in L->inside are covered: all keys are at least low. In
// the lanes of *lower the cover is refuted: h_D(n) is smaller than the minimum.
ALWAYS void step_cover(T(lanes) *L, polytope32 *q, T(places) *at, const known_minima *to, unsigned *lower,
                       float n[3][W], int ka, int kb) {
    float nearest_key[W] __attribute__((aligned(64))) = {0}, vertex[3][W] __attribute__((aligned(64)));
    const VF one = SET1(1), error = LOADU(to->error);
    for (unsigned m = L->active; m; m &= m - 1) {
        const int l = __builtin_ctz(m);
        find_nearest32(q + l);
        const int f = q[l].nearest;
        n[0][l] = q[l].nx[f], n[1][l] = q[l].ny[f], n[2][l] = q[l].nz[f], nearest_key[l] = q[l].nearest_key;
    }
    const VF key = LOADU(nearest_key);
    const VM sound = LT(error, key);
    const unsigned all = MBITS(MAND(sound, LE(LOADU(to->low) + error, key)));
    L->inside |= L->active & all;
    L->active &= ~all & MBITS(sound);
    if (!L->active) return;
    V3 d = T(ld3)(n[0], W), a;
    at->lanes = L->active;
    V3 w = T(support)(at, ka, kb, T(neg)(d), one, &a, 0);
    VF h = T(dot)(d, w);
    STOREU(L->step, LOADU(L->step) + SEL(MFROM(L->active), one, SET1(0)));
    const unsigned refuted = L->active & MBITS(LT(h + error, LOADU(to->refuted_below)));
    *lower |= refuted;
    L->active &= ~refuted & MBITS(LT(FMA(SET1(1.0f / 16), error, key), h));
    T(st3)(vertex[0], W, w);
    for (unsigned m = L->active; m; m &= m - 1) {
        const int l = __builtin_ctz(m);
        if (q[l].vertices == POLYTOPE32_VERTICES) L->active &= ~(1u << l);
        else put_point(q + l, vertex[0][l], vertex[1][l], vertex[2][l]);
    }
    if (L->active) L->active = expand_polytopes32(q, L->active);
}

ALWAYS void cover_pairs(const clr_call *call, clr_scratch *s, const int32_t *list, int n, int ka, int kb) {
    clr_minima *minima = &s->minima;
    polytope32 *q = polytopes32_in(s);
    T(lanes) L;
    T(work) w = {call, s, list, 0, n, ka, kb, {0, 0}, 0};
    T(places) at = {.call = call, .in = &L.in[0][0], .stride = W, .hull = {&L.hull[0], &L.hull[1]}};
    known_minima to;
    float along[3][W] __attribute__((aligned(64))) = {{0}};
    unsigned lower = 0;
    memset(&L, 0, sizeof L);
    memset(&to, 0, sizeof to);
    L.idle = LANES;
    FLUSH_BEGIN;
    for (;;) {
        if (__builtin_popcount(L.active) <= (w.next < n ? W / 4 : 0)) {
            for (unsigned m = LANES & ~(L.active | L.idle); m; m &= m - 1) {
                const int l = __builtin_ctz(m), i = L.at[l];
                s->steps[i] += (uint16_t)L.step[l];
                minima->state[i] = L.inside >> l & 1 && is_closed(q + l) ? CLR_MINIMUM_GLOBAL
                                   : lower >> l & 1                      ? CLR_MINIMUM_AGAIN
                                                                         : CLR_MINIMUM_NONE;
                if (!(lower >> l & 1)) continue;
                minima->tied[i] = 0;
                for (int j = 0; j < 3; j++) minima->answer[3 + j][i] = (double)along[j][l];
            }
            L.idle = LANES & ~L.active;
            L.inside = lower = 0;
            const unsigned before = L.active;
            T(refill)(&L, &w);
            if (!L.active) break;
            at.lanes = L.active & ~before;
            for (unsigned m = at.lanes; m; m &= m - 1) {
                const int l = __builtin_ctz(m), i = L.at[l];
                for (int j = 0; j < 3; j++) to.apex[j][l] = minima->apex[j][i];
                to.low[l] = minima->low[i], to.refuted_below[l] = minima->refuted_below[i];
            }
            STOREU(to.error, vertex_errors32(at.hull, ka, kb));
            if (at.lanes) {
                const unsigned refilled = at.lanes;
                unsigned certain = start_polytopes32(&L, q, &at, &w, refilled);
                if (refilled & ~certain) certain |= start_cover(&L, q, &at, &to, refilled & ~certain, ka, kb);
                L.active = before | add_apices(q, certain, &to);
            }
        }
        if (L.active) step_cover(&L, q, &at, &to, &lower, along, ka, kb);
    }
    FLUSH_END;
}

// cover_minima sets the states of the local minima of n listed rows: proved, refuted or unproved.
static __attribute__((noinline)) void cover_minima(const clr_call *call, clr_scratch *s, const int32_t *list, int n,
                                                   int ka, int kb) {
    if (ka == CLR_FRUSTUM && kb == CLR_FRUSTUM) cover_pairs(call, s, list, n, CLR_FRUSTUM, CLR_FRUSTUM);
    else cover_pairs(call, s, list, n, ka, kb);
}

// The rest of this header is float64.
#include "../isa/real64.h"
#include "depth_minimum.h"
#include "epa.h"

// The number of searches of a row. Each search takes all listed rows together: those of one row that needs more would
// hold up the others, and EPA takes it. The shaders have the same limit; ref, where no other row waits, has 6.
#define MAX_MINIMA 4

// expand_rest answers n listed rows by EPA in float64.
static void expand_rest(const clr_call *c, clr_scratch *s, const int32_t *list, int n, int ka, int kb) {
    for (int k = 0; k < n; k += W) {
        depth_rows rows;
        depth_of d[W];
        pick_rows(c, s, list + k, n - k, ka, kb, &rows);
        T(places) at = places_of(c, &rows);
        const VF rounding = LOADU(rows.rounding), stop = depth_stop(c, 1, LOADU(rows.tol), rounding);
        for (unsigned m = expand_rows(c, s, rows.row, rows.lanes, &at, ka, kb, rounding, stop, d); m; m &= m - 1) {
            const int l = __builtin_ctz(m), i = rows.row[l];
            s->minima.state[i] = CLR_MINIMUM_EXPANDED;
            put_depth(&s->minima.answer[0][i], CLR_STRIDE64, d + l);
        }
    }
}

// search_applies reports whether a local minimum of row k is searched: not where RTR takes too many steps.
ALWAYS int search_applies(const clr_call *c, const clr_scratch *s, int k) {
    return !c->automatic ||
           (faster_by_rtr(c->shapes + s->shape_a[k], 1) && faster_by_rtr(c->shapes + s->shape_b[k], 1));
}

// certify_depths answers the penetrating rows among n rows of the group in s->minima, if the pair of classes has depth
// certificates. Other rows are the caller's, and all rows under an iteration limit.
static __attribute__((noinline)) void certify_depths(const clr_call *c, clr_scratch *s, int n, int ka, int kb) {
    int32_t list[CLR_GROUP_ROWS];
    int listed = 0;
    const int rims = ka == CLR_FRUSTUM && kb == CLR_FRUSTUM;
    uint8_t *state = s->minima.state;
    if (!HAS_DEPTH_CERTIFICATE(ka, kb) || c->collide) return;
    for (int k = 0; k < n; k++) {
        state[k] = CLR_MINIMUM_NONE;
        if (s->state[k] == CLR_INSIDE && !c->max_steps && (rims || (c->rtr && search_applies(c, s, k))))
            list[listed++] = k;
    }
    memset(state + n, CLR_MINIMUM_NONE, CLR_STRIDE32 - (size_t)n);
    for (int search = 0; search < MAX_MINIMA && listed > 0; search++) {
        int local = 0, again = 0;
        if (rims) search_rim_minima(c, s, list, listed, search == 0);
        else search_smooth_minima(c, s, list, listed, search == 0, ka, kb);
        for (int i = 0; i < listed; i++)
            if (state[list[i]] == CLR_MINIMUM_LOCAL) s->list[local++] = list[i];
        if (local > 0) cover_minima(c, s, s->list, local, ka, kb);
        for (int i = 0; i < listed; i++)
            if (state[list[i]] == CLR_MINIMUM_AGAIN) list[again++] = list[i];
        listed = again;
    }
    listed = 0;
    for (int k = 0; k < n; k++)
        if (s->state[k] == CLR_INSIDE && !c->max_steps && state[k] != CLR_MINIMUM_GLOBAL) list[listed++] = k;
    if (listed > 0) expand_rest(c, s, list, listed, ka, kb);
}

#endif

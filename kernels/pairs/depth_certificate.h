// The depth certificate: proves that a local minimum of h_D is the penetration depth. For pairs of
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

#include "epa_float32.h"
#include "../isa/real32.h" // after a header of float64

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
#include "depth_rims.h"
#include "../shape/hessian.h"
#include "trust_region.h"
#include "store.h"
#include "epa.h"
#include "../shape/support.h"
#include <string.h>

// Local minima of h_D over the unit sphere, and caps around them. Float64; W rows
// of a list at a time.
//
// Cores of revolution with two rims: sequential quadratic programming and cap certificates of depth_rims.h. Smooth
// cores: the Riemannian trust region method [RTR] (trust_region.h), and cap certificates from Hessian bounds
// (hessian.h).
//
// With h = h_D(n), the remaining gradient g of h_D at n and the rounding bound ρ, over a cap of size t:
//
//	smooth cores  low = h − (|g| + rounding of g)·t − 4ρ
//	rims          low = h − |g|·t − (deficit of the multipliers) − 4ρ        (depth_rims.h)
//	accepted iff h − low ≤ stop, |witnesses − h·n| ≤ stop, low > ρ and t > 0
//
// Input: the listed rows; the first search starts from directions of its own (rims) or from the direction that GJK
// began with (smooth cores), a later one from the direction in s->minima in which D has a smaller support value.
// Output in s->minima, if a local minimum n with a cap of size t was found: its bounds, normal and witnesses; a number
// low with h_D ≥ low over the cap; and the apex n·low·√(1 + t²), both rounded to float32 in units of the span. The row
// is declined to epa.h (CLR_MINIMUM_NONE) if its bounds or its witnesses do not meet the tolerance, or no cap is
// proved. If the search did not end in a local minimum, it goes on from where it stopped (CLR_MINIMUM_AGAIN).

// The apex belongs to a cap with t² smaller by this factor. Its rounding to float32 tilts it by 2⁻²³ and widens its cap
// by 2⁻²³/t; caps have sizes of at least 0.01.
#define APEX_SHARE 0.98

// depth_rows are W rows of a list, one per lane.
typedef struct {
    double in[CLR_STOP][W] __attribute__((aligned(64)));
    double rounding[W] __attribute__((aligned(64))), tol[W] __attribute__((aligned(64))),
        span[W] __attribute__((aligned(64)));
    T(hulls) hull[2];
    int32_t row[W]; // lanes beyond the end of the list have its last row
    unsigned lanes;
} depth_rows;

ALWAYS void pick_rows(const clr_call *c, const clr_scratch *s, const int32_t *list, int n, int ka, int kb,
                      depth_rows *r) {
    int32_t *row = r->row;
    r->lanes = n < W ? (1u << n) - 1 : LANES;
    for (int l = 0; l < W; l++) row[l] = list[l < n ? l : n - 1];
    memset(r->hull, 0, sizeof r->hull);
    for (int j = 0; j < CLR_STOP; j++)
        for (int l = 0; l < W; l++) r->in[j][l] = s->in64[j][row[l]];
    for (int l = 0; l < W; l++) {
        r->rounding[l] = s->more[CLR_ROUNDING][row[l]];
        r->tol[l] = s->more[CLR_TOL][row[l]];
        r->span[l] = s->more[CLR_SPAN][row[l]];
        T(put_hull)(&r->hull[0], l, c->shapes + s->shape_a[row[l]], ka);
        T(put_hull)(&r->hull[1], l, c->shapes + s->shape_b[row[l]], kb);
    }
}

// places_of returns the columns of the rows for the support functions.
ALWAYS T(places) places_of(const clr_call *c, const depth_rows *r) {
    return (T(places)){.call = c, .in = r->in[0], .stride = W, .hull = {&r->hull[0], &r->hull[1]}, .lanes = r->lanes};
}

// store_minima stores the results of a vector of rows in s->minima. Rows in `minimal` are at a local minimum, with
// h_D ≥ d.low over a cap of size t. tied has the lanes with an active kink of either core, from which another search
// would start.
ALWAYS void store_minima(clr_scratch *s, const depth_rows *r, unsigned minimal, lane_depths d, VF t, VF stop,
                         const unsigned tied[2], const int steps[W]) {
    clr_minima *out = &s->minima;
    const VF one = SET1(1), unit = one / LOADU(r->span), support_value = unit * d.low;
    double v[12][W] __attribute__((aligned(64))), w[5][W] __attribute__((aligned(64)));
    const VM good = MAND(MAND(LE(d.high - d.low, stop), LE(d.off, stop)),
                         MAND(MAND(LT(SET1(0), t), d.ok), MAND(LT(LOADU(r->rounding), d.low), is_unit(d.n))));
    const unsigned local = minimal & MBITS(good);
    store_depths(v, d);
    T(st3)(w[0], W, T(scale)(support_value * SQRT(FMA(SET1(APEX_SHARE) * t, t, one)), d.n));
    STOREU(w[3], support_value);
    STOREU(w[4], unit * (d.high - stop));
    for (unsigned m = r->lanes; m; m &= m - 1) {
        const int l = __builtin_ctz(m), i = r->row[l];
        s->steps[i] += (uint16_t)steps[l];
        out->state[i] = local >> l & 1 ? CLR_MINIMUM_LOCAL : minimal >> l & 1 ? CLR_MINIMUM_NONE : CLR_MINIMUM_AGAIN;
        out->tied[i] = (uint8_t)((tied[0] >> l & 1) | (tied[1] >> l & 1) << 1);
        for (int j = 0; j < 12; j++) out->answer[j][i] = v[j][l];
        for (int j = 0; j < 3; j++) out->apex[j][i] = (float)w[j][l];
        out->low[i] = (float)w[3][l], out->refuted_below[i] = (float)w[4][l];
    }
}

// search_rim_minima searches local minima and caps of n listed rows of cores with two rims: with `first` from
// rim_starts, otherwise from the directions in s->minima.
static __attribute__((noinline)) void search_rim_minima(const clr_call *c, clr_scratch *s, const int32_t *list, int n,
                                                        int first) {
    const clr_minima *from = &s->minima;
    const VF one = SET1(1), zero = SET1(0);
    for (int k = 0; k < n; k += W) {
        depth_rows rows;
        rim_place q;
        VM tied[2];
        int steps[W] = {0};
        pick_rows(c, s, list + k, n - k, CLR_FRUSTUM, CLR_FRUSTUM, &rows);
        const T(places) at = places_of(c, &rows);
        const rim_pair r = rims_at(&at);
        const VF rounding = LOADU(rows.rounding), stop = depth_stop(c, 1, LOADU(rows.tol), rounding);
        if (first) q.n = rim_starts(&r, q.face, tied);
        else {
            unsigned both[2] = {0, 0};
            double normal[3][W] __attribute__((aligned(64)));
            for (int l = 0; l < W; l++) {
                for (int i = 0; i < 2; i++) both[i] |= (unsigned)(from->tied[rows.row[l]] >> i & 1) << l;
                for (int j = 0; j < 3; j++) normal[j][l] = from->answer[3 + j][rows.row[l]];
            }
            q.n = T(ld3)(normal[0], W);
            for (int i = 0; i < 2; i++) q.face[i] = LT(one, zero), tied[i] = MFROM(both[i]);
        }
        const unsigned minimal = find_rims(&r, &q, rows.lanes, tied, SET1(0.125) * stop, steps);
        VF off = SQRT(flat_dot(q.gradient, q.gradient)), inside[2] = {q.r[0] - off, q.r[1] - off};
        VF times, t = cap_size(&r, &q, inside, &times), curvature = SEL(MOR(q.face[0], q.face[1]), zero, off);
        VF high = T(dot)(q.n, pair_vertices(&at, CLR_FRUSTUM, CLR_FRUSTUM, q.n, rows.lanes).w);
        VF low = FNMA(curvature, t, FNMA(times, q.deficit, q.h)) - SET1(4) * rounding;
        // The witnesses: on circles between the rims, or on an end opposite the point of the other core.
        V3 part[2], across = T(axpy)(q.gradient.x, q.e, T(scale)(q.gradient.y, q.f));
        for (int i = 0; i < 2; i++) {
            const V3 axis = r.core[i].axis,
                     lateral = T(axpy)(-T(dot)(q.lateral[i], axis), axis, q.lateral[i]); // its error is rounding over q
            V3 point = T(axpy)(q.sigma[i] * r.core[i].half, axis, T(scale)(q.r[i], lateral));
            part[i] = T(sel)(q.face[i], T(sub)(point, across), point);
        }
        V3 near = T(sub)(T(add)(part[0], part[1]), r.origin), side = T(axpy)(-high, q.n, near);
        const lane_depths d = {high, low, SQRT(T(dot)(side, side)), q.n, part[0], near, LT(zero, high)};
        store_minima(s, &rows, minimal, d, t, stop, (const unsigned[2]){MBITS(tied[0]), MBITS(tied[1])}, steps);
    }
}

// search_smooth_minima searches local minima and caps of n listed rows of smooth cores: with `first` from the direction
// that GJK began with, otherwise from the directions in s->minima.
static __attribute__((noinline)) void search_smooth_minima(const clr_call *c, clr_scratch *s, const int32_t *list,
                                                           int n, int first, int ka, int kb) {
    const VF zero = SET1(0), one = SET1(1);
    for (int k = 0; k < n; k++) {
        const int i = list[k];
        const double rounding = s->more[CLR_ROUNDING][i],
                     gap = c->curved_depth / c->tolerance * s->more[CLR_TOL][i] - 2 * rounding;
        for (int j = 0; j < 3; j++)
            s->in64[CLR_X + j][i] = first ? (double)s->in32[CLR_X + j][i] : -s->minima.answer[3 + j][i];
        s->in64[CLR_STOP][i] = 0.25 * (gap > rounding ? gap : rounding);
        s->in64[CLR_SUPPORT_ROUNDING][i] = rounding;
        s->in64[CLR_FAR][i] = INFINITY;
    }
    rtr_loop(c, s, list, n, ka, kb);
    for (int k = 0; k < n; k += W) {
        depth_rows rows;
        double from[3][W] __attribute__((aligned(64)));
        const int steps[W] = {0}; // rtr_flush has counted them
        pick_rows(c, s, list + k, n - k, ka, kb, &rows);
        const T(places) at = places_of(c, &rows);
        const VF rounding = LOADU(rows.rounding), stop = depth_stop(c, 1, LOADU(rows.tol), rounding);
        for (int j = 0; j < 3; j++)
            for (int l = 0; l < W; l++) from[j][l] = -s->in64[CLR_X + j][rows.row[l]];
        V3 x = T(ld3)(from[0], W), e, f, a;
        x = T(scale)(one / SQRT(MAX(T(dot)(x, x), SET1(TINY))), x);
        T(across)(x, &e, &f);
        const V3 w = T(support)(&at, ka, kb, T(neg)(x), one, &a, 0);
        VF h = T(dot)(x, w);
        const V3 side = T(axpy)(-h, x, w);
        const double *m = at.in + CLR_ROT * W;
        const curvature_data b[2] = {curvature_at(&at, ka, 0, x, e, f),
                                     curvature_at(&at, kb, 1, T(neg)(T(rotate_back)(m, W, x)), T(rotate_back)(m, W, e),
                                                  T(rotate_back)(m, W, f))};
        const VF off = SQRT(T(dot)(side, side)), t = widest_cap(&at, ka, kb, b, MAX(h, rounding));
        const VF gradient_rounding = SET1(16 * 0x1p-53) * (b[0].sharp + b[1].sharp) * LOADU(rows.span);
        const lane_depths d = {h, FNMA(off + gradient_rounding, t, h) - SET1(4) * rounding, off, x, a, w, LT(zero, h)};
        store_minima(s, &rows, rows.lanes, d, t, stop, (const unsigned[2]){0, 0}, steps);
    }
}

// The certificate, in float64.

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

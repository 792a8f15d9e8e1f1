// The float32 polytope: nearly all steps of EPA [VanDenBergen2001] for pairs of polytopes, in float32.
//
// In the frame of gjk.h, where no length is above 1, with u = 2⁻²⁴:
//
//	key(f) = min ⟨n, w⟩ over the three vertices w of face f, n its unit normal
//	e      = VERTEX32_ERROR = 64 u, more where cores have powers (vertex_errors32)
//	every face of the polytope has key(f) > e  ⇒  depth ≥ min key − e
//
// Input: rows whose cores intersect, with the simplices that GJK ended with. Output: for each row the faces that may be
// nearest, by their vertices, and a lower bound of the keys of the others. proof below recomputes only those
// faces in float64. A row is declined to epa.h if its initial tetrahedron is not proved to contain the origin, if a key
// is not above VERTEX32_ERROR, if the polytope is full, or if more than CLR_FOUND faces may be nearest.
//
// Rounding bound. In the frame of gjk.h, where no length is above 1, let u = 2⁻²⁴. A computed vertex w differs from a
// point v of D by at most 44 u: points of both cores to 10 u, whatever the rounding of the direction that they
// support; the rotation of B to 3 u, applied to 6 u; the translation to 2 u; two sums to 3 u: 24 u, and 20 u to spare.
// ⟨n, w⟩ is computed to 8 u, n of length 1 to 8 u. So ⟨n, v⟩ along the unit vector n differs from the computed number
// by less than VERTEX32_ERROR = 64 u. Where float64 replaces v by another point of D, that point is within the same
// bound of w (checked), and the points v below are those.
//
// The polytope is enclosing. The surface S starts as the four faces of a tetrahedron that contains the origin: for each
// face a, b, c, ⟨a, b × c⟩ is positive by more than its error. Vertices with an error of e change it by up to
// e(|a × b| + |b × c| + |c × a|) + 4 e², and rounding by 8 u|a||b||c|. A step removes a set of faces f that are visible
// from the new point v', and adds the fan from v' to the horizon of the set: the edges that belong to an odd number of
// its faces. As chains modulo 2, both surfaces differ by the boundary of the tetrahedra (f, v'). If ⟨n, ·⟩ is positive
// at all three corners of f and at v' for some n, the origin is in none of them, and S winds around it an odd number of
// times if it did before. So it does to the end, if no face ever had a key below VERTEX32_ERROR; and the ball around
// the origin with the least key as its radius touches no face, hence is wound around as a whole an odd number of times,
// and is part of the convex hull of the points v, and of D. Flat or wrongly oriented faces do no harm. The horizon is
// found in epa_float32_surface.h.

#ifndef CLR_EPA_FLOAT32_H
#define CLR_EPA_FLOAT32_H

#include "../isa/real32.h"
#include "epa_float32_surface.h"
#include "lanes.h"
#include "gjk.h"
#include "../isa/elementary.h"
#include "../shape/support.h"
#include <string.h>

// vertex_errors32 is VERTEX32_ERROR for the cores of the lanes. Of its 64 u, 20 u are no error of a vertex, 34 u belong
// to operations other than the support functions of the cores, and 10 u to these. Support points that are computed with
// powers have greater errors (boolean.h): 39 u for superquadrics; ((κ + 1)(n/4 + 8) + 20·ln n/β + 40) u for smooth
// shapes of n points and sharpness β, with κ = n^(1/β). The sizes of both cores add up to 1 at most.
_Static_assert(VERTEX32_UNITS - POLYTOPE32_SPREAD_UNITS == 10 + 3 + 6 + 2 + 3 + 20, "the derivation above");
_Static_assert(POLYTOPE32_SPREAD_UNITS >= 8 + 8, "the derivation above");
ALWAYS VF vertex_errors32(const T(hulls) *const hull[2], int ka, int kb) {
    VF more = SET1(HAS_POWERS(ka) || HAS_POWERS(kb) ? 32 : 0);
    for (int side = 0; side < 2; side++) {
        const int k = side ? kb : ka;
        if (!HAS_POWERS(k) || !HAS_VERTICES(k)) continue;
        float n[W] __attribute__((aligned(64)));
        for (int l = 0; l < W; l++) n[l] = (float)hull[side]->count[l];
        const VF points = MAX(LOADU(n), SET1(1)), log = LOADU(hull[side]->power[T(ROOT)]) * T(log2)(points),
                 one = SET1(1);
        more = MAX(more, FMA(T(exp2)(log - SET1(16)) * SET1(65536) + one, FMA(SET1(0.25f), points, SET1(8)),
                             FMA(SET1(14), log, SET1(40)))); // ln is 0.7 log2
    }
    return FMA(more, SET1(0x1p-24f), SET1((REAL)VERTEX32_ERROR));
}

// numbered returns the vertices with these numbers of the hulls of side `side`, of class k, in `lanes`.
ALWAYS V3 numbered(const T(lanes) *L, const T(work) *w, unsigned lanes, int side, int k, const float number[W]) {
    V3 out;
    if (k == CLR_SMALL) { // the lanes have copies
        const VF found = LOADU(number);
        out = T(ld3)(L->copy[side][0][0], W);
        for (int i = 1; i < w->most[side]; i++)
            out = T(sel)(LE(SET1((REAL)i), found), T(ld3)(L->copy[side][i][0], W), out);
        return out;
    }
    const clr_call *c = w->call;
    const int32_t *shape = side ? w->s->shape_b : w->s->shape_a;
    float p[3][W] __attribute__((aligned(64))) = {{0}};
    for (unsigned m = lanes; m; m &= m - 1) {
        const int l = __builtin_ctz(m), first = c->shapes[shape[L->at[l]]].first;
        const float *v = c->points + 4 * (size_t)(first - c->scanned + (int)number[l]);
        for (int j = 0; j < 3; j++) p[j][l] = v[j];
    }
    return T(scale)(LOADU(L->in[(side ? CLR_PB : CLR_PA) + 3]), T(ld3)(p[0], W));
}

// initial_vertices32 returns vertex j of the simplices that GJK ended with.
ALWAYS vertices32 initial_vertices32(const T(lanes) *L, const T(places) *at, const T(work) *w, unsigned lanes, int j,
                                     const float number[2][W]) {
    const int hull[2] = {IS_HULL(w->ka), IS_HULL(w->kb)};
    const REAL *m = at->in + CLR_ROT * W;
    V3 x = {SET1(0), SET1(0), SET1(0)}, y = x;
    if (!hull[0] || !hull[1]) {
        float d[3][W] __attribute__((aligned(64))) = {{0}};
        for (unsigned k = lanes; k; k &= k - 1)
            for (int i = 0; i < 3; i++)
                d[i][__builtin_ctz(k)] = (float)w->s->more[CLR_SEED + 3 * j + i][L->at[__builtin_ctz(k)]];
        x = T(ld3)(d[0], W), y = T(rotate_back)(m, W, x);
    }
    vertices32 out = {.d = {x, y}, .number = {LOADU(number[0]), LOADU(number[1])}};
    VF r = RSQRT(MAX(T(dot)(x, x), SET1(POLYTOPE32_TINY)));
    V3 a = hull[0] ? numbered(L, w, lanes, 0, w->ka, number[0]) : T(side_support)(at, w->ka, 0, T(neg)(x), r, 0);
    V3 b = hull[1] ? numbered(L, w, lanes, 1, w->kb, number[1]) : T(side_support)(at, w->kb, 1, y, r, 0);
    out.w = T(sub)(a, T(add)(T(rotate)(m, W, b), T(ld3)(at->in + CLR_TRANS * W, W)));
    return out;
}

// hull_vertices32 reads the simplices of pairs of hulls as GJK stored them.
ALWAYS void hull_vertices32(const T(lanes) *L, const T(work) *w, vertices32 out[4]) {
    const float *row[W];
    VF column[CLR_SIMPLEX];
    const V3 none = {SET1(0), SET1(0), SET1(0)};
    for (int l = 0; l < W; l++) row[l] = w->s->simplex[L->at[l]];
    for (int k = 0; k < CLR_SIMPLEX; k += 4) {
        ROWS(column + k, row, 15)
        for (int l = 0; l < W; l++) row[l] += 4;
    }
    for (int j = 0; j < 4; j++)
        out[j] =
            (vertices32){{column[j], column[4 + j], column[8 + j]}, {none, none}, {column[12 + j], column[16 + j]}};
}

// start_tetrahedra starts the polytopes of `lanes` with tetrahedra. It returns the lanes whose tetrahedra are proved to
// contain the origin.
static __attribute__((noinline)) unsigned start_tetrahedra(polytope32 *q, const T(places) *at, vertices32 v[4],
                                                           unsigned lanes, int ka, int kb) {
    planes32 p[4];
    V3 e1 = T(sub)(v[1].w, v[0].w), e2 = T(sub)(v[2].w, v[0].w), e3 = T(sub)(v[3].w, v[0].w);
    VM flipped =
        LT(T(dot)(T(cross)(e1, e2), e3), SET1(0)); // swap vertices 1 and 2, so that the fourth is above 0, 1, 2
    const vertices32 v1 = v[1];
    v[1] = select_vertices32(flipped, v[2], v1);
    v[2] = select_vertices32(flipped, v1, v[2]);
    VM certain = LE(e1.x, e1.x);
    const VF off = vertex_errors32(at->hull, ka, kb);
    for (int f = 0; f < 4; f++) {
        V3 a = v[tetrahedron[f][0]].w, b = v[tetrahedron[f][1]].w, c = v[tetrahedron[f][2]].w, ab = T(cross)(a, b),
           bc = T(cross)(b, c), ca = T(cross)(c, a);
        VF areas =
            SQRT(SET1(3) * (T(dot)(ab, ab) + T(dot)(bc, bc) + T(dot)(ca, ca))); // at least the sum of the three norms
        VF error = FMA(SET1(8 * 0x1p-24f), SQRT(T(dot)(a, a) * T(dot)(b, b) * T(dot)(c, c)), off * areas);
        certain = MAND(certain, LT(error + SET1(4) * off * off, T(dot)(a, bc)));
        p[f] = planes32_of(a, b, c);
    }
    put_tetrahedra(q, lanes, v, p, ka, kb);
    return lanes & MBITS(certain);
}

// start_polytopes32 starts the polytopes with the simplices that GJK ended with.
static __attribute__((noinline)) unsigned start_polytopes32(const T(lanes) *L, polytope32 *q, const T(places) *at,
                                                            const T(work) *w, unsigned lanes) {
    vertices32 v[4];
    float number[4][2][W] __attribute__((aligned(64))) = {{{0}}}; // numbers of the vertices of hulls
    for (unsigned m = KEEPS_SIMPLEX(w->ka, w->kb) ? 0 : lanes; m; m &= m - 1) {
        const int l = __builtin_ctz(m), i = L->at[l];
        for (int j = 0; j < 4; j++) {
            if (IS_HULL(w->ka)) number[j][0][l] = (float)w->s->seed_a[j][i];
            if (IS_HULL(w->kb)) number[j][1][l] = (float)w->s->seed_b[j][i];
        }
    }
    if (KEEPS_SIMPLEX(w->ka, w->kb)) hull_vertices32(L, w, v);
    else
        for (int j = 0; j < 4; j++) v[j] = initial_vertices32(L, at, w, lanes, j, (const float (*)[W])number[j]);
    return start_tetrahedra(q, at, v, lanes, w->ka, w->kb);
}

// find_nearest32 sets the nearest face.
ALWAYS void find_nearest32(polytope32 *q) {
    const int end = 64 - __builtin_clzll(q->live);
    VF least = LOADU(q->key);
    for (int f = W; f < end; f += W) least = MIN(LOADU(q->key + f), least);
    q->nearest_key = -HMAX(-least);
    const VF low = SET1(q->nearest_key);
    uint64_t equal = 0;
    for (int f = 0; f < end; f += W) equal |= (uint64_t)MBITS(LE(LOADU(q->key + f), low)) << f;
    q->nearest = __builtin_ctzll(equal | (uint64_t)1 << 63);
}

// store_polytope32 stores, as row i, the faces that may be nearest, for the proof in float64, and the least key of the
// others.
ALWAYS void store_polytope32(const polytope32 *q, clr_found *out, int i, int ka, int kb) {
    const VF limit = SET1(q->nearest_key + (float)(VERTEX32_ERROR + POLYTOPE32_ROUNDING)), none = SET1(INFINITY);
    const int end = 64 - __builtin_clzll(q->live);
    uint64_t near = 0;
    VF least = none;
    for (int f = 0; f < end; f += W) {
        VF key = LOADU(q->key + f);
        VM m = LE(key, limit);
        least = MIN(SEL(m, none, key), least);
        near |= (uint64_t)MBITS(m) << f;
    }
    const int faces = __builtin_popcountll(near);
    if (faces > CLR_FOUND || !is_closed(q)) return;
    out->faces[i] = (uint8_t)faces;
    out->beyond[i] = -HMAX(-least);
    for (int k = 0; near; near &= near - 1) {
        const uint8_t *corner = q->corner[__builtin_ctzll(near)];
        for (int j = 0; j < 3; j++, k++) {
            const int v = corner[j];
            for (int x = 0; x < 3; x++) out->w[k][x][i] = *coordinate((polytope32 *)q, v, x);
            for (int side = 0; side < 2; side++)
                if (IS_HULL(side ? kb : ka)) out->number[k][side][i] = q->number[v][side];
                else
                    for (int x = 0; x < 3; x++) out->d[k][side][x][i] = q->d[v][side][x];
        }
    }
}

// step_polytopes32 takes a step in all active lanes.
ALWAYS void step_polytopes32(T(lanes) *L, polytope32 *q, T(places) *at, int ka, int kb) {
    float n[4][W] __attribute__((aligned(64))) = {{0}}, vertex[POLYTOPE32_COLUMNS][W] __attribute__((aligned(64)));
    for (unsigned m = L->active; m; m &= m - 1) {
        int l = __builtin_ctz(m);
        find_nearest32(q + l);
        const int f = q[l].nearest;
        n[0][l] = q[l].nx[f], n[1][l] = q[l].ny[f], n[2][l] = q[l].nz[f], n[3][l] = q[l].nearest_key;
    }
    V3 d = T(ld3)(n[0], W), x = T(neg)(d), a;
    VF key = LOADU(n[3]), one = SET1(1);
    at->lanes = L->active;
    vertices32 v = {.d = {x, T(rotate_back)(at->in + CLR_ROT * W, W, x)}, .number = {one, one}};
    v.w = T(support)(at, ka, kb, x, one, &a, v.number);
    VF h = T(dot)(d, v.w);
    VM sound = LT(SET1((REAL)VERTEX32_ERROR), key),
       ends = LE(h - key, MAX(LOADU(L->in[CLR_STOP]), SET1((REAL)POLYTOPE32_END)));
    STOREU(L->step, LOADU(L->step) + SEL(MFROM(L->active), one, SET1(0)));
    L->inside |= L->active & MBITS(MAND(sound, ends));
    L->active &= MBITS(MANDN(sound, ends));
    store_vertices32(vertex, v);
    for (unsigned m = L->active; m; m &= m - 1) {
        int l = __builtin_ctz(m);
        if (q[l].vertices == POLYTOPE32_VERTICES) L->active &= ~(1u << l);
        else put_vertex32(q + l, (const float (*)[W])vertex, l, ka, kb);
    }
    if (L->active) L->active = expand_polytopes32(q, L->active);
}

// search_loop32 expands the polytopes of rows list[0..n) of the group.
ALWAYS void search_loop32(const clr_call *call, clr_scratch *s, const int32_t *list, int n, int ka, int kb) {
    polytope32 *q = polytopes32_in(s);
    T(lanes) L;
    T(work) w = {call, s, list, 0, n, ka, kb, {0, 0}, 0};
    memset(&L, 0, sizeof L);
    L.idle = LANES;
    T(places) at = {.call = call, .in = &L.in[0][0], .stride = W, .hull = {&L.hull[0], &L.hull[1]}};
    for (int k = 0; k < n; k++) {
        int32_t a = call->shapes[s->shape_a[list[k]]].count, b = call->shapes[s->shape_b[list[k]]].count;
        if (ka == CLR_SMALL && a > w.most[0]) w.most[0] = a;
        if (kb == CLR_SMALL && b > w.most[1]) w.most[1] = b;
    }
    for (int side = 0; side < 2; side++) {
        at.copy[side] = (const REAL(*)[3][W])L.copy[side];
        at.copied[side] = w.most[side];
    }
    FLUSH_BEGIN;
    for (;;) {
        if (__builtin_popcount(L.active) <= (w.next < n ? W / 4 : 0)) {
            for (unsigned m = LANES & ~(L.active | L.idle); m; m &= m - 1) {
                int l = __builtin_ctz(m), i = L.at[l];
                s->steps[i] += (uint16_t)L.step[l];
                if (L.inside >> l & 1) store_polytope32(q + l, &s->found, i, ka, kb);
            }
            L.idle = LANES & ~L.active;
            L.inside = 0;
            unsigned before = L.active;
            T(refill)(&L, &w);
            if (!L.active) break;
            if (L.active & ~before) {
                at.lanes = L.active & ~before;
                L.active = before | start_polytopes32(&L, q, &at, &w, at.lanes);
            }
        }
        if (L.active) step_polytopes32(&L, q, &at, ka, kb);
    }
    FLUSH_END;
}

// search_depths32 expands the polytopes of the penetrating rows among n rows of the group, if both cores are polytopes;
// for curved cores it is no faster (lab/notebook/depth-tried.md). Pairs of boxes are answered by their axes. Under an
// iteration limit, float64 takes all steps.
static __attribute__((noinline)) void search_depths32(const clr_call *call, clr_scratch *s, int n, int ka, int kb) {
    int listed = 0;
    for (int k = 0; k < n; k++) {
        s->found.faces[k] = 0;
        if (s->state[k] == CLR_INSIDE) s->list[listed++] = k;
    }
    memset(s->found.faces + n, 0, CLR_STRIDE32 - (size_t)n);
    if (listed == 0 || call->collide || call->max_steps || (ka == CLR_BOX && kb == CLR_BOX)) return;
    if (IS_CURVED(ka) || IS_CURVED(kb)) return;
    if (SPECIAL(ka, kb, CLR_SMALL)) search_loop32(call, s, s->list, listed, CLR_SMALL, CLR_SMALL);
    else search_loop32(call, s, s->list, listed, ka, kb);
}

#include "../isa/real64.h"
#include "../shape/support.h"
#include "epa.h"
#include "store.h"

// The proof of the float32 polytope (epa_float32.h), in float64, one pair per lane.
//
// Let n be the normal of the face with the least key among the stored ones, recomputed in float64, and `beyond` the
// least key of all other faces, in units of the span:
//
//	lower = min(key of that face, (beyond − VERTEX32_ERROR)·span)
//	upper = h_D(n)
//	proved iff lower > ρ, upper − lower ≤ stop, and the witnesses differ from upper·n by at most stop
//
// Input: the faces that may be nearest, by the vertices of hulls or the directions of boxes that make their corners.
// The recomputed corners must lie within the rounding bound of the float32 polytope; then the polytope with these
// corners is enclosing too. Output: both bounds, the normal and the witnesses. A row is declined to epa.h if a corner
// lies elsewhere, or if the bounds or the witnesses do not meet the tolerance.

// found_face has the corners of a face as vertices of D, points of A, and points of B in the frame of B.
typedef struct {
    V3 w[3], a[3], b[3];
} found_face;

// numbers are the numbers of the hull vertices of A and of B whose differences are the corners of a face.
typedef int32_t numbers[2][3][W];

// recall recomputes face f of the lanes in `has`, and face 0 of the other lanes. It removes lanes from *good whose
// corners are not within the rounding bound of the float32 corners.
ALWAYS void recall(const T(places) *at, const clr_found *found, int k, int f, unsigned has, int ka, int kb, VF span,
                   VM *good, numbers number, found_face *out) {
    const VF error = SET1(VERTEX32_ERROR - POLYTOPE32_SPREAD) * span;
    const VM mine = MFROM(has);
    for (int l = 0; l < W; l++) {
        const int32_t *q = found->number[has >> l & 1 ? 3 * f : 0][0] + k + l;
        for (int j = 0; j < 3; j++) {
            if (IS_HULL(ka)) number[0][j][l] = q[2 * j * CLR_STRIDE32];
            if (IS_HULL(kb)) number[1][j][l] = q[(2 * j + 1) * CLR_STRIDE32];
        }
    }
#define COLUMN(name, x) SEL(mine, WIDEN(found->name[3 * f + j] x), WIDEN(found->name[j] x))
    for (int j = 0; j < 3; j++) {
        V3 d[2] = {{span, span, span}, {span, span, span}}, w;
        for (int side = 0; side < 2; side++)
            if (!IS_HULL(side ? kb : ka))
                d[side] = (V3){COLUMN(d, [side][0] + k), COLUMN(d, [side][1] + k), COLUMN(d, [side][2] + k)};
        w = (V3){COLUMN(w, [0] + k), COLUMN(w, [1] + k), COLUMN(w, [2] + k)};
        out->w[j] = vertex_of(at, d[0], d[1], number[0][j], number[1][j], ka, kb, &out->a[j], &out->b[j]);
        V3 apart = T(axpy)(-span, w, out->w[j]);
        *good = MAND(*good, LE(T(dot)(apart, apart), error * error));
    }
#undef COLUMN
}

// projection_weights finds the barycentric coordinates of the projection of q onto face w, or of a point of the face
// near it if the projection lies outside.
ALWAYS void projection_weights(const V3 w[3], V3 q, VF out[3]) {
    const VF zero = SET1(0), one = SET1(1);
    V3 e1 = T(sub)(w[1], w[0]), e2 = T(sub)(w[2], w[0]), r = T(sub)(q, w[0]), n = T(cross)(e1, e2);
    VF inv = one / MAX(T(dot)(n, n), SET1(TINY));
    VF l1 = MIN(MAX(T(dot)(T(cross)(r, e2), n) * inv, zero), one),
       l2 = MIN(MAX(T(dot)(T(cross)(e1, r), n) * inv, zero), one);
    VF sum = MAX(l1 + l2, one);
    out[1] = l1 / sum;
    out[2] = l2 / sum;
    out[0] = MAX(one - out[1] - out[2], zero);
}

// fetch_ahead prefetches the vertices of large hulls that make the first faces of the next rows.
ALWAYS void fetch_ahead(const clr_call *c, const clr_scratch *s, int k, int ka, int kb) {
    if (k >= CLR_GROUP_ROWS) return;
    for (int l = k; l < k + W; l++)
        for (int side = 0; side < 2 && s->found.faces[l] > 0; side++) {
            if ((side ? kb : ka) != CLR_HULL) continue;
            const double *first = c->corners + 4 * (size_t)c->shapes[(side ? s->shape_b : s->shape_a)[l]].first;
            for (int j = 0; j < 3; j++) __builtin_prefetch(first + 4 * (size_t)s->found.number[j][side][l]);
        }
}

// prove answers rows k, k+1, … of the group in `lanes`, and returns the lanes whose float32 polytopes are proved.
static __attribute__((noinline)) unsigned prove(const T(places) *at, clr_scratch *s, int k, int ka, int kb,
                                                unsigned lanes, VF rounding, VF stop, double answer[12][W]) {
    const VF span = LOADU(&s->more[CLR_SPAN][k]), infinite = SET1(INFINITY);
    const VM all = LE(rounding, rounding);
    int most = 0;
    if (ka == CLR_HULL || kb == CLR_HULL) fetch_ahead(at->call, s, k + W, ka, kb);
    for (unsigned m = lanes; m; m &= m - 1) {
        const int l = __builtin_ctz(m), faces = s->found.faces[k + l];
        most = faces > most ? faces : most;
        lanes &= ~((unsigned)(faces == 0) << l);
    }
    if (!lanes) {
        memset(answer, 0, 12 * sizeof answer[0]);
        return 0;
    }
    for (unsigned m = LANES & ~lanes; m; m &= m - 1) // any valid corners
        for (int j = 0; j < 3; j++)
            s->found.number[j][0][k + __builtin_ctz(m)] = s->found.number[j][1][k + __builtin_ctz(m)] = 0;

    // The nearest of the faces.
    found_face face[CLR_FOUND], low;
    numbers number, lowest;
    lane_depths d = {infinite,
                     infinite,
                     infinite,
                     {infinite, infinite, infinite},
                     {infinite, infinite, infinite},
                     {infinite, infinite, infinite},
                     all};
    VM good = all;
    recall(at, &s->found, k, 0, 0, ka, kb, span, &good, lowest, face);
    face_planes p = planes_of(face[0].w[0], face[0].w[1], face[0].w[2]);
    d.n = p.n, d.low = p.low;
    if (most > 1) low = face[0];
    for (int f = 1; f < most; f++) {
        unsigned has = 0;
        for (unsigned m = lanes; m; m &= m - 1) {
            const int l = __builtin_ctz(m);
            has |= (unsigned)(s->found.faces[k + l] > f) << l;
        }
        recall(at, &s->found, k, f, has, ka, kb, span, &good, number, face + f);
        p = planes_of(face[f].w[0], face[f].w[1], face[f].w[2]);
        const VM lower = MAND(LT(p.low, d.low), MFROM(has));
        d.n = T(sel)(lower, p.n, d.n);
        d.low = SEL(lower, p.low, d.low);
        for (int j = 0; j < 3; j++) {
            low.w[j] = T(sel)(lower, face[f].w[j], low.w[j]);
            low.a[j] = T(sel)(lower, face[f].a[j], low.a[j]);
            low.b[j] = T(sel)(lower, face[f].b[j], low.b[j]);
        }
        for (unsigned m = MBITS(lower); m; m &= m - 1) {
            const int l = __builtin_ctz(m);
            for (int j = 0; j < 3; j++) lowest[0][j][l] = number[0][j][l], lowest[1][j][l] = number[1][j][l];
        }
    }
    const found_face *best = most > 1 ? &low : face;
    good = MAND(good, is_unit(d.n));
    lanes &= MBITS(good);
    for (unsigned m = lanes; m; m &= m - 1) s->steps[k + __builtin_ctz(m)]++;

    // Its support plane, and the witness: a point of a face close to that plane.
    T(known) known = {{{lowest[0][0], lowest[0][1], lowest[0][2]}, {lowest[1][0], lowest[1][1], lowest[1][2]}},
                      {best->a[0], best->a[1], best->a[2]},
                      {best->b[0], best->b[1], best->b[2]}};
    d.high = -T(support_value)(at, ka, kb, T(neg)(d.n), &known);
    const V3 projection = T(scale)(d.low, d.n), touched = T(scale)(d.high, d.n);
    d.low = MIN(d.low, (WIDEN(&s->found.beyond[k]) - SET1(VERTEX32_ERROR)) * span);
    good = MAND(good, MAND(LT(rounding, d.low), LE(d.high - d.low, stop)));
    for (int f = -1; f < most; f++) { // first the nearest, then the others
        const V3 *w = f < 0 ? best->w : face[f].w, *a = f < 0 ? best->a : face[f].a;
        VF l[3];
        projection_weights(w, projection, l);
        V3 near = T(axpy)(l[2], w[2], T(axpy)(l[1], w[1], T(scale)(l[0], w[0]))), side = T(sub)(near, touched);
        VF off = SQRT(T(dot)(side, side));
        VM less =
            MAND(LT(off, d.off), LT(SET1(0.5) * stop, d.off)); // the lane is finished, whatever the other lanes need
        d.off = SEL(less, off, d.off);
        d.near = T(sel)(less, near, d.near);
        d.a = T(sel)(less, T(axpy)(l[2], a[2], T(axpy)(l[1], a[1], T(scale)(l[0], a[0]))), d.a);
        if (most == 1 || !(MBITS(LT(SET1(0.5) * stop, d.off)) & lanes)) break;
    }
    store_depths(answer, d);
    return lanes & MBITS(MAND(good, LE(d.off, stop)));
}

#endif

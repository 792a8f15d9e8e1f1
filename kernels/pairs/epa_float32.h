// The float32 polytope: nearly all steps of EPA [VanDenBergen2001] for pairs of polytopes, in float32.
//
// In the frame of gjk.h, where no length is above 1, with u = 2⁻²⁴:
//
//	key(f) = min ⟨n, w⟩ over the three vertices w of face f, n its unit normal
//	e      = VERTEX32_ERROR = 64 u, more where cores have powers (vertex_errors32)
//	every face of the polytope has key(f) > e  ⇒  depth ≥ min key − e
//
// Input: rows whose cores intersect, with the simplices that GJK ended with. Output: for each row the faces that may be
// nearest, by their vertices, and a lower bound of the keys of the others. epa_float32_proof.h recomputes only those
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

#endif

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

#ifndef CLR_EPA_FLOAT32_PROOF_H
#define CLR_EPA_FLOAT32_PROOF_H

#include "../isa/real64.h"
#include "epa_float32_surface.h"
#include "../isa/real64.h"
#include "../shape/support.h"
#include "epa_surface.h"
#include "store.h"

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

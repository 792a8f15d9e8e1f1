// From simplices to certified answers. A template, float64.
//
// Let D be the difference of the cores, R the sum of the radii, x the point of the simplex closest to the origin,
// n = x/|x|, m = min ⟨n, D⟩, and ρ the rounding bound of |x| and m (CLR_ROUNDING, as ref.Pair.Roundoff).
//
//	disjoint cores      distance = |x| − R
//	                    upper    = |x| − R + ρ       x is a point of D
//	                    lower    = m − R − ρ         D lies beyond the plane ⟨n, ·⟩ = m [Montaut2022, eq. 15]
//	intersecting cores  distance = −h − R            h = h_D(n) for the outward normal n of the depth
//	                    lower    = −h − R − ρ        a translation by h separates the cores
//	                    upper    = max(−l, e − h) − R + ρ
//	                                                 l a proved lower bound of the depth, e = |a − b − h·n| for the
//	                                                 witnesses a and b
//
//	separated iff lower > 0, penetrating iff upper < 0, else touching
//	answered  iff max(upper − distance, distance − lower) ≤ most_gap (input.h), or lower > cut_off
//
// Input: the simplices of gjk.h, as directions; the bounds l and h come from box_axes.h, depth_certificate.h,
// epa_float32.h or epa.h. Output: answers, and the list of rows for the float64 loop. The vertices are evaluated
// again in float64, so no bound rests on a float32 value without a derived error: of hulls of more than
// CLR_SMALL_VERTICES vertices, the scan in float32 only leaves out vertices that its rounding bound excludes
// (scan, support_hull.h). Rows without sufficient bounds after the float64 loop are
// declined (s->left).

#ifndef CLR_CERTIFY_H
#define CLR_CERTIFY_H

#include "../isa/real64.h"
#include "box_axes.h"
#include "depth_certificate.h"
#include "epa_float32.h"
#include "epa.h"
#include "input.h"
#include "smooth_pairs.h"
#include "simplex.h"
#include "store.h"
#include "../shape/support.h"

// answer_penetrating answers rows k, k+1, … of the group that are in `in`, from the simplices of GJK.
// It returns their lanes.
static __attribute__((noinline)) unsigned answer_penetrating(const clr_call *c, clr_scratch *s, int64_t at0, int k,
                                                             unsigned in, T(places) *at, int ka, int kb) {
    double answer[12][W] __attribute__((aligned(64)));
    const int curved = IS_CURVED(ka) || IS_CURVED(kb);
    const double *more = &s->more[0][k];
    const VF rounding = LOADU(more + CLR_ROUNDING * CLR_STRIDE64);
    const VF stop = depth_stop(c, curved, LOADU(more + CLR_TOL * CLR_STRIDE64), rounding);
    unsigned by_axes = 0, by_rtr = 0, ok = 0;
    at->lanes = in;
    if (ka == CLR_BOX && kb == CLR_BOX) {
        box_pair p;
        for (int j = 0; j < 9; j++) p.m[j] = LOADU(&s->in64[CLR_ROT + j][k]);
        p.t = T(ld3)(&s->in64[CLR_TRANS][k], CLR_STRIDE64);
        p.a = T(ld3)(&s->in64[CLR_PA][k], CLR_STRIDE64);
        p.b = T(ld3)(&s->in64[CLR_PB][k], CLR_STRIDE64);
        lane_depths d = box_depths(&p, rounding, stop);
        ok = by_axes = in & MBITS(d.ok);
        store_depths(answer, d);
    } else if (HAS_DEPTH_CERTIFICATE(ka, kb)) {
        for (unsigned m = in; m; m &= m - 1) {
            const int state = s->minima.state[k + __builtin_ctz(m)];
            ok |= m & -m & -(unsigned)(state >= CLR_MINIMUM_GLOBAL);
            by_rtr |= m & -m & -(unsigned)(state == CLR_MINIMUM_GLOBAL && HAS_HESSIAN(ka) && HAS_HESSIAN(kb));
        }
        for (int j = 0; j < 12; j++) STOREU(answer[j], LOADU(&s->minima.answer[j][k]));
    } else {
        ok = prove(at, s, k, ka, kb, in, rounding, stop, answer);
    }
    if ((in & ~ok) && (c->max_steps || !HAS_DEPTH_CERTIFICATE(ka, kb))) {
        depth_of d[W];
        int32_t row[W];
        for (int l = 0; l < W; l++) row[l] = k + l;
        const unsigned found = expand_rows(c, s, row, in & ~ok, at, ka, kb, rounding, stop, d);
        for (unsigned m = found; m; m &= m - 1) put_depth(&answer[0][__builtin_ctz(m)], W, d + __builtin_ctz(m));
        ok |= found;
    }
    const VF ra = LOADU(more + CLR_RA * CLR_STRIDE64), rb = LOADU(more + CLR_RB * CLR_STRIDE64), radius = ra + rb;
    VF high = LOADU(answer[0]), low = LOADU(answer[1]), off = LOADU(answer[2]);
    V3 n = T(ld3)(answer[3], W), a = T(ld3)(answer[6], W), near = T(ld3)(answer[9], W);
    // As in ref, the distance is minus the upper bound of the depth.
    VF distance = -high - radius, upper = MAX(-low, off - high) - radius + rounding, none = SET1(0);
    V3 wa = T(axpy)(ra, n, a), wb = T(axpy)(-rb, n, T(sub)(a, near));
    store_lanes(c, s, at0, k, by_axes, CLR_SOLVER_AXES, distance, distance - rounding, upper, LT(none, none),
                LT(upper, none), n, wa, wb);
    store_lanes(c, s, at0, k, by_rtr, CLR_SOLVER_RTR, distance, distance - rounding, upper, LT(none, none),
                LT(upper, none), n, wa, wb);
    store_lanes(c, s, at0, k, ok & ~by_axes & ~by_rtr, CLR_SOLVER_EPA, distance, distance - rounding, upper,
                LT(none, none), LT(upper, none), n, wa, wb);
    return ok;
}

// tetrahedron_contains reports whether the tetrahedron of the simplex and vertex w contains the
// origin, inside all four faces by more than the errors of the vertices.
ALWAYS VM tetrahedron_contains(const T(places) *at, const clr_scratch *s, int k, int ka, int kb, V3 w, VF rounding) {
    V3 v[3], dir, a, b;
    for (int j = 0; j < 3; j++) v[j] = seed_vertex(at, s, k, j, ka, kb, &dir, &a, &b);
    V3 e1 = T(sub)(v[1], v[0]), e2 = T(sub)(v[2], v[0]), e3 = T(sub)(w, v[0]), d1 = T(sub)(v[1], w),
       d2 = T(sub)(v[2], w);
    V3 f[4] = {T(cross)(e1, e2), T(cross)(e2, e3), T(cross)(e3, e1), T(cross)(d1, d2)};
    VF sign = COPYSIGN(SET1(1), T(dot)(f[0], e3));
    VM certain = LE(rounding, rounding);
    for (int j = 0; j < 4; j++) {
        // Inwards is towards the fourth vertex for the faces at v[0], and away from w
        // for the last.
        VF h = (j < 3 ? -T(dot)(v[0], f[j]) : T(dot)(w, f[3])) * sign;
        certain = MAND(certain, LT(SET1(2) * rounding * SQRT(T(dot)(f[j], f[j])), h));
    }
    return certain;
}

// cut_short returns the lanes of `open` that have reached the iteration limit and end with their present bounds;
// `wide` are those of them that remain undecided. The witnesses differ from distance·normal by `side`; if only this
// exceeded the tolerance, the gap that includes it may suffice. depth is the gap wanted of a depth.
static __attribute__((noinline)) unsigned cut_short(const clr_call *c, const uint16_t *steps, unsigned open, VF lower,
                                                    VF *upper, VF distance, VF side, VF depth, VF most,
                                                    unsigned *wide) {
    for (unsigned m = open; m; m &= m - 1)
        if (steps[__builtin_ctz(m)] + 1 < c->max_steps) open &= ~(m & -m);
    VF high = SEL(MFROM(open), MAX(*upper, distance + side), *upper), gap = MAX(high - distance, distance - lower);
    *upper = high;
    *wide = open & MBITS(LT(most, gap)) & (MBITS(LE(SET1(0), distance)) | MBITS(LT(depth, gap)));
    return open;
}

// certify_class_pair answers rows of the group that are open, away or inside. If `again` is set, rows whose bounds do
// not suffice go to s->list for the float64 loop, with their state. Otherwise, and if only a depth would help, they go
// to s->left. It returns the new length of s->list.
ALWAYS int certify_class_pair(const clr_call *c, clr_scratch *s, int64_t at0, int n, int ka, int kb, int again,
                              int *left) {
    int listed = 0;
    const VF zero = SET1(0);
    for (int k = 0; k < n; k += W) {
        unsigned open = 0, away = 0, in = 0, bad = 0;
        for (int l = 0; l < W && k + l < n; l++) {
            uint8_t st = s->state[k + l];
            open |= (unsigned)(st == CLR_OPEN || (st == CLR_AWAY && !c->collide)) << l;
            away |= (unsigned)(st == CLR_AWAY && c->collide) << l;
            in |= (unsigned)(st == CLR_INSIDE) << l;
            bad |= (unsigned)(st == CLR_BAD) << l;
        }
        unsigned answered = 0;
        const double *cols = &s->in64[0][k], *more = &s->more[0][k];
        const VF rounding = LOADU(more + CLR_ROUNDING * CLR_STRIDE64), tol = LOADU(more + CLR_TOL * CLR_STRIDE64);
        const VF ra = LOADU(more + CLR_RA * CLR_STRIDE64), rb = LOADU(more + CLR_RB * CLR_STRIDE64), radius = ra + rb;
        T(hulls) hull[2];
        T(places) at = {.call = c,
                        .in = cols,
                        .stride = CLR_STRIDE64,
                        .hull = {&hull[0], &hull[1]},
                        .lanes = open | away | (c->collide ? in : 0)};
        // Two large hulls: approximate_support_value needs the ranges of their vertices only, as of small hulls.
        // Extents and cells are loaded for the rows that it does not decide.
        const int rough = ka == CLR_HULL && kb == CLR_HULL && !c->collide &&
                          c->tolerance > 1.25 * APPROXIMATE_UNITS * 0x1p-24,
                  whole = !rough || in;
        put_hulls(c, s, k, whole ? ka : CLR_SMALL, whole ? kb : CLR_SMALL, hull);
        if (away || (in && c->collide)) {
            // One vertex proves these: it lies beyond the separating plane, or completes the tetrahedron. No
            // distance is wanted, so that the distance of the plane suffices; the part of the vertex across the
            // normal counts in the gap.
            V3 a, b, x, w = seed_vertex(&at, s, k, 3, ka, kb, &x, &a, &b);
            x = T(scale)(inverse_length(x), x);
            // The vertex of a hull was selected in float32: another may have a lower support value.
            VF along = T(dot)(x, w), low = along;
            if (IS_HULL(ka) || IS_HULL(kb))
                low = T(support_value)(&at, ka, kb, x,
                                       &(T(known)){{{s->seed_a[3] + k, s->seed_a[3] + k, s->seed_a[3] + k},
                                                    {s->seed_b[3] + k, s->seed_b[3] + k, s->seed_b[3] + k}},
                                                   {a, a, a},
                                                   {b, b, b}});
            VF distance = low - radius;
            V3 side = T(axpy)(-low, x, w), normal = T(neg)(x), wa = T(axpy)(ra, normal, a),
               wb = T(axpy)(-rb, normal, T(sub)(a, w));
            VF slack = rounding + SQRT(T(dot)(side, side));
            VM certain = MAND(LT(rounding, distance), is_unit(x));
            unsigned ok = away & MBITS(certain);
            store_lanes(c, s, at0, k, ok, CLR_SOLVER_GJK, distance, distance - rounding, distance + slack, certain,
                        MANDN(certain, certain), normal, wa, wb);
            answered |= ok;
            if (in) {
                certain = MAND(tetrahedron_contains(&at, s, k, ka, kb, w, rounding), is_unit(x));
                ok = in & MBITS(certain);
                store_lanes(c, s, at0, k, ok, CLR_SOLVER_GJK, distance, distance - slack, zero, MANDN(certain, certain),
                            certain, normal, wa, wb);
                answered |= ok;
            }
        }
        if (open) {
            V3 v[3], seed[3];
            T(known) known;
            V3 *av = known.a;
            for (int j = 0; j < 3; j++) known.number[0][j] = s->seed_a[j] + k, known.number[1][j] = s->seed_b[j] + k;
            for (int j = 0; j < 3; j++) v[j] = seed_vertex(&at, s, k, j, ka, kb, &seed[j], &av[j], &known.b[j]);
            V3 e1 = T(sub)(v[1], v[0]), e2 = T(sub)(v[2], v[0]);
            clr_projection f = triangle_projection(v[0], e1, e2);
            V3 straight = f.x;
            if (c->tolerance < FINE_TOLERANCE && has_flats(ka, kb)) {
                V3 moved = f.x, edge = project_along_longest_edge(v[0], e1, e2, &f.l1, &f.l2, &moved, f.face);
                f.x = moved;
                straight = orthogonal_part(moved, edge);
            }
            VF xx = T(dot)(f.x, f.x), nn = T(dot)(f.n, f.n), nx = T(dot)(f.n, f.x);
            // x is a sum that cancels: its direction has an error of rounding over |x|; the normal of
            // a face has one of rounding over the width of the face. The longer of both is used.
            VF ee = MAX(T(dot)(e1, e1), T(dot)(e2, e2));
            VM use = MAND(f.face, MAND(LT(xx * ee, nn), LE(SET1(0.25) * nn * xx, nx * nx)));
            V3 x = T(sel)(use, T(scale)(COPYSIGN(SET1(1), nx), f.n), straight);
            VF r = inverse_length(x);
            x = T(scale)(r, x);
            V3 start = T(scale)(T(dot)(f.x, x), x);
            if (again && !c->max_steps && c->tolerance < FINE_TOLERANCE && (IS_CURVED(ka) || IS_CURVED(kb)) &&
                !HAS_POWERS(ka) && !HAS_POWERS(kb))
                refine_simplex(cols, ka, kb, av, known.b, &f, &x);
            VF length = SQRT(T(dot)(f.x, f.x)), distance = length - radius, upper = distance + rounding, low = zero,
               lower = zero;
            V3 side = T(axpy)(-length, x, f.x); // the difference of the witnesses minus distance·normal, up to sign
            VM ok = LT(zero, zero), unit = is_unit(x), separated = ok, penetrating = LT(upper, zero);
            for (int exact = !rough;; exact = 1) {
                at.lanes = open & ~MBITS(ok);
                low = SEL(MFROM(at.lanes),
                          exact ? T(support_value)(&at, ka, kb, x, &known)
                                : approximate_support_value(&at, s, k, x, SET1(1 / c->tolerance) * tol),
                          low);
                lower = low - radius - rounding;
                VF gap = MAX(upper - distance, distance - lower);
                separated = MAND(unit, LT(zero, lower));
                if (c->collide) {
                    ok = MAND(MOR(separated, penetrating), unit);
                    upper = SEL(separated, MAX(upper, distance + SQRT(T(dot)(side, side))), upper);
                    lower = SEL(separated, lower, MIN(lower, distance - SQRT(T(dot)(side, side))));
                } else {
                    ok = LE(gap, most_gap(c, ka, kb, tol, rounding));
                    if (c->has_cut_off) ok = MOR(ok, LT(SET1(c->cut_off), lower));
                    ok = MAND(MAND(MAND(ok, unit), LE(lower, upper)), LE(T(dot)(side, side), gap * gap));
                }
                if (exact || !(open & ~MBITS(ok))) break;
                put_hulls(c, s, k, ka, kb, hull);
            }
            unsigned cut = 0, wide = 0;
            if (c->max_steps) {
                const double depth = (IS_CURVED(ka) || IS_CURVED(kb) ? c->curved_depth : c->tolerance) / c->tolerance;
                cut = open & ~MBITS(ok) & MBITS(MAND(unit, LE(lower, upper)));
                cut = cut_short(c, s->steps + k, cut, lower, &upper, distance, SQRT(T(dot)(side, side)),
                                SET1(depth) * tol, most_gap(c, ka, kb, tol, rounding), &wide);
            }
            V3 nearest_a = T(axpy)(f.l2, T(sub)(av[2], av[0]), T(axpy)(f.l1, T(sub)(av[1], av[0]), av[0]));
            V3 nearest_b = T(sub)(nearest_a, f.x), normal = T(neg)(x);
            unsigned yes = open & (MBITS(ok) | cut);
            store_lanes_as(c, s, at0, k, yes, CLR_SOLVER_GJK, distance, lower, upper, MBITS(separated) | wide,
                           MBITS(LT(upper, zero)) | wide, normal, T(axpy)(ra, normal, nearest_a),
                           T(axpy)(-rb, normal, nearest_b));
            answered |= yes;
            if (again && (open & ~yes)) {
                for (int j = 0; j < 3; j++) {
                    T(st3)(&s->in64[CLR_VERT + 3 * j][k], CLR_STRIDE64, v[j]);
                    T(st3)(&s->in64[CLR_DIR + 3 * j][k], CLR_STRIDE64, seed[j]);
                }
                T(st3)(&s->in64[CLR_X][k], CLR_STRIDE64, start);
                for (unsigned m = open & ~yes; m; m &= m - 1) s->list[listed++] = k + __builtin_ctz(m);
                answered |= open;
            }
        }
        if (in && !c->collide) answered |= answer_penetrating(c, s, at0, k, in, &at, ka, kb);
        for (unsigned m = (open | away | in | bad) & ~answered; m; m &= m - 1) {
            int l = __builtin_ctz(m);
            s->left[(*left)++] = s->row[k + l];
            s->state[k + l] = CLR_DONE;
        }
    }
    return listed;
}

// certify_rows is certify_class_pair with the support functions of the commonest pairs of classes
// inlined.
static __attribute__((noinline)) int certify_rows(const clr_call *c, clr_scratch *s, int64_t at0, int n, int ka, int kb,
                                                  int again, int *left) {
    if (SPECIAL(ka, kb, CLR_BOX)) return certify_class_pair(c, s, at0, n, CLR_BOX, CLR_BOX, again, left);
    if (SPECIAL(ka, kb, CLR_ELLIPSOID))
        return certify_class_pair(c, s, at0, n, CLR_ELLIPSOID, CLR_ELLIPSOID, again, left);
    if (SPECIAL(ka, kb, CLR_SMALL)) return certify_class_pair(c, s, at0, n, CLR_SMALL, CLR_SMALL, again, left);
    if (SPECIAL(ka, kb, CLR_HULL)) return certify_class_pair(c, s, at0, n, CLR_HULL, CLR_HULL, again, left);
    return certify_class_pair(c, s, at0, n, ka, kb, again, left);
}

// prove_class_pair is the part of certify_class_pair that proves most distances of polytopes, for at most PROVED_ROWS
// rows that share their shapes, with the same operations in the same order. Each stage takes all rows before the next
// one: the processor overlaps its vectors, since a chain of operations leads through all of a row's proof. Rows that it
// answers are done; it returns the number of the others.
#define PROVED_ROWS 64
ALWAYS int prove_class_pair(const clr_call *c, clr_scratch *s, int64_t at0, int n, int ka, int kb) {
    // Of each row: x, the point of the simplex closest to the origin, the closest point of A, |x|, the lower bound.
    double keep[11][PROVED_ROWS] __attribute__((aligned(64)));
    const int rough = ka == CLR_HULL && kb == CLR_HULL;
    const T(shared_hulls) hulls = T(shared_by)(c, s, c->corners);
    T(places) at = {.call = c, .stride = CLR_STRIDE64, .shared = &hulls, .lanes = LANES};
    int left = 0;
    for (int k = 0; k < n; k += W) {
        V3 v[3], av[3], seed, own;
        at.in = &s->in64[0][k];
        for (int j = 0; j < 3; j++) v[j] = seed_vertex(&at, s, k, j, ka, kb, &seed, &av[j], &own);
        const V3 e1 = T(sub)(v[1], v[0]), e2 = T(sub)(v[2], v[0]);
        const clr_projection f = triangle_projection(v[0], e1, e2);
        const VF xx = T(dot)(f.x, f.x), nn = T(dot)(f.n, f.n), nx = T(dot)(f.n, f.x);
        const VF ee = MAX(T(dot)(e1, e1), T(dot)(e2, e2));
        const VM use = MAND(f.face, MAND(LT(xx * ee, nn), LE(SET1(0.25) * nn * xx, nx * nx)));
        const V3 x = T(sel)(use, T(scale)(COPYSIGN(SET1(1), nx), f.n), f.x);
        T(st3)(&keep[0][k], PROVED_ROWS, T(scale)(inverse_length(x), x));
        T(st3)(&keep[3][k], PROVED_ROWS, f.x);
        T(st3)(&keep[6][k], PROVED_ROWS,
               T(axpy)(f.l2, T(sub)(av[2], av[0]), T(axpy)(f.l1, T(sub)(av[1], av[0]), av[0])));
        STOREU(&keep[9][k], SQRT(xx));
    }
    for (int k = 0; k < n; k += W) {
        const V3 x = T(ld3)(&keep[0][k], PROVED_ROWS);
        at.in = &s->in64[0][k];
        STOREU(&keep[10][k],
               rough ? approximate_support_value(&at, s, k, x, SET1(1 / c->tolerance) * LOADU(&s->more[CLR_TOL][k]))
                     : T(support_value)(&at, ka, kb, x, &(T(known)){0}));
    }
    for (int k = 0; k < n; k += W) {
        const double *more = &s->more[0][k];
        const VF rounding = LOADU(more + CLR_ROUNDING * CLR_STRIDE64), tol = LOADU(more + CLR_TOL * CLR_STRIDE64);
        const VF ra = LOADU(more + CLR_RA * CLR_STRIDE64), rb = LOADU(more + CLR_RB * CLR_STRIDE64), radius = ra + rb;
        const V3 x = T(ld3)(&keep[0][k], PROVED_ROWS), point = T(ld3)(&keep[3][k], PROVED_ROWS),
                 nearest_a = T(ld3)(&keep[6][k], PROVED_ROWS);
        const VF length = LOADU(&keep[9][k]), distance = length - radius, upper = distance + rounding,
                 lower = LOADU(&keep[10][k]) - radius - rounding, gap = MAX(upper - distance, distance - lower);
        const V3 side = T(axpy)(-length, x, point), normal = T(neg)(x);
        const VM unit = is_unit(x);
        VM ok = LE(gap, most_gap(c, ka, kb, tol, rounding));
        if (c->has_cut_off) ok = MOR(ok, LT(SET1(c->cut_off), lower));
        ok = MAND(MAND(MAND(ok, unit), LE(lower, upper)), LE(T(dot)(side, side), gap * gap));
        unsigned open = 0;
        for (int l = 0; l < W && k + l < n; l++)
            open |= (unsigned)(s->state[k + l] == CLR_OPEN || s->state[k + l] == CLR_AWAY) << l;
        const unsigned yes = open & MBITS(ok);
        store_lanes_as(c, s, at0, k, yes, CLR_SOLVER_GJK, distance, lower, upper, MBITS(MAND(unit, LT(SET1(0), lower))),
                       MBITS(LT(upper, SET1(0))), normal, T(axpy)(ra, normal, nearest_a),
                       T(axpy)(-rb, normal, T(sub)(nearest_a, point)));
    }
    for (int i = 0; i < n; i++) left += s->state[i] != CLR_DONE;
    return left;
}

// prove_shared is prove_class_pair where that is compiled for the pair of classes and the tolerance needs no
// refinement.
static __attribute__((noinline)) int prove_shared(const clr_call *c, clr_scratch *s, int64_t at0, int n, int ka,
                                                  int kb) {
    if (c->tolerance < FINE_TOLERANCE) return n;
    if (SPECIAL(ka, kb, CLR_SMALL)) return prove_class_pair(c, s, at0, n, CLR_SMALL, CLR_SMALL);
    if (SPECIAL(ka, kb, CLR_HULL) && c->tolerance > 1.25 * APPROXIMATE_UNITS * 0x1p-24)
        return prove_class_pair(c, s, at0, n, CLR_HULL, CLR_HULL);
    return n;
}

#endif

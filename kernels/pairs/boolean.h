// The Boolean query [Montaut2022, Alg. 2], decided in float32 where its rounding bound allows: most
// rows. A template, float64, for poses out of the range of float32.
//
// Let R be the sum of the radii, w the support point of D along −n for a unit vector n, y a convex combination of
// points of D, and ρ = boolean_rounding_units · 2⁻²⁴, all in the frame of gjk.h:
//
//	separated   if  ⟨n, w⟩ > R + ρ      CLR_FAR
//	penetrating if  |y| < R − 2ρ        CLR_NEAR; the proof needs |y| < R − ρ
//	penetrating if  four points of D span a tetrahedron that contains the ball of radius ρ (contains, simplex.h)
//
// Input: rows of one pair of classes, of a call that wants the status alone, has no warm starts and no limit of the
// iterations (clr_call.boolean). Output: statuses. The rows in between are few; they are solved like those of any
// query.
//
// Rounding bound. In the frame of gjk.h, where no length is above 1, let u = 2⁻²⁴. The errors are at
// most
//
//	50 u  the rotation and the translation (input.h): 50 u of the size of B, 40 u of the distance,
//	4 u  lengths and parameters of both cores, rounded and scaled to the frame,
//	12 u  a support vertex of B along a direction rotated with an error of 6 u,
//	10 u  a vertex computed from its direction: reciprocal roots to 4 u, three products,
//	10 u  the vertex of B rotated, translated and subtracted, and the dot product,
//	6 u  the length of the direction,
//
// together below 128 u. The rotation counts once: relative to the computed matrix, the rest is exact
// up to the later errors. Support values along initial directions, projections and their depths are
// formulas with fewer roundings than the 38 u of the last four lines. Centers
// off the origins of their shapes, by c together, add 40 + 50 u by the rotation and the longer
// translation, with the product and three sums 104 u of c: below 64 u where c is at most half of the
// frame (FRAME_OFFSETS). Rows whose centers are farther off, or whose poses are out of range, form the
// frame in float64. There centers may cancel: their error is the bound of ref.Pair.Roundoff, 24·2⁻⁵³ of
// all lengths in the frame, which the 128 u include, and twice the offsets of the centers, as the
// translation may be as long; these are added.
//
// A vertex of D has an error of 50 + 4 + 10 + 10 = 74 u of this. A convex combination of vertices adds
// its own: the weights are at least 0 and sum up to at most 1 + 8 u, times edges of at most 2; the sum
// of three products has an error of 14 u, its length and the radius 4 u: 34 u. Together 108 u, with 20 u
// to spare.
//
// Any points of D prove an intersection. So the simplex begins with the difference of the centers
// (lanes.h), and large hulls return candidate vertices (candidate_support) until a plane seems to
// separate or a step brings no progress.
//
// Powers add errors, in units of u and of the size of their core; both sizes together are at most 1.
// For superquadrics (support_smooth.h): a factor 2^a, a in [-1, 0], whose a is a logarithm to 8 u
// times a rounded exponent, has an error of 11 u; its q of 3 u, which adds 2 u; the lower coordinate
// has two more factors to 4 u: 17 u, 36 u for two of them with the products, and 3 u for the exponents
// themselves, which leaves the surface by 39 u. The ratio has an error of 10 u of its logarithm, which
// is 4 u of the direction since |x|·2^x is below 0.54, and 2 u for the quotient; the inner norm has 20
// u; and the support value has at most the error of the direction: 32 u. Together below 96 u.
//
// For smooth shapes (support_smooth.h) let n be the number of points, at most 256, β > 2 the sharpness
// and κ = n^(1/β) < 15, which bounds the sum of the weights (Hölder). A support value of a point has
// an error of 5 u; the logarithm and β add 4 u: the support value is lower by at most 18 κ u. The
// weights have errors of 3 u, and their sums, at least four side by side, of (n/4 + 5) u, with terms
// that sum up to κ: 72 κ u. The sum S ≤ n below the root has an error as large relative to itself, and
// 10·ln n/β u as the weights are of other support values; its root 10·ln n/β u, and the products 12 u.
// A revolution rotates its direction to the profile and back, for 8 u more. Together 90 κ + 69 + 20·ln
// n/β + 40 < 1520 u, and with the 192 u above less than 2048 u. So wide a bound costs little: few rows
// are that close to contact.

#ifndef CLR_BOOLEAN_H
#define CLR_BOOLEAN_H

#include "input.h"
#include "../isa/real32.h"
#include "initial_direction.h"
#include "alternating_projection.h"
#include "../shape/cores.h"
#include "gjk.h"
#include <string.h>

// The frame of a pair in float32, and the tests before the loop: the initial direction may separate
// the cores, or a pair of projections prove an intersection. Float32; the bound is derived above.

// FRAME_OFFSETS bounds the offsets of both centers from the origins of their shapes, together, where
// no length in the frame is above 1.
#define FRAME_OFFSETS 0.5f

_Static_assert(BOOLEAN_UNITS == 50 + 4 + 12 + 10 + 10 + 6 + 36, "the derivation above: of planes, and 36 to spare");
_Static_assert(BOOLEAN_UNITS == 74 + (8 * 2 + 14 + 4) + 20, "the same: of convex combinations, and 20 to spare");
_Static_assert(BOOLEAN_OFFSET_UNITS == 104 / 2 + 12, "the same: centers, and 12 to spare");
_Static_assert(BOOLEAN_POWER_UNITS == 39 + (4 + 2 + 20 + 6) + 25, "the same: superquadrics, and 25 to spare");
_Static_assert(BOOLEAN_WEIGHT_UNITS == (90 * 15 + 69 + 56 + 40) + (128 + 64) + 341, "the same: 20·ln n/β < 56");

// projections_meet tells whether a pair of projections (alternating_projection.h) proves that
// cylinders, cones, frustums, segments or points have a common point or are closer than the radius. It
// writes x, from the projection on B to that on A.
ALWAYS VM projections_meet(const T(profile) *pa, const T(profile) *pb, const VF m[9], V3 t, VF radius, VF rounding,
                           V3 *x) {
    const V3 point = T(axis_point)(pa->half, pb->half, (V3){m[2], m[5], m[8]}, t);
    const T(projection) a = T(closest_point)(pa, point),
                        b = T(closest_point)(pb, T(apply_transposed)(m, T(sub)(a.at, t)));
    *x = T(sub)(a.at, T(add)(T(apply)(m, b.at), t));
    const VF near = radius - rounding;
    return MOR(LT(rounding, MAX(a.depth, b.depth)), MAND(LT(SET1(0), near), LT(T(dot)(*x, *x), near * near)));
}

// small_support_values32 are the support values of hulls of at most CLR_SMALL_VERTICES vertices,
// relative to their centers.
ALWAYS VF small_support_values32(const clr_call *c, const int32_t shape[W], V3 d) {
    REAL u[3][W] __attribute__((aligned(64)));
    int32_t first[W], count[W], most = 0;
    VF high[W];
    T(st3)(&u[0][0], W, d);
    for (int l = 0; l < W; l++) {
        first[l] = c->shapes32[shape[l]].first, count[l] = c->shapes32[shape[l]].count;
        if (count[l] > most) most = count[l];
    }
#ifdef HALF // of a vector, for hulls of no more vertices
    if (most <= W / 2) {
        HALF half[W];
        for (int l = 0; l < W; l++)
            half[l] =
                HALF_SUPPORT_VALUES(c->fx + first[l], c->fy + first[l], c->fz + first[l], u[0][l], u[1][l], u[2][l]);
        return HALF_MAX(half);
    }
#endif
    for (int l = 0; l < W; l++) {
        const REAL *x = c->fx + first[l], *y = c->fy + first[l], *z = c->fz + first[l];
        const VF ux = SET1(u[0][l]), uy = SET1(u[1][l]), uz = SET1(u[2][l]);
        high[l] = FMA(uz, LOADU(z), FMA(uy, LOADU(y), ux * LOADU(x)));
        for (int j = W; j < count[l]; j += W)
            high[l] = MAX(FMA(uz, LOADU(z + j), FMA(uy, LOADU(y + j), ux * LOADU(x + j))), high[l]);
    }
    return EACH_MAX(high);
}

// support_value32 is initial_support_value of the lanes, in the frame where the length 1/inv is 1; p
// is scaled to it.
ALWAYS VF support_value32(const clr_call *c, int k, const int32_t shape[W], const VF p[4], VF inv, V3 d) {
    if (k == CLR_SMALL) return inv * small_support_values32(c, shape, d);
    return T(initial_support_value)(k, p, d);
}

// boolean_frame32 takes W of n rows, from order[k] on. It answers rows that the initial direction separates or a pair
// of projections decides, and writes the columns of the others from row `to` on; it returns the next free row. Rows out
// of the range of float32 are added to *beyond.
ALWAYS int boolean_frame32(const clr_call *c, clr_scratch *s, int64_t lo, const int32_t *order, int n, int k, int to,
                           int ka, int kb, int32_t **beyond) {
    int32_t row[W];
    frame_shapes shapes;
    for (int l = 0; l < W; l++) row[l] = order[k + l < n ? k + l : n - 1];
    const pair_frame f = frame_of(c, lo, row, n - k, &shapes);
    VF p[4], q[4], a[4], b[4];
    frame_columns(c, shapes.a, 0, p); // parameters and radius
    frame_columns(c, shapes.b, 0, q);
    frame_columns(c, shapes.a, 4, a); // size and erode
    frame_columns(c, shapes.b, 4, b);
    const VF zero = SET1(0), *m = f.m, rounding = SET1((REAL)(boolean_rounding_units(ka, kb) * 0x1p-24));
    VF radius = p[3] + q[3], offsets = zero;
    V3 d = f.t;                             // from center to center
    if (OFF_CENTER(ka) || OFF_CENTER(kb)) { // other shapes have theirs at their origin
        VF ca[4], cb[4];
        frame_columns(c, shapes.a, 6, ca);
        frame_columns(c, shapes.b, 6, cb);
        d = T(sub)(T(add)(d, T(apply)(m, (V3){cb[0], cb[1], cb[2]})), (V3){ca[0], ca[1], ca[2]});
        for (int j = 0; j < 3; j++) offsets = offsets + MAX(ca[j], -ca[j]) + MAX(cb[j], -cb[j]);
    }
    const VF span = SQRT(T(dot)(d, d)) + (a[0] + b[0]), inv = RCP(span);
    const VM good = MAND(MAND(f.good, LE(offsets * inv, SET1(FRAME_OFFSETS))),
                         MAND(LT(SET1(0x1p-30f), span), LT(span, SET1(0x1p40f))));
    d = T(scale)(inv, d);
    radius = radius * inv;
    for (int j = 0; j < 3; j++) p[j] = p[j] * inv, q[j] = q[j] * inv;
    p[3] = a[1], q[3] = b[1];
    if (ka != CLR_HULL) p[3] = p[3] * inv; // of hulls a ratio
    if (kb != CLR_HULL) q[3] = q[3] * inv;

    // The plane orthogonal to the initial direction, or to the line between the projections.
    VM by_projection = LT(rounding, zero), meet = by_projection;
    V3 line = d;
    if (c->automatic && has_projection(ka) && has_projection(kb) && (ka == CLR_FRUSTUM || kb == CLR_FRUSTUM)) {
        const T(profile) fa = T(profile_of)((V3){p[0], p[1], p[2]}), fb = T(profile_of)((V3){q[0], q[1], q[2]});
        V3 x;
        by_projection =
            MAND(ka == CLR_FRUSTUM ? good : T(is_segment)(&fa), kb == CLR_FRUSTUM ? good : T(is_segment)(&fb));
        meet = MAND(MAND(good, by_projection), projections_meet(&fa, &fb, m, d, radius, rounding, &x));
        line = T(sel)(LT(rounding * rounding, T(dot)(x, x)), T(neg)(x), d);
    }
    if (MBITS(by_projection) != LANES) {
        V3 ea = T(extents)(ka, (V3){p[0], p[1], p[2]}), eb = T(extents)(kb, (V3){q[0], q[1], q[2]});
        ea = (V3){ea.x + radius, ea.y + radius, ea.z + radius};
        line = T(sel)(by_projection, line, T(sounder)(T(first_direction)(ea, eb, m, d, FIRST_STATUS), d));
    }
    line = T(scale)(RSQRT(MAX(T(dot)(line, line), SET1(TINY))), line);
    const VF support_values = support_value32(c, ka, shapes.a, p, inv, line) +
                              support_value32(c, kb, shapes.b, q, inv, T(apply_transposed)(m, T(neg)(line)));
    const VM apart = MAND(good, LT(radius + rounding, T(dot)(d, line) - support_values));
    const unsigned valid = k + W <= n ? LANES : (1u << (n - k)) - 1, over = MBITS(meet),
                   done = valid & (MBITS(apart) | over), project_alternately = MBITS(by_projection);
    uint8_t *status = bytes_of(c, CLR_COLUMN_STATUS, lo), *method = bytes_of(c, CLR_COLUMN_METHOD, lo);
    for (unsigned bits = valid & ~MBITS(good); bits; bits &= bits - 1) *(*beyond)++ = row[__builtin_ctz(bits)];
    const unsigned open = valid & MBITS(good) & ~done;
#ifdef IS_RUN
    if (IS_RUN(row)) {
        PUT_BYTES(status + row[0], done, over, CLR_STATUS_PENETRATING, CLR_STATUS_SEPARATED);
        if (method) PUT_BYTES(method + row[0], done, project_alternately, CLR_SOLVER_NEWTON, CLR_SOLVER_GJK);
    } else
#endif
        for (unsigned bits = done; bits; bits &= bits - 1) {
            const int l = __builtin_ctz(bits);
            status[row[l]] = over >> l & 1 ? CLR_STATUS_PENETRATING : CLR_STATUS_SEPARATED;
            if (method)
                method[row[l]] =
                    project_alternately >> l & 1 ? CLR_SOLVER_NEWTON : CLR_SOLVER_GJK; // or the first step of GJK
        }
    if (!open) return to;

    if (HAS_VERTICES(ka)) p[3] = inv;
    if (HAS_VERTICES(kb)) q[3] = inv;
    for (int j = 0; j < 9; j++) PACK(&s->in32[CLR_ROT + j][to], open, m[j]);
    PACK(&s->in32[CLR_TRANS][to], open, d.x);
    PACK(&s->in32[CLR_TRANS + 1][to], open, d.y);
    PACK(&s->in32[CLR_TRANS + 2][to], open, d.z);
    for (int j = 0; j < 4; j++) {
        PACK(&s->in32[CLR_PA + j][to], open, p[j]);
        PACK(&s->in32[CLR_PB + j][to], open, q[j]);
    }
    PACK(&s->in32[CLR_STOP][to], open, SET1((REAL)STATUS_STOP) * rounding);
    PACK(&s->in32[CLR_FAR][to], open, radius + rounding);
    PACK(&s->in32[CLR_NEAR][to], open, FMA(SET1(-2), rounding, radius));
    PACK(&s->in32[CLR_SUPPORT_ROUNDING][to], open, SET1((REAL)SUPPORT_ROUNDING32));
    // The loop begins from the other side. No direction is as good as any.
    const VM none = LE(T(dot)(line, line), SET1(0.5f));
    PACK(&s->in32[CLR_X][to], open, SEL(none, SET1(1), -line.x));
    PACK(&s->in32[CLR_X + 1][to], open, SEL(none, zero, -line.y));
    PACK(&s->in32[CLR_X + 2][to], open, SEL(none, zero, -line.z));
    PACK_INTS(s->row + to, open, row);
    PACK_INTS(s->shape_a + to, open, shapes.a);
    PACK_INTS(s->shape_b + to, open, shapes.b);
    memset(s->key + to, 1, W);
    return to + __builtin_popcount(open);
}

// Poses beyond the range of float32 form the frame in float64.
#include "../isa/real64.h"
#include "initial_direction.h"
#include "input.h"
#include "../shape/support.h"

// boolean_frame does what boolean_frame32 does, in float64 and without projections: for rows out of
// the range of float32.
ALWAYS int boolean_frame(const clr_call *c, clr_scratch *s, int64_t lo, const int32_t *order, int n, int k, int to,
                         int ka, int kb) {
    const double *pa[W], *qa[W], *pb[W], *qb[W], *sa[W], *sb[W];
    int32_t shape_a[W], shape_b[W];
    for (int l = 0; l < W; l++) {
        clr_row r = row_at(c, lo + order[k + l < n ? k + l : n - 1]);
        pa[l] = r.pa, qa[l] = r.qa, pb[l] = r.pb, qb[l] = r.qb;
        sa[l] = c->shapes[r.shape_a].p, sb[l] = c->shapes[r.shape_b].p;
        shape_a[l] = r.shape_a;
        shape_b[l] = r.shape_b;
    }
    VF p[4], q[4], a[4], b[4];
    ROWS(p, pa, 7)
    ROWS(q, pb, 7)
    ROWS(a, qa, 15)
    ROWS(b, qb, 15)
    V3 at = {p[0], p[1], p[2]}, bt = {q[0], q[1], q[2]}, u = {a[1], a[2], a[3]}, v = {b[1], b[2], b[3]};
    VM good = MAND(good_pose(at, a[0], u), good_pose(bt, b[0], v));

    // The rotation of B in the frame of A is that of the quaternion conj(a)·b, and
    // Rᵀt = t + 2/|a|²·(u × (u × t) − w·(u × t)).
    VF aa = FMA(a[0], a[0], T(dot)(u, u)), bb = FMA(b[0], b[0], T(dot)(v, v));
    VF w = FMA(a[0], b[0], T(dot)(u, v));
    V3 r = T(sub)(T(axpy)(a[0], v, T(scale)(-b[0], u)), T(cross)(u, v));
    VF m[9];
    T(quaternion_matrix)(SET1(2) / (aa * bb), w, r, m);
    V3 t = T(sub)(bt, at), ut = T(cross)(u, t);
    t = T(axpy)(SET1(2) / aa, T(sub)(T(cross)(u, ut), T(scale)(a[0], ut)), t);

    ROWS(p, sa, 15) // parameters
    ROWS(q, sb, 15)
    for (int l = 0; l < W; l++) sa[l] += 4, sb[l] += 4;
    ROWS(a, sa, 15) // radius, size, and the x and y of the center
    ROWS(b, sb, 15)
    V3 d = t, center_a = {SET1(0), SET1(0), SET1(0)}, center_b = center_a; // d is from center to center
    VF rounding = SET1(boolean_rounding_units(ka, kb) * 0x1p-24), offsets = SET1(0);
    if (OFF_CENTER(ka) || OFF_CENTER(kb)) { // other shapes have theirs at their origin
        VF ca[3], cb[3];
        for (int l = 0; l < W; l++) sa[l] += 2, sb[l] += 2;
        ROWS(ca, sa, 7)
        ROWS(cb, sb, 7)
        V3 o = {m[0] * cb[0] + m[1] * cb[1] + m[2] * cb[2], m[3] * cb[0] + m[4] * cb[1] + m[5] * cb[2],
                m[6] * cb[0] + m[7] * cb[1] + m[8] * cb[2]};
        center_a = (V3){ca[0], ca[1], ca[2]};
        center_b = (V3){cb[0], cb[1], cb[2]};
        d = T(sub)(T(add)(t, o), center_a);
        for (int j = 0; j < 3; j++) { offsets = offsets + MAX(ca[j], -ca[j]) + MAX(cb[j], -cb[j]); }
    }
    VF radius = a[0] + b[0], far = T(dot)(d, d);
    VF length = SQRT(far), inv = SET1(1) / (length + a[1] + b[1]);
    rounding = rounding + SET1(24 * 0x1p-53) * inv * (offsets + offsets);

    // The plane orthogonal to the initial direction.
    V3 ea = T(extents)(ka, (V3){p[0], p[1], p[2]}), eb = T(extents)(kb, (V3){q[0], q[1], q[2]});
    ea = (V3){ea.x + radius, ea.y + radius, ea.z + radius};
    V3 line = T(sounder)(T(first_direction)(ea, eb, m, d, FIRST_STATUS), d);
    line = T(scale)(inverse_length(line), line);
    const V3 first = T(scale)(-length, line),
             back = T(apply_transposed)(m, T(neg)(line)); // direction of the loop, and of B
    T(hulls) hull[2];
    T(places) hulls = {.call = c, .hull = {&hull[0], &hull[1]}, .lanes = LANES};
    for (int l = 0; l < W; l++) {
        T(put_hull)(&hull[0], l, c->shapes + shape_a[l], ka == CLR_SMALL ? ka : CLR_BOX);
        T(put_hull)(&hull[1], l, c->shapes + shape_b[l], kb == CLR_SMALL ? kb : CLR_BOX);
    }
    VF ha = T(initial_support_value)(ka, p, line), hb = T(initial_support_value)(kb, q, back);
    if (ka == CLR_SMALL) ha = T(hull_support_value)(&hulls, ka, 0, line, SET1(-INFINITY), 0) - T(dot)(center_a, line);
    if (kb == CLR_SMALL) hb = T(hull_support_value)(&hulls, kb, 1, back, SET1(-INFINITY), 0) - T(dot)(center_b, back);
    const VM apart = MAND(good, LT(FMA(radius, inv, rounding), (T(dot)(d, line) - (ha + hb)) * inv));
    unsigned valid = k + W <= n ? LANES : (1u << (n - k)) - 1, bits = MBITS(good), open = valid & ~MBITS(apart);
    for (unsigned done = valid & ~open; done; done &= done - 1) {
        const int32_t row = order[k + __builtin_ctz(done)];
        *bytes_of(c, CLR_COLUMN_STATUS, lo + row) = CLR_STATUS_SEPARATED;
        if (c->columns[CLR_COLUMN_METHOD]) *bytes_of(c, CLR_COLUMN_METHOD, lo + row) = CLR_SOLVER_GJK; // its first step
    }
    if (!open) return to;

    for (int j = 0; j < 9; j++) PACK(&s->in32[CLR_ROT + j][to], open, m[j]);
    PACK(&s->in32[CLR_TRANS][to], open, d.x * inv);
    PACK(&s->in32[CLR_TRANS + 1][to], open, d.y * inv);
    PACK(&s->in32[CLR_TRANS + 2][to], open, d.z * inv);
    for (int j = 0; j < 4; j++) {
        PACK(&s->in32[CLR_PA + j][to], open, p[j] * inv);
        PACK(&s->in32[CLR_PB + j][to], open, q[j] * inv);
    }
    if (HAS_VERTICES(ka)) PACK(&s->in32[CLR_PA + 3][to], open, inv);
    if (HAS_VERTICES(kb)) PACK(&s->in32[CLR_PB + 3][to], open, inv);
    PACK(&s->in32[CLR_STOP][to], open, SET1(STATUS_STOP) * rounding);
    PACK(&s->in32[CLR_FAR][to], open, FMA(radius, inv, rounding));
    PACK(&s->in32[CLR_NEAR][to], open, FMA(radius, inv, SET1(-2) * rounding));
    PACK(&s->in32[CLR_SUPPORT_ROUNDING][to], open, SET1(SUPPORT_ROUNDING32));
    VM none = LE(far * inv * inv, SET1(1e-18)); // no direction
    PACK(&s->in32[CLR_X][to], open, SEL(none, SET1(1), first.x * inv));
    PACK(&s->in32[CLR_X + 1][to], open, SEL(none, SET1(0), first.y * inv));
    PACK(&s->in32[CLR_X + 2][to], open, SEL(none, SET1(0), first.z * inv));
    for (int l = 0; l < W; l++) {
        s->key[to] = (uint8_t)(bits >> l & 1);
        s->row[to] = order[k + l < n ? k + l : n - 1];
        s->shape_a[to] = shape_a[l];
        s->shape_b[to] = shape_b[l];
        to += open >> l & 1;
    }
    return to;
}

// decide_by_gjk runs the loop for rows 0 to n−1 of the columns, writes the rows that it does not decide to
// *rest, and returns the new end.
static int32_t *decide_by_gjk(const clr_call *c, clr_scratch *s, int64_t lo, int n, int ka, int kb, int32_t *rest) {
    uint8_t *status = bytes_of(c, CLR_COLUMN_STATUS, lo), *method = bytes_of(c, CLR_COLUMN_METHOD, lo);
    gjk_boolean(c, s, n, ka, kb);
    for (int j = 0; j < n; j++) {
        const int row = s->row[j], known = s->key[j] && s->state[j] != CLR_OPEN;
        *rest = row;
        rest += !known;
        if (known) status[row] = s->state[j] == CLR_INSIDE ? CLR_STATUS_PENETRATING : CLR_STATUS_SEPARATED;
        if (known && method) method[row] = CLR_SOLVER_GJK;
    }
    return rest;
}

// answer_statuses answers the rows of order[0..n), relative to lo, that float32 decides. It moves the others
// to the front of order, before the rows still to be read, and returns their number.
static __attribute__((noinline)) int answer_statuses(const clr_call *c, clr_scratch *s, int64_t lo, int32_t *order,
                                                     int rows, int ka, int kb) {
    int32_t *rest = order, beyond[CLR_BLOCK], *end = beyond;
    for (int k = 0; k < rows;) {
        int n = 0;
        for (; k < rows && n <= CLR_GROUP_ROWS - W32; k += W32)
            n = boolean_frame32(c, s, lo, order, rows, k, n, ka, kb, &end);
        rest = decide_by_gjk(c, s, lo, n, ka, kb, rest);
    }
    for (int k = 0; k < end - beyond;) {
        int n = 0;
        for (; k < end - beyond && n <= CLR_GROUP_ROWS - W; k += W)
            n = boolean_frame(c, s, lo, beyond, (int)(end - beyond), k, n, ka, kb);
        rest = decide_by_gjk(c, s, lo, n, ka, kb, rest);
    }
    return (int)(rest - order);
}

#endif

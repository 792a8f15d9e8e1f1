// The separating axis test of two boxes [Gottschalk1996, sec. 5]. A template, see vec3.h; in float32
// also the Boolean query of boxes.
//
// box_axes returns the greatest separation along the fifteen axes: the face normals and the cross
// products of edges. In float32 a box pair is answered where that exceeds its rounding bound, derived
// below; the other rows go on to box_statuses (box_distance.h).

#if (REAL_BITS == 32 && !defined(CLR_BOX_AXES_32)) || (REAL_BITS == 64 && !defined(CLR_BOX_AXES_64))
#if REAL_BITS == 32
#define CLR_BOX_AXES_32
#else
#define CLR_BOX_AXES_64
#endif

#include "../isa/vec3.h"

ALWAYS VF T(size)(VF x) { return MAX(x, -x); }

// widths_a, widths_b and widths_edges are half the sum of the widths of both boxes, about their middles, along face
// normal i of A, face normal j of B, and the cross product of edges i of A and j of B: aᵢ × bⱼ = m₍ᵢ₊₁₎ⱼ·a₍ᵢ₊₂₎ −
// m₍ᵢ₊₂₎ⱼ·a₍ᵢ₊₁₎. Along the last one along_edges is the coordinate of t. q are the magnitudes of the rotation m of B.
ALWAYS VF T(widths_a)(const VF a[3], const VF b[3], const VF q[9], int i) {
    return FMA(b[2], q[3 * i + 2], FMA(b[1], q[3 * i + 1], FMA(b[0], q[3 * i], a[i])));
}
ALWAYS VF T(widths_b)(const VF a[3], const VF b[3], const VF q[9], int j) {
    return FMA(a[2], q[6 + j], FMA(a[1], q[3 + j], FMA(a[0], q[j], b[j])));
}
ALWAYS VF T(widths_edges)(const VF a[3], const VF b[3], const VF q[9], int i, int j) {
    const int i1 = (i + 1) % 3, i2 = (i + 2) % 3, j1 = (j + 1) % 3, j2 = (j + 2) % 3;
    return FMA(b[j2], q[3 * i + j1], FMA(b[j1], q[3 * i + j2], FMA(a[i2], q[3 * i1 + j], a[i1] * q[3 * i2 + j])));
}
ALWAYS VF T(along_edges)(const VF t[3], const VF m[9], int i, int j) {
    const int i1 = (i + 1) % 3, i2 = (i + 2) % 3;
    return FNMA(t[i1], m[3 * i2 + j], t[i2] * m[3 * i1 + j]);
}

// box_axes is the greatest separation of the cores along one of the fifteen axes, in units of the
// axis' length, which is at most 1: negative if the intervals intersect along all of them. shift and m
// are the origin and the rotation of B in the frame of A.
ALWAYS VF T(box_axes)(V3 half_a, V3 half_b, V3 shift, const VF m[9]) {
    const VF a[3] = {half_a.x, half_a.y, half_a.z}, b[3] = {half_b.x, half_b.y, half_b.z},
             t[3] = {shift.x, shift.y, shift.z};
    VF q[9], most = SET1(-INFINITY);
    for (int i = 0; i < 9; i++) q[i] = T(size)(m[i]);
    for (int i = 0; i < 3; i++) most = MAX(most, T(size)(t[i]) - T(widths_a)(a, b, q, i));
    for (int j = 0; j < 3; j++)
        most = MAX(most, T(size)(FMA(m[6 + j], t[2], FMA(m[3 + j], t[1], m[j] * t[0]))) - T(widths_b)(a, b, q, j));
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++)
            most = MAX(most, T(size)(T(along_edges)(t, m, i, j)) - T(widths_edges)(a, b, q, i, j));
    return most;
}

#if REAL_BITS == 32
#include "input.h"
#include "../isa/real32.h" // after a header of float64

// The Boolean query of boxes in float32. It answers nearly all rows; box_statuses answers the others.
// A template, float32.
//
// Rounding bound. Let u = 2⁻²⁴ and L = |t| + |a| + |b|, the norms of the translation and of both
// vectors of half extents. A coordinate of t has an error of at most 40 u·L, and the image of a vector
// of a box under the rotation of 50 u (input.h). So the separation along each of the six face
// normals has an error of at most 90 u·L, as ⟨t, column⟩ has both. So has that along a cross product
// of edges, where the axis in question is the exact one, of whatever length. The half extents are
// rounded to float32, by u, and sums of four terms by 5 u. The sum is below 98 u·L. L is computed as a
// sum of magnitudes, which is an upper bound, with an error of 8 u. So 128 u suffice, and include the
// float64 rounding errors before. Beyond it box_statuses would decide the same.

#define BOX_UNITS 128
_Static_assert(BOX_UNITS == (40 + 50) + 1 + 5 + 2 + 30, "the derivation above, and 30 to spare for the error of L");

// box_statuses32 answers the rows of order[0..n), at most W, that float32 decides, and returns the
// lanes of the others.
static __attribute__((noinline)) unsigned box_statuses32(const clr_call *c, int64_t lo, const int32_t *order, int n) {
    frame_shapes shapes;
    const pair_frame f = frame_of(c, lo, order, n, &shapes);
    VF p[4], q[4];
    frame_columns(c, shapes.a, 0, p); // half extents and radius
    frame_columns(c, shapes.b, 0, q);
    const V3 a = {p[0], p[1], p[2]}, b = {q[0], q[1], q[2]};
    const VF length = T(size)(f.t.x) + T(size)(f.t.y) + T(size)(f.t.z) + (a.x + a.y + a.z) + (b.x + b.y + b.z);
    const VF rounding = SET1(BOX_UNITS * 0x1p-24f) * length, most = T(box_axes)(a, b, f.t, f.m);
    const unsigned lanes = n < W ? (1u << n) - 1 : LANES;
    const unsigned good = lanes & MBITS(MAND(f.good, MAND(LT(SET1(0x1p-50f), length), LT(length, SET1(0x1p60f)))));
    const unsigned separated = good & MBITS(LT(p[3] + q[3] + rounding, most)),
                   penetrating = good & MBITS(LT(most, -rounding)), done = separated | penetrating;
    uint8_t *status = bytes_of(c, CLR_COLUMN_STATUS, lo), *method = bytes_of(c, CLR_COLUMN_METHOD, lo);
#ifdef IS_RUN
    if (n >= W && IS_RUN(order)) {
        PUT_BYTES(status + order[0], done, penetrating, CLR_STATUS_PENETRATING, CLR_STATUS_SEPARATED);
        if (method) PUT_BYTES(method + order[0], done, done, CLR_SOLVER_AXES, CLR_SOLVER_AXES);
        return lanes & ~done;
    }
#endif
    for (unsigned m = done; m; m &= m - 1) {
        const int l = __builtin_ctz(m);
        status[order[l]] = penetrating >> l & 1 ? CLR_STATUS_PENETRATING : CLR_STATUS_SEPARATED;
        if (method) method[order[l]] = CLR_SOLVER_AXES;
    }
    return lanes & ~done;
}

// boolean_boxes answers the rows of order[0..n), relative to lo, that float32 decides. It moves the
// others to the front of order and returns their number.
static int boolean_boxes(const clr_call *c, int64_t lo, int32_t *order, int rows) {
    int32_t *rest = order;
    for (int k = 0; k < rows; k += W)
        for (unsigned left = box_statuses32(c, lo, order + k, rows - k < W ? rows - k : W); left; left &= left - 1)
            *rest++ = order[k + __builtin_ctz(left)];
    return (int)(rest - order);
}
#endif

#if REAL_BITS == 64
#include "closed_rows.h"
#include "store.h"

// Penetration depths of boxes by separating axes, one pair per lane. Float64.
//
// D = A − B of two boxes is the sum of six segments, and the normals of its facets are among the
// fifteen axes of the separating axis test [Gottschalk1996, sec. 5]. So the depth is the least
// penetration along one of these axes: the others never have less, and flat boxes are no exception.
//
// With the half widths w_A and w_B of the boxes and the distance t of their centers, over the fifteen axes n:
//
//	depth = min (w_A(n) + w_B(n) − |⟨n, t⟩|)/|n|
//	upper = h_D(n) for the unit vector n of the best axis, evaluated again
//	lower = min over all axes of their penetration minus its rounding bound: ρ for a face normal, 4ρ/l for a cross
//	        product of length l (closed_forms.h derives the 4)
//
// Input: a box_pair, its rounding bound and the gap `stop` to reach. Output: lane_depths (store.h).
//
// Edges that are parallel up to rounding have no axis. As in closed_forms.h, if every cross product is
// either shorter than ALIGNED or longer than CROSSED, a rotation of B by at most φ = 2·ALIGNED makes
// the short ones zero. It changes the depth and each penetration by at most φ·size·(1 + 2/CROSSED) <
// 5e-13·size.
//
// Lanes are not ok if their gap exceeds `stop`, or if their contact is neither a vertex with a face nor two edges; EPA
// answers them.

#define ALIGNED 1e-14
#define CROSSED 0.1
#define ALIGNED_ERROR 5e-13

// box_contact computes the points a and b, in the frames of the boxes, whose difference is the point `at` of the facet
// of D with normal n. The difference is that of the point of a face of A and a vertex of B where by_a is set, of the
// point where edges e of A and f of B meet where by_edge is set, else of a vertex of A and the point of a face of B.
// They are clamped to the boxes: a point beside that facet is another one of D. d is n in the frame of B.
ALWAYS void box_contact(const box_pair *p, V3 n, V3 d, V3 at, V3 e, V3 f, VM by_a, VM by_edge, V3 *a, V3 *b) {
    const VF one = SET1(1);
    const V3 shift = p->t;
    V3 pa = {COPYSIGN(p->a.x, n.x), COPYSIGN(p->a.y, n.y), COPYSIGN(p->a.z, n.z)};
    V3 pb = {-COPYSIGN(p->b.x, d.x), -COPYSIGN(p->b.y, d.y), -COPYSIGN(p->b.z, d.z)};
    // For a face: the point of it that the other box's vertex touches. For edges: the closest points.
    // With r = at − (pa − pb), taken from the midpoints of the edges, r = x·e − y·f along both.
    V3 world_b = T(add)(T(apply)(p->m, pb), shift);
    V3 on_a = T(add)(at, world_b), on_b = T(apply_transposed)(p->m, T(sub)(T(sub)(pa, at), shift));
    V3 middle_a = {FNMA(e.x, pa.x, pa.x), FNMA(e.y, pa.y, pa.y), FNMA(e.z, pa.z, pa.z)};
    V3 middle_b = {FNMA(f.x, pb.x, pb.x), FNMA(f.y, pb.y, pb.y), FNMA(f.z, pb.z, pb.z)};
    V3 edge_b = T(apply)(p->m, f);
    V3 r = T(add)(T(sub)(at, middle_a), T(add)(T(apply)(p->m, middle_b), shift));
    VF c = T(dot)(e, edge_b), re = T(dot)(r, e), rf = T(dot)(r, edge_b), inv = one / MAX(FNMA(c, c, one), SET1(1e-30));
    VF x = FNMA(c, rf, re) * inv, y = FNMA(rf, one, c * re) * inv;
    pa = T(sel)(by_edge, T(axpy)(x, e, middle_a), T(sel)(by_a, on_a, pa));
    pb = T(sel)(by_edge, T(axpy)(y, f, middle_b), T(sel)(by_a, pb, on_b));
    *a = (V3){clamped(pa.x, p->a.x), clamped(pa.y, p->a.y), clamped(pa.z, p->a.z)};
    *b = (V3){clamped(pb.x, p->b.x), clamped(pb.y, p->b.y), clamped(pb.z, p->b.z)};
}

ALWAYS lane_depths box_depths(const box_pair *p, VF rounding, VF stop) {
    const VF zero = SET1(0), one = SET1(1), error = SET1(4) * rounding;
    const VF a[3] = {p->a.x, p->a.y, p->a.z}, b[3] = {p->b.x, p->b.y, p->b.z}, t[3] = {p->t.x, p->t.y, p->t.z};
    VF q[9], u[3];
    const VF *m = p->m;
    for (int i = 0; i < 9; i++) q[i] = magnitude(m[i]);
    for (int j = 0; j < 3; j++) u[j] = FMA(m[6 + j], t[2], FMA(m[3 + j], t[1], m[j] * t[0]));

    // The best axis n, and its type: a face normal of A, one of B, or the product of edges e of A and f of B.
    VF best = SET1(1e300), low = best;
    V3 n = {one, zero, zero}, e = n, f = n;
    VM by_a = LT(zero, one), by_edge = LT(one, zero), parallel = by_edge, slanted = by_edge;
    for (int i = 0; i < 3; i++) {
        VF o = T(widths_a)(a, b, q, i) - magnitude(t[i]);
        VM less = LT(o, best);
        VF sign = COPYSIGN(one, t[i]);
        n = T(sel)(less, (V3){i == 0 ? sign : zero, i == 1 ? sign : zero, i == 2 ? sign : zero}, n);
        best = MIN(o, best);
    }
    for (int j = 0; j < 3; j++) {
        VF o = T(widths_b)(a, b, q, j) - magnitude(u[j]);
        VM less = LT(o + error, best);
        VF sign = COPYSIGN(one, u[j]);
        n = T(sel)(less, (V3){sign * m[j], sign * m[3 + j], sign * m[6 + j]}, n);
        by_a = MANDN(by_a, less);
        low = MIN(o, low);
        best = SEL(less, o, best);
    }
    low = MIN(low, best) - error;
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) {
            const int i1 = (i + 1) % 3, i2 = (i + 2) % 3;
            VF x1 = m[3 * i1 + j], x2 = m[3 * i2 + j], dot = T(along_edges)(t, m, i, j);
            VF o = T(widths_edges)(a, b, q, i, j) - magnitude(dot);
            VF l2 = FMA(x1, x1, x2 * x2), r = RSQRT(MAX(l2, SET1(ALIGNED * ALIGNED)));
            VM is_short = LT(l2, SET1(ALIGNED * ALIGNED)), is_long = LT(SET1(CROSSED * CROSSED), l2);
            parallel = MOR(parallel, is_short);
            slanted = MOR(slanted, MANDN(MANDN(LE(l2, l2), is_long), is_short));
            low = SEL(is_short, low, MIN((o - error) * r, low));
            VF unit = o * r;
            VM less = MANDN(LT(FMA(error, r, unit), best), is_short);
            VF sign = COPYSIGN(r, dot);
            VF along[3]; // the unit vector, outward
            along[i] = zero;
            along[i1] = -(sign * x2);
            along[i2] = sign * x1;
            V3 axis = {along[0], along[1], along[2]};
            n = T(sel)(less, axis, n);
            e = T(sel)(less, (V3){i == 0 ? one : zero, i == 1 ? one : zero, i == 2 ? one : zero}, e);
            f = T(sel)(less, (V3){j == 0 ? one : zero, j == 1 ? one : zero, j == 2 ? one : zero}, f);
            by_edge = MOR(by_edge, less);
            best = SEL(less, unit, best);
        }
    VF size = SQRT(FMA(a[2], a[2], FMA(a[1], a[1], a[0] * a[0]))) + SQRT(FMA(b[2], b[2], FMA(b[1], b[1], b[0] * b[0])));
    low = SEL(parallel, FNMA(SET1(ALIGNED_ERROR), size, low), low);

    n = T(scale)(inverse_length(n), n);
    V3 d = T(apply_transposed)(p->m, n), shift = p->t, pa, pb;
    lane_depths out;
    out.high = FMA(a[2], magnitude(n.z), FMA(a[1], magnitude(n.y), a[0] * magnitude(n.x))) +
               FMA(b[2], magnitude(d.z), FMA(b[1], magnitude(d.y), b[0] * magnitude(d.x))) - T(dot)(n, shift);
    V3 projection = T(scale)(out.high, n);
    box_contact(p, n, d, projection, e, f, by_a, by_edge, &pa, &pb);
    out.near = T(sub)(pa, T(add)(T(apply)(p->m, pb), shift));
    V3 side = T(sub)(out.near, projection);
    out.off = SQRT(T(dot)(side, side));
    out.low = low;
    out.n = n;
    out.a = pa;
    out.ok = MAND(MAND(LE(out.high - low, stop), LE(out.off, stop)), MAND(LT(rounding, low), is_unit(n)));
    out.ok = MANDN(out.ok, MAND(parallel, slanted));
    return out;
}

#undef ALIGNED
#undef CROSSED
#undef ALIGNED_ERROR
#endif

#endif

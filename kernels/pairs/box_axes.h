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
#include "pose_float32.h"

// The Boolean query of boxes in float32. It answers nearly all rows; box_statuses answers the others.
// A template, float32.
//
// Rounding bound. Let u = 2⁻²⁴ and L = |t| + |a| + |b|, the norms of the translation and of both
// vectors of half extents. A coordinate of t has an error of at most 40 u·L, and the image of a vector
// of a box under the rotation of 50 u (pose_float32.h). So the separation along each of the six face
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

#endif

// The pose of B in the frame of A, in float32, for Boolean queries. A template, float32.
//
// Positions are subtracted in float64, since only this difference cancels. With u = 2⁻²⁴, the error of the
// rotation is at most 50 u in the operator norm, and the error of the translation at most 40 u of its length.
//
// Rotation. Each component of a quaternion is rounded by u. A component of the product of two unit quaternions
// is a sum of four terms. Their relative errors are 2 u from the rounded components and 4 u from the sum, or 3 u
// for the three last terms. The terms sum up to at most 1 in magnitude (Cauchy-Schwarz), so the error of
// the product is at most √(6² + 3·5²) u < 11 u, and that of its rotation twice as large. The matrix is the rotation of
// this product, whatever its length. The error of the squared length is 4 u and that of the reciprocal 4 u, which
// scales R − 1, of norm at most 2, by 8 u. Products, their sum and the last product round the
// entries by 3 u of s(|xy| + |wz|), s(yy + zz), …, whose squares sum up to at most 12, and the
// diagonal is rounded by u once more. Together 22 + 16 + 10.4 + 1 u < 50 u.
//
// Translation. Rᵀt = t + s·(v × (v × t) − w·(v × t)), s = 2/|a|². The terms of a cross product are rounded by 2 u
// and have norms of at most √2·|v||t|: 2.9 u. With the difference, the error of the first term is 6.7 u of
// |v|²|t| and that of the second 4.9 u of |v|w|t|, together at most 7.5 u of |t|. This counts twice; the error of s is
// 8 u of R − 1 again, that of the sum 3 u, of the quaternion 2 u and of t itself 1 u: 15 + 16 + 6 u < 40 u.
//
// The squared lengths of both quaternions have to lie within 2^±60, and the distance of the origins above 2⁻⁵⁰,
// so that nothing overflows or underflows in float32. Other rows are solved in float64.

#ifndef CLR_POSE_FLOAT32_H
#define CLR_POSE_FLOAT32_H

#include "../isa/real32.h"
#include "input.h"
#include "../isa/real32.h"
#include "../isa/vec3.h"
#include <string.h>

typedef struct {
    VF m[9]; // rotation of B in the frame of A
    V3 t;    // origin of B there
    VM good; // quaternions and positions are in range; the length of t is not checked
} pair_frame;

// frame_shapes are the shapes of W rows.
typedef struct {
    int32_t a[W], b[W];
} frame_shapes;

// far_rows are the lanes of W rows whose positions are out of range.
static __attribute__((noinline, cold)) unsigned far_rows(const clr_call *c, int64_t lo, const int32_t *order, int n) {
    unsigned far = 0;
    for (int l = 0; l < W; l++) {
        const clr_row r = row_at(c, lo + order[l < n ? l : n - 1]);
        for (int j = 0; j < 3; j++)
            far |= (unsigned)!(fabs(r.pa[j]) <= CLR_MAX_LENGTH && fabs(r.pb[j]) <= CLR_MAX_LENGTH) << l;
    }
    return far;
}

// frame_of reads rows order[0..n) of the input, relative to lo. Lanes beyond n repeat the last row.
ALWAYS pair_frame frame_of(const clr_call *c, int64_t lo, const int32_t *order, int n, frame_shapes *shapes) {
    pair_frame f;
    VF p[4], a[4], b[4];
    int far;
#ifdef IS_RUN
    if (n >= W && !c->poses && IS_RUN(order)) {
        const int64_t i = lo + order[0];
        memcpy(shapes->a, c->shape_a + i, sizeof shapes->a);
        memcpy(shapes->b, c->shape_b + i, sizeof shapes->b);
        far = RUN_DIFFERENCES(p, c->position_b + 3 * i, c->position_a + 3 * i, CLR_MAX_LENGTH);
        RUN_NARROWED(a, c->rotation_a + 4 * i);
        RUN_NARROWED(b, c->rotation_b + 4 * i);
    } else
#endif
    {
        const double *pa[W], *qa[W], *pb[W], *qb[W];
        for (int l = 0; l < W; l++) {
            const clr_row r = row_at(c, lo + order[l < n ? l : n - 1]);
            pa[l] = r.pa, qa[l] = r.qa, pb[l] = r.pb, qb[l] = r.qb;
            shapes->a[l] = r.shape_a;
            shapes->b[l] = r.shape_b;
        }
        far = DIFFERENCES(p, pb, pa, CLR_MAX_LENGTH);
        NARROWED(a, qa);
        NARROWED(b, qb);
    }
    // The rotation of B in the frame of A is that of the quaternion conj(a)·b, and
    // Rᵀt = t + 2/|a|²·(u × (u × t) − w·(u × t)).
    const VF least = SET1(0x1p-60f), most = SET1(0x1p60f);
    const V3 t = {p[0], p[1], p[2]}, u = {a[1], a[2], a[3]}, v = {b[1], b[2], b[3]};
    const VF aa = FMA(a[0], a[0], T(dot)(u, u)), w = FMA(a[0], b[0], T(dot)(u, v));
    const V3 r = T(sub)(T(axpy)(a[0], v, T(scale)(-b[0], u)), T(cross)(u, v));
    const VF qq = FMA(w, w, T(dot)(r, r));
    f.good = MAND(MAND(LT(least, aa), LT(aa, most)), MAND(LT(least, qq), LT(qq, most)));
    if (far) f.good = MANDN(f.good, MFROM(far_rows(c, lo, order, n)));
    T(quaternion_matrix)(SET1(2) * RCP(qq), w, r, f.m);
    const V3 ut = T(cross)(u, t);
    f.t = T(axpy)(SET1(2) * RCP(aa), T(sub)(T(cross)(u, ut), T(scale)(a[0], ut)), t);
    return f;
}

// frame_columns loads four values of the shapes of all lanes, from element `at` on, into columns.
ALWAYS void frame_columns(const clr_call *c, const int32_t shape[W], int at, VF out[4]) {
    const float *row[W];
    for (int l = 0; l < W; l++) row[l] = c->shapes32[shape[l]].p + at;
    ROWS(out, row, 15)
}

#endif

// The pose of B in the frame of A, in float32, for Boolean rows. A template, float32.
//
// Positions are subtracted in float64; only there anything cancels. What follows differs from the
// truth by at most 50 u for the rotation, as an operator, and by 40 u of its length for the
// translation, u = 2⁻²⁴:
//
// A quaternion is rounded by u of each component. A component of the product of two of length
// 1 is a sum of four terms, which are off by 2 u for that and by 4 u for the sum, or 3 u of the three
// last ones. The terms sum up to 1 at most in magnitude (Cauchy), so that the product is off by
// √(6² + 3·5²) u < 11 u, and its rotation by twice that. The matrix is that of this
// product, of whatever length: the square of that is off by 4 u and the reciprocal by 4 u, which
// scales R − 1, of norm 2 at most, by 8 u; products, their sum and the last product round
// entries by 3 u of s(|xy| + |wz|), s(yy + zz) and so on, whose squares sum up to 12 at most, and the
// diagonal by u once more. Together 22 + 16 + 10.4 + 1 u < 50 u.
//
// The translation t is turned back by t + s·(v × (v × t) − w·(v × t)), s = 2/|a|². Terms of a cross
// product round by 2 u, and are at most √2·|v||t| long: 2.9 u. So of the first |v|² and of the second
// |v|·w is off by 6.7 and 4.9 u with the difference, 7.5 u of |t| together at most. That counts twice, s by 8 u
// of R − 1 again, the sum by 3 u, the quaternion by 2 u and t itself by 1: 15 + 16 + 6 u < 40 u.
//
// Squares of both quaternions must be within 2^±60, and lengths above 2⁻⁵⁰, so that no number
// that counts nears an end of the range of float32. Rows where they are not are float64's.

#ifndef CLR_POSE_FLOAT32_H
#define CLR_POSE_FLOAT32_H

#include "real32.h"
#include "input.h"
#include "real32.h"
#include "vec3.h"
#include <string.h>

typedef struct {
    VF m[9]; // rotation of B in the frame of A
    V3 t;    // origin of B there
    VM good; // within range, but for the length of t
} pair_frame;

// frame_shapes are the shapes of W rows.
typedef struct {
    int32_t a[W], b[W];
} frame_shapes;

// far_rows are those of W rows whose positions are out of range.
static __attribute__((noinline, cold)) unsigned far_rows(const clr_call *c, int64_t lo, const int32_t *order, int n) {
    unsigned far = 0;
    for (int l = 0; l < W; l++) {
        const clr_row r = row_at(c, lo + order[l < n ? l : n - 1]);
        for (int j = 0; j < 3; j++)
            far |= (unsigned)!(fabs(r.pa[j]) <= CLR_MAX_LENGTH && fabs(r.pb[j]) <= CLR_MAX_LENGTH) << l;
    }
    return far;
}

// frame_of reads rows order[0..n) of the input, relative to lo; lanes beyond n repeat the last
// row.
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

// frame_columns are four values of the shapes of all lanes, `at` elements behind their first.
ALWAYS void frame_columns(const clr_call *c, const int32_t shape[W], int at, VF out[4]) {
    const float *row[W];
    for (int l = 0; l < W; l++) row[l] = c->shapes32[shape[l]].p + at;
    ROWS(out, row, 15)
}

#endif

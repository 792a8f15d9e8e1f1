// Supporting features of cores, class by class: what a core looks like at a support point, to the second order. The
// reference is feature.go of package derive, whose formulas these are.

#ifndef CLR_DERIVE_CORES_H
#define CLR_DERIVE_CORES_H

#include "rows.h"

// local is a feature in the frame of its core, without the ball.
typedef struct {
    V3 x;
    V3 t[2];       // orthonormal basis of the feature where it is flat
    VM edge;       // whether it has a direction: t[0]
    VM face;       // whether it has two
    VF angle;      // the largest by which a part of the feature is lower than its support plane
    VF inside;     // metres by which x lies inside the feature, negative outside; +inf of a vertex
    V3 round;      // unit vector: the Hessian is curvature · round · roundᵀ
    VF curvature;  // metres
    flat_matrix h; // of ellipsoids, the Hessian in the basis e
    VM ok;         // false where the kernel does not support the feature
} local;

#define FAR __builtin_inf()

ALWAYS local vertex_at(V3 x) {
    const VM none = MFROM(0);
    const V3 zero = {SET1(0), SET1(0), SET1(0)};
    return (local){.x = x,
                   .t = {zero, zero},
                   .edge = none,
                   .face = none,
                   .angle = SET1(0),
                   .inside = SET1(FAR),
                   .round = zero,
                   .curvature = SET1(0),
                   .h = {SET1(0), SET1(0), SET1(0)},
                   .ok = MFROM(LANES)};
}

// segment is a core along local z.
ALWAYS void segment_feature(local *l, VF half, V3 d, V3 hint, VF theta) {
    VM level = MAND(LT(SET1(0), half), LE(magnitude(d.z), theta));
    *l = vertex_at((V3){SET1(0), SET1(0), SEL(level, hint.z, COPYSIGN(half, d.z))});
    l->edge = level;
    l->t[0].z = where(level, SET1(1));
    l->angle = where(level, magnitude(d.z));
    l->inside = SEL(level, half - magnitude(hint.z), SET1(FAR));
}

ALWAYS void box_feature(local *l, const VF half[3], V3 d, V3 hint, VF theta) {
    const VF component[3] = {d.x, d.y, d.z}, along[3] = {hint.x, hint.y, hint.z};
    VF x[3], t0[3], t1[3];
    *l = vertex_at((V3){SET1(0), SET1(0), SET1(0)});
    for (int k = 0; k < 3; k++) {
        VM level = MANDN(LE(magnitude(component[k]), theta), l->face);
        x[k] = SEL(level, along[k], COPYSIGN(half[k], component[k]));
        t0[k] = where(MANDN(level, l->edge), SET1(1));
        t1[k] = where(MAND(level, l->edge), SET1(1));
        l->face = MOR(l->face, MAND(level, l->edge));
        l->angle = MAX(l->angle, where(level, magnitude(component[k])));
        l->edge = MOR(l->edge, level);
        l->inside = SEL(level, MIN(l->inside, half[k] - magnitude(along[k])), l->inside);
    }
    l->x = (V3){x[0], x[1], x[2]};
    l->t[0] = (V3){t0[0], t0[1], t0[2]};
    l->t[1] = (V3){t1[0], t1[1], t1[2]};
}

// frustum is a core between discs of radius bottom and top at z = ∓half.
ALWAYS void frustum_feature(local *l, VF bottom, VF top, VF half, V3 d, V3 hint, VF theta) {
    VF rho = SQRT(FMA(d.y, d.y, d.x * d.x)), slope = FMA(2 * half, d.z, (top - bottom) * rho);
    VM up = LE(SET1(0), slope);
    VF r = SEL(up, top, bottom), z = SEL(up, half, -half);
    VM disc = MAND(LE(rho, theta), LT(SET1(0), r)), apex = MANDN(EQ(rho, SET1(0)), disc),
       other = MANDN(NOT(disc), apex);
    VF over = 1 / SEL(other, rho, SET1(1));
    V3 out = {where(other, d.x * over), where(other, d.y * over), SET1(0)};
    VF length = SQRT(FMA(4 * half, half, (top - bottom) * (top - bottom)));
    VM wall = MAND(other, LE(magnitude(slope), theta * length));
    z = SEL(wall, hint.z, z);
    r = SEL(wall, bottom + (top - bottom) * (z + half) / (2 * half), r);
    *l = vertex_at((V3){SEL(disc, hint.x, r * out.x), SEL(disc, hint.y, r * out.y), z});
    VF cosine = (top - bottom) / length;
    l->t[0] = (V3){SEL(disc, SET1(1), where(wall, cosine * out.x)), where(wall, cosine * out.y),
                   where(wall, 2 * half / length)};
    l->t[1].y = where(disc, SET1(1));
    l->edge = MOR(disc, wall);
    l->face = disc;
    l->angle = SEL(disc, rho, where(wall, magnitude(slope) / length));
    l->inside = SEL(disc, r - SQRT(FMA(hint.y, hint.y, hint.x * hint.x)),
                    SEL(wall, (half - magnitude(z)) * length / (2 * half), SET1(FAR)));
    l->round = (V3){-out.y, out.x, SET1(0)};
    l->curvature = where(other, MAX(r, SET1(0)) * over);
}

// ellipsoid: with A the diagonal of semi-axes, h = |A·d| and m = A·d/h, the Hessian along e and f is
// (A·e × m)·(A·f × m)/h, which does not cancel.
ALWAYS void ellipsoid_feature(local *l, const VF a[3], V3 d, V3 e0, V3 e1) {
    V3 m = {a[0] * d.x, a[1] * d.y, a[2] * d.z};
    VF over = 1 / SQRT(dot64(m, m));
    m = scale64(over, m);
    *l = vertex_at((V3){a[0] * m.x, a[1] * m.y, a[2] * m.z});
    V3 p = cross64((V3){a[0] * e0.x, a[1] * e0.y, a[2] * e0.z}, m);
    V3 q = cross64((V3){a[0] * e1.x, a[1] * e1.y, a[2] * e1.z}, m);
    l->h = (flat_matrix){over * dot64(p, p), over * dot64(p, q), over * dot64(q, q)};
    l->ok = MAND(LE(SET1(0), l->h.xx + l->h.yy), is_finite(l->h.xx + l->h.yy));
}

ALWAYS void halfspace_feature(local *l, V3 hint) {
    *l = vertex_at((V3){hint.x, hint.y, SET1(0)});
    l->t[0].x = l->t[1].y = SET1(1);
    l->edge = l->face = MFROM(LANES);
}

// Support values of cores in a direction of their frames.
ALWAYS VF ellipsoid_support(const VF a[3], V3 d) {
    V3 m = {a[0] * d.x, a[1] * d.y, a[2] * d.z};
    return SQRT(dot64(m, m));
}
ALWAYS VF box_support(const VF half[3], V3 d) {
    return FMA(half[2], magnitude(d.z), FMA(half[1], magnitude(d.y), half[0] * magnitude(d.x)));
}

#endif

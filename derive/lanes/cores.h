// Supporting features of cores, class by class: what a core looks like at a support point, to the second order. The
// reference is feature.go of package derive, whose formulas these are.

#ifndef LN_CORES_H
#define LN_CORES_H

#include "rows.h"

// local is a feature in the frame of its core, without the ball.
typedef struct {
    v3 x;
    v3 t[2];      // orthonormal basis of the feature where it is flat
    vm edge;      // whether it has a direction: t[0]
    vm face;      // whether it has two
    vd angle;     // the largest by which a part of the feature is lower than its support plane
    vd inside;    // metres by which x lies inside the feature, negative outside; +inf of a vertex
    v3 round;     // unit vector: the Hessian is curvature · round · roundᵀ
    vd curvature; // metres
    s2 h;         // of ellipsoids, the Hessian in the basis e
    vm ok;        // false where the kernel does not support the feature
} local;

#define FAR __builtin_inf()

INLINE local vertex_at(v3 x) {
    vm none = {0};
    v3 zero = {0};
    return (local){.x = x,
                   .t = {zero, zero},
                   .edge = none,
                   .face = none,
                   .angle = all(0),
                   .inside = all(FAR),
                   .round = zero,
                   .curvature = all(0),
                   .h = {all(0), all(0), all(0)},
                   .ok = ~none};
}

// segment is a core along local z.
INLINE void segment_feature(local *l, vd half, v3 d, v3 hint, vd theta) {
    vm flat = (half > 0) & (magnitude(d.z) <= theta);
    *l = vertex_at((v3){all(0), all(0), pick(flat, hint.z, with_sign(half, d.z))});
    l->edge = flat;
    l->t[0].z = where(flat, all(1));
    l->angle = where(flat, magnitude(d.z));
    l->inside = pick(flat, half - magnitude(hint.z), all(FAR));
}

INLINE void box_feature(local *l, const vd half[3], v3 d, v3 hint, vd theta) {
    const vd component[3] = {d.x, d.y, d.z}, along[3] = {hint.x, hint.y, hint.z};
    vd x[3], t0[3], t1[3];
    *l = vertex_at((v3){all(0), all(0), all(0)});
    for (int k = 0; k < 3; k++) {
        vm flat = (magnitude(component[k]) <= theta) & ~l->face;
        x[k] = pick(flat, along[k], with_sign(half[k], component[k]));
        t0[k] = where(flat & ~l->edge, all(1));
        t1[k] = where(flat & l->edge, all(1));
        l->face |= flat & l->edge;
        l->angle = greater(l->angle, where(flat, magnitude(component[k])));
        l->edge |= flat;
        l->inside = pick(flat, lesser(l->inside, half[k] - magnitude(along[k])), l->inside);
    }
    l->x = (v3){x[0], x[1], x[2]};
    l->t[0] = (v3){t0[0], t0[1], t0[2]};
    l->t[1] = (v3){t1[0], t1[1], t1[2]};
}

// frustum is a core between discs of radius bottom and top at z = ∓half.
INLINE void frustum_feature(local *l, vd bottom, vd top, vd half, v3 d, v3 hint, vd theta) {
    vd rho = root(d.x * d.x + d.y * d.y), slope = (top - bottom) * rho + 2 * half * d.z;
    vm up = slope >= 0;
    vd r = pick(up, top, bottom), z = pick(up, half, -half);
    vm disc = (rho <= theta) & (r > 0), apex = ~disc & (rho == 0), other = ~disc & ~apex;
    vd over = 1 / pick(other, rho, all(1));
    v3 out = {where(other, d.x * over), where(other, d.y * over), all(0)};
    vd length = root((top - bottom) * (top - bottom) + 4 * half * half);
    vm wall = other & (magnitude(slope) <= theta * length);
    z = pick(wall, hint.z, z);
    r = pick(wall, bottom + (top - bottom) * (z + half) / (2 * half), r);
    *l = vertex_at((v3){pick(disc, hint.x, r * out.x), pick(disc, hint.y, r * out.y), z});
    vd cosine = (top - bottom) / length;
    l->t[0] = (v3){pick(disc, all(1), where(wall, cosine * out.x)), where(wall, cosine * out.y),
                   where(wall, 2 * half / length)};
    l->t[1].y = where(disc, all(1));
    l->edge = disc | wall;
    l->face = disc;
    l->angle = pick(disc, rho, where(wall, magnitude(slope) / length));
    l->inside = pick(disc, r - root(hint.x * hint.x + hint.y * hint.y),
                     pick(wall, (half - magnitude(z)) * length / (2 * half), all(FAR)));
    l->round = (v3){-out.y, out.x, all(0)};
    l->curvature = where(other, greater(r, all(0)) * over);
}

// ellipsoid: with A the diagonal of semi-axes, h = |A·d| and m = A·d/h, the Hessian along e and f is
// (A·e × m)·(A·f × m)/h, which does not cancel.
INLINE void ellipsoid_feature(local *l, const vd a[3], v3 d, v3 e0, v3 e1) {
    v3 m = {a[0] * d.x, a[1] * d.y, a[2] * d.z};
    vd over = 1 / root(dot3(m, m));
    m = scale3(over, m);
    *l = vertex_at((v3){a[0] * m.x, a[1] * m.y, a[2] * m.z});
    v3 p = cross3((v3){a[0] * e0.x, a[1] * e0.y, a[2] * e0.z}, m);
    v3 q = cross3((v3){a[0] * e1.x, a[1] * e1.y, a[2] * e1.z}, m);
    l->h = (s2){over * dot3(p, p), over * dot3(p, q), over * dot3(q, q)};
    l->ok = (l->h.xx + l->h.yy >= 0) & is_finite(l->h.xx + l->h.yy);
}

INLINE void halfspace_feature(local *l, v3 hint) {
    *l = vertex_at((v3){hint.x, hint.y, all(0)});
    l->t[0].x = l->t[1].y = all(1);
    l->edge = l->face = lanes(15);
}

// Support values of cores in a direction of their frames.
INLINE vd ellipsoid_support(const vd a[3], v3 d) {
    v3 m = {a[0] * d.x, a[1] * d.y, a[2] * d.z};
    return root(dot3(m, m));
}
INLINE vd box_support(const vd half[3], v3 d) {
    return half[0] * magnitude(d.x) + half[1] * magnitude(d.y) + half[2] * magnitude(d.z);
}
#endif

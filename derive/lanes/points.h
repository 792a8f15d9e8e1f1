// Support points of cores in a direction of their frames, which need not be unit. The reference is package geom.

#ifndef LN_POINTS_H
#define LN_POINTS_H

#include "powers.h"

INLINE v3 frustum_point(const vd p[3], v3 d) {
    vd rho = root(d.x * d.x + d.y * d.y);
    vm up = (p[1] - p[0]) * rho + 2 * p[2] * d.z >= 0;
    vd k = pick(up, p[1], p[0]) / pick(rho > 0, rho, all(1));
    return (v3){k * d.x, k * d.y, pick(up, p[2], -p[2])};
}

INLINE v3 ellipsoid_point(const vd a[3], v3 d) {
    v3 m = {a[0] * d.x, a[1] * d.y, a[2] * d.z};
    m = scale3(1 / root(dot3(m, m)), m);
    return (v3){a[0] * m.x, a[1] * m.y, a[2] * m.z};
}

INLINE v3 superquadric_point(const side *s, v3 d) {
    vd least = all(LEAST_SUPPORT);
    vd u = greater(s->p[0] * magnitude(d.x), least), v = greater(s->p[1] * magnitude(d.y), least);
    split2 across = norm2(u, v, power_parameter(s, 1));
    split2 along = norm2(across.norm, greater(s->p[2] * magnitude(d.z), least), power_parameter(s, 0));
    return (v3){with_sign(s->p[0], d.x) * (along.gu * across.gu), with_sign(s->p[1], d.y) * (along.gu * across.gv),
                with_sign(s->p[2], d.z) * along.gv};
}

INLINE v3 smooth_hull_point(const ln_call *c, const side *s, v3 d, int active) {
    v3 x = {s->p[0], s->p[1], s->p[2]};
    for (; active != 0; active &= active - 1) {
        int i = __builtin_ctz((unsigned)active);
        const double one[3] = {d.x[i], d.y[i], d.z[i]};
        powered g = power_point(c, s->shape[i], one);
        x.x[i] += g.x[0], x.y[i] += g.x[1], x.z[i] += g.x[2];
    }
    return x;
}

INLINE v3 revolution_point(const ln_call *c, const side *s, v3 d, int active) {
    const vd root_of = root(power_parameter(s, 1)), axes[3] = {all(1), all(1), root_of};
    v3 slope = ellipsoid_point(axes, d);
    vd rho = dot3(slope, d), radial = all(0), axial = all(0);
    for (; active != 0; active &= active - 1) {
        int i = __builtin_ctz((unsigned)active);
        const double one[3] = {rho[i], d.z[i], 0};
        powered g = power_point(c, s->shape[i], one);
        radial[i] = g.x[0], axial[i] = g.x[1];
    }
    return (v3){radial * slope.x, radial * slope.y, radial * slope.z + axial};
}

// core_point is the support point of any core but a half-space and a hull.
INLINE v3 core_point(const ln_call *c, const side *s, int class, v3 d, int active) {
    v3 zero = {all(0), all(0), all(0)};
    switch (class) {
    case LN_SEGMENT: return (v3){all(0), all(0), with_sign(s->p[0], d.z)};
    case LN_BOX: return (v3){with_sign(s->p[0], d.x), with_sign(s->p[1], d.y), with_sign(s->p[2], d.z)};
    case LN_FRUSTUM: return frustum_point(s->p, d);
    case LN_ELLIPSOID: return ellipsoid_point(s->p, d);
    case LN_SUPERQUADRIC: return superquadric_point(s, d);
    case LN_SMOOTH_HULL: return smooth_hull_point(c, s, d, active);
    case LN_SMOOTH_REVOLUTION: return revolution_point(c, s, d, active);
    }
    return zero;
}

#endif

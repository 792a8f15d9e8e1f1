// Lower bounds of the Hessians of support functions with powers over caps of directions d + y, |y| ≤ t: those of
// package geom (HessianBounds, hessian_bounds.go) with one ring. The support
// function f rises along y by at least ½yᵀKy above its linear part; K is a form on the tangent plane of a and b. Every
// bound is reduced by CAP_LOSS for its rounding.

#ifndef LN_CAPS_H
#define LN_CAPS_H

#include "points.h"

#define CAP_LOSS (1 - 1e-9)
#define STEEPEST 0.5 // the largest part of f that its linear part may lose

INLINE vd power_of(vd x, vd k) { return power_of_e(lesser(k * logarithm(greater(x, all(1e-100))), all(700))); }

// norm_cap is a norm (u^p + v^p)^(1/p), p = 2/(2 - α), at unit norm, with its gradient; see geom.normCap.
typedef struct {
    vd u, v, alpha, gu, gv;
    vd area, slope; // |ω|/g² and the tangential part of the gradient over g
} norm_cap;

// lowest returns the least second derivative over a cap, and the least of ∂g/∂u.
INLINE vd lowest(const norm_cap *c, vd t, vd *least_gu) {
    vd p = 2 / (2 - c->alpha), r = t * c->slope, zero = all(0);
    vm narrow = r <= STEEPEST;
    vd m = t * c->area / (1 - r), du = m * c->gv, dv = m * c->gu, low_u = c->u - du, low_v = c->v - dv;
    vd tiny = all(1e-100);
    split2 up = norm2(greater(c->u + du, tiny), greater(magnitude(c->v - dv), tiny), c->alpha);
    split2 down = norm2(greater(magnitude(c->u - du), tiny), greater(c->v + dv, tiny), c->alpha);
    vd most = greater(up.norm, down.norm), high = (c->u + du) * (c->v + dv);
    vd low = lesser(low_u * (c->v + dv), (c->u + du) * low_v);
    vd product = pick(p > 2, where((low_u > 0) & (low_v > 0), power_of(low, p - 2)), power_of(high, p - 2));
    product = pick(p == 2, all(1), product);
    *least_gu = where(narrow & (low_u > 0), power_of(greater(low_u, zero) / most, p - 1));
    return where(narrow, (p - 1) * product * power_of(most, 1 - 2 * p) * CAP_LOSS);
}

INLINE vd length3(v3 a) { return root(dot3(a, a)); }

// superquadric_cap is K of four superquadrics. Directions on planes of their axes have none here, which counts as 0.
APART s2 superquadric_cap(const side *s, v3 d, v3 a, v3 b, vd t) {
    v3 sign = {with_sign(s->p[0], d.x), with_sign(s->p[1], d.y), with_sign(s->p[2], d.z)};
    vd u = greater(sign.x * d.x, all(1e-100)), v = greater(sign.y * d.y, all(1e-100));
    vd w = greater(sign.z * d.z, all(1e-100)), alpha1 = power_parameter(s, 0), alpha2 = power_parameter(s, 1);
    split2 across = norm2(u, v, alpha2), along = norm2(across.norm, w, alpha1);
    vd l = across.norm, h = along.norm, zero = all(0);
    norm_cap inner = {.u = u / l, .v = v / l, .alpha = alpha2, .gu = across.gu, .gv = across.gv};
    norm_cap outer = {.u = l / h, .v = w / h, .alpha = alpha1, .gu = along.gu, .gv = along.gv};
    v3 of_l = {across.gu * sign.x, across.gv * sign.y, zero}; // ∇l
    v3 x = {along.gu * of_l.x, along.gu * of_l.y, along.gv * sign.z};
    v3 bend_in = {inner.v * sign.x, -inner.u * sign.y, zero};
    v3 bend_out = {outer.v * of_l.x, outer.v * of_l.y, -outer.u * sign.z};
    inner.area = length3(bend_in) / l;
    outer.area = length3(bend_out) / h;
    inner.slope = length3(axpy3(-dot3(of_l, d), d, of_l)) / l;
    outer.slope = length3(axpy3(-dot3(x, d), d, x)) / h;
    vd least, none;
    vd k_out = lowest(&outer, t, &least) / (h * (1 + t * outer.slope));
    vd k_in = least * lowest(&inner, t, &none) / (l * (1 + t * inner.slope));
    vd i0 = dot3(bend_in, a), i1 = dot3(bend_in, b), o0 = dot3(bend_out, a), o1 = dot3(bend_out, b);
    return (s2){k_in * i0 * i0 + k_out * o0 * o0, k_in * i0 * i1 + k_out * o0 * o1, k_in * i1 * i1 + k_out * o1 * o1};
}

// power_cap is a cap of a sum of powers: the support value f, its gradient along a and b, and those of what is summed.
typedef struct {
    double k[3]; // K
    double pull; // of revolutions: the least derivative by ρ
} power_cap;

// cap_of_powers takes one lane. Number i of the points has the product z[i]·f with d, and V = v[i]·(a, b) where V·f is
// its part beside the gradient.
INLINE power_cap cap_of_powers(const vd *z, const vd *va, const vd *vb, const double *x, int64_t count, double beta,
                               double f, double slope, double t) {
    power_cap g = {{0, 0, 0}, 0};
    const double r = t * slope;
    if (!(r <= STEEPEST)) return g;
    const double c = t / (1 - r);
    const vd power = all(beta - 2), zero = all(0);
    vd growth = zero, w0 = zero, a = zero, b = zero, aa = zero, ab = zero, bb = zero, pull = zero;
    for (int64_t i = 0; i < count; i += W) {
        vd square = va[i / W] * va[i / W] + vb[i / W] * vb[i / W], v = root(square);
        vd high = z[i / W] + c * v, low = z[i / W] - c * v;
        growth += where(high > 0, square * power_of(high, power));
        vd w = where(low > 0, power_of(low, power)), wz = w * z[i / W];
        w0 += wz * z[i / W];
        a += wz * va[i / W], b += wz * vb[i / W];
        aa += w * va[i / W] * va[i / W], ab += w * va[i / W] * vb[i / W], bb += w * vb[i / W] * vb[i / W];
        if (x) pull += w * where(low > 0, low) * load(x + i);
    }
    const double upper = 1 + 0.5 * beta * (beta - 1) * c * c * sum(growth) * (1 + 1e-9);
    const double log_of = logarithm(all(upper))[0];
    const double k = (beta - 1) * f * power_of_e(all((1 / beta - 2) * log_of))[0] * CAP_LOSS / (1 + r);
    g.k[0] = k * (sum(w0) * sum(aa) * CAP_LOSS - sum(a) * sum(a));
    g.k[1] = k * (sum(w0) * sum(ab) - sum(a) * sum(b));
    g.k[2] = k * (sum(w0) * sum(bb) * CAP_LOSS - sum(b) * sum(b));
    g.pull = sum(pull) * power_of_e(all((1 / beta - 1) * log_of))[0] * CAP_LOSS;
    return g;
}

// smooth_hull_cap is K of one smooth hull.
APART power_cap smooth_hull_cap(const ln_call *c, const ln_shape *s, const double d[3], const double a[3],
                                const double b[3], double t) {
    const double *x = c->vertices[0] + s->first, *y = c->vertices[1] + s->first, *z = c->vertices[2] + s->first;
    powered g = power_point(c, s, d);
    const double over = 1 / g.value, xa = dot1(g.x, a), xb = dot1(g.x, b);
    vd along[LN_POINTS / W], va[LN_POINTS / W], vb[LN_POINTS / W];
    for (int64_t i = 0; i < s->count; i += W) {
        vd px = load(x + i), py = load(y + i), pz = load(z + i), q = over * (d[0] * px + d[1] * py + d[2] * pz);
        along[i / W] = q;
        va[i / W] = over * (a[0] * px + a[1] * py + a[2] * pz - xa * q);
        vb[i / W] = over * (b[0] * px + b[1] * py + b[2] * pz - xb * q);
    }
    return cap_of_powers(along, va, vb, 0, s->count, s->power[0], g.value, root1(xa * xa + xb * xb) * over, t);
}

// revolution_cap is K of one smooth solid of revolution, see geom.widenRevolution: with ρ the support function of an
// ellipsoid of semi-axes 1, 1, √γ, e its gradient along a and b, and round the bound of its Hessian.
APART power_cap revolution_cap(const ln_call *c, const ln_shape *s, double rho, double height, const double e[2],
                               const double axis[2], const double round[3], double t) {
    const double *x = c->vertices[0] + s->first, *y = c->vertices[1] + s->first;
    const double plane[3] = {rho, height, 0}, length = root1(rho * rho + height * height);
    powered g = power_point(c, s, plane);
    const double over = 1 / g.value, ar = -height / length, az = rho / length;
    // The tangential direction of the profile, and the gradient of the whole, along a and b.
    const double ta = ar * e[0] + az * axis[0], tb = ar * e[1] + az * axis[1];
    const double xa = g.x[0] * e[0] + g.x[1] * axis[0], xb = g.x[0] * e[1] + g.x[1] * axis[1];
    vd along[LN_POINTS / W], va[LN_POINTS / W], vb[LN_POINTS / W];
    for (int64_t i = 0; i < s->count; i += W) {
        vd pr = load(x + i), pz = load(y + i), q = over * (rho * pr + height * pz);
        vd beside = over * ((pr - q * g.x[0]) * ar + (pz - q * g.x[1]) * az);
        along[i / W] = q, va[i / W] = ta * beside, vb[i / W] = tb * beside;
    }
    power_cap k = cap_of_powers(along, va, vb, x, s->count, s->power[0], g.value, root1(xa * xa + xb * xb) * over, t);
    for (int i = 0; i < 3; i++) k.k[i] += k.pull * round[i];
    return k;
}

// powered_cap is K of a core with powers, of the lanes in active: of those whose t is at most the largest that counts.
APART s2 powered_cap(const ln_call *c, const side *s, int class, v3 d, v3 a, v3 b, vd t, int active) {
    if (class == LN_SUPERQUADRIC) return superquadric_cap(s, d, a, b, t);
    s2 h = {all(0), all(0), all(0)}, round = h;
    const vd axes[3] = {all(1), all(1), root(power_parameter(s, 1))};
    v3 e = ellipsoid_point(axes, d);
    vd rho = dot3(e, d), ea = dot3(e, a), eb = dot3(e, b);
    if (class == LN_SMOOTH_REVOLUTION) {
        local l;
        ellipsoid_feature(&l, axes, d, a, b);
        vd trace = l.h.xx + l.h.yy, k = rho / (rho + t * root(ea * ea + eb * eb) + 0.5 * t * t * trace) * CAP_LOSS;
        round = (s2){k * l.h.xx, k * l.h.xy, k * l.h.yy};
    }
    for (; active != 0; active &= active - 1) {
        int i = __builtin_ctz((unsigned)active);
        power_cap k;
        if (class == LN_SMOOTH_HULL) {
            const double f[3][3] = {{d.x[i], d.y[i], d.z[i]}, {a.x[i], a.y[i], a.z[i]}, {b.x[i], b.y[i], b.z[i]}};
            k = smooth_hull_cap(c, s->shape[i], f[0], f[1], f[2], t[i]);
        } else {
            const double slope[2] = {ea[i], eb[i]}, axis[2] = {a.z[i], b.z[i]};
            const double of_round[3] = {round.xx[i], round.xy[i], round.yy[i]};
            k = revolution_cap(c, s->shape[i], rho[i], d.z[i], slope, axis, of_round, t[i]);
        }
        h.xx[i] = k.k[0], h.xy[i] = k.k[1], h.yy[i] = k.k[2];
    }
    return h;
}

#endif

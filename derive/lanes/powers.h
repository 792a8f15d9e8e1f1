// Support functions with powers, superquadrics [RTR, eq. 16], smooth hulls [RTR, eq. 17] and smooth revolutions
// [RTR, eq. 19]: support points, and Hessians in a basis of the tangent plane. The reference is package geom, whose
// formulas these are; directions where a Hessian takes a limit are left to it.

#ifndef LN_POWERS_H
#define LN_POWERS_H

#include "cores.h"
#include "elementary.h"

// A direction with a scaled component that is below this, relative to the largest, is left to the reference: curvatures
// are powers of the components there, so that the rounding of the normal, 1e-13, counts a thousandfold.
#define LEAST_COMPONENT 1e-3
#define LEAST_SUPPORT 1e-100 // the least component of support values, which do not depend on it

// norm2 is (u^e + v^e)^(1/e), e = 2/(2 - α), of numbers above 0 with its gradient: geom.split.
typedef struct {
    vd norm, gu, gv;
} split2;

INLINE split2 norm2(vd u, vd v, vd alpha) {
    vm swapped = v > u;
    vd high = greater(u, v), low = lesser(u, v), half = 0.5 * alpha;
    vd power = 2 / (2 - alpha) * logarithm(low / high), q = power_of_e(power);
    vd first = power_of_e(-half * logarithm(1 + q)), second = first * power_of_e(half * power);
    return (split2){high * (1 + q) * first, pick(swapped, second, first), pick(swapped, first, second)};
}

// norm_curvature is the factor k of the Hessian k·(v, -u)(v, -u)ᵀ of a norm of u and v at norm 1.
INLINE vd norm_curvature(vd u, vd v, vd alpha) {
    vd e = 2 / (2 - alpha);
    return (e - 1) * power_of_e(lesser((e - 2) * (logarithm(u) + logarithm(v)), all(700)));
}

INLINE vd power_parameter(const side *s, int k) {
    return (vd){s->shape[0]->power[k], s->shape[1]->power[k], s->shape[2]->power[k], s->shape[3]->power[k]};
}

INLINE void superquadric_feature(local *l, const side *s, v3 d, v3 e0, v3 e1) {
    vd alpha1 = power_parameter(s, 0), alpha2 = power_parameter(s, 1);
    vd x = with_sign(s->p[0], d.x), y = with_sign(s->p[1], d.y), z = with_sign(s->p[2], d.z);
    vd u = x * d.x, v = y * d.y, w = z * d.z;
    vm ok = lesser(lesser(u, v), w) > LEAST_COMPONENT * greater(greater(u, v), w);
    u = pick(ok, u, all(1)), v = pick(ok, v, all(1)), w = pick(ok, w, all(1));
    split2 across = norm2(u, v, alpha2), along = norm2(across.norm, w, alpha1);
    *l = vertex_at((v3){x * along.gu * across.gu, y * along.gu * across.gv, z * along.gv});
    vd over = 1 / across.norm, outer = 1 / along.norm;
    u *= over, v *= over, w *= outer;
    vd length = across.norm * outer;
    vd inner = along.gu * over * norm_curvature(u, v, alpha2);
    outer *= norm_curvature(length, w, alpha1);
    vd i0 = v * x * e0.x - u * y * e0.y, i1 = v * x * e1.x - u * y * e1.y;
    vd o0 = w * (across.gu * x * e0.x + across.gv * y * e0.y) - length * z * e0.z;
    vd o1 = w * (across.gu * x * e1.x + across.gv * y * e1.y) - length * z * e1.z;
    l->h =
        (s2){inner * i0 * i0 + outer * o0 * o0, inner * i0 * i1 + outer * o0 * o1, inner * i1 * i1 + outer * o1 * o1};
    l->ok = ok & (l->h.xx + l->h.yy >= 0) & is_finite(l->h.xx + l->h.yy);
}

// powered is h = (Σ max(<q, d>, 0)^β)^(1/β) of the points q of a shape, its gradient x, and its Hessian along a and b.
typedef struct {
    double value, x[3], h[3];
} powered;

// powers takes one lane. With y = <q, d> and v = q - x·y/h, the Hessian is (β - 1)/h·Σ (y/h)^(β-2) v·vᵀ, which does
// not cancel; it is 0 if not bent. Points whose power is negligible are left out, as those that pad the list, which
// are 0.
INLINE powered powers(const ln_call *c, const ln_shape *s, const double d[3], const double a[3], const double b[3],
                      int bent) {
    const double *x = c->vertices[0] + s->first, *y = c->vertices[1] + s->first, *z = c->vertices[2] + s->first;
    const double beta = s->power[0];
    vd t[LN_POINTS / W], w[LN_POINTS / W], highest = all(0);
    for (int64_t i = 0; i < s->count; i += W) {
        t[i / W] = d[0] * load(x + i) + d[1] * load(y + i) + d[2] * load(z + i);
        highest = greater(highest, t[i / W]);
    }
    const double m = largest(highest), over = 1 / m, least = s->power[2];
    vd total = all(0), sx = total, sy = total, sz = total, aa = total, ab = total, bb = total;
    for (int64_t i = 0; i < s->count; i += W) {
        vd r = t[i / W] * over;
        vm counts = r > least;
        r = pick(counts, r, all(1));
        vd p = where(counts, power_of_e((beta - 2) * logarithm(r))), first = p * r;
        t[i / W] = r, w[i / W] = p;
        total += first * r;
        sx += first * load(x + i), sy += first * load(y + i), sz += first * load(z + i);
    }
    const double sum_of = sum(total), log_of = logarithm(all(sum_of))[0] / beta, k = exponential(all(log_of))[0];
    powered g = {.value = m * k};
    const double scale = k / sum_of;
    g.x[0] = scale * sum(sx), g.x[1] = scale * sum(sy), g.x[2] = scale * sum(sz);
    if (!bent) return g;
    const double xa = dot1(g.x, a) / k, xb = dot1(g.x, b) / k;
    for (int64_t i = 0; i < s->count; i += W) {
        vd vx = load(x + i), vy = load(y + i), vz = load(z + i), r = t[i / W], p = w[i / W];
        vd va = a[0] * vx + a[1] * vy + a[2] * vz - xa * r, vb = b[0] * vx + b[1] * vy + b[2] * vz - xb * r;
        aa += p * va * va, ab += p * va * vb, bb += p * vb * vb;
    }
    const double f = (beta - 1) / g.value * exponential(all((2 - beta) * log_of))[0];
    g.h[0] = f * sum(aa), g.h[1] = f * sum(ab), g.h[2] = f * sum(bb);
    return g;
}

static powered power_sums(const ln_call *c, const ln_shape *s, const double d[3], const double a[3],
                          const double b[3]) {
    return powers(c, s, d, a, b, 1);
}

// power_point is power_sums without the Hessian.
static powered power_point(const ln_call *c, const ln_shape *s, const double d[3]) { return powers(c, s, d, d, d, 0); }

INLINE void smooth_hull_feature(local *l, const ln_call *c, const side *s, v3 d, v3 e0, v3 e1, int active) {
    v3 x = {s->p[0], s->p[1], s->p[2]};
    s2 h = {all(0), all(0), all(0)};
    for (; active != 0; active &= active - 1) {
        int i = __builtin_ctz((unsigned)active);
        const double one[3][3] = {{d.x[i], d.y[i], d.z[i]}, {e0.x[i], e0.y[i], e0.z[i]}, {e1.x[i], e1.y[i], e1.z[i]}};
        powered g = power_sums(c, s->shape[i], one[0], one[1], one[2]);
        x.x[i] += g.x[0], x.y[i] += g.x[1], x.z[i] += g.x[2];
        h.xx[i] = g.h[0], h.xy[i] = g.h[1], h.yy[i] = g.h[2];
    }
    *l = vertex_at(x);
    l->h = h;
    l->ok = (h.xx + h.yy >= 0) & is_finite(h.xx + h.yy);
}

// revolution_feature: with ρ the support function of an ellipsoid of semi-axes 1, 1, √γ and F that of the profile, the
// Hessian is F_ρ·∇²ρ + Jᵀ∇²F·J, the rows of J being ∇ρ and the axis. ∇²F is a multiple of the square of (-d.z, ρ).
INLINE void revolution_feature(local *l, const ln_call *c, const side *s, v3 d, v3 e0, v3 e1, int active) {
    const vd root_of = root(power_parameter(s, 1)), axes[3] = {all(1), all(1), root_of};
    ellipsoid_feature(l, axes, d, e0, e1);
    v3 slope = l->x; // ∇ρ
    vd rho = ellipsoid_support(axes, d), radial = all(0), axial = all(0), bent = all(0);
    for (; active != 0; active &= active - 1) {
        int i = __builtin_ctz((unsigned)active);
        const double r = rho[i], z = d.z[i], over = 1 / (r * r + z * z);
        const double one[3] = {r, z, 0}, across[3] = {-z * over, r * over, 0};
        powered g = power_sums(c, s->shape[i], one, across, across);
        radial[i] = g.x[0], axial[i] = g.x[1], bent[i] = g.h[0];
    }
    v3 v = {-d.z * slope.x, -d.z * slope.y, rho - d.z * slope.z};
    vd v0 = dot3(e0, v), v1 = dot3(e1, v);
    l->x = (v3){radial * slope.x, radial * slope.y, radial * slope.z + axial};
    l->h =
        (s2){radial * l->h.xx + bent * v0 * v0, radial * l->h.xy + bent * v0 * v1, radial * l->h.yy + bent * v1 * v1};
    l->ok &= (l->h.xx + l->h.yy >= 0) & is_finite(l->h.xx + l->h.yy);
}

#endif

// Support functions with powers, superquadrics [RTR, eq. 16], smooth hulls [RTR, eq. 17] and smooth revolutions
// [RTR, eq. 19]: support points, and Hessians in a basis of the tangent plane. The reference is package geom;
// directions where a Hessian takes a limit are left to it.
//
// Superquadrics, and the support points of cores without powers, are those of kernels/shape. Smooth hulls and
// revolutions have a text of their own: that of kernels/shape subtracts s·sᵀ from the sum of q·qᵀ over the points,
// which cancels where the surface is flat. Newton's method does not mind, derivatives are wrong by it. Here one pass of
// powers makes the support point and a Hessian that does not cancel.

#ifndef CLR_DERIVE_POWERS_H
#define CLR_DERIVE_POWERS_H

#include "rows.h" // before the headers of kernels/shape

#include "../../shape/hessian.h"
#include "cores.h"

// A direction with a scaled component that is below this, relative to the largest, is left to the reference: curvatures
// are powers of the components there, so that the rounding of the normal, 1e-13, counts a thousandfold.
#define LEAST_SCALED 1e-3

// exponents are those of superquadrics as kernels/shape takes them.
typedef struct {
    double power[T(POWERS)][W];
} exponents;

ALWAYS exponents exponents_of(const side *s) {
    exponents e;
    VF across = OF_SHAPES(s, extent[0]), along = OF_SHAPES(s, extent[1]);
    STOREU(e.power[T(ACROSS)], across);
    STOREU(e.power[T(ALONG)], along);
    STOREU(e.power[T(DUAL_ACROSS)], 1 / (1 - across));
    STOREU(e.power[T(DUAL_ALONG)], 1 / (1 - along));
    return e;
}

ALWAYS VF flatness_of(const side *s) { return OF_SHAPES(s, extent[2]); } // γ of revolutions

ALWAYS void superquadric_feature(local *l, const side *s, V3 d, V3 e0, V3 e1) {
    const exponents e = exponents_of(s);
    V3 x;
    T(curvature) k = T(superquadric_hessian)((V3){s->p[0], s->p[1], s->p[2]}, e.power, d, e0, e1, &x);
    VF u = s->p[0] * magnitude(d.x), v = s->p[1] * magnitude(d.y), w = s->p[2] * magnitude(d.z);
    *l = vertex_at(x);
    l->h = (flat_matrix){k.pp, k.pq, k.qq};
    l->ok = MAND(LT(LEAST_SCALED * MAX(MAX(u, v), w), MIN(MIN(u, v), w)),
                 MAND(LE(SET1(0), l->h.xx + l->h.yy), is_finite(l->h.xx + l->h.yy)));
}

// powered is h = (Σ max(<q, d>, 0)^β)^(1/β) of the points q of a shape, its gradient x, and its Hessian along a and b.
typedef struct {
    double value, x[3], h[3];
} powered;

// powers takes one lane. With y = <q, d> and v = q - x·y/h, the Hessian is (β - 1)/h·Σ (y/h)^(β-2) v·vᵀ, which does
// not cancel; it is 0 if not bent. Points whose power is negligible are left out, as those that pad the list, which
// are 0.
ALWAYS powered powers(const derive_call *c, const clr_shape *s, const double d[3], const double a[3], const double b[3],
                      int bent) {
    const double *x = c->vertices[0] + s->first, *y = c->vertices[1] + s->first, *z = c->vertices[2] + s->first;
    const double beta = s->extent[0];
    VF t[CLR_SMOOTH_VERTICES / W], w[CLR_SMOOTH_VERTICES / W], highest = SET1(0);
    for (int64_t i = 0; i < s->count; i += W) {
        t[i / W] = FMA(SET1(d[2]), LOADU(z + i), FMA(SET1(d[1]), LOADU(y + i), d[0] * LOADU(x + i)));
        highest = MAX(highest, t[i / W]);
    }
    const double m = HMAX(highest), over = 1 / m, least = s->negligible;
    VF total = SET1(0), sx = total, sy = total, sz = total, aa = total, ab = total, bb = total;
    for (int64_t i = 0; i < s->count; i += W) {
        VF r = t[i / W] * over;
        VM counts = LT(SET1(least), r);
        r = SEL(counts, r, SET1(1));
        VF p = where(counts, power_of_e((beta - 2) * logarithm(r))), first = p * r;
        t[i / W] = r, w[i / W] = p;
        total = FMA(first, r, total);
        sx = FMA(first, LOADU(x + i), sx), sy = FMA(first, LOADU(y + i), sy), sz = FMA(first, LOADU(z + i), sz);
    }
    const double sum_of = HSUM(total), log_of = logarithm(SET1(sum_of))[0] / beta, k = exponential(SET1(log_of))[0];
    powered g = {.value = m * k};
    const double scale = k / sum_of;
    g.x[0] = scale * HSUM(sx), g.x[1] = scale * HSUM(sy), g.x[2] = scale * HSUM(sz);
    if (!bent) return g;
    const double xa = dot1(g.x, a) / k, xb = dot1(g.x, b) / k;
    for (int64_t i = 0; i < s->count; i += W) {
        VF vx = LOADU(x + i), vy = LOADU(y + i), vz = LOADU(z + i), r = t[i / W], p = w[i / W];
        VF va = FNMA(SET1(xa), r, FMA(SET1(a[2]), vz, FMA(SET1(a[1]), vy, a[0] * vx))),
           vb = FNMA(SET1(xb), r, FMA(SET1(b[2]), vz, FMA(SET1(b[1]), vy, b[0] * vx)));
        aa = FMA(p * va, va, aa), ab = FMA(p * va, vb, ab), bb = FMA(p * vb, vb, bb);
    }
    const double f = (beta - 1) / g.value * exponential(SET1((2 - beta) * log_of))[0];
    g.h[0] = f * HSUM(aa), g.h[1] = f * HSUM(ab), g.h[2] = f * HSUM(bb);
    return g;
}

static powered bent_powers(const derive_call *c, const clr_shape *s, const double d[3], const double a[3],
                           const double b[3]) {
    return powers(c, s, d, a, b, 1);
}

// power_point is bent_powers without the Hessian.
static powered power_point(const derive_call *c, const clr_shape *s, const double d[3]) {
    return powers(c, s, d, d, d, 0);
}

ALWAYS void smooth_hull_feature(local *l, const derive_call *c, const side *s, V3 d, V3 e0, V3 e1, int active) {
    V3 x = {s->p[0], s->p[1], s->p[2]};
    flat_matrix h = {SET1(0), SET1(0), SET1(0)};
    for (; active != 0; active &= active - 1) {
        int i = __builtin_ctz((unsigned)active);
        const double one[3][3] = {{d.x[i], d.y[i], d.z[i]}, {e0.x[i], e0.y[i], e0.z[i]}, {e1.x[i], e1.y[i], e1.z[i]}};
        powered g = bent_powers(c, s->shape[i], one[0], one[1], one[2]);
        x.x[i] += g.x[0], x.y[i] += g.x[1], x.z[i] += g.x[2];
        h.xx[i] = g.h[0], h.xy[i] = g.h[1], h.yy[i] = g.h[2];
    }
    *l = vertex_at(x);
    l->h = h;
    l->ok = MAND(LE(SET1(0), h.xx + h.yy), is_finite(h.xx + h.yy));
}

// revolution_feature: with ρ the support function of an ellipsoid of semi-axes 1, 1, √γ and F that of the profile, the
// Hessian is F_ρ·∇²ρ + Jᵀ∇²F·J, the rows of J being ∇ρ and the axis. ∇²F is a multiple of the square of (-d.z, ρ).
ALWAYS void revolution_feature(local *l, const derive_call *c, const side *s, V3 d, V3 e0, V3 e1, int active) {
    const VF root_of = SQRT(flatness_of(s)), axes[3] = {SET1(1), SET1(1), root_of};
    ellipsoid_feature(l, axes, d, e0, e1);
    V3 slope = l->x; // ∇ρ
    VF rho = dot64(slope, d), radial = SET1(0), axial = SET1(0), bent = SET1(0);
    for (; active != 0; active &= active - 1) {
        int i = __builtin_ctz((unsigned)active);
        const double r = rho[i], z = d.z[i], over = 1 / (r * r + z * z);
        const double one[3] = {r, z, 0}, across[3] = {-z * over, r * over, 0};
        powered g = bent_powers(c, s->shape[i], one, across, across);
        radial[i] = g.x[0], axial[i] = g.x[1], bent[i] = g.h[0];
    }
    V3 v = {-d.z * slope.x, -d.z * slope.y, FNMA(d.z, slope.z, rho)};
    VF v0 = dot64(e0, v), v1 = dot64(e1, v);
    l->x = (V3){radial * slope.x, radial * slope.y, FMA(radial, slope.z, axial)};
    l->h = (flat_matrix){FMA(bent * v0, v0, radial * l->h.xx), FMA(bent * v0, v1, radial * l->h.xy),
                         FMA(bent * v1, v1, radial * l->h.yy)};
    l->ok = MAND(l->ok, MAND(LE(SET1(0), l->h.xx + l->h.yy), is_finite(l->h.xx + l->h.yy)));
}

// Support points of cores in a direction of their frames, which need not be unit.

ALWAYS V3 ellipsoid_point(const VF a[4], V3 d) {
    return T(core_support)(CLR_ELLIPSOID, (const double *)a, W, d, SET1(1)); // a[3] is 0
}

ALWAYS V3 smooth_hull_point(const derive_call *c, const side *s, V3 d, int active) {
    V3 x = {s->p[0], s->p[1], s->p[2]};
    for (; active != 0; active &= active - 1) {
        int i = __builtin_ctz((unsigned)active);
        const double one[3] = {d.x[i], d.y[i], d.z[i]};
        powered g = power_point(c, s->shape[i], one);
        x.x[i] += g.x[0], x.y[i] += g.x[1], x.z[i] += g.x[2];
    }
    return x;
}

ALWAYS V3 revolution_point(const derive_call *c, const side *s, V3 d, int active) {
    const VF root_of = SQRT(flatness_of(s)), axes[4] = {SET1(1), SET1(1), root_of, SET1(0)};
    V3 slope = ellipsoid_point(axes, d);
    VF rho = dot64(slope, d), radial = SET1(0), axial = SET1(0);
    for (; active != 0; active &= active - 1) {
        int i = __builtin_ctz((unsigned)active);
        const double one[3] = {rho[i], d.z[i], 0};
        powered g = power_point(c, s->shape[i], one);
        radial[i] = g.x[0], axial[i] = g.x[1];
    }
    return (V3){radial * slope.x, radial * slope.y, FMA(radial, slope.z, axial)};
}

// core_point is the support point of any core but a half-space and a hull. Of superquadrics, it takes the exponents.
ALWAYS V3 core_point(const derive_call *c, const side *s, int class, const exponents *e, V3 d, int active) {
    const double *p = (const double *)s->p;
    switch (class) {
    case CLR_FRUSTUM: return T(core_support)(CLR_FRUSTUM, p, W, d, SET1(1));
    case CLR_ELLIPSOID: return ellipsoid_point(s->p, d);
    case CLR_SUPERQUADRIC: return T(superquadric_support)((V3){s->p[0], s->p[1], s->p[2]}, e->power, d);
    case CLR_SMOOTH_HULL: return smooth_hull_point(c, s, d, active);
    case CLR_SMOOTH_REVOLUTION: return revolution_point(c, s, d, active);
    }
    return T(core_support)(CLR_BOX, p, W, d, SET1(1)); // points and segments are flat boxes
}

#endif

// Support functions with powers, superquadrics [RTR, eq. 16], smooth hulls [RTR, eq. 17] and smooth revolutions
// [RTR, eq. 19]: support points, and Hessians in a basis of the tangent plane. The reference is package geom, whose
// formulas these are; directions where a Hessian takes a limit are left to it.

#ifndef CLR_DERIVE_POWERS_H
#define CLR_DERIVE_POWERS_H

#include "cores.h"

// A direction with a scaled component that is below this, relative to the largest, is left to the reference: curvatures
// are powers of the components there, so that the rounding of the normal, 1e-13, counts a thousandfold.
#define LEAST_SCALED 1e-3
#define LEAST_SUPPORT 1e-100 // the least component of support values, which do not depend on it

// norm2 is (u^e + v^e)^(1/e), e = 2/(2 - α), of numbers above 0 with its gradient: geom.split.
typedef struct {
    VF norm, gu, gv;
} split2;

ALWAYS split2 norm2(VF u, VF v, VF alpha) {
    VM swapped = LT(u, v);
    VF high = MAX(u, v), low = MIN(u, v), half = 0.5 * alpha;
    VF power = 2 / (2 - alpha) * logarithm(low / high), q = power_of_e(power);
    VF first = power_of_e(-half * logarithm(1 + q)), second = first * power_of_e(half * power);
    return (split2){high * (1 + q) * first, SEL(swapped, second, first), SEL(swapped, first, second)};
}

// norm_curvature is the factor k of the Hessian k·(v, -u)(v, -u)ᵀ of a norm of u and v at norm 1.
ALWAYS VF norm_curvature(VF u, VF v, VF alpha) {
    VF e = 2 / (2 - alpha);
    return (e - 1) * power_of_e(MIN((e - 2) * (logarithm(u) + logarithm(v)), SET1(700)));
}

// The exponents α1 and α2 of superquadrics, and the flatness γ of revolutions.
ALWAYS VF alpha1_of(const side *s) { return 2 * OF_SHAPES(s, extent[1]); }
ALWAYS VF alpha2_of(const side *s) { return 2 * OF_SHAPES(s, extent[0]); }
ALWAYS VF flatness_of(const side *s) { return OF_SHAPES(s, extent[2]); }

ALWAYS void superquadric_feature(local *l, const side *s, V3 d, V3 e0, V3 e1) {
    VF alpha1 = alpha1_of(s), alpha2 = alpha2_of(s);
    VF x = COPYSIGN(s->p[0], d.x), y = COPYSIGN(s->p[1], d.y), z = COPYSIGN(s->p[2], d.z);
    VF u = x * d.x, v = y * d.y, w = z * d.z;
    VM ok = LT(LEAST_SCALED * MAX(MAX(u, v), w), MIN(MIN(u, v), w));
    u = SEL(ok, u, SET1(1)), v = SEL(ok, v, SET1(1)), w = SEL(ok, w, SET1(1));
    split2 across = norm2(u, v, alpha2), along = norm2(across.norm, w, alpha1);
    *l = vertex_at((V3){x * along.gu * across.gu, y * along.gu * across.gv, z * along.gv});
    VF over = 1 / across.norm, outer = 1 / along.norm;
    u *= over, v *= over, w *= outer;
    VF length = across.norm * outer;
    VF inner = along.gu * over * norm_curvature(u, v, alpha2);
    outer *= norm_curvature(length, w, alpha1);
    VF i0 = FNMA(u * y, e0.y, v * x * e0.x), i1 = FNMA(u * y, e1.y, v * x * e1.x);
    VF o0 = FNMA(length * z, e0.z, w * (FMA(across.gv * y, e0.y, across.gu * x * e0.x)));
    VF o1 = FNMA(length * z, e1.z, w * (FMA(across.gv * y, e1.y, across.gu * x * e1.x)));
    l->h = (flat_matrix){FMA(outer * o0, o0, inner * i0 * i0), FMA(outer * o0, o1, inner * i0 * i1),
                         FMA(outer * o1, o1, inner * i1 * i1)};
    l->ok = MAND(MAND(ok, LE(SET1(0), l->h.xx + l->h.yy)), is_finite(l->h.xx + l->h.yy));
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

static powered power_sums(const derive_call *c, const clr_shape *s, const double d[3], const double a[3],
                          const double b[3]) {
    return powers(c, s, d, a, b, 1);
}

// power_point is power_sums without the Hessian.
static powered power_point(const derive_call *c, const clr_shape *s, const double d[3]) {
    return powers(c, s, d, d, d, 0);
}

ALWAYS void smooth_hull_feature(local *l, const derive_call *c, const side *s, V3 d, V3 e0, V3 e1, int active) {
    V3 x = {s->p[0], s->p[1], s->p[2]};
    flat_matrix h = {SET1(0), SET1(0), SET1(0)};
    for (; active != 0; active &= active - 1) {
        int i = __builtin_ctz((unsigned)active);
        const double one[3][3] = {{d.x[i], d.y[i], d.z[i]}, {e0.x[i], e0.y[i], e0.z[i]}, {e1.x[i], e1.y[i], e1.z[i]}};
        powered g = power_sums(c, s->shape[i], one[0], one[1], one[2]);
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
    VF rho = ellipsoid_support(axes, d), radial = SET1(0), axial = SET1(0), bent = SET1(0);
    for (; active != 0; active &= active - 1) {
        int i = __builtin_ctz((unsigned)active);
        const double r = rho[i], z = d.z[i], over = 1 / (r * r + z * z);
        const double one[3] = {r, z, 0}, across[3] = {-z * over, r * over, 0};
        powered g = power_sums(c, s->shape[i], one, across, across);
        radial[i] = g.x[0], axial[i] = g.x[1], bent[i] = g.h[0];
    }
    V3 v = {-d.z * slope.x, -d.z * slope.y, FNMA(d.z, slope.z, rho)};
    VF v0 = dot64(e0, v), v1 = dot64(e1, v);
    l->x = (V3){radial * slope.x, radial * slope.y, FMA(radial, slope.z, axial)};
    l->h = (flat_matrix){FMA(bent * v0, v0, radial * l->h.xx), FMA(bent * v0, v1, radial * l->h.xy),
                         FMA(bent * v1, v1, radial * l->h.yy)};
    l->ok = MAND(l->ok, MAND(LE(SET1(0), l->h.xx + l->h.yy), is_finite(l->h.xx + l->h.yy)));
}

// Support points of cores in a direction of their frames, which need not be unit. The reference is package geom.

ALWAYS V3 frustum_point(const VF p[3], V3 d) {
    VF rho = SQRT(FMA(d.y, d.y, d.x * d.x));
    VM up = LE(SET1(0), FMA(2 * p[2], d.z, (p[1] - p[0]) * rho));
    VF k = SEL(up, p[1], p[0]) / SEL(LT(SET1(0), rho), rho, SET1(1));
    return (V3){k * d.x, k * d.y, SEL(up, p[2], -p[2])};
}

ALWAYS V3 ellipsoid_point(const VF a[3], V3 d) {
    V3 m = {a[0] * d.x, a[1] * d.y, a[2] * d.z};
    m = scale64(1 / SQRT(dot64(m, m)), m);
    return (V3){a[0] * m.x, a[1] * m.y, a[2] * m.z};
}

ALWAYS V3 superquadric_point(const side *s, V3 d) {
    VF least = SET1(LEAST_SUPPORT);
    VF u = MAX(s->p[0] * magnitude(d.x), least), v = MAX(s->p[1] * magnitude(d.y), least);
    split2 across = norm2(u, v, alpha2_of(s));
    split2 along = norm2(across.norm, MAX(s->p[2] * magnitude(d.z), least), alpha1_of(s));
    return (V3){COPYSIGN(s->p[0], d.x) * (along.gu * across.gu), COPYSIGN(s->p[1], d.y) * (along.gu * across.gv),
                COPYSIGN(s->p[2], d.z) * along.gv};
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
    const VF root_of = SQRT(flatness_of(s)), axes[3] = {SET1(1), SET1(1), root_of};
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

// core_point is the support point of any core but a half-space and a hull.
ALWAYS V3 core_point(const derive_call *c, const side *s, int class, V3 d, int active) {
    V3 zero = {SET1(0), SET1(0), SET1(0)};
    switch (class) {
    case CLR_SEGMENT_CORE: return (V3){SET1(0), SET1(0), COPYSIGN(s->p[2], d.z)};
    case CLR_CUBOID_CORE: return (V3){COPYSIGN(s->p[0], d.x), COPYSIGN(s->p[1], d.y), COPYSIGN(s->p[2], d.z)};
    case CLR_FRUSTUM: return frustum_point(s->p, d);
    case CLR_ELLIPSOID: return ellipsoid_point(s->p, d);
    case CLR_SUPERQUADRIC: return superquadric_point(s, d);
    case CLR_SMOOTH_HULL: return smooth_hull_point(c, s, d, active);
    case CLR_SMOOTH_REVOLUTION: return revolution_point(c, s, d, active);
    }
    return zero;
}

// Lower bounds of the Hessians of support functions with powers over caps of directions d + y, |y| ≤ t: those of
// package geom (HessianBounds, hessian_bounds.go) with one ring. The support
// function f rises along y by at least ½yᵀKy above its linear part; K is a form on the tangent plane of a and b. Every
// bound is reduced by CAP_LOSS for its rounding.

#define CAP_LOSS (1 - 1e-9)
#define STEEPEST 0.5 // the largest part of f that its linear part may lose

ALWAYS VF power_of(VF x, VF k) { return power_of_e(MIN(k * logarithm(MAX(x, SET1(1e-100))), SET1(700))); }

// norm_cap is a norm (u^p + v^p)^(1/p), p = 2/(2 - α), at unit norm, with its gradient; see geom.normCap.
typedef struct {
    VF u, v, alpha, gu, gv;
    VF area, slope; // |ω|/g² and the tangential part of the gradient over g
} norm_cap;

// lowest returns the least second derivative over a cap, and the least of ∂g/∂u.
ALWAYS VF lowest(const norm_cap *c, VF t, VF *least_gu) {
    VF p = 2 / (2 - c->alpha), r = t * c->slope, zero = SET1(0);
    VM narrow = LE(r, SET1(STEEPEST));
    VF m = t * c->area / (1 - r), du = m * c->gv, dv = m * c->gu, low_u = c->u - du, low_v = c->v - dv;
    VF tiny = SET1(1e-100);
    split2 up = norm2(MAX(c->u + du, tiny), MAX(magnitude(c->v - dv), tiny), c->alpha);
    split2 down = norm2(MAX(magnitude(c->u - du), tiny), MAX(c->v + dv, tiny), c->alpha);
    VF most = MAX(up.norm, down.norm), high = (c->u + du) * (c->v + dv);
    VF low = MIN(low_u * (c->v + dv), (c->u + du) * low_v);
    VF product = SEL(LT(SET1(2), p), where(MAND(LT(SET1(0), low_u), LT(SET1(0), low_v)), power_of(low, p - 2)),
                     power_of(high, p - 2));
    product = SEL(EQ(p, SET1(2)), SET1(1), product);
    *least_gu = where(MAND(narrow, LT(SET1(0), low_u)), power_of(MAX(low_u, zero) / most, p - 1));
    return where(narrow, (p - 1) * product * power_of(most, FNMA(SET1(2), p, SET1(1))) * CAP_LOSS);
}

ALWAYS VF length3(V3 a) { return SQRT(dot64(a, a)); }

// superquadric_cap is K of four superquadrics. Directions on planes of their axes have none here, which counts as 0.
APART flat_matrix superquadric_cap(const side *s, V3 d, V3 a, V3 b, VF t) {
    V3 sign = {COPYSIGN(s->p[0], d.x), COPYSIGN(s->p[1], d.y), COPYSIGN(s->p[2], d.z)};
    VF u = MAX(sign.x * d.x, SET1(1e-100)), v = MAX(sign.y * d.y, SET1(1e-100));
    VF w = MAX(sign.z * d.z, SET1(1e-100)), alpha1 = alpha1_of(s), alpha2 = alpha2_of(s);
    split2 across = norm2(u, v, alpha2), along = norm2(across.norm, w, alpha1);
    VF l = across.norm, h = along.norm, zero = SET1(0);
    norm_cap inner = {.u = u / l, .v = v / l, .alpha = alpha2, .gu = across.gu, .gv = across.gv};
    norm_cap outer = {.u = l / h, .v = w / h, .alpha = alpha1, .gu = along.gu, .gv = along.gv};
    V3 of_l = {across.gu * sign.x, across.gv * sign.y, zero}; // ∇l
    V3 x = {along.gu * of_l.x, along.gu * of_l.y, along.gv * sign.z};
    V3 bend_in = {inner.v * sign.x, -inner.u * sign.y, zero};
    V3 bend_out = {outer.v * of_l.x, outer.v * of_l.y, -outer.u * sign.z};
    inner.area = length3(bend_in) / l;
    outer.area = length3(bend_out) / h;
    inner.slope = length3(axpy64(-dot64(of_l, d), d, of_l)) / l;
    outer.slope = length3(axpy64(-dot64(x, d), d, x)) / h;
    VF least, none;
    VF k_out = lowest(&outer, t, &least) / (h * (FMA(t, outer.slope, SET1(1))));
    VF k_in = least * lowest(&inner, t, &none) / (l * (FMA(t, inner.slope, SET1(1))));
    VF i0 = dot64(bend_in, a), i1 = dot64(bend_in, b), o0 = dot64(bend_out, a), o1 = dot64(bend_out, b);
    return (flat_matrix){FMA(k_out * o0, o0, k_in * i0 * i0), FMA(k_out * o0, o1, k_in * i0 * i1),
                         FMA(k_out * o1, o1, k_in * i1 * i1)};
}

// power_cap is a cap of a sum of powers: the support value f, its gradient along a and b, and those of what is summed.
typedef struct {
    double k[3]; // K
    double pull; // of revolutions: the least derivative by ρ
} power_cap;

// cap_of_powers takes one lane. Number i of the points has the product z[i]·f with d, and V = v[i]·(a, b) where V·f is
// its part beside the gradient.
ALWAYS power_cap cap_of_powers(const VF *z, const VF *va, const VF *vb, const double *x, int64_t count, double beta,
                               double f, double slope, double t) {
    power_cap g = {{0, 0, 0}, 0};
    const double r = t * slope;
    if (!(r <= STEEPEST)) return g;
    const double c = t / (1 - r);
    const VF power = SET1(beta - 2), zero = SET1(0);
    VF growth = zero, w0 = zero, a = zero, b = zero, aa = zero, ab = zero, bb = zero, pull = zero;
    for (int64_t i = 0; i < count; i += W) {
        VF square = FMA(vb[i / W], vb[i / W], va[i / W] * va[i / W]), v = SQRT(square);
        VF high = FMA(SET1(c), v, z[i / W]), low = FNMA(SET1(c), v, z[i / W]);
        growth += where(LT(SET1(0), high), square * power_of(high, power));
        VF w = where(LT(SET1(0), low), power_of(low, power)), wz = w * z[i / W];
        w0 = FMA(wz, z[i / W], w0);
        a = FMA(wz, va[i / W], a), b = FMA(wz, vb[i / W], b);
        aa = FMA(w * va[i / W], va[i / W], aa), ab = FMA(w * va[i / W], vb[i / W], ab),
        bb = FMA(w * vb[i / W], vb[i / W], bb);
        if (x) pull = FMA(w * where(LT(SET1(0), low), low), LOADU(x + i), pull);
    }
    const double upper = 1 + 0.5 * beta * (beta - 1) * c * c * HSUM(growth) * (1 + 1e-9);
    const double log_of = logarithm(SET1(upper))[0];
    const double k = (beta - 1) * f * power_of_e(SET1((1 / beta - 2) * log_of))[0] * CAP_LOSS / (1 + r);
    g.k[0] = k * (HSUM(w0) * HSUM(aa) * CAP_LOSS - HSUM(a) * HSUM(a));
    g.k[1] = k * (HSUM(w0) * HSUM(ab) - HSUM(a) * HSUM(b));
    g.k[2] = k * (HSUM(w0) * HSUM(bb) * CAP_LOSS - HSUM(b) * HSUM(b));
    g.pull = HSUM(pull) * power_of_e(SET1((1 / beta - 1) * log_of))[0] * CAP_LOSS;
    return g;
}

// smooth_hull_cap is K of one smooth hull.
APART power_cap smooth_hull_cap(const derive_call *c, const clr_shape *s, const double d[3], const double a[3],
                                const double b[3], double t) {
    const double *x = c->vertices[0] + s->first, *y = c->vertices[1] + s->first, *z = c->vertices[2] + s->first;
    powered g = power_point(c, s, d);
    const double over = 1 / g.value, xa = dot1(g.x, a), xb = dot1(g.x, b);
    VF along[CLR_SMOOTH_VERTICES / W], va[CLR_SMOOTH_VERTICES / W], vb[CLR_SMOOTH_VERTICES / W];
    for (int64_t i = 0; i < s->count; i += W) {
        VF px = LOADU(x + i), py = LOADU(y + i), pz = LOADU(z + i),
           q = over * (FMA(SET1(d[2]), pz, FMA(SET1(d[1]), py, d[0] * px)));
        along[i / W] = q;
        va[i / W] = over * (FNMA(SET1(xa), q, FMA(SET1(a[2]), pz, FMA(SET1(a[1]), py, a[0] * px))));
        vb[i / W] = over * (FNMA(SET1(xb), q, FMA(SET1(b[2]), pz, FMA(SET1(b[1]), py, b[0] * px))));
    }
    return cap_of_powers(along, va, vb, 0, s->count, s->extent[0], g.value, root1(xa * xa + xb * xb) * over, t);
}

// revolution_cap is K of one smooth solid of revolution, see geom.widenRevolution: with ρ the support function of an
// ellipsoid of semi-axes 1, 1, √γ, e its gradient along a and b, and round the bound of its Hessian.
APART power_cap revolution_cap(const derive_call *c, const clr_shape *s, double rho, double height, const double e[2],
                               const double axis[2], const double round[3], double t) {
    const double *x = c->vertices[0] + s->first, *y = c->vertices[1] + s->first;
    const double plane[3] = {rho, height, 0}, length = root1(rho * rho + height * height);
    powered g = power_point(c, s, plane);
    const double over = 1 / g.value, ar = -height / length, az = rho / length;
    // The tangential direction of the profile, and the gradient of the whole, along a and b.
    const double ta = ar * e[0] + az * axis[0], tb = ar * e[1] + az * axis[1];
    const double xa = g.x[0] * e[0] + g.x[1] * axis[0], xb = g.x[0] * e[1] + g.x[1] * axis[1];
    VF along[CLR_SMOOTH_VERTICES / W], va[CLR_SMOOTH_VERTICES / W], vb[CLR_SMOOTH_VERTICES / W];
    for (int64_t i = 0; i < s->count; i += W) {
        VF pr = LOADU(x + i), pz = LOADU(y + i), q = over * (FMA(SET1(height), pz, rho * pr));
        VF beside = over * (FMA(FNMA(q, SET1(g.x[1]), pz), SET1(az), (FNMA(q, SET1(g.x[0]), pr)) * ar));
        along[i / W] = q, va[i / W] = ta * beside, vb[i / W] = tb * beside;
    }
    power_cap k = cap_of_powers(along, va, vb, x, s->count, s->extent[0], g.value, root1(xa * xa + xb * xb) * over, t);
    for (int i = 0; i < 3; i++) k.k[i] += k.pull * round[i];
    return k;
}

// powered_cap is K of a core with powers, of the lanes in active: of those whose t is at most the largest that counts.
APART flat_matrix powered_cap(const derive_call *c, const side *s, int class, V3 d, V3 a, V3 b, VF t, int active) {
    if (class == CLR_SUPERQUADRIC) return superquadric_cap(s, d, a, b, t);
    flat_matrix h = {SET1(0), SET1(0), SET1(0)}, round = h;
    const VF axes[3] = {SET1(1), SET1(1), SQRT(flatness_of(s))};
    V3 e = ellipsoid_point(axes, d);
    VF rho = dot64(e, d), ea = dot64(e, a), eb = dot64(e, b);
    if (class == CLR_SMOOTH_REVOLUTION) {
        local l;
        ellipsoid_feature(&l, axes, d, a, b);
        VF trace = l.h.xx + l.h.yy,
           k = rho / (FMA(0.5 * t * t, trace, FMA(t, SQRT(FMA(eb, eb, ea * ea)), rho))) * CAP_LOSS;
        round = (flat_matrix){k * l.h.xx, k * l.h.xy, k * l.h.yy};
    }
    for (; active != 0; active &= active - 1) {
        int i = __builtin_ctz((unsigned)active);
        power_cap k;
        if (class == CLR_SMOOTH_HULL) {
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

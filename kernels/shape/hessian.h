// Hessians of support functions: value, gradient and Hessian at a unit direction n, in an orthonormal
// basis p, q of the tangent plane of the sphere. Float64.
//
//	ellipsoid           h = |En|, E = diag(e), ∇h = s = E²n/h, ∇²h = (E² − ssᵀ)/h
//	superquadric        [RTR, eq. 16], chain rule through two norms
//	smooth hull         [RTR, eq. 17], ∇²h = (β − 1)/h·(Σ y^(β−2) xxᵀ − ssᵀ) with y = <x, n>/h
//	smooth revolution   [RTR, eq. 19], chain rule through the profile and ρ
//
// Since h is positively homogeneous, ∇²h·n = 0, so three numbers in the tangent plane are the Hessian.
// Newton's method (smooth_pairs.h) and the Riemannian trust region method (trust_region.h) take steps from these
// numbers; no bound rests on them. Where h has no Hessian, entries are cut off at finite values.

#ifndef CLR_HESSIAN_H
#define CLR_HESSIAN_H

#include "../isa/real64.h"
#include "support.h"
#include "../isa/tangent.h"

// curvature holds h(n) = <n, s> for the support point s, the tangential gradient <p, s>, <q, s>, and the
// Hessian H as <p, Hp>, <p, Hq>, <q, Hq>.
typedef struct {
    VF h, p, q, pp, pq, qq;
} T(curvature);

// ellipsoid_hessian computes the curvature and the support point of an eroded ellipsoid, in its own frame. e
// are the semi-axes and the radius of erosion, `stride` apart. Erosion subtracts the radius from h and from the
// eigenvalues of the Hessian in the tangent plane.
ALWAYS T(curvature) T(ellipsoid_hessian)(const REAL *e, int stride, V3 d, V3 p, V3 q, V3 *s) {
    V3 axes = T(ld3)(e, stride);
    VF ball = LOADU(e + 3 * stride);
    V3 n = {axes.x * d.x, axes.y * d.y, axes.z * d.z};
    p = (V3){axes.x * p.x, axes.y * p.y, axes.z * p.z};
    q = (V3){axes.x * q.x, axes.y * q.y, axes.z * q.z};
    VF hh = MAX(T(dot)(n, n), SET1(TINY)), r = RSQRT(hh), sp = T(dot)(n, p) * r, sq = T(dot)(n, q) * r;
    *s = (V3){FNMA(ball, d.x, axes.x * (n.x * r)), FNMA(ball, d.y, axes.y * (n.y * r)),
              FNMA(ball, d.z, axes.z * (n.z * r))};
    return (T(curvature)){FMA(hh, r, -ball),
                          sp,
                          sq,
                          FMA(FNMA(sp, sp, T(dot)(p, p)), r, -ball),
                          FNMA(sp, sq, T(dot)(p, q)) * r,
                          FMA(FNMA(sq, sq, T(dot)(q, q)), r, -ball)};
}

// superquadric_hessian applies the chain rule to the two norms of h (support_smooth.h). The Hessian of a norm
// (u^e + v^e)^(1/e) with gradient g has rank one,
//
//	(e − 1)·gu·gv/(norm·u·v) · (v, −u)(v, −u)ᵀ,
//
// since the norm is linear along (u, v). It is unbounded near directions where h has no Hessian, and cut off
// before products overflow.
ALWAYS T(curvature) T(superquadric_hessian)(V3 e, const REAL (*power)[W], V3 n, V3 p, V3 q, V3 *s) {
    const VF least = SET1(TINY), most = SET1(1e100);
    e = (V3){COPYSIGN(e.x, n.x), COPYSIGN(e.y, n.y), COPYSIGN(e.z, n.z)};
    V3 u = {e.x * n.x, e.y * n.y, e.z * n.z};
    const VF half[2] = {LOADU(power[T(ACROSS)]), LOADU(power[T(ALONG)])},
             dual[2] = {LOADU(power[T(DUAL_ACROSS)]), LOADU(power[T(DUAL_ALONG)])};
    T(split) across = T(norm_of)(u.x, u.y, dual[0], half[0]);
    T(split) along = T(norm_of)(across.norm, u.z, dual[1], half[1]);
    *s = (V3){e.x * along.gu * across.gu, e.y * along.gu * across.gv, e.z * along.gv};
    VF inner = MIN(half[0] * dual[0] * along.gu * across.gu * across.gv / MAX(across.norm * u.x * u.y, least), most);
    VF outer = MIN(half[1] * dual[1] * along.gu * along.gv / MAX(along.norm * across.norm * u.z, least), most);
    VF ex = e.x * across.gu, ey = e.y * across.gv;
    VF ip = FNMA(u.x * e.y, p.y, u.y * e.x * p.x), iq = FNMA(u.x * e.y, q.y, u.y * e.x * q.x);
    VF op = FNMA(across.norm * e.z, p.z, u.z * FMA(ey, p.y, ex * p.x)),
       oq = FNMA(across.norm * e.z, q.z, u.z * FMA(ey, q.y, ex * q.x));
    return (T(curvature)){along.norm,
                          T(dot)(*s, p),
                          T(dot)(*s, q),
                          FMA(outer * op, op, inner * ip * ip),
                          FMA(outer * op, oq, inner * ip * iq),
                          FMA(outer * oq, oq, inner * iq * iq)};
}

// smooth_hessian applies to smooth hulls and revolutions. The support function of a revolution is F(ρ, z), where
// F is the support function of its profile, and ρ the support function of an ellipsoid, with gradient g. With J = (g,
// e_z)ᵀ, its Hessian is F_ρ·∇²ρ + Jᵀ∇²F·J, and ∇²F has rank one, orthogonal to (ρ, z).
ALWAYS T(curvature) T(smooth_hessian)(const T(places) *at, int k, int side, V3 n, V3 p, V3 q, V3 *s) {
    const T(hulls) *h = at->hull[side];
    VF form[3];
    if (k == CLR_SMOOTH_HULL) {
        *s = T(add)(T(ld3)(at->in + (side ? CLR_PB : CLR_PA) * at->stride, at->stride),
                    T(powers_hessian)(at->call, h, at->lanes, n, p, q, form));
        return (T(curvature)){T(dot)(n, *s), T(dot)(p, *s), T(dot)(q, *s), form[0], form[1], form[2]};
    }
    VF gamma = LOADU(h->power[T(FLATNESS)]);
    VF rho = SQRT(MAX(FMA(n.x, n.x, FMA(n.y, n.y, gamma * n.z * n.z)), SET1(TINY))), inv = RCP(rho);
    V3 g = {n.x * inv, n.y * inv, gamma * n.z * inv}, across = {-n.z, rho, SET1(0)};
    across = T(scale)(RSQRT(FMA(rho, rho, n.z * n.z)), across);
    V3 f = T(powers_hessian)(at->call, h, at->lanes, (V3){rho, n.z, SET1(0)}, across, across, form);
    VF gp = T(dot)(g, p), gq = T(dot)(g, q), jp = FMA(across.y, p.z, across.x * gp),
       jq = FMA(across.y, q.z, across.x * gq), fr = f.x * inv;
    *s = (V3){f.x * g.x, f.x * g.y, FMA(f.x, g.z, f.y)};
    return (T(curvature)){T(dot)(n, *s),
                          T(dot)(p, *s),
                          T(dot)(q, *s),
                          FMA(form[0] * jp, jp, fr * FNMA(gp, gp, FMA(p.x, p.x, FMA(p.y, p.y, gamma * p.z * p.z)))),
                          FMA(form[0] * jp, jq, fr * FNMA(gp, gq, FMA(p.x, q.x, FMA(p.y, q.y, gamma * p.z * q.z)))),
                          FMA(form[0] * jq, jq, fr * FNMA(gq, gq, FMA(q.x, q.x, FMA(q.y, q.y, gamma * q.z * q.z))))};
}

// add_curvature computes the curvature and the support point of core `side` of class k, in its own frame.
ALWAYS T(curvature) T(add_curvature)(const T(places) *at, int k, int side, V3 n, V3 p, V3 q, V3 *s) {
    const REAL *e = at->in + (side ? CLR_PB : CLR_PA) * at->stride;
    if (k == CLR_SUPERQUADRIC) return T(superquadric_hessian)(T(ld3)(e, at->stride), at->hull[side]->power, n, p, q, s);
    if (HAS_POWERS(k)) return T(smooth_hessian)(at, k, side, n, p, q, s);
    return T(ellipsoid_hessian)(e, at->stride, n, p, q, s);
}

// pair_hessian computes f(n) = min over D of <n, ·> = −h_D(−n) for a unit vector n: its value, its gradient,
// and the sum of the Hessians of both support functions, which is −∇²f. It writes the support point a of A and the
// support point v of D.
ALWAYS T(curvature) T(pair_hessian)(const T(places) *at, int ka, int kb, V3 n, V3 p, V3 q, V3 *a, V3 *v) {
    const REAL *m = at->in + CLR_ROT * at->stride;
    V3 t = T(ld3)(at->in + CLR_TRANS * at->stride, at->stride), b;
    T(curvature) x = T(add_curvature)(at, ka, 0, T(neg)(n), p, q, a);
    T(curvature) y = T(add_curvature)(at, kb, 1, T(rotate_back)(m, at->stride, n), T(rotate_back)(m, at->stride, p),
                                      T(rotate_back)(m, at->stride, q), &b);
    *v = T(sub)(*a, T(add)(T(rotate)(m, at->stride, b), t));
    return (T(curvature)){-(x.h + y.h + T(dot)(t, n)),
                          x.p - y.p - T(dot)(t, p),
                          x.q - y.q - T(dot)(t, q),
                          x.pp + y.pp,
                          x.pq + y.pq,
                          x.qq + y.qq};
}

// Lower bounds of Hessians of support functions over caps of directions. Float64. Derived here.
//
// For a core with support function f and support point s in the unit direction n, the invariant is that
// for all y in the tangent plane with |y| ≤ t
//
//     f(n + y) ≥ f(n) + <s, y> + ½ yᵀKy,
//
// with a symmetric matrix K in the basis p, q of hessian.h. At t = 0 it is the Hessian. widest_cap adds K of both
// cores and hands on the size of a cap over which h_D is proved to be at least a given value, for the cap
// certificates of depth_certificate.h. Size 0 means that nothing is proved.
//
// Ellipsoid: h(n + y) = |E(n + y)|, with gradient g and Hessian H in the tangent plane, and h(n + y)² =
// (h + <g, y>)² + h·yᵀHy. With √(a² + q) − a ≥ q/(2√(a² + q)), K = H·h/(h + t|g| + ½t²·tr H).
//
// Smooth hull and revolution: f = (Σ τ^β)^(1/β), τ = max(<n, x>, 0) over points x. Let x⊥ and s⊥ be the parts of
// x and s in the tangent plane, z = τ/f and V = (x⊥ − z·s⊥)/f. The plane <s, ·> = f, which contains n, meets the
// ray of n + y at (n + y)/(1 + <s, y>/f). There τ is f·(z + <V, y'>) with |y'| ≤ c = t/(1 − r),
// r = t|s⊥|/f. On a line in that plane the first derivative of f at n is 0 and its second derivative is
//
//     (β − 1)·f^(1 − 2β)·½ ΣΣ (τⱼτₖ)^(β − 2)·(τⱼ·dτₖ − τₖ·dτⱼ)²,
//
// where the last factor is constant. Hence K is at least
//
//     (β − 1)·f·R^(1/β − 2)·(W₀W₂ − W₁W₁ᵀ)/(1 + r),  W₀ = Σ z²ω, W₁ = Σ zωV, W₂ = Σ ωVVᵀ,
//
// with lower bounds ω = max(z − c|V|, 0)^(β − 2), and R an upper bound of f^β in the cap relative to its center:
// 1 + ½β(β − 1)c² Σ |V|²·max(z + c|V|, 0)^(β − 2), by Taylor's theorem.
//
// Superquadric: a norm of two numbers, one of which is such a norm itself. On a line these have one parameter,
// and their bounds are taken at its ends. An increasing function of a convex function contributes its least
// slope times the bound of the convex function.

// Terms of K are cut off at MAX_CURVATURE times the support value that is to be proved, so that the rounding
// errors of a matrix are far below the margin of 1e-6 of widest_cap. The shaders (MAX_HESSIAN) have 1e3: they bound the
// displacement of support points by one number for all shapes, which holds up to that; here each shape has its bound.
#define MAX_CURVATURE 1e4

// curvature_data are the numbers from which bounds of the Hessian of a core over caps around n are computed.
typedef struct {
    VF h;          // support value relative to the center
    flat g;        // its gradient
    flat_matrix m; // Hessian of an ellipsoid, or of ρ of a revolution
    flat gm;       // gradient of the same function; of a superquadric, of the inner norm
    VF hm;         // and its value
    VF ball;       // radius of erosion of an ellipsoid; h, m and K are those of the whole ellipsoid
    VF sharp;      // rounding bound of the support point, in units of 16·2⁻⁵³ of the size
    V3 u;          // superquadric: |e_i n_i|
    T(split) across, along;
    flat inner, outer; // linear forms of y: the constant factors of both norms
    V3 x, e[2], s;     // powers: direction, basis and gradient in the space of the points
    flat j;            // revolution: linear form of y, the change of (ρ, z) orthogonal to itself
} curvature_data;

ALWAYS VF flat_length(flat v) { return SQRT(flat_dot(v, v)); }

// curvature_at computes these values of core `side` of class k in direction n, with the basis p, q, in its own frame.
ALWAYS curvature_data curvature_at(const T(places) *at, int k, int side, V3 n, V3 p, V3 q) {
    const double *in = at->in + (side ? CLR_PB : CLR_PA) * at->stride;
    const T(hulls) *h = at->hull[side];
    curvature_data b;
    b.ball = SET1(0), b.sharp = SET1(1);
    if (k == CLR_ELLIPSOID) {
        V3 s;
        b.ball = LOADU(in + 3 * at->stride);
        T(curvature) d = T(ellipsoid_hessian)(in, at->stride, n, p, q, &s);
        b.hm = b.h = d.h + b.ball;
        b.gm = b.g = (flat){d.p, d.q};
        b.m = (flat_matrix){d.pp + b.ball, d.pq, d.qq + b.ball};
    } else if (k == CLR_SUPERQUADRIC) {
        V3 e = T(ld3)(in, at->stride);
        e = (V3){COPYSIGN(e.x, n.x), COPYSIGN(e.y, n.y), COPYSIGN(e.z, n.z)};
        b.sharp = MAX(LOADU(h->power[T(DUAL_ACROSS)]), LOADU(h->power[T(DUAL_ALONG)]));
        b.u = (V3){e.x * n.x, e.y * n.y, e.z * n.z};
        b.across = T(norm_of)(b.u.x, b.u.y, LOADU(h->power[T(DUAL_ACROSS)]), LOADU(h->power[T(ACROSS)]));
        b.along = T(norm_of)(b.across.norm, b.u.z, LOADU(h->power[T(DUAL_ALONG)]), LOADU(h->power[T(ALONG)]));
        V3 s = {e.x * b.across.gu, e.y * b.across.gv, SET1(0)};
        b.h = b.along.norm, b.hm = b.across.norm;
        b.gm = (flat){T(dot)(s, p), T(dot)(s, q)};
        s = (V3){s.x * b.along.gu, s.y * b.along.gu, e.z * b.along.gv};
        b.g = (flat){T(dot)(s, p), T(dot)(s, q)};
        b.inner = (flat){FNMA(b.u.x * e.y, p.y, b.u.y * e.x * p.x), FNMA(b.u.x * e.y, q.y, b.u.y * e.x * q.x)};
        b.outer = (flat){FNMA(b.hm * e.z, p.z, b.u.z * b.gm.x), FNMA(b.hm * e.z, q.z, b.u.z * b.gm.y)};
    } else if (k == CLR_SMOOTH_HULL) {
        b.sharp = LOADU(h->power[T(SHARP)]);
        b.x = n, b.e[0] = p, b.e[1] = q;
        b.s = T(powered_support)(at->call, h, at->lanes, n);
        b.h = T(dot)(n, b.s);
        b.g = (flat){T(dot)(p, b.s), T(dot)(q, b.s)};
    } else { // a revolution, see smooth_hessian
        const VF gamma = LOADU(h->power[T(FLATNESS)]), one = SET1(1);
        b.sharp = LOADU(h->power[T(SHARP)]);
        VF rho = SQRT(MAX(FMA(n.x, n.x, FMA(n.y, n.y, gamma * n.z * n.z)), SET1(TINY))), inv = one / rho;
        V3 g = {n.x * inv, n.y * inv, gamma * n.z * inv}, across = {-n.z, rho, SET1(0)};
        across = T(scale)(one / SQRT(FMA(rho, rho, n.z * n.z)), across);
        b.x = (V3){rho, n.z, SET1(0)}, b.e[0] = b.e[1] = across;
        b.s = T(powered_support)(at->call, h, at->lanes, b.x);
        b.h = T(dot)(b.x, b.s), b.hm = rho;
        b.gm = (flat){T(dot)(g, p), T(dot)(g, q)};
        b.g = (flat){FMA(b.s.x, b.gm.x, b.s.y * p.z), FMA(b.s.x, b.gm.y, b.s.y * q.z)};
        b.j = (flat){FMA(across.y, p.z, across.x * b.gm.x), FMA(across.y, q.z, across.x * b.gm.y)};
        b.m.xx = inv * FNMA(b.gm.x, b.gm.x, FMA(p.x, p.x, FMA(p.y, p.y, gamma * p.z * p.z)));
        b.m.xy = inv * FNMA(b.gm.x, b.gm.y, FMA(p.x, q.x, FMA(p.y, q.y, gamma * p.z * q.z)));
        b.m.yy = inv * FNMA(b.gm.y, b.gm.y, FMA(q.x, q.x, FMA(q.y, q.y, gamma * q.z * q.z)));
    }
    return b;
}

// stretched is the factor of the Hessian of |En| that remains over a cap: h/(h + t|g| + ½t²·tr H).
ALWAYS VF stretched(VF h, flat g, flat_matrix m, VF t) {
    VF grown = FMA(SET1(0.5) * t * t, m.xx + m.yy, FMA(t, flat_length(g), h));
    return h / MAX(grown, SET1(TINY));
}

// norm_hessian_bounds is a lower bound of the second derivative of a norm of u and v over a cap, per square of
// its constant factor, which is `factor` at most. *slope is a lower bound of its derivative by u. grown is r.
ALWAYS VF norm_hessian_bounds(VF u, VF v, const T(split) *s, VF e, VF half, VF factor, VF grown, VF *slope) {
    const VF one = SET1(1), zero = SET1(0), least = SET1(1e-200), inv = one / MAX(s->norm, least);
    u = u * inv, v = v * inv;
    VF m = factor * inv * inv / (one - grown), a = m * s->gv, b = m * s->gu;
    VF u1 = u - a, v1 = v - b, u2 = u + a, v2 = v + b;
    T(split) first = T(norm_of)(u2, MAX(v1, -v1), e, half), second = T(norm_of)(MAX(u1, -u1), v2, e, half);
    VF top = T(log2)(MAX(MAX(first.norm, second.norm), one));
    VM wide = LT(SET1(2), e); // the exponent of the product is positive
    VF product = SEL(wide, MIN(u2 * v1, u1 * v2), u2 * v2);
    VM some = LT(SET1(1e-150), product);
    VF log = FMA(e - SET1(2), T(log2)(SEL(some, product, one)), FNMA(SET1(2) * e, top, top));
    *slope = SEL(LT(SET1(1e-150), u1), T(exp2)(MIN((e - one) * (T(log2)(MAX(u1, SET1(1e-150))) - top), zero)), zero);
    VF k = (e - one) * T(exp2)(MIN(log, SET1(100))) * (inv * inv * inv);
    return SEL(MAND(some, LE(grown, SET1(0.5))), k, zero);
}

// power_sums are R, W₀, W₁, W₂ and Σ max(z − c|V|, 0)^(β − 1)·x of all lanes.
typedef struct {
    VF r, w0;
    flat w1;
    flat_matrix w2;
    VF slope;
} power_sums;

// sums_of sums over the points of each lane, as powers_hessian does. c is in the space of the points, whose
// tangent plane has two dimensions for a hull (flat_space) and one for a profile.
ALWAYS power_sums sums_of(const T(places) *at, const curvature_data *b, int side, VF c, int flat_space) {
    const T(hulls) *h = at->hull[side];
    const double *x = at->call->vx, *y = at->call->vy, *z = at->call->vz;
    const VF inv = SET1(1) / MAX(b->h, SET1(TINY));
    double in[12][W] __attribute__((aligned(64))), out[8][W] __attribute__((aligned(64)));
    T(st3)(in[0], W, T(scale)(inv, b->x));
    T(st3)(in[3], W, T(scale)(inv, b->e[0]));
    T(st3)(in[6], W, T(scale)(inv, b->e[1]));
    STOREU(in[9], T(dot)(b->e[0], b->s) * inv);
    STOREU(in[10], T(dot)(b->e[1], b->s) * inv);
    STOREU(in[11], c);
    memset(out, 0, sizeof out);
    for (unsigned m = at->lanes; m; m &= m - 1) {
        const int l = __builtin_ctz(m), first = h->first[l], end = first + h->count[l];
        const V3 n = {SET1(in[0][l]), SET1(in[1][l]), SET1(in[2][l])},
                 p = {SET1(in[3][l]), SET1(in[4][l]), SET1(in[5][l])},
                 q = {SET1(in[6][l]), SET1(in[7][l]), SET1(in[8][l])};
        const VF sp = SET1(in[9][l]), sq = SET1(in[10][l]), cap = SET1(in[11][l]),
                 power = SET1(h->power[T(SHARP)][l] - 1), zero = SET1(0), least = SET1(1e-280);
        VF sum[8] = {zero, zero, zero, zero, zero, zero, zero, zero};
        for (int j = first; j < end; j += W) {
            const V3 point = {LOADU(x + j), LOADU(y + j), LOADU(z + j)};
            VF support_value = T(dot)(n, point), v1 = FNMA(support_value, sp, T(dot)(p, point)),
               v2 = flat_space ? FNMA(support_value, sq, T(dot)(q, point)) : zero;
            VF vv = FMA(v1, v1, v2 * v2), v = cap * SQRT(vv), high = support_value + v, low = support_value - v;
            VF over = SEL(LT(least, high), T(exp2)(power * T(log2)(MAX(high, least))), zero);
            VF w = SEL(LT(least, low), T(exp2)(power * T(log2)(MAX(low, least))), zero), zw = support_value * w;
            sum[0] = FMA(vv, over, sum[0]);
            sum[1] = FMA(support_value, zw, sum[1]);
            sum[2] = FMA(zw, v1, sum[2]);
            sum[4] = FMA(w * v1, v1, sum[4]);
            if (flat_space) {
                sum[3] = FMA(zw, v2, sum[3]);
                sum[5] = FMA(w * v1, v2, sum[5]);
                sum[6] = FMA(w * v2, v2, sum[6]);
            } else {
                sum[7] = FMA(low * w, point.x, sum[7]);
            }
        }
        for (int j = 0; j < 8; j++) out[j][l] = HSUM(sum[j]);
    }
    const VF sharp = LOADU(h->power[T(SHARP)]);
    return (power_sums){FMA(SET1(0.5) * sharp * (sharp + SET1(1)) * c * c, LOADU(out[0]), SET1(1)),
                        LOADU(out[1]),
                        {LOADU(out[2]), LOADU(out[3])},
                        {LOADU(out[4]), LOADU(out[5]), LOADU(out[6])},
                        LOADU(out[7])};
}

// hessian_bound_over is K of a core over a cap of size t. No term of it exceeds `most` in any direction.
ALWAYS flat_matrix hessian_bound_over(const T(places) *at, int k, int side, const curvature_data *b, VF t, VF most) {
    const VF zero = SET1(0), one = SET1(1), half = SET1(0.5);
    const T(hulls) *h = at->hull[side];
    flat_matrix m = {zero, zero, zero};
    if (k == CLR_ELLIPSOID) {
        const VF left = stretched(b->hm, b->gm, b->m, t);
        return (flat_matrix){left * b->m.xx, left * b->m.xy, left * b->m.yy};
    }
    const VF grown = t * flat_length(b->g) / MAX(b->h, SET1(TINY));
    if (k == CLR_SUPERQUADRIC) {
        VF slope, none, inner = flat_length(b->inner), outer = flat_length(b->outer),
                        flipped = t * flat_length(b->gm) / MAX(b->hm, SET1(TINY));
        VF k1 = norm_hessian_bounds(b->hm, b->u.z, &b->along, LOADU(h->power[T(DUAL_ALONG)]), LOADU(h->power[T(ALONG)]),
                                    t * outer, grown, &slope) /
                (one + grown);
        VF k2 = norm_hessian_bounds(b->u.x, b->u.y, &b->across, LOADU(h->power[T(DUAL_ACROSS)]),
                                    LOADU(h->power[T(ACROSS)]), t * inner, flipped, &none) /
                (one + flipped);
        k2 = SEL(LE(grown, half), slope * k2, zero);
        add_square(&m, MIN(k1, most / MAX(outer * outer, SET1(TINY))), b->outer);
        add_square(&m, MIN(k2, most / MAX(inner * inner, SET1(TINY))), b->inner);
        return m;
    }
    const int hull = k == CLR_SMOOTH_HULL;
    const VF sharp = LOADU(h->power[T(SHARP)]), share = one / (one - MIN(grown, half)),
             jj = hull ? one : flat_dot(b->j, b->j);
    const power_sums s = sums_of(at, b, side, t * share * SQRT(jj), hull);
    const VF root = LOADU(h->power[T(ROOT)]), log = T(log2)(s.r);
    const VF left = sharp * b->h * T(exp2)((root - SET1(2)) * log) / (one + grown);
    const VM some = LE(grown, half);
    m.xx = left * FNMA(s.w1.x, s.w1.x, s.w0 * s.w2.xx);
    if (hull) {
        m.xy = left * FNMA(s.w1.x, s.w1.y, s.w0 * s.w2.xy);
        m.yy = left * FNMA(s.w1.y, s.w1.y, s.w0 * s.w2.yy);
        VF cut = SEL(some, MIN(one, most / MAX(m.xx + m.yy, SET1(TINY))), zero);
        return (flat_matrix){cut * m.xx, cut * m.xy, cut * m.yy};
    }
    const VF across = SEL(some, MIN(MAX(m.xx, zero), most / MAX(jj, SET1(TINY))), zero);
    VF radial = T(exp2)((root - one) * log) * MAX(s.slope, zero) * stretched(b->hm, b->gm, b->m, t);
    radial = SEL(some, MIN(radial, most / MAX(b->m.xx + b->m.yy, SET1(TINY))), zero);
    m = (flat_matrix){radial * b->m.xx, radial * b->m.xy, radial * b->m.yy};
    add_square(&m, across, b->j);
    return m;
}

// least_curvature is the least eigenvalue of the sum of K of both cores over a cap of size t, without their
// erosion.
ALWAYS VF least_curvature(const T(places) *at, int ka, int kb, const curvature_data b[2], VF most, VF t) {
    const flat_matrix x = hessian_bound_over(at, ka, 0, b, t, most), y = hessian_bound_over(at, kb, 1, b + 1, t, most);
    return least_eigenvalue((flat_matrix){x.xx + y.xx, x.xy + y.xy, x.yy + y.yy});
}

// Sizes of caps that are tried, each HESSIAN_CAP_RATIO times the one before. The least is 0.03: with much
// smaller caps, the covers of depth_certificate.h exceed their memory.
#define WIDEST_HESSIAN_CAP 0.64
#define HESSIAN_CAP_RATIO 0.6

// widest_cap is the size of the largest cap found over which the support value along unit vectors is proved to
// be at least h, or zero.
//
// Let e be the sum of both radii of erosion. The support value along n + y is that of the whole cores less
// e|n + y|. The whole cores' support value grows by at least ½κ|y|² up to |y| = t. If κ ≥ h + e, this is at least
// (h + e)(√(1 + |y|²) − 1), up to the size that reach (tangent.h) gives.
ALWAYS VF widest_cap(const T(places) *at, int ka, int kb, const curvature_data b[2], VF h) {
    static const double shrink[3] = {HESSIAN_CAP_RATIO * HESSIAN_CAP_RATIO * HESSIAN_CAP_RATIO * HESSIAN_CAP_RATIO,
                                     HESSIAN_CAP_RATIO * HESSIAN_CAP_RATIO, HESSIAN_CAP_RATIO};
    const VF zero = SET1(0), whole = h + b[0].ball + b[1].ball;
    VF size = SET1(WIDEST_HESSIAN_CAP / HESSIAN_CAP_RATIO), found = zero;
    for (int j = 0; j < 3; j++) { // bisection of seven sizes
        const VF t = size * SET1(shrink[j]), curvature = least_curvature(at, ka, kb, b, SET1(MAX_CURVATURE) * whole, t);
        const VM proved = LE(SET1(1 + 1e-6) * whole, curvature);
        found = SEL(proved, MAX(found, reach(curvature, t, whole)), found);
        size = SEL(proved, size, t);
    }
    return found;
}

#endif

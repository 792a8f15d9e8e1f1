// Hessians of support functions: value, gradient and Hessian at a unit direction n, in an orthonormal
// basis p, q of the tangent plane of the sphere. Float64.
//
//	ellipsoid           h = |En|, E = diag(e), ∇h = s = E²n/h, ∇²h = (E² − ssᵀ)/h
//	superquadric        [RTR, eq. 16], chain rule through two norms
//	smooth hull         [RTR, eq. 17], ∇²h = (β − 1)/h·(Σ y^(β−2) xxᵀ − ssᵀ) with y = <x, n>/h
//	smooth revolution   [RTR, eq. 19], chain rule through the profile and ρ
//
// Since h is positively homogeneous, ∇²h·n = 0, so three numbers in the tangent plane are the Hessian.
// Newton's method (newton.h) and the Riemannian trust region method (trust_region.h) take steps from these
// numbers; no bound rests on them. Where h has no Hessian, entries are cut off at finite values.

#ifndef CLR_HESSIAN_H
#define CLR_HESSIAN_H

#include "../isa/real64.h"
#include "support.h"

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

#endif

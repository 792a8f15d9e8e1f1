// Support points of twice differentiable cores with the Hessian H of the support function. A Hessian is given as a
// quadratic form on the plane of two vectors e and f: x = <e, He>, y = <e, Hf>, z = <f, Hf>. Superquadrics follow
// [RTR, eq. 16], smooth hulls and revolutions [RTR, eq. 17 and 19].
//
// Only the steps of the trust region rest on the Hessian, no bound. Where it does not exist it counts as 0, as in
// package ref.

#ifndef CLEARANCE_HESSIAN_GLSL
#define CLEARANCE_HESSIAN_GLSL

#include "support.glsl"

// The including file declares METHOD. Unless it is rtr, all shapes are ellipsoids and spheres.

real dotProduct2(real2 a, real2 b) {
    precise real s = a.x * b.x + a.y * b.y;
    return s;
}

// outerSquare returns the form v vᵀ for a vector v with <e, v> = a and <f, v> = b.
real3 outerSquare(real a, real b) {
    precise real3 s = real3(a * a, a * b, b * b);
    return s;
}

// powerNormHessian returns the second derivatives of the norm (u^k + v^k)^(1/k), k = 2/(2-α), at unit norm, along
// (e.x, e.y) and (f.x, f.y). It has rank one, since the norm is linear along (u, v). The gradient g contains the
// powers u^(k-1) and v^(k-1).
real3 powerNormHessian(real u, real v, real alpha, real2 g, real2 e, real2 f) {
    const real NEGLIGIBLE = real(1e-18);
    precise real k = alpha / (real(2) - alpha);
    precise real pu = u > NEGLIGIBLE ? g.x / u : (alpha == real(1) ? real(1) : real(0));
    precise real pv = v > NEGLIGIBLE ? g.y / v : (alpha == real(1) ? real(1) : real(0));
    precise real a = v * e.x - u * e.y, b = v * f.x - u * f.y;
    precise real3 hessian = k * pu * pv * outerSquare(a, b);
    return hessian;
}

// superquadricHessian applies the chain rule to the two norms of the support function.
real3 superquadricHessian(real3 axes, real alpha1, real alpha2, real3 d, real3 e, real3 f) {
    precise real3 s = axes * abs(d);
    real3 signedAxes = axes * real3(d.x < real(0) ? -1 : 1, d.y < real(0) ? -1 : 1, d.z < real(0) ? -1 : 1);
    precise real3 p = signedAxes * e, q = signedAxes * f;
    real2 equatorial, meridional;
    real l = powerNorm2(s.x, s.y, alpha2, equatorial), h = powerNorm2(l, s.z, alpha1, meridional);
    if (!(l > real(0))) return alpha1 == real(1) && alpha2 == real(1) ? ellipsoidHessian(axes, d, e, f) : real3(0);
    real3 inner = powerNormHessian(s.x / l, s.y / l, alpha2, equatorial, p.xy, q.xy);
    precise real2 pl = real2(equatorial.x * p.x + equatorial.y * p.y, p.z);
    precise real2 ql = real2(equatorial.x * q.x + equatorial.y * q.y, q.z);
    real3 outer = powerNormHessian(l / h, s.z / h, alpha1, meridional, pl, ql);
    precise real3 hessian = (meridional.x / l) * inner + outer / h;
    return hessian;
}

// isEllipsoid reports whether a core is an ellipsoid or a point.
bool isEllipsoid(Shape s) {
    return (uses(KIND_ELLIPSOID) && s.coreClass == CLASS_ELLIPSOID) ||
           (s.coreClass == CLASS_FRUSTUM && s.params == real3(0));
}

// isDifferentiable reports whether the trust region method supports a core: its support function is twice
// differentiable in almost all directions, and it is no polytope. A point, the core of a sphere, counts.
bool isDifferentiable(Shape s) {
    return isEllipsoid(s) || (uses(KIND_SUPERQUADRIC) && s.coreClass == CLASS_SUPERQUADRIC) || isSmooth(s);
}

// supportAndHessian returns coreSupport of such a core, with the Hessian, which is 0 for a point.
real3 supportAndHessian(Shape s, real3 d, real3 e, real3 f, out real3 hessian) {
    hessian = real3(0);
    real3 p = real3(0);
    if (uses(KIND_ELLIPSOID) && s.coreClass == CLASS_ELLIPSOID) {
        p = ellipsoidSupport(s.params, d);
        hessian = ellipsoidHessian(s.params, d, e, f);
    }
    if (METHOD != METHOD_RTR) return p;
    if (uses(KIND_SUPERQUADRIC) && s.coreClass == CLASS_SUPERQUADRIC) {
        real alpha1 = paramOf(s.record, SUPERQUADRIC_EXPONENTS_0);
        real alpha2 = paramOf(s.record, SUPERQUADRIC_EXPONENTS_1);
        p = superquadricSupport(s.params, alpha1, alpha2, d);
        hessian = superquadricHessian(s.params, alpha1, alpha2, d, e, f);
    }
    if (isSmooth(s)) p = smoothSupport(s, d, e, f, hessian);
    // Near a direction without a Hessian it can overflow.
    real magnitude = abs(hessian.x) + abs(hessian.y) + abs(hessian.z);
    if (!(magnitude <= real(1e30))) hessian = real3(0);
    return p;
}

#endif

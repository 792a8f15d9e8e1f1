// Support points of twice differentiable cores with the Hessian of the support function, as
// a quadratic form on the plane of two vectors e and f: xx = <e, He>, xy = <e, Hf>, yy =
// <f, Hf>. Only the steps of the trust region rest on it, no bound. Where there is no
// Hessian it counts as 0, as in package ref.

#ifndef CLEARANCE_CURVED_GLSL
#define CLEARANCE_CURVED_GLSL

#include "shape.glsl"

// METHOD is declared by the including file: by another method than rtr all cores are those
// of ellipsoids and spheres.

// squares is the form of v vᵀ for the v that e and f meet at a and b.
real3 squares(real a, real b) {
    precise real3 s = real3(a * a, a * b, b * b);
    return s;
}

// planeForm is the second derivatives of the norm (u^k + v^k)^(1/k), k = 2/(2-α), at
// unit norm, along (e.x, e.y) and (f.x, f.y): one square, since the norm is linear along
// (u, v). The gradient g has the powers u^(k-1), v^(k-1).
real3 planeForm(real u, real v, real alpha, real2 g, real2 e, real2 f) {
    const real TINY = real(1e-18);
    precise real k = alpha / (real(2) - alpha);
    precise real pu = u > TINY ? g.x / u : (alpha == real(1) ? real(1) : real(0));
    precise real pv = v > TINY ? g.y / v : (alpha == real(1) ? real(1) : real(0));
    precise real a = v * e.x - u * e.y, b = v * f.x - u * f.y;
    precise real3 form = k * pu * pv * squares(a, b);
    return form;
}

// superquadricForm goes by the chain rule through the two norms of the support function.
real3 superquadricForm(real3 axes, real alpha1, real alpha2, real3 d, real3 e, real3 f) {
    precise real3 s = axes * abs(d);
    real3 turned = axes * real3(d.x < real(0) ? -1 : 1, d.y < real(0) ? -1 : 1, d.z < real(0) ? -1 : 1);
    precise real3 p = turned * e, q = turned * f;
    real2 around, along;
    real l = split(s.x, s.y, alpha2, around), h = split(l, s.z, alpha1, along);
    if (!(l > real(0))) return alpha1 == real(1) && alpha2 == real(1) ? ellipsoidForm(axes, d, e, f) : real3(0);
    real3 inner = planeForm(s.x / l, s.y / l, alpha2, around, p.xy, q.xy);
    precise real2 pl = real2(around.x * p.x + around.y * p.y, p.z), ql = real2(around.x * q.x + around.y * q.y, q.z);
    real3 outer = planeForm(l / h, s.z / h, alpha1, along, pl, ql);
    precise real3 form = (along.x / l) * inner + outer / h;
    return form;
}

// ellipsoid reports whether a core is an ellipsoid or a point.
bool ellipsoid(Shape s) {
    return (have(KIND_ELLIPSOID) && s.family == FAMILY_ELLIPSOID) || (s.family == FAMILY_FRUSTUM && s.params == real3(0));
}

// differentiable reports whether a core has a support function that is twice differentiable in
// almost all directions and not a polytope's: those that the trust region is made for. A
// point, the core of a sphere, counts.
bool differentiable(Shape s) {
    return ellipsoid(s) || (have(KIND_SUPERQUADRIC) && s.family == FAMILY_SUPERQUADRIC) || smooth_(s);
}

// curvedSupport is coreSupport of such a core, with the Hessian; 0 for a point.
real3 curvedSupport(Shape s, real3 d, real3 e, real3 f, out real3 form) {
    form = real3(0);
    real3 p = real3(0);
    if (have(KIND_ELLIPSOID) && s.family == FAMILY_ELLIPSOID) {
        p = ellipsoidSupport(s.params, d);
        form = ellipsoidForm(s.params, d, e, f);
    }
    if (METHOD != METHOD_RTR) return p;
    if (have(KIND_SUPERQUADRIC) && s.family == FAMILY_SUPERQUADRIC) {
        real alpha1 = paramOf(s.record, SUPERQUADRIC_EXPONENTS_0), alpha2 = paramOf(s.record, SUPERQUADRIC_EXPONENTS_1);
        p = superquadricSupport(s.params, alpha1, alpha2, d);
        form = superquadricForm(s.params, alpha1, alpha2, d, e, f);
    }
    if (smooth_(s)) p = smoothSupport(s, d, e, f, form);
    // Beside a direction without a Hessian it can overflow.
    real most = abs(form.x) + abs(form.y) + abs(form.z);
    if (!(most <= real(1e30))) form = real3(0);
    return p;
}

#endif

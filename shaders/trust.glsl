// The Riemannian trust region method (paper 002, Alg. 2) for a pair of curved cores: it
// seeks the unit direction x, from A to B, along which the support function h of A - B
// is least. The signed distance of the cores is -h there, apart and in penetration alike.
// One text for both precisions: single finds, double polishes and proves.
//
// The including file defines, before the include,
//     Shape shapeA, shapeB
//     real3 intoB(real3 v)              // a direction of the frame of A in that of B
//     real3 difference(real3 a, real3 b) // a point of A minus a point of B in its own frame
//     real lengthUnit()                  // of what difference returns, per metre

#ifndef CLEARANCE_TRUST_GLSL
#define CLEARANCE_TRUST_GLSL

#include "curved.glsl"

// trusted reports whether the method is for this pair. Asked for by name it serves all
// pairs of curved cores. By the method auto it serves ellipsoids, among themselves and with
// spheres, on which it was measured to be faster: see docs/performance.md.
bool trusted(Shape a, Shape b) {
    if (METHOD == METHOD_RTR) return differentiable(a) && differentiable(b);
    return METHOD == METHOD_AUTO && ellipsoid(a) && ellipsoid(b) && (a.family == FAMILY_ELLIPSOID || b.family == FAMILY_ELLIPSOID);
}

// Radii of the trust region are lengths of the tangent step x -> (x+v)/|x+v|: a step of
// 1 turns by 45 degrees. As in ref.RTR, from which the rules of acceptance are.
const real START_REGION = real(0.5);
const real MAX_REGION = real(1);
const real ACCEPT_RATIO = real(0.1);

// Looks beyond which a row is left to others, in each precision. Smooth shapes take a dozen; shapes that
// nearly have edges would take many more.
const uint MAX_LOOKS = 24u;

// Stationary is where the method is: a direction with what is known there.
struct Stationary {
    real3 x, e, f; // unit direction, basis of the plane across it
    real3 w, a;    // vertex of A - B, and its point of A
    real h;        // <x, w>
    real2 g;       // gradient in the basis
    real slope;    // its length
    real3 second;  // Hessian on the sphere, the form on e and f: that of the cores less h
};

real2 applied(real3 m, real2 v) {
    precise real2 r = real2(m.x * v.x + m.y * v.y, m.y * v.x + m.z * v.y);
    return r;
}

real product2(real2 a, real2 b) { precise real s = a.x * b.x + a.y * b.y; return s; }

// lowest is the smallest eigenvalue.
real lowest(real3 m) {
    precise real half_ = real(0.5) * (m.x - m.z);
    precise real l = real(0.5) * (m.x + m.z) - root(half_ * half_ + m.y * m.y);
    return l;
}

real3 unitOf(real3 v) {
    precise real3 u = v / norm(v);
    return u;
}

// basis completes a unit vector to an orthonormal basis.
void basis(real3 x, out real3 e, out real3 f) {
    precise real3 c = cross(x, abs(x.x) > real(0.6) ? real3(0, 1, 0) : real3(1, 0, 0));
    e = unitOf(c);
    precise real3 g = cross(x, e);
    f = g;
}

// look finds what is known along x.
Stationary look(real3 x) {
    Stationary p;
    p.x = x;
    basis(x, p.e, p.f);
    real3 b = real3(0);
    precise real3 second = real3(0);
    for (int k = 0; k < 2; k++) { // B after A, in one text: half the code
        Shape s = shapeA;
        real3 d = x, e = p.e, g = p.f;
        if (k == 1) {
            s = shapeB;
            d = -intoB(x);
            e = -intoB(e);
            g = -intoB(g);
        }
        p.a = b;
        real3 form;
        b = curvedSupport(s, d, e, g, form);
        second += lengthUnit() * form;
    }
    p.w = difference(p.a, b);
    p.h = product(x, p.w);
    p.g = real2(product(p.e, p.w), product(p.f, p.w));
    p.slope = root(product2(p.g, p.g));
    second -= real3(p.h, 0, p.h);
    p.second = second;
    return p;
}

// rim is the point of v + τp, τ ≥ 0, on the rim of the disc; v lies inside.
real2 rim(real2 v, real2 p, real radius) {
    real a = product2(p, p), b = product2(v, p);
    precise real c = product2(v, v) - radius * radius;
    if (!(a > real(0))) return v;
    precise real square_ = b * b - a * c;
    precise real2 r = v + (root(max(square_, real(0))) - b) / a * p;
    return r;
}

// step minimises the model of h in the disc by conjugate gradients that stop at its rim and
// at negative curvature (paper 002, eq. 9). Two are exact in the plane. At a stationary
// point that is no minimum it goes along the lowest curvature.
real2 step_(Stationary p, real radius) {
    real low = lowest(p.second);
    if (low < real(0) && p.slope <= -low * radius * real(1e-6)) {
        precise real2 v = real2(p.second.y, low - p.second.x), u = real2(low - p.second.z, p.second.y);
        if (product2(u, u) > product2(v, v)) v = u;
        real n = root(product2(v, v));
        if (!(n > real(0))) {
            v = real2(1, 0);
            n = real(1);
        }
        precise real2 r = v * ((product2(v, p.g) > real(0) ? -radius : radius) / n);
        return r;
    }
    real2 v = real2(0), r = -p.g, d = r;
    real rr = product2(r, r);
    for (int k = 0; k < 2; k++) {
        real2 hd = applied(p.second, d);
        real curvature = product2(d, hd);
        precise real along = rr / curvature;
        precise real2 next = v + along * d;
        if (!(curvature > real(0)) || !(product2(next, next) < radius * radius)) return rim(v, d, radius);
        v = next;
        precise real2 rest = r - along * hd;
        r = rest;
        real left = product2(r, r);
        if (!(left > real(0))) break;
        precise real2 turned = r + left / rr * d;
        d = turned;
        rr = left;
    }
    return v;
}

// trust runs the method from the unit direction x until the gradient is below half of stop and
// no direction has negative curvature (eq. 13), h is below enough, or rounding or the
// cap on looks ends it. grain is what rounding does to h.
Stationary trust(real3 x, real stop, real grain, real enough, uint cap, inout uint looks) {
    Stationary p;
    real radius = START_REGION, size_ = real(0), promised = real(0);
    real3 to = x;
    for (uint k = 0u; k < max(cap, 1u); k++) {
        Stationary q = look(to);
        looks++;
        if (k == 0u) {
            p = q;
        } else {
            precise real ratio = (p.h - q.h) / promised;
            // Where the decrease drowns in the rounding of h the gradient tells.
            bool drowned = promised <= real(2) * grain;
            if (drowned) ratio = q.slope < p.slope ? real(1) : real(0);
            bool accepted = ratio > ACCEPT_RATIO;
            if (accepted) p = q;
            else if (drowned) break;
            if (!(ratio >= real(0.25))) radius = real(0.25) * min(radius, size_);
            else if (ratio > real(0.75)) radius = min(real(2) * radius, MAX_REGION);
        }
        if ((p.slope <= real(0.5) * stop && lowest(p.second) >= -stop) || p.h < enough) break;
        real2 v = step_(p, radius);
        size_ = root(product2(v, v));
        if (!(size_ > real(4) * UNIT_ROUNDOFF)) break;
        precise real less = -product2(p.g, v) - real(0.5) * product2(v, applied(p.second, v));
        precise real3 next = p.x + (v.x * p.e + v.y * p.f);
        promised = less;
        to = unitOf(next);
    }
    return p;
}

#endif

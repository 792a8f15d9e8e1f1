// Superquadrics |x/a|^(2/α2) + |y/b|^(2/α2), |z/c|^(2/α1) [RTR, eq. 16], by the formulas of geom.Superquadric.
//
// The support function is a norm of norms: the equatorial norm of (a·dx, b·dy), with α2, and the meridional norm of
// that and c·dz, with α1. The support point is its gradient.

#ifndef CLEARANCE_SUPPORT_SUPERQUADRIC_GLSL
#define CLEARANCE_SUPPORT_SUPERQUADRIC_GLSL

#include "elementary.glsl"

// A ratio of coordinates below this counts as 0: it need not be a normal number, and its contribution to a support
// value is below rounding.
#ifdef DOUBLE
const double SMALLEST_RATIO = 1e-300lf;
#else
const float SMALLEST_RATIO = 1e-37;
#endif

// powerNorm2 returns the norm of (u, v), u, v ≥ 0, with exponent e = 2/(2-α), and its gradient, a point of the unit
// circle of the conjugate exponent 2/α. Both coordinates of the gradient are computed from the same q, so the point
// lies on that circle up to rounding, for any e and whatever the error of the logarithm. Exponentials have arguments
// ≤ 0, so nothing overflows.
real powerNorm2(real u, real v, real alpha, out real2 gradient) {
    real larger = max(u, v), smaller = min(u, v);
    gradient = v > u ? real2(0, 1) : real2(1, 0);
    if (!(smaller >= SMALLEST_RATIO * larger && smaller > real(0))) return larger;
    precise real logQ = real(2) / (real(2) - alpha) * logOf(smaller / larger);
    logQ = min(logQ, real(0));
    real q = expOf(logQ);
    precise real halfAlpha = real(0.5) * alpha;
    real first = expOf(-halfAlpha * log1pOf(q));
    precise real second = first * expOf(halfAlpha * logQ);
    gradient = v > u ? real2(second, first) : real2(first, second);
    precise real n = larger * ((real(1) + q) * first);
    return n;
}

real3 superquadricSupport(real3 axes, real alpha1, real alpha2, real3 d) {
    precise real3 s = axes * abs(d);
    real2 equatorial, meridional;
    real l = powerNorm2(s.x, s.y, alpha2, equatorial);
    powerNorm2(l, s.z, alpha1, meridional);
    precise real3 p = axes * real3(meridional.x * equatorial, meridional.y);
    return real3(d.x < real(0) ? -p.x : p.x, d.y < real(0) ? -p.y : p.y, d.z < real(0) ? -p.z : p.z);
}

#endif

// Superquadrics: |x/a|^(2/α2), |y/b|^(2/α2), |z/c|^(2/α1), paper 002, eq. 16, as in
// geom.Superquadric, whose formulas these are.

#ifndef CLEARANCE_SUPERQUADRIC_GLSL
#define CLEARANCE_SUPERQUADRIC_GLSL

#include "elementary.glsl"

// Ratios below this are taken for 0: their logarithm would not be that of a normal
// number, and what they add to a support value is lost in rounding.
#ifdef DOUBLE
const double LEAST_RATIO = 1e-300lf;
#else
const float LEAST_RATIO = 1e-37;
#endif

// split is the norm of (u, v), u, v ≥ 0, of exponent e = 2/(2-α), and its gradient, a
// point of the unit circle of the conjugate exponent 2/α. Both coordinates come from the
// same q, so the point lies on the circle up to rounding however large e is and
// however coarse the logarithm; exponentials are of numbers ≤ 0, so that nothing
// overflows.
real split(real u, real v, real alpha, out real2 gradient) {
    real high = max(u, v), low = min(u, v);
    gradient = v > u ? real2(0, 1) : real2(1, 0);
    if (!(low >= LEAST_RATIO * high && low > real(0))) return high;
    precise real lq = real(2) / (real(2) - alpha) * logOf(low / high);
    lq = min(lq, real(0));
    real q = expOf(lq);
    precise real half_ = real(0.5) * alpha;
    real first = expOf(-half_ * log1pOf(q));
    precise real second = first * expOf(half_ * lq);
    gradient = v > u ? real2(second, first) : real2(first, second);
    precise real n = high * ((real(1) + q) * first);
    return n;
}

real3 superquadricSupport(real3 axes, real alpha1, real alpha2, real3 d) {
    precise real3 s = axes * abs(d);
    real2 around, along;
    real l = split(s.x, s.y, alpha2, around);
    split(l, s.z, alpha1, along);
    precise real3 p = axes * real3(along.x * around, along.y);
    return real3(d.x < real(0) ? -p.x : p.x, d.y < real(0) ? -p.y : p.y, d.z < real(0) ? -p.z : p.z);
}

#endif

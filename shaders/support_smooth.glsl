// Smooth hulls [RTR, eq. 17] and smooth revolutions [RTR, eq. 19], by the formulas of geom.SmoothHull and
// geom.SmoothRevolution. Included by support.glsl.

#ifndef CLEARANCE_SUPPORT_SMOOTH_GLSL
#define CLEARANCE_SUPPORT_SMOOTH_GLSL

#include "elementary.glsl"

// smallestRatio returns the t below which t^(β-2) < 2^-100: such a term of a sum is below the rounding of the term
// with t = 1.
real smallestRatio(real sharpness) { return expOf(real(-69.314718) / (sharpness - real(2))); }

// smoothParams returns the params of a Shape of these kinds: the sharpness β, smallestRatio, and for a revolution the
// square root of its flatness.
real3 smoothParams(real sharpness, real flatness) {
    return real3(sharpness, smallestRatio(sharpness), squareRoot(flatness));
}

// powerNormGradient returns the gradient of h(d) = (Σ max(<q, d>, 0)^β)^(1/β) over the vertices q of s relative to
// center, and its Hessian as a form on the plane of e and f, see hessian.glsl. A compiler removes the Hessian where
// the caller ignores it.
//
// Let m be the largest <q, d>, t = <q, d>/m and S = Σ t^β. The gradient is Σ w·q with w = t^(β-1)/S^(1-1/β). All powers
// are of numbers up to 1, so nothing overflows for any β. The vector of all w has norm 1 in the conjugate exponent,
// whatever the rounding errors of t: these move the point along the surface, not off it.
//
// With y = <q, d>/h the Hessian is (β-1)/h · (Σ y^(β-2) q qᵀ - x xᵀ).
real3 powerNormGradient(Shape s, real3 center, real3 d, real3 e, real3 f, out real3 hessian) {
    uint last = s.first + s.count - 1u;
    real m = real(0);
    for (uint i = s.first; i <= last; i += 4u) {
        uvec4 k = min(uvec4(i, i + 1u, i + 2u, i + 3u), uvec4(last));
        precise real3 q0 = vertexAt(k.x) - center, q1 = vertexAt(k.y) - center;
        precise real3 q2 = vertexAt(k.z) - center, q3 = vertexAt(k.w) - center;
        m = max(max(max(m, dotProduct(q0, d)), max(dotProduct(q1, d), dotProduct(q2, d))), dotProduct(q3, d));
    }
    precise real sum = real(0), negligible = s.params.y * m;
    precise real3 x = real3(0), moments = real3(0);
    hessian = real3(0);
    for (uint i = s.first; i <= last; i++) {
        precise real3 q = vertexAt(i) - center;
        real value = dotProduct(q, d);
        if (!(value > negligible)) continue;
        precise real t = min(value / m, real(1));
        precise real ly = (s.params.x - real(1)) * logOf(t);
        real w = expOf(ly);
        sum += w * t;
        x += w * q;
        real a = dotProduct(q, e), b = dotProduct(q, f);
        moments += w / t * real3(a * a, a * b, b * b);
    }
    if (!(sum > real(0))) return real3(0); // d is 0
    real l = logOf(sum);
    precise real lower = (real(1) / s.params.x - real(1)) * l;
    real k = expOf(lower);
    x *= k;
    real a = dotProduct(x, e), b = dotProduct(x, f);
    precise real power = (real(2) / s.params.x - real(1)) * l;
    precise real3 scaled =
        (moments * expOf(power) - real3(a * a, a * b, b * b)) * ((s.params.x - real(1)) / (m * sum * k));
    hessian = scaled;
    return x;
}

// smoothSupport returns the support point of either kind, and the Hessian as powerNormGradient does. The profile of a
// revolution is a hull in the plane of (r, z). Its support function is evaluated at (ρ, z), where ρ is the support
// function of an elliptic disc.
real3 smoothSupport(Shape s, real3 d, real3 e, real3 f, out real3 hessian) {
    bool revolution = s.coreClass == CLASS_REVOLUTION;
    real3 center = real3(0), reduced = d, reducedTangent = e, discAxes = real3(1, 1, s.params.z), disc = real3(0);
    if (revolution) {
        disc = ellipsoidSupport(discAxes, d);
        reduced = real3(dotProduct(disc, d), d.z, real(0));
        // In the plane of the profile the Hessian has one nonzero direction, orthogonal to (ρ, z).
        precise real3 v = real3(-reduced.y, reduced.x, 0) / norm(reduced);
        reducedTangent = v;
    } else {
        center = centerOf(s.record);
    }
    real3 g = powerNormGradient(s, center, reduced, reducedTangent, revolution ? real3(0) : f, hessian);
    if (!revolution) {
        precise real3 p = center + g;
        return p;
    }
    precise real a = reducedTangent.x * dotProduct(disc, e) + reducedTangent.y * e.z;
    precise real b = reducedTangent.x * dotProduct(disc, f) + reducedTangent.y * f.z;
    precise real3 total = g.x * ellipsoidHessian(discAxes, d, e, f) + hessian.x * real3(a * a, a * b, b * b);
    hessian = total;
    precise real3 p = real3(g.x * disc.x, g.x * disc.y, g.x * disc.z + g.y);
    return p;
}

#ifdef DOUBLE
// smoothSupportError bounds the rounding error of a support point relative to the bounding radius R, in units of
// roundoff, for n vertices. The sum of w·q has n+2 roundings of terms whose magnitudes sum to n^(1/β)·R at most, as
// the vector of all w has norm 1. The common factor is a power of the sum S ≤ n: n+1 for the sum, 0.72·n+3 since w
// and t differ by the rounding of a logarithm, 58 for its own logarithm and exponential. The disc of a revolution
// and the products add 10.
double smoothSupportError(Shape s) {
    precise double normBound = 1.0lf / expOf(-logOf(double(s.count)) / s.params.x);
    return (3.0lf * double(s.count) + 80.0lf) * normBound;
}
#endif

#endif

// Smooth hulls and smooth revolutions, paper 002, eq. 17 and 19, as in geom.SmoothHull and
// geom.SmoothRevolution, whose formulas these are. Included by shape.glsl.

#ifndef CLEARANCE_SMOOTH_GLSL
#define CLEARANCE_SMOOTH_GLSL

#include "elementary.glsl"

// leastRatio is the t below which t^(β-2) < 2^-100: such a term of a sum is lost beside
// one of t = 1.
real leastRatio(real sharpness) { return expOf(real(-69.314718) / (sharpness - real(2))); }

// smoothParams is what a Shape of these kinds holds as params: sharpness β, leastRatio and,
// of a revolution, the root of its flatness.
real3 smoothParams(real sharpness, real flatness) {
    return real3(sharpness, leastRatio(sharpness), root(flatness));
}

// powered is the gradient of h = (Σ max(<q, d>, 0)^β)^(1/β) over the vertices of s relative to
// c. form is the Hessian on the plane of e and f, see curved.glsl; a caller that ignores it
// does not pay for it.
//
// With m the largest <q, d>, t = <q, d>/m and S = Σ t^β it is Σ w·q, w = t^(β-1)/S^(1-1/β):
// powers of numbers up to 1, so nothing overflows for any β. The w have norm 1 in the conjugate
// exponent whatever rounding did to t: it moves the point along the surface, not off it.
//
// With y = <q, d>/h the Hessian is (β-1)/h · (Σ y^(β-2) q qᵀ - x xᵀ).
real3 powered(Shape s, real3 c, real3 d, real3 e, real3 f, out real3 form) {
    uint last = s.first + s.count - 1u;
    real m = real(0);
    for (uint i = s.first; i <= last; i += 4u) {
        uvec4 k = min(uvec4(i, i + 1u, i + 2u, i + 3u), uvec4(last));
        precise real3 q0 = vertexAt(k.x) - c, q1 = vertexAt(k.y) - c, q2 = vertexAt(k.z) - c, q3 = vertexAt(k.w) - c;
        m = max(max(max(m, product(q0, d)), max(product(q1, d), product(q2, d))), product(q3, d));
    }
    precise real sum = real(0), least = s.params.y * m;
    precise real3 x = real3(0), moments = real3(0);
    form = real3(0);
    for (uint i = s.first; i <= last; i++) {
        precise real3 q = vertexAt(i) - c;
        real h = product(q, d);
        if (!(h > least)) continue;
        precise real t = min(h / m, real(1));
        precise real ly = (s.params.x - real(1)) * logOf(t);
        real w = expOf(ly);
        sum += w * t;
        x += w * q;
        real a = product(q, e), b = product(q, f);
        moments += w / t * real3(a * a, a * b, b * b);
    }
    if (!(sum > real(0))) return real3(0); // d is 0
    real l = logOf(sum);
    precise real lower = (real(1) / s.params.x - real(1)) * l;
    real k = expOf(lower);
    x *= k;
    real a = product(x, e), b = product(x, f);
    precise real power = (real(2) / s.params.x - real(1)) * l;
    precise real3 second = (moments * expOf(power) - real3(a * a, a * b, b * b)) * ((s.params.x - real(1)) / (m * sum * k));
    form = second;
    return x;
}

// smoothSupport is the support point of both kinds, and the Hessian as powered has it. A
// profile is a hull in the plane of (r, z), seen along (ρ, z), where ρ is the support function
// of an ellipsoid.
real3 smoothSupport(Shape s, real3 d, real3 e, real3 f, out real3 form) {
    bool turned = s.family == FAMILY_REVOLUTION;
    real3 c = real3(0), along = d, across = e, disc = real3(1, 1, s.params.z), rim = real3(0);
    if (turned) {
        rim = ellipsoidSupport(disc, d);
        along = real3(product(rim, d), d.z, real(0));
        // The plane's Hessian is that of one direction, across (ρ, z).
        precise real3 v = real3(-along.y, along.x, 0) / norm(along);
        across = v;
    } else {
        c = centreOf(s.record);
    }
    real3 g = powered(s, c, along, across, turned ? real3(0) : f, form);
    if (!turned) {
        precise real3 p = c + g;
        return p;
    }
    precise real a = across.x * product(rim, e) + across.y * e.z, b = across.x * product(rim, f) + across.y * f.z;
    precise real3 whole = g.x * ellipsoidForm(disc, d, e, f) + form.x * real3(a * a, a * b, b * b);
    form = whole;
    precise real3 p = real3(g.x * rim.x, g.x * rim.y, g.x * rim.z + g.y);
    return p;
}

#ifdef DOUBLE
// smoothDoubt bounds the rounding error of a support point relative to the bounding radius
// R, in units of roundoff, for n vertices. The sum of w·q makes n+2 roundings of parts
// whose magnitudes add up to n^(1/β)·R at most, the norm of the w. The factor of all is a
// power of the sum S ≤ n: n+1 for the sum, 0.72·n+3 since w and t differ by the rounding of
// a logarithm, 58 for its own logarithm and exponential. The ellipsoid of a revolution
// and products add 10.
double smoothDoubt(Shape s) {
    precise double spread = 1.0lf / expOf(-logOf(double(s.count)) / s.params.x);
    return (3.0lf * double(s.count) + 80.0lf) * spread;
}
#endif

#endif

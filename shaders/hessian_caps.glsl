// Lower bounds of the Hessians of support functions over a spherical cap: for y in the tangent plane of the unit
// direction n, |y| ≤ t, the support function f of a core satisfies
//
//     f(n + y) ≥ f(n) + <s, y> + ½ yᵀKy,
//
// where s is its support point. Package geom and kernels/shape/hessian.h have the same derivation.
//
// Norms and sums of powers are bounded along a gauge: f(x + τy) is divided by its linear growth 1 + τr', |r'| ≤ r ≤ ½,
// which leaves a point of the plane <s, x> = f. There the second derivative has bounds. It is homogeneous of degree -1
// and depends only on the part of y orthogonal to x, so ∫(1-τ)/(1+τr')³dτ = 1/(2(1+r')) turns them into the bound at
// τ = 1.
//
// Any bound may be replaced by a smaller one. No term exceeds MAX_HESSIAN times the support value, and computed values
// are reduced by more than their rounding.

#ifndef CLEARANCE_HESSIAN_CAPS_GLSL
#define CLEARANCE_HESSIAN_CAPS_GLSL

#include "hessian.glsl"

// In units of hessianUnit: the rounding of K is then far below HESSIAN_SLACK of it. The kernels have 1e4, and bound the
// displacement of support points for each shape; with that limit SUPPORT_DISPLACEMENT would not hold.
const double MAX_HESSIAN = 1e3lf;
const double MAX_SHARPNESS = 1e5lf;       // of β·|q|/f: rounding of <q, d> moves a point by 1e-10 of the size at most
const double ROUND_DOWN = 1.0lf - 1e-9lf; // a factor that covers the rounding of powers

double hessianUnit; // unit of MAX_HESSIAN

// powerOf returns x^a for x > 0: FAR above e^600, 0 below e^-600.
double powerOf(double x, double a) {
    double l = a * logOf(max(x, 1e-300lf));
    if (!(abs(l) < 600.0lf)) return l > 0.0lf ? FAR : 0.0lf;
    return l > 0.0lf ? 1.0lf / expOf(-l) : expOf(l);
}

// limitTrace scales a positive semidefinite form down so that its trace does not exceed the limit.
dvec3 limitTrace(dvec3 hessian) {
    double trace = hessian.x + hessian.z, largest = MAX_HESSIAN * hessianUnit;
    return trace > largest ? hessian * (largest / trace) : hessian;
}

// curvatureRatio returns the ratio of the bound over a cap to the Hessian H of F(x) = |Ex| at its middle. The change of
// the square of F splits into a = <g, y>, along the gradient, and q = F·yᵀHy: F(n+y) = √((F+a)² + q), and
// √(A² + q) - A ≥ q/(2√(A² + q)).
double curvatureRatio(double f, double slope, dvec3 hessian, double t) {
    return ROUND_DOWN * f / (f + t * slope + 0.5lf * t * t * (hessian.x + hessian.z));
}

// powerNormHessianBound bounds the second derivatives of the norm (|u|^p + |v|^p)^(1/p), p = 2/(2-α), along (e.x, e.y)
// and (f.x, f.y), as powerNormHessian forms them, with all of these divided by the norm. growth is r. slope is a lower
// bound of the derivative with respect to u.
//
// D² = (p-1)(uv)^(p-2)·norm^(1-2p)·ω², ω = v·δu - u·δv, and in the gauge the line is (u + σ·gv, v - σ·gu), |σ| ≤ m.
dvec3 powerNormHessianBound(double norm_, double u, double v, double alpha, dvec2 g, dvec2 e, dvec2 f, double t,
                            double growth, out double slope) {
    slope = 0.0lf;
    precise double a = v * e.x - u * e.y, b = v * f.x - u * f.y;
    double p = 2.0lf / (2.0lf - alpha);
    double m = t * squareRoot(a * a + b * b) / (1.0lf - growth) * (1.0lf + 1e-12lf) + 1e-14lf;
    dvec2 ignored;
    double larger = powerNorm2(u + m * g.y, abs(v - m * g.x), alpha, ignored);
    double largest = max(larger, powerNorm2(abs(u - m * g.y), v + m * g.x, alpha, ignored));
    largest = max(largest * (1.0lf + 1e-12lf), 1.0lf);
    double low = u * (1.0lf - 1e-14lf) - m * g.y, other = v * (1.0lf - 1e-14lf) - m * g.x;
    if (low > 0.0lf) slope = ROUND_DOWN * powerOf(low / largest, p - 1.0lf);
    double uv = (u + m * g.y) * (v + m * g.x); // the maximum, for p < 2
    if (p > 2.0lf) {
        if (!(low > 0.0lf && other > 0.0lf)) return dvec3(0);
        uv = min(low * (v + m * g.x), (u + m * g.y) * other);
    }
    double k = ROUND_DOWN * norm_ * (p - 1.0lf) * powerOf(uv, p - 2.0lf) * powerOf(largest, 1.0lf - 2.0lf * p) /
               (1.0lf + growth);
    // a and b have the rounding of the vectors, which limits the square.
    double lengths = dotProduct2(e, e) + dotProduct2(f, f);
    if (!(k * lengths > 0.0lf)) return dvec3(0);
    return min(k, MAX_HESSIAN * hessianUnit / lengths) * outerSquare(a, b);
}

// superquadricHessianBound applies the chain rule to the two norms. The inner norm enters the outer one by its linear
// part, and by slope times its remainder.
dvec3 superquadricHessianBound(Shape s, dvec3 d, dvec3 e, dvec3 f, double t) {
    double alpha1 = paramOf(s.record, SUPERQUADRIC_EXPONENTS_0), alpha2 = paramOf(s.record, SUPERQUADRIC_EXPONENTS_1);
    precise dvec3 u = s.params * abs(d);
    dvec3 signedAxes = s.params * dvec3(d.x < 0.0lf ? -1 : 1, d.y < 0.0lf ? -1 : 1, d.z < 0.0lf ? -1 : 1);
    dvec2 equatorial, meridional;
    double l = powerNorm2(u.x, u.y, alpha2, equatorial), h = powerNorm2(l, u.z, alpha1, meridional);
    if (!(l > 1e-12lf * h)) return dvec3(0);
    precise dvec3 p = signedAxes * e, q = signedAxes * f;
    precise dvec2 innerChange = dvec2(equatorial.x * p.x + equatorial.y * p.y, equatorial.x * q.x + equatorial.y * q.y);
    precise dvec2 outerChange =
        dvec2(meridional.x * innerChange.x + meridional.y * p.z, meridional.x * innerChange.y + meridional.y * q.z);
    double inner = t * squareRoot(dotProduct2(innerChange, innerChange)) / l;
    double outer = t * squareRoot(dotProduct2(outerChange, outerChange)) / h, slope, ignored;
    if (!(outer <= 0.5lf)) return dvec3(0);
    dvec3 hessian = powerNormHessianBound(h, l / h, u.z / h, alpha1, meridional, dvec2(innerChange.x, p.z) / h,
                                          dvec2(innerChange.y, q.z) / h, t, outer, slope);
    if (inner <= 0.5lf) {
        hessian += min(slope, 1.0lf) * powerNormHessianBound(l, u.x / l, u.y / l, alpha2, equatorial, p.xy / l,
                                                             q.xy / l, t, inner, ignored);
    }
    return hessian;
}

// powerSumHessianBound is for f = (Σ max(<q, d>, 0)^β)^(1/β) over the vertices q of s relative to c, with gradient g.
// extent bounds the displacement of d along e and f in the cap, as a factor of both. slope is a lower bound of
// Σ (<q, d>/f)^(β-1)·q.x, the derivative of a profile's f with respect to ρ.
//
// Let z = <q, d>/f and V be its derivatives in the gauge, |V| = v. Then z changes by extent·v at most, and the sum of
// the powers, which is 1, grows to R at most, as its first derivative is 0. The Hessian is
// (β-1)·f·sum^(1/β-2)·½ΣΣ(zj·zk)^(β-2)·w², and w = zj·Vk - zk·Vj is constant.
dvec3 powerSumHessianBound(Shape s, dvec3 c, dvec3 d, dvec3 e, dvec3 f, dvec3 g, double extent, out double slope) {
    double beta = s.params.x, h = dotProduct(g, d), largest = 1.0lf, w0 = 0.0lf, errors = 0.0lf, longest = 0.0lf;
    dvec2 tangent = dvec2(dotProduct(g, e), dotProduct(g, f)), w1 = dvec2(0);
    dvec3 w2 = dvec3(0);
    slope = 0.0lf;
    if (!(h > 0.0lf)) return dvec3(0);
    for (uint i = s.first; i < s.first + s.count; i++) {
        precise dvec3 q = vertexAt(i) - c;
        precise double z = dotProduct(q, d) / h;
        precise dvec2 v = (dvec2(dotProduct(q, e), dotProduct(q, f)) - z * tangent) / h;
        double size_ = (abs(q.x) + abs(q.y) + abs(q.z)) / h;
        double step = extent * squareRoot(dotProduct2(v, v)) + 1e-13lf * size_;
        longest = max(longest, size_);
        if (z + step > 0.0lf) largest += 0.5lf * beta * (beta - 1.0lf) * step * step * powerOf(z + step, beta - 2.0lf);
        if (!(z - step > 0.0lf)) continue;
        double w = powerOf(z - step, beta - 2.0lf);
        slope += w * (z - step) * q.x;
        w0 += w * z * z;
        w1 += w * z * v;
        w2 += w * outerSquare(v.x, v.y);
        errors += w * size_ * size_;
    }
    largest *= 1.0lf + 1e-9lf;
    if (!(largest < 1e200lf && beta * longest < MAX_SHARPNESS)) return dvec3(0);
    slope *= ROUND_DOWN * powerOf(largest, 1.0lf / beta - 1.0lf);
    double rounding = 1e-14lf * errors * (w0 + w2.x + w2.z);
    dvec3 hessian = w0 * w2 - outerSquare(w1.x, w1.y) - dvec3(rounding, 0, rounding);
    return ROUND_DOWN * (beta - 1.0lf) * h * powerOf(largest, 1.0lf / beta - 2.0lf) * hessian;
}

// smoothHessianBound is for smooth hulls and revolutions, structured as smoothSupport.
dvec3 smoothHessianBound(Shape s, dvec3 d, dvec3 e, dvec3 f, dvec3 g, double t) {
    bool revolution = s.coreClass == CLASS_REVOLUTION;
    dvec3 c = dvec3(0), reduced = d, p = e, q = f, discAxes = dvec3(1, 1, s.params.z), disc = dvec3(0);
    dvec2 slopes = dvec2(dotProduct(g, e), dotProduct(g, f)), radialChange = dvec2(0);
    double extent = 1.0lf, slope;
    if (revolution) {
        disc = ellipsoidSupport(discAxes, d);
        reduced = dvec3(dotProduct(disc, d), d.z, 0);
        if (!(reduced.x > 1e-12lf)) return dvec3(0);
        radialChange = dvec2(dotProduct(disc, e), dotProduct(disc, f));
        slopes = g.x * radialChange + g.y * dvec2(e.z, f.z);
        p = dvec3(-reduced.y, reduced.x, 0) / norm(reduced);
        q = dvec3(0);
    } else {
        c = centerOf(s.record);
    }
    dvec2 j = p.x * radialChange + p.y * dvec2(e.z, f.z);
    double growth = t * squareRoot(dotProduct2(slopes, slopes)) / dotProduct(g, reduced);
    if (!(growth <= 0.5lf)) return dvec3(0);
    extent = t * (revolution ? squareRoot(dotProduct2(j, j)) : 1.0lf) / (1.0lf - growth);
    dvec3 hessian = powerSumHessianBound(s, c, reduced, p, q, g, extent, slope) / (1.0lf + growth);
    if (!revolution) return limitTrace(hessian);
    dvec3 discHessian = ellipsoidHessian(discAxes, d, e, f);
    dvec3 bound = limitTrace(max(hessian.x, 0.0lf) * outerSquare(j.x, j.y));
    double ratio = curvatureRatio(reduced.x, squareRoot(dotProduct2(radialChange, radialChange)), discHessian, t);
    return bound + limitTrace(slope * ratio * discHessian);
}

// hessianBound bounds the Hessian of a core from below over a cap of size t, in the form that supportAndHessian has at
// its middle. 0 is always a bound.
dvec3 hessianBound(Shape s, dvec3 d, dvec3 e, dvec3 f, dvec3 g, double t) {
    if (uses(KIND_ELLIPSOID) && s.coreClass == CLASS_ELLIPSOID) {
        dvec3 hessian = ellipsoidHessian(s.params, d, e, f);
        dvec2 slopes = dvec2(dotProduct(g, e), dotProduct(g, f));
        double ratio = curvatureRatio(dotProduct(g, d), squareRoot(dotProduct2(slopes, slopes)), hessian, t);
        return limitTrace(ratio * hessian);
    }
    if (METHOD != METHOD_RTR) return dvec3(0);
    if (uses(KIND_SUPERQUADRIC) && s.coreClass == CLASS_SUPERQUADRIC) return superquadricHessianBound(s, d, e, f, t);
    if (isSmooth(s)) return smoothHessianBound(s, d, e, f, g, t);
    return dvec3(0);
}

#endif

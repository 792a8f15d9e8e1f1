// Lower bounds of the Hessians of support functions over a spherical cap, and the size of a cap in which a local
// minimum is the least support value. Included by depth_certificate.comp. Package geom and
// kernels/shape/hessian.h have the same derivation.
//
// Let n be the unit direction of a local minimum of the support function h of D = A - B. For y in the tangent plane,
// |y| ≤ t, the support function f of each core satisfies
//
//     f(n + y) ≥ f(n) + <s, y> + ½ yᵀKy,
//
// where s is its support point and K a lower bound of its Hessian over the cap. With the sum of both K, less the
// erosion of the cores, and g the remaining gradient of h,
//
//     h(n + y) ≥ L + ½ yᵀKy,  L = h(n) - |g|t,
//
// and where K ≥ L·I that is at least L(1 + ½y²) ≥ L·|n + y|: the support value of D is at least L along any direction
// within atan(t) of n.
//
// The bounds K are those of hessian_caps.glsl.

#ifndef CLEARANCE_HESSIAN_BOUNDS_GLSL
#define CLEARANCE_HESSIAN_BOUNDS_GLSL

#include "hessian_caps.glsl"
#include "trust_region.glsl"

const double HESSIAN_SLACK = 1e-6lf; // in units of hessianUnit: the rounding of K is far below it

// Caps have 16 sizes, each CAP_RATIO times the previous one. CAP_ATTEMPTS of them are tried, by bisection.
const double WIDEST_CAP = 2.0lf;
const double FARTHEST_CAP = 2.5lf;
const double CAP_RATIO = 0.7lf;
const double WIDE_RATIO = 0.05764801lf; // CAP_RATIO to the power 8, of which square roots are taken
const uint CAP_ATTEMPTS = 5u;

// The displacement of a support point by rounding, relative to the size. Rounding rotates the direction by less than
// 1e-14, and the Hessian is at most four terms of MAX_HESSIAN·hessianUnit; and see MAX_SHARPNESS.
const double SUPPORT_DISPLACEMENT = 2e-10lf;

// In memory, the support points of both cores along n in their own frames, those of smooth hulls relative to their
// centers and those of revolutions on the profile.
const uint TOUCHING_POINTS = SEARCH_QUADS + 8u;
double leastCurvature; // smallest eigenvalue of the sum of both K for the latest valid cap

// capIsValid reports whether the support value of D is certainly at least low in the cap of size t around p, whose own
// is h. With M the excess of the cores' Hessian over that of the sphere, the minimum of spare + <g, y> + ½ yᵀMy is
// spare - ½ gᵀM⁻¹g.
bool capIsValid(double h, double low, double t) {
    double required = erosion() + low + HESSIAN_SLACK * hessianUnit;
    dvec3 m = dvec3(-required, 0, -required);
    Iterate p;
    for (uint k = 0u; k < 2u; k++) { // both shapes by one text, as in evaluate
        recallIterate(p);
        dvec3 d = p.x, e = p.e, f = p.f;
        if (k == 1u) {
            d = -toFrameB(d);
            e = -toFrameB(e);
            f = -toFrameB(f);
        }
        m += hessianBound(shapeOf(k), d, e, f, rowVector(TOUCHING_POINTS + k), t);
    }
    recallIterate(p);
    double spare = h - low - SUPPORT_DISPLACEMENT * size * t, det = m.x * m.z - m.y * m.y;
    double gradientTerm = m.z * p.g.x * p.g.x - 2.0lf * m.y * p.g.x * p.g.y + m.x * p.g.y * p.g.y;
    if (!finite3(m) || !finite(gradientTerm) || !(smallestEigenvalue(m) >= 0.0lf)) return false;
    if (!(spare >= p.gradientNorm * t || spare * det * ROUND_DOWN >= 0.5lf * gradientTerm)) return false;
    leastCurvature = smallestEigenvalue(m) + required;
    return true;
}

// prepareCaps sets the support points that capIsValid needs, along p.
void prepareCaps() {
    Iterate p;
    recallIterate(p);
    for (uint k = 0u; k < 2u; k++) {
        Shape s = shapeOf(k);
        dvec3 d = p.x, hessian;
        if (k == 1u) d = -toFrameB(d);
        setRowQuad(TOUCHING_POINTS + k, ellipsoidSupport(s.params, d), 0.0lf);
        if (METHOD != METHOD_RTR || !isSmooth(s)) continue;
        bool revolution = s.coreClass == CLASS_REVOLUTION;
        dvec3 disc = ellipsoidSupport(dvec3(1, 1, s.params.z), d);
        dvec3 center = revolution ? dvec3(0) : centerOf(s.record);
        dvec3 reduced = revolution ? dvec3(dotProduct(disc, d), d.z, 0) : d;
        dvec3 point = powerNormGradient(s, center, reduced, dvec3(0), dvec3(0), hessian);
        setRowQuad(TOUCHING_POINTS + k, point, 0.0lf);
    }
}

// apexLength returns the length of the apex of a cap of size t, over the bound. The apex uses a share of t², so that
// its rounding, which rotates it, does no harm for caps of NARROWEST_CAP.
const double APEX_SHARE = 0.98lf;
double apexLength(double t) {
    precise double length_ = squareRoot(1.0lf + APEX_SHARE * t * t);
    return length_;
}

// extendedCapSize returns how far a cap extends beyond the size t for which it is valid. The excess of the support
// function of D, with the erosion undone, over its tangent plane is convex along any y: ½κt² at |y| = t, where κ is the
// least curvature, and at least ½κt|y| beyond. It is not below (low + erode)(√(1 + y²) - 1) as long as
// y/(1 + √(1 + y²)) ≤ ½κt/(low + erode), that is, up to twice the angle of which that is the tangent.
double extendedCapSize(double h, double low, double t) {
    Iterate p;
    recallIterate(p);
    recallPair();
    double x = 0.5lf * ROUND_DOWN * leastCurvature * t / (low + shapeA.erode + shapeB.erode), rest = 1.0lf - x * x;
    double farthest = rest > 0.1lf ? min(2.0lf * x / rest, FARTHEST_CAP) : FARTHEST_CAP;
    return max(t, min(farthest, (h - low) / (p.gradientNorm + SUPPORT_DISPLACEMENT * size)));
}

// capSize returns the largest size of a valid cap around p, of support value h, for the bound low; 0 if there is none.
double capSize(double h, double low) {
    hessianUnit = h + shapeOf(0u).erode + shapeOf(1u).erode;
    prepareCaps();
    double t = WIDEST_CAP / CAP_RATIO, ratio = WIDE_RATIO;
    bool valid = false;
    for (uint k = 0u; k < CAP_ATTEMPTS; k++) { // bisection: t is the smallest size that is not valid
        double candidate = ratio * t;
        valid = capIsValid(h, low, candidate);
        if (!valid) t = candidate;
        ratio = k + 2u < CAP_ATTEMPTS ? squareRoot(ratio) : CAP_RATIO;
    }
    return valid ? extendedCapSize(h, low, CAP_RATIO * t) : 0.0lf;
}

#endif

// The Riemannian trust region method [RTR, Alg. 2] for a pair of curved cores: a local minimum over the unit sphere of
// the support function h of D = A - B. The minimiser x is the direction from A to B along which -h(x) is the signed
// distance of the cores, positive if they are separated, negative if they penetrate. One text for both precisions:
// single precision finds the minimum, double precision refines and proves it.
//
// Each iteration minimises the quadratic model of h in a disc of the tangent plane [RTR, eq. 8-9] and accepts the step
// by the ratio of actual to predicted decrease. The result is stationary to the tolerance [RTR, eq. 13] or the best
// iterate so far. Nothing is proved here.
//
// The including file defines, before the include,
//     Shape shapeA, shapeB
//     real3 toFrameB(real3 v)            // rotates a direction into the frame of B
//     real3 difference(real3 a, real3 b) // a point of A minus a point of B, each in the frame of its shape
//     real lengthScale()                 // the length of what difference returns, per metre

#ifndef CLEARANCE_TRUST_REGION_GLSL
#define CLEARANCE_TRUST_REGION_GLSL

#include "hessian.glsl"

// trustRegionApplies reports whether the method is used for a pair: with the method rtr for all pairs of curved cores,
// with auto for ellipsoids among themselves and with spheres, for which it was measured to be faster than GJK.
bool trustRegionApplies(Shape a, Shape b) {
    if (METHOD == METHOD_RTR) return isDifferentiable(a) && isDifferentiable(b);
    return METHOD == METHOD_AUTO && isEllipsoid(a) && isEllipsoid(b) &&
           (a.coreClass == CLASS_ELLIPSOID || b.coreClass == CLASS_ELLIPSOID);
}

// The radius of the trust region bounds the length of the tangent step v in x -> (x+v)/|x+v|: a step of length 1
// rotates x by 45 degrees. The acceptance rules are those of ref.RTR.
const real START_REGION = real(0.5);
const real MAX_REGION = real(1);
const real ACCEPT_RATIO = real(0.1);

// The limit on evaluations in each precision. Smooth shapes take a dozen; shapes with nearly sharp edges would take
// many more.
const uint MAX_EVALUATIONS = 24u;

// Iterate is a direction with the value and the derivatives of the support function along it.
struct Iterate {
    real3 x, e, f;     // unit direction, orthonormal basis of its tangent plane
    real3 w, a;        // support point of D, and its point of A
    real h;            // <x, w>
    real2 g;           // gradient in the basis
    real gradientNorm; // its norm
    real3 hessian;     // on the sphere, as a form on e and f: that of the cores less h times the identity
};

// Where a stage keeps the pair in memory it also keeps the best iterate there, see depth.glsl.
#ifdef PAIR_IN_MEMORY
void keepIterate(Iterate p);
void recallIterate(inout Iterate p);
#else
void keepIterate(Iterate p) {}
void recallIterate(inout Iterate p) {}
#endif

real2 multiply(real3 m, real2 v) {
    precise real2 r = real2(m.x * v.x + m.y * v.y, m.y * v.x + m.z * v.y);
    return r;
}

// smallestEigenvalue returns the smaller eigenvalue of a form on an orthonormal basis.
real smallestEigenvalue(real3 m) {
    precise real halfDifference = real(0.5) * (m.x - m.z);
    precise real l = real(0.5) * (m.x + m.z) - squareRoot(halfDifference * halfDifference + m.y * m.y);
    return l;
}

real3 normalized(real3 v) {
    precise real3 u = v * inverseNorm(v);
    return u;
}

// tangentBasis completes a unit vector to an orthonormal basis.
void tangentBasis(real3 x, out real3 e, out real3 f) {
    precise real3 c = cross(x, abs(x.x) > real(0.6) ? real3(0, 1, 0) : real3(1, 0, 0));
    e = normalized(c);
    precise real3 g = cross(x, e);
    f = g;
}

// evaluate computes the iterate at x.
Iterate evaluate(real3 x) {
    Iterate p;
    p.x = x;
    tangentBasis(x, p.e, p.f);
    real3 b = real3(0);
    precise real3 hessian = real3(0);
    for (uint k = 0u; k < 2u; k++) { // both shapes by one text of the support functions: half the code
        Shape s = shapeOf(k);
        real3 d = x, e = p.e, g = p.f;
        if (k == 1u) {
            d = -toFrameB(x);
            e = -toFrameB(e);
            g = -toFrameB(g);
        }
        p.a = b;
        real3 coreHessian;
        b = supportAndHessian(s, d, e, g, coreHessian);
        hessian += lengthScale() * coreHessian;
    }
    p.w = difference(p.a, b);
    p.h = dotProduct(x, p.w);
    p.g = real2(dotProduct(p.e, p.w), dotProduct(p.f, p.w));
    p.gradientNorm = squareRoot(dotProduct2(p.g, p.g));
    hessian -= real3(p.h, 0, p.h);
    p.hessian = hessian;
    return p;
}

// boundedStep minimises the model of h in the disc [RTR, eq. 9]. Where the minimum of the model lies in the disc it is
// the step, as that of truncated conjugate gradients [Steihaug1983], of which two iterations are exact in the plane.
// Else these stop at the boundary or at negative curvature. At a stationary point that is no minimum the step goes
// along the direction of least curvature.
real2 boundedStep(Iterate p, real radius) {
    real3 m = p.hessian;
    precise real determinant = m.x * m.z - m.y * m.y;
    if (m.x > real(0) && determinant > real(0)) {
        precise real inverse = real(1) / determinant;
        precise real2 newton = real2(m.y * p.g.y - m.z * p.g.x, m.y * p.g.x - m.x * p.g.y) * inverse;
        if (dotProduct2(newton, newton) < radius * radius) return newton;
    }
    real eigenvalue = smallestEigenvalue(m);
    real2 v = real2(0), d = -p.g;
    real rest = radius * radius; // of the square of the radius
    if (eigenvalue < real(0) && p.gradientNorm <= -eigenvalue * radius * real(1e-6)) {
        precise real2 u = real2(m.y, eigenvalue - m.x);
        precise real2 t = real2(eigenvalue - m.z, m.y);
        d = dotProduct2(t, t) > dotProduct2(u, u) ? t : u;
        if (!(dotProduct2(d, d) > real(0))) d = real2(1, 0);
        if (dotProduct2(d, p.g) > real(0)) d = -d;
    } else {
        real rr = dotProduct2(d, d);
        real2 hd = multiply(m, d);
        real curvature = dotProduct2(d, hd);
        precise real along = rr / curvature;
        precise real2 first = along * d;
        real ff = dotProduct2(first, first);
        if (curvature > real(0) && ff < rest) { // the second iteration leaves the disc
            precise real2 r = d - along * hd;
            precise real2 conjugate = r + dotProduct2(r, r) / rr * d;
            v = first;
            d = conjugate;
            rest -= ff;
        }
    }
    // the point v + τd, τ ≥ 0, on the boundary
    real a = dotProduct2(d, d), b = dotProduct2(v, d);
    precise real discriminant = b * b + a * rest;
    precise real2 step = v + (squareRoot(max(discriminant, real(0))) - b) / a * d;
    return a > real(0) ? step : v;
}

// searchRegion runs the method from the unit direction x with the given radius of the region. It ends when the gradient
// is below half of gradientTolerance and no direction has a curvature below -gradientTolerance, when h is below
// valueLimit, when rounding prevents progress, or at the limit on evaluations. valueRounding bounds the rounding of h.
//
// ended is set to false where it was the limit that stopped the search. It continues with the same iterates from the
// direction of the result, which is evaluated again, and the radius of the region.
Iterate searchRegion(real3 x, inout real radius, real gradientTolerance, real valueRounding, real valueLimit,
                     uint evaluationLimit, inout uint evaluationCount, out bool ended) {
    Iterate p;
    real stepLength = real(0), predictedDecrease = real(0);
    real3 candidate = x;
    ended = true;
    for (uint k = 0u; k < max(evaluationLimit, 1u); k++) {
        Iterate q = evaluate(candidate);
        evaluationCount++;
        if (k == 0u) {
            p = q;
            keepIterate(p);
        } else {
            recallIterate(p);
            precise real ratio = (p.h - q.h) / predictedDecrease;
            // Where the predicted decrease is below the rounding of h, the norm of the gradient decides.
            bool belowRounding = predictedDecrease <= real(2) * valueRounding;
            if (belowRounding) ratio = q.gradientNorm < p.gradientNorm ? real(1) : real(0);
            bool accepted = ratio > ACCEPT_RATIO;
            if (accepted) {
                p = q;
                keepIterate(p);
            } else if (belowRounding) return p;
            if (!(ratio >= real(0.25))) radius = real(0.25) * min(radius, stepLength);
            else if (ratio > real(0.75)) radius = min(real(2) * radius, MAX_REGION);
        }
        bool stationary =
            p.gradientNorm <= real(0.5) * gradientTolerance && smallestEigenvalue(p.hessian) >= -gradientTolerance;
        if (stationary || p.h < valueLimit) return p;
        real2 v = boundedStep(p, radius);
        stepLength = squareRoot(dotProduct2(v, v));
        if (!(stepLength > real(4) * UNIT_ROUNDOFF)) return p;
        precise real decrease = -dotProduct2(p.g, v) - real(0.5) * dotProduct2(v, multiply(p.hessian, v));
        precise real3 next = p.x + (v.x * p.e + v.y * p.f);
        predictedDecrease = decrease;
        candidate = normalized(next);
    }
    ended = false;
    recallIterate(p);
    return p;
}

// trustRegion is searchRegion from the direction x, in one go.
Iterate trustRegion(real3 x, real gradientTolerance, real valueRounding, real valueLimit, uint evaluationLimit,
                    inout uint evaluationCount) {
    real radius = START_REGION;
    bool ended;
    return searchRegion(x, radius, gradientTolerance, valueRounding, valueLimit, evaluationLimit, evaluationCount,
                        ended);
}

#endif

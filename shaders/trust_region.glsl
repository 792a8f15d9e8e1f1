// The Riemannian trust region method [RTR, Alg. 2] for a pair of curved cores: a local minimum over the unit sphere of
// the support function h of D = A - B. The minimiser x is the direction from A to B along which -h(x) is the signed
// distance of the cores, positive if they are separated, negative if they penetrate. One text for both precisions:
// single precision finds the minimum, double precision refines and proves it.
//
// Each iteration minimises the quadratic model of h in a disc of the tangent plane [RTR, eq. 8-9] and accepts the step
// by the ratio of actual to predicted decrease. The result is stationary to the tolerance [RTR, eq. 13] or the best
// iterate so far; what it proves is for the caller to find out.
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
           (a.family == FAMILY_ELLIPSOID || b.family == FAMILY_ELLIPSOID);
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

real2 multiply(real3 m, real2 v) {
    precise real2 r = real2(m.x * v.x + m.y * v.y, m.y * v.x + m.z * v.y);
    return r;
}

real dotProduct2(real2 a, real2 b) {
    precise real s = a.x * b.x + a.y * b.y;
    return s;
}

// smallestEigenvalue returns the smaller eigenvalue of a form on an orthonormal basis.
real smallestEigenvalue(real3 m) {
    precise real halfDifference = real(0.5) * (m.x - m.z);
    precise real l = real(0.5) * (m.x + m.z) - squareRoot(halfDifference * halfDifference + m.y * m.y);
    return l;
}

real3 normalized(real3 v) {
    precise real3 u = v / norm(v);
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
    for (int k = 0; k < 2; k++) { // both shapes by one text of the support functions: half the code
        Shape s = shapeA;
        real3 d = x, e = p.e, g = p.f;
        if (k == 1) {
            s = shapeB;
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

// boundaryPoint returns the point v + τp, τ ≥ 0, on the boundary of the disc; v is inside.
real2 boundaryPoint(real2 v, real2 p, real radius) {
    real a = dotProduct2(p, p), b = dotProduct2(v, p);
    precise real c = dotProduct2(v, v) - radius * radius;
    if (!(a > real(0))) return v;
    precise real discriminant = b * b - a * c;
    precise real2 r = v + (squareRoot(max(discriminant, real(0))) - b) / a * p;
    return r;
}

// boundedStep minimises the model of h in the disc by truncated conjugate gradients [Steihaug1983; RTR, eq. 9], which
// stop at the boundary and at negative curvature. Two iterations are exact in the plane. At a stationary point that is
// no minimum the step goes along the direction of least curvature.
real2 boundedStep(Iterate p, real radius) {
    real eigenvalue = smallestEigenvalue(p.hessian);
    if (eigenvalue < real(0) && p.gradientNorm <= -eigenvalue * radius * real(1e-6)) {
        precise real2 v = real2(p.hessian.y, eigenvalue - p.hessian.x);
        precise real2 u = real2(eigenvalue - p.hessian.z, p.hessian.y);
        if (dotProduct2(u, u) > dotProduct2(v, v)) v = u;
        real n = squareRoot(dotProduct2(v, v));
        if (!(n > real(0))) {
            v = real2(1, 0);
            n = real(1);
        }
        precise real2 r = v * ((dotProduct2(v, p.g) > real(0) ? -radius : radius) / n);
        return r;
    }
    real2 v = real2(0), r = -p.g, d = r;
    real rr = dotProduct2(r, r);
    for (int k = 0; k < 2; k++) {
        real2 hd = multiply(p.hessian, d);
        real curvature = dotProduct2(d, hd);
        precise real along = rr / curvature;
        precise real2 next = v + along * d;
        if (!(curvature > real(0)) || !(dotProduct2(next, next) < radius * radius)) return boundaryPoint(v, d, radius);
        v = next;
        precise real2 rest = r - along * hd;
        r = rest;
        real left = dotProduct2(r, r);
        if (!(left > real(0))) break;
        precise real2 conjugate = r + left / rr * d;
        d = conjugate;
        rr = left;
    }
    return v;
}

// trustRegion runs the method from the unit direction x. It ends when the gradient is below half of gradientGap and no
// direction has a curvature below -gradientGap, when h is below valueLimit, when rounding prevents progress, or at the
// limit on evaluations. valueRounding bounds the rounding of h.
Iterate trustRegion(real3 x, real gradientGap, real valueRounding, real valueLimit, uint evaluationLimit,
                    inout uint evaluationCount) {
    Iterate p;
    real radius = START_REGION, stepLength = real(0), predictedDecrease = real(0);
    real3 candidate = x;
    for (uint k = 0u; k < max(evaluationLimit, 1u); k++) {
        Iterate q = evaluate(candidate);
        evaluationCount++;
        if (k == 0u) {
            p = q;
        } else {
            precise real ratio = (p.h - q.h) / predictedDecrease;
            // Where the predicted decrease is below the rounding of h, the norm of the gradient decides.
            bool belowRounding = predictedDecrease <= real(2) * valueRounding;
            if (belowRounding) ratio = q.gradientNorm < p.gradientNorm ? real(1) : real(0);
            bool accepted = ratio > ACCEPT_RATIO;
            if (accepted) p = q;
            else if (belowRounding) break;
            if (!(ratio >= real(0.25))) radius = real(0.25) * min(radius, stepLength);
            else if (ratio > real(0.75)) radius = min(real(2) * radius, MAX_REGION);
        }
        bool stationary = p.gradientNorm <= real(0.5) * gradientGap && smallestEigenvalue(p.hessian) >= -gradientGap;
        if (stationary || p.h < valueLimit) break;
        real2 v = boundedStep(p, radius);
        stepLength = squareRoot(dotProduct2(v, v));
        if (!(stepLength > real(4) * UNIT_ROUNDOFF)) break;
        precise real decrease = -dotProduct2(p.g, v) - real(0.5) * dotProduct2(v, multiply(p.hessian, v));
        precise real3 next = p.x + (v.x * p.e + v.y * p.f);
        predictedDecrease = decrease;
        candidate = normalized(next);
    }
    return p;
}

#endif

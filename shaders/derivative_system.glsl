// The linear system of a pair at a normal, and its answer polished by Newton's method: system.go and exact.go of
// package derive. With T the bases of the flat features of A and, with opposite sign, of B,
// in the tangent plane,
//
//     K·dn + T·y = r,  Tᵀ·dn = s,  K = δP + H_A + H_B,
//
// and its inverse is [[N, Y], [Yᵀ, -Z]] with Z = YᵀKY. The features have two directions at most, so that N and Y have
// closed forms: N = K⁻¹ without a direction; with one, t, and z orthogonal to it, N = zzᵀ/(zᵀKz) and
// Y = t/tᵀt - z·(zᵀKt)/(tᵀt · zᵀKz); with two, N = 0 and Y = T⁻ᵀ.

#ifndef CLEARANCE_DERIVATIVE_SYSTEM_GLSL
#define CLEARANCE_DERIVATIVE_SYSTEM_GLSL

#include "feature.glsl"

// The answer that is differentiated: world axes, from the position of A.
struct GivenAnswer {
    double value;
    dvec3 normal, witnessA, witnessB;
};

// System is the system at the normal n.
struct System {
    dvec3 n, e0, e1;
    Feature a, b;
    // Directions of the features: those of A, then those of B, and their tangential parts, of B with opposite sign; 0
    // for those that are missing.
    dvec3 direction0, direction1;
    dvec2 t0, t1;
    bool of0, of1;   // whether there is such a direction,
    bool ofA0, ofA1; // and of A
    double value;
    dvec3 k, n_, z; // K, N and Z
    dvec2 y0, y1;   // Y
    bool parallel;  // features have a direction in common
    bool regular;
};

// solveSystem inverts the matrix of the features at n. size is that of the pair and its distance.
void solveSystem(inout System s, double size) {
    precise dvec3 between = s.b.point - s.a.point;
    s.value = dotProduct(s.n, between);
    precise dvec3 k = dvec3(s.value, 0, s.value) + s.a.hessian + s.b.hessian;
    s.k = k;
    bool ofB0 = s.b.dimension > 0u && s.a.dimension == 0u;
    bool oneEach = s.a.dimension == 1u && s.b.dimension == 1u;
    bool ofB1 = s.b.dimension == 2u || oneEach;
    s.ofA0 = s.a.dimension > 0u;
    s.ofA1 = s.a.dimension == 2u;
    s.of0 = s.ofA0 || ofB0;
    s.of1 = s.ofA1 || ofB1;
    s.direction0 = s.ofA0 ? s.a.t0 : s.b.t0;
    s.direction1 = s.ofA1 ? s.a.t1 : (s.b.dimension == 2u ? s.b.t1 : s.b.t0);
    s.t0 = s.of0 ? within(s.e0, s.e1, s.direction0) : dvec2(0);
    s.t1 = s.of1 ? within(s.e0, s.e1, s.direction1) : dvec2(0);
    if (ofB0) s.t0 = -s.t0;
    if (ofB1) s.t1 = -s.t1;
    s.n_ = dvec3(0);
    s.y0 = s.y1 = dvec2(0);
    double least;
    s.parallel = s.a.dimension + s.b.dimension > 2u;
    if (s.of1) { // two directions
        precise double area = s.t0.x * s.t1.y - s.t1.x * s.t0.y;
        precise dvec2 y0 = dvec2(s.t1.y, -s.t1.x) / area, y1 = dvec2(-s.t0.y, s.t0.x) / area;
        s.y0 = y0;
        s.y1 = y1;
        if (oneEach && !(abs(area) > PARALLEL_SINE)) s.parallel = true;
        least = FAR;
    } else if (s.of0) { // one
        dvec2 t = s.t0, z = dvec2(-t.y, t.x);
        double tt = dot2(t, t);
        least = dot2(z, form2(k, z));
        precise double mixed = dot2(z, form2(k, t)) / least;
        precise dvec3 n_ = dvec3(z.x * z.x, z.x * z.y, z.y * z.y) / least;
        precise dvec2 y0 = (t - mixed * z) / tt;
        s.n_ = n_;
        s.y0 = y0;
    } else {
        precise double determinant = k.x * k.z - k.y * k.y, halfDifference = (k.x - k.z) * 0.5lf;
        precise double root = squareRoot(halfDifference * halfDifference + k.y * k.y);
        precise double eigenvalue = (k.x + k.z) * 0.5lf - root;
        precise dvec3 n_ = dvec3(k.z, -k.y, k.x) / determinant;
        s.n_ = n_;
        least = eigenvalue;
    }
    dvec2 k0 = form2(k, s.y0), k1 = form2(k, s.y1);
    s.z = dvec3(dot2(s.y0, k0), dot2(s.y0, k1), dot2(s.y1, k1));
    s.regular = s.a.ok && s.b.ok && !s.parallel && least > LEAST_CURVATURE * size;
}

uint passesUsed; // loop passes of the invocation

// Step is a step of Newton's method, which satisfies the optimality conditions to the first order: of the normal, in
// the tangent plane, and along the directions of the features.
struct Step {
    dvec2 dn;
    double slide0, slide1;
};

Step newtonStep(System s) {
    precise dvec3 between = s.b.point - s.a.point;
    dvec2 u = within(s.e0, s.e1, between);
    double along0 = s.of0 ? dotProduct(s.direction0, s.n) : 0.0lf;
    double along1 = s.of1 ? dotProduct(s.direction1, s.n) : 0.0lf;
    double right0 = s.ofA0 ? -along0 : along0, right1 = s.ofA1 ? -along1 : along1;
    precise dvec2 dn = form2(s.n_, u) + right0 * s.y0 + right1 * s.y1;
    precise double slide0 = dot2(s.y0, u) - s.z.x * right0 - s.z.y * right1;
    precise double slide1 = dot2(s.y1, u) - s.z.y * right0 - s.z.z * right1;
    return Step(dn, slide0, slide1);
}

// advance moves the normal by a step, and the points of the features to the first order.
void advance(System s, Step x, out dvec3 n, out dvec3 hintA, out dvec3 hintB) {
    precise dvec3 moved = s.n + combine(x.dn.x, s.e0, x.dn.y, s.e1);
    precise dvec3 next = moved * inverseNorm(moved);
    dvec2 bentA = form2(s.a.hessian, x.dn), bentB = form2(s.b.hessian, x.dn);
    precise dvec3 toA = s.a.point + combine(bentA.x, s.e0, bentA.y, s.e1);
    precise dvec3 toB = s.b.point - combine(bentB.x, s.e0, bentB.y, s.e1);
    precise dvec3 move0 = x.slide0 * s.direction0, move1 = x.slide1 * s.direction1;
    if (s.of0 && s.ofA0) toA += move0;
    if (s.of0 && !s.ofA0) toB += move0;
    if (s.of1 && s.ofA1) toA += move1;
    if (s.of1 && !s.ofA1) toB += move1;
    n = next;
    hintA = toA;
    hintB = toB;
}

// areParallel reports whether parallel features meet the optimality conditions at the normal: they are orthogonal to
// it, within the angle theta, and the witnesses differ along it.
bool areParallel(System s, double theta, double size) {
    double bound = max(10.0lf * theta, POLISHED);
    double cosine = 0.0lf;
    if (s.a.dimension > 0u) cosine = max(cosine, abs(dotProduct(s.a.t0, s.n)));
    if (s.a.dimension > 1u) cosine = max(cosine, abs(dotProduct(s.a.t1, s.n)));
    if (s.b.dimension > 0u) cosine = max(cosine, abs(dotProduct(s.b.t0, s.n)));
    if (s.b.dimension > 1u) cosine = max(cosine, abs(dotProduct(s.b.t1, s.n)));
    precise dvec3 between = s.b.point - s.a.point;
    dvec2 u = within(s.e0, s.e1, between);
    precise double across = squareRoot(dot2(u, u)), farthest = bound * (size + abs(s.value));
    return cosine <= bound && across <= farthest;
}

// polish solves for the normal by Newton's method from that of the answer, with features that are found within an
// angle, and returns the smoothness of the result; NOT_DERIVED leaves the row to the host. passes are the loop passes
// of an evaluation of both features.
//
// Four attempts seek a solution that meets the optimality conditions inside of features that hold it within the least
// angle. Which of the angles leads there does not matter, since the result is verified; the order is that of least
// time. Only the last four attempts, in the order of package derive, tell what else the answer is.
uint polish(GivenAnswer given, double size, bool smooth_, uint passes, inout System s) {
    const double ANGLES[8] = double[](1e-5lf, 1e-3lf, 1e-7lf, FINEST_ANGLE, FINEST_ANGLE, 1e-7lf, 1e-5lf, 1e-3lf);
    uint first = smooth_ ? 3u : 0u, attempts = smooth_ ? 5u : 8u; // an angle changes no smooth pair
    for (uint attempt = first; attempt < attempts; attempt++) {
        bool classifying = attempt >= 4u, verifying = false;
        double theta = ANGLES[attempt], least = FAR;
        dvec3 n = given.normal, hintA = given.witnessA, hintB = given.witnessB;
        for (uint i = 0u; i < (classifying ? 13u : 8u); i++) {
            passesUsed += passes;
            if (passesUsed > query.loop_limit) return NOT_DERIVED;
            s.n = n;
            tangentBasis(n, s.e0, s.e1);
            for (uint k = 0u; k < 2u; k++) { // one copy of the code of features
                Feature f = featureOf(k, k == 0u ? n : -n, k == 0u ? hintA : hintB, theta, s.e0, s.e1);
                if (k == 0u) s.a = f;
                else s.b = f;
            }
            solveSystem(s, size);
            if (classifying && !(s.a.ok && s.b.ok)) return NOT_DERIVED;
            if (classifying && s.parallel && areParallel(s, theta, size)) return NOT_UNIQUE;
            if (!s.regular) break;
            Step x = newtonStep(s);
            double step_ = squareRoot(dot2(x.dn, x.dn)), slid = max(abs(x.slide0), abs(x.slide1));
            if (!(step_ < 0.5lf)) break;
            // What is left after a step is its square, up to a curvature.
            double enough = verifying ? POLISHED : i < 4u ? 1e-13lf : 1e-12lf;
            double inside = min(s.a.inside, s.b.inside);
            precise double least_ = POLISHED * size;
            if (step_ <= enough && slid <= enough * size && max(s.a.angle, s.b.angle) <= FINEST_ANGLE) {
                if (!(dotProduct(n, given.normal) > MIN_COSINE)) break;
                if (inside > least_) return smooth_ ? SMOOTH_PAIR : UNIQUE_FEATURES;
                if (classifying && inside >= -least_) return NOT_UNIQUE;
                break;
            }
            if (verifying) break;
            if (classifying) {
                // Rounding ends the steps; the next evaluation verifies the result.
                verifying = !(step_ > 1e-14lf) || (!(step_ < least) && step_ < 1e-12lf) || i == 11u;
                least = min(least, step_);
                if (verifying) theta = FINEST_ANGLE;
            } else if (step_ <= POLISHED) {
                theta = FINEST_ANGLE;
            }
            advance(s, x, n, hintA, hintB);
        }
    }
    return NEAR_SINGULAR;
}

// takeReported makes a system of the answer as it is, for the derivative of the value alone.
void takeReported(GivenAnswer given, inout System s) {
    s.n = given.normal;
    tangentBasis(s.n, s.e0, s.e1);
    Feature none = Feature(dvec3(0), dvec3(0), dvec3(0), dvec3(0), 0u, FAR, 0.0lf, true);
    s.a = none;
    s.b = none;
    s.a.point = given.witnessA;
    s.b.point = given.witnessB;
    s.value = given.value;
}

#endif

// The linear system of a pair at a normal, and its answer polished by Newton's method: system.go and exact.go of
// package derive, whose constants these are. With T the bases of the flat features of A and, with opposite sign, of B,
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

const double MIN_SIZE = 1e-9lf;        // of package geom
const double PARALLEL_SINE = 1e-7lf;   // the sine of the angle below which edges count as parallel
const double LEAST_CURVATURE = 1e-9lf; // least eigenvalue of K across the features, relative to the size
const double POLISHED = 1e-9lf;        // what Newton's steps must come down to, relative to the size
const double MIN_COSINE = 0.99lf;      // between the normal of the answer and the polished one
const double FINEST_ANGLE = 1e-9lf;    // what a polished normal resolves

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
    bool crossing = true;
    if (s.of1) { // two directions
        precise double area = s.t0.x * s.t1.y - s.t1.x * s.t0.y;
        precise dvec2 y0 = dvec2(s.t1.y, -s.t1.x) / area, y1 = dvec2(-s.t0.y, s.t0.x) / area;
        s.y0 = y0;
        s.y1 = y1;
        crossing = !oneEach || abs(area) > PARALLEL_SINE;
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
    bool parallel = s.a.dimension + s.b.dimension > 2u;
    s.regular = s.a.ok && s.b.ok && !parallel && crossing && least > LEAST_CURVATURE * size;
}

// polish solves for the normal by Newton's method from that of the answer, with features that are found within an
// angle, and reports whether the result meets the optimality conditions inside of features that hold it within the
// least angle. Which of the angles leads there does not matter, since the result is verified. passes are the loop
// passes of an evaluation of both features.
bool polish(GivenAnswer given, double size, bool smooth_, uint passes, inout System s) {
    const double ANGLES[4] = double[](1e-5lf, 1e-3lf, 1e-7lf, FINEST_ANGLE);
    uint used = 0u;
    for (uint attempt = smooth_ ? 3u : 0u; attempt < 4u; attempt++) {
        double theta = ANGLES[attempt];
        dvec3 n = given.normal, hintA = given.witnessA, hintB = given.witnessB;
        for (uint i = 0u; i < 8u; i++) {
            used += passes;
            if (used > query.loop_limit) return false;
            s.n = n;
            tangentBasis(n, s.e0, s.e1);
            for (uint k = 0u; k < 2u; k++) { // one copy of the code of features
                Feature f = featureOf(k, k == 0u ? n : -n, k == 0u ? hintA : hintB, theta, s.e0, s.e1);
                if (k == 0u) s.a = f;
                else s.b = f;
            }
            solveSystem(s, size);
            if (!s.regular) break;
            // The step that satisfies the optimality conditions to the first order.
            precise dvec3 between = s.b.point - s.a.point;
            dvec2 u = within(s.e0, s.e1, between);
            double along0 = s.of0 ? dotProduct(s.direction0, n) : 0.0lf;
            double along1 = s.of1 ? dotProduct(s.direction1, n) : 0.0lf;
            double right0 = s.ofA0 ? -along0 : along0, right1 = s.ofA1 ? -along1 : along1;
            precise dvec2 dn = form2(s.n_, u) + right0 * s.y0 + right1 * s.y1;
            precise double slide0 = dot2(s.y0, u) - s.z.x * right0 - s.z.y * right1;
            precise double slide1 = dot2(s.y1, u) - s.z.y * right0 - s.z.z * right1;
            double step_ = squareRoot(dot2(dn, dn)), slid = max(abs(slide0), abs(slide1));
            if (!(step_ < 0.5lf)) break;
            // What is left after a step is its square, up to a curvature.
            double enough = i < 4u ? 1e-13lf : 1e-12lf;
            if (step_ <= enough && slid <= enough * size && max(s.a.angle, s.b.angle) <= FINEST_ANGLE)
                return s.a.inside > POLISHED * size && s.b.inside > POLISHED * size &&
                       dotProduct(n, given.normal) > MIN_COSINE;
            if (step_ <= POLISHED) theta = FINEST_ANGLE;
            precise dvec3 moved = n + combine(dn.x, s.e0, dn.y, s.e1);
            precise dvec3 next = moved * inverseNorm(moved);
            n = next;
            dvec2 bentA = form2(s.a.hessian, dn), bentB = form2(s.b.hessian, dn);
            precise dvec3 toA = s.a.point + combine(bentA.x, s.e0, bentA.y, s.e1);
            precise dvec3 toB = s.b.point - combine(bentB.x, s.e0, bentB.y, s.e1);
            precise dvec3 move0 = slide0 * s.direction0, move1 = slide1 * s.direction1;
            if (s.of0 && s.ofA0) toA += move0;
            if (s.of0 && !s.ofA0) toB += move0;
            if (s.of1 && s.ofA1) toA += move1;
            if (s.of1 && !s.ofA1) toB += move1;
            hintA = toA;
            hintB = toB;
        }
    }
    return false;
}

#endif

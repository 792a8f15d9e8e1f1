// Hessians of cores that are smoothed by Gumbel noise of the length ε [AGIMUS2023, Randomized Smoothing, eq. 27-28]:
// with the weights w = softmax(<v, d>/ε) of the vertices v, the covariance of these over ε. The formulas of other cores
// are those of package derive (smoothing.go). Hessians are forms on the plane of e and f, see hessian.glsl.

#ifndef CLEARANCE_DERIVATIVE_GUMBEL_GLSL
#define CLEARANCE_DERIVATIVE_GUMBEL_GLSL

#include "derivative_system.glsl"
#include "elementary.glsl"

// gumbelSegment is (h²/ε)·sech²(hx/ε).
double gumbelSegment(double halfLength, double x, double epsilon) {
    precise double e = expOf(-abs(halfLength * x / epsilon)), twice = 2.0lf * e / (1.0lf + e * e);
    precise double h = halfLength * halfLength / epsilon * twice * twice;
    return h;
}

// gumbelBox is that of a core whose vertices have weights that are products over the axes.
dvec3 gumbelBox(dvec3 halfExtents, dvec3 d, dvec3 e, dvec3 f, double epsilon) {
    precise dvec3 hessian = dvec3(0);
    for (uint k = 0u; k < 3u; k++) hessian += gumbelSegment(halfExtents[k], d[k], epsilon) * outerSquare(e[k], f[k]);
    return hessian;
}

// gumbelFrustum smooths the discs of radius p.x and p.y at z = ∓p.z, and the choice between them.
dvec3 gumbelFrustum(dvec3 p, dvec3 d, dvec3 e, dvec3 f, double epsilon) {
    precise double rho2 = d.x * d.x + d.y * d.y;
    precise dvec2 square = p.xy * p.xy;
    precise double root0 = squareRoot(square.x * rho2 + epsilon * epsilon);
    precise double root1 = squareRoot(square.y * rho2 + epsilon * epsilon);
    precise dvec2 root = dvec2(root0, root1), k = square / root;
    precise double rise = (root.y + p.z * d.z) - (root.x - p.z * d.z);
    precise double x = expOf(-abs(rise / epsilon)), greater = 1.0lf / (1.0lf + x), lesser = x / (1.0lf + x);
    precise dvec2 weight = rise >= 0.0lf ? dvec2(lesser, greater) : dvec2(greater, lesser);
    precise dvec2 level = weight * k, curved = level * square / (root * root);
    precise double spread = weight.x * weight.y / epsilon;
    precise dvec3 between = dvec3((k.y - k.x) * d.xy, 2.0lf * p.z); // of the support points of the discs
    dvec2 along = dvec2(dot2(d.xy, e.xy), dot2(d.xy, f.xy));
    precise dvec3 hessian = (level.x + level.y) * dvec3(dot2(e.xy, e.xy), dot2(e.xy, f.xy), dot2(f.xy, f.xy)) -
                            (curved.x + curved.y) * outerSquare(along.x, along.y) +
                            spread * outerSquare(dotProduct(between, e), dotProduct(between, f));
    return hessian;
}

// gumbelHull leaves out vertices with a weight of less than e⁻²⁰ relative to the largest. Moments are relative to the
// support vertex: where its weight is nearly 1, the covariance of the others does not cancel.
dvec3 gumbelHull(Shape s, dvec3 d, dvec3 e, dvec3 f, double epsilon) {
    dvec3 support = vertexAt(supportVertex(s, d));
    precise double total = 0.0lf;
    precise dvec2 mean = dvec2(0);
    precise dvec3 moments = dvec3(0);
    for (uint i = s.first; i < s.first + s.count; i++) {
        precise dvec3 v = vertexAt(i) - support;
        precise double exponent = dotProduct(v, d) / epsilon;
        if (!(exponent >= -NEGLIGIBLE)) continue;
        double weight = expOf(min(exponent, 0.0lf)), a = dotProduct(v, e), b = dotProduct(v, f);
        total += weight;
        mean += weight * dvec2(a, b);
        moments += weight * outerSquare(a, b);
    }
    mean /= total;
    precise dvec3 hessian = (moments / total - outerSquare(mean.x, mean.y)) / epsilon;
    return hessian;
}

// smoothShape makes the feature of shape k at its point that of the smoothed shape, with the outward normal d. A
// half-space keeps its plane, a smooth core its Hessian. Feature.ok is false where there is none.
Feature smoothShape(uint k, Feature f, dvec3 d, double epsilon, dvec3 e0, dvec3 e1) {
    Shape s = shapeOf(k);
    uint kind = shapes[s.record].kind;
    if (kind == KIND_HALFSPACE) return featureOf(k, d, f.point, FINEST_ANGLE, e0, e1);
    dmat3 axes = axesOf(k);
    dvec3 dl = rotateBack(axes, d), e = rotateBack(axes, e0), g = rotateBack(axes, e1), hessian = dvec3(0);
    Feature smoothed = Feature(f.point, dvec3(0), dvec3(0), dvec3(0), 0u, FAR, 0.0lf, true);
    if (kind == KIND_CAPSULE || kind == KIND_BOX) {
        hessian = gumbelBox(kind == KIND_BOX ? s.params : dvec3(0, 0, s.params.z), dl, e, g, epsilon);
    } else if (isFrustum(kind)) {
        hessian = gumbelFrustum(s.params, dl, e, g, epsilon);
    } else if (uses(KIND_CONVEX) && kind == KIND_CONVEX) {
        passesUsed += s.count + supportPasses(s);
        smoothed.ok = passesUsed <= query.loop_limit;
        if (smoothed.ok) hessian = gumbelHull(s, dl, e, g, epsilon);
    } else if (kind != KIND_SPHERE) {
        Local l = smoothFeature(s, dl, e, g);
        hessian = l.hessian;
        smoothed.ok = l.ok;
    }
    precise dvec3 withBall = hessian + dvec3(s.radius, 0, s.radius);
    smoothed.hessian = withBall;
    return smoothed;
}

// smoothPair replaces both features by smoothed ones at the normal of s, and solves the system anew. NEAR_SINGULAR says
// that it has no inverse: the derivative of the value is then that of the points as they are.
uint smoothPair(double size, inout System s) {
    double given = packDouble2x32(uvec2(query.epsilon[0], query.epsilon[1])), value = s.value;
    precise double usual = GUMBEL_SHARE * size;
    double epsilon = given > 0.0lf ? given : usual;
    for (uint k = 0u; k < 2u; k++) {
        Feature f = s.a;
        if (k == 1u) f = s.b;
        f = smoothShape(k, f, k == 0u ? s.n : -s.n, epsilon, s.e0, s.e1);
        if (!f.ok) return NOT_DERIVED;
        if (k == 0u) s.a = f;
        else s.b = f;
    }
    solveSystem(s, size);
    s.value = value;
    return s.regular ? SMOOTHED_PAIR : NEAR_SINGULAR;
}

// movesAlong reports whether a common motion of both bodies moves the answer along, see package derive.
bool movesAlong(System s, double size) {
    dvec2 dn = newtonStep(s).dn, bentA = form2(s.a.hessian, dn), bentB = form2(s.b.hessian, dn);
    double farthest = MAX_DEPARTURE * size, square = farthest * farthest;
    return dot2(dn, dn) <= MAX_DEPARTURE * MAX_DEPARTURE && dot2(bentA, bentA) <= square &&
           dot2(bentB, bentB) <= square;
}

#endif

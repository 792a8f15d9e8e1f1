// Points of D with bounds of their rounding, and the bounds that a normal and a triangle prove for a growth distance,
// in double precision. For the notation see growth.glsl.
//
// Rounding. A point s of D is off by growthRounding at most: relative rotation, support point, rotation into the frame
// of the ray and dot product are chains of operations on lengths that reach bounds, as in ref.Pair.Roundoff. It does
// not depend on the distance of the shapes. p is off by translationRounding.
//
// Lower bound: α ≥ <n, p>/h(n) [Growth, eq. 13].
//
// Upper bound: let s be the point of the triangle on the ray, z its coordinate along the ray and e its part orthogonal
// to the ray, β = |p|/z, and g = translationRounding + β(|e| + growthRounding). Then p = βs' + g' with a point s' of D
// and |g'| ≤ g. D holds a ball of radius r around the origin, so α ≤ β + g/r.

#ifndef CLEARANCE_GROWTH_BOUNDS_GLSL
#define CLEARANCE_GROWTH_BOUNDS_GLSL

#include "growth.glsl"
#include "store.glsl"

double inradiusA, inradius; // of balls in A and in D around their centres
double distanceOfCentres;   // |p|
dvec3 centreOffset;         // of the centres of growth in their shapes, in the frame of the ray: c_A - R c_B
double growthRounding;      // bound of that of a point of D
double translationRounding; // bound of that of p

dvec3 growthCentreOf(uint record) {
    return dvec3(shapes[record].growth_center[0], shapes[record].growth_center[1], shapes[record].growth_center[2]);
}

// loadGrowth sets the frame of the ray and the lengths. It follows loadPose, and replaces rotation by that of B in the
// frame of the ray.
void loadGrowth(IndexRecord index) {
    inradiusA = shapes[index.shape_a].growth_inradius;
    inradius = inradiusA + shapes[index.shape_b].growth_inradius;
    precise dvec3 offset = growthCentreOf(index.shape_a) - rotation * growthCentreOf(index.shape_b);
    precise dvec3 p = translation - offset;
    precise double squared = squaredNorm(p), inverse = inverseRoot(squared), len = squared * inverse;
    distanceOfCentres = squared > 0.0lf ? len : 0.0lf;
    setRayFrame(squared > 0.0lf ? p * inverse : dvec3(0, 0, 1));
    centreOffset = toRayFrame(offset);
    rotation = dmat3(toRayFrame(rotation[0]), toRayFrame(rotation[1]), toRayFrame(rotation[2]));
    double offsets = shapes[index.shape_a].growth_offset + shapes[index.shape_b].growth_offset;
    double reachA = shapes[index.shape_a].reach, reachB = shapes[index.shape_b].reach;
    precise double e = UNIT_ROUNDOFF * (24.0lf * (reachA + reachB + offsets) + supportError(shapeA) * reachA +
                                        supportError(shapeB) * reachB);
    growthRounding = e;
    precise double t = 24.0lf * UNIT_ROUNDOFF * (norm(translation) + offsets);
    translationRounding = t;
}

// loadGrowthQuery sets the query. The tolerance, relative to max(1, α), is wider for pairs with a curved surface.
void loadGrowthQuery(bool polytopes) {
    hasCutOff = (query.flags & FLAG_CUT_OFF) != 0u;
    tolerance = polytopes ? joined(query.exact[0], query.exact[1]) : joined(query.exact[4], query.exact[5]);
    cutOff = joined(query.exact[2], query.exact[3]);
}

// evaluateSupport returns the support point of D along the unit vector n, both in the frame of the ray. u is n in the
// frame of A, and a is set to the point of A, in that frame.
dvec3 evaluateSupport(dvec3 n, dvec3 u, out dvec3 a) {
    a = dvec3(0);
    precise dvec3 s = (shapeA.radius + shapeB.radius) * n - centreOffset;
    for (int k = 0; k < 2; k++) { // both shapes by one text of the support functions: half the code
        Shape shape = shapeA;
        dvec3 d = u;
        if (k == 1) {
            shape = shapeB;
            d = -toFrameB(n);
        }
        dvec3 core = coreSupport(shape, d);
        if (k == 0) {
            precise dvec3 pointA = core + shape.radius * u;
            a = pointA;
            core = toRayFrame(core);
        } else {
            core = -(rotation * core);
        }
        s += core;
    }
    return s;
}

// Search is the state that the search ends with.
struct Search {
    Triangle t;
    dvec3 a0, a1, a2;  // points of A of its vertices, in the frame of A; of a half-space a0 is the support point of D
    uint ballVertices; // bit k: vertex k is a point of the ball, and its point of A is relative to the centre of growth
    dvec3 normal;      // unit, in the frame of the ray, of the least bound of the ray
    double value;      // its support value
};

// leastGap returns the least gap that float64 is sure to prove at the factor alpha: four times what rounding moves the
// bounds by.
double leastGap(double alpha) {
    precise double gap = 4.0lf * (alpha * growthRounding + translationRounding) / inradius;
    return gap;
}

// growthAnswer returns the answer that a search proves. centre is that of A, and point the common point of the scaled
// shapes, both in the frame of A.
Answer growthAnswer(Search search, dvec3 centre, out dvec3 point) {
    Triangle t = search.t;
    dvec3 w = max(weightsOf(t), dvec3(0));
    precise double scale = 1.0lf / (w.x + w.y + w.z);
    w *= scale;
    precise dvec3 s = w.x * t.v0 + w.y * t.v1 + w.z * t.v2;
    uint balls = search.ballVertices;
    double relative =
        ((balls & 1u) != 0u ? w.x : 0.0lf) + ((balls & 2u) != 0u ? w.y : 0.0lf) + ((balls & 4u) != 0u ? w.z : 0.0lf);
    precise dvec3 a = w.x * search.a0 + w.y * search.a1 + w.z * search.a2 + relative * centre;
    if (!(s.z > inradius)) { // of the ball
        s = dvec3(0, 0, inradius);
        a = centre + inradiusA * rayZ;
    }
    Answer r;
    precise double beta = distanceOfCentres / s.z;
    precise double offset = translationRounding + beta * (growthRounding + norm(dvec3(s.xy, 0)));
    precise double upper = (beta + offset / inradius) * (1.0lf + 4.0lf * UNIT_ROUNDOFF);
    precise double lower =
        (distanceOfCentres * search.normal.z - translationRounding) / (search.value + growthRounding);
    precise double down = max(lower, 0.0lf) * (1.0lf - 4.0lf * UNIT_ROUNDOFF);
    r.distance = beta;
    r.upper = upper;
    r.lower = down;
    r.normal = fromRayFrame(search.normal);
    r.witnessA = a;
    precise dvec3 wb = (a - fromRayFrame(s)) + distanceOfCentres * rayZ;
    r.witnessB = wb;
    precise dvec3 x = centre + beta * (a - centre);
    point = x;
    return r;
}

// coincidentAnswer is that of centres that cannot be told apart: the factor 0, no normal, and the centres as witnesses.
Answer coincidentAnswer(dvec3 centre) {
    precise double upper = (distanceOfCentres + translationRounding) / inradius * (1.0lf + 4.0lf * UNIT_ROUNDOFF);
    precise dvec3 b = centre + distanceOfCentres * rayZ;
    return Answer(0.0lf, 0.0lf, upper, dvec3(0), centre, b);
}

// growthStatus returns the status that the bounds prove, DECLINED if they prove none. If `least` is set, the gap may
// also be what float64 is sure to prove; else such rows are declined, as the CPU has a bound that does not divide by
// the inradius. Finiteness is tested on the bits, see classify.
uint growthStatus(Answer r, bool least) {
    if (!finite(r.lower) || !finite(r.upper) || !finite3(r.normal) || !finite3(r.witnessA) || !finite3(r.witnessB))
        return DECLINED;
    if (r.lower > r.upper) return DECLINED;
    bool separated = r.lower > 1.0lf, penetrating = r.upper < 1.0lf;
    bool statusAlone = (query.flags & FLAG_STATUS_ALONE) != 0u;
    bool ended = (separated || penetrating) && (statusAlone || (hasCutOff && r.lower > cutOff));
    double gap = max(r.upper - r.distance, r.distance - r.lower);
    double allowed = tolerance * max(1.0lf, r.distance);
    if (least) allowed = max(allowed, leastGap(r.distance));
    if (!ended && !(gap <= allowed)) return DECLINED;
    return separated ? STATUS_SEPARATED : penetrating ? STATUS_PENETRATING : STATUS_TOUCHING;
}

#endif

// Points of D with bounds of their rounding, and the bounds that a normal and a triangle prove for a growth distance,
// in double precision. For the notation see growth.glsl.
//
// Rounding. A point s of D is off by `rounding` at most: relative rotation, support point, rotation into the frame
// of the ray and dot product are chains of operations on lengths that reach bounds, as in ref.Pair.Roundoff. It does
// not depend on the distance of the shapes. p is off by translationRounding.
//
//     lower = <n, p>/h(n)                                                  [Growth, eq. 13]
//     upper = β + (translationRounding + β(|e| + rounding))/r,  β = |p|/z
//
// Upper bound: let s be the point of the triangle on the ray, z its coordinate along the ray and e its part orthogonal
// to the ray, β = |p|/z, and g = translationRounding + β(|e| + rounding). Then p = βs' + g' with a point s' of D
// and |g'| ≤ g. D holds a ball of radius r around the origin, so α ≤ β + g/r.
//
// The including file declares the buffer searches and defines
//     Shape shapeOf(int k) // shape A for 0, B for 1
//     PairSizes sizes()    // of both
// which are kept, or loaded again from the records.

#ifndef CLEARANCE_GROWTH_BOUNDS_GLSL
#define CLEARANCE_GROWTH_BOUNDS_GLSL

#include "growth.glsl"
#include "row.glsl"
#include "store.glsl"

struct PairSizes {
    dvec3 centerA, centerB;     // of growth, in the frames of the shapes
    double radii;               // around both cores
    double inradiusA, inradius; // of balls in A and in D around their centers
    double rounding;            // bound of the rounding of a point of D
};

Shape shapeOf(int k);
PairSizes sizes();

double distanceOfCenters;   // |p|
double translationRounding; // bound of the rounding of p

dvec3 growthCenterOf(int k) {
    uint record = recordOf(k);
    return dvec3(shapes[record].growth_center[0], shapes[record].growth_center[1], shapes[record].growth_center[2]);
}

// radiusOf returns the radius around a core. That of a half-space is added in halfSpaceAnswer.
double radiusOf(int k) { return isHalfSpace(k) ? 0.0lf : shapes[recordOf(k)].radius; }

double offsets() { return shapes[recordOf(0)].growth_offset + shapes[recordOf(1)].growth_offset; }

PairSizes loadSizes() {
    double reachA = shapes[recordOf(0)].reach, reachB = shapes[recordOf(1)].reach;
    double powersA = supportError(shapeOf(0)), powersB = supportError(shapeOf(1));
    precise double e = UNIT_ROUNDOFF * (24.0lf * (reachA + reachB + offsets()) + powersA * reachA + powersB * reachB);
    double inradiusA = shapes[recordOf(0)].growth_inradius;
    return PairSizes(growthCenterOf(0), growthCenterOf(1), radiusOf(0) + radiusOf(1), inradiusA,
                     inradiusA + shapes[recordOf(1)].growth_inradius, e);
}

// loadGrowth sets the frame of the ray and the lengths. It follows loadPose, and sets rotation to the
// rotation of B in the frame of the ray.
void loadGrowth() {
    precise dvec3 p = translation - (growthCenterOf(0) - rotation * growthCenterOf(1));
    precise double squared = squaredNorm(p), inverse = inverseRoot(squared), len = squared * inverse;
    distanceOfCenters = squared > 0.0lf ? len : 0.0lf;
    setRayFrame(squared > 0.0lf ? p * inverse : dvec3(0, 0, 1));
    rotation = dmat3(toRayFrame(rotation[0]), toRayFrame(rotation[1]), toRayFrame(rotation[2]));
    precise double t = 24.0lf * UNIT_ROUNDOFF * (norm(translation) + offsets());
    translationRounding = t;
}

bool arePolytopes() { return isPolytope(shapeA) && isPolytope(shapeB) && shapeA.radius + shapeB.radius == 0.0lf; }

// loadGrowthQuery sets the query. The tolerance, relative to max(1, α), is wider for pairs with a curved surface.
void loadGrowthQuery() {
    hasCutOff = (query.flags & FLAG_CUT_OFF) != 0u;
    tolerance = arePolytopes() ? joined(query.exact[0], query.exact[1]) : joined(query.exact[4], query.exact[5]);
    cutOff = joined(query.exact[2], query.exact[3]);
}

// initialDirection returns a direction of the search in single precision, in the frame of the ray.
dvec3 initialDirection(uint k) {
    return toRayFrame(dvec3(searches[slot].directions[3u * k], searches[slot].directions[3u * k + 1u],
                            searches[slot].directions[3u * k + 2u]));
}

// evaluateSupport returns the support point of D along the unit vector n, both in the frame of the ray, and sets a to
// its point of A, in the frame of A. With pointAlone it returns that point of A.
dvec3 evaluateSupport(dvec3 n, bool pointAlone, out dvec3 a) {
    a = dvec3(0);
    precise dvec3 s = sizes().radii * n;
    dvec3 d = fromRayFrame(n), center = sizes().centerA;
    for (int k = 0; k < (pointAlone ? 1 : 2); k++) { // both shapes by one text of the support functions: half the code
        Shape shape = shapeOf(k);
        dvec3 core = coreSupport(shape, d);
        precise dvec3 fromCenter = core - center;
        if (k == 0) {
            precise dvec3 point = core + shape.radius * d;
            a = point;
            if (pointAlone) s = point;
            else s += toRayFrame(fromCenter);
            d = -toFrameB(n);
            center = sizes().centerB;
        } else {
            s -= rotation * fromCenter;
        }
    }
    return s;
}

// The share of the tolerance at which the search ends; rounding takes the rest.
const double TOLERANCE_SHARE = 0.9lf;

// ended reports whether bounds of the ray meet the tolerance, or answer the query without the factor: they prove the
// status where it alone is wanted, or a separation beyond the cut-off. The margin is for the rounding that the final
// bounds include.
bool ended(double crossing, double limit) {
    precise double gap = distanceOfCenters * (limit - crossing);
    precise double margin = 4.0lf * (sizes().rounding + translationRounding) + 1e-14lf * distanceOfCenters;
    bool statusAlone = (query.flags & FLAG_STATUS_ALONE) != 0u, separated = distanceOfCenters > limit + margin;
    return gap <= TOLERANCE_SHARE * tolerance * crossing * max(limit, distanceOfCenters) ||
           (hasCutOff && separated && distanceOfCenters > cutOff * (limit + margin)) ||
           (statusAlone && (separated || crossing > distanceOfCenters + margin));
}

// isBeyond reports whether a point of D lies beyond the plane of the triangle by more than its rounding.
bool isBeyond(Triangle t, dvec3 s) {
    dvec3 facet = normalOf(t);
    double beyond = dotProduct(facet, s - t.v0), rounding = sizes().rounding;
    return beyond > 0.0lf && beyond * beyond > rounding * rounding * squaredNorm(facet);
}

// weightsOnRay returns the weights of the point at which the ray crosses the triangle: not negative, and of sum 1.
dvec3 weightsOnRay(Triangle t) {
    dvec3 w = max(weightsOf(t), dvec3(0));
    precise double scale = 1.0lf / (w.x + w.y + w.z);
    w *= scale;
    return w;
}

dvec3 weightedSum(dvec3 w, dvec3 p, dvec3 q, dvec3 r) {
    precise dvec3 s = w.x * p + w.y * q + w.z * r;
    return s;
}

// weightOfBall returns the weight of the vertices that are points of the ball, by their bits: their points of A are
// relative to the center of growth.
double weightOfBall(dvec3 w, uint balls) {
    precise double sum =
        ((balls & 1u) != 0u ? w.x : 0.0lf) + ((balls & 2u) != 0u ? w.y : 0.0lf) + ((balls & 4u) != 0u ? w.z : 0.0lf);
    return sum;
}

// leastGap returns the least gap that float64 can always prove at the factor alpha: four times the rounding error of
// the bounds, where they are divided by r.
double leastGap(double alpha, double r) {
    precise double gap = 4.0lf * (alpha * sizes().rounding + translationRounding) / r;
    return gap;
}

// growthAnswer returns the answer of a point s of D near the ray, with its point a of A, and of the support value along
// normal. point is set to the common point of the scaled shapes, in the frame of A.
Answer growthAnswer(dvec3 s, dvec3 a, dvec3 normal, double value, out dvec3 point) {
    dvec3 center = sizes().centerA;
    double ball = sizes().inradius;
    if (!(s.z > ball)) { // of the ball
        s = dvec3(0, 0, ball);
        a = center + sizes().inradiusA * rayZ;
    }
    Answer r;
    precise double beta = distanceOfCenters / s.z;
    precise double offset = translationRounding + beta * (sizes().rounding + norm(dvec3(s.xy, 0)));
    precise double upper = (beta + offset / ball) * (1.0lf + 4.0lf * UNIT_ROUNDOFF);
    precise double lower = (distanceOfCenters * normal.z - translationRounding) / (value + sizes().rounding);
    precise double down = max(lower, 0.0lf) * (1.0lf - 4.0lf * UNIT_ROUNDOFF);
    r.distance = beta;
    r.upper = upper;
    r.lower = down;
    r.normal = fromRayFrame(normal);
    r.witnessA = a;
    precise dvec3 wb = (a - fromRayFrame(s)) + distanceOfCenters * rayZ;
    r.witnessB = wb;
    precise dvec3 x = center + beta * (a - center);
    point = x;
    return r;
}

// witnessesFit reports whether the error of the witness of B is within the rounding of B or within the gap, where it is
// stored in double precision. The witness is formed from the witness of A, so its error grows with A. Where A reaches
// far beyond both B and the distance, the CPU answers the row: it computes the witness from points of B.
bool witnessesFit(Answer r) {
    if ((query.flags & FLAG_DOUBLE) == 0u || isHalfSpace(0) || isHalfSpace(1)) return true;
    precise double error = 8.0lf * UNIT_ROUNDOFF * norm(r.witnessA);
    precise double allowed = 32.0lf * UNIT_ROUNDOFF * (norm(translation) + shapes[recordOf(1)].reach) +
                             (r.upper - r.lower) / (2.0lf * max(1.0lf, r.distance)) * sizes().inradius;
    return error <= allowed;
}

// growthStatus returns the status that the bounds prove, DECLINED if they prove none. The gap may also be `least`. That
// is the least one that float64 is sure to prove, or 0 where such rows are declined, as the CPU has a bound that does
// not divide by the inradius. Finiteness is tested on the bits, see classify.
uint growthStatus(Answer r, double least) {
    if (!finite(r.lower) || !finite(r.upper) || !finite3(r.normal) || !finite3(r.witnessA) || !finite3(r.witnessB))
        return DECLINED;
    if (r.lower > r.upper || !witnessesFit(r)) return DECLINED;
    bool separated = r.lower > 1.0lf, penetrating = r.upper < 1.0lf;
    bool statusAlone = (query.flags & FLAG_STATUS_ALONE) != 0u;
    bool ended = (separated || penetrating) && (statusAlone || (hasCutOff && r.lower > cutOff));
    double gap = max(r.upper - r.distance, r.distance - r.lower);
    if (!ended && !(gap <= max(tolerance * max(1.0lf, r.distance), least))) return DECLINED;
    return separated ? STATUS_SEPARATED : penetrating ? STATUS_PENETRATING : STATUS_TOUCHING;
}

// writeGrowth stores an answer, with the common point of the scaled shapes.
void writeGrowth(uint status, uint solver, uint evaluations, Answer r, dvec3 point) {
    uint row = indices[slot].row, pose = indices[slot].pose_a;
    writeStatus(row, status, solver, evaluations);
    writeColumns(row, pose, r);
    if (!hasColumn(COLUMN_POINT)) return;
    dmat3 ra = rotationMatrix(rotationOf(poses[pose]));
    writeVector(COLUMN_POINT, row, ra * point + positionOf(poses[pose]));
}

#endif

// The relative pose of a pair in double precision, points and directions in both frames, and the query with the gaps
// that it asks for. See pair.glsl for the shapes. The including file declares the buffer poses and the query.

#ifndef CLEARANCE_PAIR_FLOAT64_GLSL
#define CLEARANCE_PAIR_FLOAT64_GLSL

#include "pair.glsl"
#include "loop_limit.glsl"

// A pipeline that is compiled for a query defines this as a constant.
#ifndef BOOLEAN_QUERY
#define BOOLEAN_QUERY (query.query == QUERY_COLLIDE)
#endif

dvec3 translation;      // origin of B in the frame of A
double radius;          // sum of the radii of both shapes, with the erosion of their cores
double lengthRounding;  // ref.Pair.Roundoff: bound of the rounding of a support value, by the lengths in it
double supportRounding; // the same, with the rounding of support points that take powers

// The query.
bool booleanQuery, hasCutOff;
double cutOff;
double tolerance;   // largest gap of the answer
double distanceGap; // gap of the computed bounds that guarantees it, rounding included

// loadPose sets the relative pose and the lengths that follow from it.
void loadPose(IndexRecord index) {
    dmat3 ra = rotationMatrix(rotationOf(poses[index.pose_a])), rb = rotationMatrix(rotationOf(poses[index.pose_b]));
    precise dmat3 r = transpose(ra) * rb;
    precise dvec3 t = (positionOf(poses[index.pose_b]) - positionOf(poses[index.pose_a])) * ra;
    rotation = r;
    translation = t;
    double sizeA = shapes[index.shape_a].bounding, sizeB = shapes[index.shape_b].bounding;
    if (shapes[index.shape_a].kind == KIND_HALFSPACE) sizeA = shapeA.radius;
    if (shapes[index.shape_b].kind == KIND_HALFSPACE) sizeB = shapeB.radius;
    size = sizeA + sizeB;
    precise double lengths = norm(t) + shapes[index.shape_a].reach + shapes[index.shape_b].reach;
    largestLength = lengths;
    lengthRounding = 24.0lf * UNIT_ROUNDOFF * largestLength;
    supportRounding = lengthRounding;
    if (uses(KIND_SUPERQUADRIC) || uses(KIND_SMOOTH_HULL) || uses(KIND_SMOOTH_REVOLUTION)) {
        precise double powers = supportError(shapeA) * sizeA + supportError(shapeB) * sizeB;
        supportRounding = lengthRounding + UNIT_ROUNDOFF * powers;
    }
}

// toFrameB rotates a direction from the frame of A into that of B.
dvec3 toFrameB(dvec3 v) {
    recallPair();
    precise dvec3 u = v * rotation;
    return u;
}

// difference returns a point a of A minus a point b of B, each given in the frame of its shape.
dvec3 difference(dvec3 a, dvec3 b) {
    recallPair();
    precise dvec3 w = a - (rotation * b + translation);
    return w;
}

// lengthScale is the factor from metres to the lengths of the search, see trust_region.glsl.
double lengthScale() { return 1.0lf; }

// joined returns the double with these words.
double joined(uint low, uint high) { return packDouble2x32(uvec2(low, high)); }

// computedGapFor returns the gap of computed bounds that guarantees the gap t, rounding included.
double computedGapFor(double t) { return max(t - 2.0lf * supportRounding, supportRounding); }

// loadQuery sets the query. It follows loadPose.
void loadQuery() {
    booleanQuery = BOOLEAN_QUERY;
    hasCutOff = (query.flags & FLAG_CUT_OFF) != 0u;
    tolerance = joined(query.exact[0], query.exact[1]) * size;
    cutOff = joined(query.exact[2], query.exact[3]);
    distanceGap = computedGapFor(tolerance);
}

#endif

// The result of an algorithm for penetration depths, for the cores, and the answer for the shapes that follows from it.

#ifndef CLEARANCE_CORE_DEPTH_GLSL
#define CLEARANCE_CORE_DEPTH_GLSL

#include "store.glsl"

// CoreDepth is the result for the cores: their signed distance lies in [-upper, -lower].
struct CoreDepth {
    double upper, lower; // of the depth; negative where the cores are separated
    double witnessGap;   // the norm of the difference between the witnesses less upper·axis
    dvec3 axis;          // unit, outward from D
    dvec3 point, pointA; // a point of D, and its point of A
};

// answerOf turns the result for the cores into one for the shapes. As in ref, the distance is minus the upper bound of
// the depth.
Answer answerOf(CoreDepth r) {
    double ra = shapeA.radius + shapeA.erode, rb = shapeB.radius + shapeB.erode;
    Answer result;
    precise double d = -r.upper - radius;
    precise double lower_ = d - supportRounding;
    precise double upper_ = max(-r.lower, r.witnessGap - r.upper) - radius + supportRounding;
    result.distance = d;
    result.lower = lower_;
    result.upper = upper_;
    result.normal = r.axis;
    precise dvec3 wa = r.pointA + ra * r.axis;
    precise dvec3 wb = (r.pointA - r.point) - rb * r.axis;
    result.witnessA = wa;
    result.witnessB = wb;
    return result;
}

#endif

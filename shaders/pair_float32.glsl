// The relative pose of a pair in single precision, and points and directions in both frames. See pair.glsl for the
// shapes. The translation is the sum of two floats per coordinate, so that the difference of two points near each
// other keeps its digits.
//
// All of it is precise: a compiler that contracts products and sums might do so in one pipeline and not in another,
// and a row has the same bits in all of them.

#ifndef CLEARANCE_PAIR_FLOAT32_GLSL
#define CLEARANCE_PAIR_FLOAT32_GLSL

#include "pair.glsl"

vec3 translationHigh, translationLow; // origin of B in the frame of A: their sum
float scaleToUnit;                    // power of two with scaleToUnit·largestLength in [1, 2)

// loadPose sets the relative pose and the lengths that follow from it.
void loadPose(PairRecord pair) {
    rotation = rotationMatrix(pair.rotation);
    translationHigh = vec3(pair.translation[0], pair.translation[1], pair.translation[2]);
    translationLow = vec3(pair.translation_low[0], pair.translation_low[1], pair.translation_low[2]);
    vec4 ballA = shapes[pair.shape_a].ball, ballB = shapes[pair.shape_b].ball;
    precise float radii = ballA.w + ballB.w;
    precise float lengths = norm(translationHigh) + radii + norm(ballA.xyz) + norm(ballB.xyz);
    size = radii;
    largestLength = lengths;
    scaleToUnit = unitScale(largestLength);
}

// toFrameB rotates a direction from the frame of A into that of B.
vec3 toFrameB(vec3 v) {
    precise vec3 u = vec3(dotProduct(v, rotation[0]), dotProduct(v, rotation[1]), dotProduct(v, rotation[2]));
    return u;
}

// toFrameA rotates a vector from the frame of B into that of A.
vec3 toFrameA(vec3 v) {
    precise vec3 u = v.x * rotation[0] + v.y * rotation[1] + v.z * rotation[2];
    return u;
}

// differenceOf returns a point a of A minus a point of B, of which b is the position after rotation, in metres.
vec3 differenceOf(vec3 a, vec3 b) {
    precise vec3 w = ((a - b) - translationHigh) - translationLow;
    return w;
}

// lengthScale is the factor from metres to the lengths of the search, see trust_region.glsl.
float lengthScale() { return scaleToUnit; }

#endif

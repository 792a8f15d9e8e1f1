// A pair in the precision of `real`: the access to the records of the library, the loading of its two shapes, their
// relative pose, and points and directions in both frames. In double precision also the query, with the gaps that it
// asks for.
//
// The including file declares the buffers shapes, vertices and cells; in double precision the buffer poses and the
// query as well. Where it defines SHAPES_ALONE, there is no pose.
//
// In single precision the translation is the sum of two floats per coordinate, so that the difference of two points
// near each other keeps its digits. All of it is precise: a compiler that contracts products and sums might do so in
// one pipeline and not in another, and a row has the same bits in all of them.

#ifndef CLEARANCE_PAIR_GLSL
#define CLEARANCE_PAIR_GLSL

#include "real.glsl"

#ifdef DOUBLE
dvec3 vertexAt(uint i) { return dvec3(vertices[i].position[0], vertices[i].position[1], vertices[i].position[2]); }
dvec3 centerOf(uint record) {
    return dvec3(shapes[record].center[0], shapes[record].center[1], shapes[record].center[2]);
}
#else
vec3 vertexAt(uint i) { return vertices[i].xyz; }
vec3 centerOf(uint record) { return shapes[record].ball.xyz; }
#endif
real paramOf(uint record, uint k) { return shapes[record].params[k]; }
uint cellWord(uint i) { return cells[i]; }

#include "pose.glsl"
#include "support.glsl"

// The pair, in the frame of A.
Shape shapeA, shapeB;
real3x3 rotation;   // of B
real size;          // sum of the bounding radii
real largestLength; // bound of all lengths that enter a support value

// shapeOf returns shape k = 0, 1. recallPair sets the pair where a stage keeps it in memory, see depth.glsl.
#ifdef PAIR_IN_MEMORY
Shape shapeOf(uint k);
void recallPair();
#else
Shape shapeOf(uint k) {
    Shape s = shapeA;
    if (k == 1u) s = shapeB;
    return s;
}
void recallPair() {}
#endif

// erosionOf returns the radius by which the core is eroded, and which its radius gains: the least radius of curvature
// of an ellipsoid, 0 for the others (geom.MinCurvatureRadius).
real erosionOf(uint i, Shape s) {
#ifdef DOUBLE
    return shapes[i].erode;
#else
    float erode = 0.0;
    if (s.coreClass == CLASS_ELLIPSOID) {
        float c = min(min(s.params.x, s.params.y), s.params.z);
        precise float e = c / max(max(s.params.x, s.params.y), s.params.z) * c;
        erode = e;
    }
    return erode;
#endif
}

Shape loadShape(uint i) {
    Shape s;
    s.params = real3(shapes[i].params[0], shapes[i].params[1], shapes[i].params[2]);
    s.coreClass = classOf(shapes[i].kind, s.params);
    s.record = i;
    s.first = shapes[i].vertex_offset;
    s.count = shapes[i].vertex_count;
    s.cells = cells[i];
    s.radius = shapes[i].radius;
    s.erode = erosionOf(i, s);
    return s;
}

#ifndef SHAPES_ALONE
#ifdef DOUBLE

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

#else

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
#endif

#endif

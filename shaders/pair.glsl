// The two shapes of a pair, in the precision of `real`: the access to the records of the library, and the loading of
// a shape. The including file declares the buffers shapes, vertices and cells. pair_float32.glsl and
// pair_float64.glsl add the relative pose.

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

#endif

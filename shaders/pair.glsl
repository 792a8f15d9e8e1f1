// A pair in double precision: its shapes, its relative pose and what is asked of it. The
// including file declares the buffers shapes, vertices, poses and cells, and the query.

#ifndef CLEARANCE_PAIR_GLSL
#define CLEARANCE_PAIR_GLSL

dvec3 vertexAt(uint i) {
    return dvec3(vertices[i].position[0], vertices[i].position[1], vertices[i].position[2]);
}
double paramOf(uint record, uint k) { return shapes[record].params[k]; }
dvec3 centreOf(uint record) {
    return dvec3(shapes[record].center[0], shapes[record].center[1], shapes[record].center[2]);
}
uint cellWord(uint i) { return cells[i]; }

#include "pose.glsl"
#include "shape.glsl"
#include "budget.glsl"

// The pair, in the frame of A.
Shape shapeA, shapeB;
dmat3 rotation;     // of B
dvec3 translation;  // origin of B
double radius;      // of both balls around the eroded cores
double size, scale; // sum of the bounding radii; largest magnitude in play
double grain;       // ref.Pair.Roundoff: what rounding does to a support value
double roundoff;    // bounds that for this pair: more where supports take powers

// What is asked.
bool boolean, cut;
double cutOff;
double tolerance; // wanted gap
double stop;      // gap of the computed bounds that meets it, rounding included

Shape load(uint i) {
    Shape s;
    s.params = dvec3(shapes[i].params[0], shapes[i].params[1], shapes[i].params[2]);
    s.family = family(shapes[i].kind, s.params);
    s.record = i;
    s.first = shapes[i].vertex_offset;
    s.count = shapes[i].vertex_count;
    s.cells = cells[i];
    s.radius = shapes[i].radius;
    s.erode = shapes[i].erode;
    return s;
}

// pose sets the relative pose and the lengths that follow from it.
void pose(IndexRecord index) {
    dmat3 ra = matrix(rotationOf(poses[index.pose_a])), rb = matrix(rotationOf(poses[index.pose_b]));
    precise dmat3 r = transpose(ra) * rb;
    precise dvec3 t = (positionOf(poses[index.pose_b]) - positionOf(poses[index.pose_a])) * ra;
    rotation = r;
    translation = t;
    double sizeA = shapes[index.shape_a].bounding, sizeB = shapes[index.shape_b].bounding;
    if (shapes[index.shape_a].kind == KIND_HALFSPACE) sizeA = shapeA.radius;
    if (shapes[index.shape_b].kind == KIND_HALFSPACE) sizeB = shapeB.radius;
    size = sizeA + sizeB;
    precise double lengths = norm(t) + size + norm(centreOf(index.shape_a)) + norm(centreOf(index.shape_b));
    scale = lengths;
    grain = 24.0lf * UNIT_ROUNDOFF * scale;
    precise double powers = doubt(shapeA) * sizeA + doubt(shapeB) * sizeB;
    roundoff = grain + UNIT_ROUNDOFF * powers;
}

double exactly(uint low, uint high) { return packDouble2x32(uvec2(low, high)); }

// gapWithin is the gap of computed bounds that meets a tolerance, rounding included.
double gapWithin(double t) { return max(t - 2.0lf * roundoff, roundoff); }

// ask sets the question.
void ask() {
    boolean = query.query == QUERY_COLLIDE;
    cut = (query.flags & FLAG_CUT_OFF) != 0u;
    tolerance = exactly(query.exact[0], query.exact[1]) * size;
    cutOff = exactly(query.exact[2], query.exact[3]);
    stop = gapWithin(tolerance);
}

#endif

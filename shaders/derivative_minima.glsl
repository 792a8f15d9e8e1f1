// Other minima of the depth: whether it is attained along another normal, within a tolerance. As equalMinimum of
// package derive it tests the opposite normal, the normals of faces, and the products of the edges of two boxes.

#ifndef CLEARANCE_DERIVATIVE_MINIMA_GLSL
#define CLEARANCE_DERIVATIVE_MINIMA_GLSL

#include "derivative_system.glsl"

const double EQUAL_TOLERANCE = 1e-9lf; // difference of two minima that counts as zero, relative to the size

// separationAlong returns the separation of the shapes along a unit vector in world axes.
double separationAlong(dvec3 d) {
    double separation = dotProduct(d, positionFromA(1u));
    for (uint k = 0u; k < 2u; k++) {
        Shape s = shapeOf(k);
        dvec3 dl = rotateBack(axesOf(k), k == 0u ? d : -d);
        precise double less = dotProduct(dl, coreSupport(s, dl)) + s.radius;
        precise double rest = separation - less;
        separation = rest;
    }
    return separation;
}

// faceAxes returns how many axes of its frame a core has normals of faces along, its last ones.
uint faceAxes(uint k) {
    uint kind = shapes[shapeOf(k).record].kind;
    if (kind == KIND_BOX) return 3u;
    return kind == KIND_CYLINDER || kind == KIND_CONE || kind == KIND_FRUSTUM ? 1u : 0u;
}

// hasOtherMinimum reports whether the depth along the normal of s is attained along another one that is tested.
bool hasOtherMinimum(System s, double size) {
    bool boxes = shapes[shapeOf(0u).record].kind == KIND_BOX && shapes[shapeOf(1u).record].kind == KIND_BOX;
    uint ofA = faceAxes(0u), ofB = faceAxes(1u), count = 1u + ofA + ofB + (boxes ? 9u : 0u);
    for (uint j = 0u; j < 2u * count; j++) {
        uint i = j / 2u;
        dvec3 d = s.n;
        if (i > 0u && i <= ofA) {
            d = axesOf(0u)[3u - i];
        } else if (i > ofA && i <= ofA + ofB) {
            d = axesOf(1u)[3u + ofA - i];
        } else if (i > ofA + ofB) {
            uint pair = i - ofA - ofB - 1u;
            d = crossProduct(axesOf(0u)[pair / 3u], axesOf(1u)[pair % 3u]);
            double len = norm(d);
            if (!(len > PARALLEL_SINE)) continue;
            precise dvec3 unit = d / len;
            d = unit;
        }
        if (j % 2u == 0u) d = -d;
        if (dotProduct(d, s.n) > 1.0lf - 1e-12lf) continue;
        if (separationAlong(d) >= s.value - EQUAL_TOLERANCE * size) return true;
    }
    return false;
}

// KNOWN points of the other shape bound its support value from below, which rules out most faces of a hull.
const uint KNOWN = 4u;

// hasFaceMinimum is hasOtherMinimum for the normals of the faces of hull k. The result does not count if the loop
// passes exceed the limit.
bool hasFaceMinimum(System s, double size, uint k) {
    uint record = shapeOf(k).record, last = faceStarts[record + 1u];
    dmat3 axes = axesOf(k);
    dvec3 position = positionFromA(k), other = k == 0u ? positionFromA(1u) : dvec3(0);
    precise dvec3 fromBody = (k == 0u ? s.b.point : s.a.point) - position;
    dvec3 start = rotateBack(axes, fromBody), n = rotateBack(axes, k == 0u ? s.n : -s.n);
    dvec3 points[KNOWN] = dvec3[](start, start, start, start);
    precise double depth = -s.value + EQUAL_TOLERANCE * size - shapeOf(k).radius;
    uint oldest = 0u, perSupport = supportPasses(shapeOf(1u - k));
    for (uint i = faceStarts[record]; i < last; i++) {
        if (passesUsed > query.loop_limit) return true;
        passesUsed += 1u + KNOWN;
        dvec3 normal = dvec3(faces[i].normal[0], faces[i].normal[1], faces[i].normal[2]);
        double least = FAR;
        for (uint j = 0u; j < KNOWN; j++) least = min(least, dotProduct(normal, points[j]));
        precise double lower = faces[i].offset - least;
        if (lower > depth || dotProduct(normal, n) > 1.0lf - 1e-12lf) continue;
        Shape opposite = shapeOf(1u - k);
        dvec3 d = -rotate(axes, normal), dl = rotateBack(axesOf(1u - k), d);
        precise dvec3 point =
            rotate(axesOf(1u - k), coreSupport(opposite, dl)) + opposite.radius * d + other - position;
        passesUsed += perSupport;
        precise double attained = faces[i].offset + dotProduct(d, point);
        if (attained <= depth) return true;
        points[oldest] = rotateBack(axes, point);
        oldest = (oldest + 1u) % KNOWN;
    }
    return false;
}

#endif

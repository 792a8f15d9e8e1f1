// A pair in single precision: its shapes, and its relative pose. The including file declares
// the buffers shapes, vertices and cells.
//
// All of it is precise: a compiler that joins products and sums as it sees fit might do so
// in one pipeline and not in another, and a row has the same bits in all of them.

#ifndef CLEARANCE_PAIR32_GLSL
#define CLEARANCE_PAIR32_GLSL

vec3 vertexAt(uint i) { return vertices[i].xyz; }
float paramOf(uint record, uint k) { return shapes[record].params[k]; }
vec3 centreOf(uint record) { return shapes[record].ball.xyz; }
uint cellWord(uint i) { return cells[i]; }

#include "shape.glsl"

// The pair, in the frame of A.
Shape shapeA, shapeB;
mat3 rotation;    // of B
vec3 high, low;   // origin of B, in two parts
float size;       // sum of the bounding radii
float lengths;    // no length in play is larger
float unitLength; // power of two that scales `lengths` to 1 at least and less than 2

Shape load(uint i) {
    Shape s;
    s.params = vec3(shapes[i].params[0], shapes[i].params[1], shapes[i].params[2]);
    s.family = family(shapes[i].kind, s.params);
    s.record = i;
    s.first = shapes[i].vertex_offset;
    s.count = shapes[i].vertex_count;
    s.cells = cells[i];
    s.radius = shapes[i].radius;
    s.erode = 0.0;
    if (s.family == FAMILY_ELLIPSOID) { // geom.MinCurvatureRadius
        float c = min(min(s.params.x, s.params.y), s.params.z);
        precise float e = c / max(max(s.params.x, s.params.y), s.params.z) * c;
        s.erode = e;
    }
    return s;
}

mat3 matrix(vec4 q) {
    precise float s = 2.0 / (q.x * q.x + q.y * q.y + q.z * q.z + q.w * q.w);
    float w = q.x, x = q.y, y = q.z, z = q.w;
    precise mat3 m = mat3(1.0 - s * (y * y + z * z), s * (x * y + w * z), s * (x * z - w * y),
                          s * (x * y - w * z), 1.0 - s * (x * x + z * z), s * (y * z + w * x),
                          s * (x * z + w * y), s * (y * z - w * x), 1.0 - s * (x * x + y * y));
    return m;
}

// pose sets the relative pose and the lengths that follow from it.
void pose(PairRecord pair) {
    rotation = matrix(pair.rotation);
    high = vec3(pair.translation[0], pair.translation[1], pair.translation[2]);
    low = vec3(pair.translation_low[0], pair.translation_low[1], pair.translation_low[2]);
    vec4 ballA = shapes[pair.shape_a].ball, ballB = shapes[pair.shape_b].ball;
    precise float radii = ballA.w + ballB.w;
    precise float sum = norm(high) + radii + norm(ballA.xyz) + norm(ballB.xyz);
    size = radii;
    lengths = sum;
    uint exponent = floatBitsToUint(lengths) >> 23;
    unitLength = uintBitsToFloat(clamp(254u - exponent, 1u, 254u) << 23);
}

vec3 intoB(vec3 v) {
    precise vec3 u = vec3(product(v, rotation[0]), product(v, rotation[1]), product(v, rotation[2]));
    return u;
}

#endif

// Evaluates the Hessian bounds of both cores of a pair over a cap, and the size of its cap, for a test.
#version 450
#extension GL_GOOGLE_include_directive : require

#define DOUBLE
#define PAIR_IN_MEMORY
#include "layout.glsl"
#include "real.glsl"

layout(local_size_x_id = 0) in;
const uint METHOD = METHOD_RTR;

// [rows,23]: shapes of A and B, rotation of B (quaternion), direction, e, f, gradient along e and f, support value of
// D, bound of the cap, size of the pair, size of a cap for the Hessian bounds, and the erosions of both cores.
layout(std430, binding = 0) readonly buffer Numbers { double numbers[]; };
layout(std430, binding = 1) writeonly buffer Results {
    double results[];
}; // [rows,8] forms of A and B, cap, length of its apex
layout(std430, binding = 2) readonly buffer Shapes64 { ShapeRecord64 shapes[]; };
layout(std430, binding = 3) readonly buffer Vertices64 { VertexRecord64 vertices[]; };
layout(std430, binding = 4) readonly buffer Cells { uint cells[]; };
layout(push_constant) uniform Push { uint rows; };

dvec3 vertexAt(uint i) { return dvec3(vertices[i].position[0], vertices[i].position[1], vertices[i].position[2]); }
double paramOf(uint record, uint k) { return shapes[record].params[k]; }
dvec3 centerOf(uint record) {
    return dvec3(shapes[record].center[0], shapes[record].center[1], shapes[record].center[2]);
}
uint cellWord(uint i) { return cells[i]; }
bool finite(double v) { return (unpackDouble2x32(v).y & 0x7ff00000u) != 0x7ff00000u; }
bool finite3(dvec3 v) { return finite(v.x) && finite(v.y) && finite(v.z); }

#include "support.glsl"

// What depth_certificate.comp has in memory, see depth.glsl.
const double FAR = 1e300lf;
const uint SEARCH_QUADS = 0u;
Shape shapeA, shapeB;
dmat3 rotation;
double size;
dvec4 quads[10];
dvec3 rowVector(uint k) { return quads[k].xyz; }
void setRowQuad(uint k, dvec3 v, double w) { quads[k] = dvec4(v, w); }
Shape shapeOf(uint k) {
    if (k == 0u) return shapeA;
    return shapeB;
}
void recallPair() {}
double erosion() { return shapeA.erode + shapeB.erode; }
dvec3 toFrameB(dvec3 v) { return v * rotation; }
dvec3 difference(dvec3 a, dvec3 b) { return a - rotation * b; }
double lengthScale() { return 1.0lf; }

#include "hessian_bounds.glsl"

Iterate iterate;
void keepIterate(Iterate p) { iterate = p; }
void recallIterate(inout Iterate p) { p = iterate; }

double at(uint k) { return numbers[23u * gl_GlobalInvocationID.x + k]; }
dvec3 vectorAt(uint k) { return dvec3(at(k), at(k + 1u), at(k + 2u)); }

Shape load(uint i, double erode) {
    Shape s;
    s.params = dvec3(shapes[i].params[0], shapes[i].params[1], shapes[i].params[2]);
    s.coreClass = classOf(shapes[i].kind, s.params);
    s.record = i;
    s.first = shapes[i].vertex_offset;
    s.count = shapes[i].vertex_count;
    s.cells = 0u;
    s.radius = 0.0lf;
    s.erode = erode;
    return s;
}

void main() {
    uint row = gl_GlobalInvocationID.x;
    if (row >= rows) return;
    shapeA = load(uint(at(0u)), at(21u));
    shapeB = load(uint(at(1u)), at(22u));
    double w = at(2u), x = at(3u), y = at(4u), z = at(5u);
    rotation = dmat3(1.0lf - 2.0lf * (y * y + z * z), 2.0lf * (x * y + w * z), 2.0lf * (x * z - w * y),
                     2.0lf * (x * y - w * z), 1.0lf - 2.0lf * (x * x + z * z), 2.0lf * (y * z + w * x),
                     2.0lf * (x * z + w * y), 2.0lf * (y * z - w * x), 1.0lf - 2.0lf * (x * x + y * y));
    Iterate p;
    p.x = vectorAt(6u);
    p.e = vectorAt(9u);
    p.f = vectorAt(12u);
    p.g = dvec2(at(15u), at(16u));
    p.gradientNorm = squareRoot(dotProduct2(p.g, p.g));
    p.h = at(17u);
    keepIterate(p);
    size = at(19u);
    hessianUnit = p.h;
    prepareCaps();
    for (uint k = 0u; k < 2u; k++) {
        bool ofB = k == 1u;
        dvec3 form = hessianBound(shapeOf(k), ofB ? -toFrameB(p.x) : p.x, ofB ? -toFrameB(p.e) : p.e,
                                  ofB ? -toFrameB(p.f) : p.f, rowVector(TOUCHING_POINTS + k), at(20u));
        for (uint i = 0u; i < 3u; i++) results[8u * row + 3u * k + i] = form[i];
    }
    double t = capSize(p.h - erosion(), at(18u));
    results[8u * row + 6u] = t;
    results[8u * row + 7u] = apexLength(t);
}

// Evaluates support points and Hessians of curved cores, for a test.
#version 450
#extension GL_GOOGLE_include_directive : require

#define DOUBLE
#include "layout.glsl"
#include "real.glsl"

layout(local_size_x_id = 0) in;
const uint METHOD = METHOD_RTR;

layout(std430, binding = 0) readonly buffer Numbers { double numbers[]; };  // [rows,10] shape, d, e, f
layout(std430, binding = 1) writeonly buffer Results { double results[]; }; // [rows,6] point, form
layout(std430, binding = 2) readonly buffer Shapes { ShapeRecord64 shapes[]; };
layout(std430, binding = 3) readonly buffer Vertices { VertexRecord64 vertices[]; };
layout(std430, binding = 4) readonly buffer Cells { uint cells[]; };
layout(push_constant) uniform Push { uint rows; };

dvec3 vertexAt(uint i) { return dvec3(vertices[i].position[0], vertices[i].position[1], vertices[i].position[2]); }
double paramOf(uint record, uint k) { return shapes[record].params[k]; }
dvec3 centerOf(uint record) {
    return dvec3(shapes[record].center[0], shapes[record].center[1], shapes[record].center[2]);
}
uint cellWord(uint i) { return cells[i]; }

#include "hessian.glsl"

dvec3 vectorAt(uint i) { return dvec3(numbers[i], numbers[i + 1u], numbers[i + 2u]); }

void main() {
    uint row = gl_GlobalInvocationID.x;
    if (row >= rows) return;
    uint i = uint(numbers[10u * row]);
    Shape s;
    s.params = dvec3(shapes[i].params[0], shapes[i].params[1], shapes[i].params[2]);
    s.coreClass = classOf(shapes[i].kind, s.params);
    s.record = i;
    s.first = shapes[i].vertex_offset;
    s.count = shapes[i].vertex_count;
    s.cells = 0u;
    dvec3 form,
        p = supportAndHessian(s, vectorAt(10u * row + 1u), vectorAt(10u * row + 4u), vectorAt(10u * row + 7u), form);
    for (int k = 0; k < 3; k++) {
        results[6u * row + k] = p[k];
        results[6u * row + 3u + k] = form[k];
    }
}

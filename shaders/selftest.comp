// Self-test of a device: what the certificates rest on. It computes sums, differences, products, quotients and square
// roots of doubles, and copies every member of each type of record, which shows whether device and host agree about the
// layout. The host computes the same and refuses a device that differs.
#version 450
#extension GL_GOOGLE_include_directive : require

#define DOUBLE
#include "layout.glsl"
#include "real.glsl"

layout(local_size_x_id = 0) in;

layout(std430, binding = 0) readonly buffer Shapes { ShapeRecord64 shapes[]; };
layout(std430, binding = 1) readonly buffer Poses { PoseRecord poses[]; };
layout(std430, binding = 2) readonly buffer Templates { TemplateRecord templates[]; };
layout(std430, binding = 3) readonly buffer Numbers { double numbers[]; };  // [rows,3] x, y, -(x·y)
layout(std430, binding = 4) writeonly buffer Results { double results[]; }; // [rows,6]
layout(std430, binding = 5) writeonly buffer Echo { uint words[]; };
layout(push_constant) uniform Query { QueryRecord query; };

uint at = 0u;

void echo(uint w) { words[at++] = w; }

void echo(double v) {
    uvec2 w = unpackDouble2x32(v);
    echo(w.x);
    echo(w.y);
}

// echoAll writes every member of a record of each type, in order and without gaps.
void echoAll() {
    for (int k = 0; k < 8; k++) echo(shapes[1].params[k]);
    for (int k = 0; k < 3; k++) echo(shapes[1].center[k]);
    echo(shapes[1].bounding);
    echo(shapes[1].reach);
    echo(shapes[1].radius);
    echo(shapes[1].erode);
    for (int k = 0; k < 3; k++) echo(shapes[1].growth_center[k]);
    echo(shapes[1].growth_offset);
    echo(shapes[1].growth_inradius);
    echo(shapes[1].kind);
    echo(shapes[1].vertex_offset);
    echo(shapes[1].vertex_count);
    for (int k = 0; k < 3; k++) echo(poses[1].position[k]);
    for (int k = 0; k < 4; k++) echo(poses[1].rotation[k]);
    echo(templates[1].body_a);
    echo(templates[1].body_b);
    echo(templates[1].shape_a);
    echo(templates[1].shape_b);
    echo(query.rows);
    echo(query.flags);
    echo(floatBitsToUint(query.tolerance));
    for (int k = 0; k < 6; k++) echo(query.exact[k]);
    echo(query.first);
    echo(query.templates);
    echo(query.bodies);
    echo(query.first_depth);
}

void main() {
    uint row = gl_GlobalInvocationID.x;
    if (row >= query.rows) return;
    double x = numbers[3u * row], y = numbers[3u * row + 1u], z = numbers[3u * row + 2u];
    precise double sum = x + y;
    precise double difference = x - y;
    precise double product_ = x * y;
    precise double quotient = x / y;
    precise double rest = x * y + z; // 0 unless both are rounded at once
    results[7u * row] = sum;
    results[7u * row + 1u] = difference;
    results[7u * row + 2u] = product_;
    results[7u * row + 3u] = rest;
    results[7u * row + 4u] = quotient;
    results[7u * row + 5u] = squareRoot(abs(x));
    results[7u * row + 6u] = inverseRoot(abs(x));
    if (row == 0u) echoAll();
}

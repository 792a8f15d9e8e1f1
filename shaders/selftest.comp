// Self-test of a device: what the certificates rest on. It computes sums, differences, products, quotients and square
// roots of doubles, and copies every member of each type of record, which shows whether device and host agree about the
// layout. The host computes the same and refuses a device that differs.
#version 450
#extension GL_GOOGLE_include_directive : require

#define DOUBLE
#include "layout.glsl"
#include "real.glsl"

layout(local_size_x_id = 0) in;

layout(std430, binding = 0) readonly buffer Shapes64 { ShapeRecord64 shapes[]; };
layout(std430, binding = 1) readonly buffer Poses { PoseRecord poses[]; };
layout(std430, binding = 2) readonly buffer Templates { TemplateRecord templates[]; };
layout(std430, binding = 3) readonly buffer Numbers { double numbers[]; };  // [rows,3] x, y, -(x·y)
layout(std430, binding = 4) writeonly buffer Results { double results[]; }; // [rows,6]
layout(std430, binding = 5) writeonly buffer Echo { uint words[]; };
layout(push_constant) uniform Query { QueryRecord query; };

#include "selftest_echo.glsl"

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

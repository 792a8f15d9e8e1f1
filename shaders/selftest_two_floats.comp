// Self-test of a device whose proofs take sums of two floats: sums and products with their errors, by two_floats.glsl
// and by fma(), and inverse roots. It also copies the records as selftest.comp does, with doubles as words.
#version 450
#extension GL_GOOGLE_include_directive : require

#define DOUBLES_AS_WORDS
#include "layout.glsl"

layout(local_size_x_id = 0) in;

layout(std430, binding = 0) readonly buffer Shapes64 { ShapeRecord64 shapes[]; };
layout(std430, binding = 1) readonly buffer Poses { PoseRecord poses[]; };
layout(std430, binding = 2) readonly buffer Templates { TemplateRecord templates[]; };
layout(std430, binding = 3) readonly buffer Numbers { float numbers[]; };  // [rows,2] x, y
layout(std430, binding = 4) writeonly buffer Results { float results[]; }; // [rows,7]
layout(std430, binding = 5) writeonly buffer Echo { uint words[]; };
layout(push_constant) uniform Query { QueryRecord query; };

const uint FUSED = 0u;
#include "two_floats.glsl"
#include "selftest_echo.glsl"

void main() {
    uint row = gl_GlobalInvocationID.x;
    if (row >= query.rows) return;
    float x = numbers[2u * row], y = numbers[2u * row + 1u];
    TwoFloats sum = twoSum(x, y), product_ = twoProduct(x, y), root = inverseRoot(TwoFloats(abs(x), 0.0));
    precise float rest = fma(x, y, -product_.high);
    results[7u * row] = sum.high;
    results[7u * row + 1u] = sum.low;
    results[7u * row + 2u] = product_.high;
    results[7u * row + 3u] = product_.low;
    results[7u * row + 4u] = rest;
    results[7u * row + 5u] = root.high;
    results[7u * row + 6u] = root.low;
    if (row == 0u) echoAll();
}

// Evaluates the functions of elementary.glsl, for a test.
#version 450
#extension GL_GOOGLE_include_directive : require

#define DOUBLE
#include "elementary.glsl"

layout(local_size_x_id = 0) in;

layout(std430, binding = 0) readonly buffer Numbers { double numbers[]; };
layout(std430, binding = 1) writeonly buffer Results { double results[]; }; // [rows,3]
layout(push_constant) uniform Push { uint rows; };

void main() {
    uint i = gl_GlobalInvocationID.x;
    if (i >= rows) return;
    double x = numbers[i];
    results[3u * i] = logOf(x);
    results[3u * i + 1u] = log1pOf(min(x, 1.0lf));
    results[3u * i + 2u] = expOf(-x);
}

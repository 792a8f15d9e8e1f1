// Evaluates the operations of two_floats.glsl, for a test.
#version 450
#extension GL_GOOGLE_include_directive : require

layout(local_size_x_id = 0) in;
layout(constant_id = 1) const uint FUSED = 0u;

layout(std430, binding = 0) readonly buffer Numbers { float numbers[]; };
layout(std430, binding = 1) writeonly buffer Results { float results[]; };
layout(push_constant) uniform Push { uint rows; };

#include "two_floats.glsl"
#include "two_floats_operations.glsl"

void main() {
    uint i = gl_GlobalInvocationID.x;
    if (i < rows) operate(i);
}

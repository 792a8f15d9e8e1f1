// add writes scale * (a[i] + b[i]) + BIAS to c[i]: the smallest use of every part of a
// pipeline. Built for Vulkan 1.1.
#version 450

layout(local_size_x_id = 0) in;
layout(constant_id = 1) const float BIAS = 0.0;

layout(std430, set = 0, binding = 0) readonly buffer A { float a[]; };
layout(std430, set = 0, binding = 1) readonly buffer B { float b[]; };
layout(std430, set = 0, binding = 2) writeonly buffer C { float c[]; };

layout(push_constant) uniform Push {
    uint count;
    float scale;
};

void main() {
    uint i = gl_GlobalInvocationID.x;
    if (i < count) {
        c[i] = scale * (a[i] + b[i]) + BIAS;
    }
}

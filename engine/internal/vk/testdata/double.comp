// double doubles float64 numbers in place; it needs shaderFloat64. Built for Vulkan 1.1.
#version 450

layout(local_size_x = 64) in;
layout(std430, set = 0, binding = 0) buffer A { double a[]; };

void main() {
    uint i = gl_GlobalInvocationID.x;
    if (i < a.length()) {
        a[i] = 2.0lf * a[i];
    }
}

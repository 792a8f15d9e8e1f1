// Sums of the gradients of the rows of worlds by body: [W,M,6] from products [N,12]. One invocation adds up those of
// one body, in the order of the rows, of a row A before B. Poses are those of the shapes, so that gradients have one
// point.
//
// Input: products of derivatives.comp with the smoothness of their rows; for each body where the list of its rows in a
// world begins, and the lists, of pair << 1 | side. Output: the sums, then a word for each body that is not 0 if one of
// its rows is left to the host: its world is left as well.
#version 450
#extension GL_GOOGLE_include_directive : require

#define DOUBLE
#include "layout.glsl"
#include "real.glsl"

layout(local_size_x_id = 0) in;

layout(std430, binding = 0) readonly buffer Derived { uint derived[]; };
layout(std430, binding = 1) readonly buffer Places { uint places[]; };
layout(std430, binding = 2) writeonly buffer Sums { uint sums[]; };
layout(push_constant) uniform Bodies { BodyRecord query; };

#include "loop_limit.glsl"

void main() {
    uint k = gl_GlobalInvocationID.x;
    if (k >= query.worlds * query.bodies) return;
    uint world = k / query.bodies, body = k % query.bodies, rows = query.worlds * query.pairs;
    precise double sum[6] = double[](0.0lf, 0.0lf, 0.0lf, 0.0lf, 0.0lf, 0.0lf);
    bool left = false;
    for (uint i = places[body]; i < places[body + 1u]; i++) {
        uint row = world * query.pairs + (places[i] >> 1), first = 2u * (TWIST_WIDTH * row + 6u * (places[i] & 1u));
        left = left || derived[2u * TWIST_WIDTH * rows + row] == NOT_DERIVED;
        for (uint j = 0u; j < 6u; j++)
            sum[j] += packDouble2x32(uvec2(derived[first + 2u * j], derived[first + 2u * j + 1u]));
    }
    for (uint j = 0u; j < 6u; j++) {
        uvec2 w = unpackDouble2x32(sum[j]);
        sums[12u * k + 2u * j] = w.x;
        sums[12u * k + 2u * j + 1u] = w.y;
    }
    sums[12u * query.worlds * query.bodies + k] = left || !loopsCompleted() ? 1u : 0u;
}

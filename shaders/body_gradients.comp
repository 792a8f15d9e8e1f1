// Sums of the gradients of rows by body: [W,M,6] from products [N,12]. One invocation adds up those of one body, in the
// order of the rows, of a row A before B.
//
// Input: products of derivatives.comp with their smoothness. Of worlds of shapes they are those of the rows, and for
// each body there is where the list of its rows in a world begins, and the lists, of pair << 1 | side. Of bodies of
// parts they are those of sets of which least.comp has selected a row; there is a list for each body of each world, of
// set << 1 | side, and the gradient of a part, whose pose is that of the row, moves to the position of its body.
// Output: the sums, then a word for each body that is not 0 if one of its rows is left to the host: its world is left
// as well.
#version 450
#extension GL_GOOGLE_include_directive : require

#define DOUBLE
#include "layout.glsl"
#include "real.glsl"

layout(local_size_x_id = 0) in;

layout(std430, binding = 0) readonly buffer Derived { uint derived[]; };
layout(std430, binding = 1) readonly buffer Places { uint places[]; };
layout(std430, binding = 2) writeonly buffer Sums { uint sums[]; };
layout(std430, binding = 3) readonly buffer Poses { PoseRecord poses[]; };
layout(std430, binding = 4) readonly buffer Indices { IndexRecord indices[]; };
layout(std430, binding = 5) readonly buffer Selected { uint selected[]; };
layout(push_constant) uniform Bodies { BodyRecord query; };

#include "loop_limit.glsl"
#include "pose.glsl"

double doubleAt(uint at) { return packDouble2x32(uvec2(derived[at], derived[at + 1u])); }

dvec3 vectorAt(uint at) { return dvec3(doubleAt(at), doubleAt(at + 2u), doubleAt(at + 4u)); }

// armOf returns where the part of a set on a side is, from the position of body k.
dvec3 armOf(uint set, uint side, uint k) {
    uint slot = selected[2u * query.rows + set], at = query.positions + 6u * k;
    if (slot >= query.rows) return dvec3(0); // no row of the set counts: the gradient is 0
    dvec3 part = positionOf(poses[side == 0u ? indices[slot].pose_a : indices[slot].pose_b]);
    precise dvec3 arm = part - dvec3(packDouble2x32(uvec2(places[at], places[at + 1u])),
                                     packDouble2x32(uvec2(places[at + 2u], places[at + 3u])),
                                     packDouble2x32(uvec2(places[at + 4u], places[at + 5u])));
    return arm;
}

void main() {
    uint k = gl_GlobalInvocationID.x;
    if (k >= query.worlds * query.bodies) return;
    uint world = k / query.bodies, list = query.sets != 0u ? k : k % query.bodies;
    uint products = query.sets != 0u ? query.sets : query.worlds * query.pairs;
    precise dvec3 forces = dvec3(0), torques = dvec3(0);
    bool left = false;
    for (uint i = places[list]; i < places[list + 1u]; i++) {
        uint product = world * query.pairs + (places[i] >> 1), side = places[i] & 1u;
        uint first = 2u * (TWIST_WIDTH * product + 6u * side);
        left = left || derived[2u * TWIST_WIDTH * products + product] > SMOOTHED_PAIR;
        dvec3 force = vectorAt(first), torque = vectorAt(first + 6u);
        if (query.sets != 0u) {
            dvec3 r = armOf(product, side, k);
            precise dvec3 moved = torque + dvec3(r.y * force.z - r.z * force.y, r.z * force.x - r.x * force.z,
                                                 r.x * force.y - r.y * force.x);
            torque = moved;
        }
        forces += force;
        torques += torque;
    }
    for (uint j = 0u; j < 6u; j++) {
        uvec2 w = unpackDouble2x32(j < 3u ? forces[j] : torques[j - 3u]);
        sums[12u * k + 2u * j] = w.x;
        sums[12u * k + 2u * j + 1u] = w.y;
    }
    sums[12u * query.worlds * query.bodies + k] = left || !loopsCompleted() ? 1u : 0u;
}

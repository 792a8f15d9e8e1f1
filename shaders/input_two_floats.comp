// The first stage as input.comp, in sums of two floats (two_floats.glsl) where that has double precision. Not for
// growth distances.
//
// Rounding. Of the relative position, B's less A's: decoding and the difference are off by ε²/2 and 6 ε² of both
// positions in the world, which position_rounding bounds. The rotation into the frame of A adds 97 + 49 ε² of the
// result.
#version 450
#extension GL_GOOGLE_include_directive : require

#define DOUBLES_AS_WORDS
#include "layout.glsl"
#include "real.glsl"

layout(local_size_x_id = 0) in;
layout(constant_id = 7) const uint FUSED = 0u; // not 0: fma() rounds once

layout(std430, binding = 0) readonly buffer Shapes { ShapeRecord shapes[]; };
layout(std430, binding = 1) readonly buffer Poses { PoseRecord poses[]; }; // [worlds, bodies]
layout(std430, binding = 2) readonly buffer Templates { TemplateRecord templates[]; };
layout(std430, binding = 3) readonly buffer Order { uint order[]; }; // [rows], with FLAG_ORDER
layout(std430, binding = 4) readonly buffer Warm { float warm[]; };  // [rows, 3] in the world, A to B, with FLAG_WARM
layout(std430, binding = 5) writeonly buffer Indices { IndexRecord indices[]; };
layout(std430, binding = 6) writeonly buffer Pairs { PairRecord pairs[]; };
layout(std430, binding = 7) writeonly buffer Remainders { RemainderRecord remainders[]; };
layout(std430, binding = 8) writeonly buffer Searches { SearchRecord searches[]; };
layout(push_constant) uniform Query { QueryRecord query; };

#include "pose.glsl"
#include "pose_two_floats.glsl"

bool isRotation(PoseRecord pose) {
    uvec2 bits = pose.rotation[0] | pose.rotation[1] | pose.rotation[2] | pose.rotation[3];
    return (bits.x | (bits.y & 0x7fffffffu)) != 0u;
}

bool hasGrowth(IndexRecord index) { return true; }

#include "input.glsl"

const float POSITION_ERROR = 8.0; // in ε² of both positions, see above

void main() {
    uint slot = gl_GlobalInvocationID.x;
    if (slot >= query.rows) return;
    vec3 w;
    IndexRecord index = beginRow(slot, w);
    if (index.shape_a == NO_SHAPE) return;

    PoseRecord poseA = poses[index.pose_a], poseB = poses[index.pose_b];
    RotationPair qa = rotationOf(poseA);
    RotationMatrix toA = transposed(rotationMatrix(qa));
    TwoFloats3 pa = positionOf(poseA), pb = positionOf(poseB);
    TwoFloats3 t = rotate(toA, subtract(pb, pa));
    RotationPair q = relativeRotation(qa, rotationOf(poseB));
    pairs[slot].rotation = vec4(q.w.high, q.v.high);
    remainders[slot].rotation[0] = q.w.low;
    for (int k = 0; k < 3; k++) {
        remainders[slot].rotation[1 + k] = q.v.low[k];
        pairs[slot].translation[k] = t.high[k];
        pairs[slot].translation_low[k] = t.low[k];
    }
    remainders[slot].position_rounding = POSITION_ERROR * SQUARED_ROUNDOFF * (norm(pa.high) + norm(pb.high));

    // The initial direction, as in input.comp. Nothing rests on it.
    vec3 x = shapes[index.shape_a].ball.xyz -
             (rotationMatrix(vec4(q.w.high, q.v.high)) * shapes[index.shape_b].ball.xyz + t.high);
    if (squaredNorm(w) > 0.0)
        x = -vec3(dotProduct(toA.x.high, w), dotProduct(toA.y.high, w), dotProduct(toA.z.high, w));
    float l = norm(x);
    vec3 start = l > 0.0 ? x / l : vec3(1, 0, 0);
    for (int k = 0; k < 3; k++) searches[slot].directions[k] = start[k];
}

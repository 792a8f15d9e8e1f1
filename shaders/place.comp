// Places the pairs: forms the relative pose of every pair in double precision, so that
// nothing after it depends on how far from the origin the world is, and the
// direction in which the search begins.
#version 450
#extension GL_GOOGLE_include_directive : require

#define DOUBLE
#include "layout.glsl"
#include "real.glsl"
#include "pose.glsl"

layout(local_size_x_id = 0) in;

layout(std430, binding = 0) readonly buffer Shapes { ShapeRecord64 shapes[]; };
layout(std430, binding = 1) readonly buffer Poses { PoseRecord poses[]; };
layout(std430, binding = 2) readonly buffer Indices { IndexRecord indices[]; };
layout(std430, binding = 3) readonly buffer Warm { float warm[]; }; // [rows,3] world frame, from A to B
layout(std430, binding = 4) writeonly buffer Pairs { PairRecord pairs[]; };
layout(std430, binding = 5) writeonly buffer Guesses { GuessRecord guesses[]; };
layout(push_constant) uniform Query { QueryRecord query; };

dvec3 centreOf(uint shape) {
    return dvec3(shapes[shape].center[0], shapes[shape].center[1], shapes[shape].center[2]);
}

void main() {
    uint i = gl_GlobalInvocationID.x;
    if (i >= query.rows) return;
    IndexRecord index = indices[i];
    pairs[i].shape_a = index.shape_a;
    pairs[i].shape_b = index.shape_b;
    guesses[i].count = 0u;
    guesses[i].iterations = 0u;
    guesses[i].state = GUESS_START;
    if (index.shape_a == NO_SHAPE) return;

    dvec4 qa = rotationOf(poses[index.pose_a]), qb = rotationOf(poses[index.pose_b]);
    dmat3 ra = matrix(qa);
    dvec3 t = (positionOf(poses[index.pose_b]) - positionOf(poses[index.pose_a])) * ra;
    dvec4 q = between(qa, qb);
    pairs[i].rotation = vec4(q);
    vec3 high = vec3(t);
    vec3 low = vec3(t - dvec3(high));
    for (int k = 0; k < 3; k++) {
        pairs[i].translation[k] = high[k];
        pairs[i].translation_low[k] = low[k];
    }

    // Paper 000: x0 = c1 - c2, the difference of the centres, unless the caller knows
    // better.
    dvec3 x = centreOf(index.shape_a) - (matrix(q) * centreOf(index.shape_b) + t);
    if ((query.flags & FLAG_WARM) != 0u) {
        dvec3 w = dvec3(warm[3u * i], warm[3u * i + 1u], warm[3u * i + 2u]);
        if (square(w) > 0.0lf) x = -(w * ra);
    }
    double l = norm(x);
    vec3 start = l > 0.0lf ? vec3(x / l) : vec3(1, 0, 0);
    for (int k = 0; k < 3; k++) guesses[i].directions[k] = start[k];
}

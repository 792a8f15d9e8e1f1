// Places the pairs: makes the indices of every row from its template, forms the
// relative pose in double precision, so that nothing after it depends on how far
// from the origin the world is, and the direction in which the search begins.
//
// Row r of the chunk is template (first + r) mod templates of world (first + r) /
// templates. Slots are where the shaders work on it: slot s holds row order[s], so
// that neighbours are of one kind; only the answers stand at their rows.
#version 450
#extension GL_GOOGLE_include_directive : require

#define DOUBLE
#include "layout.glsl"
#include "real.glsl"
#include "pose.glsl"

layout(local_size_x_id = 0) in;

layout(std430, binding = 0) readonly buffer Shapes { ShapeRecord64 shapes[]; };
layout(std430, binding = 1) readonly buffer Poses { PoseRecord poses[]; }; // [worlds,bodies]
layout(std430, binding = 2) readonly buffer Templates { TemplateRecord templates[]; };
layout(std430, binding = 3) readonly buffer Order { uint order[]; }; // [rows], with FLAG_ORDER
layout(std430, binding = 4) readonly buffer Warm { float warm[]; }; // [rows,3] world frame, from A to B, with FLAG_WARM
layout(std430, binding = 5) writeonly buffer Indices { IndexRecord indices[]; };
layout(std430, binding = 6) writeonly buffer Pairs { PairRecord pairs[]; };
layout(std430, binding = 7) writeonly buffer Guesses { GuessRecord guesses[]; };
layout(push_constant) uniform Query { QueryRecord query; };

dvec3 centreOf(uint shape) {
    return dvec3(shapes[shape].center[0], shapes[shape].center[1], shapes[shape].center[2]);
}

// usable is false for the mark of an invalid pose.
bool usable(dvec4 q) { return q.x != 0.0lf || q.y != 0.0lf || q.z != 0.0lf || q.w != 0.0lf; }

// refused is the mark of a direction that is not finite. A compiler may take for
// granted that there are no infinities: look at the bits.
bool refused(float w) { return (floatBitsToUint(w) & 0x7f800000u) == 0x7f800000u; }

IndexRecord indexOf(uint row) {
    uint k = query.first + row, world = k / query.templates;
    TemplateRecord t = templates[k - world * query.templates];
    uint body = world * query.bodies;
    IndexRecord index;
    index.pose_a = body + t.body_a;
    index.pose_b = body + t.body_b;
    index.shape_a = t.shape_a;
    index.shape_b = t.shape_b;
    index.row = row;
    return index;
}

void main() {
    uint slot = gl_GlobalInvocationID.x;
    if (slot >= query.rows) return;
    uint row = (query.flags & FLAG_ORDER) != 0u ? order[slot] : slot;
    IndexRecord index = indexOf(row);
    guesses[slot].count = 0u;
    guesses[slot].iterations = 0u;
    guesses[slot].state = GUESS_START;

    dvec3 w = dvec3(0);
    if (index.shape_a != NO_SHAPE) {
        bool good = usable(rotationOf(poses[index.pose_a])) && usable(rotationOf(poses[index.pose_b]));
        if ((query.flags & FLAG_WARM) != 0u) {
            good = good && !refused(warm[3u * row]);
            w = dvec3(warm[3u * row], warm[3u * row + 1u], warm[3u * row + 2u]);
        }
        if (!good) index.shape_a = NO_SHAPE;
    }
    indices[slot] = index;
    pairs[slot].shape_a = index.shape_a;
    pairs[slot].shape_b = index.shape_b;
    if (index.shape_a == NO_SHAPE) return;

    dvec4 qa = rotationOf(poses[index.pose_a]), qb = rotationOf(poses[index.pose_b]);
    dmat3 ra = matrix(qa);
    dvec3 t = (positionOf(poses[index.pose_b]) - positionOf(poses[index.pose_a])) * ra;
    dvec4 q = between(qa, qb);
    pairs[slot].rotation = vec4(q);
    vec3 high = vec3(t);
    vec3 low = vec3(t - dvec3(high));
    for (int k = 0; k < 3; k++) {
        pairs[slot].translation[k] = high[k];
        pairs[slot].translation_low[k] = low[k];
    }

    // Paper 000: x0 = c1 - c2, the difference of the centres, unless the caller knows
    // better.
    dvec3 x = centreOf(index.shape_a) - (matrix(q) * centreOf(index.shape_b) + t);
    if (square(w) > 0.0lf) x = -(w * ra);
    double l = norm(x);
    vec3 start = l > 0.0lf ? vec3(x / l) : vec3(1, 0, 0);
    for (int k = 0; k < 3; k++) guesses[slot].directions[k] = start[k];
}

// The first stage. It makes the indices of every row from its template, forms the relative pose in double precision,
// and sets the direction with which the search begins. The frame of a pair is the frame of A, so nothing after this
// stage depends on how far from the origin of the world the pair is.
//
// Row r of the chunk is template (first + r) mod templates of world (first + r) / templates. All later stages work on
// slots: slot s holds row order[s], so that neighbouring slots are of one kind of pair. Only answers are stored by row.
//
// Initial direction [Montaut2022, Alg. 7]: the difference of the centers, or the caller's. For a growth distance: the
// ray from the center of growth of A to that of B, its length, and the caller's direction as the first normal.
//
// Output: indices, pairs and searches by slot. A row without a shape, with an invalid pose or a direction that is not
// finite gets the mark NO_SHAPE, and certify.comp or growth_certify.comp answers it as invalid; so does a row of a
// growth distance if neither shape holds a ball around its center of growth.
#version 450
#extension GL_GOOGLE_include_directive : require

#define DOUBLE
#include "layout.glsl"
#include "real.glsl"
#include "pose.glsl"

layout(local_size_x_id = 0) in;
layout(constant_id = 11) const uint GROWTH = 0u; // not 0: for growth distances

layout(std430, binding = 0) readonly buffer Shapes64 { ShapeRecord64 shapes[]; };
layout(std430, binding = 1) readonly buffer Poses { PoseRecord poses[]; }; // [worlds, bodies]
layout(std430, binding = 2) readonly buffer Templates { TemplateRecord templates[]; };
layout(std430, binding = 3) readonly buffer Order { uint order[]; }; // [rows], with FLAG_ORDER
layout(std430, binding = 4) readonly buffer Warm { float warm[]; };  // [rows, 3] in the world, A to B, with FLAG_WARM
layout(std430, binding = 5) writeonly buffer Indices { IndexRecord indices[]; };
layout(std430, binding = 6) writeonly buffer Pairs { PairRecord pairs[]; };
layout(std430, binding = 7) writeonly buffer Searches { SearchRecord searches[]; };
layout(push_constant) uniform Query { QueryRecord query; };

dvec3 centerOf(uint shape) { return dvec3(shapes[shape].center[0], shapes[shape].center[1], shapes[shape].center[2]); }

dvec3 growthCenterOf(uint shape) {
    return dvec3(shapes[shape].growth_center[0], shapes[shape].growth_center[1], shapes[shape].growth_center[2]);
}

bool isRotation(PoseRecord pose) {
    dvec4 q = rotationOf(pose);
    return q.x != 0.0lf || q.y != 0.0lf || q.z != 0.0lf || q.w != 0.0lf;
}

bool hasGrowth(IndexRecord index) {
    return GROWTH == 0u || shapes[index.shape_a].growth_inradius > 0.0lf ||
           shapes[index.shape_b].growth_inradius > 0.0lf;
}

#include "input.glsl"

void main() {
    uint slot = gl_GlobalInvocationID.x;
    if (slot >= query.rows) return;
    vec3 given;
    IndexRecord index = beginRow(slot, given);
    if (index.shape_a == NO_SHAPE) return;
    dvec3 w = dvec3(given);

    dvec4 qa = rotationOf(poses[index.pose_a]), qb = rotationOf(poses[index.pose_b]);
    dmat3 ra = rotationMatrix(qa);
    dvec3 t = (positionOf(poses[index.pose_b]) - positionOf(poses[index.pose_a])) * ra;
    dvec4 q = relativeRotation(qa, qb);
    pairs[slot].rotation = vec4(q);
    vec3 high = vec3(t);
    vec3 low = vec3(t - dvec3(high));
    for (int k = 0; k < 3; k++) {
        pairs[slot].translation[k] = high[k];
        pairs[slot].translation_low[k] = low[k];
    }

    if (GROWTH != 0u) {
        dvec3 p = rotationMatrix(q) * growthCenterOf(index.shape_b) + t - growthCenterOf(index.shape_a);
        double l = norm(p);
        vec3 ray = l > 0.0lf ? vec3(p / l) : vec3(0), normal = ray;
        if (squaredNorm(w) > 0.0lf && dotProduct(w * ra, p) > 0.0lf) normal = vec3((w * ra) / norm(w));
        for (int k = 0; k < 3; k++) {
            searches[slot].directions[k] = ray[k];
            searches[slot].directions[3 + k] = normal[k];
        }
        searches[slot].directions[6] = float(l);
        return;
    }

    // x0 = c1 - c2, the difference of the centers, unless the caller gives a direction.
    dvec3 x = centerOf(index.shape_a) - (rotationMatrix(q) * centerOf(index.shape_b) + t);
    if (squaredNorm(w) > 0.0lf) x = -(w * ra);
    double l = norm(x);
    vec3 start = l > 0.0lf ? vec3(x / l) : vec3(1, 0, 0);
    for (int k = 0; k < 3; k++) searches[slot].directions[k] = start[k];
}

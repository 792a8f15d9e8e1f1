// Lists the rows that certify.comp answers.
#version 450
#extension GL_GOOGLE_include_directive : require

#include "layout.glsl"

layout(local_size_x_id = 0) in;

layout(std430, binding = 0) readonly buffer Searches { SearchRecord searches[]; };
layout(std430, binding = 1) buffer Counts { uint counts[]; };
layout(std430, binding = 2) writeonly buffer Continued { uint continued[]; }; // slots of LIST_CONTINUE
layout(push_constant) uniform Query { QueryRecord query; };

#include "list.glsl"

void main() {
    uint slot = gl_GlobalInvocationID.x;
    if (slot >= query.rows || searches[slot].state == SEARCH_ANSWERED) return;
    continued[addTo(LIST_CONTINUE)] = slot;
}

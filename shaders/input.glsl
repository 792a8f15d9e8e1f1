// The beginning of a row, for input.comp and input_two_floats.comp. The including file declares the buffers and defines
//     bool isRotation(PoseRecord pose)  // false for the zero quaternion, which marks an invalid pose
//     bool hasGrowth(IndexRecord index) // false for a growth distance without a ball that grows

#ifndef CLEARANCE_INPUT_GLSL
#define CLEARANCE_INPUT_GLSL

// isInfinite is true for the mark of a direction that is not finite. A compiler may assume that there are no
// infinities, so the bits are tested.
bool isInfinite(float w) { return (floatBitsToUint(w) & 0x7f800000u) == 0x7f800000u; }

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

// beginRow writes the indices of a slot and the state of its search, and returns the indices, with the direction that
// the caller gives for the row, or zero.
IndexRecord beginRow(uint slot, out vec3 w) {
    uint row = (query.flags & FLAG_ORDER) != 0u ? order[slot] : slot;
    IndexRecord index = indexOf(row);
    searches[slot].count = 0u;
    searches[slot].iterations = 0u;
    searches[slot].state = SEARCH_START;

    w = vec3(0);
    if (index.shape_a != NO_SHAPE) {
        bool valid = isRotation(poses[index.pose_a]) && isRotation(poses[index.pose_b]);
        if ((query.flags & FLAG_WARM) != 0u) {
            valid = valid && !isInfinite(warm[3u * row]);
            w = vec3(warm[3u * row], warm[3u * row + 1u], warm[3u * row + 2u]);
        }
        if (!valid || !hasGrowth(index)) index.shape_a = NO_SHAPE;
    }
    indices[slot] = index;
    pairs[slot].shape_a = index.shape_a;
    pairs[slot].shape_b = index.shape_b;
    return index;
}

#endif

// Copies every member of each type of record, for the self-tests. The including file declares the buffers.

#ifndef CLEARANCE_SELFTEST_ECHO_GLSL
#define CLEARANCE_SELFTEST_ECHO_GLSL

uint at = 0u;

void echo(uint w) { words[at++] = w; }

#ifdef DOUBLES_AS_WORDS
void echo(uvec2 w) {
    echo(w.x);
    echo(w.y);
}
#else
void echo(double v) {
    uvec2 w = unpackDouble2x32(v);
    echo(w.x);
    echo(w.y);
}
#endif

// echoAll writes every member of a record of each type, in order and without gaps.
void echoAll() {
    for (int k = 0; k < 8; k++) echo(shapes[1].params[k]);
    for (int k = 0; k < 3; k++) echo(shapes[1].center[k]);
    echo(shapes[1].bounding);
    echo(shapes[1].reach);
    echo(shapes[1].radius);
    echo(shapes[1].erode);
    for (int k = 0; k < 3; k++) echo(shapes[1].growth_center[k]);
    echo(shapes[1].growth_offset);
    echo(shapes[1].growth_inradius);
    echo(shapes[1].kind);
    echo(shapes[1].vertex_offset);
    echo(shapes[1].vertex_count);
    for (int k = 0; k < 3; k++) echo(poses[1].position[k]);
    for (int k = 0; k < 4; k++) echo(poses[1].rotation[k]);
    echo(templates[1].body_a);
    echo(templates[1].body_b);
    echo(templates[1].shape_a);
    echo(templates[1].shape_b);
    echo(query.rows);
    echo(query.flags);
    echo(floatBitsToUint(query.tolerance));
    for (int k = 0; k < 6; k++) echo(query.exact[k]);
    echo(query.first);
    echo(query.templates);
    echo(query.bodies);
    echo(query.first_depth);
}

#endif

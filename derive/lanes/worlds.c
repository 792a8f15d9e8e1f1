//go:build cgo

// Rows of worlds, which share one list of pairs of bodies.

#include <string.h>

#include "lanes.h"

void ln_copy_worlds(const ln_call *c, int64_t lo, int64_t hi) {
    const ln_worlds *w = &c->worlds;
    int64_t row = c->first_of_worlds + lo, world = row / w->pairs, pair = row % w->pairs;
    for (int64_t i = 0; i < hi - lo; i++) {
        int32_t a = w->template_a[pair], b = w->template_b[pair];
        const double *pose_a = w->poses + 7 * (world * w->bodies + a), *pose_b = w->poses + 7 * (world * w->bodies + b);
        c->shape_a[i] = w->shapes[a], c->shape_b[i] = w->shapes[b];
        memcpy(c->position_a + 3 * i, pose_a, 3 * sizeof *pose_a);
        memcpy(c->position_b + 3 * i, pose_b, 3 * sizeof *pose_b);
        memcpy(c->rotation_a + 4 * i, pose_a + 3, 4 * sizeof *pose_a);
        memcpy(c->rotation_b + 4 * i, pose_b + 3, 4 * sizeof *pose_b);
        if (++pair == w->pairs) pair = 0, world++;
    }
}

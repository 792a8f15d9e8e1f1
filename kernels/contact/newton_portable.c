//go:build cgo

#define NEWTON lanes_newton_portable
#include "newton.h"

int64_t lanes_newton_scratch(int32_t bodies, int32_t contacts, int64_t blocks) {
    int64_t b = most_moving(bodies, contacts), each = (int64_t)sizeof(moving) + 3 * (int64_t)sizeof(eight) + 12;
    if (b > most_bodies) return -1;
    each += (int64_t)sizeof(uint64_t) * words_of(b) + 6 * b;
    return 4 * (int64_t)bodies + each * b + (int64_t)sizeof(row) * contacts + 6 * (int64_t)sizeof(eight) * blocks +
           32 * 14;
}

int64_t lanes_newton_blocks(int32_t bodies, int32_t contacts) {
    int64_t b = most_moving(bodies, contacts), sparse = b + 6 * (int64_t)contacts;
    return b < sparse / b ? b * b : sparse;
}

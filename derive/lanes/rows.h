// Rows of a call: the numbers of columns, a row per lane, and shapes at their poses.

#ifndef LN_ROWS_H
#define LN_ROWS_H

#include "lanes.h"
#include "vec.h"

#define MIN_SIZE 1e-9         // of package geom
#define MAX_LENGTH 1e9        // of package batch
#define MAX_RELATIVE_GAP 1e-3 // the constants of package derive of these names
#define FAR_SHARE 1e-6
#define LEAST_GROWTH 1e-9
#define MAX_LENGTH_ERROR 1e-3

// number is number i of a column of float32 or float64.
INLINE double number(int single, const void *column, int64_t i) {
    return single ? (double)((const float *)column)[i] : ((const double *)column)[i];
}

// load4 is numbers i to i + 3.
INLINE vd load4(int single, const void *column, int64_t i) {
    if (!single) return load((const double *)column + i);
    vf x;
    __builtin_memcpy(&x, (const float *)column + i, sizeof x);
    return __builtin_convertvector(x, vd);
}

// successive reports whether rows are neighbors: most are. The last row may be repeated.
INLINE int successive(const int64_t row[W]) {
    return row[1] == row[0] + 1 && row[2] == row[0] + 2 && row[3] == row[0] + 3;
}

// strided is number k of rows of a width.
INLINE vd strided(int single, const void *column, const int64_t row[W], int width, int k) {
    return (vd){number(single, column, width * row[0] + k), number(single, column, width * row[1] + k),
                number(single, column, width * row[2] + k), number(single, column, width * row[3] + k)};
}

// numbers and numbers3 are rows of columns of width 1 and 3.
INLINE vd numbers(int single, const void *column, const int64_t row[W]) {
    return successive(row) ? load4(single, column, row[0]) : strided(single, column, row, 1, 0);
}
INLINE v3 numbers3(int single, const void *column, const int64_t row[W]) {
    if (!successive(row))
        return (v3){strided(single, column, row, 3, 0), strided(single, column, row, 3, 1),
                    strided(single, column, row, 3, 2)};
    int64_t i = 3 * row[0];
    vd p = load4(single, column, i), q = load4(single, column, i + 4), r = load4(single, column, i + 8);
    return (v3){shuffle(shuffle(p, q, 0, 3, 6, 6), r, 0, 1, 2, 5), shuffle(shuffle(p, q, 1, 4, 7, 7), r, 0, 1, 2, 6),
                shuffle(shuffle(p, q, 2, 5, 5, 5), r, 0, 1, 4, 7)};
}

INLINE vd gather(const double *from, const int64_t row[W], int width, int k) { return strided(0, from, row, width, k); }
INLINE v3 gather3(const double *from, const int64_t row[W], int width, int k) {
    return (v3){gather(from, row, width, k), gather(from, row, width, k + 1), gather(from, row, width, k + 2)};
}

// rows4 stores four vectors as rows: lane i of the four goes to value at[i] and the three that follow.
INLINE void rows4(void *to, int single, const int64_t at[W], vd a, vd b, vd c, vd d) {
    vd row[W] = {a, b, c, d};
    transpose(row);
    for (int i = 0; i < W; i++) {
        vf x = __builtin_convertvector(row[i], vf);
        if (single) __builtin_memcpy((float *)to + at[i], &x, sizeof x);
        else __builtin_memcpy((double *)to + at[i], &row[i], sizeof row[i]);
    }
}

// twelve stores a row of twelve per lane.
INLINE void twelve(void *to, int single, const int64_t row[W], v3 va, v3 wa, v3 vb, v3 wb) {
    int64_t at[3][W];
    for (int k = 0; k < 3; k++)
        for (int i = 0; i < W; i++) at[k][i] = 12 * row[i] + 4 * k;
    rows4(to, single, at[0], va.x, va.y, va.z, wa.x);
    rows4(to, single, at[1], wa.y, wa.z, vb.x, vb.y);
    rows4(to, single, at[2], vb.z, wb.x, wb.y, wb.z);
}

// side is one shape of each lane. Positions are relative to that of A.
typedef struct {
    vd r[9]; // rotation, row by row
    v3 position;
    vd radius;
    vd p[3]; // parameters
    const ln_shape *shape[W];
} side;

// place reads a shape of each lane with its pose. It returns the lanes whose index and pose are valid by far; the
// others get any shape.
INLINE vm place(side *s, const ln_call *c, const int64_t from[W], const int32_t *shape, const double *positions,
                const double *rotations) {
    vd q[W];
    vm known = {0};
    for (int i = 0; i < W; i++) {
        int32_t k = shape[from[i]], good = (uint64_t)k < (uint64_t)c->shape_count;
        s->shape[i] = c->shapes + (good ? k : 0);
        known[i] = -good;
        q[i] = load(rotations + 4 * from[i]);
    }
    transpose(q);
    s->radius = (vd){s->shape[0]->radius, s->shape[1]->radius, s->shape[2]->radius, s->shape[3]->radius};
    for (int j = 0; j < 3; j++)
        s->p[j] = (vd){s->shape[0]->parameter[j], s->shape[1]->parameter[j], s->shape[2]->parameter[j],
                       s->shape[3]->parameter[j]};
    s->position = numbers3(0, positions, from);
    vd w = q[0], x = q[1], y = q[2], z = q[3], square = w * w + x * x + y * y + z * z, k = 2 / square;
    s->r[0] = 1 - k * (y * y + z * z), s->r[1] = k * (x * y - w * z), s->r[2] = k * (x * z + w * y);
    s->r[3] = k * (x * y + w * z), s->r[4] = 1 - k * (x * x + z * z), s->r[5] = k * (y * z - w * x);
    s->r[6] = k * (x * z - w * y), s->r[7] = k * (y * z + w * x), s->r[8] = 1 - k * (x * x + y * y);
    vm near = (magnitude(s->position.x) <= MAX_LENGTH) & (magnitude(s->position.y) <= MAX_LENGTH) &
              (magnitude(s->position.z) <= MAX_LENGTH);
    return known & near & (square > 1e-100) & (square < 1e100);
}

INLINE vd size_of(const side *s) {
    return (vd){s->shape[0]->size, s->shape[1]->size, s->shape[2]->size, s->shape[3]->size};
}
INLINE vm unbounded(const side *s) {
    return (vm){s->shape[0]->class, s->shape[1]->class, s->shape[2]->class, s->shape[3]->class} == LN_HALFSPACE;
}
INLINE vm grows(const side *s) {
    return (vm){s->shape[0]->grows, s->shape[1]->grows, s->shape[2]->grows, s->shape[3]->grows} != 0;
}

// center_of is the center of growth from the position, world axes.
INLINE v3 center_of(const side *s) {
    vd x[3];
    for (int j = 0; j < 3; j++)
        x[j] = (vd){s->shape[0]->center[j], s->shape[1]->center[j], s->shape[2]->center[j], s->shape[3]->center[j]};
    return rotate(s->r, (v3){x[0], x[1], x[2]});
}

#endif

// The kernel: rows sorted by the classes of their shapes, four at a time.
//
//     lanes.h     the interface
//     vec.h       vectors
//     cores.h     supporting features of cores
//     hulls.h     those of hulls
//     system.h    the linear system, Newton's method
//     minima.h    other minima of the depth
//     gumbel.h    smoothed Hessians
//     columns.h   derivatives

#include "columns.h"
#include "gumbel.h"
#include "minima.h"

INLINE double answer(const ln_call *c, const void *column, int64_t i) {
    return c->single ? (double)((const float *)column)[i] : ((const double *)column)[i];
}

INLINE v3 answer3(const ln_call *c, const void *column, const int64_t row[W]) {
    v3 x;
    for (int i = 0; i < W; i++) {
        x.x[i] = answer(c, column, 3 * row[i]);
        x.y[i] = answer(c, column, 3 * row[i] + 1);
        x.z[i] = answer(c, column, 3 * row[i] + 2);
    }
    return x;
}

// place reads a shape of each lane with its pose. It returns the lanes whose pose is valid by far.
INLINE vm place(side *s, v3 *position, const ln_call *c, const int64_t from[W], const int32_t *shape,
                const double *positions, const double *rotations) {
    for (int i = 0; i < W; i++) {
        const ln_shape *k = c->shapes + shape[from[i]];
        s->shape[i] = k;
        s->radius[i] = k->radius;
        for (int j = 0; j < 3; j++) s->p[j][i] = k->parameter[j];
    }
    *position = gather3(positions, from, 3, 0);
    vd w = gather(rotations, from, 4, 0), x = gather(rotations, from, 4, 1), y = gather(rotations, from, 4, 2),
       z = gather(rotations, from, 4, 3), square = w * w + x * x + y * y + z * z, k = 2 / square;
    s->r[0] = 1 - k * (y * y + z * z), s->r[1] = k * (x * y - w * z), s->r[2] = k * (x * z + w * y);
    s->r[3] = k * (x * y + w * z), s->r[4] = 1 - k * (x * x + z * z), s->r[5] = k * (y * z - w * x);
    s->r[6] = k * (x * z - w * y), s->r[7] = k * (y * z + w * x), s->r[8] = 1 - k * (x * x + y * y);
    vm near = (magnitude(position->x) <= MAX_LENGTH) & (magnitude(position->y) <= MAX_LENGTH) &
              (magnitude(position->z) <= MAX_LENGTH);
    return near & (square > 1e-100) & (square < 1e100);
}

// four answers four rows of the same classes and returns the lanes that are answered.
APART int four(const ln_call *c, int class_a, int class_b, const int64_t row[W]) {
    pair p;
    linear s;
    int64_t from[W];
    v3 at_a, at_b;
    for (int i = 0; i < W; i++) from[i] = c->first + row[i];
    p.call = c, p.class_a = class_a, p.class_b = class_b;
    vm valid = place(&p.a, &at_a, c, from, c->shape_a, c->position_a, c->rotation_a);
    valid &= place(&p.b, &at_b, c, from, c->shape_b, c->position_b, c->rotation_b);
    p.a.position = (v3){all(0), all(0), all(0)};
    p.b.position = sub3(at_b, at_a);
    vd gap = all(0);
    for (int i = 0; i < W; i++) {
        p.value[i] = answer(c, c->value, row[i]);
        p.size[i] = p.a.shape[i]->size + p.b.shape[i]->size;
        if (c->gap) gap[i] = (double)c->gap[row[i]];
    }
    p.size = greater(p.size + magnitude(p.value), all(MIN_SIZE));
    p.normal = answer3(c, c->normal, row);
    p.witness_a = sub3(answer3(c, c->witness_a, row), at_a);
    p.witness_b = sub3(answer3(c, c->witness_b, row), at_a);
    vd square = dot3(p.normal, p.normal);
    p.normal = scale3(1 / root(square), p.normal);
    valid &= is_finite(p.value) & is_finite3(p.witness_a) & is_finite3(p.witness_b) & (magnitude(square - 1) < 1e-3) &
             (gap <= 1e-3 * p.size) & (p.value - gap <= c->cut_off);
    p.active = bits(valid);
    if (p.active == 0) return 0;
    int good = polish(&p, &s);
    if (good != 0) good &= ~other_minimum(&p, &s, good);
    if (good == 0) return 0;
    int curved = is_curved(class_a) && is_curved(class_b);
    int smoothness = curved ? LN_SMOOTH : LN_UNIQUE;
    if (c->gumbel) {
        good = smooth(&p, &s, good);
        smoothness = LN_SMOOTHED;
        curved = class_a != LN_HALFSPACE && class_b != LN_HALFSPACE;
    }
    emit(&p, &s, row, !curved, smoothness);
    return good;
}

int32_t KERNEL(const ln_call *c, int64_t lo, int64_t hi, int32_t *left) {
    int16_t rows[LN_BLOCK];
    int start[LN_CLASSES * LN_CLASSES + 1] = {0};
    uint8_t key[LN_BLOCK];
    int32_t declined = 0;
    enum { NEVER = 255 };
    for (int64_t i = lo; i < hi; i++) {
        int32_t a = c->shape_a[c->first + i], b = c->shape_b[c->first + i];
        key[i - lo] = NEVER;
        if (c->status[i] <= LN_PENETRATING && (!c->marks || c->marks[i] == LN_ANSWERED) &&
            (uint64_t)a < (uint64_t)c->shape_count && (uint64_t)b < (uint64_t)c->shape_count) {
            int class_a = c->shapes[a].class, class_b = c->shapes[b].class;
            if (class_a != LN_NONE && class_b != LN_NONE && !(class_a == LN_HALFSPACE && class_b == LN_HALFSPACE)) {
                key[i - lo] = (uint8_t)(class_a * LN_CLASSES + class_b);
                start[key[i - lo] + 1]++;
                continue;
            }
        }
        left[declined++] = (int32_t)i;
    }
    for (int k = 0; k < LN_CLASSES * LN_CLASSES; k++) start[k + 1] += start[k];
    int at[LN_CLASSES * LN_CLASSES];
    for (int k = 0; k < LN_CLASSES * LN_CLASSES; k++) at[k] = start[k];
    for (int64_t i = lo; i < hi; i++)
        if (key[i - lo] != NEVER) rows[at[key[i - lo]]++] = (int16_t)(i - lo);
    for (int k = 0; k < LN_CLASSES * LN_CLASSES; k++) {
        for (int j = start[k]; j < start[k + 1]; j += W) {
            int64_t row[W];
            int n = start[k + 1] - j < W ? start[k + 1] - j : W;
            for (int i = 0; i < W; i++) row[i] = lo + rows[j + (i < n ? i : n - 1)];
            int good = four(c, k / LN_CLASSES, k % LN_CLASSES, row);
            for (int i = 0; i < n; i++)
                if (!(good >> i & 1)) left[declined++] = (int32_t)row[i];
        }
    }
    return declined;
}

// The kernel: rows sorted by the classes of their shapes, four at a time.
//
//     lanes.h     the interface
//     vec.h       vectors
//     rows.h      rows of a call
//     cores.h     supporting features of cores
//     hulls.h     those of hulls
//     powers.h    those of support functions with powers
//     elementary.h  exponentials and logarithms
//     system.h    the linear system, Newton's method
//     caps.h      bounds of Hessians with powers
//     zone.h      where there is no other minimum of the depth
//     minima.h    other minima of the depth
//     gumbel.h    Hessians smoothed by Gumbel noise
//     noise.h     normal numbers
//     points.h    support points of cores
//     gaussian.h  Hessians sampled with Gaussian noise
//     smoothing.h  smoothed problems
//     zeroth.h    estimates of order zero
//     columns.h   derivatives
//     values.h    those of values alone

#include "columns.h"
#include "minima.h"
#include "smoothing.h"
#include "values.h"
#include "zeroth.h"

// four answers four rows of the same classes, those in distinct of which are distinct, and returns the lanes that are
// answered. To the jobs it adds those of them of which a search for another minimum of the depth may say otherwise.
APART int four(const ln_call *c, int class_a, int class_b, const int64_t row[W], int distinct, jobs *todo) {
    pair p;
    linear s;
    int64_t from[W];
    for (int i = 0; i < W; i++) from[i] = c->first + row[i];
    p.call = c, p.class_a = class_a, p.class_b = class_b;
    vm valid = place(&p.a, c, from, c->shape_a, c->position_a, c->rotation_a);
    valid &= place(&p.b, c, from, c->shape_b, c->position_b, c->rotation_b);
    v3 at_a = p.a.position;
    p.a.position = (v3){all(0), all(0), all(0)};
    p.b.position = sub3(p.b.position, at_a);
    vd gap = c->gap ? numbers(1, c->gap, row) : all(0);
    p.value = numbers(c->single, c->value, row);
    p.size = size_of(&p.a) + size_of(&p.b);
    p.growth = c->growth;
    vd scale = greater(p.value, all(1)); // of gaps
    if (p.growth) {
        valid &= (grows(&p.a) | grows(&p.b)) & (p.value > LEAST_GROWTH);
        p.center_a = center_of(&p.a), p.center_b = add3(center_of(&p.b), p.b.position);
    } else {
        scale = greater(p.size + magnitude(p.value), all(MIN_SIZE));
        p.size = greater(scale, FAR_SHARE * root(dot3(p.b.position, p.b.position)));
    }
    p.normal = numbers3(c->single, c->normal, row);
    p.witness_a = sub3(numbers3(c->single, c->witness_a, row), at_a);
    p.witness_b = sub3(numbers3(c->single, c->witness_b, row), at_a);
    vd square = dot3(p.normal, p.normal);
    p.normal = scale3(1 / root(square), p.normal);
    valid &= is_finite(p.value) & is_finite3(p.witness_a) & is_finite3(p.witness_b) &
             (magnitude(square - 1) < MAX_LENGTH_ERROR) & (gap <= MAX_RELATIVE_GAP * scale) &
             (p.value - gap <= c->cut_off);
    p.active = bits(valid);
    if (p.active == 0) return 0;
    int good = polish(&p, &s), first = todo->count;
    int curved = is_curved(class_a) && is_curved(class_b);
    response r;
    if (good != 0) {
        respond(&r, &s, !curved);
        good &= ~bits(is_large(&r, &s, &p));
    }
    if (good != 0 && !p.growth) good &= ~other_minimum(&p, &s, good & distinct, row, todo);
    if (good == 0) return 0;
    int smoothness = curved ? LN_SMOOTH : LN_UNIQUE;
    if (c->mode != LN_EXACT) {
        good = smooth(&p, &s, row, good);
        smoothness = LN_SMOOTHED;
        respond(&r, &s, class_a == LN_HALFSPACE || class_b == LN_HALFSPACE);
        good &= ~bits(is_large(&r, &s, &p));
        keep(todo, first, good);
    }
    emit(&p, &s, &r, row, smoothness);
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
    jobs todo = {.count = 0};
    for (int k = 0; k < LN_CLASSES * LN_CLASSES; k++) {
        int class_a = k / LN_CLASSES, class_b = k % LN_CLASSES;
        for (int j = start[k]; j < start[k + 1]; j += W) {
            int64_t row[W];
            int n = start[k + 1] - j < W ? start[k + 1] - j : W;
            for (int i = 0; i < W; i++) row[i] = lo + rows[j + (i < n ? i : n - 1)];
            int good = four(c, class_a, class_b, row, (1 << n) - 1, &todo);
            for (int i = 0; i < n; i++)
                if (!(good >> i & 1)) left[declined++] = (int32_t)row[i];
            if (todo.count > MAX_JOBS - W || (todo.count > 0 && j + W >= start[k + 1])) {
                declined += search_all(c, class_a, class_b, &todo, left + declined);
                todo.count = 0;
            }
        }
    }
    return declined;
}

int32_t VALUES(const ln_call *c, int64_t lo, int64_t hi, int32_t *left) {
    if (c->single) return c->single_out ? values(c, 1, 1, lo, hi, left) : values(c, 1, 0, lo, hi, left);
    return c->single_out ? values(c, 0, 1, lo, hi, left) : values(c, 0, 0, lo, hi, left);
}

void DISPLACE(const ln_samples *e, int64_t lo, int64_t hi) { displace(e, lo, hi); }
void ADD(const ln_samples *e, int64_t lo, int64_t hi) { add_answers(e, lo, hi); }

// The kernel: rows sorted by the classes of their shapes, a vector at a time.
//
//     api.h        the interface to Go
//     constants.h  the numbers shared with package derive, generated
//     rows.h       vectors, exponentials and logarithms; rows of a call, derivatives of values alone
//     cores.h      supporting features of cores and hulls
//     powers.h     those of support functions with powers, support points, bounds of Hessians over caps
//     system.h     the linear system, Newton's method, columns of derivatives and products
//     minima.h     other minima of the depth
//     smoothing.h  normal numbers, estimates of order zero, Hessians smoothed by Gumbel and Gaussian noise
//
// A row does not depend on the rows beside it. Between instruction sets rows differ in the rounding of FMA, which the
// portable one lacks, and in the order of sums over the vertices of a hull or smooth shape and over samples. AVX-512
// and AVX2 have the same bits where neither is summed: exact derivatives of all kinds but those with powers of points.

#include "minima.h"
#include "smoothing.h"
#include "system.h"

// answer answers rows of the same classes, those in distinct of which are distinct, and returns the lanes that are
// answered. To the jobs it adds those of them of which a search for another minimum of the depth may say otherwise.
APART int answer(const derive_call *c, int class_a, int class_b, const int64_t row[W], int distinct, jobs *todo) {
    pair p;
    linear s;
    int64_t from[W];
    for (int i = 0; i < W; i++) from[i] = c->first + row[i];
    p.call = c, p.class_a = class_a, p.class_b = class_b;
    VM valid = place(&p.a, c, from, c->shape_a, c->position_a, c->rotation_a);
    valid = MAND(valid, place(&p.b, c, from, c->shape_b, c->position_b, c->rotation_b));
    V3 at_a = p.a.position;
    p.a.position = (V3){SET1(0), SET1(0), SET1(0)};
    p.b.position = sub64(p.b.position, at_a);
    VF gap = c->gap ? numbers(1, c->gap, row) : SET1(0);
    p.value = numbers(c->single, c->value, row);
    p.size = size_of(&p.a) + size_of(&p.b);
    p.growth = c->growth;
    VF scale = MAX(p.value, SET1(1)); // of gaps
    if (p.growth) {
        valid = MAND(valid, MAND(MOR(grows(c, &p.a), grows(c, &p.b)), LT(SET1(LEAST_GROWTH), p.value)));
        p.center_a = center_of(c, &p.a), p.center_b = add64(center_of(c, &p.b), p.b.position);
    } else {
        scale = MAX(p.size + magnitude(p.value), SET1(MIN_SIZE));
        p.size = MAX(scale, FAR_SHARE * SQRT(dot64(p.b.position, p.b.position)));
    }
    p.normal = numbers3(c->single, c->normal, row);
    p.witness_a = sub64(numbers3(c->single, c->witness_a, row), at_a);
    p.witness_b = sub64(numbers3(c->single, c->witness_b, row), at_a);
    VF square = dot64(p.normal, p.normal);
    p.normal = scale64(1 / SQRT(square), p.normal);
    valid = MAND(valid, MAND(MAND(MAND(MAND(MAND(is_finite(p.value), is_finite3(p.witness_a)), is_finite3(p.witness_b)),
                                       LT(magnitude(square - 1), SET1(MAX_LENGTH_ERROR))),
                                  LE(gap, MAX_RELATIVE_GAP * scale)),
                             LE(p.value - gap, SET1(c->cut_off))));
    p.active = MBITS(valid);
    if (p.active == 0) return 0;
    int good = polish(&p, &s), first = todo->count;
    int curved = is_curved(class_a) && is_curved(class_b);
    response r;
    if (good != 0) {
        respond(&r, &s, !curved);
        good &= ~MBITS(is_large(&r, &s, &p));
    }
    if (good != 0 && !p.growth) good &= ~other_minimum(&p, &s, good & distinct, row, todo);
    if (good == 0) return 0;
    int smoothness = curved ? DERIVE_SMOOTH : DERIVE_UNIQUE;
    if (c->mode != DERIVE_EXACT) {
        good = smooth(&p, &s, row, good);
        smoothness = DERIVE_SMOOTHED;
        respond(&r, &s, class_a == CLR_HALF_CORE || class_b == CLR_HALF_CORE);
        good &= ~MBITS(is_large(&r, &s, &p));
        keep(todo, first, good);
    }
    emit(&p, &s, &r, row, smoothness);
    return good;
}

static int32_t run_all(const derive_call *c, int64_t lo, int64_t hi, int32_t *left) {
    int16_t rows[DERIVE_BLOCK];
    int start[CLR_CORES * CLR_CORES + 1] = {0};
    uint8_t key[DERIVE_BLOCK];
    int32_t declined = 0;
    enum { NEVER = 255 };
    for (int64_t i = lo; i < hi; i++) {
        int32_t a = c->shape_a[c->first + i], b = c->shape_b[c->first + i];
        key[i - lo] = NEVER;
        if (c->status[i] <= CLR_STATUS_PENETRATING && (!c->marks || c->marks[i] == DERIVE_ANSWERED) &&
            (uint64_t)a < (uint64_t)c->shape_count && (uint64_t)b < (uint64_t)c->shape_count) {
            int class_a = core_of(&c->shapes[a]), class_b = core_of(&c->shapes[b]);
            if (class_a != CLR_NO_CLASS && class_b != CLR_NO_CLASS &&
                !(class_a == CLR_HALF_CORE && class_b == CLR_HALF_CORE)) {
                key[i - lo] = (uint8_t)(class_a * CLR_CORES + class_b);
                start[key[i - lo] + 1]++;
                continue;
            }
        }
        left[declined++] = (int32_t)i;
    }
    for (int k = 0; k < CLR_CORES * CLR_CORES; k++) start[k + 1] += start[k];
    int at[CLR_CORES * CLR_CORES];
    for (int k = 0; k < CLR_CORES * CLR_CORES; k++) at[k] = start[k];
    for (int64_t i = lo; i < hi; i++)
        if (key[i - lo] != NEVER) rows[at[key[i - lo]]++] = (int16_t)(i - lo);
    jobs todo = {.count = 0};
    for (int k = 0; k < CLR_CORES * CLR_CORES; k++) {
        int class_a = k / CLR_CORES, class_b = k % CLR_CORES;
        for (int j = start[k]; j < start[k + 1]; j += W) {
            int64_t row[W];
            int n = start[k + 1] - j < W ? start[k + 1] - j : W;
            for (int i = 0; i < W; i++) row[i] = lo + rows[j + (i < n ? i : n - 1)];
            int good = answer(c, class_a, class_b, row, (1 << n) - 1, &todo);
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

static int32_t run_values(const derive_call *c, int64_t lo, int64_t hi, int32_t *left) {
    if (c->single) return c->single_out ? values(c, 1, 1, lo, hi, left) : values(c, 1, 0, lo, hi, left);
    return c->single_out ? values(c, 0, 1, lo, hi, left) : values(c, 0, 0, lo, hi, left);
}

const derive_unit UNIT = {run_all, run_values, displace, add_answers};

// The only writer of the answer columns. A template, float64.
//
// For the stored distance d, rounded to float32 in single precision, and the bounds of the exact distance:
//
//	gap = max(upper − d, d − lower), rounded up to float32: lower ≥ d − gap and upper ≤ d + gap

#ifndef CLR_STORE_H
#define CLR_STORE_H

#include "../isa/real64.h"
#include "../shape/api.h"
#include "../shape/cores.h"
#include <string.h>

// lane_bytes has bit l of m in byte l, of eight.
ALWAYS uint64_t lane_bytes(unsigned m) {
    const uint64_t each = 0x0101010101010101;
    return ((((m & 255) * each & 0x8040201008040201) + 0x7f * each) >> 7) & each; // bit l of byte l, carried to bit 7
}

// On instruction sets that can store all lanes together but not some, ok is all lanes when rows follow one another.
#ifndef STORE_SOME8
#define STORE_SOME8(p, ok, v) memcpy(p, v, W)
#define STORE_SOME16(p, ok, v) memcpy(p, v, 2 * W)
#define STORE_SOME32(p, ok, v) memcpy(p, v, 4 * W)
#define STORE_SOME64(p, ok, v) memcpy(p, v, 8 * W)
#define ALL_OR_NONE 1
#else
#define ALL_OR_NONE 0
#endif

// store_three stores three values of each lane in ok, of the columns v, in rows of a column; together
// if these rows follow one another, the first being `from` (else −1).
#ifdef STORE_TRIPLES32
#define STORE_FOLLOWING(bits) STORE_TRIPLES##bits(column + 3 * from, ok, v)
#else
#define STORE_FOLLOWING(bits)   \
    for (int l = 0; l < W; l++) \
        for (int j = 0; j < 3; j++) (column + 3 * from)[3 * l + j] = v[j][l];
#endif
#define STORE_THREE(bits, type)                                                                             \
    ALWAYS void store_three##bits(type *column, int64_t at0, const int32_t *row, int64_t from, unsigned ok, \
                                  const double (*v)[W]) {                                                   \
        if (!column) return;                                                                                \
        if (from >= 0) {                                                                                    \
            STORE_FOLLOWING(bits);                                                                          \
            return;                                                                                         \
        }                                                                                                   \
        type some[3][W];                                                                                    \
        for (int j = 0; j < 3; j++)                                                                         \
            for (int l = 0; l < W; l++) some[j][l] = (type)v[j][l];                                         \
        for (; ok; ok &= ok - 1) {                                                                          \
            int l = __builtin_ctz(ok);                                                                      \
            for (int j = 0; j < 3; j++) column[3 * (at0 + row[l]) + j] = some[j][l];                        \
        }                                                                                                   \
    }
STORE_THREE(32, float)
STORE_THREE(64, double)
#undef STORE_THREE
#undef STORE_FOLLOWING

// store_vectors is store_three for a column of three reals per row, if the caller wants it.
ALWAYS void store_vectors(const clr_call *c, int column, int64_t at0, const int32_t *row, int64_t from, unsigned ok,
                          const double (*v)[W]) {
    if (c->single) store_three32(c->columns[column], at0, row, from, ok, v);
    else store_three64(c->columns[column], at0, row, from, ok, v);
}

_Static_assert(CLR_STATUS_SEPARATED == 0 && (CLR_STATUS_TOUCHING | CLR_STATUS_PENETRATING) == CLR_STATUS_UNDECIDED,
               "store_answers combines the bits of statuses");

// store_answers stores the lanes in ok of the answers v, by one solver, in rows at0 + row[lane] of the columns:
// distance, its lower and upper bound, then normal and witnesses in the world. Lanes without a row repeat one. The gap
// is the least float32 such that the stored distance ± gap contains both bounds. steps are the steps of each row, or
// null for one step each. Rows in both `separated` and `penetrating` are undecided.
ALWAYS void store_answers(const clr_call *c, int64_t at0, const int32_t *row, unsigned ok, const double (*v)[W],
                          unsigned separated, unsigned penetrating, const uint16_t *steps, int solver) {
    float near[W] __attribute__((aligned(64))), wide[W] __attribute__((aligned(64)));
    double far[W] __attribute__((aligned(64)));
    uint32_t gap[W];
    uint16_t taken[W];
    uint8_t status[8];
    if (!ok) return;
    int follow = !ALL_OR_NONE || ok == LANES;
    for (int l = 1; l < W; l++) follow &= row[l] == row[0] + l;
    const int64_t from = follow ? at0 + row[0] : -1;
    VF stored = LOADU(v[0]);
    NARROW(near, stored);
    if (c->single) stored = WIDEN(near);
    STOREU(far, stored);
    const VF off = MAX(LOADU(v[2]) - stored, stored - LOADU(v[1]));
    NARROW(wide, off);
    const unsigned up = MBITS(MAND(LE(WIDEN(wide), off), LT(SET1(0), off)));
    memcpy(gap, wide, sizeof gap);
    for (int l = 0; l < W; l++) {
        gap[l] += up >> l & 1;
        taken[l] = steps ? (uint16_t)(steps[l] + 1) : 1;
    }
    const uint64_t by = (uint64_t)solver * lane_bytes(LANES),
                   status_of = lane_bytes(~(separated ^ penetrating)) * CLR_STATUS_TOUCHING |
                               lane_bytes(penetrating) * CLR_STATUS_PENETRATING; // both: undecided
    memcpy(status, &status_of, sizeof status);
    void *const values = c->columns[CLR_COLUMN_DISTANCE];
    float *const distance32 = c->single ? values : 0, *const gaps = c->columns[CLR_COLUMN_GAP];
    double *const distance64 = c->single ? 0 : values;
    uint8_t *const statuses = c->columns[CLR_COLUMN_STATUS], *const methods = c->columns[CLR_COLUMN_METHOD];
    uint16_t *const iterations = c->columns[CLR_COLUMN_ITERATIONS];
    if (follow) {
        if (distance32) STORE_SOME32(distance32 + from, ok, near);
        if (distance64) STORE_SOME64(distance64 + from, ok, far);
        if (gaps) STORE_SOME32(gaps + from, ok, gap);
        if (statuses) STORE_SOME8(statuses + from, ok, status);
        if (iterations) STORE_SOME16(iterations + from, ok, taken);
        if (methods) STORE_SOME8(methods + from, ok, &by);
    } else {
        for (unsigned m = ok; m; m &= m - 1) {
            const int l = __builtin_ctz(m);
            const int64_t i = at0 + row[l];
            if (distance32) distance32[i] = near[l];
            if (distance64) distance64[i] = far[l];
            if (gaps) memcpy(&gaps[i], &gap[l], sizeof gap[l]);
            if (statuses) statuses[i] = status[l];
            if (iterations) iterations[i] = taken[l];
            if (methods) methods[i] = (uint8_t)solver;
        }
    }
    store_vectors(c, CLR_COLUMN_NORMAL, at0, row, from, ok, v + 3);
    store_vectors(c, CLR_COLUMN_WITNESS_A, at0, row, from, ok, v + 6);
    store_vectors(c, CLR_COLUMN_WITNESS_B, at0, row, from, ok, v + 9);
}
#undef ALL_OR_NONE

// store_lanes_as stores the answers, by one solver, of the lanes in `ok` of rows k, k+1, … of the group, which are done
// then. Lanes in both `separated` and `penetrating` are undecided.
ALWAYS void store_lanes_as(const clr_call *c, clr_scratch *s, int64_t at0, int k, unsigned ok, int solver, VF distance,
                           VF lower, VF upper, unsigned separated, unsigned penetrating, V3 n, V3 wa, V3 wb) {
    const double *m = &s->more[CLR_ROTA][k];
    double v[12][W] __attribute__((aligned(64)));
    if (!ok) return;
    STOREU(v[0], distance);
    STOREU(v[1], lower);
    STOREU(v[2], upper);
    if (c->columns[CLR_COLUMN_NORMAL]) T(st3)(v[3], W, T(rotate)(m, CLR_STRIDE64, n));
    if (c->columns[CLR_COLUMN_WITNESS_A] || c->columns[CLR_COLUMN_WITNESS_B]) {
        V3 pos = T(ld3)(&s->more[CLR_POSA][k], CLR_STRIDE64);
        T(st3)(v[6], W, T(add)(T(rotate)(m, CLR_STRIDE64, wa), pos));
        T(st3)(v[9], W, T(add)(T(rotate)(m, CLR_STRIDE64, wb), pos));
    }
    store_answers(c, at0, s->row + k, ok, (const double (*)[W])v, separated, penetrating, s->steps + k, solver);
    for (; ok; ok &= ok - 1) s->state[k + __builtin_ctz(ok)] = CLR_DONE;
}

ALWAYS void store_lanes(const clr_call *c, clr_scratch *s, int64_t at0, int k, unsigned ok, int solver, VF distance,
                        VF lower, VF upper, VM separated, VM penetrating, V3 n, V3 wa, V3 wb) {
    store_lanes_as(c, s, at0, k, ok, solver, distance, lower, upper, MBITS(separated), MBITS(penetrating), n, wa, wb);
}

// lane_depths are depths, one row per lane, in the frames of the pairs.
typedef struct {
    VF high, low, off; // bounds of the depth; how far the witnesses differ from depth·normal
    V3 n, a, near;     // see depth_of
    VM ok;
} lane_depths;

ALWAYS void store_depths(double out[12][W], lane_depths d) {
    STOREU(out[0], d.high);
    STOREU(out[1], d.low);
    STOREU(out[2], d.off);
    T(st3)(out[3], W, d.n);
    T(st3)(out[6], W, d.a);
    T(st3)(out[9], W, d.near);
}

// depth_stop is the largest difference of the bounds of an accepted depth, for a pair with tolerance tol.
ALWAYS VF depth_stop(const clr_call *c, int curved, VF tol, VF rounding) {
    return MAX(SET1((curved ? c->curved_depth : c->tolerance) / c->tolerance) * tol - SET1(2) * rounding, rounding);
}

#endif

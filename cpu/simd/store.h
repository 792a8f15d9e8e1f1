// The only writer of the answer columns. A template, float64.

#ifndef INTERLEAVE32
#define INTERLEAVE32(out, v)       \
    for (int l_ = 0; l_ < W; l_++) \
        for (int j_ = 0; j_ < 3; j_++) (out)[3 * l_ + j_] = (v)[j_][l_];
#define INTERLEAVE64 INTERLEAVE32
#endif

// store_three stores three values of each lane in ok in rows of a column; together if these rows
// follow one another, the first being `from` (else −1).
#define STORE_THREE(name, type, interleave)                                                                        \
    ALWAYS void name(type *column, int64_t at0, const int32_t *row, int64_t from, unsigned ok, const type (*v)[W]) { \
        if (!column) return;                                                                                       \
        if (from >= 0) {                                                                                           \
            interleave(column + 3 * from, v)                                                                       \
            return;                                                                                                \
        }                                                                                                          \
        for (; ok; ok &= ok - 1) {                                                                                 \
            int l = __builtin_ctz(ok);                                                                             \
            for (int j = 0; j < 3; j++) column[3 * (at0 + row[l]) + j] = v[j][l];                                  \
        }                                                                                                          \
    }
STORE_THREE(store_three32, float, INTERLEAVE32)
STORE_THREE(store_three64, double, INTERLEAVE64)
#undef STORE_THREE

// status_of is the status of a row that is apart, deep, both or neither.
ALWAYS uint8_t status_of(unsigned apart, unsigned deep) {
    return (uint8_t)((CLR_TOUCHING | CLR_SEPARATED << 2 | CLR_PENETRATING << 4 | CLR_UNDECIDED << 6) >> (2 * apart + 4 * deep) & 3);
}

// store_answers stores the lanes in ok of the answers v, by one solver, in rows at0 + row[lane] of the columns:
// distance, its lower and upper bound, then normal and witnesses in the world. The gap
// holds both bounds around the distance as it is stored, and the rounding of itself: it is the
// least float32 above. steps are those of a row, or null for one step each. Rows that are both apart and
// deep are undecided.
ALWAYS void store_answers(const clr_call *c, int64_t at0, const int32_t *row, unsigned ok, const double (*v)[W], unsigned apart, unsigned deep, const uint16_t *steps, int solver) {
    float f[11][W] __attribute__((aligned(64)));
    if (!ok) return;
    int gaps = 0;
    for (int l = 1; l < W; l++) gaps |= row[l] ^ (row[0] + l);
    const int together = ok == LANES && !gaps;
    const int64_t from = together ? at0 + row[0] : -1;
    VF stored = LOADU(v[0]);
    NARROW(f[0], stored);
    if (c->single) stored = WIDEN(f[0]);
    const VF gap = MAX(LOADU(v[2]) - stored, stored - LOADU(v[1]));
    NARROW(f[1], gap);
    const unsigned up = MBITS(MAND(LE(WIDEN(f[1]), gap), LT(SET1(0), gap)));
    if (together) {
        uint32_t u[W];
        uint16_t count[W];
        uint8_t status[W], method[W];
        memcpy(u, f[1], sizeof u);
        for (int l = 0; l < W; l++) {
            u[l] += up >> l & 1;
            count[l] = steps ? (uint16_t)(steps[l] + 1) : 1;
            status[l] = status_of(apart >> l & 1, deep >> l & 1);
            method[l] = (uint8_t)solver;
        }
        if (c->distance32) memcpy(c->distance32 + from, f[0], sizeof f[0]);
        if (c->distance64) STOREU(c->distance64 + from, stored);
        if (c->gap) memcpy(c->gap + from, u, sizeof u);
        if (c->status) memcpy(c->status + from, status, sizeof status);
        if (c->iterations) memcpy(c->iterations + from, count, sizeof count);
        if (c->method) memcpy(c->method + from, method, sizeof method);
    }
    for (unsigned m = together ? 0 : ok; m; m &= m - 1) {
        int l = __builtin_ctz(m);
        int64_t i = at0 + row[l];
        if (c->distance32) c->distance32[i] = f[0][l];
        if (c->distance64) c->distance64[i] = c->single ? (double)f[0][l] : v[0][l];
        if (c->gap) {
            uint32_t u;
            memcpy(&u, &f[1][l], sizeof u);
            u += up >> l & 1;
            memcpy(&c->gap[i], &u, sizeof u);
        }
        if (c->status) c->status[i] = status_of(apart >> l & 1, deep >> l & 1);
        if (c->iterations) c->iterations[i] = steps ? (uint16_t)(steps[l] + 1) : 1;
        if (c->method) c->method[i] = (uint8_t)solver;
    }
    if (c->normal32 || c->witness_a32 || c->witness_b32)
        for (int j = 0; j < 9; j++) NARROW(f[2 + j], LOADU(v[3 + j]));
    store_three32(c->normal32, at0, row, from, ok, f + 2);
    store_three32(c->witness_a32, at0, row, from, ok, f + 5);
    store_three32(c->witness_b32, at0, row, from, ok, f + 8);
    store_three64(c->normal64, at0, row, from, ok, v + 3);
    store_three64(c->witness_a64, at0, row, from, ok, v + 6);
    store_three64(c->witness_b64, at0, row, from, ok, v + 9);
}

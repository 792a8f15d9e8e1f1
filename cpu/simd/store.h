// The only writer of the answer columns. A template, float64.

// store_three stores three values of each lane in ok in rows of a column; together if these rows
// follow one another, the first being `from` (else −1).
#define STORE_THREE(name, type)                                                                                    \
    ALWAYS void name(type *column, int64_t at0, const int32_t *row, int64_t from, unsigned ok, const type (*v)[W]) { \
        if (!column) return;                                                                                       \
        if (from >= 0) {                                                                                           \
            type *out = column + 3 * from;                                                                         \
            for (int l = 0; l < W; l++)                                                                            \
                for (int j = 0; j < 3; j++) out[3 * l + j] = v[j][l];                                              \
            return;                                                                                                \
        }                                                                                                          \
        for (; ok; ok &= ok - 1) {                                                                                 \
            int l = __builtin_ctz(ok);                                                                             \
            for (int j = 0; j < 3; j++) column[3 * (at0 + row[l]) + j] = v[j][l];                                  \
        }                                                                                                          \
    }
STORE_THREE(store_three32, float)
STORE_THREE(store_three64, double)
#undef STORE_THREE

// store_answers stores the lanes in ok of the answers v, by one solver, in rows at0 + row[lane] of the columns:
// distance, its lower and upper bound, then normal and witnesses in the world. The gap
// holds both bounds around the distance as it is stored, and the rounding of itself: it is the
// least float32 above. steps are those of a row, or null for one step each. Rows that are both apart and
// deep are undecided.
ALWAYS void store_answers(const clr_call *c, int64_t at0, const int32_t *row, unsigned ok, const double (*v)[W], unsigned apart, unsigned deep, const uint16_t *steps, int solver) {
    float f[11][W] __attribute__((aligned(64)));
    if (!ok) return;
    int together = ok == LANES;
    for (int l = 1; l < W && together; l++) together = row[l] == row[0] + l;
    const int64_t from = together ? at0 + row[0] : -1;
    VF stored = LOADU(v[0]);
    NARROW(f[0], stored);
    if (c->single) stored = WIDEN(f[0]);
    const VF gap = MAX(LOADU(v[2]) - stored, stored - LOADU(v[1]));
    NARROW(f[1], gap);
    const unsigned up = MBITS(MAND(LE(WIDEN(f[1]), gap), LT(SET1(0), gap)));
    for (unsigned m = ok; m; m &= m - 1) {
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
        if (c->status) c->status[i] = (apart & deep) >> l & 1 ? CLR_UNDECIDED : apart >> l & 1 ? CLR_SEPARATED : deep >> l & 1 ? CLR_PENETRATING : CLR_TOUCHING;
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

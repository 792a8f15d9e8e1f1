// Local minima of the heights of D that have been found, and what float32 is to prove of them. Float64;
// included by epa.h, and epa_surround.h says what for.

// The apex is that of a cap of which t² is less by this factor: rounding it to float32 tilts it by
// 2⁻²³ and makes the cap wider by 2⁻²³/t; caps are 0.01 at least.
#define APEX_SHARE 0.98

// deep_rows are W rows of a list, a lane each.
typedef struct {
    double in[CLR_STOP][W] __attribute__((aligned(64)));
    double round[W] __attribute__((aligned(64))), tol[W] __attribute__((aligned(64))), span[W] __attribute__((aligned(64)));
    T(hulls) hull[2];
    int32_t row[W]; // lanes beyond the end of the list have its last row
    unsigned lanes;
} deep_rows;

ALWAYS void pick_rows(const clr_call *c, const clr_scratch *s, const int32_t *list, int n, int ka, int kb, deep_rows *r) {
    int32_t *row = r->row;
    r->lanes = n < W ? (1u << n) - 1 : LANES;
    for (int l = 0; l < W; l++) row[l] = list[l < n ? l : n - 1];
    memset(r->hull, 0, sizeof r->hull);
    for (int j = 0; j < CLR_STOP; j++)
        for (int l = 0; l < W; l++) r->in[j][l] = s->in64[j][row[l]];
    for (int l = 0; l < W; l++) {
        r->round[l] = s->more[CLR_ROUND_OFF][row[l]];
        r->tol[l] = s->more[CLR_TOL][row[l]];
        r->span[l] = s->more[CLR_SPAN][row[l]];
        T(put_hull)(&r->hull[0], l, c->shapes + s->shape_a[row[l]], ka);
        T(put_hull)(&r->hull[1], l, c->shapes + s->shape_b[row[l]], kb);
    }
}

// places_of are those of the rows.
ALWAYS T(places) places_of(const clr_call *c, const deep_rows *r) {
    return (T(places)){.call = c, .in = r->in[0], .stride = W, .hull = {&r->hull[0], &r->hull[1]}, .lanes = r->lanes};
}

// keep_minima keeps what is known of a vector of rows: those in `minimal` are at a local minimum, and
// D is d.low high over a cap of size t. even is what to begin another search with.
ALWAYS void keep_minima(clr_scratch *s, const deep_rows *r, unsigned minimal, lane_depths d, VF t, VF stop, const unsigned even[2], const int steps[W]) {
    clr_minima *out = &s->minima;
    const VF one = SET1(1), unit = one / LOADU(r->span), height = unit * d.low;
    double v[12][W] __attribute__((aligned(64))), w[5][W] __attribute__((aligned(64)));
    const VM good = MAND(MAND(LE(d.high - d.low, stop), LE(d.off, stop)), MAND(MAND(LT(SET1(0), t), d.ok), MAND(LT(LOADU(r->round), d.low), is_unit(d.n))));
    const unsigned local = minimal & MBITS(good);
    store_depths(v, d);
    T(st3)(w[0], W, T(scale)(height * SQRT(FMA(SET1(APEX_SHARE) * t, t, one)), d.n));
    STOREU(w[3], height);
    STOREU(w[4], unit * (d.high - stop));
    for (unsigned m = r->lanes; m; m &= m - 1) {
        const int l = __builtin_ctz(m), i = r->row[l];
        s->steps[i] += (uint16_t)steps[l];
        out->state[i] = local >> l & 1 ? CLR_MINIMUM_LOCAL : minimal >> l & 1 ? CLR_MINIMUM_NONE : CLR_MINIMUM_AGAIN;
        out->even[i] = (uint8_t)((even[0] >> l & 1) | (even[1] >> l & 1) << 1);
        for (int j = 0; j < 12; j++) out->answer[j][i] = v[j][l];
        for (int j = 0; j < 3; j++) out->apex[j][i] = (float)w[j][l];
        out->low[i] = (float)w[3][l], out->least[i] = (float)w[4][l];
    }
}

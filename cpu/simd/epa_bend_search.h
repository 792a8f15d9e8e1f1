// Depths of smooth cores: local minima by the Riemannian trust region method (rtr.h), with caps of
// directions in which the curvature of both proves that nothing is lower (bend_caps.h), of rows of a list,
// for epa_surround.h. Float64.

// search_bends looks for local minima of n listed rows, first from the direction that GJK began with, then from
// those in s->minima, and for what is to be proved of them.
static __attribute__((noinline)) void search_bends(const clr_call *c, clr_scratch *s, const int32_t *list, int n, int first, int ka, int kb) {
    const VF zero = SET1(0), one = SET1(1);
    for (int k = 0; k < n; k++) {
        const int i = list[k];
        const double round = s->more[CLR_ROUND_OFF][i], gap = c->curved_depth / c->tolerance * s->more[CLR_TOL][i] - 2 * round;
        for (int j = 0; j < 3; j++) s->in64[CLR_X + j][i] = first ? (double)s->in32[CLR_X + j][i] : -s->minima.answer[3 + j][i];
        s->in64[CLR_STOP][i] = 0.25 * (gap > round ? gap : round);
        s->in64[CLR_NOISE][i] = round;
        s->in64[CLR_FAR][i] = INFINITY;
    }
    rtr_loop(c, s, list, n, ka, kb);
    for (int k = 0; k < n; k += W) {
        deep_rows rows;
        double from[3][W] __attribute__((aligned(64)));
        const int steps[W] = {0}; // rtr_flush has counted them
        pick_rows(c, s, list + k, n - k, ka, kb, &rows);
        const T(places) at = places_of(c, &rows);
        const VF round = LOADU(rows.round), stop = depth_stop(c, 1, LOADU(rows.tol), round);
        for (int j = 0; j < 3; j++)
            for (int l = 0; l < W; l++) from[j][l] = -s->in64[CLR_X + j][rows.row[l]];
        V3 x = T(ld3)(from[0], W), e, f, a;
        x = T(scale)(one / SQRT(MAX(T(dot)(x, x), SET1(TINY))), x);
        T(across)(x, &e, &f);
        const V3 w = T(support)(&at, ka, kb, T(neg)(x), one, &a, 0);
        VF h = T(dot)(x, w);
        const V3 side = T(axpy)(-h, x, w);
        const double *m = at.in + CLR_ROT * W;
        const bent b[2] = {bend_seen(&at, ka, 0, x, e, f), bend_seen(&at, kb, 1, T(neg)(T(rotate_back)(m, W, x)), T(rotate_back)(m, W, e), T(rotate_back)(m, W, f))};
        const VF off = SQRT(T(dot)(side, side)), t = widest_cap(&at, ka, kb, b, MAX(h, round));
        const VF doubt = SET1(16 * 0x1p-53) * (b[0].sharp + b[1].sharp) * LOADU(rows.span);
        const lane_depths d = {h, FNMA(off + doubt, t, h) - SET1(4) * round, off, x, a, w, LT(zero, h)};
        keep_minima(s, &rows, rows.lanes, d, t, stop, (const unsigned[2]){0, 0}, steps);
    }
}

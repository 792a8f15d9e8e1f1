// Depths of cores of revolution with two rims: local minima (epa_rims.h) with caps (epa_caps.h) of
// rows of a list, for epa_surround.h. Float64.

// search_rims looks for local minima of n listed rows, first from directions of its own, then from those in
// s->minima, and for what is to be proved of them.
static __attribute__((noinline)) void search_rims(const clr_call *c, clr_scratch *s, const int32_t *list, int n, int first) {
    const clr_minima *from = &s->minima;
    const VF one = SET1(1), zero = SET1(0);
    for (int k = 0; k < n; k += W) {
        deep_rows rows;
        rim_place q;
        VM even[2];
        int steps[W] = {0};
        pick_rows(c, s, list + k, n - k, CLR_ROUND, CLR_ROUND, &rows);
        const T(places) at = places_of(c, &rows);
        const rim_pair r = rims_at(&at);
        const VF round = LOADU(rows.round), stop = depth_stop(c, 1, LOADU(rows.tol), round);
        if (first) q.n = rim_starts(&r, q.face, even);
        else {
            unsigned both[2] = {0, 0};
            double normal[3][W] __attribute__((aligned(64)));
            for (int l = 0; l < W; l++) {
                for (int i = 0; i < 2; i++) both[i] |= (unsigned)(from->even[rows.row[l]] >> i & 1) << l;
                for (int j = 0; j < 3; j++) normal[j][l] = from->answer[3 + j][rows.row[l]];
            }
            q.n = T(ld3)(normal[0], W);
            for (int i = 0; i < 2; i++) q.face[i] = LT(one, zero), even[i] = MFROM(both[i]);
        }
        const unsigned minimal = find_rims(&r, &q, rows.lanes, even, SET1(0.125) * stop, steps);
        VF off = SQRT(flat_dot(q.left, q.left)), inside[2] = {q.r[0] - off, q.r[1] - off};
        VF times, t = cap_size(&r, &q, inside, &times), bend = SEL(MOR(q.face[0], q.face[1]), zero, off);
        VF high = T(dot)(q.n, pair_vertices(&at, CLR_ROUND, CLR_ROUND, q.n, rows.lanes).w);
        VF low = FNMA(bend, t, FNMA(times, q.low, q.h)) - SET1(4) * round;
        // The points that touch: on circles between the rims, on an end across from the other core's.
        V3 part[2], across = T(axpy)(q.left.x, q.e, T(scale)(q.left.y, q.f));
        for (int i = 0; i < 2; i++) {
            const V3 axis = r.core[i].axis, lateral = T(axpy)(-T(dot)(q.lateral[i], axis), axis, q.lateral[i]); // off by rounding over q
            V3 point = T(axpy)(q.sigma[i] * r.core[i].half, axis, T(scale)(q.r[i], lateral));
            part[i] = T(sel)(q.face[i], T(sub)(point, across), point);
        }
        V3 near = T(sub)(T(add)(part[0], part[1]), r.origin), side = T(axpy)(-high, q.n, near);
        const lane_depths d = {high, low, SQRT(T(dot)(side, side)), q.n, part[0], near, LT(zero, high)};
        keep_minima(s, &rows, minimal, d, t, stop, (const unsigned[2]){MBITS(even[0]), MBITS(even[1])}, steps);
    }
}

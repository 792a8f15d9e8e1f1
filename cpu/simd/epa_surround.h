// Depths of cores of revolution: a local minimum of the heights of D (epa_rims.h), a cap of
// directions around it where nothing is lower (epa_caps.h), and a polytope in float32 for the
// others (epa_around.h). Float64; included by epa.h.
//
// The polytope has one vertex that is no point of D, the apex a = n·L√(1 + t²), for a cap of size
// t. Once the ball of radius L is inside, every direction has a vertex as high as L. If it is the
// apex, the direction is no more than acos(L/|a|) from n, and in the cap; else it is a point of D. So
// D is as high as L along all directions. Of the 21 steps of EPA for a pair of cylinders or cones
// this leaves about four: those that come close to the nearest point of D, two for every digit,
// are under the apex.
//
// Where a face finds D lower than L, there is another minimum, which is looked for from there.
// Rows are searched in turns, those of a turn side by side.

#define SURROUND_TURNS 4

// The apex is that of a cap of which t² is less by this factor: rounding it to float32 tilts it by
// 2⁻²³ and makes the cap wider by 2⁻²³/t; caps are 0.01 at least.
#define APEX_SHARE 0.98

// rim_rows are W rows of a list, a lane each.
typedef struct {
    double in[CLR_STOP][W] __attribute__((aligned(64)));
    double round[W] __attribute__((aligned(64))), tol[W] __attribute__((aligned(64))), span[W] __attribute__((aligned(64)));
    int32_t row[W]; // lanes beyond the end of the list have its last row
    unsigned lanes;
} rim_rows;

ALWAYS void pick_rims(const clr_scratch *s, const int32_t *list, int n, rim_rows *r) {
    int32_t *row = r->row;
    r->lanes = n < W ? (1u << n) - 1 : LANES;
    for (int l = 0; l < W; l++) row[l] = list[l < n ? l : n - 1];
    for (int j = 0; j < CLR_STOP; j++)
        for (int l = 0; l < W; l++) r->in[j][l] = s->in64[j][row[l]];
    for (int l = 0; l < W; l++) {
        r->round[l] = s->more[CLR_ROUND_OFF][row[l]];
        r->tol[l] = s->more[CLR_TOL][row[l]];
        r->span[l] = s->more[CLR_SPAN][row[l]];
    }
}

// search looks for local minima of n listed rows, first from directions of its own, then from those in
// s->rims, and for what is to be proved of them.
static __attribute__((noinline)) void search(const clr_call *c, clr_scratch *s, const int32_t *list, int n, int first) {
    clr_rims *out = &s->rims;
    const VF one = SET1(1), zero = SET1(0);
    for (int k = 0; k < n; k += W) {
        rim_rows rows;
        rim_place q;
        VM even[2];
        int steps[W] = {0};
        pick_rims(s, list + k, n - k, &rows);
        const int32_t *row = rows.row;
        const unsigned lanes = rows.lanes;
        T(places) at = {.call = c, .in = rows.in[0], .stride = W, .lanes = lanes};
        const rim_pair r = rims_at(&at);
        const VF round = LOADU(rows.round), stop = depth_stop(c, 1, LOADU(rows.tol), round);
        if (first) q.n = rim_starts(&r, q.face, even);
        else {
            unsigned both[2] = {0, 0};
            double from[3][W] __attribute__((aligned(64)));
            for (int l = 0; l < W; l++) {
                for (int i = 0; i < 2; i++) both[i] |= (unsigned)(out->even[row[l]] >> i & 1) << l;
                for (int j = 0; j < 3; j++) from[j][l] = out->answer[3 + j][row[l]];
            }
            q.n = T(ld3)(from[0], W);
            for (int i = 0; i < 2; i++) q.face[i] = LT(one, zero), even[i] = MFROM(both[i]);
        }
        const unsigned minimal = find_rims(&r, &q, lanes, even, SET1(0.125) * stop, steps);
        VF off = SQRT(flat_dot(q.left, q.left)), inside[2] = {q.r[0] - off, q.r[1] - off};
        VF t = cap_size(&r, &q, inside), bend = SEL(MOR(q.face[0], q.face[1]), zero, off);
        VF high = T(dot)(q.n, pair_vertices(&at, CLR_ROUND, CLR_ROUND, q.n, lanes).w);
        VF low = FNMA(bend, t, q.h - q.low) - SET1(4) * round;
        // The points that touch: on circles between the rims, on an end across from the other core's.
        V3 part[2], across = T(axpy)(q.left.x, q.e, T(scale)(q.left.y, q.f));
        for (int i = 0; i < 2; i++) {
            const V3 axis = r.core[i].axis, lateral = T(axpy)(-T(dot)(q.lateral[i], axis), axis, q.lateral[i]); // off by rounding over q
            V3 point = T(axpy)(q.sigma[i] * r.core[i].half, axis, T(scale)(q.r[i], lateral));
            part[i] = T(sel)(q.face[i], T(sub)(point, across), point);
        }
        V3 near = T(sub)(T(add)(part[0], part[1]), r.origin), side = T(axpy)(-high, q.n, near);
        VF apart = SQRT(T(dot)(side, side));
        VM good = MAND(MAND(LE(high - low, stop), LE(apart, stop)), MAND(LT(zero, t), MAND(LT(round, low), is_unit(q.n))));
        const unsigned local = minimal & MBITS(good);
        double v[12][W] __attribute__((aligned(64))), w[5][W] __attribute__((aligned(64)));
        store_depths(v, (lane_depths){high, low, apart, q.n, part[0], near, good});
        const VF unit = one / LOADU(rows.span), height = unit * low;
        T(st3)(w[0], W, T(scale)(height * SQRT(FMA(SET1(APEX_SHARE) * t, t, one)), q.n));
        STOREU(w[3], height);
        STOREU(w[4], unit * (high - stop));
        const unsigned both[2] = {MBITS(even[0]), MBITS(even[1])};
        for (unsigned m = lanes; m; m &= m - 1) {
            const int l = __builtin_ctz(m), i = row[l];
            s->steps[i] += (uint16_t)steps[l];
            out->state[i] = local >> l & 1 ? CLR_RIM_LOCAL : minimal >> l & 1 ? CLR_RIM_NONE : CLR_RIM_AGAIN;
            out->even[i] = (uint8_t)((both[0] >> l & 1) | (both[1] >> l & 1) << 1);
            for (int j = 0; j < 12; j++) out->answer[j][i] = v[j][l];
            for (int j = 0; j < 3; j++) out->apex[j][i] = (float)w[j][l];
            out->low[i] = (float)w[3][l], out->least[i] = (float)w[4][l];
        }
    }
}

// expand_rims answers n listed rows by expanding polytopes from the simplices that GJK ended with, as
// expand_depths does, but side by side.
static __attribute__((noinline)) void expand_rims(const clr_call *c, clr_scratch *s, const int32_t *list, int n) {
    polytope *p = polytopes_in(s);
    for (int k = 0; k < n; k += W) {
        rim_rows rows;
        double gap[W] __attribute__((aligned(64)));
        vertices_of v[4];
        depth_of d[W];
        int most[W];
        pick_rims(s, list + k, n - k, &rows);
        T(places) at = {.call = c, .in = rows.in[0], .stride = W, .lanes = rows.lanes};
        const VF round = LOADU(rows.round), one = SET1(1);
        STOREU(gap, depth_stop(c, 1, LOADU(rows.tol), round));
        for (int l = 0; l < W; l++) d[l].steps = 0, most[l] = INT32_MAX;
        for (int j = 0; j < 4; j++) {
            double from[3][W] __attribute__((aligned(64)));
            V3 b;
            for (int i = 0; i < 3; i++)
                for (int l = 0; l < W; l++) from[i][l] = s->more[CLR_SEED + 3 * j + i][rows.row[l]];
            const V3 dir = T(ld3)(from[0], W);
            v[j] = (vertices_of){.number = {one, one}};
            v[j].w = vertex_of(&at, dir, T(rotate_back)(at.in + CLR_ROT * W, W, dir), 0, 0, CLR_ROUND, CLR_ROUND, &v[j].a, &b);
        }
        const unsigned found = depths(p, &at, CLR_ROUND, CLR_ROUND, rows.lanes & tetrahedra(p, v, round), gap, most, d);
        for (unsigned m = rows.lanes; m; m &= m - 1) {
            const int l = __builtin_ctz(m), i = rows.row[l];
            s->steps[i] += (uint16_t)d[l].steps;
            if (!(found >> l & 1)) continue;
            s->rims.state[i] = CLR_RIM_LEAST;
            put_depth(&s->rims.answer[0][i], CLR_STRIDE64, d + l);
        }
    }
}

// surround answers those of n rows of the group that overlap, if both cores have rims, in s->rims; rows
// that it does not are the caller's. Where a cap counts the steps, expand_depths takes all of them.
static __attribute__((noinline)) void surround(const clr_call *c, clr_scratch *s, int n, int ka, int kb) {
    int32_t list[CLR_CAP];
    int listed = 0;
    if (!SURROUNDED(ka, kb) || c->collide) return;
    for (int k = 0; k < n; k++) {
        s->rims.state[k] = CLR_RIM_NONE;
        if (s->state[k] == CLR_INSIDE && !c->max_steps) list[listed++] = k;
    }
    memset(s->rims.state + n, CLR_RIM_NONE, CLR_STRIDE32 - (size_t)n);
    for (int turn = 0; turn < SURROUND_TURNS && listed > 0; turn++) {
        int local = 0, again = 0;
        search(c, s, list, listed, turn == 0);
        for (int i = 0; i < listed; i++)
            if (s->rims.state[list[i]] == CLR_RIM_LOCAL) s->list[local++] = list[i];
        if (local > 0) around(c, s, s->list, local);
        for (int i = 0; i < listed; i++)
            if (s->rims.state[list[i]] == CLR_RIM_AGAIN) list[again++] = list[i];
        listed = again;
    }
    listed = 0;
    for (int k = 0; k < n; k++)
        if (s->state[k] == CLR_INSIDE && !c->max_steps && s->rims.state[k] != CLR_RIM_LEAST) list[listed++] = k;
    if (listed > 0) expand_rims(c, s, list, listed);
}

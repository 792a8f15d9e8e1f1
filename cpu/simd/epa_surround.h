// Depths by local minima of the heights of D: of cores with rims (epa_rim_search.h), and of smooth ones
// (epa_bend_search.h). Around a minimum there is a cap of directions where nothing is lower, and a
// polytope in float32 proves it of the others (epa_around.h). Float64; included by epa.h.
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

// expand_rows answers n listed rows by expanding polytopes from the simplices that GJK ended with, as
// expand_depths does, but side by side.
static __attribute__((noinline)) void expand_rows(const clr_call *c, clr_scratch *s, const int32_t *list, int n, int ka, int kb) {
    polytope *p = polytopes_in(s);
    for (int k = 0; k < n; k += W) {
        deep_rows rows;
        double gap[W] __attribute__((aligned(64)));
        vertices_of v[4];
        depth_of d[W];
        int most[W];
        const int32_t none[W] = {0}; // no vertices of hulls
        pick_rows(c, s, list + k, n - k, ka, kb, &rows);
        const T(places) at = places_of(c, &rows);
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
            v[j].w = vertex_of(&at, dir, T(rotate_back)(at.in + CLR_ROT * W, W, dir), none, none, ka, kb, &v[j].a, &b);
        }
        const unsigned found = depths(p, &at, ka, kb, rows.lanes & tetrahedra(p, v, round), gap, most, d);
        for (unsigned m = rows.lanes; m; m &= m - 1) {
            const int l = __builtin_ctz(m), i = rows.row[l];
            s->steps[i] += (uint16_t)d[l].steps;
            if (!(found >> l & 1)) continue;
            s->minima.state[i] = CLR_MINIMUM_EXPANDED;
            put_depth(&s->minima.answer[0][i], CLR_STRIDE64, d + l);
        }
    }
}

// searched tells of a row whether a local minimum is looked for: not where RTR takes too many steps.
ALWAYS int searched(const clr_call *c, const clr_scratch *s, int k) {
    return !c->closed || (soft(c->shapes + s->shape_a[k], 1) && soft(c->shapes + s->shape_b[k], 1));
}

// surround answers those of n rows of the group that overlap, if heights of both cores have minima that
// are searched for, in s->minima; rows that it does not are the caller's. Where a cap counts the steps,
// expand_depths takes all of them.
static __attribute__((noinline)) void surround(const clr_call *c, clr_scratch *s, int n, int ka, int kb) {
    int32_t list[CLR_CAP];
    int listed = 0;
    const int rims = ka == CLR_ROUND && kb == CLR_ROUND;
    uint8_t *state = s->minima.state;
    if (!SURROUNDED(ka, kb) || c->collide) return;
    for (int k = 0; k < n; k++) {
        state[k] = CLR_MINIMUM_NONE;
        if (s->state[k] == CLR_INSIDE && !c->max_steps && (rims || (c->rtr && searched(c, s, k)))) list[listed++] = k;
    }
    memset(state + n, CLR_MINIMUM_NONE, CLR_STRIDE32 - (size_t)n);
    for (int turn = 0; turn < SURROUND_TURNS && listed > 0; turn++) {
        int local = 0, again = 0;
        if (rims) search_rims(c, s, list, listed, turn == 0);
        else search_bends(c, s, list, listed, turn == 0, ka, kb);
        for (int i = 0; i < listed; i++)
            if (state[list[i]] == CLR_MINIMUM_LOCAL) s->list[local++] = list[i];
        if (local > 0) around(c, s, s->list, local, ka, kb);
        for (int i = 0; i < listed; i++)
            if (state[list[i]] == CLR_MINIMUM_AGAIN) list[again++] = list[i];
        listed = again;
    }
    listed = 0;
    for (int k = 0; k < n; k++)
        if (s->state[k] == CLR_INSIDE && !c->max_steps && state[k] != CLR_MINIMUM_LEAST) list[listed++] = k;
    if (listed > 0) expand_rows(c, s, list, listed, ka, kb);
}

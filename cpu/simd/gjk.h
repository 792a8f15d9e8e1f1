// The GJK loop: one pair a lane, lanes refilled as they finish. A template, see
// vec3.h. In float32 it runs in the frame of A scaled to the pair and finds a simplex;
// in float64 it goes on from one. What it ends with claims nothing: finish.h
// recomputes and certifies it.
//
// A lane's arithmetic depends on its own pair alone, whatever its neighbours do and
// whenever it was filled.

#if REAL_BITS == 32
#define FIELDS CLR_IN
#define STRIDE CLR_STRIDE32
#define MAX_STEPS 64 // a float32 loop that needs more is stuck: float64 goes on
#define INPUT(s) (s)->in32
#else
#define FIELDS CLR_IN64
#define STRIDE CLR_STRIDE64
#define MAX_STEPS 200
#define INPUT(s) (s)->in64
#endif

// Refill once a quarter of the lanes is done: it costs as much for one lane as for some.
#define REFILL (W / 4 > 0 ? W / 4 : 1)

typedef struct {
    REAL in[FIELDS][W];
    REAL vert[9][W]; // slots b, c, d of the simplex
    REAL dir[12][W]; // directions that they support; the fourth of the latest vertex
    REAL found[2][4][W]; // and, of hulls A and B, which vertices they are
    REAL x[3][W], xx[W];
    REAL step[W];
    int32_t at[W]; // row of the group
    int32_t first[2][W], count[2][W]; // vertices of the hulls
#if REAL_BITS == 32
    REAL copy[2][CLR_SMALL_VERTICES][3][W] __attribute__((aligned(64))); // of small hulls
#endif
} __attribute__((aligned(64))) T(lanes);

#if REAL_BITS == 32
// copy_hull copies the vertices of a small hull to lane l.
ALWAYS void T(copy_hull)(T(lanes) *L, const clr_call *c, int side, int l, REAL scale, int most) {
    int f = L->first[side][l];
    for (int j = 0; j < most; j++) { // beyond the last there are copies of it
        L->copy[side][j][0][l] = scale * c->fx[f + j];
        L->copy[side][j][1][l] = scale * c->fy[f + j];
        L->copy[side][j][2][l] = scale * c->fz[f + j];
    }
}
#endif

// load fills lane l with row i.
ALWAYS void T(load)(T(lanes) *L, const clr_call *c, const clr_scratch *s, int l, int i, int ka, int kb, const int most[2]) {
    if (ka >= CLR_SMALL || kb >= CLR_SMALL) {
        const clr_shape *a = c->shapes + s->shape_a[i], *b = c->shapes + s->shape_b[i];
        L->first[0][l] = a->first;
        L->count[0][l] = a->count;
        L->first[1][l] = b->first;
        L->count[1][l] = b->count;
#if REAL_BITS == 32
        if (ka == CLR_SMALL) T(copy_hull)(L, c, 0, l, s->in32[CLR_PA + 3][i], most[0]);
        if (kb == CLR_SMALL) T(copy_hull)(L, c, 1, l, s->in32[CLR_PB + 3][i], most[1]);
#else
        (void)most;
        for (int k = 0; k < 3; k++) {
            L->found[0][k][l] = s->seed_a[k][i];
            L->found[1][k][l] = s->seed_b[k][i];
        }
#endif
    }
    for (int k = 0; k < FIELDS; k++) L->in[k][l] = INPUT(s)[k][i];
    L->at[l] = i;
    REAL xx = 0;
    for (int k = 0; k < 3; k++) {
        REAL v = L->in[CLR_X + k][l];
        L->x[k][l] = v;
        xx += v * v;
    }
    L->xx[l] = xx;
    L->step[l] = 0;
    for (int k = 0; k < 9; k++) {
#if REAL_BITS == 32
        L->vert[k][l] = 0;
        L->dir[k][l] = 0;
#else
        L->vert[k][l] = L->in[CLR_VERT + k][l];
        L->dir[k][l] = L->in[CLR_DIR + k][l];
#endif
    }
}

// flush stores what lane l ended with: the directions of its simplex, the newest
// vertex first. Slots that were overwritten in the last step hold the newest.
ALWAYS void T(flush)(const T(lanes) *L, clr_scratch *s, int l, int newest, int state) {
    int i = L->at[l];
    for (int k = 0; k < 4; k++) {
        int from = k == 3 ? 3 : k == 0 ? newest : k == newest ? 0 : k;
        for (int j = 0; j < 3; j++) s->more[CLR_SEED + 3 * k + j][i] = (double)L->dir[3 * from + j][l];
        s->seed_a[k][i] = (int32_t)L->found[0][from][l];
        s->seed_b[k][i] = (int32_t)L->found[1][from][l];
    }
    for (int j = 0; j < 3; j++) s->more[CLR_LAST + j][i] = (double)L->dir[9 + j][l];
    s->steps[i] += (uint16_t)L->step[l];
    s->state[i] = (uint8_t)state;
}

// gjk runs rows list[0..n) of the group, or 0..n−1 if list is null.
static void T(gjk)(const clr_call *call, clr_scratch *s, const int32_t *list, int n, int ka, int kb) {
    T(lanes) L;
    memset(&L, 0, sizeof L);
    int most[2] = {0, 0}; // vertices of the largest small hull
    for (int k = 0; k < n; k++) {
        int i = list ? list[k] : k;
        int32_t a = call->shapes[s->shape_a[i]].count, b = call->shapes[s->shape_b[i]].count;
        if (ka == CLR_SMALL && a > most[0]) most[0] = a;
        if (kb == CLR_SMALL && b > most[1]) most[1] = b;
    }
    T(places) at = {.call = call, .in = &L.in[0][0], .stride = W, .first = {L.first[0], L.first[1]}, .count = {L.count[0], L.count[1]}};
#if REAL_BITS == 32
    for (int side = 0; side < 2; side++) {
        at.copy[side] = (const REAL(*)[3][W])L.copy[side];
        at.copied[side] = most[side];
    }
#endif
    const VF zero = SET1(0), one = SET1(1);
    int next = 0;
    unsigned idle = LANES, finished = 0, inside = 0, away = 0, newest[3] = {0, 0, 0};
    const REAL cap = (REAL)MAX_STEPS - (REAL)0.5;
    int64_t steps = 0, busy = 0;
    FLUSH_BEGIN;
    for (;;) {
        for (unsigned m = finished; m; m &= m - 1) {
            int l = __builtin_ctz(m);
            int slot = newest[0] >> l & 1 ? 0 : newest[1] >> l & 1 ? 1 : 2;
            T(flush)(&L, s, l, slot, inside >> l & 1 ? CLR_INSIDE : away >> l & 1 ? CLR_AWAY : CLR_OPEN);
        }
        idle |= finished;
        for (unsigned m = idle; m && next < n; m &= m - 1) {
            int l = __builtin_ctz(m), i = list ? list[next] : next;
            next++;
            T(load)(&L, call, s, l, i, ka, kb, most);
            idle &= ~(1u << l);
            newest[0] |= 1u << l;
            newest[1] &= ~(1u << l);
            newest[2] &= ~(1u << l);
        }
        if (idle == LANES) break;

        const int target = next < n ? W - REFILL : 0; // go on while more lanes are active
        const REAL *in = &L.in[0][0];
        VM active = MFROM(LANES & ~idle), is_inside = LT(one, zero), is_away = is_inside;
        V3 b = T(ld3)(&L.vert[0][0], W), c = T(ld3)(&L.vert[3][0], W), d = T(ld3)(&L.vert[6][0], W), x = T(ld3)(&L.x[0][0], W);
        VF xx = LOADU(L.xx), step = LOADU(L.step);
        VM new_b = MFROM(newest[0]), new_c = MFROM(newest[1]), new_d = MFROM(newest[2]);
        unsigned left;
        do {
            steps++;
            busy += __builtin_popcount(MBITS(active));
            VF r = RSQRT(MAX(xx, SET1(TINY))), length = xx * r;
            V3 a;
            VF found[2] = {zero, zero};
            at.lanes = MBITS(active);
            V3 w = T(support)(&at, ka, kb, x, r, &a, found);
#if REAL_BITS == 32
            VM fresh = LT(step, SET1((REAL)0.5)); // x is a direction, the simplex is empty
#else
            VM fresh = LT(one, zero);
#endif
            VF dot = T(dot)(x, w), bound = dot * r;
            step = SEL(active, step + one, step);
            // Answered: the plane along x is close enough to x, or beyond what matters,
            // or x proves an overlap.
            VM close = MANDN(LE(length - bound, LOADU(in + CLR_STOP * W)), fresh);
            VM far = LT(LOADU(in + CLR_FAR * W), bound);
            if (!call->collide) far = MANDN(far, fresh);
            VM near = MANDN(LT(length, LOADU(in + CLR_NEAR * W)), fresh);
            VM done = MAND(active, MOR(close, MOR(far, near)));
            is_away = MOR(is_away, MAND(active, far));
            active = MANDN(active, done);
            // From here on no rounding may claim that the origin is inside.
            VM apart = LT(LOADU(in + CLR_NOISE * W), bound);

            T(nearest) p = T(project)(w, b, c, d);
            V3 nx = T(sel)(fresh, w, p.x);
            VF nxx = T(dot)(nx, nx);
            VM in_now = MANDN(MAND(p.inside, active), MOR(apart, fresh));
            is_inside = MOR(is_inside, in_now);
            // A step that does not lower the norm ends the lane, and is not taken.
            VM better = MANDN(MAND(active, MOR(fresh, LT(nxx, xx))), in_now);
            new_b = MOR(MANDN(new_b, better), MANDN(better, MANDN(p.keep_b, fresh)));
            new_c = MOR(MANDN(new_c, better), MANDN(better, MANDN(p.keep_c, fresh)));
            new_d = MOR(MANDN(new_d, better), MANDN(better, MANDN(p.keep_d, fresh)));
            VM put_b = MAND(new_b, better), put_c = MAND(new_c, better), put_d = MAND(new_d, better);
            T(mst3)(&L.dir[0][0], W, put_b, x);
            T(mst3)(&L.dir[3][0], W, put_c, x);
            T(mst3)(&L.dir[6][0], W, put_d, x);
            T(mst3)(&L.dir[9][0], W, MOR(done, in_now), x);
            for (int side = 0; side < 2; side++) {
                if ((side ? kb : ka) < CLR_SMALL) continue;
                MSTORE(L.found[side][0], put_b, found[side]);
                MSTORE(L.found[side][1], put_c, found[side]);
                MSTORE(L.found[side][2], put_d, found[side]);
                MSTORE(L.found[side][3], MOR(done, in_now), found[side]);
            }
            b = T(sel)(put_b, w, b);
            c = T(sel)(put_c, w, c);
            d = T(sel)(put_d, w, d);
            x = T(sel)(better, nx, x);
            xx = SEL(better, nxx, xx);
            active = MAND(better, LT(step, SET1(cap)));
            left = MBITS(active);
        } while (__builtin_popcount(left) > target);
        finished = LANES & ~left & ~idle;
        inside = MBITS(is_inside);
        away = MBITS(is_away);
        newest[0] = MBITS(new_b);
        newest[1] = MBITS(new_c);
        newest[2] = MBITS(new_d);
        T(st3)(&L.vert[0][0], W, b);
        T(st3)(&L.vert[3][0], W, c);
        T(st3)(&L.vert[6][0], W, d);
        T(st3)(&L.x[0][0], W, x);
        STOREU(L.xx, xx);
        STOREU(L.step, step);
    }
    FLUSH_END;
#if REAL_BITS == 32
    s->rows32 += n; s->steps32 += steps; s->lanes32 += busy;
#else
    s->rows64 += n; s->steps64 += steps; s->lanes64 += busy;
#endif
}

#undef FIELDS
#undef STRIDE
#undef MAX_STEPS
#undef INPUT
#undef REFILL
#undef TINY
#undef FLAT_FACE
#undef FLAT_TETRAHEDRON
#undef TINY_LENGTH2
#undef TINY_AREA2

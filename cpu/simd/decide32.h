// What Boolean rows have in float32 before the loop: the frame of the pair, and the first direction
// that may separate it, or a pair of feet that meets. A template, float32; decide.h has the proof.

// FRAME_OFFSETS is how far centers may be off the origins of their shapes, both together, where no
// length in the frame is above 1.
#define FRAME_OFFSETS 0.5f

// feet_meet tells whether cylinders, cones, frustums, segments and points have a point in common
// or points nearer than the radius, by a pair of feet, see feet.h, and writes what leads
// from the foot on B to that on A.
ALWAYS VM feet_meet(const T(profile) *pa, const T(profile) *pb, const VF m[9], V3 t, VF radius, VF noise, V3 *x) {
    const V3 point = T(axis_point)(pa->half, pb->half, (V3){m[2], m[5], m[8]}, t);
    const T(foot) a = T(foot_of)(pa, point), b = T(foot_of)(pb, T(turn_back)(m, T(sub)(a.at, t)));
    *x = T(sub)(a.at, T(add)(T(turn)(m, b.at), t));
    const VF near = radius - noise;
    return MOR(LT(noise, MAX(a.deep, b.deep)), MAND(LT(SET1(0), near), LT(T(dot)(*x, *x), near * near)));
}

// small_heights32 are the heights of hulls of at most CLR_SMALL_VERTICES vertices above their centers.
ALWAYS VF small_heights32(const clr_call *c, const int32_t shape[W], V3 d) {
    REAL u[3][W] __attribute__((aligned(64)));
    int32_t first[W], count[W], most = 0;
    VF high[W];
    T(st3)(&u[0][0], W, d);
    for (int l = 0; l < W; l++) {
        first[l] = c->shapes32[shape[l]].first, count[l] = c->shapes32[shape[l]].count;
        if (count[l] > most) most = count[l];
    }
#ifdef HALF // of a vector, for hulls of no more vertices
    if (most <= W / 2) {
        HALF half[W];
        for (int l = 0; l < W; l++) half[l] = HALF_HEIGHTS(c->fx + first[l], c->fy + first[l], c->fz + first[l], u[0][l], u[1][l], u[2][l]);
        return HALF_MAX(half);
    }
#endif
    for (int l = 0; l < W; l++) {
        const REAL *x = c->fx + first[l], *y = c->fy + first[l], *z = c->fz + first[l];
        const VF ux = SET1(u[0][l]), uy = SET1(u[1][l]), uz = SET1(u[2][l]);
        high[l] = FMA(uz, LOADU(z), FMA(uy, LOADU(y), ux * LOADU(x)));
        for (int j = W; j < count[l]; j += W) high[l] = MAX(FMA(uz, LOADU(z + j), FMA(uy, LOADU(y + j), ux * LOADU(x + j))), high[l]);
    }
    return EACH_MAX(high);
}

// height32 is first_height of the lanes, where 1/inv is the length that counts as 1; p is in these units.
ALWAYS VF height32(const clr_call *c, int k, const int32_t shape[W], const VF p[4], VF inv, V3 d) {
    if (k == CLR_SMALL) return inv * small_heights32(c, shape, d);
    return T(first_height)(k, p, d);
}

// decide_frame32 answers those of W rows, from order[k] on of n, that the first direction separates
// or a pair of feet decides, and writes the columns of the others from row `to` on. It returns
// the row behind them. Rows out of its range it lists at *beyond.
ALWAYS int decide_frame32(const clr_call *c, clr_scratch *s, int64_t lo, const int32_t *order, int n, int k, int to, int ka, int kb, int32_t **beyond) {
    int32_t row[W];
    frame_shapes shapes;
    for (int l = 0; l < W; l++) row[l] = order[k + l < n ? k + l : n - 1];
    const pair_frame f = frame_of(c, lo, row, n - k, &shapes);
    VF p[4], q[4], a[4], b[4];
    frame_columns(c, shapes.a, 0, p); // parameters and radius
    frame_columns(c, shapes.b, 0, q);
    frame_columns(c, shapes.a, 4, a); // size and erode
    frame_columns(c, shapes.b, 4, b);
    const VF zero = SET1(0), *m = f.m, noise = SET1((REAL)(decide_units(ka, kb) * 0x1p-24));
    VF radius = p[3] + q[3], offsets = zero;
    V3 d = f.t; // from center to center
    if (OFF_CENTER(ka) || OFF_CENTER(kb)) { // other shapes have theirs at their origin
        VF ca[4], cb[4];
        frame_columns(c, shapes.a, 6, ca);
        frame_columns(c, shapes.b, 6, cb);
        d = T(sub)(T(add)(d, T(turn)(m, (V3){cb[0], cb[1], cb[2]})), (V3){ca[0], ca[1], ca[2]});
        for (int j = 0; j < 3; j++) offsets = offsets + MAX(ca[j], -ca[j]) + MAX(cb[j], -cb[j]);
    }
    const VF span = SQRT(T(dot)(d, d)) + (a[0] + b[0]), inv = RCP(span);
    const VM good = MAND(MAND(f.good, LE(offsets * inv, SET1(FRAME_OFFSETS))), MAND(LT(SET1(0x1p-30f), span), LT(span, SET1(0x1p40f))));
    d = T(scale)(inv, d);
    radius = radius * inv;
    for (int j = 0; j < 3; j++) p[j] = p[j] * inv, q[j] = q[j] * inv;
    p[3] = a[1], q[3] = b[1];
    if (ka != CLR_HULL) p[3] = p[3] * inv; // of hulls a ratio
    if (kb != CLR_HULL) q[3] = q[3] * inv;

    // The plane across the first direction, or across what leads from foot to foot.
    VM by_feet = LT(noise, zero), meet = by_feet;
    V3 line = d;
    if (c->closed && has_feet(ka) && has_feet(kb) && (ka == CLR_ROUND || kb == CLR_ROUND)) {
        const T(profile) fa = T(profile_of)((V3){p[0], p[1], p[2]}), fb = T(profile_of)((V3){q[0], q[1], q[2]});
        V3 x;
        by_feet = MAND(ka == CLR_ROUND ? good : T(is_segment)(&fa), kb == CLR_ROUND ? good : T(is_segment)(&fb));
        meet = MAND(MAND(good, by_feet), feet_meet(&fa, &fb, m, d, radius, noise, &x));
        line = T(sel)(LT(noise * noise, T(dot)(x, x)), T(neg)(x), d);
    }
    if (MBITS(by_feet) != LANES) {
        V3 ea = T(extents)(ka, (V3){p[0], p[1], p[2]}), eb = T(extents)(kb, (V3){q[0], q[1], q[2]});
        ea = (V3){ea.x + radius, ea.y + radius, ea.z + radius};
        line = T(sel)(by_feet, line, T(sounder)(T(first_direction)(ea, eb, m, d, FIRST_STATUS), d));
    }
    line = T(scale)(RSQRT(MAX(T(dot)(line, line), SET1(TINY))), line);
    const VF heights = height32(c, ka, shapes.a, p, inv, line) + height32(c, kb, shapes.b, q, inv, T(turn_back)(m, T(neg)(line)));
    const VM apart = MAND(good, LT(radius + noise, T(dot)(d, line) - heights));
    const unsigned valid = k + W <= n ? LANES : (1u << (n - k)) - 1, over = MBITS(meet), done = valid & (MBITS(apart) | over), feet = MBITS(by_feet);
    uint8_t *status = c->status + (lo - c->first), *method = c->method ? c->method + (lo - c->first) : 0;
    for (unsigned bits = valid & ~MBITS(good); bits; bits &= bits - 1) *(*beyond)++ = row[__builtin_ctz(bits)];
    const unsigned open = valid & MBITS(good) & ~done;
#ifdef IS_RUN
    if (IS_RUN(row)) {
        PUT_BYTES(status + row[0], done, over, CLR_PENETRATING, CLR_SEPARATED);
        if (method) PUT_BYTES(method + row[0], done, feet, CLR_BY_NEWTON, CLR_BY_GJK);
    } else
#endif
        for (unsigned bits = done; bits; bits &= bits - 1) {
            const int l = __builtin_ctz(bits);
            status[row[l]] = over >> l & 1 ? CLR_PENETRATING : CLR_SEPARATED;
            if (method) method[row[l]] = feet >> l & 1 ? CLR_BY_NEWTON : CLR_BY_GJK; // or the first step of GJK
        }
    if (!open) return to;

    if (HAS_VERTICES(ka)) p[3] = inv;
    if (HAS_VERTICES(kb)) q[3] = inv;
    for (int j = 0; j < 9; j++) PACK(&s->in32[CLR_ROT + j][to], open, m[j]);
    PACK(&s->in32[CLR_TRANS][to], open, d.x);
    PACK(&s->in32[CLR_TRANS + 1][to], open, d.y);
    PACK(&s->in32[CLR_TRANS + 2][to], open, d.z);
    for (int j = 0; j < 4; j++) {
        PACK(&s->in32[CLR_PA + j][to], open, p[j]);
        PACK(&s->in32[CLR_PB + j][to], open, q[j]);
    }
    PACK(&s->in32[CLR_STOP][to], open, SET1(0.25f) * noise);
    PACK(&s->in32[CLR_FAR][to], open, radius + noise);
    PACK(&s->in32[CLR_NEAR][to], open, FMA(SET1(-2), noise, radius));
    PACK(&s->in32[CLR_NOISE][to], open, SET1((REAL)NOISE32));
    // The loop begins from the other side. No direction is as good as any.
    const VM none = LE(T(dot)(line, line), SET1(0.5f));
    PACK(&s->in32[CLR_X][to], open, SEL(none, SET1(1), -line.x));
    PACK(&s->in32[CLR_X + 1][to], open, SEL(none, zero, -line.y));
    PACK(&s->in32[CLR_X + 2][to], open, SEL(none, zero, -line.z));
    PACK_INTS(s->row + to, open, row);
    PACK_INTS(s->shape_a + to, open, shapes.a);
    PACK_INTS(s->shape_b + to, open, shapes.b);
    memset(s->key + to, 1, W);
    return to + __builtin_popcount(open);
}

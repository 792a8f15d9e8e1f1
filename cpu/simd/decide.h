// Boolean rows of which only the status is asked, decided in float32 wherever its rounding
// leaves no doubt: most rows. The others are solved as any row. A template, float64,
// which forms the poses; the rest is the loop of gjk.h.
//
// The proof. In the frame of gjk.h, where no length is above 1, let u = 2⁻²⁴. What is
// computed differs from the truth by at most
//
//	 5 u  the rotation (2), the translation (1) and the parameters of both cores (2),
//	      rounded to float32,
//	12 u  a vertex of B that is lowest along a direction turned with 6 u of error,
//	10 u  a vertex computed from its direction: reciprocal roots to 4 u, three products,
//	10 u  the vertex of B turned back, moved and subtracted, and the dot product,
//	 6 u  the length of the direction,
//
// together below DECIDE_NOISE = 64 u. The frame itself is formed in float64, where
// centers far from their origins may cancel: that is off by the roundoff of ref.Pair,
// 24·2⁻⁵³ of all lengths that went into it, of which those of the frame drown in 64 u;
// the offsets of the centers, twice because the translation may be as long, are added.
// So a row is separated if the plane along some x is farther than the radii by more, and
// penetrating if a convex combination of vertices is nearer than the radii by more, or a
// tetrahedron of vertices holds the origin by more.

// decide_frame writes the float32 columns of W rows from k on, of which order has n.
ALWAYS void decide_frame(const clr_call *c, clr_scratch *s, int64_t lo, const int32_t *order, int n, int k, int ka, int kb) {
    const double *pa[W], *qa[W], *pb[W], *qb[W], *sa[W], *sb[W];
    for (int l = 0; l < W; l++) {
        clr_row r = row_at(c, lo + order[k + l < n ? k + l : n - 1]);
        pa[l] = r.pa, qa[l] = r.qa, pb[l] = r.pb, qb[l] = r.qb;
        sa[l] = c->shapes[r.shape_a].p, sb[l] = c->shapes[r.shape_b].p;
        s->shape_a[k + l] = r.shape_a;
        s->shape_b[k + l] = r.shape_b;
    }
    VF p[4], q[4], a[4], b[4];
    ROWS(p, pa, 7)
    ROWS(q, pb, 7)
    ROWS(a, qa, 15)
    ROWS(b, qb, 15)
    V3 at = {p[0], p[1], p[2]}, bt = {q[0], q[1], q[2]}, u = {a[1], a[2], a[3]}, v = {b[1], b[2], b[3]};
    VM good = MAND(good_pose(at, a[0], u), good_pose(bt, b[0], v));

    // The rotation of B in the frame of A is that of the quaternion conj(a)·b, and
    // Rᵀt = t + 2/|a|²·(u × (u × t) − w·(u × t)).
    VF aa = FMA(a[0], a[0], T(dot)(u, u)), bb = FMA(b[0], b[0], T(dot)(v, v));
    VF w = FMA(a[0], b[0], T(dot)(u, v));
    V3 r = T(sub)(T(axpy)(a[0], v, T(scale)(-b[0], u)), T(cross)(u, v));
    VF m[9];
    quaternion_matrix(SET1(2) / (aa * bb), w, r, m);
    V3 t = T(sub)(bt, at), ut = T(cross)(u, t);
    t = T(axpy)(SET1(2) / aa, T(sub)(T(cross)(u, ut), T(scale)(a[0], ut)), t);

    ROWS(p, sa, 15) // parameters
    ROWS(q, sb, 15)
    for (int l = 0; l < W; l++) sa[l] += 4, sb[l] += 4;
    ROWS(a, sa, 15) // radius, size, and the x and y of the center
    ROWS(b, sb, 15)
    V3 d = t; // from center to center
    VF noise = SET1(DECIDE_NOISE), offsets = SET1(0);
    if (ka >= CLR_SMALL || kb >= CLR_SMALL) { // other shapes have theirs at their origin
        VF ca[3], cb[3];
        for (int l = 0; l < W; l++) sa[l] += 2, sb[l] += 2;
        ROWS(ca, sa, 7)
        ROWS(cb, sb, 7)
        V3 o = {m[0] * cb[0] + m[1] * cb[1] + m[2] * cb[2], m[3] * cb[0] + m[4] * cb[1] + m[5] * cb[2], m[6] * cb[0] + m[7] * cb[1] + m[8] * cb[2]};
        d = T(sub)(T(add)(t, o), (V3){ca[0], ca[1], ca[2]});
        for (int j = 0; j < 3; j++) {
            offsets = offsets + MAX(ca[j], -ca[j]) + MAX(cb[j], -cb[j]);
        }
    }
    VF radius = a[0] + b[0], far = T(dot)(d, d);
    VF inv = SET1(1) / (SQRT(far) + a[1] + b[1]);
    noise = noise + SET1(24 * 0x1p-53) * inv * (offsets + offsets);
    for (int j = 0; j < 9; j++) NARROW(&s->in32[CLR_ROT + j][k], m[j]);
    NARROW(&s->in32[CLR_TRANS][k], d.x * inv);
    NARROW(&s->in32[CLR_TRANS + 1][k], d.y * inv);
    NARROW(&s->in32[CLR_TRANS + 2][k], d.z * inv);
    for (int j = 0; j < 4; j++) {
        NARROW(&s->in32[CLR_PA + j][k], p[j] * inv);
        NARROW(&s->in32[CLR_PB + j][k], q[j] * inv);
    }
    if (ka >= CLR_SMALL) NARROW(&s->in32[CLR_PA + 3][k], inv);
    if (kb >= CLR_SMALL) NARROW(&s->in32[CLR_PB + 3][k], inv);
    NARROW(&s->in32[CLR_STOP][k], SET1(0.25) * noise);
    NARROW(&s->in32[CLR_FAR][k], FMA(radius, inv, noise));
    NARROW(&s->in32[CLR_NEAR][k], FMA(radius, inv, SET1(-2) * noise));
    NARROW(&s->in32[CLR_NOISE][k], SET1(NOISE32));
    VM none = LE(far * inv * inv, SET1(1e-18)); // no direction
    NARROW(&s->in32[CLR_X][k], SEL(none, SET1(1), -d.x * inv));
    NARROW(&s->in32[CLR_X + 1][k], SEL(none, SET1(0), -d.y * inv));
    NARROW(&s->in32[CLR_X + 2][k], SEL(none, SET1(0), -d.z * inv));
    unsigned bits = MBITS(good);
    for (int l = 0; l < W; l++) s->key[k + l] = (uint8_t)(bits >> l & 1);
}

// decide answers what it can of rows order[0..n), relative to lo, moves the others to the
// front of order, and returns their number.
static __attribute__((noinline)) int decide(const clr_call *c, clr_scratch *s, int64_t lo, int32_t *order, int rows, int ka, int kb) {
    int32_t *const begin = order, *rest = order;
    uint8_t *status = c->status + (lo - c->first), *method = c->method ? c->method + (lo - c->first) : 0;
    for (; rows > 0; rows -= CLR_CAP, order += CLR_CAP) {
        int n = rows < CLR_CAP ? rows : CLR_CAP;
        for (int k = 0; k < n; k += W) decide_frame(c, s, lo, order, n, k, ka, kb);
        gjk_decide(c, s, n, ka, kb);
        for (int k = 0; k < n; k++) {
            if (s->key[k] && s->state[k] == CLR_AWAY) status[order[k]] = CLR_SEPARATED;
            else if (s->key[k] && s->state[k] == CLR_INSIDE) status[order[k]] = CLR_PENETRATING;
            else {
                *rest++ = order[k];
                continue;
            }
            if (method) method[order[k]] = CLR_BY_GJK;
        }
    }
    return (int)(rest - begin);
}

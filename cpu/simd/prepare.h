// From rows of the input to columns in the frame of the pair. A template, float64.

// place finds shapes and poses of row i.
typedef struct { int32_t shape_a, shape_b; const double *pa, *qa, *pb, *qb; } clr_row;

ALWAYS clr_row row_at(const clr_call *c, int64_t i) {
    clr_row r;
    if (!c->poses) {
        r = (clr_row){c->shape_a[i], c->shape_b[i], c->position_a + 3 * i, c->rotation_a + 4 * i, c->position_b + 3 * i, c->rotation_b + 4 * i};
    } else {
        int64_t world = i / c->templates, pair = i % c->templates;
        int32_t a = c->template_a[pair], b = c->template_b[pair];
        const double *pa = c->poses + 7 * (world * c->bodies + a), *pb = c->poses + 7 * (world * c->bodies + b);
        r = (clr_row){c->body_shape[a], c->body_shape[b], pa, pa + 3, pb, pb + 3};
    }
    return r;
}

// good reports whether positions are in range and quaternions far from where squares
// leave the range of float64. Rows that are not are the caller's: some are valid.
ALWAYS VM good_pose(V3 p, VF w, V3 v) {
    const VF limit = SET1(1e9), lo = SET1(1e-200), hi = SET1(1e200); // 1e9: batch.MaxLength
    V3 q = {MAX(p.x, -p.x), MAX(p.y, -p.y), MAX(p.z, -p.z)};
    VF n = FMA(w, w, T(dot)(v, v));
    return MAND(MAND(MAND(LE(q.x, limit), LE(q.y, limit)), LE(q.z, limit)), MAND(LT(lo, n), LT(n, hi)));
}

// matrix writes the rotation of a quaternion of any length, as geom.Pose.Matrix does; s
// is 2 over the square of its length.
ALWAYS void quaternion_matrix(VF s, VF w, V3 v, VF m[9]) {
    VF xx = v.x * v.x, yy = v.y * v.y, zz = v.z * v.z, xy = v.x * v.y, xz = v.x * v.z, yz = v.y * v.z;
    VF wx = w * v.x, wy = w * v.y, wz = w * v.z;
    const VF one = SET1(1);
    m[0] = FNMA(s, yy + zz, one); m[1] = s * (xy - wz);         m[2] = s * (xz + wy);
    m[3] = s * (xy + wz);         m[4] = FNMA(s, xx + zz, one); m[5] = s * (yz - wx);
    m[6] = s * (xz - wy);         m[7] = s * (yz + wx);         m[8] = FNMA(s, xx + yy, one);
}

ALWAYS void matrix(VF w, V3 v, VF m[9]) { quaternion_matrix(SET1(2) / FMA(w, w, T(dot)(v, v)), w, v, m); }

// Rounding error of a support value in the frame that float32 works in, where no
// length is above 1: three rotated components and the sum of both vertices, a few
// units of 6e-8 in all.
#define NOISE32 2.5e-7
#define STOP32 1.2e-7

// prepare fills the columns of rows order[0..n) (relative to lo) of the input.
static __attribute__((noinline)) void prepare(const clr_call *c, clr_scratch *s, int64_t lo, const int32_t *order, int n, int ka, int kb) {
    double inverse[CLR_STRIDE64], between[3][CLR_STRIDE64];
    const int hulls = ka >= CLR_SMALL || kb >= CLR_SMALL; // other shapes have their centre at their origin
    double tmp[27][W] __attribute__((aligned(64)));
    memset(tmp, 0, sizeof tmp);
    for (int k = 0; k < n; k += W) {
        for (int l = 0; l < W; l++) {
            int i = k + l < n ? k + l : n - 1;
            int64_t at = lo + order[i];
            clr_row r = row_at(c, at);
            const clr_shape *a = c->shapes + r.shape_a, *b = c->shapes + r.shape_b;
            for (int j = 0; j < 3; j++) tmp[j][l] = r.pa[j];
            for (int j = 0; j < 4; j++) tmp[3 + j][l] = r.qa[j];
            for (int j = 0; j < 3; j++) tmp[7 + j][l] = r.pb[j];
            for (int j = 0; j < 4; j++) tmp[10 + j][l] = r.qb[j];
            if (c->warm)
                for (int j = 0; j < 3; j++) tmp[14 + j][l] = c->warm[3 * at + j];
            if (hulls) {
                for (int j = 0; j < 3; j++) tmp[17 + j][l] = a->center[j];
                for (int j = 0; j < 3; j++) tmp[20 + j][l] = b->center[j];
                tmp[24][l] = a->off + b->off;
            }
            tmp[23][l] = a->size + b->size;
            tmp[25][l] = a->radius;
            tmp[26][l] = b->radius;
            for (int j = 0; j < 3; j++) s->in64[CLR_PA + j][k + l] = a->p[j];
            for (int j = 0; j < 3; j++) s->in64[CLR_PB + j][k + l] = b->p[j];
            s->in64[CLR_PA + 3][k + l] = a->erode;
            s->in64[CLR_PB + 3][k + l] = b->erode;
            s->shape_a[k + l] = r.shape_a;
            s->shape_b[k + l] = r.shape_b;
            s->row[k + l] = order[i];
            s->steps[k + l] = 0;
        }
        V3 pa = T(ld3)(tmp[0], W), pb = T(ld3)(tmp[7], W), va = T(ld3)(tmp[4], W), vb = T(ld3)(tmp[11], W), warm = T(ld3)(tmp[14], W);
        VF wa = LOADU(tmp[3]), wb = LOADU(tmp[10]);
        VM good = MAND(good_pose(pa, wa, va), good_pose(pb, wb, vb));
        VF w2 = T(dot)(warm, warm);
        VM warmed = LT(SET1(1e-200), w2);
        good = MAND(good, LE(w2, SET1(1e200))); // NaN and infinity as well
        unsigned bits = MBITS(good);
        for (int l = 0; l < W; l++) s->state[k + l] = bits >> l & 1 ? CLR_OPEN : CLR_BAD;

        VF ra[9], rb[9];
        matrix(wa, va, ra);
        matrix(wb, vb, rb);
        for (int j = 0; j < 9; j++) STOREU(&s->more[CLR_ROTA + j][k], ra[j]);
        T(st3)(&s->more[CLR_POSA][k], CLR_STRIDE64, pa);
        VF m[9];
        for (int i = 0; i < 3; i++)
            for (int j = 0; j < 3; j++)
                m[3 * i + j] = FMA(ra[6 + i], rb[6 + j], FMA(ra[3 + i], rb[3 + j], ra[i] * rb[j]));
        for (int j = 0; j < 9; j++) STOREU(&s->in64[CLR_ROT + j][k], m[j]);
        const double *rota = &s->more[CLR_ROTA][k];
        V3 t = T(rotate_back)(rota, CLR_STRIDE64, T(sub)(pb, pa));
        T(st3)(&s->in64[CLR_TRANS][k], CLR_STRIDE64, t);

        VF size = LOADU(tmp[23]), scale = SQRT(T(dot)(t, t)) + size + LOADU(tmp[24]);
        VF round = SET1(24 * 0x1p-53) * scale; // see ref.Pair.Roundoff
        VF tol = SET1(c->tolerance) * size;
        VF radius = LOADU(tmp[25]) + LOADU(tmp[26]);
        STOREU(&s->more[CLR_RA][k], LOADU(tmp[25]));
        STOREU(&s->more[CLR_RB][k], LOADU(tmp[26]));
        STOREU(&s->more[CLR_ROUND_OFF][k], round);
        STOREU(&s->more[CLR_TOL][k], tol);
        STOREU(&s->in64[CLR_STOP][k], MAX(tol - SET1(2) * round, round));
        VF far = SET1(1e300), near = SET1(-1);
        if (c->has_cut_off) far = SET1(c->cut_off) + radius + round;
        if (c->collide) far = radius + round, near = radius - round;
        STOREU(&s->in64[CLR_FAR][k], far);
        STOREU(&s->in64[CLR_NEAR][k], near);
        STOREU(&s->in64[CLR_NOISE][k], round);

        // The first direction: warm start, or the line of the centres.
        V3 centre = T(add)(T(rotate)(&s->in64[CLR_ROT][k], CLR_STRIDE64, T(ld3)(tmp[20], W)), t);
        V3 x = T(sub)(T(ld3)(tmp[17], W), centre);
        // float32 sees both cores from their centres.
        VF reach = SQRT(T(dot)(x, x)) + size;
        STOREU(&inverse[k], SET1(1) / reach);
        T(st3)(&between[0][k], CLR_STRIDE64, T(neg)(x));
        x = T(sel)(warmed, T(scale)(SQRT(T(dot)(x, x) / w2), T(neg)(T(rotate_back)(rota, CLR_STRIDE64, warm))), x);
        VF xx = T(dot)(x, x);
        VM none = LE(xx, SET1(1e-18) * scale * scale);
        x = T(sel)(none, (V3){scale, SET1(0), SET1(0)}, x);
        T(st3)(&s->in64[CLR_X][k], CLR_STRIDE64, x);
    }
    for (int i = n; i % W != 0; i++) // rows that fill up the last vector
        for (int j = 0; j < 4; j++) s->seed_a[j][i] = s->seed_b[j][i] = 0;
    for (int k = 0; k < 9; k++)
        for (int i = 0; i < n; i++) s->in32[k][i] = (float)s->in64[k][i];
    for (int k = CLR_PA; k < CLR_NOISE; k++)
        for (int i = 0; i < n; i++) s->in32[k][i] = (float)(s->in64[k][i] * inverse[i]);
    for (int k = 0; k < 3; k++)
        for (int i = 0; i < n; i++) s->in32[CLR_TRANS + k][i] = (float)(between[k][i] * inverse[i]);
    for (int side = 0; side < 2; side++)
        for (int i = 0; i < n && (side ? kb : ka) >= CLR_SMALL; i++) s->in32[(side ? CLR_PB : CLR_PA) + 3][i] = (float)inverse[i];
    for (int k = CLR_X; k < CLR_IN; k++)
        for (int i = 0; i < n; i++) s->in32[k][i] = (float)(s->in64[k][i] * inverse[i]);
    for (int i = 0; i < n; i++) {
        float stop = 0.5f * s->in32[CLR_STOP][i];
        s->in32[CLR_STOP][i] = stop > (float)STOP32 ? stop : (float)STOP32;
        s->in32[CLR_FAR][i] += (float)(2 * NOISE32);
        s->in32[CLR_NEAR][i] -= (float)(2 * NOISE32);
        s->in32[CLR_NOISE][i] = (float)NOISE32;
    }
}

// From rows of the input to columns in the frame of the pair. A template, float64.

// good reports whether positions are in range and quaternions far from where squares
// leave the range of float64. Rows that are not are the caller's: some are valid.
ALWAYS VM good_pose(V3 p, VF w, V3 v) {
    const VF limit = SET1(1e9), lo = SET1(1e-200), hi = SET1(1e200); // 1e9: batch.MaxLength
    V3 q = {MAX(p.x, -p.x), MAX(p.y, -p.y), MAX(p.z, -p.z)};
    VF n = FMA(w, w, T(dot)(v, v));
    return MAND(MAND(MAND(LE(q.x, limit), LE(q.y, limit)), LE(q.z, limit)), MAND(LT(lo, n), LT(n, hi)));
}

// matrix writes the rotation of a quaternion of any length.
ALWAYS void matrix(VF w, V3 v, VF m[9]) { quaternion_matrix(SET1(2) / FMA(w, w, T(dot)(v, v)), w, v, m); }

// relative is the rotation of b in the frame of a.
ALWAYS void relative(const VF a[9], const VF b[9], VF m[9]) {
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++)
            m[3 * i + j] = FMA(a[6 + i], b[6 + j], FMA(a[3 + i], b[3 + j], a[i] * b[j]));
}

// Rounding error of a support value in the frame that float32 works in, where no
// length is above 1: three rotated components and the sum of both vertices, a few
// units of 6e-8 in all.
#define NOISE32 2.5e-7
#define STOP32 1.2e-7

// power_units bounds what rounding adds to a support value of class k beyond that of the other
// classes, in units of 2⁻⁵³ of the size: see superquadric.h and smooth.h.
ALWAYS int power_units(int k) {
    if (k == CLR_SMOOTH_REVOLUTION || k == CLR_SMOOTH_HULL) return 32 + CLR_SMOOTH_VERTICES / W;
    return k == CLR_SUPERQUADRIC ? 12 : 0;
}

// most_gap is the gap that no row may exceed: the tolerance, or what four times the rounding
// error of the other classes makes of it far away.
ALWAYS VF most_gap(const clr_call *c, int ka, int kb, VF tol, VF round) {
    const double powers = 4 * (power_units(ka) + power_units(kb)) * 0x1p-53;
    const VF most = SET1(4) * round;
    return powers > 0 ? MAX(tol, FNMA(SET1(powers / c->tolerance), tol, most)) : MAX(tol, most);
}

// prepare fills the columns of rows order[0..n) (relative to lo) of the input.
static __attribute__((noinline)) void prepare(const clr_call *c, clr_scratch *s, int64_t lo, const int32_t *order, int n, int ka, int kb) {
    const int hulls = OFF_CENTER(ka) || OFF_CENTER(kb); // other shapes have their centre at their origin
    const VF zero = SET1(0), powers = SET1((power_units(ka) + power_units(kb)) * 0x1p-53);
    for (int k = 0; k < n; k += W) {
        const double *rows_pa[W], *rows_qa[W], *rows_pb[W], *rows_qb[W], *rows_a[W], *rows_b[W], *rows_warm[W];
        for (int l = 0; l < W; l++) {
            int i = k + l < n ? k + l : n - 1;
            int64_t at = lo + order[i];
            clr_row r = row_at(c, at);
            rows_pa[l] = r.pa, rows_qa[l] = r.qa, rows_pb[l] = r.pb, rows_qb[l] = r.qb;
            rows_a[l] = c->shapes[r.shape_a].p, rows_b[l] = c->shapes[r.shape_b].p;
            rows_warm[l] = c->warm ? c->warm + 3 * at : 0;
            s->shape_a[k + l] = r.shape_a;
            s->shape_b[k + l] = r.shape_b;
            s->row[k + l] = order[i];
            s->steps[k + l] = 0;
        }
        VF p[4], q[4], u[4], v[4];
        ROWS(p, rows_pa, 7)
        ROWS(q, rows_pb, 7)
        ROWS(u, rows_qa, 15)
        ROWS(v, rows_qb, 15)
        V3 pa = {p[0], p[1], p[2]}, pb = {q[0], q[1], q[2]}, va = {u[1], u[2], u[3]}, vb = {v[1], v[2], v[3]};
        VM good = MAND(good_pose(pa, u[0], va), good_pose(pb, v[0], vb));
        VF ra[9], rb[9], m[9];
        matrix(u[0], va, ra);
        matrix(v[0], vb, rb);
        for (int j = 0; j < 9; j++) STOREU(&s->more[CLR_ROTA + j][k], ra[j]);
        T(st3)(&s->more[CLR_POSA][k], CLR_STRIDE64, pa);
        relative(ra, rb, m);
        for (int j = 0; j < 9; j++) {
            STOREU(&s->in64[CLR_ROT + j][k], m[j]);
            NARROW(&s->in32[CLR_ROT + j][k], m[j]);
        }
        const double *rota = &s->more[CLR_ROTA][k];
        V3 t = T(rotate_back)(rota, CLR_STRIDE64, T(sub)(pb, pa));
        T(st3)(&s->in64[CLR_TRANS][k], CLR_STRIDE64, t);

        VF warm[4] = {zero, zero, zero, zero};
        if (c->warm) ROWS(warm, rows_warm, 7)
        V3 w = {warm[0], warm[1], warm[2]};
        VF w2 = T(dot)(w, w);
        VM warmed = LT(SET1(1e-200), w2);
        good = MAND(good, LE(w2, SET1(1e200))); // NaN and infinity as well
        unsigned bits = MBITS(good);
        for (int l = 0; l < W; l++) s->state[k + l] = bits >> l & 1 ? CLR_OPEN : CLR_BAD;

        // Shapes: parameters and erode; radius, size and center; center and off.
        ROWS(p, rows_a, 15)
        ROWS(q, rows_b, 15)
        for (int l = 0; l < W; l++) rows_a[l] += 4, rows_b[l] += 4;
        ROWS(u, rows_a, 15)
        ROWS(v, rows_b, 15)
        V3 x = T(neg)(t); // from the center of B to that of A
        VF off = zero;
        if (hulls) {
            VF ca[4], cb[4];
            for (int l = 0; l < W; l++) rows_a[l] += 4, rows_b[l] += 4;
            ROWS(ca, rows_a, 7)
            ROWS(cb, rows_b, 7)
            off = ca[1] + cb[1];
            x = T(sub)((V3){u[2], u[3], ca[0]}, T(add)(T(rotate)(&s->in64[CLR_ROT][k], CLR_STRIDE64, (V3){v[2], v[3], cb[0]}), t));
        }
        if (ka == CLR_HULL && kb == CLR_HULL) T(st3)(&s->more[CLR_BETWEEN][k], CLR_STRIDE64, x);
        for (int j = 0; j < 4; j++) {
            STOREU(&s->in64[CLR_PA + j][k], p[j]);
            STOREU(&s->in64[CLR_PB + j][k], q[j]);
        }
        VF size = u[1] + v[1], scale = SQRT(T(dot)(t, t)) + size + off;
        VF round = FMA(powers, size, SET1(24 * 0x1p-53) * scale); // see ref.Pair.Roundoff
        VF tol = SET1(c->tolerance) * size, stop = MAX(tol - SET1(2) * round, round);
        VF radius = u[0] + v[0];
        STOREU(&s->more[CLR_RA][k], u[0]);
        STOREU(&s->more[CLR_RB][k], v[0]);
        STOREU(&s->more[CLR_ROUND_OFF][k], round);
        STOREU(&s->more[CLR_TOL][k], tol);
        STOREU(&s->in64[CLR_STOP][k], stop);
        VF far = SET1(1e300), near = SET1(-1);
        if (c->has_cut_off) far = SET1(c->cut_off) + radius + round;
        if (c->collide) far = radius + round, near = radius - round;
        STOREU(&s->in64[CLR_FAR][k], far);
        STOREU(&s->in64[CLR_NEAR][k], near);
        STOREU(&s->in64[CLR_NOISE][k], round);

        // float32 sees both cores from their centres, scaled to 1.
        VF xx = T(dot)(x, x), length = SQRT(xx), span = length + size, inverse = SET1(1) / span;
        STOREU(&s->more[CLR_SPAN][k], span);
        NARROW(&s->in32[CLR_TRANS][k], -x.x * inverse);
        NARROW(&s->in32[CLR_TRANS + 1][k], -x.y * inverse);
        NARROW(&s->in32[CLR_TRANS + 2][k], -x.z * inverse);
        for (int j = 0; j < 4; j++) {
            NARROW(&s->in32[CLR_PA + j][k], p[j] * inverse);
            NARROW(&s->in32[CLR_PB + j][k], q[j] * inverse);
        }
        if (HAS_VERTICES(ka)) NARROW(&s->in32[CLR_PA + 3][k], inverse);
        if (HAS_VERTICES(kb)) NARROW(&s->in32[CLR_PB + 3][k], inverse);
        NARROW(&s->in32[CLR_STOP][k], MAX(SET1(0.5) * stop * inverse, SET1(STOP32)));
        NARROW(&s->in32[CLR_FAR][k], MIN(FMA(far, inverse, SET1(2 * NOISE32)), SET1(1e30)));
        NARROW(&s->in32[CLR_NEAR][k], FMA(near, inverse, SET1(-2 * NOISE32)));
        NARROW(&s->in32[CLR_NOISE][k], SET1(NOISE32));

        if (c->warm) { // zero where there is none
            VF fits = SEL(warmed, -length / SQRT(MAX(w2, SET1(1e-200))), zero);
            x = T(scale)(fits * inverse, T(rotate_back)(rota, CLR_STRIDE64, w));
            NARROW(&s->in32[CLR_X][k], x.x);
            NARROW(&s->in32[CLR_X + 1][k], x.y);
            NARROW(&s->in32[CLR_X + 2][k], x.z);
        }
    }
    for (int i = n; i % W != 0; i++) // rows that fill up the last vector
        for (int j = 0; j < 4; j++) s->seed_a[j][i] = s->seed_b[j][i] = 0;
}

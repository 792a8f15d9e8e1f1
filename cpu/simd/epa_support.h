// Support points for EPA, a pair a lane, float64: the frame and the cores are those of the
// columns of a group. Included once, after the float64 templates.

// root is the square root without errno, which needs no library.
ALWAYS double root(double x) {
#if defined(__SSE2__)
    return _mm_cvtsd_f64(_mm_sqrt_sd(_mm_set_sd(x), _mm_set_sd(x)));
#elif defined(__aarch64__)
    return vget_lane_f64(vsqrt_f64(vdup_n_f64(x)), 0);
#else
    return sqrt(x);
#endif
}

ALWAYS double dot3(const double *a, const double *b) { return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]; }

// small_hull is the number of the highest vertex of a hull of at most CLR_SMALL_VERTICES.
ALWAYS int small_hull(const clr_call *c, int first, int count, double dx, double dy, double dz) {
    const double *x = c->vx + first, *y = c->vy + first, *z = c->vz + first;
    double height;
    if (count > W) return T(scan)(x, y, z, count, dx, dy, dz, &height);
    VF h = FMA(SET1(dz), LOADU(z), FMA(SET1(dy), LOADU(y), SET1(dx) * LOADU(x)));
    unsigned equal = MBITS(LE(SET1(HMAX(h)), h)); // none only if there is a NaN
    int found = equal ? __builtin_ctz(equal) : 0;
    return found < count ? found : count - 1;
}

// hull_lists finds the list of the vertices that may be highest along d, for each lane.
ALWAYS void hull_lists(const T(places) *at, int side, V3 d, unsigned lanes, const float *list[W], int32_t blocks[W]) {
    const clr_call *c = at->call;
    int32_t cell[W];
    T(cell)(T(ld3)(at->hull[side]->extent[0], W), d, cell);
    for (unsigned m = lanes; m; m &= m - 1) {
        int l = __builtin_ctz(m);
        const int32_t *s = c->starts + at->hull[side]->cells[l] + cell[l];
        list[l] = c->lists + (size_t)s[0] * (4 * W32);
        blocks[l] = s[1] - s[0];
        __builtin_prefetch(list[l]);
        __builtin_prefetch(list[l] + 2 * W32);
    }
}

// hull_vertices are the vertices of the hulls of `lanes` highest along the unit vectors d, in
// their own frames; of large hulls those that float32 finds: most often the highest.
static V3 hull_vertices(const T(places) *at, int kind, int side, V3 d, unsigned lanes, VF *number) {
    const clr_call *c = at->call;
    const T(hulls) *h = at->hull[side];
    double u[3][W] __attribute__((aligned(64))), found[W] __attribute__((aligned(64))) = {0};
    int32_t index[W] = {0}, blocks[W];
    T(st3)(u[0], W, d);
    if (kind == CLR_SMALL) {
        for (unsigned m = lanes; m; m &= m - 1) {
            int l = __builtin_ctz(m);
            index[l] = small_hull(c, h->first[l], h->count[l], u[0][l], u[1][l], u[2][l]);
        }
        return T(pick)(at, side, index);
    }
    const float *list[W];
    hull_lists(at, side, d, lanes, list, blocks);
    for (unsigned m = lanes; m; m &= m - 1) {
        int l = __builtin_ctz(m);
        found[l] = scan_list32(list[l], blocks[l], (float)u[0][l], (float)u[1][l], (float)u[2][l])[3 * W32];
        index[l] = (int)found[l];
    }
    *number = LOADU(found);
    return T(pick)(at, side, index);
}

// pair_vertices are the vertices of D highest along the unit vectors d, in `lanes`; of large
// hulls others may be slightly higher.
static vertices_of pair_vertices(const T(places) *at, int ka, int kb, V3 d, unsigned lanes) {
    const VF one = SET1(1);
    const double *m = at->in + CLR_ROT * at->stride;
    V3 e = T(neg)(T(rotate_back)(m, at->stride, d)), b;
    vertices_of v = {.number = {one, one}};
    v.a = ka >= CLR_SMALL ? hull_vertices(at, ka, 0, d, lanes, &v.number[0]) : T(side_support)(at, ka, 0, d, one, 0);
    b = kb >= CLR_SMALL ? hull_vertices(at, kb, 1, e, lanes, &v.number[1]) : T(side_support)(at, kb, 1, e, one, 0);
    b = T(add)(T(rotate)(m, at->stride, b), T(ld3)(at->in + CLR_TRANS * at->stride, at->stride));
    v.w = T(sub)(v.a, b);
    return v;
}

// surest replaces the vertices of large hulls in v by those that float64 proves the highest
// along d: the best of the corners of the nearest face, which support d nearly, unless
// another is higher.
static __attribute__((noinline)) vertices_of surest(const T(places) *at, const polytope *p, int ka, int kb, V3 d, unsigned lanes, vertices_of v) {
    const clr_call *c = at->call;
    const double *m = at->in + CLR_ROT * at->stride;
    V3 b = T(rotate_back)(m, at->stride, T(sub)(T(sub)(v.a, v.w), T(ld3)(at->in + CLR_TRANS * at->stride, at->stride)));
    for (int side = 0; side < 2; side++) {
        if ((side ? kb : ka) != CLR_HULL) continue;
        const T(hulls) *h = at->hull[side];
        int32_t cell[W], index[W] = {0};
        double u[3][W] __attribute__((aligned(64))), number[W] __attribute__((aligned(64))) = {0};
        V3 e = side ? T(neg)(T(rotate_back)(m, at->stride, d)) : d;
        T(st3)(u[0], W, e);
        T(cell)(T(ld3)(h->extent[0], W), e, cell);
        for (unsigned k = lanes; k; k &= k - 1) {
            int l = __builtin_ctz(k);
            const uint16_t *corner = p[l].corner[p[l].nearest];
            int32_t known[3];
            double high = -INFINITY;
            const double x[3] = {u[0][l], u[1][l], u[2][l]};
            for (int j = 0; j < 3; j++) {
                known[j] = (int32_t)(side ? p[l].a : p[l].w)[corner[j]][3];
                int i = h->first[l] + known[j];
                double t = x[0] * c->vx[i] + x[1] * c->vy[i] + x[2] * c->vz[i];
                index[l] = t > high ? known[j] : index[l];
                high = t > high ? t : high;
            }
            T(hull_best)(at, side, l, cell[l], x, x, high, known, &index[l]);
            number[l] = index[l];
        }
        *(side ? &b : &v.a) = T(pick)(at, side, index);
        v.number[side] = LOADU(number);
    }
    b = T(add)(T(rotate)(m, at->stride, b), T(ld3)(at->in + CLR_TRANS * at->stride, at->stride));
    v.w = T(sub)(v.a, b);
    return v;
}

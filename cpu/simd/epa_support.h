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

// large_hull is the number of the highest vertex of a list along the unit vector d as float32
// sees it: a vertex all the same, and most often the highest. If sure is set, float64
// decides among those that may be the highest, with the margin that T(hull_best) derives.
static inline int large_hull(const clr_call *c, const float *v, int blocks, int first, double size, const double *d, int sure) {
    const float nx = (float)d[0], ny = (float)d[1], nz = (float)d[2];
    if (!sure) return (int)scan_list32(v, blocks, nx, ny, nz)[3 * W32];
    const vec32 ux = spread32(nx), uy = spread32(ny), uz = spread32(nz), none = spread32(-1);
    vec32 most = heights32(v, ux, uy, uz);
    for (int j = 1; j < blocks; j++) most = larger32(heights32(v + j * 4 * W32, ux, uy, uz), most);
    const vec32 least = spread32(largest32(most) - (float)(32 * 0x1p-24 * size));
    double high = -INFINITY;
    int best = 0;
    for (int j = 0; j < blocks; j++, v += 4 * W32)
        for (unsigned near = others32(heights32(v, ux, uy, uz), least, v + 3 * W32, none, none, none); near; near &= near - 1) {
            int i = (int)v[3 * W32 + __builtin_ctz(near)], p = first + i;
            double t = d[0] * c->vx[p] + d[1] * c->vy[p] + d[2] * c->vz[p];
            if (t > high) high = t, best = i;
        }
    return best;
}

// hull_vertices are the vertices of the hulls of `lanes` highest along the unit vectors d, in
// their own frames.
static V3 hull_vertices(const T(places) *at, int kind, int side, V3 d, unsigned lanes, int sure) {
    const clr_call *c = at->call;
    const T(hulls) *h = at->hull[side];
    double u[3][W] __attribute__((aligned(64)));
    int32_t index[W] = {0}, cell[W], blocks[W];
    T(st3)(u[0], W, d);
    if (kind == CLR_SMALL) {
        for (unsigned m = lanes; m; m &= m - 1) {
            int l = __builtin_ctz(m);
            index[l] = small_hull(c, h->first[l], h->count[l], u[0][l], u[1][l], u[2][l]);
        }
        return T(pick)(at, side, index);
    }
    const float *list[W];
    T(cell)(at, side, d, cell);
    for (unsigned m = lanes; m; m &= m - 1) {
        int l = __builtin_ctz(m);
        const int32_t *s = c->starts + h->cells[l] + cell[l];
        list[l] = c->lists + (size_t)s[0] * (4 * W32);
        blocks[l] = s[1] - s[0];
        __builtin_prefetch(list[l]);
        __builtin_prefetch(list[l] + 2 * W32);
    }
    for (unsigned m = lanes; m; m &= m - 1) {
        int l = __builtin_ctz(m);
        index[l] = large_hull(c, list[l], blocks[l], h->first[l], h->size[l], (double[3]){u[0][l], u[1][l], u[2][l]}, sure);
    }
    return T(pick)(at, side, index);
}

// pair_vertices are the vertices w = a − b of D = A − B highest along the unit vectors d, in
// `lanes`; unless sure is set, of hulls others may be slightly higher.
static V3 pair_vertices(const T(places) *at, int ka, int kb, V3 d, unsigned lanes, int sure, V3 *a) {
    const VF one = SET1(1);
    const double *m = at->in + CLR_ROT * at->stride;
    V3 e = T(neg)(T(rotate_back)(m, at->stride, d));
    *a = ka >= CLR_SMALL ? hull_vertices(at, ka, 0, d, lanes, sure) : T(core_support)(ka, at->in + CLR_PA * at->stride, at->stride, d, one);
    V3 b = kb >= CLR_SMALL ? hull_vertices(at, kb, 1, e, lanes, sure) : T(core_support)(kb, at->in + CLR_PB * at->stride, at->stride, e, one);
    b = T(add)(T(rotate)(m, at->stride, b), T(ld3)(at->in + CLR_TRANS * at->stride, at->stride));
    return T(sub)(*a, b);
}

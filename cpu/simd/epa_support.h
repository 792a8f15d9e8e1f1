// Support points of one pair, float64, for EPA: the frame and the cores are those of the
// columns of a group. Included once, after the float64 templates.

// pair_at is one pair of a group.
typedef struct {
    const clr_call *call;
    int kind[2];               // classes
    double rot[9], trans[3];   // of B in the frame of A
    double p[2][4];            // parameters and erode
    const clr_shape *shape[2]; // of hulls
} pair_at;

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

static inline void load_pair(pair_at *q, const clr_call *c, const clr_scratch *s, int i, int ka, int kb) {
    q->call = c;
    q->kind[0] = ka;
    q->kind[1] = kb;
    for (int j = 0; j < 9; j++) q->rot[j] = s->in64[CLR_ROT + j][i];
    for (int j = 0; j < 3; j++) q->trans[j] = s->in64[CLR_TRANS + j][i];
    for (int j = 0; j < 4; j++) q->p[0][j] = s->in64[CLR_PA + j][i], q->p[1][j] = s->in64[CLR_PB + j][i];
    q->shape[0] = c->shapes + s->shape_a[i];
    q->shape[1] = c->shapes + s->shape_b[i];
}

ALWAYS double dot3(const double *a, const double *b) { return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]; }

// small_hull is the highest vertex of a hull of at most CLR_SMALL_VERTICES along d.
static inline void small_hull(const clr_call *c, const clr_shape *h, const double *d, double *out) {
    const double *x = c->vx + h->first, *y = c->vy + h->first, *z = c->vz + h->first;
    double height;
    int i = T(scan)(x, y, z, h->count, d[0], d[1], d[2], &height);
    out[0] = x[i], out[1] = y[i], out[2] = z[i];
}

// hull_cell is the list of the vertices that may be highest along d, as T(cell) finds it;
// see cells.go.
static inline const int32_t *hull_cell(const clr_call *c, const clr_shape *h, const double *d) {
    const int32_t *starts = c->starts + h->cells;
    int grid = h->grid;
    if (grid == 0) return starts;
    double e[3] = {h->extent[0] * d[0], h->extent[1] * d[1], h->extent[2] * d[2]};
    double m[3] = {fabs(e[0]), fabs(e[1]), fabs(e[2])};
    int axis = m[1] <= m[0] && m[2] <= m[0] ? 0 : m[1] < m[2] ? 2 : 1;
    double r = 0.5 / (m[axis] > TINY ? m[axis] : TINY), a = axis == 0 ? e[1] : e[0], b = axis == 2 ? e[1] : e[2];
    int i = (int)((a * r + 0.5) * grid), j = (int)((b * r + 0.5) * grid);
    i = i < 0 ? 0 : i < grid ? i : grid - 1;
    j = j < 0 ? 0 : j < grid ? j : grid - 1;
    int face = 2 * axis + (e[axis] < 0);
    return starts + (face * grid + i) * grid + j;
}

// large_hull is the highest vertex of a hull along the unit vector d as float32 sees it: a
// vertex all the same, and most often the highest. If sure is set, float64 decides among
// those that may be the highest, with the margin that T(hull_best) derives.
static inline void large_hull(const clr_call *c, const clr_shape *h, const double *d, int sure, double *out) {
    const int32_t *list = hull_cell(c, h, d);
    const float *v = c->lists + (size_t)list[0] * (4 * W32);
    const int blocks = list[1] - list[0];
    int best = h->first;
    if (!sure) {
        best += (int)scan_list32(v, blocks, (float)d[0], (float)d[1], (float)d[2])[3 * W32];
    } else {
        const vec32 nx = spread32((float)d[0]), ny = spread32((float)d[1]), nz = spread32((float)d[2]), none = spread32(-1);
        vec32 most = heights32(v, nx, ny, nz);
        for (int j = 1; j < blocks; j++) most = larger32(heights32(v + j * 4 * W32, nx, ny, nz), most);
        const vec32 least = spread32(largest32(most) - (float)(32 * 0x1p-24 * h->size));
        double high = -INFINITY;
        for (int j = 0; j < blocks; j++, v += 4 * W32)
            for (unsigned near = others32(heights32(v, nx, ny, nz), least, v + 3 * W32, none, none, none); near; near &= near - 1) {
                int i = h->first + (int)v[3 * W32 + __builtin_ctz(near)];
                double t = d[0] * c->vx[i] + d[1] * c->vy[i] + d[2] * c->vz[i];
                if (t > high) high = t, best = i;
            }
    }
    out[0] = c->vx[best], out[1] = c->vy[best], out[2] = c->vz[best];
}

// core_vertex is the point of core `side` highest along the unit vector d, in its own frame;
// see T(core_support).
static inline void core_vertex(const pair_at *q, int side, const double *d, int sure, double *out) {
    const double *p = q->p[side];
    switch (q->kind[side]) {
    case CLR_BOX:
        for (int j = 0; j < 3; j++) out[j] = copysign(p[j], d[j]);
        return;
    case CLR_ELLIPSOID: {
        double u[3] = {p[0] * d[0], p[1] * d[1], p[2] * d[2]}, l2 = dot3(u, u), s = 1 / root(l2 > TINY ? l2 : TINY);
        for (int j = 0; j < 3; j++) out[j] = p[j] * (u[j] * s) - p[3] * d[j];
        return;
    }
    case CLR_ROUND: {
        double l2 = d[0] * d[0] + d[1] * d[1];
        l2 = l2 > TINY ? l2 : TINY;
        double inv = 1 / root(l2), top = (p[1] - p[0]) * (l2 * inv) + 2 * p[2] * d[2];
        double k = (top >= 0 ? p[1] : p[0]) * inv;
        out[0] = k * d[0], out[1] = k * d[1], out[2] = top >= 0 ? p[2] : -p[2];
        return;
    }
    case CLR_SMALL:
        small_hull(q->call, q->shape[side], d, out);
        return;
    default:
        large_hull(q->call, q->shape[side], d, sure, out);
    }
}

// pair_vertex is the vertex w = a − b of D = A − B highest along the unit vector d; unless
// sure is set, of hulls another may be slightly higher.
static inline void pair_vertex(const pair_at *q, const double *d, int sure, double *a, double *w) {
    const double *m = q->rot, *t = q->trans;
    double e[3], b[3];
    for (int j = 0; j < 3; j++) e[j] = -(m[j] * d[0] + m[3 + j] * d[1] + m[6 + j] * d[2]);
    core_vertex(q, 0, d, sure, a);
    core_vertex(q, 1, e, sure, b);
    for (int j = 0; j < 3; j++) w[j] = a[j] - (m[3 * j] * b[0] + m[3 * j + 1] * b[1] + m[3 * j + 2] * b[2] + t[j]);
}

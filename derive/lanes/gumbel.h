// Hessians of cores that are smoothed by Gumbel noise [AGIMUS2023, Randomized Smoothing, eq. 27-28]. The reference is
// smoothing.go of package derive.

#ifndef LN_GUMBEL_H
#define LN_GUMBEL_H

#include "elementary.h"
#include "system.h"

// s3 is a symmetric matrix in the frame of a core.
typedef struct {
    vd xx, xy, xz, yy, yz, zz;
} s3;

// gumbel_segment is (h²/ε)·sech²(hx/ε).
INLINE vd gumbel_segment(vd half, vd x, vd epsilon) {
    vd e = exponential(lesser(magnitude(half * x / epsilon), all(300)));
    vd twice = e + 1 / e; // 2·cosh
    return 4 * half * half / (epsilon * twice * twice);
}

// gumbel_frustum smooths the discs at z = ∓half and the choice between them.
INLINE void gumbel_frustum(s3 *m, const vd p[3], v3 d, vd epsilon) {
    vd rho2 = d.x * d.x + d.y * d.y;
    vd root0 = root(p[0] * p[0] * rho2 + epsilon * epsilon), root1_ = root(p[1] * p[1] * rho2 + epsilon * epsilon);
    vd k0 = p[0] * p[0] / root0, k1 = p[1] * p[1] / root1_, rise = (root1_ + p[2] * d.z) - (root0 - p[2] * d.z);
    vd e = exponential(lesser(greater(rise / epsilon, all(-300)), all(300)));
    vd weight0 = 1 / (1 + e), weight1 = e / (1 + e);
    vd flat = weight0 * k0 + weight1 * k1;
    vd bent = weight0 * k0 * (p[0] * p[0] / (root0 * root0)) + weight1 * k1 * (p[1] * p[1] / (root1_ * root1_));
    v3 step = {(k1 - k0) * d.x, (k1 - k0) * d.y, 2 * p[2]}; // of the support point, from the bottom to the top
    vd spread = weight0 * weight1 / epsilon;
    m->xx = flat - bent * d.x * d.x + spread * step.x * step.x;
    m->xy = -bent * d.x * d.y + spread * step.x * step.y;
    m->xz = spread * step.x * step.z;
    m->yy = flat - bent * d.y * d.y + spread * step.y * step.y;
    m->yz = spread * step.y * step.z;
    m->zz = spread * step.z * step.z;
}

// counting lists the vertices of s from first on, at most LN_CHUNK, whose support value is at least a bound, and counts
// them. Indices are relative to first, four more are valid.
INLINE int counting(const ln_call *c, const ln_shape *s, int64_t first, const double d[3], double bound,
                    uint8_t list[LN_CHUNK + W]) {
    const int64_t from = s->first + first, left = s->count - first, n = left < LN_CHUNK ? left : LN_CHUNK;
    const double *x = c->vertices[0] + from, *y = c->vertices[1] + from, *z = c->vertices[2] + from;
    int listed = 0;
    for (int64_t i = 0; i < n; i += W) {
        unsigned m = (unsigned)bits(d[0] * load(x + i) + d[1] * load(y + i) + d[2] * load(z + i) >= bound);
        if (i + W > n) m &= (1u << (n - i)) - 1; // the rest is padding
        listed = append(list, listed, m, i);
    }
    for (int i = 0; i < W; i++) list[listed + i] = 0;
    return listed;
}

// moments are those of vertices along a and b from the support vertex: where its weight is nearly 1, the covariance of
// the others does not cancel.
typedef struct {
    vd total, a, b, aa, ab, bb;
} moments;

// weigh adds four vertices, relative to the support vertex, of the weights softmax(<v, d>/ε) if they count: steep is
// d/ε. Vertices that are not near may have any weight.
INLINE void weigh(moments *m, v3 v, const double steep[3], const double a[3], const double b[3], vm counts, int near) {
    vd x = steep[0] * v.x + steep[1] * v.y + steep[2] * v.z, w = where(counts, near ? exponential(x) : power_of_e(x));
    vd va = a[0] * v.x + a[1] * v.y + a[2] * v.z, vb = b[0] * v.x + b[1] * v.y + b[2] * v.z;
    vd wa = w * va, wb = w * vb;
    m->total += w, m->a += wa, m->b += wb;
    m->aa += wa * va, m->ab += wa * vb, m->bb += wb * vb;
}

// covariance is that of the weights, over ε.
INLINE void covariance(double h[3], const moments *m, double over) {
    double k = 1 / sum(m->total), ma = k * sum(m->a), mb = k * sum(m->b);
    h[0] = (k * sum(m->aa) - ma * ma) * over, h[1] = (k * sum(m->ab) - ma * mb) * over;
    h[2] = (k * sum(m->bb) - mb * mb) * over;
}

// gumbel_hull is the covariance of the vertices of one hull along a and b, over ε: of a with itself, of both, of b with
// itself. Vertices with a weight of less than e⁻²⁰ relative to the largest are left out; since neighbors in memory are
// not neighbors on the hull, few vectors would be without a vertex that counts.
static void gumbel_hull(double h[3], const ln_call *c, const ln_shape *s, const double d[3], const double a[3],
                        const double b[3], double epsilon) {
    double o[3], bound = hull_vertex(c, s, d, o) - 20 * epsilon, over = 1 / epsilon;
    const double steep[3] = {d[0] * over, d[1] * over, d[2] * over};
    moments m = {0};
    for (int64_t first = 0; first < s->count; first += LN_CHUNK) {
        const int64_t from = s->first + first;
        const double *x = c->vertices[0] + from, *y = c->vertices[1] + from, *z = c->vertices[2] + from;
        uint8_t list[LN_CHUNK + W];
        int n = counting(c, s, first, d, bound, list);
        for (int j = 0; j < n; j += W) {
            const uint8_t *k = list + j;
            v3 v = {(vd){x[k[0]], x[k[1]], x[k[2]], x[k[3]]} - o[0], (vd){y[k[0]], y[k[1]], y[k[2]], y[k[3]]} - o[1],
                    (vd){z[k[0]], z[k[1]], z[k[2]], z[k[3]]} - o[2]};
            weigh(&m, v, steep, a, b, (vm){0, 1, 2, 3} < n - j, 1);
        }
    }
    covariance(h, &m, over);
}

// The largest number of vertices of a hull with rings, and of those within the rings.
#define LN_RING_HULL 16384
#define LN_RING 4096

// ring lists the vertices up to c->rings edges from the feature that supports a hull at its vertex first, and counts
// them; -1 if they are too many. Four more numbers are valid.
APART int ring(const ln_call *c, const ln_shape *s, const double d[3], int64_t first, int32_t list[LN_RING + W]) {
    const double *x = c->vertices[0] + s->first, *y = c->vertices[1] + s->first, *z = c->vertices[2] + s->first;
    const int32_t *starts = c->neighbor_starts + s->first;
    if (s->count > LN_RING_HULL) return -1;
    uint64_t seen[LN_RING_HULL / 64];
    for (int64_t i = 0; i <= (s->count - 1) / 64; i++) seen[i] = 0;
    int n = 0, at = 0;
    list[n++] = (int32_t)first;
    seen[first / 64] |= 1ull << first % 64;
    // First the feature itself, whose vertices have edges in it; then a ring at a time.
    for (int step = 0; step <= c->rings; step++) {
        if (step == 1) at = 0;
        for (int end = n; at < (step == 0 ? n : end); at++) {
            for (int32_t k = starts[list[at]]; k < starts[list[at] + 1]; k++) {
                const int32_t j = c->neighbors[k];
                if (seen[j / 64] >> j % 64 & 1) continue;
                if (step == 0) {
                    const double r[3] = {x[j] - x[first], y[j] - y[first], z[j] - z[first]};
                    if (-dot1(d, r) > FINEST_ANGLE * root1(dot1(r, r))) continue;
                }
                if (n == LN_RING) return -1;
                seen[j / 64] |= 1ull << j % 64;
                list[n++] = j;
            }
        }
        if (step > 0 && at == n) break;
    }
    for (int i = 0; i < W; i++) list[n + i] = (int32_t)first;
    return n;
}

// gumbel_ring is gumbel_hull of the vertices within the rings. It returns 0 if they are too many.
APART int gumbel_ring(double h[3], const ln_call *c, const ln_shape *s, const double d[3], const double a[3],
                      const double b[3], double epsilon) {
    const double *x = c->vertices[0] + s->first, *y = c->vertices[1] + s->first, *z = c->vertices[2] + s->first;
    int32_t list[LN_RING + W];
    double top;
    int64_t first = hull_top(c, s, d, &top);
    int n = ring(c, s, d, first, list);
    double over = 1 / epsilon;
    const double steep[3] = {d[0] * over, d[1] * over, d[2] * over};
    moments m = {0};
    for (int j = 0; j < n; j += W) {
        const int32_t *k = list + j;
        v3 v = {(vd){x[k[0]], x[k[1]], x[k[2]], x[k[3]]} - x[first],
                (vd){y[k[0]], y[k[1]], y[k[2]], y[k[3]]} - y[first],
                (vd){z[k[0]], z[k[1]], z[k[2]], z[k[3]]} - z[first]};
        weigh(&m, v, steep, a, b, (vm){0, 1, 2, 3} < n - j, 0);
    }
    covariance(h, &m, over);
    return n > 0;
}

// in_plane is the form m of the frame of a core on the tangent plane of a and b.
INLINE s2 in_plane(s3 m, v3 a, v3 b) {
    v3 ma = {m.xx * a.x + m.xy * a.y + m.xz * a.z, m.xy * a.x + m.yy * a.y + m.yz * a.z,
             m.xz * a.x + m.yz * a.y + m.zz * a.z};
    v3 mb = {m.xx * b.x + m.xy * b.y + m.xz * b.z, m.xy * b.x + m.yy * b.y + m.yz * b.z,
             m.xz * b.x + m.yz * b.y + m.zz * b.z};
    return (s2){dot3(a, ma), dot3(a, mb), dot3(b, mb)};
}

// gumbel_feature replaces a feature with the outward normal d by a smoothed one, which has a Hessian and no direction.
// A half-space keeps its plane, an ellipsoid its Hessian.
APART void gumbel_feature(feature *f, const pair *p, const side *s, int class, v3 d, vd epsilon, v3 e0, v3 e1,
                          int active) {
    if (class == LN_HALFSPACE || is_curved(class)) return;
    v3 dl = rotate_back(s->r, d), a = rotate_back(s->r, e0), b = rotate_back(s->r, e1);
    vd none = all(0);
    s3 m = {none, none, none, none, none, none};
    s2 h = {none, none, none};
    switch (class) {
    case LN_SEGMENT: m.zz = gumbel_segment(s->p[0], dl.z, epsilon); break;
    case LN_BOX:
        m.xx = gumbel_segment(s->p[0], dl.x, epsilon);
        m.yy = gumbel_segment(s->p[1], dl.y, epsilon);
        m.zz = gumbel_segment(s->p[2], dl.z, epsilon);
        break;
    case LN_FRUSTUM: gumbel_frustum(&m, s->p, dl, epsilon); break;
    case LN_HULL:
        for (; active != 0; active &= active - 1) {
            int i = __builtin_ctz((unsigned)active);
            const double one[3] = {dl.x[i], dl.y[i], dl.z[i]};
            const double e[2][3] = {{a.x[i], a.y[i], a.z[i]}, {b.x[i], b.y[i], b.z[i]}};
            double k[3];
            if (p->call->rings == 0) gumbel_hull(k, p->call, s->shape[i], one, e[0], e[1], epsilon[i]);
            else if (!gumbel_ring(k, p->call, s->shape[i], one, e[0], e[1], epsilon[i])) f->ok[i] = 0;
            h.xx[i] = k[0], h.xy[i] = k[1], h.yy[i] = k[2];
        }
    }
    if (class != LN_HULL) h = in_plane(m, a, b);
    f->h = (s2){h.xx + s->radius, h.xy, h.yy + s->radius};
    f->edge = f->face = (vm){0};
    f->ok &= is_finite(f->h.xx + f->h.yy);
}

#endif

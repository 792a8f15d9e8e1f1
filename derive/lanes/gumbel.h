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

// gumbel_hull is the covariance of the vertices of one hull along a and b under the weights softmax(<v, d>/ε), over
// ε: of a with itself, of both, of b with itself. Vertices with a weight of less than e⁻²⁰ relative to the largest
// are left out; since neighbors in memory are not neighbors on the hull, few vectors would be without a vertex that
// counts.
static void gumbel_hull(double m[3], const ln_call *c, const ln_shape *s, const double d[3], const double a[3],
                        const double b[3], double epsilon) {
    // Relative to the support vertex: where its weight is nearly 1, the covariance of the others does not cancel.
    double o[3], bound = hull_vertex(c, s, d, o) - 20 * epsilon, over = 1 / epsilon;
    const double steep[3] = {d[0] * over, d[1] * over, d[2] * over};
    vd total = all(0), sa = all(0), sb = all(0), aa = all(0), ab = all(0), bb = all(0);
    for (int64_t first = 0; first < s->count; first += LN_CHUNK) {
        const int64_t from = s->first + first;
        const double *x = c->vertices[0] + from, *y = c->vertices[1] + from, *z = c->vertices[2] + from;
        uint8_t list[LN_CHUNK + W];
        int n = counting(c, s, first, d, bound, list);
        for (int j = 0; j < n; j += W) {
            const uint8_t *k = list + j;
            vd vx = (vd){x[k[0]], x[k[1]], x[k[2]], x[k[3]]} - o[0];
            vd vy = (vd){y[k[0]], y[k[1]], y[k[2]], y[k[3]]} - o[1];
            vd vz = (vd){z[k[0]], z[k[1]], z[k[2]], z[k[3]]} - o[2];
            vd w = exponential(steep[0] * vx + steep[1] * vy + steep[2] * vz);
            w = where((vm){0, 1, 2, 3} < n - j, w);
            vd va = a[0] * vx + a[1] * vy + a[2] * vz, vb = b[0] * vx + b[1] * vy + b[2] * vz;
            vd wa = w * va, wb = w * vb;
            total += w, sa += wa, sb += wb;
            aa += wa * va, ab += wa * vb, bb += wb * vb;
        }
    }
    double k = 1 / sum(total), ma = k * sum(sa), mb = k * sum(sb);
    m[0] = (k * sum(aa) - ma * ma) * over, m[1] = (k * sum(ab) - ma * mb) * over;
    m[2] = (k * sum(bb) - mb * mb) * over;
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
            gumbel_hull(k, p->call, s->shape[i], one, e[0], e[1], epsilon[i]);
            h.xx[i] = k[0], h.xy[i] = k[1], h.yy[i] = k[2];
        }
    }
    if (class != LN_HULL) h = in_plane(m, a, b);
    f->h = (s2){h.xx + s->radius, h.xy, h.yy + s->radius};
    f->edge = f->face = (vm){0};
    f->ok &= is_finite(f->h.xx + f->h.yy);
}

#endif

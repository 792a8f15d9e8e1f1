// Hessians of cores that are smoothed by Gumbel noise [AGIMUS2023, Randomized Smoothing, eq. 27-28]. The reference is
// smoothing.go of package derive.

#ifndef LN_GUMBEL_H
#define LN_GUMBEL_H

#include "system.h"

// exponential is exp(x) for x in [-700, 700], to a relative error of 1e-14: with x = k·log 2 + r, |r| ≤ 0.35, it is 2ᵏ
// times the Taylor polynomial of degree 11 of r, which errs by r¹²/12!.
INLINE vd exponential(vd x) {
    const double magic = 0x1.8p52; // its sum with k has k in the lowest bits
    vd shifted = x * 0x1.71547652b82fep0 + magic, k = shifted - magic;
    vd r = x - k * 0x1.62e42fefa39efp-1 - k * 0x1.abc9e3b39803fp-56;
    vd r2 = r * r, r4 = r2 * r2, r8 = r4 * r4; // no term depends on the one before
    vd low = (1 + r) + (0.5 + r * (1.0 / 6)) * r2;
    vd middle = (1.0 / 24 + r * (1.0 / 120)) + (1.0 / 720 + r * (1.0 / 5040)) * r2;
    vd high = (1.0 / 40320 + r * (1.0 / 362880)) + (1.0 / 3628800 + r * (1.0 / 39916800)) * r2;
    vd p = low + middle * r4 + high * r8;
    return (vd)((vm)p + ((vm)shifted << 52));
}

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

INLINE double sum(vd x) { return (x[0] + x[1]) + (x[2] + x[3]); }

// gumbel_hull is the covariance of the vertices of one hull under the weights softmax(<v, d>/ε), over ε. Vertices with
// a weight of less than e⁻²⁰ relative to the largest are left out.
static void gumbel_hull(double m[6], const ln_call *c, const ln_shape *s, const double d[3], double epsilon) {
    const double *x = c->vertices[0] + s->first, *y = c->vertices[1] + s->first, *z = c->vertices[2] + s->first;
    // Relative to the support vertex: where its weight is nearly 1, the covariance of the others does not cancel.
    double o[3], top = hull_vertex(c, s, d, o), bound = top - 20 * epsilon, over = 1 / epsilon;
    vd total = all(0), sx = all(0), sy = all(0), sz = all(0);
    vd xx = all(0), xy = all(0), xz = all(0), yy = all(0), yz = all(0), zz = all(0);
    for (int64_t i = 0; i < s->count; i += W) {
        vd vx = load(x + i), vy = load(y + i), vz = load(z + i);
        vd h = d[0] * vx + d[1] * vy + d[2] * vz;
        vm counts = h >= bound;
        if (i + W > s->count) counts &= (vm){0, 1, 2, 3} < s->count - i;
        if (bits(counts) == 0) continue;
        vd w = where(counts, exponential(greater((h - top) * over, all(-21))));
        vx -= o[0], vy -= o[1], vz -= o[2];
        vd wx = w * vx, wy = w * vy, wz = w * vz;
        total += w, sx += wx, sy += wy, sz += wz;
        xx += wx * vx, xy += wx * vy, xz += wx * vz, yy += wy * vy, yz += wy * vz, zz += wz * vz;
    }
    double k = 1 / sum(total), mx = k * sum(sx), my = k * sum(sy), mz = k * sum(sz);
    m[0] = (k * sum(xx) - mx * mx) * over, m[1] = (k * sum(xy) - mx * my) * over;
    m[2] = (k * sum(xz) - mx * mz) * over, m[3] = (k * sum(yy) - my * my) * over;
    m[4] = (k * sum(yz) - my * mz) * over, m[5] = (k * sum(zz) - mz * mz) * over;
}

// smooth_feature replaces a feature with the outward normal d by a smoothed one, which has a Hessian and no direction.
// A half-space keeps its plane, an ellipsoid its Hessian.
APART void smooth_feature(feature *f, const pair *p, const side *s, int class, v3 d, vd epsilon, v3 e0, v3 e1,
                          int active) {
    if (class == LN_HALFSPACE || is_curved(class)) return;
    v3 dl = rotate_back(s->r, d), a = rotate_back(s->r, e0), b = rotate_back(s->r, e1);
    vd none = all(0);
    s3 m = {none, none, none, none, none, none};
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
            double c[6];
            gumbel_hull(c, p->call, s->shape[i], one, epsilon[i]);
            m.xx[i] = c[0], m.xy[i] = c[1], m.xz[i] = c[2], m.yy[i] = c[3], m.yz[i] = c[4], m.zz[i] = c[5];
        }
    }
    v3 ma = {m.xx * a.x + m.xy * a.y + m.xz * a.z, m.xy * a.x + m.yy * a.y + m.yz * a.z,
             m.xz * a.x + m.yz * a.y + m.zz * a.z};
    v3 mb = {m.xx * b.x + m.xy * b.y + m.xz * b.z, m.xy * b.x + m.yy * b.y + m.yz * b.z,
             m.xz * b.x + m.yz * b.y + m.zz * b.z};
    f->h = (s2){dot3(a, ma) + s->radius, dot3(a, mb), dot3(b, mb) + s->radius};
    f->edge = f->face = (vm){0};
    f->ok &= is_finite(f->h.xx + f->h.yy);
}

// smooth replaces both features and solves the system anew. It returns the lanes where that has an inverse.
APART int smooth(const pair *p, linear *s, int active) {
    double given = p->call->epsilon;
    vd epsilon = given > 0 ? all(given) : 1e-2 * p->size;
    smooth_feature(&s->a, p, &p->a, p->class_a, s->n, epsilon, s->e0, s->e1, active);
    smooth_feature(&s->b, p, &p->b, p->class_b, neg3(s->n), epsilon, s->e0, s->e1, active);
    solve(s, p->size);
    return active & bits(s->regular);
}

#endif

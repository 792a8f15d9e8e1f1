// Hessians of cores that are smoothed by Gaussian noise [AGIMUS2023, Randomized Smoothing, eq. 26]: the mean of
// (s(d + εz) - s(d - εz))·zᵀ/2ε over normal z of the frame of the shape, symmetric and on the tangent plane, without
// negative eigenvalues. The reference is smoothing.go of package derive.

#ifndef CLR_DERIVE_SMOOTHING_H
#define CLR_DERIVE_SMOOTHING_H

#include "powers.h"
#include "system.h"
#include "noise.h"

// The number of samples whose noise is held at a time, a multiple of W.
#define HELD_SAMPLES 64

// stopped reports whether samples are to end. Another thread sets the number.
ALWAYS int stopped(const derive_call *c) { return c->stop && __atomic_load_n(c->stop, __ATOMIC_RELAXED); }

// sampling is the noise of the lanes.
typedef struct {
    uint32_t key[2];
    int samples;
    double epsilon;
    vu row[2]; // words of the numbers of the rows
} sampling;

// add_sample adds the terms of a sample: x on the tangent plane, z likewise.
ALWAYS void add_sample(flat_matrix *h, flat x, flat z) {
    h->xx = FMA(x.x, z.x, h->xx), h->xy += FMA(x.y, z.x, x.x * z.y), h->yy = FMA(x.y, z.y, h->yy);
}

// gaussian_rows samples cores but hulls, a row per lane.
ALWAYS flat_matrix gaussian_rows(const sampling *g, const derive_call *c, const side *s, int class, V3 n, V3 e0, V3 e1,
                                 uint32_t block, int active) {
    V3 d = apply_transposed64(s->r, n), a = apply_transposed64(s->r, e0), b = apply_transposed64(s->r, e1),
       z[HELD_SAMPLES];
    flat_matrix h = {SET1(0), SET1(0), SET1(0)};
    for (int first = 0; first < g->samples && !stopped(c); first += HELD_SAMPLES) {
        int count = g->samples - first < HELD_SAMPLES ? g->samples - first : HELD_SAMPLES;
        draw(z, count, (counters){{g->row[0], g->row[1]}, words((uint32_t)first), block}, 1, g->key);
        for (int i = 0; i < count; i++) {
            V3 step = scale64(SET1(g->epsilon), z[i]);
            V3 up = core_point(c, s, class, add64(d, step), active);
            add_sample(&h, within(a, b, sub64(up, core_point(c, s, class, sub64(d, step), active))),
                       within(a, b, z[i]));
        }
    }
    return h;
}

// near_vertices lists the vertices of s from first on, at most CHUNK, that support the hull in a direction d + y
// with |y| ≤ reach: those that are at most reach times as far below the support vertex o as away from it. Their
// coordinates along a, b and d, from o, go to v; the last vector is filled by any other vertices.
ALWAYS int near_vertices(const derive_call *c, const derive_shape *s, int64_t first, const double o[3],
                         const double frame[3][3], double reach, double v[3][CHUNK + SPARE]) {
    const int64_t from = s->first + first, left = s->count - first, n = left < CHUNK ? left : CHUNK;
    const double *x = c->vertices[0] + from, *y = c->vertices[1] + from, *z = c->vertices[2] + from;
    const double square = reach * reach * (1 + 1e-9); // rounding
    uint8_t list[CHUNK + SPARE];
    int listed = 0;
    for (int64_t i = 0; i < n; i += W) {
        V3 r = {LOADU(x + i) - o[0], LOADU(y + i) - o[1], LOADU(z + i) - o[2]};
        VF below = FMA(SET1(frame[2][2]), r.z, FMA(SET1(frame[2][1]), r.y, frame[2][0] * r.x));
        unsigned m = (unsigned)MBITS(LE(below * below, square * dot64(r, r)));
        if (i + W > n) m &= (1u << (n - i)) - 1; // the rest is padding
        listed = append(list, listed, m, i);
    }
    for (int i = 0; i < W; i++) list[listed + i] = 0;
    for (int j = 0; j < listed; j += W) {
        const uint8_t *k = list + j;
        VF rx = LISTED(x, k) - o[0];
        VF ry = LISTED(y, k) - o[1];
        VF rz = LISTED(z, k) - o[2];
        for (int i = 0; i < 3; i++) {
            VF along = FMA(SET1(frame[i][2]), rz, FMA(SET1(frame[i][1]), ry, frame[i][0] * rx));
            __builtin_memcpy(v[i] + j, &along, sizeof along);
        }
    }
    return listed;
}

// best is the support vertex of a direction per lane: its support value and its place on the tangent plane.
typedef struct {
    VF value;
    flat x;
} best;

ALWAYS void improve(best *b, VF value, double x, double y) {
    VM better = LT(b->value, value);
    b->value = MAX(b->value, value);
    b->x = (flat){SEL(better, SET1(x), b->x.x), SEL(better, SET1(y), b->x.y)};
}

// gaussian_hull samples one hull, a sample per lane, in the coordinates of a frame: two tangents and the direction d.
// Vertices that no sample reaches are left out.
static void gaussian_hull(double h[3], const sampling *g, int lane, const derive_call *c, const derive_shape *s,
                          const double frame[3][3], uint32_t block) {
    double o[3], v[3][CHUNK + SPARE];
    hull_vertex(c, s, frame[2], o);
    V3 z[HELD_SAMPLES / W];
    flat_matrix total = {SET1(0), SET1(0), SET1(0)};
    const uint32_t row[2] = {(uint32_t)g->row[0][lane], (uint32_t)g->row[1][lane]};
    for (int first = 0; first < g->samples && !stopped(c); first += HELD_SAMPLES) {
        int count = g->samples - first < HELD_SAMPLES ? g->samples - first : HELD_SAMPLES, n = (count + W - 1) / W;
        vu sample = lane_numbers((uint32_t)first);
        draw(z, n, (counters){{words(row[0]), words(row[1])}, sample, block}, W, g->key);
        best up[HELD_SAMPLES / W] = {0}, down[HELD_SAMPLES / W] = {0}; // o is the first
        VF longest = SET1(0);
        for (int i = 0; i < n; i++) {
            VF t[3];
            for (int k = 0; k < 3; k++)
                t[k] = FMA(SET1(frame[k][2]), z[i].z, FMA(SET1(frame[k][1]), z[i].y, frame[k][0] * z[i].x));
            VM counts = first_lanes(count - W * i);
            z[i] = where3(counts, (V3){t[0], t[1], t[2]});
            longest = MAX(longest, dot64(z[i], z[i]));
        }
        const double reach = g->epsilon * root1(HMAX(longest));
        for (int64_t at = 0; at < s->count; at += CHUNK) {
            int listed = near_vertices(c, s, at, o, frame, reach, v);
            for (int i = 0; i < n; i++) {
                V3 step = scale64(SET1(g->epsilon), z[i]);
                best ahead = up[i], behind = down[i];
                for (int k = 0; k < listed; k++) {
                    VF more = FMA(SET1(v[2][k]), step.z, FMA(SET1(v[1][k]), step.y, v[0][k] * step.x));
                    improve(&ahead, v[2][k] + more, v[0][k], v[1][k]);
                    improve(&behind, v[2][k] - more, v[0][k], v[1][k]);
                }
                up[i] = ahead, down[i] = behind;
            }
        }
        for (int i = 0; i < n; i++)
            add_sample(&total, (flat){up[i].x.x - down[i].x.x, up[i].x.y - down[i].x.y}, (flat){z[i].x, z[i].y});
    }
    h[0] = HSUM(total.xx), h[1] = HSUM(total.xy), h[2] = HSUM(total.yy);
}

// without_negative sets a negative eigenvalue to zero: H - λ₁·(H - λ₂)/(λ₁ - λ₂).
ALWAYS flat_matrix without_negative(flat_matrix h) {
    VF mean = 0.5 * (h.xx + h.yy), half = 0.5 * (h.xx - h.yy), least = mean - SQRT(FMA(h.xy, h.xy, half * half));
    VF most = h.xx + h.yy - least, k = least / (least - most);
    VM negative = LT(least, SET1(0)), any = MOR(NOT(negative), LT(SET1(0), most));
    flat_matrix g = {FNMA(k, h.xx - most, h.xx), FNMA(k, h.xy, h.xy), FNMA(k, h.yy - most, h.yy)};
    return (flat_matrix){where(any, SEL(negative, g.xx, h.xx)), where(any, SEL(negative, g.xy, h.xy)),
                         where(any, SEL(negative, g.yy, h.yy))};
}

// gaussian_feature replaces a feature with the outward normal n by a sampled one, which has a Hessian and no direction.
// A half-space keeps its plane. block is 0 for A and 1 for B, whose noise is independent.
APART void gaussian_feature(feature *f, const sampling *g, const derive_call *c, const side *s, int class, V3 n, V3 e0,
                            V3 e1, uint32_t block, int active) {
    flat_matrix h = {SET1(0), SET1(0), SET1(0)};
    switch (class) {
    case DERIVE_HALFSPACE: return;
    case DERIVE_POINT: break;
    case DERIVE_SEGMENT: h = gaussian_rows(g, c, s, DERIVE_SEGMENT, n, e0, e1, block, active); break;
    case DERIVE_BOX: h = gaussian_rows(g, c, s, DERIVE_BOX, n, e0, e1, block, active); break;
    case CLR_FRUSTUM: h = gaussian_rows(g, c, s, CLR_FRUSTUM, n, e0, e1, block, active); break;
    case CLR_ELLIPSOID: h = gaussian_rows(g, c, s, CLR_ELLIPSOID, n, e0, e1, block, active); break;
    case CLR_HULL:
        for (int lanes_left = active; lanes_left != 0; lanes_left &= lanes_left - 1) {
            int i = __builtin_ctz((unsigned)lanes_left);
            const V3 world[3] = {e0, e1, n};
            double frame[3][3], one[3];
            for (int k = 0; k < 3; k++) {
                V3 t = apply_transposed64(s->r, world[k]);
                frame[k][0] = t.x[i], frame[k][1] = t.y[i], frame[k][2] = t.z[i];
            }
            gaussian_hull(one, g, i, c, s->shape[i], frame, block);
            h.xx[i] = one[0], h.xy[i] = one[1], h.yy[i] = one[2];
        }
        break;
    default: h = gaussian_rows(g, c, s, class, n, e0, e1, block, active);
    }
    const double k = 0.5 / (g->samples * g->epsilon);
    h = without_negative((flat_matrix){k * h.xx, 0.5 * k * h.xy, k * h.yy});
    f->h = (flat_matrix){h.xx + s->radius, h.xy, h.yy + s->radius};
    f->edge = f->face = MFROM(0);
    f->ok = MAND(f->ok, is_finite(f->h.xx + f->h.yy));
}

// Hessians of cores that are smoothed by Gumbel noise [AGIMUS2023, Randomized Smoothing, eq. 27-28]. The reference is
// smoothing.go of package derive.

// s3 is a symmetric matrix in the frame of a core.
typedef struct {
    VF xx, xy, xz, yy, yz, zz;
} form3;

// gumbel_segment is (h²/ε)·sech²(hx/ε).
ALWAYS VF gumbel_segment(VF half, VF x, VF epsilon) {
    VF e = exponential(MIN(magnitude(half * x / epsilon), SET1(300)));
    VF twice = e + 1 / e; // 2·cosh
    return 4 * half * half / (epsilon * twice * twice);
}

// gumbel_frustum smooths the discs at z = ∓half and the choice between them.
ALWAYS void gumbel_frustum(form3 *m, const VF p[3], V3 d, VF epsilon) {
    VF rho2 = FMA(d.y, d.y, d.x * d.x);
    VF root0 = SQRT(FMA(epsilon, epsilon, p[0] * p[0] * rho2)),
       root1_ = SQRT(FMA(epsilon, epsilon, p[1] * p[1] * rho2));
    VF k0 = p[0] * p[0] / root0, k1 = p[1] * p[1] / root1_, rise = (FMA(p[2], d.z, root1_)) - (FNMA(p[2], d.z, root0));
    VF e = exponential(MIN(MAX(rise / epsilon, SET1(-300)), SET1(300)));
    VF weight0 = 1 / (1 + e), weight1 = e / (1 + e);
    VF level = FMA(weight1, k1, weight0 * k0);
    VF bent = FMA(weight1 * k1, p[1] * p[1] / (root1_ * root1_), weight0 * k0 * (p[0] * p[0] / (root0 * root0)));
    V3 step = {(k1 - k0) * d.x, (k1 - k0) * d.y, 2 * p[2]}; // of the support point, from the bottom to the top
    VF spread = weight0 * weight1 / epsilon;
    m->xx = FMA(spread * step.x, step.x, FNMA(bent * d.x, d.x, level));
    m->xy = FMA(spread * step.x, step.y, -bent * d.x * d.y);
    m->xz = spread * step.x * step.z;
    m->yy = FMA(spread * step.y, step.y, FNMA(bent * d.y, d.y, level));
    m->yz = spread * step.y * step.z;
    m->zz = spread * step.z * step.z;
}

// counting lists the vertices of s from first on, at most CHUNK, whose support value is at least a bound, and counts
// them. Indices are relative to first, four more are valid.
ALWAYS int counting(const derive_call *c, const derive_shape *s, int64_t first, const double d[3], double bound,
                    uint8_t list[CHUNK + SPARE]) {
    const int64_t from = s->first + first, left = s->count - first, n = left < CHUNK ? left : CHUNK;
    const double *x = c->vertices[0] + from, *y = c->vertices[1] + from, *z = c->vertices[2] + from;
    int listed = 0;
    for (int64_t i = 0; i < n; i += W) {
        unsigned m = (unsigned)MBITS(
            LE(SET1(bound), FMA(SET1(d[2]), LOADU(z + i), FMA(SET1(d[1]), LOADU(y + i), d[0] * LOADU(x + i)))));
        if (i + W > n) m &= (1u << (n - i)) - 1; // the rest is padding
        listed = append(list, listed, m, i);
    }
    for (int i = 0; i < W; i++) list[listed + i] = 0;
    return listed;
}

// moments are those of vertices along a and b from the support vertex: where its weight is nearly 1, the covariance of
// the others does not cancel.
typedef struct {
    VF total, a, b, aa, ab, bb;
} moments;

// weigh adds four vertices, relative to the support vertex, of the weights softmax(<v, d>/ε) if they count: steep is
// d/ε. Vertices that are not near may have any weight.
ALWAYS void weigh(moments *m, V3 v, const double steep[3], const double a[3], const double b[3], VM counts, int near) {
    VF x = FMA(SET1(steep[2]), v.z, FMA(SET1(steep[1]), v.y, steep[0] * v.x)),
       w = where(counts, near ? exponential(x) : power_of_e(x));
    VF va = FMA(SET1(a[2]), v.z, FMA(SET1(a[1]), v.y, a[0] * v.x)),
       vb = FMA(SET1(b[2]), v.z, FMA(SET1(b[1]), v.y, b[0] * v.x));
    VF wa = w * va, wb = w * vb;
    m->total += w, m->a += wa, m->b += wb;
    m->aa = FMA(wa, va, m->aa), m->ab = FMA(wa, vb, m->ab), m->bb = FMA(wb, vb, m->bb);
}

// covariance is that of the weights, over ε.
ALWAYS void covariance(double h[3], const moments *m, double over) {
    double k = 1 / HSUM(m->total), ma = k * HSUM(m->a), mb = k * HSUM(m->b);
    h[0] = (k * HSUM(m->aa) - ma * ma) * over, h[1] = (k * HSUM(m->ab) - ma * mb) * over;
    h[2] = (k * HSUM(m->bb) - mb * mb) * over;
}

// gumbel_hull is the covariance of the vertices of one hull along a and b, over ε: of a with itself, of both, of b with
// itself. Vertices with a weight of less than e⁻²⁰ relative to the largest are left out; since neighbors in memory are
// not neighbors on the hull, few vectors would be without a vertex that counts.
static void gumbel_hull(double h[3], const derive_call *c, const derive_shape *s, const double d[3], const double a[3],
                        const double b[3], double epsilon) {
    double o[3], bound = hull_vertex(c, s, d, o) - 20 * epsilon, over = 1 / epsilon;
    const double steep[3] = {d[0] * over, d[1] * over, d[2] * over};
    const VF nothing = SET1(0);
    moments m = {nothing, nothing, nothing, nothing, nothing, nothing};
    for (int64_t first = 0; first < s->count; first += CHUNK) {
        const int64_t from = s->first + first;
        const double *x = c->vertices[0] + from, *y = c->vertices[1] + from, *z = c->vertices[2] + from;
        uint8_t list[CHUNK + SPARE];
        int n = counting(c, s, first, d, bound, list);
        for (int j = 0; j < n; j += W) {
            const uint8_t *k = list + j;
            V3 v = {LISTED(x, k) - o[0], LISTED(y, k) - o[1], LISTED(z, k) - o[2]};
            weigh(&m, v, steep, a, b, first_lanes(n - j), 1);
        }
    }
    covariance(h, &m, over);
}

// The largest number of vertices of a hull with rings, and of those within the rings.
#define RING_HULL 16384
#define MAX_RING 4096

// ring lists the vertices up to c->rings edges from the feature that supports a hull at its vertex first, and counts
// them; -1 if they are too many. Four more numbers are valid.
APART int ring(const derive_call *c, const derive_shape *s, const double d[3], int64_t first,
               int32_t list[MAX_RING + SPARE]) {
    const double *x = c->vertices[0] + s->first, *y = c->vertices[1] + s->first, *z = c->vertices[2] + s->first;
    const int32_t *starts = c->neighbor_starts + s->first;
    if (s->count > RING_HULL) return -1;
    uint64_t seen[RING_HULL / 64];
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
                if (n == MAX_RING) return -1;
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
APART int gumbel_ring(double h[3], const derive_call *c, const derive_shape *s, const double d[3], const double a[3],
                      const double b[3], double epsilon) {
    const double *x = c->vertices[0] + s->first, *y = c->vertices[1] + s->first, *z = c->vertices[2] + s->first;
    int32_t list[MAX_RING + SPARE];
    double top;
    int64_t first = hull_top(c, s, d, &top);
    int n = ring(c, s, d, first, list);
    double over = 1 / epsilon;
    const double steep[3] = {d[0] * over, d[1] * over, d[2] * over};
    const VF nothing = SET1(0);
    moments m = {nothing, nothing, nothing, nothing, nothing, nothing};
    for (int j = 0; j < n; j += W) {
        const int32_t *k = list + j;
        V3 v = {LISTED(x, k) - x[first], LISTED(y, k) - y[first], LISTED(z, k) - z[first]};
        weigh(&m, v, steep, a, b, first_lanes(n - j), 0);
    }
    covariance(h, &m, over);
    return n > 0;
}

// in_plane is the form m of the frame of a core on the tangent plane of a and b.
ALWAYS flat_matrix in_plane(form3 m, V3 a, V3 b) {
    V3 ma = {FMA(m.xz, a.z, FMA(m.xy, a.y, m.xx * a.x)), FMA(m.yz, a.z, FMA(m.yy, a.y, m.xy * a.x)),
             FMA(m.zz, a.z, FMA(m.yz, a.y, m.xz * a.x))};
    V3 mb = {FMA(m.xz, b.z, FMA(m.xy, b.y, m.xx * b.x)), FMA(m.yz, b.z, FMA(m.yy, b.y, m.xy * b.x)),
             FMA(m.zz, b.z, FMA(m.yz, b.y, m.xz * b.x))};
    return (flat_matrix){dot64(a, ma), dot64(a, mb), dot64(b, mb)};
}

// gumbel_feature replaces a feature with the outward normal d by a smoothed one, which has a Hessian and no direction.
// A half-space keeps its plane, an ellipsoid its Hessian.
APART void gumbel_feature(feature *f, const pair *p, const side *s, int class, V3 d, VF epsilon, V3 e0, V3 e1,
                          int active) {
    if (class == DERIVE_HALFSPACE || is_curved(class)) return;
    V3 dl = apply_transposed64(s->r, d), a = apply_transposed64(s->r, e0), b = apply_transposed64(s->r, e1);
    unsigned lost = 0; // lanes with too many vertices
    VF none = SET1(0);
    form3 m = {none, none, none, none, none, none};
    flat_matrix h = {none, none, none};
    switch (class) {
    case DERIVE_SEGMENT: m.zz = gumbel_segment(s->p[0], dl.z, epsilon); break;
    case DERIVE_BOX:
        m.xx = gumbel_segment(s->p[0], dl.x, epsilon);
        m.yy = gumbel_segment(s->p[1], dl.y, epsilon);
        m.zz = gumbel_segment(s->p[2], dl.z, epsilon);
        break;
    case CLR_FRUSTUM: gumbel_frustum(&m, s->p, dl, epsilon); break;
    case CLR_HULL:
        for (; active != 0; active &= active - 1) {
            int i = __builtin_ctz((unsigned)active);
            const double one[3] = {dl.x[i], dl.y[i], dl.z[i]};
            const double e[2][3] = {{a.x[i], a.y[i], a.z[i]}, {b.x[i], b.y[i], b.z[i]}};
            double k[3];
            if (p->call->rings == 0) gumbel_hull(k, p->call, s->shape[i], one, e[0], e[1], epsilon[i]);
            else if (!gumbel_ring(k, p->call, s->shape[i], one, e[0], e[1], epsilon[i])) lost |= 1u << i;
            h.xx[i] = k[0], h.xy[i] = k[1], h.yy[i] = k[2];
        }
    }
    if (class != CLR_HULL) h = in_plane(m, a, b);
    f->h = (flat_matrix){h.xx + s->radius, h.xy, h.yy + s->radius};
    f->edge = f->face = MFROM(0);
    f->ok = MANDN(f->ok, MFROM(lost));
    f->ok = MAND(f->ok, is_finite(f->h.xx + f->h.yy));
}

// smooth replaces both features and solves the system anew. It returns the lanes where that has an inverse. row is that
// of the answers.
APART int smooth(const pair *p, linear *s, const int64_t row[W], int active) {
    const derive_call *c = p->call;
    V3 opposite = neg64(s->n);
    if (c->mode == DERIVE_GUMBEL) {
        VF epsilon = 1e-2 * p->size;
        if (c->epsilon > 0) epsilon = SET1(c->epsilon);
        gumbel_feature(&s->a, p, &p->a, p->class_a, s->n, epsilon, s->e0, s->e1, active);
        gumbel_feature(&s->b, p, &p->b, p->class_b, opposite, epsilon, s->e0, s->e1, active);
    } else {
        sampling g = {{(uint32_t)c->seed, (uint32_t)(c->seed >> 32)}, c->samples, c->epsilon, {{0}, {0}}};
        for (int i = 0; i < W; i++) {
            uint64_t number = c->first_number + (uint64_t)row[i];
            g.row[0][i] = (uint32_t)number, g.row[1][i] = number >> 32;
        }
        gaussian_feature(&s->a, &g, c, &p->a, p->class_a, s->n, s->e0, s->e1, 0, active);
        gaussian_feature(&s->b, &g, c, &p->b, p->class_b, opposite, s->e0, s->e1, 1, active);
    }
    solve(s, p);
    return active & MBITS(s->regular);
}

#endif

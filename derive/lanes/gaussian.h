// Hessians of cores that are smoothed by Gaussian noise [AGIMUS2023, Randomized Smoothing, eq. 26]: the mean of
// (s(d + εz) - s(d - εz))·zᵀ/2ε over normal z of the frame of the shape, symmetric and on the tangent plane, without
// negative eigenvalues. The reference is smoothing.go of package derive.

#ifndef LN_GAUSSIAN_H
#define LN_GAUSSIAN_H

#include "noise.h"
#include "points.h"
#include "system.h"

// The number of samples whose noise is held at a time, a multiple of W.
#define LN_SAMPLES 64

// stopped reports whether samples are to end. Another thread sets the number.
INLINE int stopped(const ln_call *c) { return c->stop && __atomic_load_n(c->stop, __ATOMIC_RELAXED); }

// sampling is the noise of the lanes.
typedef struct {
    uint32_t key[2];
    int samples;
    double epsilon;
    vu row[2]; // words of the numbers of the rows
} sampling;

// add_sample adds the terms of a sample: x on the tangent plane, z likewise.
INLINE void add_sample(s2 *h, v2 x, v2 z) { h->xx += x.x * z.x, h->xy += x.x * z.y + x.y * z.x, h->yy += x.y * z.y; }

// gaussian_rows samples cores but hulls, a row per lane.
INLINE s2 gaussian_rows(const sampling *g, const ln_call *c, const side *s, int class, v3 n, v3 e0, v3 e1,
                        uint32_t block, int active) {
    v3 d = rotate_back(s->r, n), a = rotate_back(s->r, e0), b = rotate_back(s->r, e1), z[LN_SAMPLES];
    s2 h = {all(0), all(0), all(0)};
    for (int first = 0; first < g->samples && !stopped(c); first += LN_SAMPLES) {
        int count = g->samples - first < LN_SAMPLES ? g->samples - first : LN_SAMPLES;
        draw(z, count, (counters){{g->row[0], g->row[1]}, words((uint32_t)first), block}, 1, g->key);
        for (int i = 0; i < count; i++) {
            v3 step = scale3(all(g->epsilon), z[i]);
            v3 up = core_point(c, s, class, add3(d, step), active);
            add_sample(&h, within(a, b, sub3(up, core_point(c, s, class, sub3(d, step), active))), within(a, b, z[i]));
        }
    }
    return h;
}

// near_vertices lists the vertices of s from first on, at most LN_CHUNK, that support the hull in a direction d + y
// with |y| ≤ reach: those that are at most reach times as far below the support vertex o as away from it. Their
// coordinates along a, b and d, from o, go to v; the last vector is filled by any other vertices.
INLINE int near_vertices(const ln_call *c, const ln_shape *s, int64_t first, const double o[3],
                         const double frame[3][3], double reach, double v[3][LN_CHUNK + W]) {
    const int64_t from = s->first + first, left = s->count - first, n = left < LN_CHUNK ? left : LN_CHUNK;
    const double *x = c->vertices[0] + from, *y = c->vertices[1] + from, *z = c->vertices[2] + from;
    const double square = reach * reach * (1 + 1e-9); // rounding
    uint8_t list[LN_CHUNK + W];
    int listed = 0;
    for (int64_t i = 0; i < n; i += W) {
        v3 r = {load(x + i) - o[0], load(y + i) - o[1], load(z + i) - o[2]};
        vd below = frame[2][0] * r.x + frame[2][1] * r.y + frame[2][2] * r.z;
        unsigned m = (unsigned)bits(below * below <= square * dot3(r, r));
        if (i + W > n) m &= (1u << (n - i)) - 1; // the rest is padding
        listed = append(list, listed, m, i);
    }
    for (int i = 0; i < W; i++) list[listed + i] = 0;
    for (int j = 0; j < listed; j += W) {
        const uint8_t *k = list + j;
        vd rx = (vd){x[k[0]], x[k[1]], x[k[2]], x[k[3]]} - o[0];
        vd ry = (vd){y[k[0]], y[k[1]], y[k[2]], y[k[3]]} - o[1];
        vd rz = (vd){z[k[0]], z[k[1]], z[k[2]], z[k[3]]} - o[2];
        for (int i = 0; i < 3; i++) {
            vd along = frame[i][0] * rx + frame[i][1] * ry + frame[i][2] * rz;
            __builtin_memcpy(v[i] + j, &along, sizeof along);
        }
    }
    return listed;
}

// best is the support vertex of a direction per lane: its support value and its place on the tangent plane.
typedef struct {
    vd value;
    v2 x;
} best;

INLINE void improve(best *b, vd value, double x, double y) {
    vm better = value > b->value;
    b->value = greater(b->value, value);
    b->x = (v2){pick(better, all(x), b->x.x), pick(better, all(y), b->x.y)};
}

// gaussian_hull samples one hull, a sample per lane, in the coordinates of a frame: two tangents and the direction d.
// Vertices that no sample reaches are left out.
static void gaussian_hull(double h[3], const sampling *g, int lane, const ln_call *c, const ln_shape *s,
                          const double frame[3][3], uint32_t block) {
    double o[3], v[3][LN_CHUNK + W];
    hull_vertex(c, s, frame[2], o);
    v3 z[LN_SAMPLES / W];
    s2 total = {all(0), all(0), all(0)};
    const uint32_t row[2] = {(uint32_t)g->row[0][lane], (uint32_t)g->row[1][lane]};
    for (int first = 0; first < g->samples && !stopped(c); first += LN_SAMPLES) {
        int count = g->samples - first < LN_SAMPLES ? g->samples - first : LN_SAMPLES, n = (count + W - 1) / W;
        vu sample = words((uint32_t)first) + (vu){0, 1, 2, 3};
        draw(z, n, (counters){{words(row[0]), words(row[1])}, sample, block}, W, g->key);
        best up[LN_SAMPLES / W] = {0}, down[LN_SAMPLES / W] = {0}; // o is the first
        vd longest = all(0);
        for (int i = 0; i < n; i++) {
            vd t[3];
            for (int k = 0; k < 3; k++) t[k] = frame[k][0] * z[i].x + frame[k][1] * z[i].y + frame[k][2] * z[i].z;
            vm counts = (vm){0, 1, 2, 3} + W * i < count;
            z[i] = where3(counts, (v3){t[0], t[1], t[2]});
            longest = greater(longest, dot3(z[i], z[i]));
        }
        const double reach = g->epsilon * root1(largest(longest));
        for (int64_t at = 0; at < s->count; at += LN_CHUNK) {
            int listed = near_vertices(c, s, at, o, frame, reach, v);
            for (int i = 0; i < n; i++) {
                v3 step = scale3(all(g->epsilon), z[i]);
                best ahead = up[i], behind = down[i];
                for (int k = 0; k < listed; k++) {
                    vd more = v[0][k] * step.x + v[1][k] * step.y + v[2][k] * step.z;
                    improve(&ahead, v[2][k] + more, v[0][k], v[1][k]);
                    improve(&behind, v[2][k] - more, v[0][k], v[1][k]);
                }
                up[i] = ahead, down[i] = behind;
            }
        }
        for (int i = 0; i < n; i++)
            add_sample(&total, (v2){up[i].x.x - down[i].x.x, up[i].x.y - down[i].x.y}, (v2){z[i].x, z[i].y});
    }
    h[0] = sum(total.xx), h[1] = sum(total.xy), h[2] = sum(total.yy);
}

// without_negative sets a negative eigenvalue to zero: H - λ₁·(H - λ₂)/(λ₁ - λ₂).
INLINE s2 without_negative(s2 h) {
    vd mean = 0.5 * (h.xx + h.yy), half = 0.5 * (h.xx - h.yy), least = mean - root(half * half + h.xy * h.xy);
    vd most = h.xx + h.yy - least, k = least / (least - most);
    vm negative = least < 0, any = ~negative | (most > 0);
    s2 g = {h.xx - k * (h.xx - most), h.xy - k * h.xy, h.yy - k * (h.yy - most)};
    return (s2){where(any, pick(negative, g.xx, h.xx)), where(any, pick(negative, g.xy, h.xy)),
                where(any, pick(negative, g.yy, h.yy))};
}

// gaussian_feature replaces a feature with the outward normal n by a sampled one, which has a Hessian and no direction.
// A half-space keeps its plane. block is 0 for A and 1 for B, whose noise is independent.
APART void gaussian_feature(feature *f, const sampling *g, const ln_call *c, const side *s, int class, v3 n, v3 e0,
                            v3 e1, uint32_t block, int active) {
    s2 h = {all(0), all(0), all(0)};
    switch (class) {
    case LN_HALFSPACE: return;
    case LN_POINT: break;
    case LN_SEGMENT: h = gaussian_rows(g, c, s, LN_SEGMENT, n, e0, e1, block, active); break;
    case LN_BOX: h = gaussian_rows(g, c, s, LN_BOX, n, e0, e1, block, active); break;
    case LN_FRUSTUM: h = gaussian_rows(g, c, s, LN_FRUSTUM, n, e0, e1, block, active); break;
    case LN_ELLIPSOID: h = gaussian_rows(g, c, s, LN_ELLIPSOID, n, e0, e1, block, active); break;
    case LN_HULL:
        for (int lanes_left = active; lanes_left != 0; lanes_left &= lanes_left - 1) {
            int i = __builtin_ctz((unsigned)lanes_left);
            const v3 world[3] = {e0, e1, n};
            double frame[3][3], one[3];
            for (int k = 0; k < 3; k++) {
                v3 t = rotate_back(s->r, world[k]);
                frame[k][0] = t.x[i], frame[k][1] = t.y[i], frame[k][2] = t.z[i];
            }
            gaussian_hull(one, g, i, c, s->shape[i], frame, block);
            h.xx[i] = one[0], h.xy[i] = one[1], h.yy[i] = one[2];
        }
        break;
    default: h = gaussian_rows(g, c, s, class, n, e0, e1, block, active);
    }
    const double k = 0.5 / (g->samples * g->epsilon);
    h = without_negative((s2){k * h.xx, 0.5 * k * h.xy, k * h.yy});
    f->h = (s2){h.xx + s->radius, h.xy, h.yy + s->radius};
    f->edge = f->face = (vm){0};
    f->ok &= is_finite(f->h.xx + f->h.yy);
}

#endif

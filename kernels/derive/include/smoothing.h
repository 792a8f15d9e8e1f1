// Normal numbers, estimates of order zero, and Hessians smoothed by noise.

#ifndef CLR_DERIVE_SMOOTHING_H
#define CLR_DERIVE_SMOOTHING_H

#include "powers.h"
#include "rows.h"
#include "system.h"

// Normal numbers by counters: Philox4x32-10 [Salmon2011] and Box and Muller's transform. The reference is smoothing.go
// of package derive: the words of a counter are the same, the numbers agree to rounding.

ALWAYS vu words(uint32_t x) { return (vu)(SET1(0)) + x; }

// lane_numbers are those of the lanes, from first on.
ALWAYS vu lane_numbers(uint32_t first) {
    vu n = words(0);
    for (int i = 0; i < W; i++) n[i] = first + (uint32_t)i;
    return n;
}

// product32 is the product of the lower halves of the lanes.
ALWAYS vu product32(vu a, vu b) {
#if W == 8
    return (vu)_mm512_mul_epu32((__m512i)a, (__m512i)b);
#elif W == 4
    return (vu)_mm256_mul_epu32((__m256i)a, (__m256i)b);
#else
    return (a & 0xffffffff) * (b & 0xffffffff);
#endif
}

// counters are those of one draw per lane. The words of the upper halves are any.
typedef struct {
    vu row[2], sample;
    uint32_t block;
} counters;

// philox makes four words of each counter, in the lower halves; the upper ones are any.
ALWAYS void philox(vu x[4], const counters *c, const uint32_t key[2]) {
    vu c0 = c->row[0], c1 = c->row[1], c2 = c->sample, c3 = words(c->block);
    uint32_t k0 = key[0], k1 = key[1];
    for (int i = 0; i < 10; i++) {
        vu p = product32(c0, words(0xD2511F53)), q = product32(c2, words(0xCD9E8D57));
        c0 = (q >> 32) ^ c1 ^ words(k0), c1 = q, c2 = (p >> 32) ^ c3 ^ words(k1), c3 = p;
        k0 += 0x9E3779B9, k1 += 0xBB67AE85;
    }
    x[0] = c0, x[1] = c1, x[2] = c2, x[3] = c3;
}

// uniform is (x + ½)·2⁻³² of the lower halves, exact.
ALWAYS VF uniform(vu x) {
    VF bits52 = (VF)((x & 0xffffffff) | 0x4330000000000000); // 2⁵² + x
    return (bits52 - 0x1p52 + 0.5) * 0x1p-32;
}

// sine_cosine takes v of a full circle, in [-½, 1], to an absolute error of 4e-16: less quarters of it, exactly, |a| ≤
// π/4 remains, where the terms of the Taylor series that are left out are below 1e-16.
ALWAYS void sine_cosine(VF v, VF *sine, VF *cosine) {
    const VF magic = SET1(0x1.8p52); // its sum with an integer has that in the lowest bits
    VF shifted = FMA(SET1(4), v, magic), a = FNMA(SET1(0.25), shifted - magic, v) * 0x1.921fb54442d18p2;
    VF z = a * a, z2 = z * z;
    VF odd = FMA(FNMA(SET1(1.0 / 1307674368000), z2, FMA(z, SET1(1.0 / 6227020800), SET1(-1.0 / 39916800))), z2 * z2,
                 FMA(FMA(z, SET1(1.0 / 362880), SET1(-1.0 / 5040)), z2, FMA(z, SET1(1.0 / 120), SET1(-1.0 / 6))));
    VF even = FMA(FMA(FMA(z, SET1(1.0 / 20922789888000), SET1(-1.0 / 87178291200)), z2,
                      FMA(z, SET1(1.0 / 479001600), SET1(-1.0 / 3628800))),
                  z2 * z2, FMA(FMA(z, SET1(1.0 / 40320), SET1(-1.0 / 720)), z2, FMA(z, SET1(1.0 / 24), SET1(-0.5))));
    VF s = FMA(a * z, odd, a), c = FMA(z, even, SET1(1));
    // Odd quarters swap both; the second bit, of the next one for the cosine, is the sign.
    vu quarters = (vu)shifted, swaps = ((vu)s ^ (vu)c) & -(quarters & 1);
    *sine = (VF)((vu)s ^ swaps ^ ((quarters & 2) << 62));
    *cosine = (VF)((vu)c ^ swaps ^ (((quarters + 1) & 2) << 62));
}

// two_normals makes independent normal numbers of two words.
ALWAYS void two_normals(vu a, vu b, VF *first, VF *second) {
    VF length = SQRT(-2 * logarithm(uniform(a)));
    sine_cosine(uniform(b), second, first);
    *first *= length, *second *= length;
}

// draw makes the first three normal numbers of n counters per lane, whose samples rise by a step.
APART void draw(V3 *z, int n, counters c, int step, const uint32_t key[2]) {
    for (int i = 0; i < n; i++) {
        vu x[4];
        VF fourth;
        philox(x, &c, key);
        two_normals(x[0], x[1], &z[i].x, &z[i].y);
        two_normals(x[2], x[3], &z[i].z, &fourth);
        c.sample += (uint64_t)step;
    }
}

// Estimates of order zero [AGIMUS2023, Randomized Smoothing, eq. 6], but for the answers at disturbed poses: the noise,
// the poses, and the sums of answers times noise. Samples stand in the lanes. The reference is zeroth.go of package
// derive.

ALWAYS int64_t padded(const derive_samples *e) { return (e->samples + DERIVE_ALIGN - 1) / DERIVE_ALIGN * DERIVE_ALIGN; }

// six makes the noise of four samples of a row from first on: of its counters (sample, 0) four numbers, of (sample, 1)
// two.
ALWAYS void six(VF z[6], const derive_samples *e, uint64_t row, int64_t first) {
    const uint32_t key[2] = {(uint32_t)e->seed, (uint32_t)(e->seed >> 32)};
    counters c = {{words((uint32_t)row), words((uint32_t)(row >> 32))}, lane_numbers((uint32_t)first), 0};
    vu x[4];
    philox(x, &c, key);
    two_normals(x[0], x[1], &z[0], &z[1]);
    two_normals(x[2], x[3], &z[2], &z[3]);
    c.block = 1;
    philox(x, &c, key);
    two_normals(x[0], x[1], &z[4], &z[5]);
}

// displace makes the noise of rows [lo, hi) and the poses of B: moved by ε·size·z, and rotated by the vector ε·z.
static void displace(const derive_samples *e, int64_t lo, int64_t hi) {
    const double over_circle = 0x1.45f306dc9c883p-3, magic = 0x1.8p52; // 1/2π; see sine_cosine
    for (int64_t r = lo; r < hi; r++) {
        const double *at = e->position + 3 * r, *q = e->rotation + 4 * r, far = e->epsilon * e->size[r];
        for (int64_t j = 0; j < e->samples; j += W) {
            VF z[6];
            six(z, e, e->number[r], e->first_sample + j);
            VM counts = first_lanes(e->samples - j);
            for (int k = 0; k < 6; k++) {
                z[k] = where(counts, z[k]);
                __builtin_memcpy(e->noise + (6 * r + k) * padded(e) + j, &z[k], sizeof z[k]);
            }
            V3 w = scale64(SET1(0.5 * e->epsilon), (V3){z[3], z[4], z[5]});
            VF angle = SQRT(dot64(w, w)), share = angle * over_circle, sine, cosine;
            sine_cosine(share - (share + magic - magic), &sine, &cosine);
            w = scale64(SEL(LT(SET1(0), angle), sine / angle, SET1(1)), w);
            VF p[4] = {FMA(cosine, SET1(q[0]), -(FMA(w.z, SET1(q[3]), FMA(w.y, SET1(q[2]), w.x * q[1])))),
                       FMA(w.x, SET1(q[0]), cosine * q[1]) + (FNMA(w.z, SET1(q[2]), w.y * q[3])),
                       FMA(w.y, SET1(q[0]), cosine * q[2]) + (FNMA(w.x, SET1(q[3]), w.z * q[1])),
                       FMA(w.z, SET1(q[0]), cosine * q[3]) + (FNMA(w.y, SET1(q[1]), w.x * q[2]))};
            for (int64_t i = 0; i < W && j + i < e->samples; i++) {
                int64_t to = r * e->samples + j + i;
                for (int k = 0; k < 3; k++) e->to_position[3 * to + k] = at[k] + far * z[k][i];
                for (int k = 0; k < 4; k++) e->to_rotation[4 * to + k] = p[k][i];
            }
        }
    }
}

// add_answers adds Σ (x - x(0))·z over the samples of rows [lo, hi) to their sums.
static void add_answers(const derive_samples *e, int64_t lo, int64_t hi) {
    for (int64_t r = lo; r < hi; r++) {
        const double *at = e->at + 10 * r;
        VF sums[10][6];
        for (int k = 0; k < 10; k++)
            for (int c = 0; c < 6; c++) sums[k][c] = SET1(0);
        for (int64_t j = 0; j < e->samples; j += W) {
            int64_t from[W];
            for (int64_t i = 0; i < W; i++)
                from[i] = r * e->samples + (j + i < e->samples ? j + i : e->samples - 1); // the noise of the rest is 0
            VF z[6], x[10];
            for (int c = 0; c < 6; c++) z[c] = LOADU(e->noise + (6 * r + c) * padded(e) + j);
            const double *const columns[3] = {e->normal, e->witness_a, e->witness_b};
            x[0] = numbers(0, e->value, from);
            for (int k = 0; k < 3; k++) {
                V3 v = numbers3(0, columns[k], from);
                x[3 * k + 1] = v.x, x[3 * k + 2] = v.y, x[3 * k + 3] = v.z;
            }
            for (int k = 0; k < 10; k++) {
                VF change = x[k] - at[k];
                for (int c = 0; c < 6; c++) sums[k][c] = FMA(change, z[c], sums[k][c]);
            }
        }
        for (int k = 0; k < 10; k++)
            for (int c = 0; c < 6; c++) e->sums[60 * r + 6 * k + c] += HSUM(sums[k][c]);
    }
}

// Hessians of cores that are smoothed by Gaussian noise [AGIMUS2023, Randomized Smoothing, eq. 26]: the mean of
// (s(d + εz) - s(d - εz))·zᵀ/2ε over normal z of the frame of the shape, symmetric and on the tangent plane, without
// negative eigenvalues. The reference is smoothing.go of package derive.

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
    const exponents e = exponents_of(s);
    for (int first = 0; first < g->samples && !stopped(c); first += HELD_SAMPLES) {
        int count = g->samples - first < HELD_SAMPLES ? g->samples - first : HELD_SAMPLES;
        draw(z, count, (counters){{g->row[0], g->row[1]}, words((uint32_t)first), block}, 1, g->key);
        for (int i = 0; i < count; i++) {
            V3 step = scale64(SET1(g->epsilon), z[i]);
            V3 up = core_point(c, s, class, &e, add64(d, step), active);
            add_sample(&h, within(a, b, sub64(up, core_point(c, s, class, &e, sub64(d, step), active))),
                       within(a, b, z[i]));
        }
    }
    return h;
}

// near_vertices lists the vertices of s from first on, at most CHUNK, that support the hull in a direction d + y
// with |y| ≤ reach: those that are at most reach times as far below the support vertex o as away from it. Their
// coordinates along a, b and d, from o, go to v; the last vector is filled by any other vertices.
ALWAYS int near_vertices(const derive_call *c, const clr_shape *s, int64_t first, const double o[3],
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
static void gaussian_hull(double h[3], const sampling *g, int lane, const derive_call *c, const clr_shape *s,
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
    case CLR_HALF_CORE: return;
    case CLR_POINT_CORE: break;
    case CLR_SEGMENT_CORE: h = gaussian_rows(g, c, s, CLR_SEGMENT_CORE, n, e0, e1, block, active); break;
    case CLR_CUBOID_CORE: h = gaussian_rows(g, c, s, CLR_CUBOID_CORE, n, e0, e1, block, active); break;
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
ALWAYS int counting(const derive_call *c, const clr_shape *s, int64_t first, const double d[3], double bound,
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
static void gumbel_hull(double h[3], const derive_call *c, const clr_shape *s, const double d[3], const double a[3],
                        const double b[3], double epsilon) {
    double o[3], bound = hull_vertex(c, s, d, o) - NEGLIGIBLE * epsilon, over = 1 / epsilon;
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
APART int ring(const derive_call *c, const clr_shape *s, const double d[3], int64_t first,
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
APART int gumbel_ring(double h[3], const derive_call *c, const clr_shape *s, const double d[3], const double a[3],
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
    if (class == CLR_HALF_CORE || is_curved(class)) return;
    V3 dl = apply_transposed64(s->r, d), a = apply_transposed64(s->r, e0), b = apply_transposed64(s->r, e1);
    unsigned lost = 0; // lanes with too many vertices
    VF none = SET1(0);
    form3 m = {none, none, none, none, none, none};
    flat_matrix h = {none, none, none};
    switch (class) {
    case CLR_SEGMENT_CORE: m.zz = gumbel_segment(s->p[2], dl.z, epsilon); break;
    case CLR_CUBOID_CORE:
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
        VF epsilon = GUMBEL_SHARE * p->size;
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

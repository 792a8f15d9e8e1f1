// Estimates of order zero [AGIMUS2023, Randomized Smoothing, eq. 6], but for the answers at disturbed poses: the noise,
// the poses, and the sums of answers times noise. Samples stand in the lanes. The reference is zeroth.go of package
// derive.

#ifndef LN_ZEROTH_H
#define LN_ZEROTH_H

#include "noise.h"
#include "rows.h"

INLINE int64_t padded(const ln_samples *e) { return (e->samples + W - 1) / W * W; }

// six makes the noise of four samples of a row from first on: of its counters (sample, 0) four numbers, of (sample, 1)
// two.
INLINE void six(vd z[6], const ln_samples *e, uint64_t row, int64_t first) {
    const uint32_t key[2] = {(uint32_t)e->seed, (uint32_t)(e->seed >> 32)};
    counters c = {{words((uint32_t)row), words((uint32_t)(row >> 32))}, words((uint32_t)first) + (vu){0, 1, 2, 3}, 0};
    vu x[4];
    philox(x, &c, key);
    two_normals(x[0], x[1], &z[0], &z[1]);
    two_normals(x[2], x[3], &z[2], &z[3]);
    c.block = 1;
    philox(x, &c, key);
    two_normals(x[0], x[1], &z[4], &z[5]);
}

// displace makes the noise of rows [lo, hi) and the poses of B: moved by ε·size·z, and rotated by the vector ε·z.
static void displace(const ln_samples *e, int64_t lo, int64_t hi) {
    const double over_circle = 0x1.45f306dc9c883p-3, magic = 0x1.8p52; // 1/2π; see sine_cosine
    for (int64_t r = lo; r < hi; r++) {
        const double *at = e->position + 3 * r, *q = e->rotation + 4 * r, far = e->epsilon * e->size[r];
        for (int64_t j = 0; j < e->samples; j += W) {
            vd z[6];
            six(z, e, e->number[r], e->first_sample + j);
            vm counts = (vm){0, 1, 2, 3} + j < e->samples;
            for (int k = 0; k < 6; k++) {
                z[k] = where(counts, z[k]);
                __builtin_memcpy(e->noise + (6 * r + k) * padded(e) + j, &z[k], sizeof z[k]);
            }
            v3 w = scale3(all(0.5 * e->epsilon), (v3){z[3], z[4], z[5]});
            vd angle = root(dot3(w, w)), share = angle * over_circle, sine, cosine;
            sine_cosine(share - (share + magic - magic), &sine, &cosine);
            w = scale3(pick(angle > 0, sine / angle, all(1)), w);
            vd p[4] = {cosine * q[0] - (w.x * q[1] + w.y * q[2] + w.z * q[3]),
                       cosine * q[1] + w.x * q[0] + (w.y * q[3] - w.z * q[2]),
                       cosine * q[2] + w.y * q[0] + (w.z * q[1] - w.x * q[3]),
                       cosine * q[3] + w.z * q[0] + (w.x * q[2] - w.y * q[1])};
            for (int64_t i = 0; i < W && j + i < e->samples; i++) {
                int64_t to = r * e->samples + j + i;
                for (int k = 0; k < 3; k++) e->to_position[3 * to + k] = at[k] + far * z[k][i];
                for (int k = 0; k < 4; k++) e->to_rotation[4 * to + k] = p[k][i];
            }
        }
    }
}

// add_answers adds Σ (x - x(0))·z over the samples of rows [lo, hi) to their sums.
static void add_answers(const ln_samples *e, int64_t lo, int64_t hi) {
    for (int64_t r = lo; r < hi; r++) {
        const double *at = e->at + 10 * r;
        vd sums[10][6];
        for (int k = 0; k < 10; k++)
            for (int c = 0; c < 6; c++) sums[k][c] = all(0);
        for (int64_t j = 0; j < e->samples; j += W) {
            int64_t from[W];
            for (int64_t i = 0; i < W; i++)
                from[i] = r * e->samples + (j + i < e->samples ? j + i : e->samples - 1); // the noise of the rest is 0
            vd z[6], x[10];
            for (int c = 0; c < 6; c++) z[c] = load(e->noise + (6 * r + c) * padded(e) + j);
            const double *const columns[3] = {e->normal, e->witness_a, e->witness_b};
            x[0] = numbers(0, e->value, from);
            for (int k = 0; k < 3; k++) {
                v3 v = numbers3(0, columns[k], from);
                x[3 * k + 1] = v.x, x[3 * k + 2] = v.y, x[3 * k + 3] = v.z;
            }
            for (int k = 0; k < 10; k++) {
                vd change = x[k] - at[k];
                for (int c = 0; c < 6; c++) sums[k][c] += change * z[c];
            }
        }
        for (int k = 0; k < 10; k++)
            for (int c = 0; c < 6; c++) e->sums[60 * r + 6 * k + c] += sum(sums[k][c]);
    }
}

#endif

// Normal numbers by counters: Philox4x32-10 [Salmon2011] and Box and Muller's transform. The reference is smoothing.go
// of package derive: the words of a counter are the same, the numbers agree to rounding.

#ifndef CLR_DERIVE_NOISE_H
#define CLR_DERIVE_NOISE_H

#include "rows.h"
#include "vectors.h"

typedef uint64_t vu __attribute__((vector_size(8 * W)));

ALWAYS vu words(uint32_t x) { return (vu)(SET1(0)) + x; }

// lane_numbers are those of the lanes, from first on.
ALWAYS vu lane_numbers(uint32_t first) {
    vu n;
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
    const VF magic = SET1(0x1.8p52); // adding it rounds to an integer
    VF quarters = FMA(SET1(4), v, magic) - magic, a = FNMA(SET1(0.25), quarters, v) * 0x1.921fb54442d18p2;
    VF z = a * a, z2 = z * z;
    VF odd = FMA(FNMA(SET1(1.0 / 1307674368000), z2, FMA(z, SET1(1.0 / 6227020800), SET1(-1.0 / 39916800))), z2 * z2,
                 FMA(FMA(z, SET1(1.0 / 362880), SET1(-1.0 / 5040)), z2, FMA(z, SET1(1.0 / 120), SET1(-1.0 / 6))));
    VF even = FMA(FMA(FMA(z, SET1(1.0 / 20922789888000), SET1(-1.0 / 87178291200)), z2,
                      FMA(z, SET1(1.0 / 479001600), SET1(-1.0 / 3628800))),
                  z2 * z2, FMA(FMA(z, SET1(1.0 / 40320), SET1(-1.0 / 720)), z2, FMA(z, SET1(1.0 / 24), SET1(-0.5))));
    VF s = FMA(a * z, odd, a), c = FMA(z, even, SET1(1));
    quarters = SEL(LT(quarters, SET1(0)), quarters + 4, quarters); // 0 to 4
    const VM swapped = EQ(magnitude(quarters - 2), SET1(1));
    const VF one = SEL(swapped, c, s), other = SEL(swapped, s, c);
    *sine = SEL(LT(magnitude(quarters - 2.5), SET1(1)), -one, one);
    *cosine = SEL(LT(magnitude(quarters - 1.5), SET1(1)), -other, other);
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

#endif

// Normal numbers by counters: Philox4x32-10 [Salmon2011] and Box and Muller's transform. The reference is smoothing.go
// of package derive: the words of a counter are the same, the numbers agree to rounding.

#ifndef LN_NOISE_H
#define LN_NOISE_H

#include "elementary.h"

typedef uint64_t vu __attribute__((vector_size(8 * W)));

INLINE vu words(uint32_t x) { return (vu){x, x, x, x}; }

// product32 is the product of the lower halves of the lanes.
INLINE vu product32(vu a, vu b) {
#ifdef __AVX2__
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
INLINE void philox(vu x[4], const counters *c, const uint32_t key[2]) {
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
INLINE vd uniform(vu x) {
    vd bits52 = (vd)((x & 0xffffffff) | 0x4330000000000000); // 2⁵² + x
    return (bits52 - 0x1p52 + 0.5) * 0x1p-32;
}

// sine_cosine takes v of a full circle, in [0, 1], to an absolute error of 4e-16: less quarters of it, exactly, |a| ≤
// π/4 remains, where the terms of the Taylor series that are left out are below 1e-16.
INLINE void sine_cosine(vd v, vd *sine, vd *cosine) {
    const double magic = 0x1.8p52; // its sum with an integer has that in the lowest bits
    vd shifted = 4 * v + magic, a = (v - 0.25 * (shifted - magic)) * 0x1.921fb54442d18p2, z = a * a, z2 = z * z;
    vd odd = (-1.0 / 6 + z * (1.0 / 120)) + (-1.0 / 5040 + z * (1.0 / 362880)) * z2 +
             ((-1.0 / 39916800 + z * (1.0 / 6227020800)) - 1.0 / 1307674368000 * z2) * (z2 * z2);
    vd even =
        (-0.5 + z * (1.0 / 24)) + (-1.0 / 720 + z * (1.0 / 40320)) * z2 +
        ((-1.0 / 3628800 + z * (1.0 / 479001600)) + (-1.0 / 87178291200 + z * (1.0 / 20922789888000)) * z2) * (z2 * z2);
    vd s = a + a * z * odd, c = 1 + z * even;
    vm quarters = (vm)shifted, swapped = (quarters << 63) < 0;
    *sine = (vd)((vm)pick(swapped, c, s) ^ ((quarters << 62) & sign_bits()));
    *cosine = (vd)((vm)pick(swapped, s, c) ^ (((quarters + 1) << 62) & sign_bits()));
}

// two_normals makes independent normal numbers of two words.
INLINE void two_normals(vu a, vu b, vd *first, vd *second) {
    vd length = root(-2 * logarithm(uniform(a)));
    sine_cosine(uniform(b), second, first);
    *first *= length, *second *= length;
}

// draw makes the first three normal numbers of n counters per lane, whose samples rise by a step.
APART void draw(v3 *z, int n, counters c, int step, const uint32_t key[2]) {
    for (int i = 0; i < n; i++) {
        vu x[4];
        vd fourth;
        philox(x, &c, key);
        two_normals(x[0], x[1], &z[i].x, &z[i].y);
        two_normals(x[2], x[3], &z[i].z, &fourth);
        c.sample += (uint64_t)step;
    }
}

#endif

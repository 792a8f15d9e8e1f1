// Functions that AVX2 and AVX-512 share.

#ifndef CLR_ISA_X86_H
#define CLR_ISA_X86_H

#include <immintrin.h>

// each_max8 holds in lane i the largest value of the i-th of eight vectors.
static inline __attribute__((always_inline)) __m256 each_max8(const __m256 *v) {
    __m256d t[4], u[2];
    for (int i = 0; i < 4; i++)
        t[i] = _mm256_castps_pd(
            _mm256_max_ps(_mm256_unpacklo_ps(v[2 * i], v[2 * i + 1]), _mm256_unpackhi_ps(v[2 * i], v[2 * i + 1])));
    for (int i = 0; i < 2; i++) {
        const __m256 a = _mm256_castpd_ps(_mm256_unpacklo_pd(t[2 * i], t[2 * i + 1])),
                     b = _mm256_castpd_ps(_mm256_unpackhi_pd(t[2 * i], t[2 * i + 1]));
        u[i] = _mm256_castps_pd(_mm256_max_ps(a, b));
    }
    return _mm256_max_ps(_mm256_castpd_ps(_mm256_permute2f128_pd(u[0], u[1], 0x20)),
                         _mm256_castpd_ps(_mm256_permute2f128_pd(u[0], u[1], 0x31)));
}

// eight_load loads eight int32.
static inline __attribute__((always_inline)) __m256i eight_load(const int32_t *x) {
    return _mm256_loadu_si256((const __m256i *)x);
}

#endif

// Sets of lanes of eight int32, which the broad phase takes beside the vectors of float64:
//
//   eight_above(x, y)          the lanes of eight numbers that are above another
//   eight_below(x, y)          those that are below
//   eight_have(x, bit)         those that have a bit
//   eight_put(to, x, bits)     stores the numbers of these lanes contiguously, and anything in the rest of eight
//   eight_put_from(to, x, bits)  the same of x, x + 1, ...

#ifndef CLR_BOXES_EIGHT_H
#define CLR_BOXES_EIGHT_H

#include <stdint.h>
#include "../isa/real64.h"

#define EIGHT_INLINE static inline __attribute__((always_inline))

#if defined(CLR_ISA_AVX512_H) || defined(CLR_ISA_AVX2_H)

EIGHT_INLINE __m256i eight_load(const int32_t *x) { return _mm256_loadu_si256((const __m256i *)x); }
#if defined(CLR_ISA_AVX512_H)
EIGHT_INLINE unsigned eight_greater(__m256i x, __m256i y) { return _mm256_cmpgt_epi32_mask(x, y); }
EIGHT_INLINE unsigned eight_have(const int32_t *x, int bit) {
    return _mm256_test_epi32_mask(eight_load(x), _mm256_set1_epi32(1 << bit));
}
EIGHT_INLINE void eight_pack(int32_t *to, __m256i x, unsigned bits) {
    _mm256_storeu_si256((__m256i *)to, _mm256_maskz_compress_epi32((__mmask8)bits, x));
}
#else
EIGHT_INLINE unsigned eight_signs(__m256i x) { return (unsigned)_mm256_movemask_ps(_mm256_castsi256_ps(x)); }
EIGHT_INLINE unsigned eight_greater(__m256i x, __m256i y) { return eight_signs(_mm256_cmpgt_epi32(x, y)); }
EIGHT_INLINE unsigned eight_have(const int32_t *x, int bit) {
    return eight_signs(_mm256_sll_epi32(eight_load(x), _mm_cvtsi32_si128(31 - bit)));
}
EIGHT_INLINE void eight_pack(int32_t *to, __m256i x, unsigned bits) {
    const __m256 v = _mm256_castsi256_ps(x);
    _mm_storeu_ps((float *)to, pack32(bits & 15, _mm256_castps256_ps128(v)));
    to += __builtin_popcount(bits & 15);
    _mm_storeu_ps((float *)to, pack32(bits >> 4, _mm256_extractf128_ps(v, 1)));
}
#endif
EIGHT_INLINE unsigned eight_above(const int32_t *x, int32_t y) {
    return eight_greater(eight_load(x), _mm256_set1_epi32(y));
}
EIGHT_INLINE unsigned eight_below(const int32_t *x, int32_t y) {
    return eight_greater(_mm256_set1_epi32(y), eight_load(x));
}
EIGHT_INLINE void eight_put(int32_t *to, const int32_t *x, unsigned bits) { eight_pack(to, eight_load(x), bits); }
EIGHT_INLINE void eight_put_from(int32_t *to, int32_t x, unsigned bits) {
    eight_pack(to, _mm256_add_epi32(_mm256_set1_epi32(x), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7)), bits);
}

#else // NEON and the portable variant

EIGHT_INLINE unsigned eight_above(const int32_t *x, int32_t y) {
    unsigned bits = 0;
    for (int l = 0; l < 8; l++) bits |= (unsigned)(x[l] > y) << l;
    return bits;
}
EIGHT_INLINE unsigned eight_below(const int32_t *x, int32_t y) {
    unsigned bits = 0;
    for (int l = 0; l < 8; l++) bits |= (unsigned)(x[l] < y) << l;
    return bits;
}
EIGHT_INLINE unsigned eight_have(const int32_t *x, int bit) {
    unsigned bits = 0;
    for (int l = 0; l < 8; l++) bits |= (unsigned)(x[l] >> bit & 1) << l;
    return bits;
}
EIGHT_INLINE void eight_put(int32_t *to, const int32_t *x, unsigned bits) {
    for (int l = 0; l < 8; l++) {
        *to = x[l];
        to += bits >> l & 1;
    }
}
EIGHT_INLINE void eight_put_from(int32_t *to, int32_t x, unsigned bits) {
    for (int l = 0; l < 8; l++) {
        *to = x + l;
        to += bits >> l & 1;
    }
}

#endif
#endif

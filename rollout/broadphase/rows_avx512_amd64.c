//go:build cgo

#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx512f,avx512vl,avx2,popcnt"))), apply_to = function)
#elif defined(__GNUC__)
#pragma GCC target("avx512f,avx512vl,avx2,popcnt")
#endif

#include <immintrin.h>
#include <stdint.h>

#define ROWS_INLINE static inline __attribute__((always_inline))
#define ROWS clr_rows_avx512

typedef struct {
    __m512d x0, y0, z0, x1, y1, z1;
} clr_box;

ROWS_INLINE clr_box box_of(const double *p) {
    return (clr_box){_mm512_set1_pd(p[0]),  _mm512_set1_pd(p[8]),  _mm512_set1_pd(p[16]),
                     _mm512_set1_pd(p[24]), _mm512_set1_pd(p[32]), _mm512_set1_pd(p[40])};
}
ROWS_INLINE unsigned meets(const double *s, const clr_box *b) {
    __mmask8 m = _mm512_cmp_pd_mask(_mm512_loadu_pd(s), b->x1, _CMP_LE_OQ);
    __mmask8 n = _mm512_cmp_pd_mask(_mm512_loadu_pd(s + 24), b->x0, _CMP_GE_OQ);
    m = _mm512_mask_cmp_pd_mask(m, _mm512_loadu_pd(s + 8), b->y1, _CMP_LE_OQ);
    n = _mm512_mask_cmp_pd_mask(n, _mm512_loadu_pd(s + 32), b->y0, _CMP_GE_OQ);
    m = _mm512_mask_cmp_pd_mask(m, _mm512_loadu_pd(s + 16), b->z1, _CMP_LE_OQ);
    n = _mm512_mask_cmp_pd_mask(n, _mm512_loadu_pd(s + 40), b->z0, _CMP_GE_OQ);
    return (unsigned)(m & n);
}
ROWS_INLINE unsigned above(const int32_t *ids, int32_t id) {
    return _mm256_cmpgt_epi32_mask(_mm256_loadu_si256((const __m256i *)ids), _mm256_set1_epi32(id));
}
ROWS_INLINE unsigned below(const int32_t *ids, int32_t id) {
    return _mm256_cmpgt_epi32_mask(_mm256_set1_epi32(id), _mm256_loadu_si256((const __m256i *)ids));
}
ROWS_INLINE unsigned have(const int32_t *sets, int bit) {
    return _mm256_test_epi32_mask(_mm256_loadu_si256((const __m256i *)sets), _mm256_set1_epi32(1 << bit));
}
ROWS_INLINE void pack(int32_t *to, __m256i x, unsigned bits) {
    _mm256_storeu_si256((__m256i *)to, _mm256_maskz_compress_epi32((__mmask8)bits, x));
}
ROWS_INLINE void put(int32_t *to, const int32_t *from, unsigned bits) {
    pack(to, _mm256_loadu_si256((const __m256i *)from), bits);
}
ROWS_INLINE void put_lanes(int32_t *to, int32_t from, unsigned bits) {
    pack(to, _mm256_add_epi32(_mm256_set1_epi32(from), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7)), bits);
}

#include "rows.h"

#if defined(__clang__)
#pragma clang attribute pop
#endif

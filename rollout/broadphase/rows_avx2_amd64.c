//go:build cgo

#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx2,popcnt"))), apply_to = function)
#elif defined(__GNUC__)
#pragma GCC target("avx2,popcnt")
#endif

#include <immintrin.h>
#include <stdint.h>

#define ROWS_INLINE static inline __attribute__((always_inline))
#define ROWS clr_rows_avx2

typedef struct {
    __m256d x0, y0, z0, x1, y1, z1;
} clr_box;

ROWS_INLINE clr_box box_of(const double *p) {
    return (clr_box){_mm256_set1_pd(p[0]),  _mm256_set1_pd(p[8]),  _mm256_set1_pd(p[16]),
                     _mm256_set1_pd(p[24]), _mm256_set1_pd(p[32]), _mm256_set1_pd(p[40])};
}
ROWS_INLINE unsigned meets4(const double *s, const clr_box *b) {
    __m256d m = _mm256_and_pd(_mm256_cmp_pd(_mm256_loadu_pd(s), b->x1, _CMP_LE_OQ),
                              _mm256_cmp_pd(_mm256_loadu_pd(s + 24), b->x0, _CMP_GE_OQ));
    __m256d n = _mm256_and_pd(_mm256_cmp_pd(_mm256_loadu_pd(s + 8), b->y1, _CMP_LE_OQ),
                              _mm256_cmp_pd(_mm256_loadu_pd(s + 32), b->y0, _CMP_GE_OQ));
    __m256d o = _mm256_and_pd(_mm256_cmp_pd(_mm256_loadu_pd(s + 16), b->z1, _CMP_LE_OQ),
                              _mm256_cmp_pd(_mm256_loadu_pd(s + 40), b->z0, _CMP_GE_OQ));
    return (unsigned)_mm256_movemask_pd(_mm256_and_pd(_mm256_and_pd(m, n), o));
}
ROWS_INLINE unsigned meets(const double *s, const clr_box *b) { return meets4(s, b) | meets4(s + 4, b) << 4; }
ROWS_INLINE unsigned above(const int32_t *ids, int32_t id) {
    __m256i m = _mm256_cmpgt_epi32(_mm256_loadu_si256((const __m256i *)ids), _mm256_set1_epi32(id));
    return (unsigned)_mm256_movemask_ps(_mm256_castsi256_ps(m));
}
ROWS_INLINE unsigned below(const int32_t *ids, int32_t id) {
    __m256i m = _mm256_cmpgt_epi32(_mm256_set1_epi32(id), _mm256_loadu_si256((const __m256i *)ids));
    return (unsigned)_mm256_movemask_ps(_mm256_castsi256_ps(m));
}
ROWS_INLINE unsigned have(const int32_t *sets, int bit) {
    __m256i m = _mm256_sll_epi32(_mm256_loadu_si256((const __m256i *)sets), _mm_cvtsi32_si128(31 - bit));
    return (unsigned)_mm256_movemask_ps(_mm256_castsi256_ps(m));
}
ROWS_INLINE __m128i pack4(__m128i x, unsigned bits) {
    // Indices of the lanes whose bits are set.
    static const int32_t order[16][4] = {{0}, {0},    {1},    {0, 1},    {2},    {0, 2},    {1, 2},    {0, 1, 2},
                                         {3}, {0, 3}, {1, 3}, {0, 1, 3}, {2, 3}, {0, 2, 3}, {1, 2, 3}, {0, 1, 2, 3}};
    return _mm_castps_si128(_mm_permutevar_ps(_mm_castsi128_ps(x), _mm_loadu_si128((const __m128i *)order[bits])));
}
ROWS_INLINE void pack(int32_t *to, __m256i x, unsigned bits) {
    _mm_storeu_si128((__m128i *)to, pack4(_mm256_castsi256_si128(x), bits & 15));
    to += __builtin_popcount(bits & 15);
    _mm_storeu_si128((__m128i *)to, pack4(_mm256_extracti128_si256(x, 1), bits >> 4));
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

// AVX-512 (F, DQ, VL, BW) and FMA: 16 float32 or 8 float64 lanes.

#ifndef CLR_ISA_AVX512_H
#define CLR_ISA_AVX512_H

#include <immintrin.h>
#include "isa_x86.h"

static inline __attribute__((always_inline)) __m512 each_max32(const __m512 *v) {
    __m256 h[16];
    for (int i = 0; i < 16; i++) h[i] = _mm256_max_ps(_mm512_castps512_ps256(v[i]), _mm512_extractf32x8_ps(v[i], 1));
    return _mm512_insertf32x8(_mm512_castps256_ps512(each_max8(h)), each_max8(h + 8), 1);
}
static inline __attribute__((always_inline)) __m256 half_support_values(const float *x, const float *y, const float *z,
                                                                        float dx, float dy, float dz) {
    const __m256 h =
        _mm256_fmadd_ps(_mm256_set1_ps(dy), _mm256_loadu_ps(y), _mm256_mul_ps(_mm256_set1_ps(dx), _mm256_loadu_ps(x)));
    return _mm256_fmadd_ps(_mm256_set1_ps(dz), _mm256_loadu_ps(z), h);
}
static inline __attribute__((always_inline)) __m512 rcp32(__m512 x) {
    __m512 r = _mm512_rcp14_ps(x);
    return _mm512_mul_ps(r, _mm512_fnmadd_ps(x, r, _mm512_set1_ps(2)));
}
static inline __attribute__((always_inline)) __m512 rsqrt32(__m512 x) {
    __m512 r = _mm512_rsqrt14_ps(x);
    return _mm512_mul_ps(
        r, _mm512_fnmadd_ps(_mm512_mul_ps(_mm512_set1_ps(0.5f), x), _mm512_mul_ps(r, r), _mm512_set1_ps(1.5f)));
}
#define PAIR_OF_ROWS(r, mask)                                                       \
    _mm512_insertf64x4(_mm512_castpd256_pd512(_mm256_maskz_loadu_pd(mask, (r)[0])), \
                       _mm256_maskz_loadu_pd(mask, (r)[4]), 1)
#define JOINED(a, b) _mm512_insertf32x8(_mm512_castps256_ps512(_mm512_cvtpd_ps(a)), _mm512_cvtpd_ps(b), 1)
#define LARGEST(a, b) _mm512_range_pd(a, b, 0xB) // magnitude
static inline __attribute__((always_inline)) void columns32(const __m512 r[4], __m512 out[4]) {
    const __m512d a = _mm512_castps_pd(_mm512_unpacklo_ps(r[0], r[1])),
                  b = _mm512_castps_pd(_mm512_unpacklo_ps(r[2], r[3]));
    const __m512d c = _mm512_castps_pd(_mm512_unpackhi_ps(r[0], r[1])),
                  d = _mm512_castps_pd(_mm512_unpackhi_ps(r[2], r[3]));
    out[0] = _mm512_castpd_ps(_mm512_unpacklo_pd(a, b));
    out[1] = _mm512_castpd_ps(_mm512_unpackhi_pd(a, b));
    out[2] = _mm512_castpd_ps(_mm512_unpacklo_pd(c, d));
    out[3] = _mm512_castpd_ps(_mm512_unpackhi_pd(c, d));
}
static inline __attribute__((always_inline)) void narrowed32(__m512 out[4], const double *const *rows) {
    __m512 r[4];
    for (int i = 0; i < 4; i++) r[i] = JOINED(PAIR_OF_ROWS(rows + i, 15), PAIR_OF_ROWS(rows + i + 8, 15));
    columns32(r, out);
}
static inline __attribute__((always_inline)) int differences32(__m512 out[4], const double *const *to,
                                                               const double *const *from, double most) {
    __m512 r[4];
    __m512d far = _mm512_setzero_pd();
    for (int i = 0; i < 4; i++) {
        const __m512d a = PAIR_OF_ROWS(to + i, 7), b = PAIR_OF_ROWS(to + i + 8, 7), c = PAIR_OF_ROWS(from + i, 7),
                      d = PAIR_OF_ROWS(from + i + 8, 7);
        far = LARGEST(LARGEST(LARGEST(LARGEST(far, a), b), c), d);
        r[i] = JOINED(_mm512_sub_pd(a, c), _mm512_sub_pd(b, d));
    }
    columns32(r, out);
    return _mm512_cmp_pd_mask(far, _mm512_set1_pd(most), _CMP_NLE_UQ) != 0;
}
static inline __attribute__((always_inline)) void run_narrowed32(__m512 out[4], const double *p) {
    const __m512i order = _mm512_set_epi32(15, 11, 7, 3, 14, 10, 6, 2, 13, 9, 5, 1, 12, 8, 4, 0);
    __m512 r[4];
    for (int i = 0; i < 4; i++)
        r[i] = JOINED(_mm512_loadu_pd(p + 16 * i), _mm512_loadu_pd(p + 16 * i + 8)); // rows 4i to 4i+3
    columns32(r, out);
    for (int i = 0; i < 4; i++) out[i] = _mm512_permutexvar_ps(order, out[i]);
}
static inline __attribute__((always_inline)) int run_differences32(__m512 out[4], const double *to, const double *from,
                                                                   double most) {
    __m512 r[3];
    __m512d far = _mm512_setzero_pd();
    for (int i = 0; i < 3; i++) {
        const __m512d a = _mm512_loadu_pd(to + 16 * i), b = _mm512_loadu_pd(to + 16 * i + 8),
                      c = _mm512_loadu_pd(from + 16 * i), d = _mm512_loadu_pd(from + 16 * i + 8);
        far = LARGEST(LARGEST(LARGEST(LARGEST(far, a), b), c), d);
        r[i] = JOINED(_mm512_sub_pd(a, c), _mm512_sub_pd(b, d));
    }
    const __m512i x = _mm512_set_epi32(0, 0, 0, 0, 0, 30, 27, 24, 21, 18, 15, 12, 9, 6, 3, 0),
                  x2 = _mm512_set_epi32(29, 26, 23, 20, 17, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0);
    const __m512i y = _mm512_set_epi32(0, 0, 0, 0, 0, 31, 28, 25, 22, 19, 16, 13, 10, 7, 4, 1),
                  y2 = _mm512_set_epi32(30, 27, 24, 21, 18, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0);
    const __m512i z = _mm512_set_epi32(0, 0, 0, 0, 0, 0, 29, 26, 23, 20, 17, 14, 11, 8, 5, 2),
                  z2 = _mm512_set_epi32(31, 28, 25, 22, 19, 16, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0);
    out[0] = _mm512_permutex2var_ps(_mm512_permutex2var_ps(r[0], x, r[1]), x2, r[2]);
    out[1] = _mm512_permutex2var_ps(_mm512_permutex2var_ps(r[0], y, r[1]), y2, r[2]);
    out[2] = _mm512_permutex2var_ps(_mm512_permutex2var_ps(r[0], z, r[1]), z2, r[2]);
    return _mm512_cmp_pd_mask(far, _mm512_set1_pd(most), _CMP_NLE_UQ) != 0;
}
static inline __attribute__((always_inline)) int is_run32(const int32_t *row) {
    const __m512i ramp = _mm512_set_epi32(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0);
    return _mm512_cmpneq_epi32_mask(_mm512_loadu_si512(row), _mm512_add_epi32(_mm512_set1_epi32(row[0]), ramp)) == 0;
}
static inline __attribute__((always_inline)) __m512d each_max64(const __m512d *v) {
    __m512d t[4], u[2];
    for (int i = 0; i < 4; i++)
        t[i] = _mm512_max_pd(_mm512_unpacklo_pd(v[2 * i], v[2 * i + 1]), _mm512_unpackhi_pd(v[2 * i], v[2 * i + 1]));
    for (int i = 0; i < 2; i++)
        u[i] = _mm512_max_pd(_mm512_shuffle_f64x2(t[2 * i], t[2 * i + 1], 0x88),
                             _mm512_shuffle_f64x2(t[2 * i], t[2 * i + 1], 0xDD));
    return _mm512_max_pd(_mm512_shuffle_f64x2(u[0], u[1], 0x88), _mm512_shuffle_f64x2(u[0], u[1], 0xDD));
}
// Newton's method on the estimates of the processor, to about two units of roundoff. Unlike divisions
// and square roots, the steps are pipelined.
static inline __attribute__((always_inline)) __m512d rcp64(__m512d x) {
    const __m512d one = _mm512_set1_pd(1);
    __m512d r = _mm512_rcp14_pd(x);
    r = _mm512_fmadd_pd(_mm512_fnmadd_pd(x, r, one), r, r);
    return _mm512_fmadd_pd(_mm512_fnmadd_pd(x, r, one), r, r);
}
static inline __attribute__((always_inline)) __m512d rsqrt64(__m512d x) {
    const __m512d half = _mm512_set1_pd(0.5), h = _mm512_mul_pd(half, x);
    __m512d r = _mm512_rsqrt14_pd(x);
    r = _mm512_fmadd_pd(_mm512_fnmadd_pd(_mm512_mul_pd(h, r), r, half), r, r);
    return _mm512_fmadd_pd(_mm512_fnmadd_pd(_mm512_mul_pd(h, r), r, half), r, r);
}
static inline __attribute__((always_inline)) void run_of_three64(__m512d out[4], const double *p) {
    const __m512d a = _mm512_loadu_pd(p), b = _mm512_loadu_pd(p + 8), c = _mm512_loadu_pd(p + 16);
    out[0] = _mm512_permutex2var_pd(_mm512_permutex2var_pd(a, _mm512_setr_epi64(0, 3, 6, 9, 12, 15, 0, 0), b),
                                    _mm512_setr_epi64(0, 1, 2, 3, 4, 5, 10, 13), c);
    out[1] = _mm512_permutex2var_pd(_mm512_permutex2var_pd(a, _mm512_setr_epi64(1, 4, 7, 10, 13, 0, 0, 0), b),
                                    _mm512_setr_epi64(0, 1, 2, 3, 4, 8, 11, 14), c);
    out[2] = _mm512_permutex2var_pd(_mm512_permutex2var_pd(a, _mm512_setr_epi64(2, 5, 8, 11, 14, 0, 0, 0), b),
                                    _mm512_setr_epi64(0, 1, 2, 3, 4, 9, 12, 15), c);
}
static inline __attribute__((always_inline)) void run_of_four64(__m512d out[4], const double *p) {
    const __m512d a = _mm512_loadu_pd(p), b = _mm512_loadu_pd(p + 8), c = _mm512_loadu_pd(p + 16),
                  d = _mm512_loadu_pd(p + 24);
    const __m512i tied = _mm512_setr_epi64(0, 4, 8, 12, 1, 5, 9, 13),
                  odd = _mm512_setr_epi64(2, 6, 10, 14, 3, 7, 11, 15);
    const __m512d s = _mm512_permutex2var_pd(a, tied, b), t = _mm512_permutex2var_pd(c, tied, d),
                  u = _mm512_permutex2var_pd(a, odd, b), v = _mm512_permutex2var_pd(c, odd, d);
    out[0] = _mm512_shuffle_f64x2(s, t, 0x44);
    out[1] = _mm512_shuffle_f64x2(s, t, 0xEE);
    out[2] = _mm512_shuffle_f64x2(u, v, 0x44);
    out[3] = _mm512_shuffle_f64x2(u, v, 0xEE);
}
static inline __attribute__((always_inline)) int is_run64(const int32_t *row) {
    const __m256i ramp = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
    return _mm256_cmpneq_epi32_mask(_mm256_loadu_si256((const __m256i *)row),
                                    _mm256_add_epi32(_mm256_set1_epi32(row[0]), ramp)) == 0;
}
static inline __attribute__((always_inline)) void store_triples32(float *p, unsigned ok, const double (*v)[8]) {
    const __m512i head = _mm512_setr_epi32(0, 8, 16, 1, 9, 17, 2, 10, 18, 3, 11, 19, 4, 12, 20, 5),
                  tail = _mm512_setr_epi32(13, 21, 6, 14, 22, 7, 15, 23, 0, 0, 0, 0, 0, 0, 0, 0);
    const __m512i of_head = _mm512_setr_epi32(1, 1, 1, 2, 2, 2, 4, 4, 4, 8, 8, 8, 16, 16, 16, 32),
                  of_tail = _mm512_setr_epi32(32, 32, 64, 64, 64, 128, 128, 128, 0, 0, 0, 0, 0, 0, 0, 0);
    const __m256 x = _mm512_cvtpd_ps(_mm512_loadu_pd(v[0])), y = _mm512_cvtpd_ps(_mm512_loadu_pd(v[1])),
                 z = _mm512_cvtpd_ps(_mm512_loadu_pd(v[2]));
    const __m512 xy = _mm512_insertf32x8(_mm512_castps256_ps512(x), y, 1), zz = _mm512_castps256_ps512(z);
    const __m512i lanes = _mm512_set1_epi32((int)ok);
    _mm512_mask_storeu_ps(p, _mm512_test_epi32_mask(lanes, of_head), _mm512_permutex2var_ps(xy, head, zz));
    _mm512_mask_storeu_ps(p + 16, _mm512_test_epi32_mask(lanes, of_tail), _mm512_permutex2var_ps(xy, tail, zz));
}
static inline __attribute__((always_inline)) void store_triples64(double *p, unsigned ok, const double (*v)[8]) {
    // Permutations that interleave x and y, then insert z, eight values at a time, and the masks of their lanes.
    const __m512i xy[3] = {_mm512_setr_epi64(0, 8, 0, 1, 9, 0, 2, 10), _mm512_setr_epi64(0, 3, 11, 0, 4, 12, 0, 5),
                           _mm512_setr_epi64(13, 0, 6, 14, 0, 7, 15, 0)};
    const __m512i z[3] = {_mm512_setr_epi64(0, 1, 8, 3, 4, 9, 6, 7), _mm512_setr_epi64(10, 1, 2, 11, 4, 5, 12, 7),
                          _mm512_setr_epi64(0, 13, 2, 3, 14, 5, 6, 15)};
    const __m512i of[3] = {_mm512_setr_epi64(1, 1, 1, 2, 2, 2, 4, 4), _mm512_setr_epi64(4, 8, 8, 8, 16, 16, 16, 32),
                           _mm512_setr_epi64(32, 32, 64, 64, 64, 128, 128, 128)};
    const __m512i lanes = _mm512_set1_epi64((int)ok);
    for (int k = 0; k < 3; k++) {
        const __m512d pair = _mm512_permutex2var_pd(_mm512_loadu_pd(v[0]), xy[k], _mm512_loadu_pd(v[1]));
        _mm512_mask_storeu_pd(p + 8 * k, _mm512_test_epi64_mask(lanes, of[k]),
                              _mm512_permutex2var_pd(pair, z[k], _mm512_loadu_pd(v[2])));
    }
}
static inline __attribute__((always_inline)) unsigned eight_above(const int32_t *x, int32_t y) {
    return _mm256_cmpgt_epi32_mask(eight_load(x), _mm256_set1_epi32(y));
}
static inline __attribute__((always_inline)) unsigned eight_below(const int32_t *x, int32_t y) {
    return _mm256_cmpgt_epi32_mask(_mm256_set1_epi32(y), eight_load(x));
}
static inline __attribute__((always_inline)) unsigned eight_have(const int32_t *x, int bit) {
    return _mm256_test_epi32_mask(eight_load(x), _mm256_set1_epi32(1 << bit));
}
static inline __attribute__((always_inline)) void eight_pack(int32_t *to, __m256i x, unsigned bits) {
    _mm256_storeu_si256((__m256i *)to, _mm256_maskz_compress_epi32((__mmask8)bits, x));
}
#endif

#if REAL_BITS == 32
#define REAL float
#define W 16
#define VF __m512
#define VM __mmask16
#define SET1(x) _mm512_set1_ps(x)
#define FMA(a, b, c) _mm512_fmadd_ps(a, b, c)
#define FNMA(a, b, c) _mm512_fnmadd_ps(a, b, c)
#define LT(a, b) _mm512_cmp_ps_mask(a, b, _CMP_LT_OQ)
#define LE(a, b) _mm512_cmp_ps_mask(a, b, _CMP_LE_OQ)
#define SEL(m, a, b) _mm512_mask_blend_ps(m, b, a)
#define MIN(a, b) _mm512_min_ps(a, b)
#define MAX(a, b) _mm512_max_ps(a, b)
#define SQRT(x) _mm512_sqrt_ps(x)
#define COPYSIGN(a, s)   \
    _mm512_castsi512_ps( \
        _mm512_ternarylogic_epi32(_mm512_castps_si512(a), _mm512_castps_si512(s), _mm512_set1_epi32(INT32_MIN), 0xD8))
#define LOADU(p) _mm512_loadu_ps(p)
#define STOREU(p, x) _mm512_storeu_ps(p, x)
#define MSTORE(p, m, x) _mm512_mask_storeu_ps(p, m, x)
#define HMAX(x) _mm512_reduce_max_ps(x)
// EACH_MAX holds in lane i the largest value of the i-th of W vectors.
#define EACH_MAX(v) each_max32(v)
// HALF_SUPPORT_VALUES are the scalar products of eight vertices with a direction. HALF_MAX is EACH_MAX of halves.
#define HALF __m256
#define HALF_SUPPORT_VALUES(x, y, z, dx, dy, dz) half_support_values(x, y, z, dx, dy, dz)
#define HALF_MAX(v) _mm512_insertf32x8(_mm512_castps256_ps512(each_max8(v)), each_max8((v) + 8), 1)
#define HSUM(x) _mm512_reduce_add_ps(x)
#define EXPAND(old, m, x) _mm512_mask_expand_ps(old, m, x)
// PACK stores the lanes of `bits` contiguously; values behind them are undefined.
#define PACK(p, bits, x) _mm512_storeu_ps(p, _mm512_maskz_compress_ps((__mmask16)(bits), x))
#define PACK_INTS(p, bits, from) \
    _mm512_storeu_si512(p, _mm512_maskz_compress_epi32((__mmask16)(bits), _mm512_loadu_si512(from)))
#define RCP(x) rcp32(x)
#define RSQRT(x) rsqrt32(x)
#define EXPONENT(x) _mm512_getexp_ps(x)
#define MANTISSA(x) _mm512_getmant_ps(x, _MM_MANT_NORM_1_2, _MM_MANT_SIGN_src)
#define TIMES_POWER(x, k) _mm512_scalef_ps(x, k)
// ROWS loads four values of each of W rows and transposes them into four columns.
#define QUARTERS(r)                                                                                                  \
    _mm512_insertf32x8(_mm512_castps256_ps512(_mm256_insertf128_ps(_mm256_castps128_ps256(_mm_loadu_ps((r)[0])),     \
                                                                   _mm_loadu_ps((r)[4]), 1)),                        \
                       _mm256_insertf128_ps(_mm256_castps128_ps256(_mm_loadu_ps((r)[8])), _mm_loadu_ps((r)[12]), 1), \
                       1)
#define ROWS(out, rows, mask)                                                                \
    {                                                                                        \
        __m512 r0_ = QUARTERS(rows), r1_ = QUARTERS((rows) + 1), r2_ = QUARTERS((rows) + 2), \
               r3_ = QUARTERS((rows) + 3);                                                   \
        __m512d a_ = _mm512_castps_pd(_mm512_unpacklo_ps(r0_, r1_)),                         \
                b_ = _mm512_castps_pd(_mm512_unpacklo_ps(r2_, r3_));                         \
        __m512d c_ = _mm512_castps_pd(_mm512_unpackhi_ps(r0_, r1_)),                         \
                d_ = _mm512_castps_pd(_mm512_unpackhi_ps(r2_, r3_));                         \
        (out)[0] = _mm512_castpd_ps(_mm512_unpacklo_pd(a_, b_));                             \
        (out)[1] = _mm512_castpd_ps(_mm512_unpackhi_pd(a_, b_));                             \
        (out)[2] = _mm512_castpd_ps(_mm512_unpacklo_pd(c_, d_));                             \
        (out)[3] = _mm512_castpd_ps(_mm512_unpackhi_pd(c_, d_));                             \
    }
// SPREAD loads four values of each of eight rows and transposes them into four columns. Row i goes to the
// i-th of the lanes that SPREAD_INDEX was given.
#define SPREAD_INDEX(m) \
    _mm512_slli_epi32(  \
        _mm512_maskz_expand_epi32(m, _mm512_set_epi32(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0)), 2)
#define FOUR_ROWS(r)                                                                                             \
    _mm512_insertf32x8(_mm512_castps256_ps512(_mm256_insertf128_ps(_mm256_castps128_ps256(_mm_loadu_ps((r)[0])), \
                                                                   _mm_loadu_ps((r)[1]), 1)),                    \
                       _mm256_insertf128_ps(_mm256_castps128_ps256(_mm_loadu_ps((r)[2])), _mm_loadu_ps((r)[3]), 1), 1)
#define SPREAD(out, rows, index)                                                                        \
    {                                                                                                   \
        const __m512 a_ = FOUR_ROWS(rows), b_ = FOUR_ROWS((rows) + 4);                                  \
        for (int j_ = 0; j_ < 4; j_++)                                                                  \
            (out)[j_] = _mm512_permutex2var_ps(a_, _mm512_add_epi32(index, _mm512_set1_epi32(j_)), b_); \
    }
// NARROWED is ROWS of float64 values, rounded to float32. DIFFERENCES is NARROWED of `to` − `from`, three
// values per row; it is true if the magnitude of a value of either exceeds `most`, or is NaN.
#define NARROWED(out, rows) narrowed32(out, rows)
#define DIFFERENCES(out, to, from, most) differences32(out, to, from, most)
// The same for rows that are contiguous in memory.
#define RUN_NARROWED(out, p) run_narrowed32(out, p)
#define RUN_DIFFERENCES(out, to, from, most) run_differences32(out, to, from, most)
// IS_RUN tells whether W row numbers are consecutive.
#define IS_RUN(row) is_run32(row)
// PUT_BYTES stores `yes` in the bytes of the lanes in both `lanes` and `are`, and `no` in the others of `lanes`.
#define PUT_BYTES(p, lanes, are, yes, no)       \
    _mm_mask_storeu_epi8(p, (__mmask16)(lanes), \
                         _mm_mask_blend_epi8((__mmask16)(are), _mm_set1_epi8(no), _mm_set1_epi8(yes)))
#else
#define REAL double
#define W 8
#define VF __m512d
#define VM __mmask8
#define SET1(x) _mm512_set1_pd(x)
#define FMA(a, b, c) _mm512_fmadd_pd(a, b, c)
#define FNMA(a, b, c) _mm512_fnmadd_pd(a, b, c)
#define LT(a, b) _mm512_cmp_pd_mask(a, b, _CMP_LT_OQ)
#define LE(a, b) _mm512_cmp_pd_mask(a, b, _CMP_LE_OQ)
#define SEL(m, a, b) _mm512_mask_blend_pd(m, b, a)
#define MIN(a, b) _mm512_min_pd(a, b)
#define MAX(a, b) _mm512_max_pd(a, b)
#define SQRT(x) _mm512_sqrt_pd(x)
#define COPYSIGN(a, s)   \
    _mm512_castsi512_pd( \
        _mm512_ternarylogic_epi64(_mm512_castpd_si512(a), _mm512_castpd_si512(s), _mm512_set1_epi64(INT64_MIN), 0xD8))
#define LOADU(p) _mm512_loadu_pd(p)
#define STOREU(p, x) _mm512_storeu_pd(p, x)
#define MSTORE(p, m, x) _mm512_mask_storeu_pd(p, m, x)
#define HMAX(x) _mm512_reduce_max_pd(x)
#define HSUM(x) _mm512_reduce_add_pd(x)
#define EACH_MAX(v) each_max64(v)
#define EXPAND(old, m, x) _mm512_mask_expand_pd(old, m, x)
#define RCP(x) rcp64(x)
#define RSQRT(x) rsqrt64(x)
#define EXPONENT(x) _mm512_getexp_pd(x)
#define MANTISSA(x) _mm512_getmant_pd(x, _MM_MANT_NORM_1_2, _MM_MANT_SIGN_src)
#define TIMES_POWER(x, k) _mm512_scalef_pd(x, k)
#define NARROW(p, x) _mm256_storeu_ps(p, _mm512_cvtpd_ps(x))
#define WIDEN(p) _mm512_cvtps_pd(_mm256_loadu_ps(p))
// PACK is NARROW of the lanes of `bits`, contiguously; values behind them are undefined.
#define PACK(p, bits, x) _mm256_storeu_ps(p, _mm256_maskz_compress_ps((__mmask8)(bits), _mm512_cvtpd_ps(x)))
// RUN_OF_THREE and RUN_OF_FOUR load three or four values of each of W contiguous rows and transpose them
// into columns.
#define RUN_OF_THREE(out, p) run_of_three64(out, p)
#define RUN_OF_FOUR(out, p) run_of_four64(out, p)
#define IS_RUN(row) is_run64(row)
// STORE_TRIPLES stores the values v[0][l], v[1][l], v[2][l] of lanes l in ok at p + 3·l.
#define STORE_TRIPLES32(p, ok, v) store_triples32(p, ok, v)
#define STORE_TRIPLES64(p, ok, v) store_triples64(p, ok, v)
// STORE_SOME64, 32, 16 and 8 store those of W values of that many bits whose lanes are in ok. Narrow values
// are selected and stored whole, since their masked stores are slow.
#define STORE_SOME64(p, ok, v) _mm512_mask_storeu_pd(p, (__mmask8)(ok), _mm512_loadu_pd(v))
#define STORE_SOME32(p, ok, v) _mm256_mask_storeu_epi32(p, (__mmask8)(ok), _mm256_loadu_si256((const __m256i *)(v)))
#define STORE_SOME16(p, ok, v)                                                                                   \
    _mm_storeu_si128((__m128i *)(p), _mm_mask_blend_epi16((__mmask8)(ok), _mm_loadu_si128((const __m128i *)(p)), \
                                                          _mm_loadu_si128((const __m128i *)(v))))
#define STORE_SOME8(p, ok, v)                                                                                    \
    _mm_storel_epi64((__m128i *)(p), _mm_mask_blend_epi8((__mmask16)(ok), _mm_loadl_epi64((const __m128i *)(p)), \
                                                         _mm_loadl_epi64((const __m128i *)(v))))
// ROWS loads four (or the first three) values of each of W rows and transposes them into columns.
#define ROWS(out, rows, mask)                                                                               \
    {                                                                                                       \
        __m512d rows_[4];                                                                                   \
        for (int i_ = 0; i_ < 4; i_++)                                                                      \
            rows_[i_] = _mm512_insertf64x4(_mm512_castpd256_pd512(_mm256_maskz_loadu_pd(mask, (rows)[i_])), \
                                           _mm256_maskz_loadu_pd(mask, (rows)[i_ + 4]), 1);                 \
        __m512d a_ = _mm512_unpacklo_pd(rows_[0], rows_[1]), b_ = _mm512_unpacklo_pd(rows_[2], rows_[3]);   \
        __m512d c_ = _mm512_unpackhi_pd(rows_[0], rows_[1]), d_ = _mm512_unpackhi_pd(rows_[2], rows_[3]);   \
        const __m512i low_ = _mm512_set_epi64(13, 12, 5, 4, 9, 8, 1, 0),                                    \
                      high_ = _mm512_set_epi64(15, 14, 7, 6, 11, 10, 3, 2);                                 \
        (out)[0] = _mm512_permutex2var_pd(a_, low_, b_);                                                    \
        (out)[1] = _mm512_permutex2var_pd(c_, low_, d_);                                                    \
        (out)[2] = _mm512_permutex2var_pd(a_, high_, b_);                                                   \
        if ((mask) > 7) (out)[3] = _mm512_permutex2var_pd(c_, high_, d_);                                   \
    }
#endif

#define MAND(a, b) ((VM)((a) & (b)))
#define MOR(a, b) ((VM)((a) | (b)))
#define MANDN(a, b) ((VM)((a) & ~(b))) // a and not b
#define MBITS(m) ((unsigned)(m))
#define MFROM(b) ((VM)(b))

#define FLUSH_BEGIN              \
    unsigned csr = _mm_getcsr(); \
    _mm_setcsr(csr | 0x8040u)
#define FLUSH_END _mm_setcsr(csr)

// AVX2 and FMA: 8 float32 or 4 float64 lanes.

#ifndef CLR_ISA_AVX2_H
#define CLR_ISA_AVX2_H

#include <immintrin.h>
#include "isa_x86.h"

static inline __attribute__((always_inline)) __m256 mfrom32(unsigned b) {
    __m256i bit = _mm256_set_epi32(128, 64, 32, 16, 8, 4, 2, 1);
    return _mm256_castsi256_ps(_mm256_cmpeq_epi32(_mm256_and_si256(_mm256_set1_epi32((int)b), bit), bit));
}
static inline __attribute__((always_inline)) __m256 rcp32(__m256 x) {
    __m256 r = _mm256_rcp_ps(x);
    return _mm256_mul_ps(r, _mm256_fnmadd_ps(x, r, _mm256_set1_ps(2)));
}
static inline __attribute__((always_inline)) __m256 rsqrt32(__m256 x) {
    __m256 r = _mm256_rsqrt_ps(x);
    return _mm256_mul_ps(
        r, _mm256_fnmadd_ps(_mm256_mul_ps(_mm256_set1_ps(0.5f), x), _mm256_mul_ps(r, r), _mm256_set1_ps(1.5f)));
}
static inline __attribute__((always_inline)) float hmax32(__m256 x) {
    __m128 h = _mm_max_ps(_mm256_castps256_ps128(x), _mm256_extractf128_ps(x, 1));
    h = _mm_max_ps(h, _mm_movehl_ps(h, h));
    return _mm_cvtss_f32(_mm_max_ss(h, _mm_shuffle_ps(h, h, 1)));
}
static inline __attribute__((always_inline)) float hsum32(__m256 x) {
    __m128 h = _mm_add_ps(_mm256_castps256_ps128(x), _mm256_extractf128_ps(x, 1));
    h = _mm_add_ps(h, _mm_movehl_ps(h, h));
    return _mm_cvtss_f32(_mm_add_ss(h, _mm_shuffle_ps(h, h, 1)));
}
static inline __attribute__((always_inline)) __m128 pack32(unsigned bits, __m128 x) {
    static const int32_t lanes[16][4] = {{0}, {0},    {1},    {0, 1},    {2},    {0, 2},    {1, 2},    {0, 1, 2},
                                         {3}, {0, 3}, {1, 3}, {0, 1, 3}, {2, 3}, {0, 2, 3}, {1, 2, 3}, {0, 1, 2, 3}};
    return _mm_permutevar_ps(x, _mm_loadu_si128((const __m128i *)lanes[bits]));
}
static inline __attribute__((always_inline)) void pack_both32(float *p, unsigned bits, __m256 x) {
    _mm_storeu_ps(p, pack32(bits & 15, _mm256_castps256_ps128(x)));
    _mm_storeu_ps(p + __builtin_popcount(bits & 15), pack32(bits >> 4, _mm256_extractf128_ps(x, 1)));
}
static inline __attribute__((always_inline)) void columns32(const __m256 r[4], __m256 out[4]) {
    const __m256d a = _mm256_castps_pd(_mm256_unpacklo_ps(r[0], r[1])),
                  b = _mm256_castps_pd(_mm256_unpacklo_ps(r[2], r[3]));
    const __m256d c = _mm256_castps_pd(_mm256_unpackhi_ps(r[0], r[1])),
                  d = _mm256_castps_pd(_mm256_unpackhi_ps(r[2], r[3]));
    out[0] = _mm256_castpd_ps(_mm256_unpacklo_pd(a, b));
    out[1] = _mm256_castpd_ps(_mm256_unpackhi_pd(a, b));
    out[2] = _mm256_castpd_ps(_mm256_unpacklo_pd(c, d));
    out[3] = _mm256_castpd_ps(_mm256_unpackhi_pd(c, d));
}
static inline __attribute__((always_inline)) __m256 joined32(__m256d a, __m256d b) {
    return _mm256_insertf128_ps(_mm256_castps128_ps256(_mm256_cvtpd_ps(a)), _mm256_cvtpd_ps(b), 1);
}
static inline __attribute__((always_inline)) void narrowed32(__m256 out[4], const double *const *rows) {
    __m256 r[4];
    for (int i = 0; i < 4; i++) r[i] = joined32(_mm256_loadu_pd(rows[i]), _mm256_loadu_pd(rows[i + 4]));
    columns32(r, out);
}
static inline __attribute__((always_inline)) int differences32(__m256 out[4], const double *const *to,
                                                               const double *const *from, double most) {
    const __m256i three = _mm256_set_epi64x(0, -1, -1, -1);
    const __m256d sign = _mm256_set1_pd(-0.0);
    __m256d far = _mm256_setzero_pd(), d[8];
    __m256 r[4];
    for (int i = 0; i < 8; i++) {
        const __m256d a = _mm256_maskload_pd(to[i], three), b = _mm256_maskload_pd(from[i], three);
        far = _mm256_max_pd(_mm256_andnot_pd(sign, b), _mm256_max_pd(_mm256_andnot_pd(sign, a), far));
        d[i] = _mm256_sub_pd(a, b);
    }
    for (int i = 0; i < 4; i++) r[i] = joined32(d[i], d[i + 4]);
    columns32(r, out);
    return _mm256_movemask_pd(_mm256_cmp_pd(far, _mm256_set1_pd(most), _CMP_NLE_UQ)) != 0;
}
static inline __attribute__((always_inline)) __m256d mfrom64(unsigned b) {
    __m256i bit = _mm256_set_epi64x(8, 4, 2, 1);
    return _mm256_castsi256_pd(_mm256_cmpeq_epi64(_mm256_and_si256(_mm256_set1_epi64x((int)b), bit), bit));
}
static inline __attribute__((always_inline)) double hmax64(__m256d x) {
    __m128d h = _mm_max_pd(_mm256_castpd256_pd128(x), _mm256_extractf128_pd(x, 1));
    return _mm_cvtsd_f64(_mm_max_sd(h, _mm_unpackhi_pd(h, h)));
}
static inline __attribute__((always_inline)) __m256d each_max64(const __m256d *v) {
    const __m256d a = _mm256_max_pd(_mm256_unpacklo_pd(v[0], v[1]), _mm256_unpackhi_pd(v[0], v[1]));
    const __m256d b = _mm256_max_pd(_mm256_unpacklo_pd(v[2], v[3]), _mm256_unpackhi_pd(v[2], v[3]));
    return _mm256_max_pd(_mm256_permute2f128_pd(a, b, 0x20), _mm256_permute2f128_pd(a, b, 0x31));
}
static inline __attribute__((always_inline)) void store_triples32(float *p, const double (*v)[4]) {
    const __m128 x = _mm256_cvtpd_ps(_mm256_loadu_pd(v[0])), y = _mm256_cvtpd_ps(_mm256_loadu_pd(v[1])),
                 z = _mm256_cvtpd_ps(_mm256_loadu_pd(v[2]));
    const __m128 zx = _mm_shuffle_ps(z, x, _MM_SHUFFLE(1, 1, 0, 0)), xz = _mm_shuffle_ps(z, x, _MM_SHUFFLE(3, 3, 2, 2));
    _mm_storeu_ps(p, _mm_shuffle_ps(_mm_unpacklo_ps(x, y), zx, _MM_SHUFFLE(2, 0, 1, 0)));
    _mm_storeu_ps(p + 4, _mm_shuffle_ps(_mm_unpacklo_ps(y, z), _mm_unpackhi_ps(x, y), _MM_SHUFFLE(1, 0, 3, 2)));
    _mm_storeu_ps(p + 8, _mm_shuffle_ps(xz, _mm_unpackhi_ps(y, z), _MM_SHUFFLE(3, 2, 2, 0)));
}
static inline __attribute__((always_inline)) double hsum64(__m256d x) {
    __m128d h = _mm_add_pd(_mm256_castpd256_pd128(x), _mm256_extractf128_pd(x, 1));
    return _mm_cvtsd_f64(_mm_add_sd(h, _mm_unpackhi_pd(h, h)));
}
static inline __attribute__((always_inline)) unsigned eight_signs(__m256i x) {
    return (unsigned)_mm256_movemask_ps(_mm256_castsi256_ps(x));
}
static inline __attribute__((always_inline)) unsigned eight_above(const int32_t *x, int32_t y) {
    return eight_signs(_mm256_cmpgt_epi32(eight_load(x), _mm256_set1_epi32(y)));
}
static inline __attribute__((always_inline)) unsigned eight_below(const int32_t *x, int32_t y) {
    return eight_signs(_mm256_cmpgt_epi32(_mm256_set1_epi32(y), eight_load(x)));
}
static inline __attribute__((always_inline)) unsigned eight_have(const int32_t *x, int bit) {
    return eight_signs(_mm256_sll_epi32(eight_load(x), _mm_cvtsi32_si128(31 - bit)));
}
static inline __attribute__((always_inline)) void eight_pack(int32_t *to, __m256i x, unsigned bits) {
    pack_both32((float *)to, bits, _mm256_castsi256_ps(x));
}
#endif

#if REAL_BITS == 32
#define REAL float
#define W 8
#define VF __m256
#define VM __m256
#define SET1(x) _mm256_set1_ps(x)
#define FMA(a, b, c) _mm256_fmadd_ps(a, b, c)
#define FNMA(a, b, c) _mm256_fnmadd_ps(a, b, c)
#define LT(a, b) _mm256_cmp_ps(a, b, _CMP_LT_OQ)
#define LE(a, b) _mm256_cmp_ps(a, b, _CMP_LE_OQ)
#define SEL(m, a, b) _mm256_blendv_ps(b, a, m)
#define MIN(a, b) _mm256_min_ps(a, b)
#define MAX(a, b) _mm256_max_ps(a, b)
#define SQRT(x) _mm256_sqrt_ps(x)
#define COPYSIGN(a, s) _mm256_or_ps(_mm256_andnot_ps(_mm256_set1_ps(-0.0f), a), _mm256_and_ps(_mm256_set1_ps(-0.0f), s))
#define LOADU(p) _mm256_loadu_ps(p)
#define STOREU(p, x) _mm256_storeu_ps(p, x)
// A selection and a whole store: processors of AMD take dozens of operations for a masked store.
#define MSTORE(p, m, x) STOREU(p, SEL(m, x, LOADU(p)))
#define MAND(a, b) _mm256_and_ps(a, b)
#define MOR(a, b) _mm256_or_ps(a, b)
#define MANDN(a, b) _mm256_andnot_ps(b, a)
#define MBITS(m) ((unsigned)_mm256_movemask_ps(m))
#define MFROM(b) mfrom32(b)
#define HMAX(x) hmax32(x)
// EACH_MAX holds in lane i the largest value of the i-th of W vectors.
#define EACH_MAX(v) each_max8(v)
#define HSUM(x) hsum32(x)
// PACK stores the lanes of `bits` contiguously; values behind them are undefined.
#define PACK(p, bits, x) pack_both32(p, bits, x)
#define RCP(x) rcp32(x)
#define RSQRT(x) rsqrt32(x)
#define BITS_OR(a, b) _mm256_or_ps(a, b)
#define BITS_UP(x) _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_castps_si256(x), 23))
#define BITS_DOWN(x) _mm256_castsi256_ps(_mm256_srli_epi32(_mm256_castps_si256(x), 23))
// ROWS loads four values of each of W rows and transposes them into four columns.
#define HALVES(r) _mm256_insertf128_ps(_mm256_castps128_ps256(_mm_loadu_ps((r)[0])), _mm_loadu_ps((r)[4]), 1)
#define ROWS(out, rows, mask)                                                                                    \
    {                                                                                                            \
        __m256 r0_ = HALVES(rows), r1_ = HALVES((rows) + 1), r2_ = HALVES((rows) + 2), r3_ = HALVES((rows) + 3); \
        __m256d a_ = _mm256_castps_pd(_mm256_unpacklo_ps(r0_, r1_)),                                             \
                b_ = _mm256_castps_pd(_mm256_unpacklo_ps(r2_, r3_));                                             \
        __m256d c_ = _mm256_castps_pd(_mm256_unpackhi_ps(r0_, r1_)),                                             \
                d_ = _mm256_castps_pd(_mm256_unpackhi_ps(r2_, r3_));                                             \
        (out)[0] = _mm256_castpd_ps(_mm256_unpacklo_pd(a_, b_));                                                 \
        (out)[1] = _mm256_castpd_ps(_mm256_unpackhi_pd(a_, b_));                                                 \
        (out)[2] = _mm256_castpd_ps(_mm256_unpacklo_pd(c_, d_));                                                 \
        (out)[3] = _mm256_castpd_ps(_mm256_unpackhi_pd(c_, d_));                                                 \
    }
// NARROWED is ROWS of float64 values, rounded to float32. DIFFERENCES is NARROWED of `to` − `from`, three
// values per row; it is true if the magnitude of a value of either exceeds `most`, or is NaN.
#define NARROWED(out, rows) narrowed32(out, rows)
#define DIFFERENCES(out, to, from, most) differences32(out, to, from, most)
#else
#define REAL double
#define W 4
#define VF __m256d
#define VM __m256d
#define SET1(x) _mm256_set1_pd(x)
#define FMA(a, b, c) _mm256_fmadd_pd(a, b, c)
#define FNMA(a, b, c) _mm256_fnmadd_pd(a, b, c)
#define LT(a, b) _mm256_cmp_pd(a, b, _CMP_LT_OQ)
#define LE(a, b) _mm256_cmp_pd(a, b, _CMP_LE_OQ)
#define SEL(m, a, b) _mm256_blendv_pd(b, a, m)
#define MIN(a, b) _mm256_min_pd(a, b)
#define MAX(a, b) _mm256_max_pd(a, b)
#define SQRT(x) _mm256_sqrt_pd(x)
#define COPYSIGN(a, s) _mm256_or_pd(_mm256_andnot_pd(_mm256_set1_pd(-0.0), a), _mm256_and_pd(_mm256_set1_pd(-0.0), s))
#define LOADU(p) _mm256_loadu_pd(p)
#define STOREU(p, x) _mm256_storeu_pd(p, x)
#define MSTORE(p, m, x) STOREU(p, SEL(m, x, LOADU(p)))
#define MAND(a, b) _mm256_and_pd(a, b)
#define MOR(a, b) _mm256_or_pd(a, b)
#define MANDN(a, b) _mm256_andnot_pd(b, a)
#define MBITS(m) ((unsigned)_mm256_movemask_pd(m))
#define MFROM(b) mfrom64(b)
#define HMAX(x) hmax64(x)
#define EACH_MAX(v) each_max64(v)
#define HSUM(x) hsum64(x)
#define RCP(x) (SET1(1) / (x))
#define RSQRT(x) (SET1(1) / SQRT(x))
#define BITS_OR(a, b) _mm256_or_pd(a, b)
#define BITS_UP(x) _mm256_castsi256_pd(_mm256_slli_epi64(_mm256_castpd_si256(x), 52))
#define BITS_DOWN(x) _mm256_castsi256_pd(_mm256_srli_epi64(_mm256_castpd_si256(x), 52))
#define NARROW(p, x) _mm_storeu_ps(p, _mm256_cvtpd_ps(x))
#define WIDEN(p) _mm256_cvtps_pd(_mm_loadu_ps(p))
// STORE_TRIPLES stores the values v[0][l], v[1][l], v[2][l] of all lanes l at p + 3·l.
#define STORE_TRIPLES32(p, ok, v) store_triples32(p, v)
#define STORE_TRIPLES64(p, ok, v)  \
    for (int l_ = 0; l_ < W; l_++) \
        for (int j_ = 0; j_ < 3; j_++) (p)[3 * l_ + j_] = (v)[j_][l_];
// PACK is NARROW of the lanes of `bits`, contiguously; values behind them are undefined.
#define PACK(p, bits, x) _mm_storeu_ps(p, pack32(bits, _mm256_cvtpd_ps(x)))
// ROWS loads four (or the first three) values of each of W rows and transposes them into columns.
#define ROWS(out, rows, mask)                                                                             \
    {                                                                                                     \
        __m256d rows_[4];                                                                                 \
        for (int i_ = 0; i_ < 4; i_++)                                                                    \
            rows_[i_] = (mask) > 7 ? _mm256_loadu_pd((rows)[i_])                                          \
                                   : _mm256_maskload_pd((rows)[i_], _mm256_set_epi64x(0, -1, -1, -1));    \
        __m256d a_ = _mm256_unpacklo_pd(rows_[0], rows_[1]), b_ = _mm256_unpacklo_pd(rows_[2], rows_[3]); \
        __m256d c_ = _mm256_unpackhi_pd(rows_[0], rows_[1]), d_ = _mm256_unpackhi_pd(rows_[2], rows_[3]); \
        (out)[0] = _mm256_permute2f128_pd(a_, b_, 0x20);                                                  \
        (out)[1] = _mm256_permute2f128_pd(c_, d_, 0x20);                                                  \
        (out)[2] = _mm256_permute2f128_pd(a_, b_, 0x31);                                                  \
        if ((mask) > 7) (out)[3] = _mm256_permute2f128_pd(c_, d_, 0x31);                                  \
    }
#endif

#define FLUSH_BEGIN              \
    unsigned csr = _mm_getcsr(); \
    _mm_setcsr(csr | 0x8040u)
#define FLUSH_END _mm_setcsr(csr)
